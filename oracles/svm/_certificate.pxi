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
# Both arrays are reordered. If the sum meets the share within slack, every point up to the next entry has the same
# property, and the middle is returned.
# NumPy: s = np.argsort(values); return values[s][np.searchsorted(np.cumsum(weights[s]), share)]
cdef double weighted_order_statistic(
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


# Dual objective and violation at b with gradient g: those of a feasible point, or of an iterate.
# out = dual, -, -, violation, violation that rounding of g alone may cause, top, bottom: largest gradient of an entry
# that can rise, least of one that can fall
cdef void measure(Py_ssize_t n, const double* work, const double* b, const double* g, double* out) noexcept nogil:
    cdef const double* diagonal = work
    cdef const double* lower = work + n
    cdef const double* upper = work + 2 * n
    cdef double dual = 0.0, top = -FAR, bottom = FAR, largest = 0.0, spread = 0.0, a
    cdef Py_ssize_t i
    for i in range(n):
        a = fabs(b[i])
        dual += a + b[i] * g[i]
        top = max(top, g[i] if b[i] < upper[i] else -FAR)
        bottom = min(bottom, g[i] if b[i] > lower[i] else FAR)
        largest = max(largest, diagonal[i])
        spread += sqrt(max(diagonal[i], 0.0)) * a
    out[0] = 0.5 * dual
    out[3] = max(top - bottom, 0.0)
    # |K_ij| <= sqrt(K_ii K_jj), so each entry of K b is a sum of terms that total at most sqrt(largest) * spread.
    out[4] = EPS * (1.0 + sqrt(max(largest, 0.0)) * spread)
    out[5] = top
    out[6] = bottom


# The duality gap and the bias that makes it least. The primal is 1/2 b'Kb + sum_i C_i max(0, u_i), u = y (g - bias),
# convex and piecewise linear in the bias, with slope sum(C where g <= bias) - sum(C of the positive class): hence the
# weighted order statistic. It lies between bottom and top, as entries above top cannot rise and those below bottom not
# fall: sum(C where g <= top) >= sum(upper - b) = sum(upper), and likewise below. So only entries in between are ranked.
# The gap is summed from terms that are all >= 0, so nothing cancels:
#   gap = sum_i (C_i - a_i) max(0, u_i) + a_i max(0, -u_i).
# out = as of `measure`, with gap and bias filled in
cdef void certify(
    Py_ssize_t n, const double* y, const double* C, const double* b, const double* g, double* work, double* out,
) noexcept nogil:
    cdef double* values = work + 5 * n
    cdef double* weights = work + 6 * n
    cdef double low = min(out[5], out[6]), high = max(out[5], out[6])
    cdef double share = 0.0, below = 0.0, gap = 0.0, total = 0.0, bias, u, a
    cdef Py_ssize_t i, between = 0
    for i in range(n):
        share += C[i] if y[i] > 0.0 else 0.0
        below += C[i] if g[i] < low else 0.0
    for i in range(n):
        values[between] = g[i]
        weights[between] = C[i]
        between += low <= g[i] <= high
    bias = weighted_order_statistic(values, weights, between, share - below, 1e-12 * share)
    for i in range(n):
        a = fabs(b[i])
        u = y[i] * (g[i] - bias)
        gap += (C[i] - a) * u if u > 0.0 else -a * u
        total += b[i]
    out[1] = gap + fabs(bias * total)
    out[2] = bias
