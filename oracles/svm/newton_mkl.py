"""Newton's method on the optimality conditions of MKL with a smooth regulariser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from oracle_opt.cuts import ObjectiveCut, Vector
from oracle_opt.errors import CapabilityMismatch
from oracle_opt.generator import Step
from oracle_opt.oracles.svm.curvature import Matrix, curvature_factor
from oracle_opt.oracles.svm.mkl_problem import Hinge, MKLProblem, MKLSolver
from oracle_opt.oracles.svm.regularisers import DualRegulariser

# Relative gap at which a regulariser on the way is left for the next.
ON_THE_WAY = 0.1
# Share of the predicted decrease that a step has to attain, factor of the next one if it does not, and their number.
ARMIJO, SHORTER, TRIES = 1e-4, 0.3, 25
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
    regularisers are solved roughly first. For classification only; the answers at the query points count as oracle
    calls.

    References
    ----------
    .. [1] Vishwanathan, Sun, Theera-Ampornpunt, Varma (2010), "Multiple kernel learning and the SMO algorithm", for the
       problem; the method is that of this library.
    """

    def cuts(self, problem: MKLProblem, rtol: float) -> Iterator[tuple[ObjectiveCut, Step]]:
        """One cut a query; see `MKLSolver.cuts`."""
        if not isinstance(problem.loss, Hinge):
            raise CapabilityMismatch(
                f"NewtonMKL cannot serve {type(problem.loss).__name__}: it is for the hinge loss; take SMOMKL()"
            )
        accuracy = min(1e-9, 0.01 * rtol)
        cut = problem.answer_weights(problem.regulariser.start(problem.bank.n_kernels), None, accuracy)
        yield cut, Step.SERIOUS
        path = [problem.regulariser]
        while (easier := path[-1].easier(cut.extras["quadratic_forms"])) is not None:
            path.append(easier)
        while path:
            r = path.pop()
            theta = _best_multiple(r, problem.loss.linear @ cut.extras["signed_dual"], cut.extras["quadratic_forms"])
            cut = problem.answer_weights(_weights(r, theta), cut.extras["signed_dual"], accuracy)
            yield cut, Step.SERIOUS
            best = -np.inf
            while True:
                S = cut.extras["quadratic_forms"]
                svm = cut.upper - problem.regulariser.value(cut.point)
                objective = svm + r.value(cut.point)
                dual = float(problem.loss.linear @ cut.extras["signed_dual"]) - r.conjugate(S)
                best = max(best, dual)
                if path and objective - best <= ON_THE_WAY * abs(objective):
                    break
                delta = _newton_direction(problem, r, theta, cut)
                slope = 0.5 * float((theta - S) @ (r.derivative(theta) @ delta))
                length = 1.0
                for _ in range(TRIES):
                    trial = np.maximum(theta + length * delta, LEAST_SHARE * theta)
                    cut = problem.answer_weights(_weights(r, trial), cut.extras["signed_dual"], accuracy)
                    value = cut.upper - problem.regulariser.value(cut.point) + r.value(cut.point)
                    descends = value <= objective + ARMIJO * length * slope + 1e-12 * abs(objective)
                    yield cut, Step.SERIOUS if descends else Step.NULL
                    if descends:
                        break
                    length *= SHORTER
                else:
                    return
                theta = trial


def _weights(r: DualRegulariser, theta: Vector) -> Vector:
    """Weights at theta, those within rounding of zero being zero: their kernels are not read."""
    d = r.weights(theta)
    d[d < 1e-15 * d.max()] = 0.0
    return d


def _best_multiple(r: DualRegulariser, linear: float, S: Vector) -> Vector:
    """``c^2 S`` for the c that maximises ``c * linear - rho(c^2 S)``, whose derivative is ``linear - c w(c^2 S) @ S``."""
    low, high = 1e-12, 1e12
    for _ in range(60):
        c = float(np.sqrt(low * high))
        if c * float(r.weights(c * c * S) @ S) < linear:
            low = c
        else:
            high = c
    return low * high * S


def _newton_direction(problem: MKLProblem, r: DualRegulariser, theta: Vector, cut: ObjectiveCut) -> Vector:
    """``(I + 2 R'R W)^-1 (S - theta) = y - 2 R' (I + 2 R W R')^-1 R W y``, y = S - theta; y itself without curvature."""
    y: Vector = cut.extras["quadratic_forms"] - theta
    v, alpha = cut.extras["signed_dual"], cut.extras["alpha"]
    free = np.flatnonzero((alpha > 0) & (alpha < problem.loss.upper - problem.loss.lower))
    R: Matrix | None = curvature_factor(
        problem.kernel[np.ix_(free, free)], problem.bank.row_products(free, v)
    )
    if R is None:
        return y
    W = r.derivative(theta)
    system = np.eye(free.size) + 2.0 * W.between(R)
    return y - 2.0 * (R.T @ cho_solve(cho_factor(system), R @ (W @ y)))
