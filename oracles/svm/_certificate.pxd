# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# Feasibility, and how far from optimal a feasible point is.

from libc.math cimport fabs

from _numbers cimport EPS, FAR
from _rounding cimport Certificate, conclude, imbalance, rounding_of_bias
from _steps cimport fall_mask, other_gradient, other_lower, other_upper, rise_mask


# Put entries within rounding of a bound exactly on it, then spread the excess sum(b) - total over the entries that can
# take it, free ones first. Bound ones leave their bound only for an excess beyond rounding: a speck of room would make
# a large violation of nothing. Returns the sum of root_i |change of b_i|: root_k times that is the most by which the
# gradient of b_k is now wrong. After a solve that failed it need not be rounding alone.
cdef inline double settle(
    Py_ssize_t n, double total, const double* lower, const double* upper, const double* root, double* b,
) noexcept nogil:
    cdef Py_ssize_t i, attempt
    cdef double excess = -total, room, largest = 0.0, size = 0.0, old, moved = 0.0
    cdef bint free
    for i in range(n):
        old = b[i]
        b[i] = min(max(old, lower[i]), upper[i])
        moved += root[i] * fabs(b[i] - old)
        largest = max(largest, fabs(b[i]))
    for i in range(n):
        old = b[i]
        if fabs(old) <= 4.0 * EPS * largest:
            b[i] = 0.0
        elif old - lower[i] <= -4.0 * EPS * lower[i]:
            b[i] = lower[i]
        elif upper[i] - old <= 4.0 * EPS * upper[i]:
            b[i] = upper[i]
        moved += root[i] * fabs(b[i] - old)
        excess += b[i]
        size += fabs(b[i])
    for attempt in range(2):
        if attempt == 1 and fabs(excess) <= 4.0 * EPS * size:
            break
        for i in range(n):
            free = lower[i] < b[i] < upper[i]
            if free or attempt == 1:
                room = b[i] - lower[i] if excess > 0.0 else b[i] - upper[i]
                if fabs(room) > fabs(excess):
                    b[i] -= excess
                    return moved + root[i] * fabs(excess)
                b[i] = lower[i] if excess > 0.0 else upper[i]
                moved += root[i] * fabs(room)
                excess -= room
    return moved


# The smallest entry r of values with sum(weights where values <= r) >= share, by weighted quickselect: O(n) on average.
# Both arrays are reordered. If the sum meets the share within slack, every point up to the next entry has the same
# property, and the middle is returned.
# NumPy: s = np.argsort(values); return values[s][np.searchsorted(np.cumsum(weights[s]), share)]
cdef inline double weighted_order_statistic(
    double* values, double* weights, Py_ssize_t n, double share, double slack,
) noexcept nogil:
    cdef Py_ssize_t first = 0, last = n - 1, less, scan, more, k
    cdef double pivot, below = 0.0, smaller, equal, held, after = FAR
    while True:
        pivot = values[(first + last) // 2]
        less = first
        scan = first
        more = last
        smaller = 0.0
        equal = 0.0
        while scan <= more:
            held = values[scan]
            if held < pivot:
                smaller += weights[scan]
                values[scan] = values[less]
                values[less] = held
                weights[less], weights[scan] = weights[scan], weights[less]
                less += 1
                scan += 1
            elif held > pivot:
                values[scan] = values[more]
                values[more] = held
                weights[more], weights[scan] = weights[scan], weights[more]
                more -= 1
            else:
                equal += weights[scan]
                scan += 1
        if below + smaller >= share - slack and less > first:
            last = less - 1
        elif below + smaller + equal >= share - slack or more == last:
            if below + smaller + equal <= share + slack:
                for k in range(more + 1, n):
                    after = min(after, values[k])
            return 0.5 * (pivot + after) if after < FAR else pivot
        else:
            below += smaller + equal
            first = more + 1


# Dual objective, violation and what else the certificate rests on, at b with gradient g. work[16 n:] says how far each
# entry of g may be from the exact one; `steepest` is the largest kink.
cdef inline void measure(
    Py_ssize_t n, double total, bint kinked, double steepest, double offset, const double* work, const double* b,
    const double* g, Certificate* out,
) noexcept nogil:
    cdef const double* lower = work + n
    cdef const double* upper = work + 2 * n
    cdef const double* slope = work + 3 * n
    cdef const double* root = work + 15 * n
    cdef const double* slack = work + 16 * n
    cdef double dual = 0.0, size = 0.0, top = -FAR, bottom = FAR, largest = 0.0, spread = 0.0, blur = 0.0, term
    cdef double least = FAR, most = 0.0, level, excess
    cdef Py_ssize_t i
    for i in range(n):
        term = b[i] * (slope[i] + g[i])
        dual += term
        size += fabs(term)
        blur += fabs(b[i]) * slack[i]
        largest = max(largest, root[i])
        spread += root[i] * fabs(b[i])
    for i in range(n):
        top = max(top, g[i] if b[i] < upper[i] else -FAR)
        bottom = min(bottom, g[i] if b[i] > lower[i] else FAR)
    if kinked:
        for i in range(n):
            top = max(top, g[i] + rise_mask(i, n, kinked, b[i], work))
            bottom = min(bottom, g[i] + fall_mask(i, n, kinked, b[i], work))
    excess = imbalance(n, total, b)
    # A point that is feasible exactly has entries that differ by sum(b) - total, in one of which there is room both
    # ways, say. Its objective is less by no more than this.
    for i in range(n):
        level = fabs(g[i]) + slack[i]
        most = max(most, level)
        if b[i] - lower[i] > excess and upper[i] - b[i] > excess:
            least = min(least, level)
    least = most + 2.0 * steepest if least >= FAR else least
    out.dual = 0.5 * dual
    out.blur = 0.5 * (blur + EPS * (n + 8) * size)
    out.violation = max(top - bottom, 0.0)
    out.floor = EPS * (1.0 + largest * spread)
    out.top = top
    out.bottom = bottom
    out.excess = excess
    out.loss = excess * (least + fabs(offset) + 0.5 * excess * largest * largest)


# The duality gap and the bias that makes it least. The primal is
# 1/2 b'Kb + total * bias + sum_i max(upper_i r_i, lower_i r_i), r = g - bias, a kinked variable counting twice, once a
# piece. It is convex and piecewise linear in the bias, with slope total - sum(upper) + sum(upper - lower where
# g <= bias): hence the weighted order statistic. It lies between bottom and top, as entries above top cannot rise and
# those below bottom not fall: sum(upper - lower where g <= top) >= sum(upper - b) = sum(upper) - total, and likewise
# below. So only entries in between are ranked. The gap is summed from terms that are all >= 0, so nothing cancels:
#   gap = sum_i max((upper_i - b_i) r_i, (lower_i - b_i) r_i) - bias (sum(b) - total).
# A term is convex in r: within slack_i of the r computed it is largest at an end.
cdef inline void certify(
    Py_ssize_t n, double total, bint kinked, double offset, const double* b, const double* g, double* work,
    Certificate* out,
) noexcept nogil:
    cdef const double* lower = work + n
    cdef const double* upper = work + 2 * n
    cdef const double* slack = work + 16 * n
    cdef const double* kink = work + 18 * n
    cdef double* values = work + 7 * n      # each has room for 2 n
    cdef double* weights = work + 9 * n
    cdef double low = min(out.top, out.bottom), high = max(out.top, out.bottom)
    cdef double share = -total, below = 0.0, size = 0.0, gap = 0.0, bare = 0.0, bias, r, wide, shift
    cdef Py_ssize_t i, between = 0, unsure = 0
    for i in range(n):
        share += upper[i]
        size += upper[i] - lower[i]
        below += upper[i] - lower[i] if g[i] < low else 0.0
    for i in range(n):
        values[between] = g[i]
        weights[between] = upper[i] - lower[i]
        between += low <= g[i] <= high
    if kinked:
        for i in range(n):
            r = other_gradient(g[i], lower[i], kink[i])
            share += other_upper(i, n, work)
            below += other_upper(i, n, work) - other_lower(i, n, work) if r < low else 0.0
            values[between] = r
            weights[between] = other_upper(i, n, work) - other_lower(i, n, work)
            between += low <= r <= high
    bias = weighted_order_statistic(values, weights, between, share - below, 1e-12 * size)
    shift = rounding_of_bias(bias, offset)
    for i in range(n):
        r = g[i] - bias
        wide = slack[i] + shift
        bare += max((upper[i] - b[i]) * r, (lower[i] - b[i]) * r)
        wide = max((upper[i] - b[i]) * (r + wide), (lower[i] - b[i]) * (r - wide))
        gap += wide
        unsure += wide > 0.0
    if kinked:
        for i in range(n):
            r = other_gradient(g[i], lower[i], kink[i]) - bias
            wide = slack[i] + shift
            bare += max(other_upper(i, n, work) * r, other_lower(i, n, work) * r)
            gap += max(other_upper(i, n, work) * (r + wide), other_lower(i, n, work) * (r - wide))
    conclude(n, bare, gap, bias, offset, unsure, out)


# The same for the squared hinge, whose boxes have one end, at 0: K has ridge_i = 1 / (2 C_i) on its diagonal. With
# q = g + ridge * b the gradient without the ridge and u = y (q - bias) the slack,
#   primal = 1/2 b'(K - diag(ridge))b + sum_i max(0, u_i)^2 / (2 ridge_i),
#   gap = sum_i (u_i - ridge_i a_i)^2 / (2 ridge_i) where u_i > 0, ridge_i a_i^2 / 2 - a_i u_i elsewhere,
# terms that are all >= 0 and convex in g. Newton's method for the bias, held in a bracket; any bias gives a valid gap.
cdef inline void certify_squared(
    Py_ssize_t n, double total, const double* ridge, const double* b, const double* g, const double* work,
    Certificate* out,
) noexcept nogil:
    cdef const double* upper = work + 2 * n
    cdef const double* slack = work + 16 * n
    cdef double low = FAR, high = -FAR, bias, last, u, q, slope, curvature, gap = 0.0, bare = 0.0, r, wide
    cdef Py_ssize_t i, _attempt
    for i in range(n):
        q = g[i] + ridge[i] * b[i]
        low = min(low, q)
        high = max(high, q)
    bias = min(max(0.5 * (out.top + out.bottom), low), high)
    for _attempt in range(100):
        slope = total
        curvature = 0.0
        for i in range(n):
            u = g[i] + ridge[i] * b[i] - bias
            if (u > 0.0) == (upper[i] > 0.0):
                slope -= u / ridge[i]
                curvature += 1.0 / ridge[i]
        if slope == 0.0:
            break
        if slope < 0.0:
            low = bias
        else:
            high = bias
        last = bias
        bias -= slope / curvature
        if not low <= bias <= high:
            bias = 0.5 * (low + high)
        if fabs(bias - last) <= EPS * fabs(bias):
            break
    for i in range(n):
        r = g[i] - bias
        # what rounding makes of the ridge and of u
        wide = slack[i] + 4.0 * EPS * (fabs(g[i]) + ridge[i] * fabs(b[i]) + fabs(bias))
        bare += squared_term(r, b[i], ridge[i], upper[i])
        gap += max(
            squared_term(r - wide, b[i], ridge[i], upper[i]), squared_term(r + wide, b[i], ridge[i], upper[i])
        )
    conclude(n, bare, gap, bias, 0.0, n, out)


cdef inline double squared_term(double r, double b, double ridge, double upper) noexcept nogil:
    cdef double u = r + ridge * b
    if (u > 0.0) == (upper > 0.0):
        return r * r / (2.0 * ridge)
    return -b * (r + 0.5 * ridge * b)


# The same for all other losses of a ridge, perhaps 0 at some points, which K has on its diagonal. With
# q = g + ridge * b +- kink, linear less the decision value, and r = q - bias, a term of the gap is
#   max over lower <= z <= upper of (z - b) (r - ridge (z + b) / 2) - kink (|z| - |b|),
# not negative and convex in g; z is where the derivative crosses 0, or an end. The bias is where the z add up to the
# total: Newton's method, held in a bracket that is halved where jumps of z keep it from converging.
cdef inline void certify_curved(
    Py_ssize_t n, double total, double offset, const double* ridge, const double* b, const double* g, double* work,
    Certificate* out,
) noexcept nogil:
    cdef const double* kink = work + 18 * n
    cdef const double* lower = work + 19 * n
    cdef const double* upper = work + 20 * n
    cdef const double* slack = work + 16 * n
    cdef double* q = work + 7 * n
    cdef double low = FAR, high = -FAR, bias, last, z, excess, curvature, gap = 0.0, bare = 0.0, r, wide, shift, least
    cdef double steepest = 0.0
    cdef Py_ssize_t i, attempt
    for i in range(n):
        q[i] = g[i] + ridge[i] * b[i] + (kink[i] if work[n + i] >= 0.0 else -kink[i])
        low = min(low, q[i] - kink[i])
        high = max(high, q[i] + kink[i])
        steepest = max(steepest, ridge[i])
    low -= steepest * fabs(total)
    high += steepest * fabs(total)
    least = 1e-6 * (high - low)
    bias = min(max(0.5 * (out.top + out.bottom), low), high)
    for attempt in range(200):
        excess = -total
        curvature = 0.0
        for i in range(n):
            z = response(q[i] - bias, kink[i], ridge[i], lower[i], upper[i])
            excess += z
            if ridge[i] > 0.0 and z != 0.0 and lower[i] < z < upper[i]:
                curvature += 1.0 / ridge[i]
        if excess == 0.0:
            break
        if excess > 0.0:
            low = bias
        else:
            high = bias
        last = bias
        bias = bias + excess / curvature if curvature > 0.0 else FAR
        if not low < bias < high or (attempt > 20 and attempt % 2 == 0):
            bias = 0.5 * (low + high)
        if fabs(bias - last) <= EPS * max(fabs(bias), least):
            break
    shift = rounding_of_bias(bias, offset)
    for i in range(n):
        r = q[i] - bias
        # what rounding makes of the ridge and of q
        wide = slack[i] + shift + 4.0 * EPS * (fabs(g[i]) + ridge[i] * fabs(b[i]) + kink[i] + fabs(bias))
        bare += curved_term(r, b[i], kink[i], ridge[i], lower[i], upper[i])
        gap += max(
            curved_term(r - wide, b[i], kink[i], ridge[i], lower[i], upper[i]),
            curved_term(r + wide, b[i], kink[i], ridge[i], lower[i], upper[i]),
        )
    conclude(n, bare, gap, bias, offset, n, out)


# Where r z - kink |z| - ridge z^2 / 2 is largest in the box.
cdef inline double response(double r, double kink, double ridge, double lower, double upper) noexcept nogil:
    if r > kink:
        return min((r - kink) / ridge, upper) if ridge > 0.0 else upper
    if r < -kink:
        return max((r + kink) / ridge, lower) if ridge > 0.0 else lower
    return 0.0


cdef inline double curved_term(
    double r, double b, double kink, double ridge, double lower, double upper,
) noexcept nogil:
    cdef double z = response(r, kink, ridge, lower, upper)
    return (z - b) * (r - 0.5 * ridge * (z + b)) - kink * (fabs(z) - fabs(b))


# `endless` says of a ridge that all boxes have one end, at 0, and no kink.
cdef inline void prove(
    Py_ssize_t n, double total, bint kinked, double offset, const double* ridges, bint endless, const double* b,
    const double* g, double* work, Certificate* out,
) noexcept nogil:
    if ridges == NULL:
        certify(n, total, kinked, offset, b, g, work, out)
    elif endless:
        certify_squared(n, total, ridges, b, g, work, out)
    else:
        certify_curved(n, total, offset, ridges, b, g, work, out)
