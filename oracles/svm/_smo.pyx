# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Duals of support vector machines on a dense kernel: two-variable steps, then Newton's method, in signed variables.

    max linear @ b - epsilon * sum(abs(b)) - 1/2 b @ K @ b    over lower <= b <= upper, sum(b) == total.

C-SVC has linear = y, b = y * a and bounds 0 and C or -C and 0: no label product is left in the loops, and both classes
share one code. With epsilon > 0 (regression, lower = -upper) a variable is at any time on one of its two pieces, from 0
up or down, on which the objective is smooth: `lower`, `upper` and `slope` = linear -+ epsilon below are those of the
piece, ``g = slope - K @ b`` is the gradient there; at 0 a variable may change its piece.

Compiled with -ffast-math: comparisons with NaN or infinity mean nothing here, the caller checks its data before.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from cython cimport floating
from libc.math cimport fabs, sqrt
from libc.stdlib cimport free as libc_free, realloc
from libc.string cimport memcpy, memmove
from scipy.linalg.cython_blas cimport dtrsm, dtrsv
from scipy.linalg.cython_lapack cimport dpotrf

cdef enum:
    BLOCK = 64          # entries whose extreme is kept in registers before it is compared with the best of all
    WORK_ROWS = 15
    ROUNDS = 30         # of Newton's method: limit on factorizations,
    PATIENCE = 4        # and on those in a row without fewer wrong memberships
    TRIES = 12          # of Newton's method, each after steps to a tenth of the violation, or after twice as many
    MOST_ROUGH = 1000   # free variables for Newton's method before the violation is small
    MOST_FREE = 20_000  # a matrix of this side is 3.2 GB

cdef double FAR = 1e300             # an infinity that -ffast-math understands
cdef double EPS = 2.220446049250313e-16
cdef double LOOSE = 0.03            # violation, in units of the margin, at which Newton's method is tried first
cdef double WORTH_NEWTON = 1e-4     # relative gap that two-variable steps reach as fast
cdef double SINGULAR = 1e-13        # least squared pivot, relative to the largest diagonal entry
cdef double LEAST_SLACK = 1e-12     # on the gradient of a variable at its bound, in units of the margin

# How a solve ended; the order is that of box.SVMStatus.
cdef enum:
    CONVERGED = 0
    STEP_LIMIT = 1
    ROUNDING_FLOOR = 2

include "_steps.pxi"
include "_certificate.pxi"
include "_newton.pxi"
include "_active.pxi"


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
    const double[::1] ridge, double total, double epsilon, double[::1] b, double accuracy, double tolerance,
    Py_ssize_t max_steps,
):
    """Improve the signed duals b in place until relative gap <= accuracy and violation <= tolerance.

    Every array is trusted: finite, K symmetric, linear of size about 1, lower <= 0 <= upper, not both 0, the sums of
    the bounds around total. b may be anything finite. `ridge` is None, or what of the diagonal of K stands for the
    squared hinge loss, bounds then 0 on one side and more than any solution has on the other.

    Returns
    -------
    tuple
        linear - K @ b, dual objective, gap, bias, violation, number of steps, of Newton rounds, status code.
    """
    cdef Py_ssize_t n = K.shape[0], n_free, i, limit, most, taken, steps = 0, progress = 0, status = -1
    cdef Py_ssize_t rounds, columns, newton_rounds = 0, updates = n + 1, tries = TRIES if accuracy < WORTH_NEWTON else 0
    cdef double mean = 0.0, flat, target = tolerance, loose = LOOSE, relative, floor
    cdef double lowest_gap = FAR, lowest_violation = FAR, highest_dual = -FAR
    cdef double[7] out = [0.0, FAR, 0.0, 0.0, 0.0, 0.0, 0.0]
    cdef const double* ridges = &ridge[0] if ridge is not None else NULL
    gradient = np.empty(n)
    # diagonal, lower, upper, slope, linear, can rise, can fall, then room
    workspace = np.empty((WORK_ROWS, n))
    cdef double[::1] g = gradient
    cdef double[:, ::1] work = workspace
    cdef double* w = &work[0, 0]
    cdef double* saved = w + 9 * n      # b, g and the pieces before Newton's method
    cdef double* saved_pieces = w + 12 * n
    cdef double* change = w + 11 * n
    cdef Py_ssize_t[::1] free = np.empty(n, np.intp)
    with nogil:
        memcpy(w + n, &lower[0], n * sizeof(double))
        memcpy(w + 2 * n, &upper[0], n * sizeof(double))
        memcpy(w + 3 * n, &linear[0], n * sizeof(double))
        memcpy(w + 4 * n, &linear[0], n * sizeof(double))
        for i in range(n):
            w[i] = <double> K[i, i]
            mean += w[i] / n
        if epsilon > 0.0:
            for i in range(n):
                if b[i] < 0.0:
                    w[2 * n + i] = 0.0
                    w[3 * n + i] += epsilon
                else:
                    w[n + i] = 0.0
                    w[3 * n + i] -= epsilon
    # Directions of no curvature get a little, in units of the kernel: a step along them goes to a bound.
    flat = max(1e-12 * mean, 1e-200)
    most = 2 * n
    taken = -1
    while True:
        with nogil:
            settle(n, total, w + n, w + 2 * n, &b[0])
            while True:
                # An updated gradient has drifted; by no more than a sum of n terms, if it was updated n times. It may
                # prove a small gap, all other decisions need a new one.
                if updates > n:
                    residual(&K[0, 0], n, w + 3 * n, &b[0], &g[0])
                    updates = 0
                measure(n, epsilon, w, &b[0], &g[0], out)
                floor = out[4]
                relative = FAR
                if steps > 0 or max_steps == 0 or out[3] <= max(tolerance, floor):
                    if ridges == NULL:
                        certify(n, total, epsilon, &b[0], &g[0], w, out)
                    else:
                        certify_squared(n, ridges, &b[0], &g[0], w, out)
                    relative = out[1] / max(fabs(out[0] + out[1]), 1e-300)
                if updates == 0 or (relative <= accuracy and out[3] <= tolerance):
                    break
                updates = n + 1
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
            limit = min(most, max_steps - steps)
            taken = take_steps(
                &K[0, 0], n, epsilon, max(target, loose) if tries > 0 else target, limit, flat, &b[0], &g[0], w
            )
            steps += taken
            updates += taken
            # After `limit` steps the sets are rough: not worth a large factorization.
            n_free = 0
            for i in range(n):
                n_free += w[n + i] < b[i] < w[2 * n + i]
            if tries > 0 and steps < max_steps and (taken < limit or n_free <= MOST_ROUGH):
                memcpy(saved, &b[0], n * sizeof(double))
                memcpy(saved + n, &g[0], n * sizeof(double))
                memcpy(saved_pieces, w + n, 3 * n * sizeof(double))
                if not newton(&K[0, 0], n, total, epsilon, w, &b[0], &g[0], &free[0], change, &rounds, &columns):
                    memcpy(&b[0], saved, n * sizeof(double))
                    memcpy(&g[0], saved + n, n * sizeof(double))
                    memcpy(w + n, saved_pieces, 3 * n * sizeof(double))
                    newton_rounds += rounds
                    columns = n + 1
                    if rounds > 0:
                        active_set(
                            &K[0, 0], n, total, epsilon, 64.0 * n * most, w, &b[0], &g[0], &free[0], change, &rounds
                        )
                newton_rounds += rounds
                updates += columns
                tries -= 1
                if taken < limit:
                    loose *= 0.1
                taken = -1      # whether b moved is unknown
            most *= 2
    if epsilon > 0.0:
        with nogil:
            for i in range(n):
                g[i] += linear[i] - w[3 * n + i]
    return gradient, out[0], out[1], out[2], out[3], steps, newton_rounds, status
