# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# Tiles of pairs of points: 32 points of one side, the lanes, whose features lie next to each other in a panel, and up
# to 32 of the other; squared distances, or inner products for polynomial kernels, of all pairs.

from libc.string cimport memcpy, memset

cdef enum:
    LANES = 32          # points of a panel
    OTHERS = 32         # points of the other side in a tile; a multiple of 4

ctypedef fused dist:
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


# The features of some points, next to each other feature by feature; lanes that are left over are zero.
cdef inline void dense_panel(
    const dist* rows, Py_ssize_t d, Py_ssize_t first, Py_ssize_t width, dist* panel,
) noexcept nogil:
    cdef Py_ssize_t f, q
    if width < LANES:
        memset(panel, 0, d * LANES * sizeof(dist))
    for f in range(d):
        for q in range(width):
            panel[f * LANES + q] = rows[(first + q) * d + f]


# D[j][q] = |x_j - y_q|^2, four features of four points at a time; what is left over of the features one by one. Rows of
# D up to a multiple of four are written: those beyond the count repeat the last point.
cdef inline void dense_distances(
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
cdef inline void dense_products(
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
cdef inline void sparse_panel(
    const Side* lanes, Py_ssize_t first, Py_ssize_t width, int* slots, double* panel,
) noexcept nogil:
    cdef Py_ssize_t e, q, used = 0
    for e in range(lanes.starts[first], lanes.starts[first + width]):
        if slots[lanes.columns[e]] == 0:
            used += 1
            slots[lanes.columns[e]] = used
    memset(panel, 0, (used + 1) * LANES * sizeof(double))
    for q in range(width):
        for e in range(lanes.starts[first + q], lanes.starts[first + q + 1]):
            panel[slots[lanes.columns[e]] * LANES + q] = lanes.data[e]


cdef inline void clear_slots(const Side* lanes, Py_ssize_t first, Py_ssize_t width, int* slots) noexcept nogil:
    cdef Py_ssize_t e
    for e in range(lanes.starts[first], lanes.starts[first + width]):
        slots[lanes.columns[e]] = 0


cdef inline void sparse_tile(
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
cdef inline void tile_of(
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


cdef inline void panel_of(
    const Side* lanes, Py_ssize_t lane, Py_ssize_t width, int* slots, dist* panel,
) noexcept nogil:
    if lanes.sparse:
        if dist is double:
            sparse_panel(lanes, lane, width, slots, panel)
    else:
        dense_panel(<const dist*> lanes.rows, lanes.d, lane, width, panel)
