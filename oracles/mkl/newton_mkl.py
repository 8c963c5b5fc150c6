"""Newton's method on the optimality conditions of MKL with a smooth regularizer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.errors import CapabilityMismatch
from oracle_opt.generator import Step
from oracle_opt.oracles.mkl.duals import SmoothDual, column_blocks
from oracle_opt.oracles.mkl.losses import _HingeData as Hinge
from oracle_opt.oracles.mkl.mkl_problem import MKLProblem, MKLSolver
from oracle_opt.oracles.mkl.smo_mkl import SMOMKL
from oracle_opt.oracles.svm.curvature import curvature_factor

# Relative gap at which a regularizer on the way is left for the next.
ON_THE_WAY = 0.1
# Share of the predicted decrease that a step has to attain, factor of the next one if it does not, and their number.
ARMIJO, SHORTER, TRIES = 1e-4, 0.3, 25
# Answers after which the fallback takes over, and the error of one, over the gap asked for, that ends it as well.
PATIENCE, ROUGH = 40, 0.1
# A quadratic form falls at most to this share in a step.
LEAST_SHARE = 0.1


@dataclass(frozen=True)
class NewtonMKL(MKLSolver):
    """Newton's method on ``S(a(w(theta))) = theta``, one exact SVM a query.

    w(theta) are the weights that are best for quadratic forms theta, a(d) the SVM's dual variables at weights d. With R
    the factor of the SVM's curvature, ``dS/dd = -2 R'R``, and W the derivative of w, the step solves

        (I + 2 R'R W) delta = S - theta,

    by a system as large as the number of free support vectors. W delta is a direction of descent of the objective
    ``SVM(w) + r(w)``: a line search makes it decrease. For weights that depend steeply on the forms (p near 1) easier
    regularizers are solved roughly first. If an SVM cannot be solved well, a line search fails or queries become many,
    the fallback goes on from the best dual variables. For classification only.

    Parameters
    ----------
    fallback : SMOMKL
        What ends the run if Newton's method cannot.

    References
    ----------
    .. [1] Vishwanathan, Sun, Theera-Ampornpunt, Varma (2010), "Multiple kernel learning and the SMO algorithm", for the
       problem; the method is that of this library.
    """

    fallback: SMOMKL = field(default_factory=SMOMKL)

    def cuts(self, problem: MKLProblem, rtol: float) -> Iterator[tuple[ObjectiveCut, Step]]:
        """One cut a query, and then those of the fallback; see `MKLSolver.cuts`."""
        if not isinstance(problem.loss, Hinge):
            raise CapabilityMismatch(
                f"NewtonMKL cannot serve {type(problem.loss).__name__}: it is for the hinge loss; take SMOMKL()"
            )
        return self._cuts(problem, rtol)

    def _cuts(self, problem: MKLProblem, rtol: float) -> Iterator[tuple[ObjectiveCut, Step]]:
        best: ObjectiveCut | None = None
        for calls, (cut, step) in enumerate(self._newton(problem, min(1e-9, 0.01 * rtol)), 1):
            if best is None or cut.lower_bound > best.lower_bound:
                best = cut
            yield cut, step
            if cut.error > ROUGH * rtol * abs(cut.upper) or calls >= PATIENCE:
                break
        assert best is not None
        v, S = best.extras["signed_dual"], best.extras["quadratic_forms"]
        share = float(np.sqrt(problem.dual.best_multiple(float(problem.loss.linear @ v), S)))
        yield from self.fallback.cuts_from(min(share, 1.0) * v, problem, rtol)

    def _newton(self, problem: MKLProblem, accuracy: float) -> Iterator[tuple[ObjectiveCut, Step]]:
        """Cuts at the query points, until a line search fails."""
        cut = problem.answer_weights(problem.dual.start(), None, accuracy)
        yield cut, Step.SERIOUS
        path = [problem.dual]
        while (easier := path[-1].easier(cut.extras["quadratic_forms"])) is not None:
            path.append(easier)
        while path:
            r = path.pop()
            S = cut.extras["quadratic_forms"]
            theta = r.best_multiple(float(problem.loss.linear @ cut.extras["signed_dual"]), S) * S
            cut = problem.answer_weights(_weights(r, theta), cut.extras["signed_dual"], accuracy)
            yield cut, Step.SERIOUS
            best = -np.inf
            while True:
                S = cut.extras["quadratic_forms"]
                objective = _objective(problem, r, cut)
                best = max(best, float(problem.loss.linear @ cut.extras["signed_dual"]) - r.conjugate(S))
                if path and objective - best <= ON_THE_WAY * abs(objective):
                    break
                delta = _newton_direction(problem, r, theta, cut)
                slope = 0.5 * float((theta - S) @ (r.derivative(theta) @ delta))
                length = 1.0
                for _ in range(TRIES):
                    trial = np.maximum(theta + length * delta, LEAST_SHARE * theta)
                    cut = problem.answer_weights(_weights(r, trial), cut.extras["signed_dual"], accuracy)
                    descends = _objective(problem, r, cut) <= objective + ARMIJO * length * slope
                    yield cut, Step.SERIOUS if descends else Step.NULL
                    if descends:
                        break
                    length *= SHORTER
                else:
                    return
                theta = trial


def _objective(problem: MKLProblem, r: SmoothDual, cut: ObjectiveCut) -> float:
    """Primal objective at the point of a cut, with r in place of the problem's regularizer."""
    return float(cut.upper - problem.dual.value(cut.point) + r.value(cut.point))


def _weights(r: SmoothDual, theta: Vector) -> Vector:
    """Weights at theta, those within rounding of zero being zero: their kernels are not read."""
    d = r.weights(theta)
    d[d < 1e-15 * d.max()] = 0.0
    return d


def _newton_direction(problem: MKLProblem, r: SmoothDual, theta: Vector, cut: ObjectiveCut) -> Vector:
    """``(I + 2 R'R W)^-1 y = y - 2 R' (I + 2 R W R')^-1 R W y``, y = S - theta; y itself without curvature."""
    y: Vector = cut.extras["quadratic_forms"] - theta
    v, alpha = cut.extras["signed_dual"], cut.extras["alpha"]
    assert problem.kernel is not None
    free = np.flatnonzero((alpha > 0) & (alpha < problem.loss.upper - problem.loss.lower))
    # R = Q U, U the products of the kernels with v: Q is the factor at the identity, and R replaces U piece by piece.
    Q: Matrix | None = curvature_factor(problem.kernel[np.ix_(free, free)], np.eye(free.size))
    if Q is None:
        return y
    R = problem.bank.row_products(free, v)
    for part in column_blocks(R):
        R[:, part] = Q @ R[:, part]
    W = r.derivative(theta)
    system = np.eye(free.size) + 2.0 * W.between(R)
    direction: Vector = y - 2.0 * (cho_solve(cho_factor(system), R @ (W @ y)) @ R)
    return direction
