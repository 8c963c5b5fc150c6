# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# Sums of rows, and where the entries of a half are: what the loops over both layouts share.

cdef extern from *:
    """
    #ifdef __GNUC__
    #define fetch_ahead(address) __builtin_prefetch(address, 0, 2)
    #else
    #define fetch_ahead(address) ((void) (address))
    #endif
    """
    void fetch_ahead(const void* address) noexcept nogil

cdef enum:
    COLUMNS = 4096      # sums kept in the first-level cache while rows stream past
    LINE = 64           # bytes of a cache line
    AHEAD = 8           # rows fetched before their turn

ctypedef fused stored:
    float
    double


# total[:] += weights @ rows[which, start:stop], four rows at a time. Where the rows are many and lie scattered, the
# processor does not see the next ones coming: `ahead` fetches them, line by line with those being added.
cdef inline void add_rows(
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


# Where the entry (i, j) is in a half.
cdef inline Py_ssize_t entry_of(Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    return i * (i + 1) // 2 + j if j <= i else j * (j + 1) // 2 + i
