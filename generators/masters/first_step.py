"""How far to go at first, when one cut is all that is known."""

from __future__ import annotations

import numpy as np

from oracle_opt import Domain, ObjectiveCut
from oracle_opt.arrays import Vector


def first_step(domain: Domain, cut: ObjectiveCut, share: float = 1.0, scale: Vector | None = None) -> float:
    """Return a share of the distance to the minimizer of a cut over the domain; 1 where that is infinite or 0.

    On a simplex, a box or a ball the distance is about the diameter. Its squares are weighted by `scale`, if given.
    """
    away = domain.minimize_linear(cut.subgradient)[1] - cut.point
    if scale is not None:
        away = np.sqrt(scale) * away
    length = share * float(np.linalg.norm(away))
    return length if np.isfinite(length) and length > 0 else 1.0
