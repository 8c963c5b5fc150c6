"""One call at a fixed point, for MKL the average kernel; or the analytic updates an oracle foretells."""

from collections.abc import Generator

from oracle_opt import AnalyticUpdate, Answer, Domain, InvalidCut, ObjectiveCut, Query, SequentialGenerator
from oracle_opt.arguments import flag
from oracle_opt.arrays import Vector


class FixedPoint(SequentialGenerator):
    """Ask at the starting point and stop: the baseline every method has to beat.

    Parameters
    ----------
    updates : bool
        Go on at the answer's `AnalyticUpdate` instead, until it is the point itself. Oracles that alternate
        between blocks of variables in closed form give it, as `GMKLOracle` does under an lp norm: each is then at
        least as good as the last, without line search or step length. Oracles that do not give it are refused.

    References
    ----------
    Wulff & Ong (2014), section 4: the "average" kernel; Kloft, Brefeld, Sonnenburg & Zien (2011), "lp-norm multiple
    kernel learning", for the updates.

    Examples
    --------
    >>> from oracle_opt import minimize, problems
    >>> from oracle_opt.generators import FixedPoint
    >>> minimize(problems.find("nonsmooth/LQ")[0](0).oracle, FixedPoint()).n_calls
    1
    """

    def __init__(self, updates: bool = False) -> None:
        self.updates = flag("updates", updates)

    @property
    def needs(self) -> frozenset[type[Answer]]:
        """The analytic update, which says where to go on."""
        return frozenset({AnalyticUpdate} if self.updates else ())

    def queries(self, domain: Domain, point: Vector) -> Generator[Query, ObjectiveCut, None]:
        """Ask once, or from update to update."""
        self.center = cut = yield Query(point, wishes=self.needs)
        while self.updates:
            answer = cut.answer(AnalyticUpdate)
            if answer is None:
                raise InvalidCut(
                    "the oracle was asked for an AnalyticUpdate and gave none, though it is in its `gives`"
                )
            update = domain.project(answer.point)
            if (update == cut.point).all():
                return
            self.center = cut = yield Query(update, wishes=self.needs)
