"""What a support vector machine solved on a rounded kernel proves of the one on the exact kernel."""

from dataclasses import replace
from math import sqrt

import numpy as np

from oracle_opt.arrays import EPS, Vector
from oracle_opt.oracles.svm import SVMSolution
from oracle_opt.oracles.svm.loss_dual import LossDual


def is_classification(of: LossDual) -> bool:
    """Whether the linear part of the objective is ``norm(b, 1)`` on the box, as of both hinge losses."""
    dual = of.piecewise
    if dual is None:
        return False
    one_side = np.where(dual.linear > 0, dual.lower, dual.upper) == 0
    plain = dual.kink is None and dual.total == dual.offset == 0
    return plain and bool((np.abs(dual.linear) == 1).all() and one_side.all())


def for_exact_kernel(svm: SVMSolution, dual: LossDual, error: float) -> SVMSolution:
    """The solution with objectives and gap that hold for every kernel nearby: see docs/theory_smooth_mkl.md."""
    size = float(np.abs(svm.signed_dual).sum()) * (1 + EPS * svm.signed_dual.size)
    on_form, of_decision = 0.5 * error * size**2, error * size
    primal = svm.primal_objective
    upper = primal + on_form + _loss_added(dual, primal, of_decision)
    share, stretch = 2.0 * of_decision * (1 + 4 * EPS), 1.0
    if share < 1.0 and (primal + on_form) / (1.0 - share) < upper:
        stretch = (1 + 8 * EPS) / (1.0 - share)
        upper = (primal + on_form) * stretch
    added = (upper - primal + on_form) * (1 + 4 * EPS)
    return replace(
        svm,
        dual_objective=svm.dual_objective - on_form * (1 + 4 * EPS),
        primal_objective=upper,
        gap=svm.gap + added,
        stretch=stretch,
    )


def _loss_added(dual: LossDual, primal: float, off: float) -> float:
    """By how much the loss of a hyperplane grows at most if all decision values are off by so much."""
    if dual.ridge is None:
        weights: Vector = np.maximum(dual.upper, -dual.lower)
        return float(weights.sum()) * off * (1 + EPS * weights.size)
    # C_i (z_i + off)**2 in place of C_i z_i**2, which add up to `primal` at most: the inequality of Cauchy and Schwarz.
    total = float((0.5 / dual.ridge).sum())
    return (2.0 * off * sqrt(total * max(primal, 0.0)) + total * off**2) * (1 + EPS * dual.ridge.size)
