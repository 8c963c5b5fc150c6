# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Sequential minimal optimization of the C-SVC dual on a dense kernel, in signed dual variables.

With b = y * a the dual is ``max y @ b - 1/2 b @ K @ b`` over ``lower <= b <= upper``, ``sum(b) == 0``; its gradient is
``g = y - K @ b``. No label product is left in the loops, and both classes share one code.

Compiled with -ffast-math: comparisons with NaN or infinity mean nothing here, the caller checks its data before.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from cython cimport floating
from libc.math cimport fabs, sqrt

cdef enum:
    BLOCK = 64          # entries whose extreme is kept in registers before it is compared with the best of all
    WORK_ROWS = 7

cdef double FAR = 1e300             # an infinity that -ffast-math understands
cdef double EPS = 2.220446049250313e-16

# How a solve ended; the order is that of csvc.SVMStatus.
cdef enum:
    CONVERGED = 0
    STEP_LIMIT = 1
    ROUNDING_FLOOR = 2


# NumPy: g[:] = y - K[:, s] @ b[s] with s = np.flatnonzero(b)
cdef void residual(const floating* K, Py_ssize_t n, const double* y, const double* b, double* g) noexcept nogil:
    cdef const floating* row[4]
    cdef double weight[4]
    cdef const floating *k0
    cdef const floating *k1
    cdef const floating *k2
    cdef const floating *k3
    cdef double w0, w1, w2, w3
    cdef Py_ssize_t i, j, filled = 0
    for i in range(n):
        g[i] = y[i]
    for j in range(n):
        if b[j] != 0.0:
            row[filled] = K + j * n
            weight[filled] = b[j]
            filled += 1
        if filled == 4 or (filled > 0 and j == n - 1):
            for i in range(filled, 4):
                row[i] = K
                weight[i] = 0.0
            k0 = row[0]
            k1 = row[1]
            k2 = row[2]
            k3 = row[3]
            w0 = weight[0]
            w1 = weight[1]
            w2 = weight[2]
            w3 = weight[3]
            for i in range(n):
                g[i] -= (w0 * k0[i] + w1 * k1[i]) + (w2 * k2[i] + w3 * k3[i])
            filled = 0


# First pass of a step. `can_rise` is 0 where b < upper and -FAR elsewhere, `can_fall` 0 where b > lower, else FAR.
# NumPy: g -= step * (row_i - row_j); top[0], bottom[0] = (g + can_rise).max(), (g + can_fall).min()
#        return (g + can_rise).argmax()
cdef inline Py_ssize_t update_and_pick(
    const floating* row_i, const floating* row_j, double step, Py_ssize_t n, double* g,
    const double* can_rise, const double* can_fall, double* top, double* bottom,
) noexcept nogil:
    cdef Py_ssize_t start, stop = 0, k, best = 0
    cdef double value, high, low, highest = -FAR, lowest = FAR
    while stop < n:
        start = stop
        stop = min(start + BLOCK, n)
        high = -FAR
        low = FAR
        for k in range(start, stop):
            value = g[k] - step * (<double> row_i[k] - <double> row_j[k])
            g[k] = value
            high = max(high, value + can_rise[k])
            low = min(low, value + can_fall[k])
        if high > highest:
            highest = high
            best = start
        lowest = min(lowest, low)
    top[0] = highest
    bottom[0] = lowest
    stop = min(best + BLOCK, n) - 1
    while best < stop and g[best] + can_rise[best] != highest:
        best += 1
    return best


# Second pass, Fan, Chen, Lin (2005), rule WSS 2: the partner with the largest gain of the unclipped step.
# NumPy: lead = np.maximum(g_i - (g + can_fall), 0); curvature = np.maximum(k_ii + diagonal - 2 * row_i, flat)
#        return (lead**2 / curvature).argmax()
cdef inline Py_ssize_t best_partner(
    const floating* row_i, Py_ssize_t n, const double* diagonal, const double* g, const double* can_fall,
    double g_i, double k_ii, double flat, double* score,
) noexcept nogil:
    cdef Py_ssize_t start, stop = 0, k, best = 0
    cdef double lead, curvature, gain, high, highest = -1.0
    while stop < n:
        start = stop
        stop = min(start + BLOCK, n)
        high = -1.0
        for k in range(start, stop):
            lead = max(g_i - (g[k] + can_fall[k]), 0.0)
            curvature = max(k_ii + diagonal[k] - 2.0 * <double> row_i[k], flat)
            gain = lead * lead / curvature
            score[k] = gain     # stored, because a recomputed gain may round differently
            high = max(high, gain)
        if high > highest:
            highest = high
            best = start
    stop = min(best + BLOCK, n) - 1
    while best < stop and score[best] != highest:
        best += 1
    return best


# SMO steps until max(g over b < upper) - min(g over b > lower) <= target, or the limit, or a step too small for b.
# b must be in the box with sum(b) = 0 and g its gradient; both are updated. Returns the number of steps that moved b.
cdef Py_ssize_t take_steps(
    const floating* K, Py_ssize_t n, double target, Py_ssize_t limit, double flat, double* b, double* g, double* work,
) noexcept nogil:
    cdef double* diagonal = work
    cdef double* lower = work + n
    cdef double* upper = work + 2 * n
    cdef double* can_rise = work + 3 * n
    cdef double* can_fall = work + 4 * n
    cdef double* score = work + 5 * n
    cdef const floating* row_i = K
    cdef const floating* row_j = K
    cdef double step = 0.0, top, bottom, curvature, room_i, room_j, old_i, old_j
    cdef Py_ssize_t i, j, k, taken = 0
    for k in range(n):
        can_rise[k] = 0.0 if b[k] < upper[k] else -FAR
        can_fall[k] = 0.0 if b[k] > lower[k] else FAR
    while True:
        i = update_and_pick(row_i, row_j, step, n, g, can_rise, can_fall, &top, &bottom)
        if top - bottom <= target or taken >= limit:
            return taken
        row_i = K + i * n
        j = best_partner(row_i, n, diagonal, g, can_fall, top, diagonal[i], flat, score)
        row_j = K + j * n
        curvature = max(diagonal[i] + diagonal[j] - 2.0 * <double> row_i[j], flat)
        step = (g[i] - g[j]) / curvature
        room_i = upper[i] - b[i]
        room_j = b[j] - lower[j]
        old_i = b[i]
        old_j = b[j]
        if step < room_i and step < room_j:
            b[i] += step
            b[j] -= step
        elif room_i <= room_j:
            step = room_i
            b[i] = upper[i]
            b[j] = b[j] - step if room_i < room_j else lower[j]
        else:
            step = room_j
            b[j] = lower[j]
            b[i] += step
        if b[i] == old_i and b[j] == old_j:
            return taken
        taken += 1
        can_rise[i] = 0.0 if b[i] < upper[i] else -FAR
        can_fall[i] = 0.0 if b[i] > lower[i] else FAR
        can_rise[j] = 0.0 if b[j] < upper[j] else -FAR
        can_fall[j] = 0.0 if b[j] > lower[j] else FAR


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


def solve_signed(
    const floating[:, ::1] K, const double[::1] y, const double[::1] C, double[::1] b, double accuracy,
    double tolerance, Py_ssize_t max_steps,
):
    """Improve the signed duals b in place until relative gap <= accuracy and violation <= tolerance.

    Every array is trusted: finite, K symmetric, y of -1 and +1 with both present, C > 0. b may be anything finite.

    Returns
    -------
    tuple
        gradient, dual objective, gap, bias, violation, number of steps, status code.
    """
    cdef Py_ssize_t n = K.shape[0], i, limit, taken, steps = 0, progress = 0, status = -1
    cdef double mean = 0.0, flat, target = tolerance, relative, floor
    cdef double lowest_gap = FAR, lowest_violation = FAR, highest_dual = -FAR
    cdef double out[5]
    gradient = np.empty(n)
    workspace = np.empty((WORK_ROWS, n))
    cdef double[::1] g = gradient
    cdef double[:, ::1] work = workspace
    cdef double* w = &work[0, 0]
    with nogil:
        for i in range(n):
            w[i] = <double> K[i, i]
            mean += w[i] / n
            w[n + i] = 0.0 if y[i] > 0.0 else -C[i]
            w[2 * n + i] = C[i] if y[i] > 0.0 else 0.0
    # Directions of no curvature get a little, in units of the kernel: a step along them goes to a bound.
    flat = max(1e-12 * mean, 1e-200)
    limit = max(20 * n, 10_000)
    taken = -1
    while True:
        with nogil:
            settle(n, w + n, w + 2 * n, &b[0])
            residual(&K[0, 0], n, &y[0], &b[0], &g[0])   # afresh: the updated one has drifted
            certify(n, &y[0], &C[0], &b[0], &g[0], w, out)
            relative = out[1] / max(out[0] + out[1], 1e-300)
            floor = out[4]
            if (
                out[1] < 0.9 * lowest_gap
                or out[3] < 0.9 * lowest_violation
                or out[0] - highest_dual > 1e-13 * fabs(out[0])
            ):
                lowest_gap = min(lowest_gap, out[1])
                lowest_violation = min(lowest_violation, out[3])
                highest_dual = out[0]
                progress = steps
            if relative <= accuracy and out[3] <= tolerance:
                status = CONVERGED
            elif out[3] <= floor or taken == 0 or steps - progress > 200 * n + 100_000:
                # Violation within rounding; or steps too small to move b; or no progress for long.
                status = ROUNDING_FLOOR
            elif steps >= max_steps:
                status = STEP_LIMIT
            elif out[3] <= target:
                # The gap is proportional to the violation, to first order.
                target = min(target, out[3]) * min(max(0.5 * accuracy / relative, 0.05), 0.5)
                target = max(target, 0.5 * floor)
        if status >= 0:
            break
        PyErr_CheckSignals()
        with nogil:
            taken = take_steps(&K[0, 0], n, target, min(limit, max_steps - steps), flat, &b[0], &g[0], w)
            steps += taken
    return gradient, out[0], out[1], out[2], out[3], steps, status
