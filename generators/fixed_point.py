"""One call at a fixed point: for MKL the average kernel."""

from __future__ import annotations

from collections.abc import Generator

from oracle_opt import Domain, ObjectiveCut, SequentialGenerator
from oracle_opt.cuts import Vector


class FixedPoint(SequentialGenerator):
    """Ask at the starting point and stop: the baseline every method has to beat.

    References
    ----------
    Wulff & Ong (2014), section 4: the "average" kernel.
    """

    def queries(self, domain: Domain, point: Vector) -> Generator[Vector, ObjectiveCut, None]:
        """Ask once."""
        self.center = yield point
