# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# The primal active-set method, for kernels that are singular on the free variables (few features, equal points).
# Scheinberg (2006), "An efficient implementation of an active set method for SVMs", JMLR 7, in signed variables.
#
# L is the factor of Q = K_FF + shift, packed row by row. The shift changes nothing since sum(b) is fixed, and makes Q
# positive definite as soon as no direction of sum 0 is flat: the rank of K plus one variables can be free at once.

from cython cimport floating
from libc.math cimport fabs, sqrt
from libc.stdlib cimport free as libc_free, realloc
from libc.string cimport memmove

from _newton cimport PATIENCE, SINGULAR, enter_piece, rounding_of_gradient, wrongness
from _numbers cimport FAR
from _steps cimport subtract_columns


cdef inline Py_ssize_t packed(Py_ssize_t r) noexcept nogil:
    return r * (r + 1) // 2


# Row m of L for a new variable j; returns the square of its last entry, which is left out.
# NumPy: row = solve(L, Q[free, j]); return Q[j, j] - row @ row
cdef inline double new_row(
    const floating* K, Py_ssize_t n, const Py_ssize_t* free, Py_ssize_t m, Py_ssize_t j, double shift, double* L,
) noexcept nogil:
    cdef double* row = L + packed(m)
    cdef const double* other
    cdef const floating* kernel = K + j * n
    cdef Py_ssize_t c, k
    cdef double value, pivot = <double> kernel[j] + shift
    for c in range(m):
        other = L + packed(c)
        value = <double> kernel[free[c]] + shift
        for k in range(c):
            value -= row[k] * other[k]
        row[c] = value / other[c]
        pivot -= row[c] * row[c]
    return pivot


# Take the variable at position p out of free and L, by rotations of neighboring columns.
cdef inline void drop(Py_ssize_t p, Py_ssize_t* free, Py_ssize_t* m, double* L) noexcept nogil:
    cdef Py_ssize_t k, r
    cdef double* row
    cdef double x, cosine, sine, length
    for k in range(p, m[0] - 1):
        row = L + packed(k + 1)
        length = sqrt(row[k] * row[k] + row[k + 1] * row[k + 1])
        cosine = row[k] / length
        sine = row[k + 1] / length
        for r in range(k + 1, m[0]):
            row = L + packed(r)
            x = row[k]
            row[k] = cosine * x + sine * row[k + 1]
            row[k + 1] = cosine * row[k + 1] - sine * x
        memmove(L + packed(k), L + packed(k + 1), (k + 1) * sizeof(double))
        free[k] = free[k + 1]
    m[0] -= 1


# NumPy: x[:] = solve(L.T, x)
cdef inline void solve_transposed(const double* L, Py_ssize_t m, double* x) noexcept nogil:
    cdef const double* row
    cdef Py_ssize_t c, k
    for c in range(m - 1, -1, -1):
        row = L + packed(c)
        x[c] /= row[c]
        for k in range(c):
            x[k] -= row[k] * x[c]


# Move b[free] by t d with the largest t <= most that stays in the box; what b moved is added to change. Returns the
# position of the variable that met its bound first, and is put on it, or -1; reached[0] = t.
cdef inline Py_ssize_t move(
    const double* lower, const double* upper, const Py_ssize_t* free, Py_ssize_t m, const double* d, double most,
    double* b, double* change, double* reached,
) noexcept nogil:
    cdef Py_ssize_t c, i, blocking = -1
    cdef double room, value
    for c in range(m):
        i = free[c]
        room = upper[i] - b[i] if d[c] > 0.0 else b[i] - lower[i]
        if room < most * fabs(d[c]):
            most = room / fabs(d[c])
            blocking = c
    for c in range(m):
        i = free[c]
        value = min(max(b[i] + most * d[c], lower[i]), upper[i])
        if c == blocking:
            value = upper[i] if d[c] > 0.0 else lower[i]
        change[i] += value - b[i]
        b[i] = value
    reached[0] = most
    return blocking


# Make variable j free. If Q would become singular, b moves along the flat direction, uphill, until a variable meets
# its bound: that one is bound from then on, and if it is another than j, j is tried again. The gradient stays as it is,
# for K times a flat direction is 0. `d` has room for m + 1 numbers.
cdef inline void enter(
    const floating* K, Py_ssize_t n, const double* lower, const double* upper, double least_pivot, double shift,
    Py_ssize_t j, Py_ssize_t* free, Py_ssize_t* m, double* L, double* d, double* b, const double* g, double* change,
) noexcept nogil:
    cdef Py_ssize_t c, blocking
    cdef double pivot, rate, reached
    while True:
        free[m[0]] = j
        pivot = new_row(K, n, free, m[0], j, shift, L)
        if pivot > least_pivot:
            L[packed(m[0]) + m[0]] = sqrt(pivot)
            m[0] += 1
            return
        # Q d = 0 with d_j = 1 and the others -Q_FF^-1 Q_Fj
        for c in range(m[0]):
            d[c] = -L[packed(m[0]) + c]
        solve_transposed(L, m[0], d)
        d[m[0]] = 1.0
        rate = 0.0
        for c in range(m[0] + 1):
            rate += d[c] * g[free[c]]
        if rate < 0.0:
            for c in range(m[0] + 1):
                d[c] = -d[c]
        blocking = move(lower, upper, free, m[0] + 1, d, FAR, b, change, &reached)
        if blocking == m[0]:
            return
        drop(blocking, free, m, L)


# Room for another row of L. Returns whether there is any.
cdef inline bint reserve(double** L, Py_ssize_t* room, Py_ssize_t m) noexcept nogil:
    cdef double* grown
    if m < room[0]:
        return True
    room[0] = 2 * m + 32
    grown = <double*> realloc(L[0], packed(room[0]) * sizeof(double))
    if grown == NULL:
        return False
    L[0] = grown
    return True


# d with Q d = r - multiplier and sum(d) = -excess, r the gradient of the free variables; returns the bias, which is
# their gradient after the whole step. `w` has room for m numbers.
cdef inline double direction(
    Py_ssize_t m, const double* L, double shift, const double* r, double excess, double* d, double* w,
) noexcept nogil:
    cdef const double* row
    cdef Py_ssize_t c, k
    cdef double first, second, wd = 0.0, ww = 0.0, multiplier
    for c in range(m):
        row = L + packed(c)
        first = r[c]
        second = 1.0
        for k in range(c):
            first -= row[k] * d[k]
            second -= row[k] * w[k]
        d[c] = first / row[c]
        w[c] = second / row[c]
        wd += w[c] * d[c]
        ww += w[c] * w[c]
    multiplier = (wd + excess) / ww
    for c in range(m):
        d[c] -= multiplier * w[c]
    solve_transposed(L, m, d)
    return multiplier - shift * excess


# The bound variable most on the wrong side of the bias, by more than slack, or -1.
cdef inline Py_ssize_t most_wrong(
    Py_ssize_t n, double epsilon, const double* b, const double* g, const double* lower, const double* upper,
    double bias, double slack,
) noexcept nogil:
    cdef Py_ssize_t i, worst = -1
    cdef double wrong
    for i in range(n):
        wrong = 0.0
        if b[i] <= lower[i] or b[i] >= upper[i]:
            wrong = wrongness(b[i], g[i] - bias, lower[i], upper[i], epsilon)
        if wrong > slack:
            slack = wrong
            worst = i
    return worst


# From a feasible b with gradient g, both updated: the dual objective only grows, by steps to the optimum over the free
# variables or to the first bound on the way there; at that optimum the bound variable most on the wrong side of the
# bias becomes free. Ends at the optimum, or after some `limit` multiplications at a feasible b that is no worse.
cdef inline void active_set(
    const floating* K, Py_ssize_t n, double total, double epsilon, double limit, double* work, double* b, double* g,
    Py_ssize_t* free, double* change, Py_ssize_t* rounds,
) noexcept nogil:
    cdef const double* diagonal = work
    cdef const double* lower = work + n
    cdef const double* upper = work + 2 * n
    cdef double* d = work + 7 * n
    cdef double* w = work + 8 * n
    cdef double* r = work + 9 * n
    cdef double* L = NULL
    cdef Py_ssize_t m = 0, room = 0, i, c, blocking, entering, refinements = 0
    cdef double shift = 0.0, largest = 0.0, least_pivot, slack, excess, bias = 0.0, reached, spent = 0.0
    cdef bint exact
    for i in range(n):
        change[i] = 0.0
        shift += diagonal[i] / n
        largest = max(largest, diagonal[i])
    rounds[0] = 0
    if not shift > 0.0:     # of a kernel that is zero nothing can be factorized
        return
    least_pivot = SINGULAR * (largest + shift)
    slack = rounding_of_gradient(n, work, b)
    for i in range(n):
        if lower[i] < b[i] < upper[i] and spent < limit and reserve(&L, &room, m):
            enter(K, n, lower, upper, least_pivot, shift, i, free, &m, L, d, b, g, change)
            spent += m * m
    for c in range(m):
        r[c] = g[free[c]]
    while spent < limit and reserve(&L, &room, m):
        rounds[0] += 1
        spent += 3.0 * m * m + n
        if m > 0:
            excess = -total
            for i in range(n):
                excess += b[i]
            bias = direction(m, L, shift, r, excess, d, w)
            blocking = move(lower, upper, free, m, d, 1.0, b, change, &reached)
            # One variable alone moves by the rounding of the sum: at its bound it stays free, or it would come and go.
            if blocking >= 0 and m > 1:
                for c in range(m):
                    r[c] -= reached * (r[c] - bias)
                memmove(r + blocking, r + blocking + 1, (m - 1 - blocking) * sizeof(double))
                drop(blocking, free, &m, L)
                continue
            subtract_columns(K, n, change, g)
            for i in range(n):
                change[i] = 0.0
            spent += <double> n * m
            entering = most_wrong(n, epsilon, b, g, lower, upper, bias, slack)
        else:
            # Nothing to measure against: the one with the largest gradient of those that can rise.
            bias = FAR
            for i in range(n):
                bias = min(bias, g[i])
            entering = most_wrong(n, epsilon, b, g, lower, upper, bias, 0.0)
        if entering < 0:
            exact = True
            for c in range(m):
                exact = exact and fabs(g[free[c]] - bias) <= slack
            refinements += 1
            if exact or refinements > PATIENCE:
                break
        else:
            enter_piece(entering, n, epsilon, work, b, g, bias)
            enter(K, n, lower, upper, least_pivot, shift, entering, free, &m, L, d, b, g, change)
        for c in range(m):
            r[c] = g[free[c]]
    subtract_columns(K, n, change, g)
    libc_free(L)
