# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The pair-major layout of a stack of p symmetric matrices: all entries of a pair of points next to each other.

Rows of it, ``packed[kernels, entry]``, are copied from the halves when they are first asked for, and kept in that
order: ``pairs[places[entry]]``, where places are -1 of rows that are not kept. See `_packed` for halves, threads and
rounding.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int32_t
from libc.string cimport memcpy, memset

from _row_sums cimport COLUMNS, add_rows, entry_of, fetch_ahead, stored

cdef enum:
    PIECES = 16         # into which the rows of a sum are cut at most
    ROWS = 512          # least number of rows of a piece
    CHUNK = 256         # rows added up before the next columns
    STRIP = 8           # kernels whose entries are copied at a time
    COPIED = 512        # pairs whose entries are copied at a time
    EARLY = 24          # pairs whose entries are fetched before their turn


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


# (K_k @ v)[i] for all k; the pairs (i, j), j in the support of v, are at these places, and weights are those of v
# there.
cdef void products_of_pairs(
    const stored* pairs, Py_ssize_t p, const Py_ssize_t* places, const double* weights, Py_ssize_t count, double* out,
) noexcept nogil:
    cdef Py_ssize_t chunk, first, block, start, stop
    memset(out, 0, p * sizeof(double))
    for chunk in range((count + CHUNK - 1) // CHUNK):
        first = chunk * CHUNK
        for block in range((p + COLUMNS - 1) // COLUMNS):
            start = block * COLUMNS
            stop = min(start + COLUMNS, p)
            add_rows(
                pairs, p, start, stop, places + first, weights + first, min(CHUNK, count - first), True, out + start,
            )


def pair_products(
    const stored[:, ::1] pairs, const Py_ssize_t[:, ::1] places, const double[::1] weights, double[:, ::1] out,
    int threads,
):
    """Compute entries of ``K_k @ v`` for all k from rows of the pair-major layout; weights are those of v on its
    support.

    NumPy: for each t, out[t] = weights @ pairs[places[t]]
    """
    cdef Py_ssize_t t, count = weights.shape[0]
    if count == 0:
        out[:, :] = 0.0
        return
    for t in prange(places.shape[0], nogil=True, num_threads=threads, schedule="static"):
        products_of_pairs(&pairs[0, 0], pairs.shape[1], &places[t, 0], &weights[0], count, &out[t, 0])


# Rows of the pair-major layout, of which `places` are to be copied; eight halves are read side by side.
cdef void copy_pairs(
    const stored[:, ::1] packed, const Py_ssize_t[::1] kernels, const Py_ssize_t* entries, Py_ssize_t count,
    stored* rows,
) noexcept nogil:
    cdef Py_ssize_t p = kernels.shape[0], tile, left, right, other, k, a, e, early
    cdef const stored* half[STRIP]
    cdef stored* row
    for tile in range((count + COPIED - 1) // COPIED):
        left = tile * COPIED
        right = min(left + COPIED, count)
        for other in range(p // STRIP):
            for a in range(STRIP):
                half[a] = &packed[kernels[other * STRIP + a], 0]
            for k in range(left, right):
                e = entries[k]
                early = entries[min(k + EARLY, count - 1)]
                row = rows + k * p + other * STRIP
                for a in range(STRIP):
                    fetch_ahead(half[a] + early)
                for a in range(STRIP):
                    row[a] = half[a][e]
        for a in range(p // STRIP * STRIP, p):
            for k in range(left, right):
                rows[k * p + a] = packed[kernels[a], entries[k]]


# The place of an entry's row of pairs, where it is kept or will be: new ones are listed.
cdef inline Py_ssize_t place_of(
    Py_ssize_t entry, int32_t[::1] places, Py_ssize_t kept, Py_ssize_t* fresh, Py_ssize_t* n_fresh,
) noexcept nogil:
    if places[entry] < 0:
        places[entry] = <int32_t> (kept + n_fresh[0])
        fresh[n_fresh[0]] = entry
        n_fresh[0] += 1
    return places[entry]


def support_pairs(
    const stored[:, ::1] packed, const Py_ssize_t[::1] kernels, const Py_ssize_t[::1] support, const double[::1] v,
    stored[:, ::1] pairs, int32_t[::1] places, Py_ssize_t[::1] kept, Py_ssize_t[::1] found, double[::1] weights,
):
    """List the places of the pairs i, j <= i, with i and j in the support, and their weights in ``v @ K @ v``.

    Rows of pairs that are not kept are copied and kept from now on; ``kept[0]`` counts them. No signal and no other
    thread comes in between.

    NumPy: a, b = np.tril_indices(len(support)); i, j = support[a], support[b]; entries = i * (i + 1) // 2 + j
           found[:] = places[entries]; weights[:] = v[i] * v[j] * np.where(a == b, 1, 2)
    """
    cdef Py_ssize_t a, b, i, k = 0, n_fresh = 0
    cdef Py_ssize_t[::1] fresh = np.empty(max(found.shape[0], 1), np.intp)
    for a in range(support.shape[0]):
        i = support[a]
        for b in range(a):
            found[k] = place_of(entry_of(i, support[b]), places, kept[0], &fresh[0], &n_fresh)
            weights[k] = 2.0 * v[i] * v[support[b]]
            k += 1
        found[k] = place_of(entry_of(i, i), places, kept[0], &fresh[0], &n_fresh)
        weights[k] = v[i] * v[i]
        k += 1
    if n_fresh:
        copy_pairs(packed, kernels, &fresh[0], n_fresh, &pairs[kept[0], 0])
        kept[0] += n_fresh


def row_pairs(
    const stored[:, ::1] packed, const Py_ssize_t[::1] kernels, const Py_ssize_t[::1] rows,
    const Py_ssize_t[::1] columns, stored[:, ::1] pairs, int32_t[::1] places, Py_ssize_t[::1] kept,
    Py_ssize_t[:, ::1] found,
):
    """List the places of the pairs of rows and columns; those that are not kept are, as by `support_pairs`.

    NumPy: i, j = np.maximum.outer(rows, columns), np.minimum.outer(rows, columns)
           found[:] = places[i * (i + 1) // 2 + j]
    """
    cdef Py_ssize_t a, b, n_fresh = 0
    cdef Py_ssize_t[::1] fresh = np.empty(max(rows.shape[0] * columns.shape[0], 1), np.intp)
    for a in range(rows.shape[0]):
        for b in range(columns.shape[0]):
            found[a, b] = place_of(entry_of(rows[a], columns[b]), places, kept[0], &fresh[0], &n_fresh)
    if n_fresh:
        copy_pairs(packed, kernels, &fresh[0], n_fresh, &pairs[kept[0], 0])
        kept[0] += n_fresh
