# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Newton steps on the multipliers of rows, of sets of bounds alone, and the quadratic programs in them, of all sets.

The steps are those of `projection` and `proximal_master`, which explain them. With some tens of rows and variables nine
tenths of the time would be calls in NumPy.
"""

import numpy as np

from oracle_opt._deadline import seconds_left
from oracle_opt.errors import InvalidArgument

from libc.math cimport INFINITY, fabs, isfinite, sqrt
from libc.string cimport memcpy, memset
from scipy.linalg.cython_blas cimport daxpy, ddot, dgemv, dsyrk, dtrsv
from scipy.linalg.cython_lapack cimport dposv, dpotrf

cdef extern from *:
    """
    #define RIDGE 1e-15         /* of each row: near-parallel rows make the Hessian singular up to rounding */
    #define NOTHING 1e-140      /* slopes of rows that are all 0, but for their ridge */
    #define FLAT 1e-8           /* flatter rows, of the steepest one's slope, count as if they had this share of it */
    #define INDEFINITE 1e-13    /* of a row's own entry: what is left of it in a factor is rounding */
    #define ENTER 0.5           /* variables that gain at least this share of the best gain enter together */
    #define GOOD 1e3            /* so many times the tolerances are still good enough */
    #define SUFFICIENT 1e-4     /* share of the gain that the slope promises, of a step that is taken */
    """
    const double RIDGE
    const double FLAT
    const double NOTHING
    const double INDEFINITE
    const double ENTER
    const double GOOD
    const double SUFFICIENT

cdef enum:
    IDLE = 2            # steps that do not halve a gap which is good enough: the rest is rounding
    NEAR = 10           # steps near the rows, after which a projection has come as far as the precision allows
    PIVOTS = 300        # of a quadratic program
    MANY = 48           # rows of a support from which on its factor is kept and changed
    HALVINGS = 60
    ASKING = 16         # pivots after which the time is looked at again


cdef double product_of(int n, const double* one, const double* other) noexcept:
    cdef int step = 1
    return ddot(&n, <double*> one, &step, <double*> other, &step)


# out = matrix @ values, of a matrix of shape (m, n)
cdef void multiply(int m, int n, const double* matrix, const double* values, double* out) noexcept:
    cdef double one = 1.0, zero = 0.0
    cdef int step = 1
    dgemv("T", &n, &m, &one, <double*> matrix, &n, <double*> values, &step, &zero, out, &step)


# out = values @ matrix
cdef void combine(int m, int n, const double* matrix, const double* values, double* out) noexcept:
    cdef double one = 1.0
    cdef int step = 1
    memset(out, 0, n * sizeof(double))
    dgemv("N", &n, &m, &one, <double*> matrix, &n, <double*> values, &step, &one, out, &step)


cdef double* taken(double** room, Py_ssize_t size) noexcept:
    cdef double* part = room[0]
    room[0] += size
    return part


cdef object copied(const double* values, Py_ssize_t size):
    copy = np.empty(size)
    cdef double[::1] copy_ = copy
    memcpy(&copy_[0], values, size * sizeof(double))
    return copy


# min 1/2 v @ hessian @ v - linear @ v, where all v but the last ones are nonnegative
cdef class Quadratic:
    cdef int m, n_signed, n_chosen
    cdef const double *hessian
    cdef const double *linear
    cdef const double *start
    cdef double *v
    cdef double *factor
    cdef double *found      # two columns
    cdef double *unit
    cdef double *e
    cdef double *gain
    cdef int *support
    cdef int *chosen
    cdef int *refused
    cdef object numbers, integers

    def __init__(self, int m, int n_free):
        self.m, self.n_signed = m, m - n_free
        self.numbers, self.integers = np.empty(m * (m + 6)), np.empty(3 * m, dtype=np.intc)
        cdef double[::1] numbers = self.numbers
        cdef int[::1] integers = self.integers
        cdef double* room = &numbers[0]
        self.v, self.factor, self.found = taken(&room, m), taken(&room, m * m), taken(&room, 2 * m)
        self.unit, self.e, self.gain = taken(&room, m), taken(&room, m), taken(&room, m)
        self.support = &integers[0]
        self.chosen, self.refused = self.support + m, self.support + 2 * m

    cdef void begin(self, const double* hessian, const double* linear, const double* start) noexcept:
        cdef int i
        self.hessian, self.linear, self.start = hessian, linear, start
        memcpy(self.v, start, self.m * sizeof(double))
        for i in range(self.m):
            self.support[i] = self.v[i] > 0.0 or i >= self.n_signed

    cdef void choose(self) noexcept:
        cdef int i
        self.n_chosen = 0
        for i in range(self.m):
            if self.support[i]:
                self.chosen[self.n_chosen] = i
                self.n_chosen += 1

    # gain = linear - hessian @ v
    cdef void find_gains(self) noexcept:
        cdef int i
        multiply(self.m, self.m, self.hessian, self.v, self.gain)
        for i in range(self.m):
            self.gain[i] = self.linear[i] - self.gain[i]

    # `nonnegative_quadratic` has the description.
    cdef int minimize_nonnegative(self, double tolerance, int max_steps) except -1:
        cdef int a, b, i, k, m = self.m, step, columns = 1, info = 0
        cdef double ridge = 0.0, top, least, best, fall
        cdef double *v = self.v
        cdef double *found = self.found
        cdef double *room = self.unit
        for step in range(max_steps):
            if step % ASKING == 0:
                seconds_left()
            self.choose()
            k = self.n_chosen
            if k:
                for a in range(k):
                    i = self.chosen[a]
                    for b in range(a + 1):
                        self.factor[a * k + b] = self.hessian[i * m + self.chosen[b]]
                    self.factor[a * k + a] += ridge
                    found[a] = self.linear[i] + ridge * self.start[i]
                dposv("U", &k, &columns, self.factor, &k, found, &k, &info)
                if info:
                    top = 0.0
                    for i in range(m):
                        top = max(top, self.hessian[i * m + i])
                    ridge += max(100.0 * ridge, 1e-14 * top)
                    continue
                least = INFINITY
                for a in range(k):
                    i = self.chosen[a]
                    room[a] = INFINITY
                    if found[a] <= 0.0 and i < self.n_signed:
                        fall = v[i] - found[a]
                        room[a] = v[i] / max(fall, 1e-300)
                        least = min(least, room[a])
                if least < INFINITY:
                    # go as far as the first variable that reaches zero, and take it out
                    for a in range(k):
                        i = self.chosen[a]
                        v[i] += least * (found[a] - v[i])
                        if i < self.n_signed and v[i] < 0.0:
                            v[i] = 0.0
                        if room[a] == least:
                            v[i] = 0.0
                            self.support[i] = False
                    continue
                for a in range(k):
                    v[self.chosen[a]] = found[a]
            self.find_gains()
            best = -INFINITY
            for i in range(m):
                self.gain[i] += ridge * (self.start[i] - v[i])
                if not self.support[i]:
                    best = max(best, self.gain[i])
            if best <= tolerance:
                break
            for i in range(m):
                if self.gain[i] >= ENTER * best:
                    self.support[i] = True
        return 0

    # The first `count` variables add up to one: on a support hessian + rho e e' is factorized.
    cdef int minimize_on_simplex(self, int count, double of_pieces, double of_others, int max_steps) except -1:
        cdef int a, b, i, k, m = self.m, step, columns = 2, info = 0, added = -1, leaving, n_pieces
        cdef double top, total, rho, multiplier, rest, room, share
        cdef double *v = self.v
        cdef double *plain = self.found
        cdef double *normal
        cdef double *unit = self.unit
        cdef double *e = self.e
        cdef bint keeps = True
        memset(self.refused, 0, m * sizeof(int))
        for step in range(max_steps):
            if step % ASKING == 0:
                seconds_left()
            self.choose()
            k, normal = self.n_chosen, plain + self.n_chosen
            if k >= MANY and keeps:
                keeps = False
                if self.go_on_simplex(count, of_pieces, of_others, max_steps):
                    return 0
                continue
            # in units in which all rows are as steep as each other
            top = 0.0
            for a in range(k):
                unit[a] = sqrt(self.hessian[self.chosen[a] * (m + 1)])
                top = max(top, unit[a])
            n_pieces, total = 0, 0.0
            top = top if top > NOTHING else 1.0
            for a in range(k):
                unit[a] /= top
                if not unit[a] >= FLAT:
                    unit[a] = FLAT
                e[a] = 1.0 / unit[a] if self.chosen[a] < count else 0.0
                n_pieces += self.chosen[a] < count
                total += e[a] * e[a]
            if not n_pieces:  # by rounding the remaining multipliers add up to nothing
                memcpy(v, self.start, m * sizeof(double))
                return 0
            top = 0.0
            for a in range(k):
                i = self.chosen[a]
                top = max(top, self.hessian[i * (m + 1)] / (unit[a] * unit[a]))
            top = top if top > NOTHING else 1.0
            rho = top * n_pieces / total
            for a in range(k):
                i = self.chosen[a]
                for b in range(a + 1):
                    share = self.hessian[i * m + self.chosen[b]] / (unit[a] * unit[b])
                    self.factor[a * k + b] = share + rho * (e[a] * e[b])
                plain[a], normal[a] = self.linear[i] / unit[a], e[a]
            dposv("U", &k, &columns, self.factor, &k, plain, &k, &info)
            if info:
                return 0
            multiplier = (product_of(k, e, plain) - 1.0) / product_of(k, e, normal)
            for a in range(k):
                plain[a] -= multiplier * normal[a]
            # the sum once more: where no coordinate is free, `linear` is so large that its rounding counts
            rest = (1.0 - product_of(k, e, plain)) / product_of(k, e, normal)
            multiplier -= rest
            room, leaving = INFINITY, -1
            for a in range(k):
                i = self.chosen[a]
                plain[a] = (plain[a] + rest * normal[a]) / unit[a]
                if not isfinite(plain[a]):  # the pieces of a support may cancel
                    return 0
                if plain[a] <= 0.0 and i < self.n_signed:
                    share = v[i] / (v[i] - plain[a]) if v[i] - plain[a] > 0.0 else 0.0  # 0 where both are 0
                    if share < room:
                        room, leaving = share, i
            if leaving >= 0:
                for a in range(k):
                    i = self.chosen[a]
                    v[i] += room * (plain[a] - v[i])
                    if i < self.n_signed and (i == leaving or not v[i] > 0.0):
                        self.support[i] = False
                        v[i] = 0.0
                if leaving == added:
                    self.refused[leaving] = True  # it entered and left at once, as its gain was rounding
                continue
            for a in range(k):
                v[self.chosen[a]] = plain[a]
            self.find_gains()
            added = -1
            for i in range(m):
                if i < count:
                    self.gain[i] -= multiplier + rho  # hessian @ v = linear - (multiplier + rho) e on the support
                if self.support[i] or self.refused[i] or not self.gain[i] > (of_pieces if i < count else of_others):
                    continue
                if added < 0 or self.gain[i] > self.gain[added]:
                    added = i
            if added < 0:
                return 0
            self.support[added] = True
        return 0

    # The same from a support of many rows, whose factor is kept: rows enter and leave it. 0 where that breaks down.
    cdef int go_on_simplex(self, int count, double of_pieces, double of_others, int max_steps) except -1:
        cdef int a, b, i, k = self.n_chosen, m = self.m, step, stride = 1, info = 0, added = -1, leaving, n_pieces = 0
        cdef double top = 0.0, total = 0.0, rho, multiplier, rest, room, share, of_normal
        cdef double *v = self.v
        cdef double *plain = self.found
        cdef double *normal = self.found + m
        cdef double *unit = self.unit
        cdef double *e = self.e
        cdef double *row
        cdef int *chosen = self.chosen
        for i in range(m):
            unit[i] = sqrt(self.hessian[i * (m + 1)])
            top = max(top, unit[i])
        if not top > NOTHING:
            return 0
        for i in range(m):
            unit[i] = max(unit[i] / top, FLAT)
            e[i] = 1.0 / unit[i] if i < count else 0.0
        for a in range(k):
            n_pieces += chosen[a] < count
            total += e[chosen[a]] * e[chosen[a]]
        if not n_pieces:
            return 0
        rho = top * top * n_pieces / total
        for a in range(k):
            for b in range(a + 1):
                self.factor[a * m + b] = self.entry(chosen[a], chosen[b], rho)
        dpotrf("U", &k, self.factor, &m, &info)
        if info:
            return 0
        for step in range(max_steps):
            if step % ASKING == 0:
                seconds_left()
            for a in range(k):
                i = chosen[a]
                plain[a], normal[a] = self.linear[i] / unit[i], e[i]
            self.solve_factored(k, plain)
            self.solve_factored(k, normal)
            multiplier, of_normal = -1.0, 0.0
            for a in range(k):
                multiplier += e[chosen[a]] * plain[a]
                of_normal += e[chosen[a]] * normal[a]
            multiplier /= of_normal
            rest = 1.0
            for a in range(k):
                plain[a] -= multiplier * normal[a]
                rest -= e[chosen[a]] * plain[a]
            rest /= of_normal
            multiplier -= rest
            room, leaving = INFINITY, -1
            for a in range(k):
                i = chosen[a]
                plain[a] = (plain[a] + rest * normal[a]) / unit[i]
                if not isfinite(plain[a]):
                    return 0
                if plain[a] <= 0.0 and i < self.n_signed:
                    share = v[i] / (v[i] - plain[a]) if v[i] - plain[a] > 0.0 else 0.0
                    if share < room:
                        room, leaving = share, i
            if leaving >= 0:
                for a in range(k):
                    i = chosen[a]
                    v[i] += room * (plain[a] - v[i])
                    if i < self.n_signed and (i == leaving or not v[i] > 0.0):
                        self.support[i] = False
                        v[i] = 0.0
                if leaving == added:
                    self.refused[leaving] = True
                n_pieces = 0
                for a in range(k - 1, -1, -1):
                    if self.support[chosen[a]]:
                        n_pieces += chosen[a] < count
                    else:
                        self.take_off(a, k)
                        k -= 1
                if not n_pieces:
                    return 0
                continue
            memcpy(self.gain, self.linear, m * sizeof(double))
            for a in range(k):
                i = chosen[a]
                v[i], share = plain[a], -plain[a]
                daxpy(&m, &share, <double*> self.hessian + i * m, &stride, self.gain, &stride)
            added = -1
            for i in range(m):
                if i < count:
                    self.gain[i] -= multiplier + rho
                if self.support[i] or self.refused[i] or not self.gain[i] > (of_pieces if i < count else of_others):
                    continue
                if added < 0 or self.gain[i] > self.gain[added]:
                    added = i
            if added < 0:
                return 1
            row = self.factor + k * m
            for b in range(k):
                row[b] = self.entry(added, chosen[b], rho)
            dtrsv("U", "T", "N", &k, self.factor, &m, row, &stride)
            share = self.entry(added, added, rho)
            rest = share - product_of(k, row, row)
            if not rest > INDEFINITE * share:
                return 0
            row[k], chosen[k], self.support[added] = sqrt(rest), added, True
            k += 1
        return 1

    cdef void solve_factored(self, int k, double* side) noexcept:
        cdef int stride = 1
        dtrsv("U", "T", "N", &k, self.factor, &self.m, side, &stride)
        dtrsv("U", "N", "N", &k, self.factor, &self.m, side, &stride)

    # of the Hessian in units of the rows, plus what makes it definite
    cdef double entry(self, int i, int j, double rho) noexcept:
        return self.hessian[i * self.m + j] / (self.unit[i] * self.unit[j]) + rho * (self.e[i] * self.e[j])

    # Take a row off the factor of k rows: what is left is turned into a triangle again.
    cdef void take_off(self, int gone, int k) noexcept:
        cdef int i, j, m = self.m
        cdef double length, cosine, sine, one, other
        for i in range(gone, k - 1):
            memcpy(self.factor + i * m, self.factor + (i + 1) * m, (i + 2) * sizeof(double))
            self.chosen[i] = self.chosen[i + 1]
        for j in range(gone, k - 1):
            one, other = self.factor[j * m + j], self.factor[j * m + j + 1]
            length = sqrt(one * one + other * other)
            cosine, sine = one / length, other / length
            for i in range(j, k - 1):
                one, other = self.factor[i * m + j], self.factor[i * m + j + 1]
                self.factor[i * m + j] = cosine * one + sine * other
                self.factor[i * m + j + 1] = cosine * other - sine * one


def nonnegative_quadratic(
    const double[:, ::1] hessian,
    const double[::1] linear,
    const double[::1] start,
    double tolerance,
    int max_steps=PIVOTS,
    int n_free=0,
):
    """``min 1/2 v @ hessian @ v - linear @ v`` over v >= 0, but for the last `n_free` ones.

    This is Lawson and Hanson's active-set method in the Gram form, started from the support of `start`, but several
    variables enter at a time. At least one of these keeps a positive value, so each round still gains.

    Returns
    -------
    ndarray of shape (m,)
        The minimizer; after `max_steps` the last nonnegative point, which is no worse than `start`. Where rounding
        makes the Hessian indefinite, ``ridge / 2 * |v - start|^2`` is added, just enough to mend that.

    References
    ----------
    Lawson & Hanson (1974), "Solving least squares problems", chapter 23; Bro & de Jong (1997), "A fast non-negativity
    constrained least squares algorithm", for the Gram form.
    """
    cdef Quadratic program = Quadratic(len(linear), n_free)
    program.begin(&hessian[0, 0], &linear[0], &start[0])
    program.minimize_nonnegative(tolerance, max_steps)
    return copied(program.v, program.m)


def simplex_quadratic(
    const double[:, ::1] hessian,
    const double[::1] linear,
    const double[::1] start,
    int count,
    double of_pieces,
    double of_others,
    int n_free=0,
):
    """As `nonnegative_quadratic`, where the first `count` variables add up to one, one variable entering at a time.

    A variable enters where it gains more than `of_pieces`, if it is one of the first, or `of_others`.
    """
    cdef Quadratic program = Quadratic(len(linear), n_free)
    program.begin(&hessian[0, 0], &linear[0], &start[0])
    program.minimize_on_simplex(count, of_pieces, of_others, PIVOTS)
    return copied(program.v, program.m)


cdef class BoundsDual:
    """The dual function of rows over a set of bounds alone, and the multipliers reached.

    ::

        d(u) = min over lower <= z <= upper of 1/2 sum(metric * (z - center)**2) + u @ (matrix @ z - rhs)

    The last `n_equations` rows are equations.
    """

    cdef int m, n, n_signed
    cdef const double[::1] lower, upper, center, metric, rhs
    cdef const double[:, ::1] matrix
    cdef const double *rows
    cdef Quadratic program
    cdef double value
    cdef double *u
    cdef double *z
    cdef double *gradient
    cdef double *trial_u
    cdef double *trial_z
    cdef double *trial_gradient
    cdef double *direction
    cdef double *linear
    cdef double *ridge
    cdef double *slope
    cdef double *root
    cdef double *hessian
    cdef double *scaled
    cdef int *inside
    cdef object numbers, integers

    def __init__(self, constraints, center, metric, matrix, rhs, const double[::1] start, int n_equations):
        cdef Py_ssize_t m = matrix.shape[0], n = matrix.shape[1]
        cdef Py_ssize_t i, j
        self.m, self.n, self.n_signed = m, n, m - n_equations
        self.lower, self.upper, self.center, self.metric, self.rhs = (
            np.ascontiguousarray(vector, dtype=np.float64)
            for vector in (constraints.lower, constraints.upper, center, metric, rhs)
        )
        if not self.lower.shape[0] == self.upper.shape[0] == self.center.shape[0] == self.metric.shape[0] == n:
            raise InvalidArgument(
                f"`linear_constraints` must give `lower` and `upper` of shape ({n},), "
                f"got {np.shape(constraints.lower)} and {np.shape(constraints.upper)}"
            )
        self.matrix = np.ascontiguousarray(matrix, dtype=np.float64)
        self.rows = &self.matrix[0, 0]
        self.program = Quadratic(m, n_equations)
        self.numbers, self.integers = np.empty(m * (m + n + 7) + 4 * n), np.empty(n, dtype=np.intc)
        cdef double[::1] numbers = self.numbers
        cdef int[::1] integers = self.integers
        cdef double* room = &numbers[0]
        self.u, self.gradient, self.trial_u = taken(&room, m), taken(&room, m), taken(&room, m)
        self.trial_gradient, self.direction = taken(&room, m), taken(&room, m)
        self.linear, self.ridge = taken(&room, m), taken(&room, m)
        self.z, self.trial_z, self.slope, self.root = (
            taken(&room, n), taken(&room, n), taken(&room, n), taken(&room, n)
        )
        self.hessian, self.scaled = taken(&room, m * m), taken(&room, m * n)
        self.inside = &integers[0]
        for i in range(m):
            self.u[i] = start[i]
            self.ridge[i] = 0.0
            for j in range(n):
                self.ridge[i] += self.matrix[i, j] * self.matrix[i, j] / self.metric[j]
            self.ridge[i] = RIDGE * max(self.ridge[i], 1e-300)
        self.value = self.look(self.u, self.z, self.gradient)

    # The value at multipliers, with the point and the gradient.
    cdef double look(self, const double* u, double* z, double* gradient) noexcept:
        cdef int i, j
        cdef double away, total = 0.0
        combine(self.m, self.n, self.rows, u, self.slope)
        for j in range(self.n):
            z[j] = self.center[j] - self.slope[j] / self.metric[j]
            if z[j] < self.lower[j]:
                z[j] = self.lower[j]
            if z[j] > self.upper[j]:
                z[j] = self.upper[j]
            away = z[j] - self.center[j]
            total += self.metric[j] * away * away
        multiply(self.m, self.n, self.rows, z, gradient)
        for i in range(self.m):
            gradient[i] -= self.rhs[i]
        return 0.5 * total + product_of(self.m, u, gradient)

    # The largest violation of rows from the first on; NaN if one is.
    cdef double violation(self, int first) noexcept:
        cdef int i
        cdef double worst = 0.0, missed
        for i in range(first, self.m):
            missed = self.gradient[i] if i < self.n_signed else fabs(self.gradient[i])
            if missed > worst or missed != missed:
                worst = missed
        return worst

    # The local model: the negative Hessian of the face with its ridge, and gradient + hessian @ u.
    cdef void find_model(self) noexcept:
        cdef int i, j, m = self.m, k = 0, leading
        cdef double one = 1.0, zero = 0.0
        for j in range(self.n):
            if self.lower[j] < self.z[j] < self.upper[j]:
                self.inside[k] = j
                self.root[k] = sqrt(1.0 / self.metric[j])
                k += 1
        for i in range(m):
            for j in range(k):
                self.scaled[i * k + j] = self.matrix[i, self.inside[j]] * self.root[j]
        leading = max(k, 1)
        dsyrk("U", "T", &m, &k, &one, self.scaled, &leading, &zero, self.hessian, &m)
        for i in range(m):
            for j in range(i):
                self.hessian[j * m + i] = self.hessian[i * m + j]
            self.hessian[i * m + i] += self.ridge[i]
        multiply(m, m, self.hessian, self.u, self.linear)
        for i in range(m):
            self.linear[i] += self.gradient[i]
        self.program.begin(self.hessian, self.linear, self.u)

    # Armijo's rule on the way to the model's maximizer; whether a step gains.
    cdef bint search(self) noexcept:
        cdef int i
        cdef double slope, length = 1.0, value
        for i in range(self.m):
            self.direction[i] = self.program.v[i] - self.u[i]
        slope = product_of(self.m, self.gradient, self.direction)
        if not 0.0 < slope < INFINITY:  # infinite where no point satisfies the rows
            return False
        for _ in range(HALVINGS):
            for i in range(self.m):
                self.trial_u[i] = self.u[i] + length * self.direction[i]
            value = self.look(self.trial_u, self.trial_z, self.trial_gradient)
            if value >= self.value + SUFFICIENT * length * slope:
                self.value = value
                self.u, self.trial_u = self.trial_u, self.u
                self.z, self.trial_z = self.trial_z, self.z
                self.gradient, self.trial_gradient = self.trial_gradient, self.gradient
                return True
            length *= 0.5
        return False

    def project(self, double tolerance, int max_steps):
        """Maximize over nonnegative multipliers: the point, the multipliers and the number of steps, at least 1."""
        cdef int i, step = 0, near = 0
        cdef double slack, violation
        while step < max_steps:
            step += 1
            violation, slack = self.violation(0), 0.0
            for i in range(self.m):
                if not fabs(self.u[i] * self.gradient[i]) <= slack:
                    slack = fabs(self.u[i] * self.gradient[i])
            near += violation <= GOOD * tolerance
            if (violation <= tolerance and slack <= tolerance * fabs(self.value)) or near > NEAR:
                break
            self.find_model()
            self.program.minimize_nonnegative(0.1 * tolerance, PIVOTS)
            if not self.search():
                break
        return copied(self.z, self.n), copied(self.u, self.m), step

    def minimize(self, int n_objective, double tolerance, double floor, double allowed, int max_steps):
        """Maximize where those of the first `n_objective` rows add up to one: the point and the multipliers."""
        cdef int i, idle = 0
        cdef double top, enough, gap, violation, least = INFINITY
        for _ in range(max_steps):
            top = self.gradient[0]
            for i in range(1, n_objective):
                top = max(top, self.gradient[i])
            enough = tolerance * fabs(top) + floor
            gap, violation = top - product_of(self.m, self.u, self.gradient), self.violation(n_objective)
            idle = 0 if gap < 0.5 * least else idle + 1
            least = min(least, gap)
            if gap <= enough and violation <= allowed:
                break
            if idle > IDLE and gap <= GOOD * enough and violation <= GOOD * allowed:
                break
            self.find_model()
            self.program.minimize_on_simplex(n_objective, 0.1 * enough, 0.1 * allowed, PIVOTS)
            if not self.search():
                break
        return copied(self.z, self.n), copied(self.u, self.m)
