# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Sums over RBF and polynomial kernels that are computed from the points while they are added up.

Pairs of points are worked on in tiles: 32 points of one side, the lanes, whose features lie next to each other, and 32
of the other. A tile of squared distances (of inner products for polynomial kernels) is made in the first-level cache,
then one tile of entries for each kernel, which goes into the sum at once. Nothing else of the kernels is ever in
memory.

Distances of dense points are sums of squared differences, in float or double, added up in eights; those of sparse
points are differences of norms and inner products, in double. Entries are float or double, sums over them always
double.

A task is one panel of 32 lanes, or a fixed number of them, and what tasks add to one number is added up in their order:
the number of threads moves no bit of a result. NaN and infinity mean nothing here, the caller checks its data before.
"""

import numpy as np

from cython.parallel cimport prange
from libc.string cimport memcpy, memset

from _exp2 cimport exp2_double, exp2_single

cdef extern from *:
    """
    #ifdef _OPENMP
    #include <omp.h>
    #else
    static int omp_get_thread_num(void) { return 0; }
    #endif
    """
    int omp_get_thread_num() noexcept nogil

cdef enum:
    LANES = 32          # points of a panel
    OTHERS = 32         # points of the other side in a tile; a multiple of 4
    PANELS = 32         # of a piece of a sum over lanes

ctypedef fused dist:
    float
    double

ctypedef fused kind:
    float
    double

# One side of the pairs. Dense points: rows of d numbers, float or double. Sparse ones: CSR, with squared norms.
cdef struct Side:
    Py_ssize_t count, d
    bint single, sparse
    const void* rows
    const int* starts
    const int* columns
    const double* data
    const double* norms

# What is made of the pairs: exp2(-rate * D), in float or double, or (1 + <x, y>)^rate.
cdef struct Family:
    bint single, polynomial
    Py_ssize_t size
    const double* rates


cdef Side side_of(points) except *:
    """A side from a matrix, or from the CSR arrays and the squared norms, and the number of columns."""
    cdef Side side
    cdef const float[:, ::1] single
    cdef const double[:, ::1] double_
    cdef const int[::1] starts, columns
    cdef const double[::1] data, norms
    memset(&side, 0, sizeof(Side))
    if isinstance(points, tuple):
        starts, columns, data, norms, side.d = points
        side.sparse = True
        side.count = norms.shape[0]
        side.starts = &starts[0]
        side.columns = &columns[0] if columns.shape[0] else NULL
        side.data = &data[0] if data.shape[0] else NULL
        side.norms = &norms[0] if side.count else NULL
        return side
    side.count, side.d = points.shape
    side.single = points.dtype == np.float32
    if side.count and side.single:
        single = points
        side.rows = &single[0, 0]
    elif side.count:
        double_ = points
        side.rows = &double_[0, 0]
    return side


# The features of some points, next to each other feature by feature; lanes that are left over are zero.
cdef void dense_panel(const dist* rows, Py_ssize_t d, Py_ssize_t first, Py_ssize_t width, dist* panel) noexcept nogil:
    cdef Py_ssize_t f, q
    if width < LANES:
        memset(panel, 0, d * LANES * sizeof(dist))
    for f in range(d):
        for q in range(width):
            panel[f * LANES + q] = rows[(first + q) * d + f]


# D[j][q] = |x_j - y_q|^2, four features of four points at a time; what is left over of the features one by one. Rows of
# D up to a multiple of four are written: those beyond the count repeat the last point.
cdef void dense_distances(
    const dist* panel, const dist* rows, Py_ssize_t d, Py_ssize_t first, Py_ssize_t count, dist* D,
) noexcept nogil:
    cdef dist[LANES] t0, t1, t2, t3
    cdef dist a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, e0, e1, e2, e3, s0, s1, s2, s3
    cdef const dist *x0
    cdef const dist *x1
    cdef const dist *x2
    cdef const dist *x3
    cdef const dist *p
    cdef Py_ssize_t j, f, q, last = count - 1
    for j in range(0, count, 4):
        x0 = rows + (first + j) * d
        x1 = rows + (first + min(j + 1, last)) * d
        x2 = rows + (first + min(j + 2, last)) * d
        x3 = rows + (first + min(j + 3, last)) * d
        for q in range(LANES):
            t0[q] = 0
            t1[q] = 0
            t2[q] = 0
            t3[q] = 0
        f = 0
        while f + 4 <= d:
            p = panel + f * LANES
            a0, a1, a2, a3 = x0[f], x0[f + 1], x0[f + 2], x0[f + 3]
            b0, b1, b2, b3 = x1[f], x1[f + 1], x1[f + 2], x1[f + 3]
            c0, c1, c2, c3 = x2[f], x2[f + 1], x2[f + 2], x2[f + 3]
            e0, e1, e2, e3 = x3[f], x3[f + 1], x3[f + 2], x3[f + 3]
            for q in range(LANES):
                s0 = (a0 - p[q]) * (a0 - p[q])
                s1 = (b0 - p[q]) * (b0 - p[q])
                s2 = (c0 - p[q]) * (c0 - p[q])
                s3 = (e0 - p[q]) * (e0 - p[q])
                s0 += (a1 - p[LANES + q]) * (a1 - p[LANES + q])
                s1 += (b1 - p[LANES + q]) * (b1 - p[LANES + q])
                s2 += (c1 - p[LANES + q]) * (c1 - p[LANES + q])
                s3 += (e1 - p[LANES + q]) * (e1 - p[LANES + q])
                s0 += (a2 - p[2 * LANES + q]) * (a2 - p[2 * LANES + q])
                s1 += (b2 - p[2 * LANES + q]) * (b2 - p[2 * LANES + q])
                s2 += (c2 - p[2 * LANES + q]) * (c2 - p[2 * LANES + q])
                s3 += (e2 - p[2 * LANES + q]) * (e2 - p[2 * LANES + q])
                s0 += (a3 - p[3 * LANES + q]) * (a3 - p[3 * LANES + q])
                s1 += (b3 - p[3 * LANES + q]) * (b3 - p[3 * LANES + q])
                s2 += (c3 - p[3 * LANES + q]) * (c3 - p[3 * LANES + q])
                s3 += (e3 - p[3 * LANES + q]) * (e3 - p[3 * LANES + q])
                t0[q] += s0
                t1[q] += s1
                t2[q] += s2
                t3[q] += s3
            f += 4
        while f < d:
            p = panel + f * LANES
            a0, b0, c0, e0 = x0[f], x1[f], x2[f], x3[f]
            for q in range(LANES):
                t0[q] += (a0 - p[q]) * (a0 - p[q])
                t1[q] += (b0 - p[q]) * (b0 - p[q])
                t2[q] += (c0 - p[q]) * (c0 - p[q])
                t3[q] += (e0 - p[q]) * (e0 - p[q])
            f += 1
        memcpy(D + j * LANES, t0, sizeof(t0))
        memcpy(D + (j + 1) * LANES, t1, sizeof(t1))
        memcpy(D + (j + 2) * LANES, t2, sizeof(t2))
        memcpy(D + (j + 3) * LANES, t3, sizeof(t3))


# D[j][q] = <x_j, y_q>, likewise.
cdef void dense_products(
    const dist* panel, const dist* rows, Py_ssize_t d, Py_ssize_t first, Py_ssize_t count, dist* D,
) noexcept nogil:
    cdef dist[LANES] t0, t1, t2, t3
    cdef dist a, b, c, e
    cdef const dist *x0
    cdef const dist *x1
    cdef const dist *x2
    cdef const dist *x3
    cdef const dist *p
    cdef Py_ssize_t j, f, q, last = count - 1
    for j in range(0, count, 4):
        x0 = rows + (first + j) * d
        x1 = rows + (first + min(j + 1, last)) * d
        x2 = rows + (first + min(j + 2, last)) * d
        x3 = rows + (first + min(j + 3, last)) * d
        for q in range(LANES):
            t0[q] = 0
            t1[q] = 0
            t2[q] = 0
            t3[q] = 0
        for f in range(d):
            p = panel + f * LANES
            a, b, c, e = x0[f], x1[f], x2[f], x3[f]
            for q in range(LANES):
                t0[q] += a * p[q]
                t1[q] += b * p[q]
                t2[q] += c * p[q]
                t3[q] += e * p[q]
        memcpy(D + j * LANES, t0, sizeof(t0))
        memcpy(D + (j + 1) * LANES, t1, sizeof(t1))
        memcpy(D + (j + 2) * LANES, t2, sizeof(t2))
        memcpy(D + (j + 3) * LANES, t3, sizeof(t3))


# The same of sparse points: slots[c] is where column c of the panel's points stands in the panel, 0 if none has it.
cdef void sparse_panel(const Side* lanes, Py_ssize_t first, Py_ssize_t width, int* slots, double* panel) noexcept nogil:
    cdef Py_ssize_t e, q, used = 0
    for e in range(lanes.starts[first], lanes.starts[first + width]):
        if slots[lanes.columns[e]] == 0:
            used += 1
            slots[lanes.columns[e]] = used
    memset(panel, 0, (used + 1) * LANES * sizeof(double))
    for q in range(width):
        for e in range(lanes.starts[first + q], lanes.starts[first + q + 1]):
            panel[slots[lanes.columns[e]] * LANES + q] = lanes.data[e]


cdef void clear_slots(const Side* lanes, Py_ssize_t first, Py_ssize_t width, int* slots) noexcept nogil:
    cdef Py_ssize_t e
    for e in range(lanes.starts[first], lanes.starts[first + width]):
        slots[lanes.columns[e]] = 0


cdef void sparse_tile(
    const Side* lanes, const Side* others, const int* slots, const double* panel, Py_ssize_t lane, Py_ssize_t width,
    Py_ssize_t first, Py_ssize_t count, bint polynomial, double* D,
) noexcept nogil:
    cdef double[LANES] total
    cdef double b, norm
    cdef const double* p
    cdef Py_ssize_t j, e, q
    for j in range(count):
        for q in range(LANES):
            total[q] = 0.0
        for e in range(others.starts[first + j], others.starts[first + j + 1]):
            if slots[others.columns[e]]:
                p = panel + slots[others.columns[e]] * LANES
                b = others.data[e]
                for q in range(LANES):
                    total[q] += b * p[q]
        if not polynomial:
            norm = others.norms[first + j]
            for q in range(width):
                b = norm + lanes.norms[lane + q] - 2.0 * total[q]
                total[q] = b if b > 0.0 else 0.0
        memcpy(D + j * LANES, total, sizeof(total))


# Distances or inner products of one tile; rows of D up to a multiple of four hold numbers.
cdef void tile_of(
    const Side* lanes, const Side* others, const Family* family, const int* slots, const dist* panel,
    Py_ssize_t lane, Py_ssize_t width, Py_ssize_t first, Py_ssize_t count, dist* D,
) noexcept nogil:
    if lanes.sparse:
        if dist is double:
            sparse_tile(lanes, others, slots, panel, lane, width, first, count, family.polynomial, D)
            memset(D + count * LANES, 0, (4 - count % 4) % 4 * LANES * sizeof(dist))
    elif family.polynomial:
        dense_products(panel, <const dist*> others.rows, lanes.d, first, count, D)
    else:
        dense_distances(panel, <const dist*> others.rows, lanes.d, first, count, D)


cdef void panel_of(
    const Side* lanes, Py_ssize_t lane, Py_ssize_t width, int* slots, dist* panel,
) noexcept nogil:
    if lanes.sparse:
        if dist is double:
            sparse_panel(lanes, lane, width, slots, panel)
    else:
        dense_panel(<const dist*> lanes.rows, lanes.d, lane, width, panel)


# A tile in the precision of the entries: rounded once for all kernels, or as it is.
cdef const kind* rounded_tile(const dist* D, Py_ssize_t count, kind* room) noexcept nogil:
    cdef Py_ssize_t e
    if dist is kind:
        return D
    for e in range(count):
        room[e] = <kind> D[e]
    return room


# Entries of kernel k from a tile of distances or inner products.
cdef void entries_of(const Family* family, Py_ssize_t k, const kind* D, Py_ssize_t count, kind* E) noexcept nogil:
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
cdef void add_down(const kind* E, const double* weights, Py_ssize_t count, double* total) noexcept nogil:
    cdef Py_ssize_t j, q
    cdef double w0, w1, w2, w3
    cdef const kind* row
    for j in range(0, count, 4):
        w0, w1, w2, w3 = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
        row = E + j * LANES
        for q in range(LANES):
            total[q] += (w0 * row[q] + w1 * row[LANES + q]) + (w2 * row[2 * LANES + q] + w3 * row[3 * LANES + q])


# totals[k][q] += sum_j weights[j] K_k(j, q), j from start to stop.
cdef void sum_down(
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


cdef void products_of_panel(
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
cdef void forms_of_panel(
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


# What one panel of lanes adds to sum_l weights[q] K_k(j, q), for all j and k.
cdef void across_panel(
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
cdef void combined_panel(
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
cdef void entries_of_panel(
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


cdef Family family_of(const double[::1] rates, bint single, bint polynomial) noexcept:
    cdef Family family
    family.single, family.polynomial = single, polynomial
    family.size = rates.shape[0]
    family.rates = &rates[0]
    return family


cdef Py_ssize_t panel_size(const Side* lanes) noexcept nogil:
    """Numbers of a panel of these points, at most."""
    cdef Py_ssize_t panel, most = 0
    if not lanes.sparse:
        return lanes.d * LANES
    for panel in range((lanes.count + LANES - 1) // LANES):
        most = max(most, lanes.starts[min((panel + 1) * LANES, lanes.count)] - lanes.starts[panel * LANES])
    return (min(most, lanes.d) + 1) * LANES


cdef bint same_kind(const Side* left, const Side* right) noexcept:
    return left.sparse == right.sparse and left.single == right.single and left.d == right.d


def products(
    lanes, others, const double[::1] weights, const double[::1] rates, bint single, bint polynomial, int threads,
):
    """Sums of kernels between the lanes and the others over the others, ndarray of shape (lanes, kernels).

    Points are a matrix, float32 or float64, or ``(indptr, indices, data, squared norms, columns)`` of CSR; both sides
    are of the same kind. Rates are those of ``exp2(-rate * D)``, taken in float if `single`, or degrees of polynomials.

    NumPy: for each k, out[:, k] = K_k(lanes, others) @ weights
    """
    cdef Side a = side_of(lanes), b = side_of(others)
    cdef Family family = family_of(rates, single, polynomial)
    cdef Py_ssize_t panels = (a.count + LANES - 1) // LANES, t
    found = np.zeros((a.count, rates.shape[0]))
    if a.count == 0 or b.count == 0:
        return found
    cdef double[:, ::1] out = found
    cdef double[:, ::1] work = np.empty((threads, panel_size(&a))), totals = np.empty((threads, family.size * LANES))
    cdef int[:, ::1] slots = np.zeros((threads, a.d if a.sparse else 1), np.intc)
    assert same_kind(&a, &b) and weights.shape[0] == b.count
    for t in prange(panels, nogil=True, num_threads=threads, schedule="static"):
        some_products(
            &a, &b, &family, &slots[omp_get_thread_num(), 0], &work[omp_get_thread_num(), 0],
            &totals[omp_get_thread_num(), 0], t * LANES, &weights[0], &out[0, 0],
        )
    return found


cdef void some_products(
    const Side* a, const Side* b, const Family* family, int* slots, double* panel, double* totals, Py_ssize_t lane,
    const double* weights, double* out,
) noexcept nogil:
    if a.single:
        products_of_panel[float, float](a, b, family, slots, <float*> panel, totals, lane, weights, out, 0)
    elif family.single:
        products_of_panel[double, float](a, b, family, slots, panel, totals, lane, weights, out, 0)
    else:
        products_of_panel[double, double](a, b, family, slots, panel, totals, lane, weights, out, 0)


def products_across(
    lanes, others, const double[::1] weights, const double[::1] rates, bint single, bint polynomial, int threads,
):
    """The same summed over the lanes, ndarray of shape (others, kernels): for few others.

    NumPy: for each k, out[:, k] = K_k(others, lanes) @ weights
    """
    cdef Side a = side_of(lanes), b = side_of(others)
    cdef Family family = family_of(rates, single, polynomial)
    cdef Py_ssize_t panels = (a.count + LANES - 1) // LANES, t
    if a.count == 0 or b.count == 0:
        return np.zeros((b.count, rates.shape[0]))
    pieces = np.zeros(((panels + PANELS - 1) // PANELS, b.count, rates.shape[0]))
    cdef double[:, :, ::1] shares = pieces
    cdef double[:, ::1] work = np.empty((threads, panel_size(&a)))
    cdef int[:, ::1] slots = np.zeros((threads, a.d if a.sparse else 1), np.intc)
    assert same_kind(&a, &b) and weights.shape[0] == a.count
    for t in prange(shares.shape[0], nogil=True, num_threads=threads, schedule="static"):
        some_across(
            &a, &b, &family, &slots[omp_get_thread_num(), 0], &work[omp_get_thread_num(), 0], t * PANELS,
            min((t + 1) * PANELS, panels), &weights[0], &shares[t, 0, 0],
        )
    return pieces[0] if pieces.shape[0] == 1 else pieces.sum(axis=0)


cdef void some_across(
    const Side* a, const Side* b, const Family* family, int* slots, double* panel, Py_ssize_t start, Py_ssize_t stop,
    const double* weights, double* share,
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(start, stop):
        if a.single:
            across_panel[float, float](a, b, family, slots, <float*> panel, i * LANES, weights, share, 0)
        elif family.single:
            across_panel[double, float](a, b, family, slots, panel, i * LANES, weights, share, 0)
        else:
            across_panel[double, double](a, b, family, slots, panel, i * LANES, weights, share, 0)


def forms(points, const double[::1] weights, const double[::1] rates, bint single, bint polynomial, int threads):
    """Quadratic forms of the kernels of some points, ndarray of shape (kernels,): pairs are visited once.

    NumPy: for each k, out[k] = weights @ K_k(points, points) @ weights
    """
    cdef Side a = side_of(points)
    cdef Family family = family_of(rates, single, polynomial)
    cdef Py_ssize_t panels = (a.count + LANES - 1) // LANES, t
    if a.count == 0:
        return np.zeros(rates.shape[0])
    pieces = np.empty((panels, rates.shape[0]))
    cdef double[:, ::1] shares = pieces
    cdef double[:, ::1] work = np.empty((threads, panel_size(&a))), totals = np.empty((threads, family.size * LANES))
    cdef int[:, ::1] slots = np.zeros((threads, a.d if a.sparse else 1), np.intc)
    assert weights.shape[0] == a.count
    # The last panels have most pairs: they go first.
    for t in prange(panels, nogil=True, num_threads=threads, schedule="dynamic"):
        some_forms(
            &a, &family, &slots[omp_get_thread_num(), 0], &work[omp_get_thread_num(), 0],
            &totals[omp_get_thread_num(), 0], (panels - 1 - t) * LANES, &weights[0], &shares[panels - 1 - t, 0],
        )
    return pieces.sum(axis=0)


cdef void some_forms(
    const Side* a, const Family* family, int* slots, double* panel, double* totals, Py_ssize_t lane,
    const double* weights, double* share,
) noexcept nogil:
    if a.single:
        forms_of_panel[float, float](a, family, slots, <float*> panel, totals, lane, weights, share, 0)
    elif family.single:
        forms_of_panel[double, float](a, family, slots, panel, totals, lane, weights, share, 0)
    else:
        forms_of_panel[double, double](a, family, slots, panel, totals, lane, weights, share, 0)


def add_combined(
    lanes, others, const double[::1] weights, const double[::1] rates, bint single, bint polynomial, out, int threads,
):
    """Add a weighted sum of the kernels to an array of shape (others, lanes) whose rows are contiguous.

    NumPy: out += sum(weights[k] * K_k(others, lanes))
    """
    cdef Side a = side_of(lanes), b = side_of(others)
    cdef Family family = family_of(rates, single, polynomial)
    cdef Py_ssize_t panels = (a.count + LANES - 1) // LANES, t, stride
    if a.count == 0 or b.count == 0:
        return
    cdef double[:, :] target = out
    cdef double[:, ::1] work = np.empty((threads, panel_size(&a)))
    cdef int[:, ::1] slots = np.zeros((threads, a.d if a.sparse else 1), np.intc)
    assert same_kind(&a, &b) and weights.shape[0] == family.size
    assert target.shape[0] == b.count and target.shape[1] == a.count
    assert a.count == 1 or target.strides[1] == sizeof(double)
    stride = target.strides[0] // <Py_ssize_t> sizeof(double)
    for t in prange(panels, nogil=True, num_threads=threads, schedule="static"):
        some_combined(
            &a, &b, &family, &slots[omp_get_thread_num(), 0], &work[omp_get_thread_num(), 0], t * LANES, &weights[0],
            &target[0, 0], stride,
        )


cdef void some_combined(
    const Side* a, const Side* b, const Family* family, int* slots, double* panel, Py_ssize_t lane,
    const double* weights, double* out, Py_ssize_t stride,
) noexcept nogil:
    if a.single:
        combined_panel[float, float](a, b, family, slots, <float*> panel, lane, weights, out, stride, 0)
    elif family.single:
        combined_panel[double, float](a, b, family, slots, panel, lane, weights, out, stride, 0)
    else:
        combined_panel[double, double](a, b, family, slots, panel, lane, weights, out, stride, 0)


def write_entries(
    lanes, others, const double[::1] rates, bint single, bint polynomial, double scale, out, int threads,
):
    """Write entries of the kernels to an array of shape (others, lanes, kernels), however it lies in memory.

    NumPy: for each k, out[:, :, k] = scale * K_k(others, lanes)
    """
    cdef Side a = side_of(lanes), b = side_of(others)
    cdef Family family = family_of(rates, single, polynomial)
    cdef Py_ssize_t panels = (a.count + LANES - 1) // LANES, t, i
    cdef Py_ssize_t[3] strides
    if a.count == 0 or b.count == 0:
        return
    cdef double[:, :, :] target = out
    cdef double[:, ::1] work = np.empty((threads, panel_size(&a)))
    cdef int[:, ::1] slots = np.zeros((threads, a.d if a.sparse else 1), np.intc)
    assert same_kind(&a, &b)
    assert target.shape[0] == b.count and target.shape[1] == a.count and target.shape[2] == family.size
    for i in range(3):
        strides[i] = target.strides[i] // <Py_ssize_t> sizeof(double)
    for t in prange(panels, nogil=True, num_threads=threads, schedule="static"):
        some_entries(
            &a, &b, &family, &slots[omp_get_thread_num(), 0], &work[omp_get_thread_num(), 0], t * LANES, scale,
            &target[0, 0, 0], strides,
        )


cdef void some_entries(
    const Side* a, const Side* b, const Family* family, int* slots, double* panel, Py_ssize_t lane, double scale,
    double* out, const Py_ssize_t* strides,
) noexcept nogil:
    if a.single:
        entries_of_panel[float, float](a, b, family, slots, <float*> panel, lane, scale, out, strides, 0)
    elif family.single:
        entries_of_panel[double, float](a, b, family, slots, panel, lane, scale, out, strides, 0)
    else:
        entries_of_panel[double, double](a, b, family, slots, panel, lane, scale, out, strides, 0)


def exp2_of(const dist[::1] t, dist[::1] out):
    """Powers of two of numbers that are not positive, as the sums above take them.

    NumPy: np.exp2(t, out=out)
    """
    cdef Py_ssize_t i
    with nogil:
        for i in range(t.shape[0]):
            if dist is float:
                out[i] = exp2_single(t[i])
            else:
                out[i] = exp2_double(t[i])


def barycentric(const double[::1] places, const double[::1] nodes, const double[::1] factors, double[:, ::1] out):
    """What values at the nodes are multiplied by to interpolate them at the places, shape (places, nodes).

    NumPy: terms = factors / (places[:, None] - nodes); out[:] = terms / terms.sum(axis=1, keepdims=True)
    """
    cdef Py_ssize_t i, j, m = nodes.shape[0]
    cdef double place, apart, total
    with nogil:
        for i in range(places.shape[0]):
            place = places[i]
            total = 0.0
            for j in range(m):
                apart = place - nodes[j]
                # At a node its term is all there is.
                apart = apart if apart != 0.0 else 1e-150
                out[i, j] = factors[j] / apart
                total += out[i, j]
            total = 1.0 / total
            for j in range(m):
                out[i, j] *= total
