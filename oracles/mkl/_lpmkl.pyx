# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Two-variable steps on the dual of MKL with a smooth regularizer (SMO-MKL).

    max  linear @ x - 1/2 ridge @ x^2 - rho(S(v))   over lower <= x <= upper, sum(x) given,    S_k(v) = v @ K_k @ v,

with v the variables x added up point by point: one variable per point, two where the loss has a kink at 0, as that of
epsilon-insensitive regression (a+ and -a-, the second half of x). rho(S) is the conjugate of the regularizer at S / 2;
its gradient is half the kernel weights d, and psi, sigma give their derivative, diag(psi) + sigma d d'.

What is kept: M, row j of which is (K_k v)_j for all k; S; and the decision values f_j = d @ M_j of the active points. A
step reads the columns of two points of all kernels.

Compiled with -ffast-math: comparisons with NaN or infinity mean nothing here, the caller checks its data before.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport fabs

from _penalties cimport (
    FAR, SMALL, elastic_weights, entropy_weights, lp_weights, squared_step, squared_weights,
)

from oracle_opt._deadline import seconds_left

cdef double EXACT = 1e-4        # slope at the end of a line search, relative to that at its start
cdef Py_ssize_t NEWTON_STEPS = 60
cdef Py_ssize_t PAUSE = 64      # steps between two looks for Ctrl-C and at the clock


cdef class Penalty:
    """A smooth convex regularizer of the kernel weights, through its conjugate."""

    # The weights d at the quadratic forms S; their derivative is diag(psi) + sigma d d', sigma being returned.
    cdef double weights(self, Py_ssize_t p, const double* S, double* d, double* psi) noexcept nogil:
        return 0.0

    # Maximizer over 0 <= t <= most of t * lead - ridge t^2 / 2 - rho(S + 2 t c + t^2 e), concave with a slope > 0 at 0:
    # Newton's method on the slope, kept inside the interval known to hold its root.
    # The slope is lead - ridge t - sum_k d_k w_k, w = c + t e, that is minus
    # ridge + d @ e + 2 (psi @ w^2 + sigma (d @ w)^2) times dt.
    cdef double step(
        self, Py_ssize_t p, const double* S, const double* c, const double* e, double lead, double ridge, double most,
        double* trial, double* d, double* psi,
    ) noexcept nogil:
        cdef double low = 0.0, high = most, t = 0.0, first = 0.0, following, slope, bend, along, sigma, w
        cdef bint untried = True        # whether the end of the interval is still `most`
        cdef Py_ssize_t attempt, k
        for attempt in range(NEWTON_STEPS):
            for k in range(p):
                trial[k] = max(S[k] + t * (2.0 * c[k] + t * e[k]), 0.0)
            sigma = self.weights(p, trial, d, psi)
            along = 0.0
            bend = ridge
            for k in range(p):
                w = c[k] + t * e[k]
                along += d[k] * w
                bend += d[k] * e[k] + 2.0 * psi[k] * w * w
            slope = lead - ridge * t - along
            bend += 2.0 * sigma * along * along
            if attempt == 0:
                first = slope
            elif fabs(slope) <= EXACT * first or (t >= most and slope >= 0.0):
                return t
            if slope > 0.0:
                low = t
            else:
                high = t
                untried = False
            following = t + slope / bend if bend > SMALL else FAR
            if untried and following >= most:
                following = most
            elif following <= low or following >= high:
                following = 0.5 * (low + high)
            if following == t:
                return t
            t = following
        return t


cdef class LpNorm(Penalty):
    """``lam / 2 norm(d, p)**2``; rho(S) = norm(S, q)^2 / (8 lam)."""

    cdef double lam, q

    def __init__(self, double p, double lam):
        self.lam = lam
        self.q = p / (p - 1.0)

    cdef double weights(self, Py_ssize_t p, const double* S, double* d, double* psi) noexcept nogil:
        return lp_weights(p, S, self.q, self.lam, d, psi)


cdef class SquaredNorm(Penalty):
    """``lam / 2 norm(d, 2)**2``; rho(S) = norm(S)^2 / (8 lam), and a step is the root of a cubic."""

    cdef double lam

    def __init__(self, double lam):
        self.lam = lam

    cdef double weights(self, Py_ssize_t p, const double* S, double* d, double* psi) noexcept nogil:
        return squared_weights(p, S, self.lam, d, psi)

    cdef double step(
        self, Py_ssize_t p, const double* S, const double* c, const double* e, double lead, double ridge, double most,
        double* trial, double* d, double* psi,
    ) noexcept nogil:
        return squared_step(p, S, self.lam, c, e, lead, ridge, most)


cdef class Entropy(Penalty):
    """``lam sum_k d_k log(d_k / d0_k) - d_k + d0_k``; rho(S) = lam sum_k d0_k (exp(S_k / (2 lam)) - 1)."""

    cdef double lam
    cdef const double[::1] reference

    def __init__(self, const double[::1] reference, double lam):
        self.lam = lam
        self.reference = reference

    cdef double weights(self, Py_ssize_t p, const double* S, double* d, double* psi) noexcept nogil:
        return entropy_weights(p, S, &self.reference[0], self.lam, d, psi)


cdef class Elastic(Penalty):
    """``linear sum(d) + quadratic / 2 sum(d^2)``; rho(S) = sum_k max(0, S_k / 2 - linear)^2 / (2 quadratic)."""

    cdef double linear, quadratic

    def __init__(self, double linear, double quadratic):
        self.linear = linear
        self.quadratic = quadratic

    cdef double weights(self, Py_ssize_t p, const double* S, double* d, double* psi) noexcept nogil:
        return elastic_weights(p, S, self.linear, self.quadratic, d, psi)


cdef class ColumnCache:
    """Columns of all kernels at once, the least recently used thrown out.

    Parameters
    ----------
    fetch : callable
        From the index i of a point to an array of shape (n, p), entry (j, k) being K_k[i, j].
    n, p : int
        Numbers of points and kernels.
    slots : int
        Columns kept, at least 2: of n * p * 8 bytes each, taken from the system when they are first used.
    """

    cdef readonly Py_ssize_t hits, misses
    cdef object fetch, store
    cdef double[:, :, ::1] view
    cdef Py_ssize_t[::1] slot_of, point_in, used
    cdef Py_ssize_t clock, filled

    def __init__(self, fetch, Py_ssize_t n, Py_ssize_t p, Py_ssize_t slots):
        self.fetch = fetch
        self.store = np.empty((slots, n, p))
        self.view = self.store
        self.slot_of = np.full(n, -1, np.intp)
        self.point_in = np.empty(slots, np.intp)
        self.used = np.zeros(slots, np.intp)

    cdef const double* column(self, Py_ssize_t i) except NULL:
        cdef Py_ssize_t slot = self.slot_of[i], other
        self.clock += 1
        if slot >= 0:
            self.hits += 1
        else:
            self.misses += 1
            if self.filled < self.used.shape[0]:
                slot = self.filled
                self.filled += 1
            else:
                slot = 0
                for other in range(1, self.filled):
                    if self.used[other] < self.used[slot]:
                        slot = other
                self.slot_of[self.point_in[slot]] = -1
            self.store[slot] = self.fetch(i)
            self.slot_of[i] = slot
            self.point_in[slot] = i
        self.used[slot] = self.clock
        return &self.view[slot, 0, 0]


# M_j += t (column_i - column_j) for one point j; its new decision value is returned.
# NumPy: m += t * (a - b); return d @ m
cdef inline double move_point(
    Py_ssize_t p, double t, const double* a, const double* b, const double* d, double* m,
) noexcept nogil:
    cdef Py_ssize_t k
    cdef double value, f = 0.0
    for k in range(p):
        value = m[k] + t * (a[k] - b[k])
        m[k] = value
        f += d[k] * value
    return f


# Minus the second derivative of the dual along a pair of points, but for the part of sigma. Arguments: K_ii, K_jj,
# K_ij, M_i, M_j of every kernel.
# NumPy: return d @ (ii + jj - 2 * ij) + 2 * psi @ (mi - mj)**2
cdef inline double bend_of_pair(
    Py_ssize_t p, const double* ii, const double* jj, const double* ij, const double* mi, const double* mj,
    const double* d, const double* psi,
) noexcept nogil:
    cdef Py_ssize_t k
    cdef double c, bend = 0.0
    for k in range(p):
        c = mi[k] - mj[k]
        bend += d[k] * (ii[k] + jj[k] - 2.0 * ij[k]) + 2.0 * psi[k] * c * c
    return bend


# Take out of `active`, keeping the order, the points none of whose variables can be in a violating pair: those at a
# bound with a gradient beyond that of every variable that can move against them. Returns how many stay.
cdef Py_ssize_t shrink(
    Py_ssize_t n, Py_ssize_t sides, Py_ssize_t m, Py_ssize_t* active, const double* slope, const double* lower,
    const double* upper, const double* x, const double* f, double top, double bottom,
) noexcept nogil:
    cdef Py_ssize_t r, s, i, kept = 0
    cdef double g
    cdef bint needed
    for r in range(m):
        needed = False
        for s in range(sides):
            i = active[r] + s * n
            g = slope[i] - f[active[r]]
            needed = needed or (x[i] < upper[i] and g >= bottom) or (x[i] > lower[i] and g <= top)
        if needed:
            active[kept] = active[r]
            kept += 1
    return kept


def take_steps(
    ColumnCache cache, Penalty penalty, const double[::1] linear, const double[::1] ridge, const double[::1] lower,
    const double[::1] upper, const double[:, ::1] diagonal, double[::1] x, double[:, ::1] M, double[::1] S,
    double target, Py_ssize_t limit,
):
    """Two-variable steps until the violation among the active points is <= target.

    x, M and S are updated; rows of M of points that are no longer active are left as they were. The violation is the
    largest gradient of a variable that can rise minus the least of one that can fall.

    Returns
    -------
    tuple
        Steps taken; the active points, ndarray of int; the sum of what the variables moved.
    """
    cdef Py_ssize_t n = M.shape[0], p = M.shape[1], sides = x.shape[0] // n
    cdef Py_ssize_t m = n, taken = 0, pause = min(max(n // 4, 30), 1000), i, j, pi, pj, point, variable, r, s, k
    cdef double top, bottom, g, lead, bend, gain, best, flat, most, t, old_i, old_j, apart, ridge_i, travel = 0.0
    cdef const double* a
    cdef const double* b
    slopes = np.asarray(linear) - np.asarray(ridge) * np.asarray(x)
    cdef double[::1] slope = slopes     # of the objective in x, but for rho
    points = np.arange(n)
    cdef Py_ssize_t[::1] active = points
    cdef double[::1] decision = np.empty(n)
    cdef double[:, ::1] of_kernel = np.empty((5, p))
    cdef double* f = &decision[0]
    cdef double* d = &of_kernel[0, 0]
    cdef double* psi = &of_kernel[1, 0]
    cdef double* c = &of_kernel[2, 0]
    cdef double* e = &of_kernel[3, 0]
    cdef double* trial = &of_kernel[4, 0]
    cdef double sigma = penalty.weights(p, &S[0], d, psi)
    for i in range(n):
        f[i] = move_point(p, 0.0, &M[i, 0], &M[i, 0], d, &M[i, 0])
    while True:
        if taken % PAUSE == 0:
            PyErr_CheckSignals()
            seconds_left()
        top = -FAR
        bottom = FAR
        i = -1
        for r in range(m):
            for s in range(sides):
                variable = active[r] + s * n
                g = slope[variable] - f[active[r]]
                if x[variable] < upper[variable] and g > top:
                    top = g
                    i = variable
                if x[variable] > lower[variable]:
                    bottom = min(bottom, g)
        if i < 0 or top - bottom <= target or taken >= limit:
            break
        if taken % pause == pause - 1:
            m = shrink(n, sides, m, &active[0], &slope[0], &lower[0], &upper[0], &x[0], f, top, bottom)
        pi = i % n
        a = cache.column(pi)
        # Partner of the largest gain of the unclipped step: lead^2 / (2 curvature), the curvature being
        # sum_k d_k e_k + 2 (sum_k psi_k c_k^2 + sigma (d @ c)^2), with c = M_i - M_j, e = K_ii + K_jj - 2 K_ij, and the
        # ridges of both.
        ridge_i = ridge[i]
        with nogil:
            flat = SMALL
            for k in range(p):
                flat += 1e-12 * d[k] * diagonal[pi, k]
            best = -1.0
            j = -1
            for r in range(m):
                point = active[r]
                bend = -1.0
                for s in range(sides):
                    variable = point + s * n
                    lead = top - (slope[variable] - f[point])
                    if x[variable] > lower[variable] and lead > 0.0:
                        if bend < 0.0:
                            bend = bend_of_pair(
                                p, &diagonal[pi, 0], &diagonal[point, 0], a + point * p, &M[pi, 0], &M[point, 0],
                                d, psi,
                            )
                            apart = f[pi] - f[point]
                            bend = max(bend + 2.0 * sigma * apart * apart, flat)
                        gain = lead * lead / (bend + ridge_i + ridge[variable])
                        if gain > best:
                            best = gain
                            j = variable
        if j < 0:
            break
        pj = j % n
        b = cache.column(pj)
        with nogil:
            most = min(upper[i] - x[i], x[j] - lower[j])
            for k in range(p):
                c[k] = M[pi, k] - M[pj, k]
                e[k] = max(a[pi * p + k] + b[pj * p + k] - 2.0 * a[pj * p + k], 0.0)
            t = penalty.step(p, &S[0], c, e, slope[i] - slope[j], ridge_i + ridge[j], most, trial, d, psi)
            old_i = x[i]
            old_j = x[j]
            x[i] = upper[i] if t >= upper[i] - x[i] else x[i] + t
            x[j] = lower[j] if t >= x[j] - lower[j] else x[j] - t
            slope[i] = linear[i] - ridge_i * x[i]
            slope[j] = linear[j] - ridge[j] * x[j]
        if x[i] == old_i and x[j] == old_j:
            break
        taken += 1
        travel += 2.0 * fabs(t)
        with nogil:
            for k in range(p):
                S[k] = max(S[k] + t * (2.0 * c[k] + t * e[k]), 0.0)
            sigma = penalty.weights(p, &S[0], d, psi)
            for r in range(m):
                point = active[r]
                f[point] = move_point(p, t, a + point * p, b + point * p, d, &M[point, 0])
    return taken, points[:m].copy(), travel
