# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# Sums over the kernels of a family, one panel of lanes after another: a tile of entries for each kernel, made of a tile
# of distances or inner products, goes into the sum at once.

from libc.string cimport memcpy, memset

from _exp2 cimport exp2_double, exp2_single
from _pair_tiles cimport Family, LANES, OTHERS, Side, clear_slots, dist, panel_of, tile_of

ctypedef fused kind:
    float
    double


# A tile in the precision of the entries: rounded once for all kernels, or as it is.
cdef inline const kind* rounded_tile(const dist* D, Py_ssize_t count, kind* room) noexcept nogil:
    cdef Py_ssize_t e
    if dist is kind:
        return D
    for e in range(count):
        room[e] = <kind> D[e]
    return room


# Entries of kernel k from a tile of distances or inner products.
cdef inline void entries_of(
    const Family* family, Py_ssize_t k, const kind* D, Py_ssize_t count, kind* E,
) noexcept nogil:
    cdef kind rate = <kind> -family.rates[k]
    cdef Py_ssize_t e
    cdef int _factor, degree
    if family.polynomial:
        degree = <int> family.rates[k]
        for e in range(count):
            E[e] = 1 + D[e]
        for _factor in range(1, degree):
            for e in range(count):
                E[e] *= 1 + D[e]
    else:
        for e in range(count):
            if kind is float:
                E[e] = exp2_single(rate * D[e])
            else:
                E[e] = exp2_double(rate * D[e])


# total[q] += sum_j weights[j] E[j][q], four rows at a time.
cdef inline void add_down(const kind* E, const double* weights, Py_ssize_t count, double* total) noexcept nogil:
    cdef Py_ssize_t j, q
    cdef double w0, w1, w2, w3
    cdef const kind* row
    for j in range(0, count, 4):
        w0, w1, w2, w3 = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        row = E + j * LANES
        for q in range(LANES):
            total[q] += (w0 * row[q] + w1 * row[LANES + q]) + (w2 * row[2 * LANES + q] + w3 * row[3 * LANES + q])


# totals[k][q] += sum_j weights[j] K_k(j, q), j from start to stop.
cdef inline void sum_down(
    const Side* lanes, const Side* others, const Family* family, const int* slots, const dist* panel,
    Py_ssize_t lane, Py_ssize_t width, Py_ssize_t start, Py_ssize_t stop, const double* weights, double* totals,
    kind* E,
) noexcept nogil:
    cdef dist[LANES * OTHERS] D
    cdef kind[LANES * OTHERS] room
    cdef const kind* S
    cdef double[OTHERS] w
    cdef Py_ssize_t tile, first, count, rounded, k
    for tile in range((stop - start + OTHERS - 1) // OTHERS):
        first = start + tile * OTHERS
        count = min(OTHERS, stop - first)
        rounded = (count + 3) // 4 * 4
        memset(w, 0, sizeof(w))
        memcpy(w, weights + first, count * sizeof(double))
        tile_of(lanes, others, family, slots, panel, lane, width, first, count, D)
        S = rounded_tile(D, rounded * LANES, room)
        for k in range(family.size):
            entries_of(family, k, S, rounded * LANES, E)
            add_down(E, w, rounded, totals + k * LANES)


cdef inline void products_of_panel(
    const Side* lanes, const Side* others, const Family* family, int* slots, dist* panel, double* totals,
    Py_ssize_t lane, const double* weights, double* out, kind sample,
) noexcept nogil:
    cdef Py_ssize_t width = min(LANES, lanes.count - lane), k, q
    cdef kind[LANES * OTHERS] E
    memset(totals, 0, family.size * LANES * sizeof(double))
    panel_of(lanes, lane, width, slots, panel)
    sum_down(lanes, others, family, slots, panel, lane, width, 0, others.count, weights, totals, E)
    for q in range(width):
        for k in range(family.size):
            out[(lane + q) * family.size + k] = totals[k * LANES + q]
    if lanes.sparse:
        clear_slots(lanes, lane, width, slots)


# The share of one panel in the forms: pairs with points before it twice, those inside it once.
cdef inline void forms_of_panel(
    const Side* points, const Family* family, int* slots, dist* panel, double* totals, Py_ssize_t lane,
    const double* weights, double* share, kind sample,
) noexcept nogil:
    cdef Py_ssize_t width = min(LANES, points.count - lane), k, q
    cdef kind[LANES * OTHERS] E
    cdef double form
    memset(totals, 0, family.size * LANES * sizeof(double))
    panel_of(points, lane, width, slots, panel)
    sum_down(points, points, family, slots, panel, lane, width, 0, lane, weights, totals, E)
    for k in range(family.size * LANES):
        totals[k] *= 2.0
    sum_down(points, points, family, slots, panel, lane, width, lane, lane + width, weights, totals, E)
    for k in range(family.size):
        form = 0.0
        for q in range(width):
            form += weights[lane + q] * totals[k * LANES + q]
        share[k] = form
    if points.sparse:
        clear_slots(points, lane, width, slots)


# What one panel of lanes adds to sum_q weights[q] K_k(j, q), for all j and k.
cdef inline void across_panel(
    const Side* lanes, const Side* others, const Family* family, int* slots, dist* panel, Py_ssize_t lane,
    const double* weights, double* share, kind sample,
) noexcept nogil:
    cdef Py_ssize_t width = min(LANES, lanes.count - lane), tile, first, count, j, k, q
    cdef dist[LANES * OTHERS] D
    cdef kind[LANES * OTHERS] E, room
    cdef const kind* S
    cdef double[LANES] w
    cdef double total
    memset(w, 0, sizeof(w))
    memcpy(w, weights + lane, width * sizeof(double))
    panel_of(lanes, lane, width, slots, panel)
    for tile in range((others.count + OTHERS - 1) // OTHERS):
        first = tile * OTHERS
        count = min(OTHERS, others.count - first)
        tile_of(lanes, others, family, slots, panel, lane, width, first, count, D)
        S = rounded_tile(D, count * LANES, room)
        for k in range(family.size):
            entries_of(family, k, S, count * LANES, E)
            for j in range(count):
                total = 0.0
                for q in range(LANES):
                    total += w[q] * E[j * LANES + q]
                share[(first + j) * family.size + k] += total
    if lanes.sparse:
        clear_slots(lanes, lane, width, slots)


# out[j][q] += sum_k weights[k] K_k(j, q) for one panel of lanes and all j.
cdef inline void combined_panel(
    const Side* lanes, const Side* others, const Family* family, int* slots, dist* panel, Py_ssize_t lane,
    const double* weights, double* out, Py_ssize_t stride, kind sample,
) noexcept nogil:
    cdef Py_ssize_t width = min(LANES, lanes.count - lane), tile, first, count, j, k, q, e
    cdef dist[LANES * OTHERS] D
    cdef kind[LANES * OTHERS] E, room
    cdef const kind* S
    cdef double[LANES * OTHERS] total
    cdef double weight
    panel_of(lanes, lane, width, slots, panel)
    for tile in range((others.count + OTHERS - 1) // OTHERS):
        first = tile * OTHERS
        count = min(OTHERS, others.count - first)
        tile_of(lanes, others, family, slots, panel, lane, width, first, count, D)
        S = rounded_tile(D, count * LANES, room)
        memset(total, 0, sizeof(total))
        for k in range(family.size):
            entries_of(family, k, S, count * LANES, E)
            weight = weights[k]
            for e in range(count * LANES):
                total[e] += weight * E[e]
        for j in range(count):
            for q in range(width):
                out[(first + j) * stride + lane + q] += total[j * LANES + q]
    if lanes.sparse:
        clear_slots(lanes, lane, width, slots)


# out[j][q][k] = scale K_k(j, q) for one panel of lanes and all j and k.
cdef inline void entries_of_panel(
    const Side* lanes, const Side* others, const Family* family, int* slots, dist* panel, Py_ssize_t lane,
    double scale, double* out, const Py_ssize_t* strides, kind sample,
) noexcept nogil:
    cdef Py_ssize_t width = min(LANES, lanes.count - lane), tile, first, count, j, k, q, column = strides[1]
    cdef double* row
    cdef dist[LANES * OTHERS] D
    cdef kind[LANES * OTHERS] E, room
    cdef const kind* S
    panel_of(lanes, lane, width, slots, panel)
    for tile in range((others.count + OTHERS - 1) // OTHERS):
        first = tile * OTHERS
        count = min(OTHERS, others.count - first)
        tile_of(lanes, others, family, slots, panel, lane, width, first, count, D)
        S = rounded_tile(D, count * LANES, room)
        for k in range(family.size):
            entries_of(family, k, S, count * LANES, E)
            for j in range(count):
                row = out + (first + j) * strides[0] + lane * column + k * strides[2]
                if column == 1:
                    for q in range(width):
                        row[q] = scale * E[j * LANES + q]
                else:
                    for q in range(width):
                        row[q * column] = scale * E[j * LANES + q]
    if lanes.sparse:
        clear_slots(lanes, lane, width, slots)
