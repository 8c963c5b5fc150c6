# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Newton steps of `barrier.analytic_center`, where they are explained, for dense rows without equations.

With some tens of rows and variables nine tenths of the time would be calls in NumPy.
"""

import numpy as np

from oracle_opt._deadline import seconds_left
from oracle_opt.generators.masters.row_products import CHUNK

from libc.math cimport INFINITY, isfinite, sqrt
from libc.string cimport memset
from scipy.linalg.cython_blas cimport dgemv, dsyrk
from scipy.linalg.cython_lapack cimport dposv

cdef enum:
    ONE = 1


# Step length: 1, or nine tenths of the way to where a value vanishes.
cdef double step_within(const double[::1] values, const double[::1] direction) noexcept nogil:
    cdef Py_ssize_t i
    cdef double longest = INFINITY
    for i in range(values.shape[0]):
        if direction[i] < 0.0:
            longest = min(longest, values[i] / -direction[i])
    return min(1.0, 0.9 * longest)


cdef class Center:
    """The polytope, the point reached with slacks and multipliers of rows and bounds, and room for Newton's system."""

    cdef int m, n, rank                 # rows, variables, and the lesser of both: the order of Newton's system
    cdef Py_ssize_t width               # rows or columns that are scaled at a time
    cdef readonly object point
    cdef const Py_ssize_t[::1] places   # variables that the bounds hold
    cdef double[::1] signs, slack, weights, u, d_slack, du              # of bounds, and of rows and bounds
    cdef double[::1] rhs, force, root                                   # of rows
    cdef double[::1] x, proximal, anchor, pull, diagonal, step, scale   # of variables
    cdef const double[:, ::1] matrix
    cdef double[::1] system, panel

    def __init__(self, polytope, start, slack, weights, const Py_ssize_t[::1] places, signs):
        self.matrix = np.ascontiguousarray(polytope.matrix, dtype=np.float64)
        self.m, self.n, self.places = self.matrix.shape[0], self.matrix.shape[1], places
        self.rank = min(self.m, self.n)
        self.width = min(max(1, CHUNK // self.rank), max(self.m, self.n))
        of_sides, of_rows, of_variables = np.empty((5, len(slack))), np.empty((3, self.m)), np.empty((6, self.n))
        of_sides[0], of_sides[1], of_sides[2], of_rows[0] = slack, weights, weights / slack, polytope.rhs
        of_variables[0], of_variables[1] = polytope.proximal, polytope.anchor
        self.slack, self.weights, self.u, self.d_slack, self.du = of_sides
        self.rhs, self.force, self.root = of_rows
        self.proximal, self.anchor, self.pull, self.diagonal, self.step, self.scale = of_variables
        self.point = np.array(start, dtype=np.float64)
        self.x, self.signs = self.point, signs
        self.system, self.panel = np.empty(self.rank**2), np.empty(self.rank * self.width)

    # out += by * matrix @ values
    cdef void add_products(self, double by, const double[::1] values, double[::1] out) noexcept nogil:
        cdef double one = 1.0
        cdef int step = ONE
        dgemv("T", &self.n, &self.m, &by, <double*> &self.matrix[0, 0], &self.n, <double*> &values[0], &step,
              &one, &out[0], &step)

    # out += by * values @ matrix
    cdef void add_rows(self, double by, const double[::1] values, double[::1] out) noexcept nogil:
        cdef double one = 1.0
        cdef int step = ONE
        dgemv("N", &self.n, &self.m, &by, <double*> &self.matrix[0, 0], &self.n, <double*> &values[0], &step,
              &one, &out[0], &step)

    # system = scaled @ scaled.T where rows are fewer, else scaled.T @ scaled, for diag(root) @ matrix @ diag(scale)
    cdef void find_gram(self) noexcept nogil:
        cdef bint wide = self.m < self.n
        cdef Py_ssize_t i, j, begin = 0, end, longer = max(self.m, self.n)
        cdef int count, leading = self.rank
        cdef double one = 1.0
        cdef double* entry
        memset(&self.system[0], 0, self.system.shape[0] * sizeof(double))
        while begin < longer:
            end = min(begin + self.width, longer)
            count = <int> (end - begin)
            entry = &self.panel[0]
            for i in range(0 if wide else begin, self.m if wide else end):
                for j in range(begin if wide else 0, end if wide else self.n):
                    entry[0] = self.root[i] * self.matrix[i, j] * self.scale[j]
                    entry += 1
            if wide:
                leading = count
            dsyrk("U", b"T" if wide else b"N", &self.rank, &count, &one, &self.panel[0], &leading, &one,
                  &self.system[0], &self.rank)
            begin = end

    # step = H^-1 pull, where H = diag(diagonal) + matrix.T @ diag(u / slack) @ matrix; whether there is one
    cdef bint find_step(self) noexcept nogil:
        cdef bint wide = self.m < self.n
        cdef Py_ssize_t i, j
        cdef int columns = 1, info = 0
        for i in range(self.m):
            self.root[i] = sqrt(self.u[i] / self.slack[i])
            self.force[i] = 0.0
        for j in range(self.n):
            self.scale[j] = 1.0 / sqrt(self.diagonal[j]) if wide else 1.0
            self.step[j] = self.pull[j] / self.diagonal[j] if wide else self.pull[j]
        self.find_gram()
        for i in range(self.rank):
            self.system[i * (self.rank + 1)] += 1.0 if wide else self.diagonal[i]
        if wide:
            self.add_products(1.0, self.step, self.force)
            for i in range(self.m):
                self.force[i] *= self.root[i]
            dposv("U", &self.m, &columns, &self.system[0], &self.m, &self.force[0], &self.m, &info)
            for i in range(self.m):
                self.force[i] *= self.root[i]
            self.add_rows(-1.0, self.force, self.pull)
            for j in range(self.n):
                self.step[j] = self.pull[j] / self.diagonal[j]
        else:
            dposv("U", &self.n, &columns, &self.system[0], &self.n, &self.step[0], &self.n, &info)
        for j in range(self.n):
            if not isfinite(self.step[j]):
                return False
        return info == 0

    # One step: 1 if the center is reached up to this distance, -1 if there is no step, else 0.
    cdef int move(self, double enough) noexcept nogil:
        cdef Py_ssize_t i, j, k
        cdef double primal, dual, missed, distance = 0.0
        # d_slack holds the residuals of the rows first
        self.d_slack[: self.m] = self.rhs
        self.add_products(-1.0, self.x, self.d_slack)
        for i in range(self.m):
            self.d_slack[i] -= self.slack[i]
            self.force[i] = (self.weights[i] - self.u[i] * self.d_slack[i]) / self.slack[i]
        for j in range(self.n):
            self.pull[j] = -self.proximal[j] * (self.x[j] - self.anchor[j])
            self.diagonal[j] = self.proximal[j]
        self.add_rows(-1.0, self.force, self.pull)
        for k in range(self.places.shape[0]):
            i, j = self.m + k, self.places[k]
            self.pull[j] += self.signs[k] * self.weights[i] / self.slack[i]
            self.diagonal[j] += self.u[i] / self.slack[i]
        if not self.find_step():
            return -1
        self.add_products(-1.0, self.step, self.d_slack)
        for k in range(self.places.shape[0]):
            self.d_slack[self.m + k] = self.signs[k] * self.step[self.places[k]]
        for i in range(self.slack.shape[0]):
            self.du[i] = (self.weights[i] - self.u[i] * self.d_slack[i]) / self.slack[i] - self.u[i]
        primal, dual = step_within(self.slack, self.d_slack), step_within(self.u, self.du)
        for j in range(self.n):
            self.x[j] += primal * self.step[j]
        for i in range(self.slack.shape[0]):
            self.slack[i] += primal * self.d_slack[i]
            self.u[i] += dual * self.du[i]
            missed = self.slack[i] * self.u[i] - self.weights[i]
            distance += missed * missed / self.weights[i]
        return min(primal, dual) == 1.0 and distance <= enough

    def solve(self, double enough, int max_steps):
        """Take steps; return whether the weighted sum of squares of ``slack * u / weights - 1`` is small enough."""
        cdef int found = 0
        for _ in range(max_steps):
            seconds_left()
            with nogil:
                found = self.move(enough)
            if found:
                break
        return found == 1
