# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Linear algebra on a stack of p symmetric n x n matrices, of which only the lower halves are stored.

A half is the vector of length m = n (n + 1) / 2 with entry (i, j), j <= i, at ``i (i + 1) / 2 + j``. The stack is held
kernel-major, ``packed[k, entry]``, and perhaps also pair-major, ``pairs[entry, k]``. Stores are float32 or float64,
sums are always float64. NaN keeps its meaning here: sums may be reordered, nothing else of fast-math is switched on.
"""

from cython cimport floating
from libc.math cimport fabs

cdef enum:
    COLUMNS = 2048      # sums kept in the first-level cache while rows stream past
    TILE = 16

ctypedef fused stored:
    float
    double


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


def unpack(const double[::1] half, double[:, ::1] K):
    """Write the symmetric matrix of a half, by tiles, so that the columns written stay in the cache.

    NumPy: i, j = np.tril_indices(len(K)); K[i, j] = half; K[j, i] = half
    """
    cdef Py_ssize_t n = K.shape[0], tile, other, top, left, i, j, entry
    with nogil:
        for tile in range((n + TILE - 1) // TILE):
            top = tile * TILE
            for other in range(tile + 1):
                left = other * TILE
                for i in range(top, min(top + TILE, n)):
                    entry = i * (i + 1) // 2
                    for j in range(left, min(left + TILE, i + 1)):
                        K[i, j] = half[entry + j]
                        K[j, i] = half[entry + j]


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


# Four rows at a time, by blocks of columns whose sums stay in the first-level cache.
cdef void add_up(
    const stored* rows, Py_ssize_t c, const Py_ssize_t* which, const double* weights, Py_ssize_t count, double* out,
) noexcept nogil:
    cdef Py_ssize_t start, stop = 0, r, last = count - 1, e
    cdef const stored *r0
    cdef const stored *r1
    cdef const stored *r2
    cdef const stored *r3
    cdef double w0, w1, w2, w3
    while stop < c:
        start = stop
        stop = min(start + COLUMNS, c)
        for e in range(start, stop):
            out[e] = 0.0
        for r in range(0, count, 4):
            r0 = rows + which[r] * c
            r1 = rows + which[min(r + 1, last)] * c
            r2 = rows + which[min(r + 2, last)] * c
            r3 = rows + which[min(r + 3, last)] * c
            w0 = weights[r]
            w1 = weights[r + 1] if r + 1 <= last else 0.0
            w2 = weights[r + 2] if r + 2 <= last else 0.0
            w3 = weights[r + 3] if r + 3 <= last else 0.0
            for e in range(start, stop):
                out[e] += (w0 * r0[e] + w1 * r1[e]) + (w2 * r2[e] + w3 * r3[e])


def weighted_rows(const stored[:, ::1] rows, const Py_ssize_t[::1] which, const double[::1] weights, double[::1] out):
    """Add up weighted rows of a matrix: the packed sum of kernels, or the sum over pairs of points for all kernels.

    NumPy: out[:] = weights @ rows[which]
    """
    cdef Py_ssize_t count = which.shape[0]
    if count == 0:
        out[:] = 0.0
        return
    with nogil:
        add_up(&rows[0, 0], rows.shape[1], &which[0], &weights[0], count, &out[0])


def row_products(
    const stored[:, ::1] store, bint pair_major, const Py_ssize_t[::1] rows, const Py_ssize_t[::1] support,
    const double[::1] weights, Py_ssize_t[::1] entries, double[:, ::1] out,
):
    """Compute entries i in rows of ``K_k @ v`` for all k; weights are those of v on its support.

    `entries` is room for as many numbers as the support has. The pair-major store is read row by row, the kernel-major
    one entry by entry.

    NumPy: for each k, out[:, k] = K_k[np.ix_(rows, support)] @ weights
    """
    cdef Py_ssize_t a, b, i, j, k, count = support.shape[0]
    cdef double total
    if count == 0:
        out[:, :] = 0.0
        return
    with nogil:
        for a in range(rows.shape[0]):
            i = rows[a]
            for b in range(count):
                j = support[b]
                entries[b] = i * (i + 1) // 2 + j if j <= i else j * (j + 1) // 2 + i
            if pair_major:
                add_up(&store[0, 0], store.shape[1], &entries[0], &weights[0], count, &out[a, 0])
            else:
                for k in range(store.shape[0]):
                    total = 0.0
                    for b in range(count):
                        total += weights[b] * store[k, entries[b]]
                    out[a, k] = total


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


def packed_forms(const stored[:, ::1] packed, const Py_ssize_t[::1] support, const double[::1] v, double[::1] out):
    """Compute ``v @ K_k @ v`` for all k from the kernel-major store, reading the rows of the support only.

    NumPy: for each k, L = tril(K_k, -1): out[k] = (2 * v @ L @ v + v**2 @ K_k.diagonal())
    """
    cdef Py_ssize_t k, a, i, j, entry
    cdef double row, total
    with nogil:
        for k in range(packed.shape[0]):
            total = 0.0
            for a in range(support.shape[0]):
                i = support[a]
                entry = i * (i + 1) // 2
                row = 0.0
                for j in range(i):
                    row += packed[k, entry + j] * v[j]
                total += v[i] * (2.0 * row + v[i] * packed[k, entry + i])
            out[k] = total
