# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Mehrotra's predictor-corrector steps for `minimize_epigraph`, where the notation is explained.

Programs of some tens of variables and rows: in NumPy nine tenths of the time would be calls.
"""

import numpy as np

from libc.math cimport fabs, isfinite, sqrt
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport dgemv, dsyr, dsyrk, dsymv
from scipy.linalg.cython_lapack cimport dpotrf, dpotrs

cdef extern from *:
    """
    #define KEPT 0.995          /* share of the longest step that is taken */
    #define LEAST_STEP 1e-12
    """
    const double KEPT
    const double LEAST_STEP

cdef enum:
    ONE = 1


cdef double total_of(const double[::1] values) noexcept nogil:
    cdef Py_ssize_t i
    cdef double total = 0.0
    for i in range(values.shape[0]):
        total += values[i]
    return total


cdef double product_of(const double[::1] one, const double[::1] other) noexcept nogil:
    cdef Py_ssize_t i
    cdef double total = 0.0
    for i in range(one.shape[0]):
        total += one[i] * other[i]
    return total


# The largest absolute value, at least that given; NaN if one of them is.
cdef double largest_of(const double[::1] values, double largest) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(values.shape[0]):
        if fabs(values[i]) > largest or values[i] != values[i]:
            largest = fabs(values[i])
    return largest


# Largest step, at most that to the longest, that keeps the values nonnegative.
cdef double step_within(const double[::1] values, const double[::1] direction, double longest) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(values.shape[0]):
        if direction[i] < 0.0 and values[i] < -longest * direction[i]:
            longest = -values[i] / direction[i]
    return longest


# (values + length * direction) @ (others + length * other_direction)
cdef double product_after(
    const double[::1] values, const double[::1] direction, const double[::1] others, const double[::1] other_direction,
    double length,
) noexcept nogil:
    cdef Py_ssize_t i
    cdef double total = 0.0
    for i in range(values.shape[0]):
        total += (values[i] + length * direction[i]) * (others[i] + length * other_direction[i])
    return total


cdef void move(double[::1] values, const double[::1] direction, double length) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(values.shape[0]):
        values[i] += length * direction[i]


cdef class EpigraphProgram:
    """The program, the point reached, and room for Newton's system."""

    cdef const double[:, ::1] hessian, slopes
    cdef const double[::1] linear, constants
    cdef readonly double nu         # multiplier of the sum
    cdef double total, t, heavy, ones_total, dnu, dt, balance, fixed, size
    cdef int n, m
    cdef readonly object x, a       # variables, and multipliers of the rows
    cdef double[::1] x_, a_, b, slack, dual, primal, weight, crossed, ones, dx, da, db, ds, row_product, bound_product
    cdef double[::1] pushed
    cdef double[:, ::1] matrix, scaled

    def __init__(self, hessian, linear, slopes, constants, double total):
        cdef int n = slopes.shape[1], m = slopes.shape[0]
        self.hessian, self.linear, self.slopes, self.constants, self.total = hessian, linear, slopes, constants, total
        self.n, self.m = n, m
        self.x, self.a = np.full(n, total / n), np.full(m, 1.0 / m)
        self.x_, self.a_, self.b, self.nu = self.x, self.a, np.ones(n), 0.0
        values = constants + slopes @ self.x
        self.t = values.max() + 1.0
        self.slack = self.t - values
        self.dual, self.crossed, self.ones, self.dx, self.db, self.bound_product = np.empty((6, n))
        self.primal, self.weight, self.da, self.ds, self.row_product, self.pushed = np.empty((6, m))
        self.matrix, self.scaled = np.empty((n, n)), np.empty((m, n))
        self.size = 1.0 + max(np.abs(linear).max(), np.abs(self.a @ slopes).max())

    # out = scale * out + slopes' @ values
    cdef void add_slopes(self, const double[::1] values, double[::1] out, double scale) noexcept nogil:
        cdef double one = 1.0
        cdef int step = ONE
        dgemv(
            "N", &self.n, &self.m, &one, <double*> &self.slopes[0, 0], &self.n, <double*> &values[0], &step, &scale,
            &out[0], &step,
        )

    # out = scale * out + slopes @ values
    cdef void add_values(self, const double[::1] values, double[::1] out, double scale, double by) noexcept nogil:
        cdef int step = ONE
        dgemv(
            "T", &self.n, &self.m, &by, <double*> &self.slopes[0, 0], &self.n, <double*> &values[0], &step, &scale,
            &out[0], &step,
        )

    cdef void find_residuals(self) noexcept nogil:
        cdef double one = 1.0
        cdef int step = ONE, i
        for i in range(self.n):
            self.dual[i] = self.linear[i] - self.b[i] + self.nu
        dsymv(
            "L", &self.n, &one, <double*> &self.hessian[0, 0], &self.n, &self.x_[0], &step, &one, &self.dual[0], &step,
        )
        self.add_slopes(self.a_, self.dual, 1.0)
        for i in range(self.m):
            self.primal[i] = self.constants[i] - self.t + self.slack[i]
        self.add_values(self.x_, self.primal, 1.0, 1.0)
        self.balance = 1.0 - total_of(self.a_)
        self.fixed = total_of(self.x_) - self.total

    # The Cholesky factor of hessian + diag(b / x) + slopes' (W - W 1 1' W / 1' W 1) slopes; whether there is one.
    cdef bint factorize(self) noexcept nogil:
        cdef double one = 1.0, share
        cdef int step = ONE, i, j, info = 0
        self.heavy = 0.0
        for i in range(self.m):
            self.weight[i] = self.a_[i] / self.slack[i]
            self.heavy += self.weight[i]
            for j in range(self.n):
                self.scaled[i, j] = sqrt(self.weight[i]) * self.slopes[i, j]
        self.add_slopes(self.weight, self.crossed, 0.0)
        memcpy(&self.matrix[0, 0], &self.hessian[0, 0], self.n * self.n * sizeof(double))
        dsyrk("L", "N", &self.n, &self.m, &one, &self.scaled[0, 0], &self.n, &one, &self.matrix[0, 0], &self.n)
        share = -1.0 / self.heavy
        dsyr("L", &self.n, &share, &self.crossed[0], &step, &self.matrix[0, 0], &self.n)
        for i in range(self.n):
            self.matrix[i, i] += self.b[i] / self.x_[i]
            self.ones[i] = 1.0
            if not isfinite(self.matrix[i, i]):
                return False
        dpotrf("L", &self.n, &self.matrix[0, 0], &self.n, &info)
        if info:
            return False
        dpotrs("L", &self.n, &step, &self.matrix[0, 0], &self.n, &self.ones[0], &self.n, &info)
        self.ones_total = total_of(self.ones)
        return True

    # Newton's direction with slack * da + a * ds = -row_product and x * db + b * dx = -bound_product.
    cdef void find_direction(self) noexcept nogil:
        cdef int step = ONE, i, info = 0
        cdef double right_t = -self.balance
        for i in range(self.m):
            self.pushed[i] = self.weight[i] * self.primal[i] - self.row_product[i] / self.slack[i]
            right_t += self.pushed[i]
        for i in range(self.n):
            self.dx[i] = self.dual[i] + self.bound_product[i] / self.x_[i]
        self.add_slopes(self.pushed, self.dx, 1.0)
        for i in range(self.n):
            self.dx[i] = self.crossed[i] * (right_t / self.heavy) - self.dx[i]
        dpotrs("L", &self.n, &step, &self.matrix[0, 0], &self.n, &self.dx[0], &self.n, &info)
        self.dnu = (total_of(self.dx) + self.fixed) / self.ones_total
        for i in range(self.n):
            self.dx[i] -= self.dnu * self.ones[i]
        self.dt = (right_t + product_of(self.crossed, self.dx)) / self.heavy
        for i in range(self.m):
            self.ds[i] = self.dt - self.primal[i]
        self.add_values(self.dx, self.ds, 1.0, -1.0)
        for i in range(self.m):
            self.da[i] = (-self.row_product[i] - self.a_[i] * self.ds[i]) / self.slack[i]
        for i in range(self.n):
            self.db[i] = (-self.bound_product[i] - self.b[i] * self.dx[i]) / self.x_[i]

    cdef double longest_step(self) noexcept nogil:
        cdef double longest = 1.0 / KEPT
        longest = step_within(self.slack, self.ds, longest)
        longest = step_within(self.a_, self.da, longest)
        longest = step_within(self.x_, self.dx, longest)
        return step_within(self.b, self.db, longest)

    # One step from a point of this mean complementarity; False if there is none.
    cdef bint take_step(self, double mean) noexcept nogil:
        cdef double length, after, target
        cdef int i
        if not self.factorize():
            return False
        for i in range(self.m):
            self.row_product[i] = self.slack[i] * self.a_[i]
        for i in range(self.n):
            self.bound_product[i] = self.x_[i] * self.b[i]
        self.find_direction()
        length = self.longest_step()
        after = product_after(self.slack, self.ds, self.a_, self.da, length)
        after = (after + product_after(self.x_, self.dx, self.b, self.db, length)) / (self.m + self.n)
        target = mean * (after / mean) * (after / mean) * (after / mean)
        for i in range(self.m):
            self.row_product[i] += self.ds[i] * self.da[i] - target
        for i in range(self.n):
            self.bound_product[i] += self.dx[i] * self.db[i] - target
        self.find_direction()
        length = KEPT * self.longest_step()
        if not (isfinite(total_of(self.dx)) and isfinite(total_of(self.da)) and length > LEAST_STEP):
            return False
        move(self.x_, self.dx, length)
        move(self.slack, self.ds, length)
        move(self.a_, self.da, length)
        move(self.b, self.db, length)
        self.t += length * self.dt
        self.nu += length * self.dnu
        return True

    def solve(self, double tolerance, int max_steps, seconds_left):
        """Take steps; return whether the tolerance was reached, and then, up to a factor of 1000.

        `seconds_left` is called before each, and may raise.
        """
        cdef double mean = 0.0, residual = 0.0
        for _ in range(max_steps):
            seconds_left()
            with nogil:
                self.find_residuals()
                mean = (product_of(self.slack, self.a_) + product_of(self.x_, self.b)) / (self.m + self.n)
                residual = largest_of(self.primal, largest_of(self.dual, 0.0)) / self.size
                residual = max(residual, max(fabs(self.balance), fabs(self.fixed)))
            if residual <= tolerance and mean <= tolerance:
                return True
            if not self.take_step(mean):
                break
        return mean <= 1e3 * tolerance and residual <= 1e3 * tolerance
