# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# Newton's method on the free variables, once two-variable steps have told roughly which they are.

from cython cimport floating
from libc.math cimport fabs, sqrt
from libc.stdlib cimport free as libc_free, realloc
from scipy.linalg.cython_blas cimport dtrsm, dtrsv
from scipy.linalg.cython_lapack cimport dpotrf

from _numbers cimport EPS, FAR
from _rounding cimport Drift
from _steps cimport change_piece, subtract_columns

cdef enum:
    ROUNDS = 30         # of Newton's method: limit on factorizations,
    PATIENCE = 4        # and on those in a row without fewer wrong memberships
    MOST_FREE = 20_000  # a matrix of this side is 3.2 GB

cdef extern from *:
    """
    #define SINGULAR 1e-13      /* least squared pivot, relative to the largest diagonal entry */
    #define LEAST_SLACK 1e-12   /* on the gradient of a variable at its bound, in units of the margin */
    """
    const double SINGULAR
    const double LEAST_SLACK


# What rounding may make of an entry of K b, in units of the margin: |K_ij| <= sqrt(K_ii K_jj), so it is a sum of terms
# that total at most sqrt(largest) * spread. The constant is safe in practice.
cdef inline double rounding_of_gradient(Py_ssize_t n, const double* diagonal, const double* b) noexcept nogil:
    cdef Py_ssize_t i
    cdef double largest = 0.0, spread = 0.0
    for i in range(n):
        largest = max(largest, diagonal[i])
        spread += sqrt(max(diagonal[i], 0.0)) * fabs(b[i])
    return 8.0 * EPS * (1.0 + sqrt(largest) * spread) + LEAST_SLACK


# The Cholesky factor L of K_FF, column-major, lower triangle. Returns whether its pivots are more than rounding, each
# beside its own diagonal entry: the factor of a kernel with rows and columns scaled is as exact.
# NumPy: L[:] = np.linalg.cholesky(K[np.ix_(free, free)])
cdef inline bint factorize(const floating* K, Py_ssize_t n, const Py_ssize_t* free, int m, double* L) noexcept nogil:
    cdef Py_ssize_t r, c
    cdef const floating* row
    cdef int info
    cdef bint sound
    for c in range(m):
        row = K + free[c] * n
        for r in range(c, m):
            L[c * m + r] = <double> row[free[r]]
    dpotrf("L", &m, L, &m, &info)
    sound = info == 0
    for c in range(m):
        sound = sound and L[c * m + c] * L[c * m + c] > SINGULAR * <double> K[free[c] * n + free[c]]
    return sound


# One Newton step over F = free: K_FF d = g_F - bias, sum(d) = -excess. `pair` has room for 2 m numbers and ends as d.
# NumPy: u, w = solve(L, g[free]), solve(L, np.ones(m)); bias = (w @ u + excess) / (w @ w); d = solve(L.T, u - bias * w)
cdef inline double newton_step(
    int m, const Py_ssize_t* free, double* L, const double* g, double excess, double* pair,
) noexcept nogil:
    cdef double one = 1.0, wu = 0.0, ww = 0.0, bias
    cdef int two = 2, step = 1
    cdef Py_ssize_t c
    for c in range(m):
        pair[c] = g[free[c]]
        pair[m + c] = 1.0
    dtrsm("L", "L", "N", "N", &m, &two, &one, L, &m, pair, &m)
    for c in range(m):
        wu += pair[m + c] * pair[c]
        ww += pair[m + c] * pair[m + c]
    bias = (wu + excess) / ww
    for c in range(m):
        pair[c] -= bias * pair[m + c]
    dtrsv("L", "T", "N", &m, L, &m, pair, &step)
    return bias


# How far the gradient of a variable at a bound, or at the kink, is on the wrong side of the bias; `lead` = g - bias.
# A variable cannot go where its box ends at 0.
cdef inline double wrongness(
    Py_ssize_t i, Py_ssize_t n, bint kinked, const double* work, double b, double lead,
) noexcept nogil:
    cdef double up, down, kink = work[18 * n + i]
    if kinked and b == 0.0:
        up = lead if work[n + i] >= 0.0 else lead - 2.0 * kink
        down = -2.0 * kink - lead if work[n + i] >= 0.0 else -lead
        return max(up if work[20 * n + i] > 0.0 else -FAR, down if work[19 * n + i] < 0.0 else -FAR)
    return lead if b <= work[n + i] else -lead


# Put a variable at the kink, of a gradient on the wrong side of the bias, on the piece where it can go.
cdef inline void enter_piece(
    Py_ssize_t i, Py_ssize_t n, bint kinked, double* work, const double* b, double* g, double bias,
) noexcept nogil:
    if kinked and b[i] == 0.0 and (g[i] > bias) != (work[n + i] >= 0.0):
        change_piece(i, n, work, g)


# Variables at a bound with a gradient on the wrong side of the bias join the free ones. Returns how many did, or -1 if
# none did and the gradient of a free one is not the bias yet.
cdef inline Py_ssize_t free_wrong(
    Py_ssize_t n, bint kinked, double* work, const double* b, double* g, double bias, double slack,
    Py_ssize_t* free, Py_ssize_t* m,
) noexcept nogil:
    cdef const double* lower = work + n
    cdef const double* upper = work + 2 * n
    cdef Py_ssize_t i, wrong = 0
    cdef bint exact = True
    for i in range(n):
        if lower[i] < b[i] < upper[i]:
            exact = exact and fabs(g[i] - bias) <= slack
        elif wrongness(i, n, kinked, work, b[i], g[i] - bias) > slack:
            enter_piece(i, n, kinked, work, b, g, bias)
            free[m[0]] = i
            m[0] += 1
            wrong += 1
    return wrong if wrong > 0 or exact else -1


# Active-set Newton from a feasible b with gradient g, both updated: solve for the free variables; those that leave the
# box go to their bound; once none leaves, bound ones of the wrong sign are freed; until nothing changes, or the number
# of wrong memberships has not fallen for PATIENCE rounds. sum(b) is repaired on the way. Returns whether the end was
# reached; b is in the box in any case, but of any sum and value if it was not.
cdef inline bint newton(
    const floating* K, Py_ssize_t n, double total, bint kinked, double* work, double* b, double* g,
    Py_ssize_t* free, double* change, Py_ssize_t* rounds, Py_ssize_t* columns, Drift* drift,
) noexcept nogil:
    cdef const double* lower = work + n
    cdef const double* upper = work + 2 * n
    cdef const double* root = work + 15 * n
    cdef Py_ssize_t m = 0, room = 0, kept, i, c, wrong, fewest = n + 1, stale = 0
    cdef double excess, bias, moved, slack = rounding_of_gradient(n, work, b)
    cdef double* store = NULL
    cdef double* grown
    cdef bint done = False
    for i in range(n):
        change[i] = 0.0
        if lower[i] < b[i] < upper[i]:
            free[m] = i
            m += 1
    rounds[0] = 0
    columns[0] = 0
    while rounds[0] < ROUNDS:
        if m == 0 or m > MOST_FREE or stale > PATIENCE:
            break
        if m > room:
            room = min(m + m // 4 + 8, n)
            grown = <double*> realloc(store, (room * room + 2 * room) * sizeof(double))
            if grown == NULL:
                break
            store = grown
        rounds[0] += 1
        if not factorize(K, n, free, m, store + 2 * room):
            break
        excess = -total
        for i in range(n):
            excess += b[i]
        bias = newton_step(m, free, store + 2 * room, g, excess, store)
        kept = 0
        for c in range(m):
            i = free[c]
            moved = min(max(b[i] + store[c], lower[i]), upper[i])
            change[i] = moved - b[i]
            drift.travel += root[i] * fabs(change[i])
            b[i] = moved
            if lower[i] < moved < upper[i]:
                free[kept] = i
                kept += 1
        subtract_columns(K, n, change, g)
        for i in range(n):
            change[i] = 0.0
        columns[0] += m
        drift.events += 0.5 * (8 + m // 4)
        wrong = m - kept
        m = kept
        if wrong == 0:
            wrong = free_wrong(n, kinked, work, b, g, bias, slack, free, &m)
            if wrong == 0:
                done = True
                break
        stale = 0 if 0 <= wrong < fewest else stale + 1
        if wrong >= 0:
            fewest = min(fewest, wrong)
    libc_free(store)
    return done
