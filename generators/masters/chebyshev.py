"""The center of the largest ball in the localization set, by a linear program."""

from __future__ import annotations

import numpy as np

from oracle_opt import Domain
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.generators.masters.cut_pool import CutPool
from oracle_opt.generators.masters.linear_program import CutLP

FLAT = 1e-6  # share of a slope below which its part in the affine hull is not told from rounding


class ChebyshevLP(CutLP):
    """``max r`` such that the ball of radius r around z fits: ``(constant_i + slope_i @ z - upper) / norm_i + r <= 0``.

    The ball has to fit between the cuts; its center alone has to lie in the domain, whose many faces would else hold
    it far from the optima that lie on them. Distances are taken inside the domain's affine hull: norm_i is that of the
    slope projected on it. Where that is less than a millionth of the whole slope, such a share stands in for it: what
    is left of a slope that the affine hull does not see is rounding, and must not be blown up to a row. The
    multipliers a of the objective rows give, with U the upper bound, the lower bound ``U - r / sum(a / norm)``, so the
    gap closes with the radius.

    Parameters
    ----------
    domain : Domain
        With bounded linear constraints.
    """

    def __init__(self, domain: Domain) -> None:
        constraints = domain.linear_constraints()
        assert constraints is not None
        # An orthonormal basis of the equalities' normals, to project slopes on the affine hull.
        self._normals = np.linalg.qr(constraints.equality_matrix.T)[0] if len(constraints.equality_rhs) else None
        lower, upper = domain.bounding_box()
        diameter = float(np.linalg.norm(upper - lower))
        self._wide = None if (lower < upper).all() else lower < upper
        super().__init__(domain, -diameter, 0.0)

    def _current_level(self, pool: CutPool) -> float:
        return pool.upper

    def _factors(self, slopes: Matrix, objective: bool) -> tuple[Vector, Vector]:
        inside = slopes if self._normals is None else slopes - (slopes @ self._normals) @ self._normals.T
        if self._wide is not None:  # fixed variables are not in the affine hull
            inside = inside * self._wide
        norms = np.maximum(np.linalg.norm(inside, axis=1), FLAT * np.linalg.norm(slopes, axis=1))
        return 1.0 / np.where(norms > 0, norms, 1.0), np.ones(len(slopes))
