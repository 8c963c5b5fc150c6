"""Newton's method on the optimality conditions of MKL with a smooth regularizer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from oracle_opt._deadline import seconds_left
from oracle_opt.arguments import instance, real
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.cuts import ObjectiveCut, Query
from oracle_opt.generator import Step
from oracle_opt.oracles.mkl.duals import SmoothDual, column_blocks
from oracle_opt.oracles.mkl.mkl_problem import MKLProblem
from oracle_opt.oracles.mkl.mkl_solver import MKLSolver, Steps
from oracle_opt.oracles.mkl.smo_mkl import SMOMKL
from oracle_opt.oracles.svm.curvature_factor import curvature_factor

# Relative gap at which a regularizer on the way is left for the next.
ON_THE_WAY = 0.1
# Share of the predicted decrease that a step has to attain, factor of the next one if it does not, and their number.
ARMIJO, SHORTER, TRIES = 1e-4, 0.3, 25
# Answers after which the fallback takes over, and the error of one, over the gap asked for, that ends it as well.
PATIENCE, ROUGH = 40, 0.1
# Entries of products of kernels that are kept in 8 bytes each, in 4 where there are more; and of those made at a time.
MOST_ENTRIES, AT_ONCE = 1 << 25, 1 << 24
# A quadratic form falls at most to this share in a step.
LEAST_SHARE = 0.1


class NewtonMKL(MKLSolver):
    """Newton's method on ``S(b(w(theta))) = theta``, one exact SVM a query.

    w(theta) are the weights that are best for quadratic forms theta, b(d) the SVM's dual variables at weights d. With R
    the factor of the SVM's curvature, ``dS/dd = -2 R'R``, and W the derivative of w, the step solves

        (I + 2 R'R W) delta = S - theta,

    by a system as large as the number of free support vectors. W delta is a direction of descent of the objective
    ``SVM(w) + r(w)``: a line search makes it decrease. For weights that depend steeply on the forms (p near 1) easier
    regularizers are solved roughly first. If an SVM cannot be solved well, a line search fails or queries become many,
    the fallback goes on from the best dual variables. Every loss and every regularizer of a smooth dual will do.

    Parameters
    ----------
    fallback : SMOMKL or None
        What ends the run if Newton's method cannot. Default: ``SMOMKL()``. None: nothing does; that is for regularizers
        of your own, which the compiled steps of `SMOMKL` do not know.
    rtol : float
        Relative gap that the run is to end at: it says how exact the SVMs have to be. `solve_mkl` sets it.

    References
    ----------
    .. [1] Vishwanathan, Sun, Theera-Ampornpunt, Varma (2010), "Multiple kernel learning and the SMO algorithm", for the
       problem; the method is that of this library.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import minimize
    >>> from oracle_opt.oracles import EntropyRegularizer, GMKLOracle, GramBank, NewtonMKL
    >>> from oracle_opt.oracles.svm import OneClass
    >>> bank = GramBank([np.eye(2), np.diag([2.0, 1.0])])
    >>> oracle = GMKLOracle(bank, regularizer=EntropyRegularizer(), loss=OneClass(0.5))
    >>> minimize(oracle, NewtonMKL()).success
    True
    """

    def __init__(self, fallback: SMOMKL | None = SMOMKL(), rtol: float = 1e-6) -> None:  # noqa: B008 - never changed
        self.fallback = None if fallback is None else instance("fallback", fallback, SMOMKL, "an SMOMKL() or None")
        self.rtol = real("rtol", rtol, least=0.0)

    def refusal_of(self, problem: MKLProblem) -> str | None:
        """The refusal of the fallback, as it might be needed."""
        return None if self.fallback is None else self.fallback.refusal_of(problem)

    def solve(self, problem: MKLProblem, point: Vector) -> Steps:
        """Yield the queries of Newton's method, one for each step or trial, and then the queries of the fallback."""
        seen = _Seen(self.rtol)
        reason = yield from self._newton(problem, point, seen)
        if self.fallback is None or seen.best is None:
            return reason
        share = float(np.sqrt(_best_multiple(problem, problem.dual, seen.best)))
        go_on = self.fallback.solve_from(min(share, 1.0) * seen.best.extras["signed_dual"], problem, self.rtol)
        return f"{reason}, and then {(yield from go_on)}"

    def _newton(self, problem: MKLProblem, point: Vector, seen: _Seen) -> Steps:
        """Queries until a line search fails or `seen` has a reason to end; returns the reason."""
        # Where an exact machine costs no more than a rough one, its forms are the better derivatives.
        accuracy = 0.01 * self.rtol if problem.machine.frugal else min(1e-9, 0.01 * self.rtol)
        cut = yield Query(point, accuracy)
        yield Step.SERIOUS
        if reason := seen.reason_to_end(problem, cut):
            return reason
        path = [problem.dual]
        while (easier := path[-1].easier(cut.extras["quadratic_forms"])) is not None:
            path.append(easier)
        while path:
            r = path.pop()
            theta = _best_multiple(problem, r, cut) * cut.extras["quadratic_forms"]
            cut = yield Query(_weights(r, theta), accuracy)
            yield Step.SERIOUS
            if reason := seen.reason_to_end(problem, cut):
                return reason
            best = -np.inf
            while True:
                S = cut.extras["quadratic_forms"]
                objective = _objective(problem, r, cut)
                best = max(best, problem.svm.value(cut.extras["signed_dual"]) - r.conjugate(S))
                if path and objective - best <= ON_THE_WAY * abs(objective):
                    break
                delta = _newton_direction(problem, r, theta, cut)
                slope = 0.5 * float((theta - S) @ (r.derivative(theta) @ delta))
                length = 1.0
                for _ in range(TRIES):
                    trial = np.maximum(theta + length * delta, LEAST_SHARE * theta)
                    weights = _weights(r, trial)
                    if np.array_equal(weights, cut.point):
                        return "Newton's method moves no bit of the weights"
                    cut = yield Query(weights, accuracy)
                    descends = _objective(problem, r, cut) <= objective + ARMIJO * length * slope
                    yield Step.SERIOUS if descends else Step.NULL
                    if reason := seen.reason_to_end(problem, cut):
                        return reason
                    if descends:
                        break
                    length *= SHORTER
                else:
                    return "a line search of Newton's method failed"
                theta = trial
        raise AssertionError("the last regularizer of the path is left by a return alone")


@dataclass
class _Seen:
    """The answers to Newton's method: the best dual variables, and whether another method is to go on."""

    rtol: float
    calls: int = 0
    best: ObjectiveCut | None = None

    def reason_to_end(self, problem: MKLProblem, cut: ObjectiveCut) -> str:
        """Take up an answer; say why the method should end, in no words if it should not."""
        self.calls += 1
        if self.best is None or cut.lower_bound > self.best.lower_bound:
            self.best = cut
        if cut.error - _of_rounding(problem, cut) > ROUGH * self.rtol * abs(cut.upper):
            return "a support vector machine could not be solved well enough"
        return f"{PATIENCE} queries of Newton's method did not do" if self.calls >= PATIENCE else ""


def _of_rounding(problem: MKLProblem, cut: ObjectiveCut) -> float:
    """Error of a cut that the rounding of kernels accounts for, which no better solution takes away."""
    v = cut.extras["signed_dual"]
    of_sum = problem.bank.noise(int(np.count_nonzero(cut.point))) * float(np.abs(v).sum()) ** 2
    return (problem.bank.form_error(v, v)[0] + of_sum) * float(problem.bank.sizes[0] @ cut.point)


def _best_multiple(problem: MKLProblem, r: SmoothDual, cut: ObjectiveCut) -> float:
    """The t for which ``sqrt(t)`` times the dual variables of a cut are best; 1 where only they have the right sum."""
    svm, v = problem.svm, cut.extras["signed_dual"]
    if svm.total != 0.0:
        return 1.0
    ridge = 0.0 if svm.ridge is None else float(svm.ridge @ (v * v))
    return r.best_multiple(max(svm.value(v) + 0.5 * ridge, 0.0), cut.extras["quadratic_forms"], ridge)


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
    seconds_left()
    y: Vector = cut.extras["quadratic_forms"] - theta
    v = cut.extras["signed_dual"]
    free = problem.svm.free(v)
    # R = Q U, U the products of the kernels with v, and Q the factor at the identity. The ridge of the loss is part of
    # the kernel here. U is the one array of that size: R W R' = Q (U W U') Q'.
    block = problem.machine.block(cut.point, free)
    Q: Matrix | None = None if block is None else curvature_factor(block, np.eye(free.size))
    if Q is None:
        return y
    U = _products(problem, free, v)
    W = r.derivative(theta)
    system = 2.0 * (Q @ W.between(U) @ Q.T)
    system.flat[:: free.size + 1] += 1.0
    step, delta = W @ y, y.copy()
    image = np.zeros(free.size)
    for part in column_blocks(U):
        image += U[:, part] @ step[part]
    solution = Q.T @ cho_solve(cho_factor(0.5 * (system + system.T)), Q @ image)
    for part in column_blocks(U):
        delta[part] -= 2.0 * (solution @ U[:, part])
    return delta


def _products(problem: MKLProblem, free: NDArray[np.intp], v: Vector) -> NDArray[np.floating]:
    """Entries `free` of all kernels times v, shape (r, p), in 4 bytes if very many: only a direction needs them."""
    p = problem.bank.n_kernels
    if free.size * p <= MOST_ENTRIES:
        return problem.machine.rows(free, v)
    U = np.empty((free.size, p), np.float32)
    at_once = max(AT_ONCE // p, 1)
    for start in range(0, free.size, at_once):
        U[start : start + at_once] = problem.machine.rows(free[start : start + at_once], v)
    return U
