# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Linear algebra on a stack of p symmetric n x n matrices, of which only the lower halves are stored.

A half is the vector of length m = n (n + 1) / 2 with entry (i, j), j <= i, at ``i (i + 1) / 2 + j``. The stack is held
kernel-major, ``packed[k, entry]``; the kernels meant are its rows `kernels` or `which`. Stores are float32 or float64,
sums are always float64. NaN keeps its meaning here: sums may be reordered, nothing else of fast-math is switched on.

Work is cut into pieces by its shape alone, and what the pieces add to one number is added up in their order: the number
of threads moves no bit of a result.
"""

import os

from cython.parallel cimport prange
from cython cimport floating
from libc.math cimport fabs, sqrt
from libc.string cimport memcpy, memset

from _row_sums cimport COLUMNS, add_rows, entry_of, stored

cdef extern from *:
    """
    #ifdef _OPENMP
    #include <omp.h>
    #else
    static int omp_get_max_threads(void) { return 1; }
    #endif
    """
    int omp_get_max_threads() noexcept nogil

cdef enum:
    TILE = 16
    ALONE = 1 << 23     # entries to read below which a thread may be slower to wake than to read them

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


# (K_k @ v)[i] for one k and some i, from one half.
cdef void products_of_half(
    const stored* half, const Py_ssize_t[::1] rows, const Py_ssize_t[::1] support, const double[::1] weights,
    Py_ssize_t k, double[:, ::1] out,
) noexcept nogil:
    cdef Py_ssize_t a, b
    cdef double total
    for a in range(rows.shape[0]):
        total = 0.0
        for b in range(support.shape[0]):
            total += weights[b] * half[entry_of(rows[a], support[b])]
        out[a, k] = total


def row_products(
    const stored[:, ::1] packed, const Py_ssize_t[::1] kernels, const Py_ssize_t[::1] rows,
    const Py_ssize_t[::1] support, const double[::1] weights, double[:, ::1] out, int threads,
):
    """Compute entries i in rows of ``K_k @ v`` for all k, entry by entry; weights are those of v on its support.

    NumPy: for each k, out[:, k] = K_k[np.ix_(rows, support)] @ weights
    """
    cdef Py_ssize_t t
    for t in prange(kernels.shape[0], nogil=True, num_threads=threads, schedule="static"):
        products_of_half(&packed[kernels[t], 0], rows, support, weights, t, out)


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
    const stored[:, ::1] packed, const Py_ssize_t[::1] kernels, const Py_ssize_t[::1] support, const double[::1] v,
    double[::1] out, int threads,
):
    """Compute ``v @ K_k @ v`` for all k from the halves, reading the rows of the support only.

    NumPy: for each k, L = tril(K_k, -1): out[k] = (2 * v @ L @ v + v**2 @ K_k.diagonal())
    """
    cdef Py_ssize_t k
    for k in prange(kernels.shape[0], nogil=True, num_threads=threads, schedule="static"):
        out[k] = form_of_half(&packed[kernels[k], 0], support, &v[0])


# Some entries of row i of sum(weights[r] * K_which[r]), four kernels at a time.
cdef void block_row(
    const stored[:, ::1] packed, const Py_ssize_t[::1] which, const double[::1] weights, Py_ssize_t i,
    const Py_ssize_t[::1] columns, double* out,
) noexcept nogil:
    cdef Py_ssize_t r, b, e, last = which.shape[0] - 1
    cdef const stored* h0
    cdef const stored* h1
    cdef const stored* h2
    cdef const stored* h3
    cdef double w0, w1, w2, w3
    memset(out, 0, columns.shape[0] * sizeof(double))
    for r in range(0, last + 1, 4):
        h0 = &packed[which[r], 0]
        h1 = &packed[which[min(r + 1, last)], 0]
        h2 = &packed[which[min(r + 2, last)], 0]
        h3 = &packed[which[min(r + 3, last)], 0]
        w0 = weights[r]
        w1 = weights[r + 1] if r + 1 <= last else 0.0
        w2 = weights[r + 2] if r + 2 <= last else 0.0
        w3 = weights[r + 3] if r + 3 <= last else 0.0
        for b in range(columns.shape[0]):
            e = entry_of(i, columns[b])
            out[b] += (w0 * h0[e] + w1 * h1[e]) + (w2 * h2[e] + w3 * h3[e])


def combine_block(
    const stored[:, ::1] packed, const Py_ssize_t[::1] which, const double[::1] weights, const Py_ssize_t[::1] rows,
    const Py_ssize_t[::1] columns, double[:, ::1] out, int threads,
):
    """Add up some entries of weighted matrices of a kernel-major stack.

    NumPy: out[:] = np.tensordot(weights, K[which][:, rows][:, :, columns], 1)
    """
    cdef Py_ssize_t a
    if columns.shape[0] == 0:
        return
    for a in prange(rows.shape[0], nogil=True, num_threads=threads, schedule="static"):
        block_row(packed, which, weights, rows[a], columns, &out[a, 0])
