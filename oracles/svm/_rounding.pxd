# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# What floating point may have made of a gradient, and of what is computed from it: bounds that hold, not estimates.
#
# |K_ij| <= root_i root_j with root = sqrt(diagonal), so an entry k of K b is a sum of terms that total at most
# root_k * spread, spread = sum_i root_i |b_i|. A sum of terms of which each takes part in at most m roundings is wrong
# by at most m EPS / 2 times their total (EPS / 2 being half the distance from 1 to the next number; what EPS itself has
# to spare covers the terms of second order).

from cython cimport floating
from libc.float cimport LDBL_EPSILON
from libc.math cimport fabs, sqrt

from _numbers cimport EPS
from _steps cimport other_gradient, other_lower, other_upper


# A feasible point and what is proven of it.
cdef struct Certificate:
    double dual         # its objective as computed,
    double blur         # and how far that may be from exact
    double gap          # at least the primal minus the dual objective
    double bare         # the same if g were exact
    double bias
    double violation
    double floor        # violation that rounding of g alone is likely to cause
    double top          # largest slope of the objective in an entry that can rise
    double bottom       # least in one that can fall
    double excess       # at least abs(sum(b) - total)
    double loss         # what a point with that sum has less objective at most
    Py_ssize_t unsure   # terms of the gap that are not 0 for certain


# What has happened to the gradient.
cdef struct Drift:
    double size         # largest abs(linear) + largest kink
    double noise        # error of K_ij over root_i root_j
    double widest       # largest root_i times a bound of b_i
    double events       # roundings of each entry since g was computed from b, times 1/2
    double steps        # roundings of b that g does not know of, each in one entry
    double start        # spread when g was computed,
    double travel       # and sum of root_i |change of b_i| since
    double moved        # the same of changes that g does not know of


# g was computed from b just now, four columns at a time: 5 roundings within a group, 1 for each later one; 2 more for a
# ridge on the diagonal of K.
cdef inline void refreshed(Py_ssize_t n, const double* root, const double* b, Drift* drift) noexcept nogil:
    cdef Py_ssize_t i, used = 0
    drift.start = 0.0
    for i in range(n):
        drift.start += root[i] * fabs(b[i])
        used += b[i] != 0.0
    drift.events = 0.5 * (8 + (used + 3) // 4)
    drift.steps = drift.travel = drift.moved = 0.0


# Whether g may be further from the gradient at b than rounding of a sum leaves it: b was moved without it, or has been
# far from where it is.
cdef inline bint stale(
    Py_ssize_t n, double largest, const Drift* drift, const double* root, const double* b,
) noexcept nogil:
    cdef double spread = 0.0, rounding, far = sqrt(max(largest, 0.0))
    cdef Py_ssize_t i
    for i in range(n):
        spread += root[i] * fabs(b[i])
    rounding = EPS * 8.0 * (n + 32) * (drift.size + far * spread)
    return far * drift.moved > rounding or EPS * drift.events * far * (drift.start + drift.travel) > rounding


# Write to work[16 n:] how far each entry of g may be from exact.
cdef inline void find_slack(Py_ssize_t n, const Drift* drift, const double* b, double* work) noexcept nogil:
    cdef const double* root = work + 15 * n
    cdef double* slack = work + 16 * n
    cdef double spread = 0.0, reach = drift.start + drift.travel, of_root, fixed
    cdef Py_ssize_t i
    for i in range(n):
        spread += root[i] * fabs(b[i])
    reach = max(reach, spread)
    of_root = EPS * (drift.events * reach + drift.steps * min(drift.widest, reach)) + drift.moved + drift.noise * spread
    fixed = EPS * drift.events * drift.size
    for i in range(n):
        slack[i] = fixed + of_root * root[i]


# At least abs(sum(b) - total), little more if long double is longer than double.
cdef inline double imbalance(Py_ssize_t n, double total, const double* b) noexcept nogil:
    cdef long double first = -total, second = 0.0, third = 0.0, fourth = 0.0
    cdef double size = fabs(total)
    cdef Py_ssize_t i
    for i in range(0, n - 3, 4):
        first += b[i]
        second += b[i + 1]
        third += b[i + 2]
        fourth += b[i + 3]
    for i in range(n - n % 4, n):
        first += b[i]
    for i in range(n):
        size += fabs(b[i])
    first = (first + second) + (third + fourth)
    return (1.0 + EPS) * fabs(<double> first) + LDBL_EPSILON * (n + 4) * size


# What rounding makes of bias + offset, the constant of the decision function. 0 + offset is exact.
cdef inline double rounding_of_bias(double bias, double offset) noexcept nogil:
    return EPS * (fabs(bias) + fabs(offset)) if bias != 0.0 and offset != 0.0 else 0.0


# Complete the certificate by the gap and the bias: the sums' own rounding, and sum(b), which is not quite total.
cdef inline void conclude(
    Py_ssize_t n, double bare, double gap, double bias, double offset, Py_ssize_t unsure, Certificate* out,
) noexcept nogil:
    out.bias = bias
    out.unsure = unsure
    out.bare = bare
    out.gap = (1.0 + EPS * (n + 16)) * gap + (fabs(bias) + fabs(offset)) * out.excess


cdef inline double primal_of(const Certificate* out) noexcept nogil:
    return out.dual + (out.blur + out.gap) + 2.0 * EPS * (fabs(out.dual) + out.blur + out.gap)


# The gradient of the entries whose term of the gap is not 0 for certain, anew and in extended precision; work[16 n:]
# says how exact they are now. Returns whether there is such a precision. `support` has room for n numbers.
# NumPy: i = entries; g[i] = (slope[i] - K[i].astype(np.longdouble) @ b).astype(float)
cdef inline bint sharpen(
    const floating* K, Py_ssize_t n, bint kinked, double offset, const Drift* drift, double bias, const double* b,
    double* g, double* work, Py_ssize_t* support,
) noexcept nogil:
    cdef const double* lower = work + n
    cdef const double* upper = work + 2 * n
    cdef const double* linear = work + 4 * n
    cdef const double* root = work + 15 * n
    cdef double* slack = work + 16 * n
    cdef const floating* row
    cdef double r, wide, kink, spread = 0.0, shift = rounding_of_bias(bias, offset)
    cdef long double first, second, third
    cdef Py_ssize_t i, k, m = 0
    if 100.0 * LDBL_EPSILON > EPS:
        return False
    for i in range(n):
        if b[i] != 0.0:
            support[m] = i
            m += 1
            spread += root[i] * fabs(b[i])
    for i in range(n):
        r = g[i] - bias
        wide = slack[i] + shift
        wide = max((upper[i] - b[i]) * (r + wide), (lower[i] - b[i]) * (r - wide))
        kink = work[18 * n + i]
        if kinked and wide <= 0.0:
            r = other_gradient(g[i], lower[i], kink) - bias
            wide = slack[i] + shift
            wide = max(other_upper(i, n, work) * (r + wide), other_lower(i, n, work) * (r - wide))
        if wide <= 0.0:
            continue
        row = K + i * n
        first = linear[i]
        if kinked:
            first += -<long double> kink if lower[i] >= 0.0 else <long double> kink
        second = third = 0.0
        for k in range(0, m - 2, 3):
            first -= <long double> row[support[k]] * b[support[k]]
            second -= <long double> row[support[k + 1]] * b[support[k + 1]]
            third -= <long double> row[support[k + 2]] * b[support[k + 2]]
        for k in range(m - m % 3, m):
            first -= <long double> row[support[k]] * b[support[k]]
        g[i] = <double> (first + (second + third))
        slack[i] = (
            EPS * (fabs(g[i]) + 2.0 * kink)
            + LDBL_EPSILON * (m + 8) * (drift.size + root[i] * spread)
            + drift.noise * root[i] * spread
        )
        if offset != 0.0:
            slack[i] += EPS * fabs(linear[i])
    return True
