"""Projected gradient descent with Armijo's rule (PGD)."""

from collections.abc import Generator

import numpy as np

from oracle_opt import Domain, ObjectiveCut, Query, SequentialGenerator
from oracle_opt.arguments import real
from oracle_opt.arrays import Vector
from oracle_opt.generators.masters.proximity_control import first_step


class ProjectedGradient(SequentialGenerator):
    """Step against the gradient, project, halve the step until the function falls enough: the baseline of SPG.

    Every trial is a point of the projection arc ``z(s) = project(z - s * g)``, taken if
    ``f(z(s)) <= f(z) + sufficient_decrease * g @ (z(s) - z)``, (5). The first step moves as far as the first cut's
    minimizer over the domain lies, or by 1 on an unbounded domain; later ones start at twice the last, or all alike.

    Parameters
    ----------
    sufficient_decrease : float
        gamma of (5).
    accuracy : float, optional
        Relative error asked of the oracle at every call; the paper needs 1e-6 from the start. Default: the oracle's
        own best.
    first_length : float, optional
        Length that every search begins with, as a multiple of the gradient: each search then starts anew, as that of
        the program that the paper's authors published does, from 1. Default: twice the length of the last step.

    Notes
    -----
    Values are compared as they are, without the errors the oracle states: the rule insists on a strict decrease. On a
    loose oracle the steps become minute, until one can no longer be told from none and the method stops asking.

    References
    ----------
    Jain, Vishwanathan & Varma (2012), "SPG-GMKL", section 3, (5); Bertsekas (1976), "On the Goldstein-Levitin-Polyak
    gradient projection method", for the arc.

    Examples
    --------
    >>> from oracle_opt import minimize, problems
    >>> from oracle_opt.generators import ProjectedGradient
    >>> result = minimize(problems.find("separable(n=3)")[0](0).oracle, ProjectedGradient(), max_calls=100)
    >>> round(result.upper_bound, 6)
    0.045948
    """

    def __init__(
        self, sufficient_decrease: float = 1e-4, accuracy: float | None = None, first_length: float | None = None
    ) -> None:
        self.sufficient_decrease = real("sufficient_decrease", sufficient_decrease, above=0.0, below=1.0)
        self.accuracy = None if accuracy is None else real("accuracy", accuracy, above=0.0)
        self.first_length = None if first_length is None else real("first_length", first_length, above=0.0)

    def queries(self, domain: Domain, point: Vector) -> Generator[Vector | Query, ObjectiveCut, None]:
        """Descend."""
        self.center = cut = yield Query(point, self.accuracy)
        norm = float(np.linalg.norm(cut.subgradient))
        if norm == 0:
            return
        length = first_step(domain, cut) / norm if self.first_length is None else self.first_length
        refused = cut.point
        while True:
            candidate = domain.project(cut.point - length * cut.subgradient)
            moved = candidate - cut.point
            if not moved.any():
                return
            if (candidate == refused).all():  # half the length is projected to the same point
                if (candidate == domain.project(cut.point)).all():  # and so is none, where projections round
                    return
                length *= 0.5
                continue
            trial = yield Query(candidate, self.accuracy)
            if trial.value <= cut.value + self.sufficient_decrease * float(cut.subgradient @ moved):
                self.center = cut = trial
                length = 2.0 * length if self.first_length is None else self.first_length
            else:
                refused = candidate
                length *= 0.5
