"""One call at a fixed point, for MKL the average kernel; or the analytic updates an oracle foretells."""

from __future__ import annotations

from collections.abc import Generator

from oracle_opt import Domain, InvalidArgument, ObjectiveCut, SequentialGenerator
from oracle_opt.arguments import flag
from oracle_opt.arrays import Vector


class FixedPoint(SequentialGenerator):
    """Ask at the starting point and stop: the baseline every method has to beat.

    Parameters
    ----------
    updates : bool
        Go on at the cut's extra `analytic_update` instead, until it is the point itself. Oracles that alternate
        between blocks of variables in closed form give it, as `GMKLOracle` does under an lp norm: each is then at
        least as good as the last, without line search or step length.

    Raises
    ------
    InvalidArgument
        With updates, from the first answer: the oracle has none.

    References
    ----------
    Wulff & Ong (2014), section 4: the "average" kernel; Kloft, Brefeld, Sonnenburg & Zien (2011), "lp-norm multiple
    kernel learning", for the updates.
    """

    def __init__(self, updates: bool = False) -> None:
        self.updates = flag("updates", updates)

    def queries(self, domain: Domain, point: Vector) -> Generator[Vector, ObjectiveCut, None]:
        """Ask once, or from update to update."""
        self.center = cut = yield point
        while self.updates:
            if "analytic_update" not in cut.extras:
                raise InvalidArgument("`updates` must be False for an oracle without the extra `analytic_update`")
            update = domain.project(cut.extras["analytic_update"])
            if (update == cut.point).all():
                return
            self.center = cut = yield update
