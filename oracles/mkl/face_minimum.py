"""Minimizing a face model: an interior point method in the free dual variables, one quadratic constraint a kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from oracle_opt._deadline import seconds_left
from oracle_opt.arrays import Matrix, Vector

STEPS = 60  # limit on the steps of the method
PUSH = 0.2
SHORT = 0.995  # share of the way to the boundary


@dataclass(frozen=True, eq=False)
class FaceProblem:
    """``max linear @ d - 1/2 ridge @ d**2 - 1/2 max_k (forms_k + 2 U_k @ d + d @ K_k @ d)``, d in a box, of sum 0."""

    linear: Vector
    ridge: Vector
    lower: Vector
    upper: Vector
    kernels: Matrix
    products: Matrix
    forms: Vector


def minimize_face(problem: FaceProblem, weights: Vector, accuracy: float) -> tuple[Vector, Vector, int] | None:
    """Solve a `FaceProblem` by a primal-dual interior point method.

    With s for the largest form, the multipliers of ``forms_k + ... <= s`` are half the weights w of the kernels, which
    add up to 1: of both sides of ``min over w max over d``. Newton's system is reduced to d, with the matrix

        sum_k w_k K_k + diag(ridge + box) + 2 G (diag(a) - a a' / sum(a)) G',   G_k = U_k + K_k d,   a = w / slack,

    so a step costs m t^2 operations and a Cholesky factor of order t, whatever the rank of the kernels.

    References
    ----------
    Mehrotra (1992), "On the implementation of a primal-dual interior point method"; Andersen, Roos, Terlaky (2003), "On
    implementing a primal-dual interior-point method for conic quadratic optimization", for one cone a kernel.
    """
    with np.errstate(all="ignore"):  # slacks may vanish: the direction is then no number, and the step is refused
        return _minimized(problem, weights, accuracy)


def _minimized(problem: FaceProblem, weights: Vector, accuracy: float) -> tuple[Vector, Vector, int] | None:
    K, U, (m, t) = problem.kernels, problem.products, problem.kernels.shape[:2]
    by_kernel, by_row = K.reshape(m, t * t), K.reshape(m * t, t)
    inside = np.minimum(-problem.lower, problem.upper)
    push = np.minimum(PUSH * float(inside.mean()), 0.25 * (problem.upper - problem.lower))
    d = np.clip(0.0, problem.lower + push, problem.upper - push)
    G = U + (by_row @ d).reshape(m, t).T
    q = problem.forms + d @ (U + G)
    w = np.maximum(weights, 0.02 / m)
    w /= w.sum()
    spread = float(q.max() - w @ q) + 0.05 * abs(float(q.max())) + accuracy
    s = float(q.max()) + spread
    slack = s - q
    low, high = d - problem.lower, problem.upper - d
    mu = 0.5 * float(w @ slack) / m
    below, above, nu = mu / low, mu / high, 0.0
    size = float(np.abs(problem.linear).max()) + float(np.abs(G @ w).max())
    for step in range(STEPS):
        seconds_left()
        dual = -problem.linear + problem.ridge * d + G @ w - below + above + nu
        primal = q + slack - s
        balance, fixed = 1.0 - float(w.sum()), float(d.sum())
        total = 0.5 * float(w @ slack) + float(below @ low + above @ high)
        wrong = float(np.abs(dual) @ np.minimum(low, high)) + 0.5 * float(w @ np.abs(primal)) + size * abs(fixed)
        if total + wrong <= accuracy:
            return d, w / w.sum(), step
        mean = total / (m + 2 * t)
        a = w / slack
        heavy, crossed = float(a.sum()), G @ a
        matrix = (w @ by_kernel).reshape(t, t) + 2.0 * ((G * a) @ G.T - np.outer(crossed, crossed / heavy))
        matrix[np.diag_indices(t)] += problem.ridge + below / low + above / high
        matrix[np.diag_indices(t)] *= 1.0 + 1e-14
        try:
            factor = scipy.linalg.cho_factor(matrix, lower=True, check_finite=False, overwrite_a=True)
        except scipy.linalg.LinAlgError:
            return None
        ones = scipy.linalg.cho_solve(factor, np.ones(t), check_finite=False)

        def direction(of_slack: Vector, of_low: Vector, of_high: Vector, curved: Vector) -> tuple[Vector, ...]:
            """Newton's direction with w ds + slack dw = -of_slack and so on, for rows bent by `curved`."""
            rows = primal + curved  # noqa: B023
            moved = (w * rows - of_slack) / slack  # noqa: B023 - dw without the parts of dd and ds
            right = -dual - G @ moved - of_low / low + of_high / high  # noqa: B023
            right += crossed * ((float(moved.sum()) - balance) / heavy)  # noqa: B023
            free = scipy.linalg.cho_solve(factor, right, check_finite=False)  # noqa: B023
            dnu = (float(free.sum()) + fixed) / float(ones.sum())  # noqa: B023
            dd = free - dnu * ones  # noqa: B023
            along = 2.0 * (dd @ G)  # noqa: B023
            ds = (float(a @ along) + float(moved.sum()) - balance) / heavy  # noqa: B023
            dw = moved + a * (along - ds)  # noqa: B023
            dslack = ds - along - rows
            return (
                dd,
                np.array([ds, dnu]),
                dw,
                dslack,
                (-of_low - below * dd) / low,  # noqa: B023
                (-of_high + above * dd) / high,  # noqa: B023
            )

        def length(dd: Vector, dw: Vector, dslack: Vector, dbelow: Vector, dabove: Vector) -> float:
            pairs = ((w, dw), (slack, dslack), (low, dd), (high, -dd), (below, dbelow), (above, dabove))  # noqa: B023
            return min(_longest(value, change) for value, change in pairs)

        dd, _, dw, dslack, dbelow, dabove = direction(w * slack, below * low, above * high, np.zeros(m))
        far = min(1.0, length(dd, dw, dslack, dbelow, dabove))
        after = 0.5 * float((w + far * dw) @ (slack + far * dslack))
        after += float((below + far * dbelow) @ (low + far * dd) + (above + far * dabove) @ (high - far * dd))
        target = mean * (after / total) ** 3
        bent = far**2 * ((by_row @ dd).reshape(m, t) @ dd)
        dd, changes, dw, dslack, dbelow, dabove = direction(
            w * slack + dw * dslack - 2.0 * target,
            below * low + dbelow * dd - target,
            above * high - dabove * dd - target,
            bent,
        )
        far = min(1.0, SHORT * length(dd, dw, dslack, dbelow, dabove))
        if not (np.isfinite(dd).all() and np.isfinite(dw).all() and far > 1e-8):
            return None
        d, s, nu = d + far * dd, s + far * float(changes[0]), nu + far * float(changes[1])
        w, slack, below, above = w + far * dw, slack + far * dslack, below + far * dbelow, above + far * dabove
        low, high = low + far * dd, high - far * dd
        G = U + (by_row @ d).reshape(m, t).T
        q = problem.forms + d @ (U + G)
    return None


def _longest(value: Vector, change: Vector) -> float:
    """Largest step that keeps the value nonnegative."""
    falling = change < 0
    return float(np.min(-value[falling] / change[falling], initial=1e300))
