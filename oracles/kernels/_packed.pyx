# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Linear algebra on a stack of p symmetric n x n matrices, of which only the lower halves are stored.

A half is the vector of length m = n (n + 1) / 2 with entry (i, j), j <= i, at ``i (i + 1) / 2 + j``. The stack is held
kernel-major, ``packed[k, entry]``, and perhaps also pair-major, ``pairs[entry, k]``. Stores are float32 or float64,
sums are always float64. NaN keeps its meaning here: sums may be reordered, nothing else of fast-math is switched on.

Work is cut into pieces by its shape alone, and what the pieces add to one number is added up in their order: the number
of threads moves no bit of a result.
"""

import os

from cython.parallel cimport prange
from cython cimport floating
from libc.math cimport fabs, sqrt
from libc.string cimport memcpy, memset

cdef extern from *:
    """
    #ifdef _OPENMP
    #include <omp.h>
    #else
    static int omp_get_max_threads(void) { return 1; }
    #endif
    #ifdef __GNUC__
    #define fetch_ahead(address) __builtin_prefetch(address, 0, 2)
    #else
    #define fetch_ahead(address) ((void) (address))
    #endif
    """
    int omp_get_max_threads() noexcept nogil
    void fetch_ahead(const void* address) noexcept nogil

cdef enum:
    COLUMNS = 4096      # sums kept in the first-level cache while rows stream past
    PIECES = 16         # into which the rows of a sum are cut at most
    ROWS = 512          # least number of rows of a piece
    CHUNK = 256         # entries listed at a time
    LINE = 64           # bytes of a cache line
    AHEAD = 8           # rows fetched before their turn
    TILE = 16
    ALONE = 1 << 23     # entries to read below which a thread may be slower to wake than to read them

ctypedef fused stored:
    float
    double

IMPORTED_BY = os.getpid()


def thread_count(Py_ssize_t entries):
    """Threads to read so many entries of a store with.

    What OMP_NUM_THREADS or threadpoolctl allow; 1 if there is little to read, without OpenMP, and in a process forked
    from the one that imported this module, as the threads do not survive a fork.
    """
    if entries < ALONE or os.getpid() != IMPORTED_BY:
        return 1
    return omp_get_max_threads()


def asymmetry(const floating[:, ::1] K):
    """Return the largest ``abs(K)``, NaN unless all is finite, the largest ``abs(K - K.T)`` and where it is.

    NumPy: np.abs(K).max(), np.abs(K - K.T).max(), *np.unravel_index(np.abs(K - K.T).argmax(), K.shape)
    """
    cdef Py_ssize_t n = K.shape[0], tile, other, top, left, i, j, row = 0, column = 0
    cdef double largest = 0.0, difference = 0.0, found, nothing = 0.0
    with nogil:
        for tile in range((n + TILE - 1) // TILE):
            top = tile * TILE
            for other in range(tile + 1):
                left = other * TILE
                for i in range(top, min(top + TILE, n)):
                    for j in range(left, min(left + TILE, i + 1)):
                        nothing += 0.0 * (<double> K[i, j] + <double> K[j, i])
                        largest = max(largest, fabs(<double> K[i, j]))
                        found = fabs(<double> K[i, j] - <double> K[j, i])
                        if found > difference:
                            difference = found
                            row = i
                            column = j
    return largest + nothing, difference, row, column


def count_signs(const double[::1] y):
    """Return how many entries are 1 and how many -1.

    NumPy: np.count_nonzero(y == 1), np.count_nonzero(y == -1)
    """
    cdef Py_ssize_t i, positive = 0, negative = 0
    for i in range(y.shape[0]):
        positive += y[i] == 1.0
        negative += y[i] == -1.0
    return positive, negative


def pack(const floating[:, ::1] K, double scale, stored[::1] half):
    """Write the lower half of ``scale * K``.

    NumPy: half[:] = scale * K[np.tril_indices(len(K))]
    """
    cdef Py_ssize_t n = K.shape[0], i, j, entry = 0
    with nogil:
        for i in range(n):
            for j in range(i + 1):
                half[entry + j] = <stored> (scale * K[i, j])
            entry += i + 1


def transpose(const stored[:, ::1] packed, stored[:, ::1] pairs):
    """Write the pair-major copy of a kernel-major stack.

    NumPy: pairs[:] = packed.T
    """
    cdef Py_ssize_t p = packed.shape[0], m = packed.shape[1], tile, other, top, left, k, e
    with nogil:
        for tile in range((m + TILE - 1) // TILE):
            left = tile * TILE
            for other in range((p + TILE - 1) // TILE):
                top = other * TILE
                for e in range(left, min(left + TILE, m)):
                    for k in range(top, min(top + TILE, p)):
                        pairs[e, k] = packed[k, e]


# total[:] += weights @ rows[which, start:stop], four rows at a time. Where the rows are many and lie scattered, the
# processor does not see the next ones coming: `ahead` fetches them, line by line with those being added.
cdef void add_rows(
    const stored* rows, Py_ssize_t c, Py_ssize_t start, Py_ssize_t stop,
    const Py_ssize_t* which, const double* weights, Py_ssize_t count, bint ahead, double* total,
) noexcept nogil:
    cdef Py_ssize_t r, line, e, width = stop - start, last = count - 1
    cdef Py_ssize_t lines = width * <Py_ssize_t> sizeof(stored) // LINE if ahead else 0
    cdef const stored *r0
    cdef const stored *r1
    cdef const stored *r2
    cdef const stored *r3
    cdef const stored *next0
    cdef const stored *next1
    cdef const stored *next2
    cdef const stored *next3
    cdef double w0, w1, w2, w3
    for r in range(0, count, 4):
        r0 = rows + which[r] * c + start
        r1 = rows + which[min(r + 1, last)] * c + start
        r2 = rows + which[min(r + 2, last)] * c + start
        r3 = rows + which[min(r + 3, last)] * c + start
        next0 = rows + which[min(r + AHEAD, last)] * c + start
        next1 = rows + which[min(r + AHEAD + 1, last)] * c + start
        next2 = rows + which[min(r + AHEAD + 2, last)] * c + start
        next3 = rows + which[min(r + AHEAD + 3, last)] * c + start
        w0 = weights[r]
        w1 = weights[r + 1] if r + 1 <= last else 0.0
        w2 = weights[r + 2] if r + 2 <= last else 0.0
        w3 = weights[r + 3] if r + 3 <= last else 0.0
        for line in range(lines):
            e = line * <Py_ssize_t> (LINE // sizeof(stored))
            fetch_ahead(next0 + e)
            fetch_ahead(next1 + e)
            fetch_ahead(next2 + e)
            fetch_ahead(next3 + e)
            for e in range(e, e + <Py_ssize_t> (LINE // sizeof(stored))):
                total[e] += (w0 * r0[e] + w1 * r1[e]) + (w2 * r2[e] + w3 * r3[e])
        if lines:
            fetch_ahead(next0 + width - 1)
            fetch_ahead(next1 + width - 1)
            fetch_ahead(next2 + width - 1)
            fetch_ahead(next3 + width - 1)
        for e in range(lines * <Py_ssize_t> (LINE // sizeof(stored)), width):
            total[e] += (w0 * r0[e] + w1 * r1[e]) + (w2 * r2[e] + w3 * r3[e])


# Entries start to stop of the half of sum(weights[r] * K_which[r]), written where they belong in K.
cdef void combine_entries(
    const stored* packed, Py_ssize_t size, Py_ssize_t start, Py_ssize_t stop,
    const Py_ssize_t* which, const double* weights, Py_ssize_t count, double[:, ::1] K,
) noexcept nogil:
    cdef double[COLUMNS] total
    cdef Py_ssize_t i, first, e = start, end
    memset(total, 0, (stop - start) * sizeof(double))
    add_rows(packed, size, start, stop, which, weights, count, False, total)
    i = <Py_ssize_t> ((sqrt(8.0 * start + 1.0) - 1.0) / 2.0)
    while i * (i + 1) // 2 > start:
        i -= 1
    while (i + 1) * (i + 2) // 2 <= start:
        i += 1
    while e < stop:
        first = i * (i + 1) // 2
        end = min(first + i + 1, stop)
        memcpy(&K[i, e - first], &total[e - start], (end - e) * sizeof(double))
        e = end
        i += 1


# The upper half of some rows of tiles from the lower half; what is written lies together.
cdef void mirror(double[:, ::1] K, Py_ssize_t tile) noexcept nogil:
    cdef Py_ssize_t n = K.shape[0], other, top, left = tile * TILE, i, j
    for other in range(tile, (n + TILE - 1) // TILE):
        top = other * TILE
        for j in range(left, min(left + TILE, n)):
            for i in range(max(top, j + 1), min(top + TILE, n)):
                K[j, i] = K[i, j]


def combine_halves(
    const stored[:, ::1] packed, const Py_ssize_t[::1] which, const double[::1] weights, double[:, ::1] K, int threads,
):
    """Add up weighted matrices of a kernel-major stack.

    NumPy: K[np.tril_indices(n)] = weights @ packed[which]; K += np.tril(K, -1).T
    """
    cdef Py_ssize_t size = packed.shape[1], count = which.shape[0], n = K.shape[0], block
    if count == 0:
        K[:, :] = 0.0
        return
    for block in prange((size + COLUMNS - 1) // COLUMNS, nogil=True, num_threads=threads, schedule="static"):
        combine_entries(
            &packed[0, 0], size, block * COLUMNS, min((block + 1) * COLUMNS, size), &which[0], &weights[0], count, K,
        )
    for block in prange((n + TILE - 1) // TILE, nogil=True, num_threads=threads, schedule="dynamic"):
        mirror(K, block)


# The share of one piece of the rows in the sums of all columns.
cdef void add_piece(
    const stored* rows, Py_ssize_t c, Py_ssize_t start, Py_ssize_t stop,
    const Py_ssize_t* which, const double* weights, Py_ssize_t count, double* share,
) noexcept nogil:
    cdef double[COLUMNS] total
    memset(total, 0, (stop - start) * sizeof(double))
    add_rows(rows, c, start, stop, which, weights, count, True, total)
    memcpy(share + start, total, (stop - start) * sizeof(double))


def weighted_rows(
    const stored[:, ::1] rows, const Py_ssize_t[::1] which, const double[::1] weights, double[:, ::1] shares,
    int threads,
):
    """Add up weighted rows of a matrix, say of a pair-major stack over pairs of points.

    Piece i of the rows goes to ``shares[i]``; the caller adds them up. `piece_count` says how many there are.

    NumPy: for each piece, shares[i] = weights[piece] @ rows[which[piece]]
    """
    cdef Py_ssize_t c = rows.shape[1], count = which.shape[0], pieces = shares.shape[0], blocks, per, task, r, start
    if count == 0:
        shares[:, :] = 0.0
        return
    blocks = (c + COLUMNS - 1) // COLUMNS
    per = (count + pieces - 1) // pieces
    for task in prange(pieces * blocks, nogil=True, num_threads=threads, schedule="static"):
        r = task // blocks * per
        start = task % blocks * COLUMNS
        add_piece(
            &rows[0, 0], c, start, min(start + COLUMNS, c), &which[0] + r, &weights[0] + r, min(per, count - r),
            &shares[task // blocks, 0],
        )


def piece_count(Py_ssize_t count):
    """Pieces that so many rows are cut into: by their number alone, at most 16, none empty."""
    cdef Py_ssize_t per = max(ROWS, (count + PIECES - 1) // PIECES)
    return max(1, (count + per - 1) // per)


# (K_k @ v)[i] for all k; weights are those of v on its support.
cdef void products_of_pairs(
    const stored* pairs, Py_ssize_t p, Py_ssize_t i, const Py_ssize_t* support, const double* weights,
    Py_ssize_t count, double* out,
) noexcept nogil:
    cdef Py_ssize_t[CHUNK] entries
    cdef Py_ssize_t chunk, first, b, j, block, start, stop
    memset(out, 0, p * sizeof(double))
    for chunk in range((count + CHUNK - 1) // CHUNK):
        first = chunk * CHUNK
        for b in range(first, min(first + CHUNK, count)):
            j = support[b]
            entries[b - first] = i * (i + 1) // 2 + j if j <= i else j * (j + 1) // 2 + i
        for block in range((p + COLUMNS - 1) // COLUMNS):
            start = block * COLUMNS
            stop = min(start + COLUMNS, p)
            add_rows(pairs, p, start, stop, entries, weights + first, min(CHUNK, count - first), True, out + start)


# The same, for one k and some i, from one half.
cdef void products_of_half(
    const stored* half, const Py_ssize_t[::1] rows, const Py_ssize_t[::1] support, const double[::1] weights,
    Py_ssize_t k, double[:, ::1] out,
) noexcept nogil:
    cdef Py_ssize_t a, b, i, j
    cdef double total
    for a in range(rows.shape[0]):
        i = rows[a]
        total = 0.0
        for b in range(support.shape[0]):
            j = support[b]
            total += weights[b] * (half[i * (i + 1) // 2 + j] if j <= i else half[j * (j + 1) // 2 + i])
        out[a, k] = total


def row_products(
    const stored[:, ::1] store, bint pair_major, const Py_ssize_t[::1] rows, const Py_ssize_t[::1] support,
    const double[::1] weights, double[:, ::1] out, int threads,
):
    """Compute entries i in rows of ``K_k @ v`` for all k; weights are those of v on its support, in ascending order.

    The pair-major store is read row by row, the kernel-major one entry by entry.

    NumPy: for each k, out[:, k] = K_k[np.ix_(rows, support)] @ weights
    """
    cdef Py_ssize_t t, count = support.shape[0]
    if count == 0:
        out[:, :] = 0.0
    elif pair_major:
        for t in prange(rows.shape[0], nogil=True, num_threads=threads, schedule="static"):
            products_of_pairs(&store[0, 0], store.shape[1], rows[t], &support[0], &weights[0], count, &out[t, 0])
    else:
        for t in prange(store.shape[0], nogil=True, num_threads=threads, schedule="static"):
            products_of_half(&store[t, 0], rows, support, weights, t, out)


def support_pairs(
    const Py_ssize_t[::1] support, const double[::1] v, Py_ssize_t[::1] entries, double[::1] weights,
):
    """List the entries (i, j), j <= i, of a half with i and j in the support, with their weights in ``v @ K @ v``.

    NumPy: a, b = np.tril_indices(len(support)); i, j = support[a], support[b]
           entries[:] = i * (i + 1) // 2 + j; weights[:] = v[i] * v[j] * np.where(a == b, 1, 2)
    """
    cdef Py_ssize_t a, b, i, j, k = 0
    with nogil:
        for a in range(support.shape[0]):
            i = support[a]
            for b in range(a):
                j = support[b]
                entries[k] = i * (i + 1) // 2 + j
                weights[k] = 2.0 * v[i] * v[j]
                k += 1
            entries[k] = i * (i + 1) // 2 + i
            weights[k] = v[i] * v[i]
            k += 1


# v @ K @ v from one half, of which the rows of the support are read.
cdef double form_of_half(const stored* half, const Py_ssize_t[::1] support, const double* v) noexcept nogil:
    cdef Py_ssize_t a, i, j
    cdef const stored* row
    cdef double product, total = 0.0
    for a in range(support.shape[0]):
        i = support[a]
        row = half + i * (i + 1) // 2
        product = 0.0
        for j in range(i):
            product += row[j] * v[j]
        total += v[i] * (2.0 * product + v[i] * row[i])
    return total


def packed_forms(
    const stored[:, ::1] packed, const Py_ssize_t[::1] support, const double[::1] v, double[::1] out, int threads,
):
    """Compute ``v @ K_k @ v`` for all k from the kernel-major store, reading the rows of the support only.

    NumPy: for each k, L = tril(K_k, -1): out[k] = (2 * v @ L @ v + v**2 @ K_k.diagonal())
    """
    cdef Py_ssize_t k
    for k in prange(packed.shape[0], nogil=True, num_threads=threads, schedule="static"):
        out[k] = form_of_half(&packed[k, 0], support, &v[0])
