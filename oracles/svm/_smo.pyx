# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Duals of support vector machines on a dense kernel: two-variable steps, then Newton's method, in signed variables.

    max linear @ b - kink @ abs(b) - 1/2 b @ K @ b    over lower <= b <= upper, sum(b) == total.

C-SVC has linear = y, b = y * a and bounds 0 and C or -C and 0: no label product is left in the loops, and both classes
share one code. With kinks a variable is at any time on one of its two pieces, from 0 up or down, on which the objective
is smooth: `lower`, `upper` and `slope` = linear -+ kink below are those of the piece, ``g = slope - K @ b`` is the
gradient there; at 0 a variable may change its piece, if the box has room there.

Compiled with -ffast-math: comparisons with NaN or infinity mean nothing here, the caller checks its data before.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from cython cimport floating
from libc.math cimport fabs, sqrt
from libc.string cimport memcpy

from _active cimport active_set
from _certificate cimport measure, prove, settle
from _newton cimport newton
from _numbers cimport EPS, FAR
from _rounding cimport Certificate, Drift, find_slack, primal_of, refreshed, sharpen, stale
from _steps cimport choose_pieces, residual, take_steps

cdef enum:
    WORK_ROWS = 21
    TRIES = 12          # of Newton's method, each after steps to a tenth of the violation, or after twice as many
    MOST_ROUGH = 1000   # free variables for Newton's method before the violation is small
    STEPS_WORK = 90     # work of a two-variable step over n, in units of a factorization's over the cube of its size

cdef double LOOSE = 0.03            # violation, in units of the margin, at which Newton's method is tried first
cdef double WORTH_NEWTON = 1e-4     # relative gap that two-variable steps mostly reach as fast: they may try first
cdef double NEARLY = 1e-9           # relative gap below which further progress is not waited for as long

cdef Py_ssize_t ENOUGH = <Py_ssize_t> 1 << 62     # steps after which Newton's method is not put off any more

# How a solve ended; the order is that of box.SVMStatus.
cdef enum:
    CONVERGED = 0
    STEP_LIMIT = 1
    ROUNDING_FLOOR = 2


def signed_box(const double[::1] y, const double[::1] C):
    """Bounds of y * a where 0 <= a <= C: two arrays."""
    cdef Py_ssize_t i
    bounds = np.zeros(y.shape[0]), np.zeros(y.shape[0])
    cdef double[::1] lower = bounds[0]
    cdef double[::1] upper = bounds[1]
    for i in range(y.shape[0]):
        if y[i] > 0.0:
            upper[i] = C[i]
        else:
            lower[i] = -C[i]
    return bounds


def solve_signed(
    const floating[:, ::1] K, const double[::1] linear, const double[::1] lower, const double[::1] upper,
    const double[::1] kink, const double[::1] ridge, bint endless, double total, double offset, double noise,
    double[::1] b, double accuracy, double tolerance, Py_ssize_t max_steps,
):
    """Improve the signed duals b in place until relative gap <= accuracy and violation <= tolerance.

    Every array is trusted: finite, K symmetric, linear of size about 1, lower <= 0 <= upper, not both 0, the sums of
    the bounds around total. b may be anything finite. `kink` is None or not negative. `ridge` is None, or what of the
    diagonal of K stands for a loss that is curved; `endless` says that bounds are 0 on one side and more than any
    solution has on the other, and that there is no kink. `offset` will be added to linear and bias; K_ij is known up
    to noise * sqrt(K_ii K_jj).

    What is certified is b as it is returned: nothing moves b afterwards, and the gradient of that b is either computed
    from it or known to within what the roundings counted since, and the moves it took no part in, can have made of it.

    Returns
    -------
    tuple
        linear - K @ b, dual objective rounded down, primal one rounded up, gap, bias, violation, most that sum(b) may
        differ from total, number of steps, of Newton rounds, status code.
    """
    cdef Py_ssize_t n = K.shape[0], n_free, i, limit, most, taken, steps = 0, progress = 0, status = -1
    cdef Py_ssize_t n_before_newton = 0, rounds, columns, newton_rounds = 0, updates = n + 1, tries = TRIES
    cdef double mean = 0.0, largest = 0.0, flat, target = tolerance, loose = LOOSE, relative, moved, known, share
    cdef double lowest_gap = FAR, lowest_violation = FAR, highest_dual = -FAR
    cdef double steepest = 0.0, room_down = 0.0, room_up = 0.0
    cdef bint near, misled = False, kinked = kink is not None
    cdef Certificate proof
    cdef Drift drift
    cdef const double* ridges = &ridge[0] if ridge is not None else NULL
    gradient = np.empty(n)
    # diagonal, lower and upper of the pieces, slope, linear, can rise, can fall, then room; from row 15 on the root of
    # the diagonal, slack, the best b, kink, lower and upper of the box
    workspace = np.empty((WORK_ROWS, n))
    cdef double[::1] g = gradient
    cdef double[:, ::1] work = workspace
    cdef double* w = &work[0, 0]
    cdef double* saved = w + 9 * n      # b, g and the pieces before Newton's method
    cdef double* saved_pieces = w + 12 * n
    cdef double* change = w + 11 * n
    cdef double* root = w + 15 * n
    cdef double* best = w + 17 * n
    cdef Py_ssize_t[::1] free = np.empty(n, np.intp)
    with nogil:
        memcpy(w + 4 * n, &linear[0], n * sizeof(double))
        memcpy(w + 19 * n, &lower[0], n * sizeof(double))
        memcpy(w + 20 * n, &upper[0], n * sizeof(double))
        for i in range(n):
            w[18 * n + i] = kink[i] if kinked else 0.0
            steepest = max(steepest, w[18 * n + i])
        drift.size = drift.widest = 0.0
        drift.noise = noise
        for i in range(n):
            w[i] = <double> K[i, i]
            mean += w[i] / n
            largest = max(largest, w[i])
            drift.size = max(drift.size, fabs(linear[i]))
        drift.size += steepest
        for i in range(n):
            # what rounding may have made of a kernel whose smallest diagonal entries vanish beside the largest
            root[i] = sqrt(max(w[i], 0.0)) + 1e-7 * sqrt(largest)
            drift.widest = max(drift.widest, root[i] * (upper[i] - lower[i]))
        choose_pieces(n, kinked, &lower[0], &upper[0], &b[0], w)
        if kinked and total != 0.0:
            for i in range(n):
                room_down += w[n + i]
                room_up += w[2 * n + i]
            if not room_down <= total <= room_up:   # the sum is not to be had on these pieces
                settle(n, total, &lower[0], &upper[0], root, &b[0])
                choose_pieces(n, kinked, &lower[0], &upper[0], &b[0], w)
    # Directions of no curvature get a little, in units of the kernel: a step along them goes to a bound.
    flat = max(1e-12 * mean, 1e-200)
    most = 2 * n
    taken = -1
    while True:
        with nogil:
            moved = settle(n, total, w + n, w + 2 * n, root, &b[0])
            drift.moved += moved
            drift.steps += 1.0
            while True:
                # An updated gradient has drifted. It may prove a small gap, within what it is known to have drifted;
                # all other decisions need a new one, and so does a move, or a drift, beyond rounding.
                if updates > n or stale(n, largest, &drift, root, &b[0]):
                    residual(&K[0, 0], n, w + 3 * n, &b[0], &g[0])
                    refreshed(n, root, &b[0], &drift)
                    updates = 0
                find_slack(n, &drift, &b[0], w)
                measure(n, total, kinked, steepest, offset, w, &b[0], &g[0], &proof)
                relative = proof.gap = proof.bare = FAR
                known = 0.0
                near = False
                if steps > 0 or max_steps == 0 or proof.violation <= max(tolerance, proof.floor):
                    prove(n, total, kinked, offset, ridges, endless, &b[0], &g[0], w, &proof)
                    relative = proof.gap / max(fabs(primal_of(&proof)), 1e-300)
                    known = accuracy * fabs(primal_of(&proof))
                    # What rounding may account for is what is left of the gap: all further steps may be in vain.
                    near = relative > accuracy and (
                        proof.bare <= known and proof.violation <= tolerance or proof.bare <= 0.5 * proof.gap
                    )
                if near and (updates == 0 or 4 * proof.unsure <= n) and ridges == NULL:
                    if sharpen(&K[0, 0], n, kinked, offset, &drift, proof.bias, &b[0], &g[0], w, &free[0]):
                        measure(n, total, kinked, steepest, offset, w, &b[0], &g[0], &proof)
                        prove(n, total, kinked, offset, ridges, endless, &b[0], &g[0], w, &proof)
                        relative = proof.gap / max(fabs(primal_of(&proof)), 1e-300)
                if updates == 0 or (relative <= accuracy and proof.violation <= tolerance):
                    break
                updates = n + 1
            # Steps and the methods behind them only raise the objective, unless rounding misleads them: then back.
            if updates == 0 and proof.dual >= highest_dual:
                memcpy(best, &b[0], n * sizeof(double))
            elif updates == 0 and misled and proof.dual < highest_dual - 1e-6 * fabs(highest_dual) - proof.blur:
                memcpy(&b[0], best, n * sizeof(double))
                choose_pieces(n, kinked, &lower[0], &upper[0], &b[0], w)
                misled = False
                updates = n + 1
                continue
            if (
                proof.gap < 0.9 * lowest_gap
                or proof.violation < 0.9 * lowest_violation
                or proof.dual - highest_dual > 1e-13 * fabs(proof.dual)
            ):
                lowest_gap = min(lowest_gap, proof.gap)
                lowest_violation = min(lowest_violation, proof.violation)
                highest_dual = max(highest_dual, proof.dual)
                progress = steps
            if relative <= accuracy and proof.violation <= tolerance:
                status = CONVERGED
            elif (
                near or proof.violation <= proof.floor or taken == 0
                or steps - progress > (200 * n + 100_000 if relative > NEARLY else 20 * n + 1000)
            ):
                # The gap or the violation is within rounding; or steps too small to move b; or no progress for long,
                # of which less is hoped for where little is left. Newton's method may get further, as it makes few of
                # the roundings that steps do.
                if 0 < n_before_newton < ENOUGH and tries > 0:
                    n_before_newton = ENOUGH
                else:
                    status = ROUNDING_FLOOR
            elif steps >= max_steps:
                status = STEP_LIMIT
            elif proof.violation <= target:
                # The gap is proportional to the violation, to first order.
                target = min(target, proof.violation) * min(max(0.5 * accuracy / relative, 0.05), 0.5)
            # A step for less than rounding of g moves b and leaves g as it is, again and again.
            target = max(target, proof.floor)
        if status >= 0:
            break
        PyErr_CheckSignals()
        with nogil:
            # In a target near rounding g must be fresh: after t steps it is off by sqrt(t) roundings, say.
            share = min(max(target, loose if tries > 0 else 0.0) / proof.floor, 1e6)
            limit = min(min(most, n + <Py_ssize_t> (share * share)), max_steps - steps)
            # Of a rough answer two-variable steps may be all it takes; if not soon, all goes on as for a good one.
            near = accuracy < WORTH_NEWTON or steps > 0
            taken = take_steps(
                &K[0, 0], n, kinked, max(target, loose) if near and tries > 0 else target, limit, flat, &b[0], &g[0],
                w, &drift.travel
            )
            steps += taken
            updates += taken
            near = near or taken == limit
            drift.steps += 2 * taken
            drift.events += (1.5 if kinked else 0.5) * taken
            # After `limit` steps the sets are rough: not worth a large factorization.
            n_free = 0
            for i in range(n):
                n_free += w[n + i] < b[i] < w[2 * n + i]
            # Many free variables: steps go on for as long as they have taken less work than one factorization.
            share = <double> n_free * n_free * n_free / (STEPS_WORK * <double> n)
            if near and tries > 0 and n_free > MOST_ROUGH and n_before_newton < share and target > 100.0 * proof.floor:
                n_before_newton += taken
                if taken < limit and loose > target:
                    loose *= 0.1
                    taken = -1      # nothing is stuck
            elif near and tries > 0 and steps < max_steps and (taken < limit or n_free <= MOST_ROUGH):
                memcpy(saved, &b[0], n * sizeof(double))
                memcpy(saved + n, &g[0], n * sizeof(double))
                memcpy(saved_pieces, w + n, 3 * n * sizeof(double))
                if not newton(
                    &K[0, 0], n, total, kinked, w, &b[0], &g[0], &free[0], change, &rounds, &columns, &drift
                ):
                    memcpy(&b[0], saved, n * sizeof(double))
                    memcpy(&g[0], saved + n, n * sizeof(double))
                    memcpy(w + n, saved_pieces, 3 * n * sizeof(double))
                    newton_rounds += rounds
                    columns = n + 1
                    if rounds > 0:
                        active_set(
                            &K[0, 0], n, total, kinked, 64.0 * n * min(most, 64 * n), w, &b[0], &g[0], &free[0],
                            change, &rounds
                        )
                newton_rounds += rounds
                updates += columns
                tries -= 1
                misled = True
                if taken < limit:
                    loose *= 0.1
                taken = -1      # whether b moved is unknown
            most = min(2 * most, max(max_steps, n))
    if kinked:
        with nogil:
            for i in range(n):
                g[i] += linear[i] - w[3 * n + i]
    return (
        gradient, proof.dual - proof.blur - proof.loss - EPS * fabs(proof.dual), primal_of(&proof), proof.gap,
        proof.bias, proof.violation, proof.excess, steps, newton_rounds, status
    )
