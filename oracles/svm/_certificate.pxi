# Feasibility, and how far from optimal a feasible point is.


# Put entries within rounding of a bound exactly on it, then spread the excess sum(b) over the entries that can take it,
# free ones first. Bound ones leave their bound only for an excess beyond rounding: a speck of room would make a large
# violation of nothing.
cdef void settle(Py_ssize_t n, const double* lower, const double* upper, double* b) noexcept nogil:
    cdef Py_ssize_t i, attempt
    cdef double excess = 0.0, room, largest = 0.0, size = 0.0
    cdef bint free
    for i in range(n):
        b[i] = min(max(b[i], lower[i]), upper[i])
        largest = max(largest, fabs(b[i]))
    for i in range(n):
        if fabs(b[i]) <= 4.0 * EPS * largest:
            b[i] = 0.0
        elif b[i] - lower[i] <= -4.0 * EPS * lower[i]:
            b[i] = lower[i]
        elif upper[i] - b[i] <= 4.0 * EPS * upper[i]:
            b[i] = upper[i]
        excess += b[i]
        size += fabs(b[i])
    for attempt in range(2):
        if attempt == 1 and fabs(excess) <= 4.0 * EPS * size:
            return
        for i in range(n):
            free = lower[i] < b[i] < upper[i]
            if free or attempt == 1:
                room = b[i] - lower[i] if excess > 0.0 else b[i] - upper[i]
                if fabs(room) > fabs(excess):
                    b[i] -= excess
                    return
                b[i] -= room
                excess -= room


# The smallest entry r of values with sum(weights where values <= r) >= share, by weighted quickselect: O(n) on average.
# Both arrays are reordered. If the sum meets the share exactly, every point up to the next entry has the same property,
# and the middle is returned.
# NumPy: s = np.argsort(values); return values[s][np.searchsorted(np.cumsum(weights[s]), share)]
cdef double weighted_order_statistic(double* values, double* weights, Py_ssize_t n, double share) noexcept nogil:
    cdef Py_ssize_t first = 0, last = n - 1, less, scan, more, k
    cdef double pivot, below = 0.0, smaller, equal, held, after = FAR, slack = 1e-12 * share
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


# Objectives at b with gradient g. The primal, for the best bias, is 1/2 b'Kb + sum_i C_i max(0, u_i), u = y (g - bias).
# It is convex and piecewise linear in the bias, with slope sum(C where g <= bias) - sum(C of the positive class): hence
# the weighted order statistic. The gap is summed from terms that are all >= 0, so nothing cancels:
#   gap = sum_i (C_i - a_i) max(0, u_i) + a_i max(0, -u_i).
# out = dual, gap, bias, violation, violation that rounding of g alone may cause
cdef void certify(
    Py_ssize_t n, const double* y, const double* C, const double* b, const double* g, double* work, double* out,
) noexcept nogil:
    cdef double* diagonal = work
    cdef double* lower = work + n
    cdef double* upper = work + 2 * n
    cdef double* values = work + 5 * n
    cdef double* weights = work + 6 * n
    cdef double share = 0.0, dual = 0.0, gap = 0.0, total = 0.0, bias, u, a
    cdef double top = -FAR, bottom = FAR, largest = 0.0, spread = 0.0
    cdef Py_ssize_t i
    for i in range(n):
        values[i] = g[i]
        weights[i] = C[i]
        if y[i] > 0.0:
            share += C[i]
    bias = weighted_order_statistic(values, weights, n, share)
    for i in range(n):
        a = fabs(b[i])
        u = y[i] * (g[i] - bias)
        gap += (C[i] - a) * u if u > 0.0 else -a * u
        dual += a + b[i] * g[i]
        total += b[i]
        if b[i] < upper[i]:
            top = max(top, g[i])
        if b[i] > lower[i]:
            bottom = min(bottom, g[i])
        largest = max(largest, diagonal[i])
        spread += sqrt(max(diagonal[i], 0.0)) * a
    out[0] = 0.5 * dual
    out[1] = gap + fabs(bias * total)
    out[2] = bias
    out[3] = max(top - bottom, 0.0)
    # |K_ij| <= sqrt(K_ii K_jj), so each entry of K b is a sum of terms that total at most sqrt(largest) * spread.
    out[4] = EPS * (1.0 + sqrt(max(largest, 0.0)) * spread)
