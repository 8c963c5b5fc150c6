# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Loops over RBF kernels of which each looks at some features of its own, in single precision.

Kernel k is ``2**(-rates[k] * D)``, D the sum of the squared differences of two points on the features whose bits are
set in ``masks[k]``: bit f % 8 of byte f // 8 is that of feature f. Points are columns, ``left[f, i]``. Pairs of points
are taken in blocks; the sums over all subsets of each 8 features are tabulated for a block (the method of four
Russians), so that a distance is one addition for 8 features. Tables of 8 bytes stay in the second-level cache.

Every number is computed by one thread, in an order that the shape of the work alone decides: the number of threads
moves no bit. Terms are summed in single precision within a block of pairs, or over a few kernels, and then in double.
The rounding errors of all this are counted in subset_bank.py.
"""

from cython.parallel cimport prange, threadid
from libc.string cimport memcpy, memset

cdef enum:
    BITS = 8            # features a byte of a mask tells of
    SUMS = 256          # subsets of these
    HALF = 16           # subsets of half of them
    BYTES = 8           # of a mask, tabulated at a time
    BLOCK = 64          # pairs of a block
    LANES = 8           # sums of 4 terms in single precision, side by side
    TILE = 512          # kernels whose distances are kept while tables of further bytes are made
    FEW = 4             # kernels added up in single precision

# Room that a thread needs: tables, and distances of a tile.
SCRATCH = BYTES * SUMS * BLOCK + TILE * BLOCK


# 2**t for t from -126 to 0, at most 1.75 * 2**-24 off relative to it; below -125.5 less than 2**-126 may be lost.
# Adding 1.5 * 2**23 rounds t to a whole number i, which its last bits then hold; 2**(t - i) is a polynomial that was
# fitted for the least relative error, and i is added to its exponent.
cdef inline float power_of_two(float t) noexcept nogil:
    cdef float shifted = t + <float> 12582912.0
    cdef float rest = t - (shifted - <float> 12582912.0)
    cdef float power = <float> 0.0013398875016719103 + rest * <float> 0.00015353361959569156
    cdef unsigned int bits, whole
    power = <float> 0.00961843691766262 + rest * power
    power = <float> 0.05550337955355644 + rest * power
    power = <float> 0.24022646248340607 + rest * power
    power = <float> 0.6931471824645996 + rest * power
    power = <float> 1.0 + rest * power
    memcpy(&bits, &power, 4)
    memcpy(&whole, &shifted, 4)
    bits += whole << 23
    memcpy(&power, &bits, 4)
    return power


cdef inline float decay(float rate, float distance) noexcept nogil:
    cdef float t = -rate * distance
    return power_of_two(t if t > <float> -126.0 else <float> -126.0)


def powers_of_two(const float[::1] t, float[::1] out):
    """Compute ``2**t`` for t from -126 to 0.

    NumPy: np.exp2(t, out=out)
    """
    cdef Py_ssize_t i
    with nogil:
        for i in range(t.shape[0]):
            out[i] = power_of_two(t[i])


# Sums of squared differences over all subsets of at most 4 features, in double precision.
cdef void sums_of_few(
    const double[:, ::1] left, const double[:, ::1] right, const int* a, const int* b, Py_ssize_t count,
    Py_ssize_t first, Py_ssize_t last, double* sums,
) noexcept nogil:
    cdef Py_ssize_t f, e, s, n_sums = 1
    cdef double difference
    cdef double[BLOCK] squares
    memset(squares, 0, BLOCK * sizeof(double))
    memset(sums, 0, BLOCK * sizeof(double))
    for f in range(first, last):
        for e in range(count):
            difference = left[f, a[e]] - right[f, b[e]]
            squares[e] = difference * difference
        for s in range(n_sums):
            for e in range(BLOCK):
                sums[(n_sums + s) * BLOCK + e] = sums[s * BLOCK + e] + squares[e]
        n_sums *= 2


# Tables of sums of squared differences for some bytes of the masks; pairs beyond `count` are at distance 0. Subsets of
# features that there are not are left out.
# NumPy: for each byte g and subset s, tables[g, s] = sum of (left[f, a] - right[f, b])**2 over the features f of s
cdef void tabulate(
    const double[:, ::1] left, const double[:, ::1] right, const int* a, const int* b, Py_ssize_t count,
    Py_ssize_t first_byte, Py_ssize_t n_bytes, float* tables,
) noexcept nogil:
    cdef Py_ssize_t g, e, low, high, f, middle, last, d = left.shape[0]
    cdef double[HALF * BLOCK] lower, upper
    cdef float* table
    for g in range(n_bytes):
        f = (first_byte + g) * BITS
        middle = min(f + BITS // 2, d)
        last = min(f + BITS, d)
        sums_of_few(left, right, a, b, count, f, middle, lower)
        sums_of_few(left, right, a, b, count, middle, last, upper)
        for high in range(1 << (last - middle)):
            table = tables + (g * SUMS + high * HALF) * BLOCK
            for low in range(1 << (middle - f)):
                for e in range(BLOCK):
                    table[low * BLOCK + e] = <float> (lower[low * BLOCK + e] + upper[high * BLOCK + e])


# Add the distances that some bytes of a mask tell of, in the tables of these, to D.
cdef inline void add_two(const float* t, const unsigned char* mask, float* D) noexcept nogil:
    cdef const float* t0 = t + mask[0] * BLOCK
    cdef const float* t1 = t + (SUMS + mask[1]) * BLOCK
    cdef Py_ssize_t e
    for e in range(BLOCK):
        D[e] += t0[e] + t1[e]


# Distances that at most 8 bytes of a mask tell of.
# NumPy: D[:] += sum of tables[g, mask[g]] over g
cdef inline void add_distances(
    const float* tables, const unsigned char* mask, Py_ssize_t n_bytes, bint anew, float* D,
) noexcept nogil:
    cdef const float* t0 = tables + mask[0] * BLOCK
    cdef const float* t1
    cdef const float* t2
    cdef const float* t3
    cdef const float* t4
    cdef const float* t5
    cdef const float* t6
    cdef const float* t7
    cdef Py_ssize_t e, g
    if n_bytes == BYTES:
        t1 = tables + (SUMS + mask[1]) * BLOCK
        t2 = tables + (2 * SUMS + mask[2]) * BLOCK
        t3 = tables + (3 * SUMS + mask[3]) * BLOCK
        t4 = tables + (4 * SUMS + mask[4]) * BLOCK
        t5 = tables + (5 * SUMS + mask[5]) * BLOCK
        t6 = tables + (6 * SUMS + mask[6]) * BLOCK
        t7 = tables + (7 * SUMS + mask[7]) * BLOCK
        if anew:
            for e in range(BLOCK):
                D[e] = ((t0[e] + t1[e]) + (t2[e] + t3[e])) + ((t4[e] + t5[e]) + (t6[e] + t7[e]))
        else:
            for e in range(BLOCK):
                D[e] += ((t0[e] + t1[e]) + (t2[e] + t3[e])) + ((t4[e] + t5[e]) + (t6[e] + t7[e]))
        return
    if anew:
        for e in range(BLOCK):
            D[e] = t0[e]
    else:
        for e in range(BLOCK):
            D[e] += t0[e]
    for g in range(1, n_bytes - 1, 2):
        add_two(tables + g * SUMS * BLOCK, mask + g, D)
    if n_bytes % 2 == 0:
        t0 = tables + ((n_bytes - 1) * SUMS + mask[n_bytes - 1]) * BLOCK
        for e in range(BLOCK):
            D[e] += t0[e]


# NumPy: V @ 2**(-rate * D)
cdef inline double weighted(float rate, const float* D, const float* V) noexcept nogil:
    cdef float[BLOCK] terms
    cdef double[LANES] total
    cdef Py_ssize_t e
    for e in range(BLOCK):
        terms[e] = V[e] * decay(rate, D[e])
    for e in range(LANES):
        total[e] = (
            <double> ((terms[e] + terms[e + 8]) + (terms[e + 16] + terms[e + 24]))
            + <double> ((terms[e + 32] + terms[e + 40]) + (terms[e + 48] + terms[e + 56]))
        )
    for e in range(4):
        total[e] += total[e + 4]
    return (total[0] + total[2]) + (total[1] + total[3])


# Distances of a block of pairs for the kernels of a tile, `distances[k]` those of kernel `first + k`.
cdef void tile_distances(
    const double[:, ::1] left, const double[:, ::1] right, const int* a, const int* b, Py_ssize_t count,
    const unsigned char[:, ::1] masks, Py_ssize_t first, Py_ssize_t last, float* scratch,
) noexcept nogil:
    cdef float* tables = scratch
    cdef float* distances = tables + BYTES * SUMS * BLOCK
    cdef Py_ssize_t step, chunk, k, at_once
    for step in range((masks.shape[1] + BYTES - 1) // BYTES):
        chunk = step * BYTES
        at_once = min(<Py_ssize_t> BYTES, masks.shape[1] - chunk)
        tabulate(left, right, a, b, count, chunk, at_once, tables)
        for k in range(first, last):
            add_distances(tables, &masks[k, chunk], at_once, chunk == 0, distances + (k - first) * BLOCK)


# Add the share of a block of pairs, with weights V, to the sums of some kernels.
cdef void add_forms(
    const double[:, ::1] left, const double[:, ::1] right, const int* a, const int* b, Py_ssize_t count,
    const float* V, const unsigned char[:, ::1] masks, const float[::1] rates, Py_ssize_t first, Py_ssize_t last,
    double* forms, float* scratch,
) noexcept nogil:
    cdef float* tables = scratch
    cdef float* distances = tables + BYTES * SUMS * BLOCK
    cdef Py_ssize_t tile, start, stop, k, n_bytes = masks.shape[1]
    if n_bytes <= BYTES:
        tabulate(left, right, a, b, count, 0, n_bytes, tables)
        for k in range(first, last):
            add_distances(tables, &masks[k, 0], n_bytes, True, distances)
            forms[k] += weighted(rates[k], distances, V)
        return
    for tile in range((last - first + TILE - 1) // TILE):
        start = first + tile * TILE
        stop = min(start + TILE, last)
        tile_distances(left, right, a, b, count, masks, start, stop, scratch)
        for k in range(start, stop):
            forms[k] += weighted(rates[k], distances + (k - start) * BLOCK, V)


# The weights of a block of pairs in single precision, those beyond `count` 0.
cdef inline void take_weights(const double* V, Py_ssize_t count, float* out) noexcept nogil:
    cdef Py_ssize_t e
    for e in range(count):
        out[e] = <float> V[e]
    for e in range(count, BLOCK):
        out[e] = 0


cdef void forms_of_part(
    const double[:, ::1] points, const int[::1] a, const int[::1] b, const double[::1] V,
    const unsigned char[:, ::1] masks, const float[::1] rates, Py_ssize_t first, Py_ssize_t last, double[::1] forms,
    float* scratch,
) noexcept nogil:
    cdef float[BLOCK] of_block
    cdef Py_ssize_t block, start, count
    for block in range((a.shape[0] + BLOCK - 1) // BLOCK):
        start = block * BLOCK
        count = min(<Py_ssize_t> BLOCK, a.shape[0] - start)
        take_weights(&V[start], count, of_block)
        add_forms(
            points, points, &a[start], &b[start], count, of_block, masks, rates, first, last, &forms[0], scratch,
        )


def add_weighted_pairs(
    const double[:, ::1] points, const int[::1] a, const int[::1] b, const double[::1] V,
    const unsigned char[:, ::1] masks, const float[::1] rates, double[::1] forms, float[:, ::1] scratch,
):
    """Add weighted entries (a, b) of each kernel to its form; a row of scratch for each thread.

    NumPy: for each k, forms[k] += V @ K_k[a, b]
    """
    cdef Py_ssize_t part, p = masks.shape[0], parts = scratch.shape[0]
    if a.shape[0] == 0 or p == 0:
        return
    for part in prange(parts, nogil=True, num_threads=parts, schedule="static"):
        forms_of_part(
            points, a, b, V, masks, rates, part * p // parts, (part + 1) * p // parts, forms, &scratch[part, 0],
        )


cdef void products_of_row(
    const double[:, ::1] left, Py_ssize_t row, const double[:, ::1] right, const double[::1] v,
    const unsigned char[:, ::1] masks, const float[::1] rates, double* out, float* scratch,
) noexcept nogil:
    cdef float[BLOCK] of_block
    cdef int[BLOCK] a, b
    cdef Py_ssize_t block, start, count, e
    memset(out, 0, masks.shape[0] * sizeof(double))
    for e in range(BLOCK):
        a[e] = <int> row
    for block in range((v.shape[0] + BLOCK - 1) // BLOCK):
        start = block * BLOCK
        count = min(<Py_ssize_t> BLOCK, v.shape[0] - start)
        for e in range(count):
            b[e] = <int> (start + e)
        take_weights(&v[start], count, of_block)
        add_forms(left, right, a, b, count, of_block, masks, rates, 0, masks.shape[0], out, scratch)


def products(
    const double[:, ::1] left, const double[:, ::1] right, const double[::1] v, const unsigned char[:, ::1] masks,
    const float[::1] rates, double[:, ::1] out, float[:, ::1] scratch,
):
    """Compute the products of each kernel between two lists of points with v; a row of scratch for each thread.

    NumPy: for each k, out[:, k] = K_k(left, right) @ v
    """
    cdef Py_ssize_t row, threads = scratch.shape[0]
    if v.shape[0] == 0 or masks.shape[0] == 0:
        out[:, :] = 0.0
        return
    for row in prange(left.shape[1], nogil=True, num_threads=threads, schedule="static"):
        products_of_row(left, row, right, v, masks, rates, &out[row, 0], &scratch[threadid(), 0])


# The weighted sum of the kernels at a block of pairs.
cdef void sum_of_block(
    const double[:, ::1] left, const double[:, ::1] right, const int* a, const int* b, Py_ssize_t count,
    const unsigned char[:, ::1] masks, const float[::1] rates, const float[::1] weights, double* out, float* scratch,
) noexcept nogil:
    cdef float* tables = scratch
    cdef float* distances = tables + BYTES * SUMS * BLOCK
    cdef float* D = distances
    cdef float[BLOCK] of_few
    cdef double[BLOCK] total
    cdef Py_ssize_t step, few, k, e, n_bytes = masks.shape[1], p = masks.shape[0]
    cdef bint at_once = n_bytes <= BYTES
    memset(total, 0, BLOCK * sizeof(double))
    if at_once:
        tabulate(left, right, a, b, count, 0, n_bytes, tables)
    for step in range((p + FEW - 1) // FEW):
        few = step * FEW
        if not at_once and few % TILE == 0:
            tile_distances(left, right, a, b, count, masks, few, min(few + <Py_ssize_t> TILE, p), scratch)
        memset(of_few, 0, BLOCK * sizeof(float))
        for k in range(few, min(few + <Py_ssize_t> FEW, p)):
            if at_once:
                add_distances(tables, &masks[k, 0], n_bytes, True, D)
            else:
                D = distances + (k % TILE) * BLOCK
            for e in range(BLOCK):
                of_few[e] += weights[k] * decay(rates[k], D[e])
        for e in range(BLOCK):
            total[e] += of_few[e]
    memcpy(out, total, count * sizeof(double))


def weighted_sum(
    const double[:, ::1] left, const double[:, ::1] right, const int[::1] a, const int[::1] b,
    const unsigned char[:, ::1] masks, const float[::1] rates, const float[::1] weights, double[::1] out,
    float[:, ::1] scratch,
):
    """Compute entries (a, b) of the weighted sum of the kernels between two lists of points.

    A row of scratch for each thread.

    NumPy: out[:] = sum of weights[k] * K_k(left[:, a], right[:, b]) over k
    """
    cdef Py_ssize_t block, start, m = a.shape[0], threads = scratch.shape[0]
    for block in prange((m + BLOCK - 1) // BLOCK, nogil=True, num_threads=threads, schedule="static"):
        start = block * BLOCK
        sum_of_block(
            left, right, &a[start], &b[start], min(<Py_ssize_t> BLOCK, m - start), masks, rates, weights, &out[start],
            &scratch[threadid(), 0],
        )
