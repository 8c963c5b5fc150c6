# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# Two-variable steps: the loose phase, and the last resort.

from cython cimport floating
from libc.math cimport fabs
from libc.string cimport memcpy

from _numbers cimport FAR

cdef enum:
    BLOCK = 64          # entries whose extreme is kept in registers before it is compared with the best of all


# Columns of zero weight are skipped, four of the others are taken at a time.
# NumPy: g -= K[:, s] @ weights[s] with s = np.flatnonzero(weights)
cdef inline void subtract_columns(const floating* K, Py_ssize_t n, const double* weights, double* g) noexcept nogil:
    cdef const floating* row[4]
    cdef double weight[4]
    cdef const floating *k0
    cdef const floating *k1
    cdef const floating *k2
    cdef const floating *k3
    cdef double w0, w1, w2, w3
    cdef Py_ssize_t i, j, filled = 0
    for j in range(n):
        if weights[j] != 0.0:
            row[filled] = K + j * n
            weight[filled] = weights[j]
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


# NumPy: g[:] = slope - K[:, s] @ b[s] with s = np.flatnonzero(b)
cdef inline void residual(
    const floating* K, Py_ssize_t n, const double* slope, const double* b, double* g,
) noexcept nogil:
    memcpy(g, slope, n * sizeof(double))
    subtract_columns(K, n, b, g)


# Bounds and slopes of the pieces that b is on: where there are kinks, one from 0 up and one from 0 down.
cdef inline void choose_pieces(
    Py_ssize_t n, bint kinked, const double* lower, const double* upper, const double* b, double* work,
) noexcept nogil:
    cdef const double* linear = work + 4 * n
    cdef const double* kink = work + 18 * n
    cdef Py_ssize_t i
    memcpy(work + n, lower, n * sizeof(double))
    memcpy(work + 2 * n, upper, n * sizeof(double))
    memcpy(work + 3 * n, linear, n * sizeof(double))
    if kinked:
        for i in range(n):
            if b[i] < 0.0 or upper[i] <= 0.0:
                work[2 * n + i] = 0.0
                work[3 * n + i] += kink[i]
            else:
                work[n + i] = 0.0
                work[3 * n + i] -= kink[i]


# Variable i, which is 0, goes over from its piece to the one on the other side of 0.
cdef inline void change_piece(Py_ssize_t i, Py_ssize_t n, double* work, double* g) noexcept nogil:
    cdef double* lower = work + n
    cdef double* upper = work + 2 * n
    cdef double* slope = work + 3 * n
    cdef const double* linear = work + 4 * n
    cdef double old_slope = slope[i], kink = work[18 * n + i]
    if lower[i] >= 0.0:
        lower[i] = work[19 * n + i]
        upper[i] = 0.0
        slope[i] = linear[i] + kink
    else:
        lower[i] = 0.0
        upper[i] = work[20 * n + i]
        slope[i] = linear[i] - kink
    g[i] += slope[i] - old_slope


# What is added to the gradient of a variable for the derivative of the objective as it rises: 0, or at a bound -FAR, or
# at the kink, where the piece above has room, the loss of slope on it.
cdef inline double rise_mask(Py_ssize_t i, Py_ssize_t n, bint kinked, double b, const double* work) noexcept nogil:
    cdef double upper = work[2 * n + i], side, mask = -FAR
    if kinked:
        side = work[20 * n + i]
        mask = -2.0 * work[18 * n + i]
        mask = mask if upper <= 0.0 else -FAR
        mask = mask if side > 0.0 else -FAR
    return 0.0 if b < upper else mask


# The same as it falls.
cdef inline double fall_mask(Py_ssize_t i, Py_ssize_t n, bint kinked, double b, const double* work) noexcept nogil:
    cdef double lower = work[n + i], side, mask = FAR
    if kinked:
        side = work[19 * n + i]
        mask = 2.0 * work[18 * n + i]
        mask = mask if lower >= 0.0 else FAR
        mask = mask if side < 0.0 else FAR
    return 0.0 if b > lower else mask


# The gradient of a variable on the piece where it is not, where it counts as 0.
cdef inline double other_gradient(double g, double lower, double kink) noexcept nogil:
    return g + 2.0 * kink if lower >= 0.0 else g - 2.0 * kink


# The ends of that piece, one of which is 0: exactly what the piece where the variable is leaves of the box.
cdef inline double other_lower(Py_ssize_t i, Py_ssize_t n, const double* work) noexcept nogil:
    return work[19 * n + i] - work[n + i]


cdef inline double other_upper(Py_ssize_t i, Py_ssize_t n, const double* work) noexcept nogil:
    return work[20 * n + i] - work[2 * n + i]


# First pass of a step. `can_rise` is 0 where b < upper and -FAR elsewhere, `can_fall` 0 where b > lower, else FAR; but
# at a kink as `rise_mask` and `fall_mask` say.
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
# b must be feasible and g its gradient; both are updated. Returns the number of steps that moved b; what they moved is
# added to travel[0].
cdef inline Py_ssize_t take_steps(
    const floating* K, Py_ssize_t n, bint kinked, double target, Py_ssize_t limit, double flat, double* b, double* g,
    double* work, double* travel,
) noexcept nogil:
    cdef double* diagonal = work
    cdef const double* root = work + 15 * n
    cdef double* lower = work + n
    cdef double* upper = work + 2 * n
    cdef double* can_rise = work + 5 * n
    cdef double* can_fall = work + 6 * n
    cdef double* score = work + 7 * n
    cdef const floating* row_i = K
    cdef const floating* row_j = K
    cdef double step = 0.0, top, bottom, curvature, room_i, room_j, old_i, old_j
    cdef Py_ssize_t i, j, k, taken = 0
    for k in range(n):
        can_rise[k] = rise_mask(k, n, kinked, b[k], work)
        can_fall[k] = fall_mask(k, n, kinked, b[k], work)
    while True:
        i = update_and_pick(row_i, row_j, step, n, g, can_rise, can_fall, &top, &bottom)
        if top - bottom <= target or taken >= limit:
            return taken
        row_i = K + i * n
        j = best_partner(row_i, n, diagonal, g, can_fall, top, diagonal[i], flat, score)
        row_j = K + j * n
        if kinked:
            if b[i] >= upper[i]:
                change_piece(i, n, work, g)
            if b[j] <= lower[j]:
                change_piece(j, n, work, g)
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
        travel[0] += fabs(step) * (root[i] + root[j])
        can_rise[i] = rise_mask(i, n, kinked, b[i], work)
        can_fall[i] = fall_mask(i, n, kinked, b[i], work)
        can_rise[j] = rise_mask(j, n, kinked, b[j], work)
        can_fall[j] = fall_mask(j, n, kinked, b[j], work)
