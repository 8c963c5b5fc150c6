"""Newton's method where every loss is curved and more variables are free than a matrix has room for."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.oracles.mkl.weighted_kernel import WeightedKernel
from oracle_opt.oracles.svm.pieces import Pieces
from oracle_opt.oracles.svm.separable_dual import Separable

# Rounds at most, and in a row that leave more than a share of the distance of the bounds; steps for each at most.
ROUNDS, PATIENCE, PROGRESS, STEPS = 40, 3, 0.7, 300
# Points that the preconditioner is made of, at most, and their share; eigenvalues below this share are left out.
MOST_COLUMNS, SHARE, NOTHING, SEED = 500, 1 / 16, 1e-8, 0
# What a linear system may cost of the gap, over that before and over the one that is wanted; that of the end, over it.
LEFT, OF_WANTED, INSIDE = 0.01, 0.1, 0.5
# Halvings of a step or an interval, and the share of the expected descent that is enough.
HALVINGS, DESCENT = 50, 1e-4


def free_newton(
    pieces: Pieces, kernel: WeightedKernel, b: Vector, decision: Vector, most_columns: int, accuracy: float
) -> tuple[Vector, Vector, int]:
    """Newton's method on ``1/2 v @ K @ v`` plus the losses at ``K @ v + bias``, which a ridge makes smooth.

    See docs/theory_machines.md, "Squared losses". Chapelle (2007), "Training a Support Vector Machine in the Primal",
    Neural Computation 19.
    """
    dual, L, v, f, best, rounds, stale = pieces.dual, _columns(kernel, most_columns), b, decision, (b, decision), 0, 0
    least = nearest = np.inf
    highest = -np.inf
    while True:
        b = _nearest(dual, v)
        decision = f + kernel.product(b - v)
        gap, primal = pieces.gap(b, decision)[0], _primal(pieces, v, f)
        highest = max(highest, dual.value(b) - 0.5 * float(b @ decision))
        stale = 0 if primal - highest < PROGRESS * nearest else stale + 1
        nearest = min(nearest, primal - highest)
        if gap < least:
            best, least = (b, decision), gap
        if least <= INSIDE * accuracy * abs(primal) or rounds == ROUNDS or stale == PATIENCE:
            return *best, rounds
        z = pieces.best_response(f)
        d, of_d = _direction(dual, kernel, L, z, v, max(LEFT * min(gap, nearest), OF_WANTED * accuracy * abs(primal)))
        slope, t = float((v - z) @ of_d), 1.0
        for _ in range(HALVINGS):
            if _primal(pieces, v + t * d, f + t * of_d) <= primal + DESCENT * t * slope:
                break
            t *= 0.5
        v, f, rounds = v + t * d, f + t * of_d, rounds + 1


def _primal(pieces: Pieces, v: Vector, f: Vector) -> float:
    """``1/2 v @ f`` plus the losses at f and the best bias: those that the best response attains."""
    z = pieces.best_response(f)
    return pieces.dual.value(z) + float((0.5 * v - z) @ f)


def _nearest(dual: Separable, v: Vector) -> Vector:
    """Signed dual variables v moved into the box, and to the sum by as much for all that are not 0."""
    lower, upper = dual.box
    low, high = float((v - upper).min()), float((v - lower).max())
    low, high = min(low, 0.0), max(high, 0.0)
    shift, b = 0.0, np.clip(v, lower, upper)
    if np.array_equal(b, v):
        return v
    for _ in range(HALVINGS):
        low, high = (shift, high) if float(b.sum()) > dual.total else (low, shift)
        shift = 0.5 * (low + high)
        b = np.clip(v - shift * (v != 0.0), lower, upper)
    return b


def _columns(kernel: WeightedKernel, most: int) -> Matrix:
    """L with ``L @ L.T`` near K, of the columns of random points (Nystroem)."""
    n = kernel.bank.n_points
    chosen = np.sort(np.random.default_rng(SEED).permutation(n)[: max(1, min(most, MOST_COLUMNS, int(SHARE * n)))])
    values, vectors = np.linalg.eigh(kernel.block(chosen))
    kept = values > NOTHING * values[-1]
    L: Matrix = kernel.columns(chosen) @ (vectors[:, kept] / np.sqrt(values[kept]))
    return L


def _direction(
    dual: Separable, kernel: WeightedKernel, L: Matrix, z: Vector, v: Vector, left: float
) -> tuple[Vector, Vector]:
    """The step d from v and ``K @ d``, preconditioned by ridge and ``L_F @ L_F.T``; a residual may cost `left`."""
    assert dual.ridge is not None
    free = dual.free(z)
    ridge, d, step = dual.ridge[free], z - v, np.zeros(v.size)
    wanted, scaled = ridge * d[free], L[free] / ridge[:, None]
    inner = cho_factor(np.eye(L.shape[1]) + L[free].T @ scaled)

    def inverse(r: Vector) -> Vector:
        found: Vector = r / ridge - scaled @ cho_solve(inner, scaled.T @ r)
        return found

    even = inverse(np.ones(free.size))
    even /= even.sum()
    d[free] = 0.0
    d[free] = -d.sum() * even
    of_d = kernel.product(d)
    residual, before = wanted - of_d[free] - ridge * d[free], np.inf
    for _ in range(STEPS):
        residual -= (residual / ridge).sum() / (1.0 / ridge).sum()
        if 0.5 * float((residual**2 / ridge).sum()) <= left:
            break
        towards = inverse(residual)
        towards -= towards.sum() * even
        now = float(residual @ towards)
        step[free] = towards + now / before * step[free]
        of_step, before = kernel.product(step), now
        bent = of_step[free] + ridge * step[free]
        length = now / float(step[free] @ bent)
        d, of_d, residual = d + length * step, of_d + length * of_step, residual - length * bent
    return d, of_d
