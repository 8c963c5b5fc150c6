"""The master of the spectral bundle in its multipliers: for few vectors and many variables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from oracle_opt._deadline import seconds_left
from oracle_opt.answers.pair_products import products_at
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.generators.masters.definite_matrices import (
    definite_factor,
    inverse_of,
    root_of,
    share_of,
    share_of_positive,
)
from oracle_opt.generators.masters.spectral_master import SpectralPoint
from oracle_opt.generators.masters.spectral_models import SpectralModel


class _Cone:
    """Symmetric matrices of order r, their upper triangles in a vector, and n numbers behind: ``x @ x`` is the norm."""

    def __init__(self, r: int, n: int) -> None:
        self.r, self.n = r, n
        self.p, self.q = np.triu_indices(r)
        self.size = len(self.p)
        self.weights = np.where(self.p == self.q, 1.0, np.sqrt(2.0))
        # of ``E = e_p e_q' + e_q e_p'``, of which these are the vectors
        self.units = np.where(self.p == self.q, 0.5, np.sqrt(0.5))
        self.ones = self.vector(np.eye(r), np.ones(n))

    def vector(self, V: Matrix, eta: Vector) -> Vector:
        result: Vector = np.r_[V[self.p, self.q] * self.weights, eta]
        return result

    def matrix(self, x: Vector) -> Matrix:
        V = np.empty((self.r, self.r))
        V[self.p, self.q] = V[self.q, self.p] = x[: self.size] / self.weights
        return V

    def rows(self, model: SpectralModel) -> Matrix:
        """The F_i and slopes, a row each."""
        result: Matrix = np.hstack([model.matrices[:, self.p, self.q] * self.weights, model.slopes.T])
        return result

    def scaling(self, Z: Matrix, inverse: Matrix, ratio: Vector) -> Matrix:
        """The matrix of ``dV -> sym(Z dV V^-1)`` and of the ratios, for the inverse of V."""
        result = np.zeros((self.size + self.n, self.size + self.n))
        own = products_at(Z, inverse, self.p, self.q)
        own *= self.units
        own *= self.units[:, None]
        result[: self.size, : self.size] = own
        result[np.arange(self.size, len(result)), np.arange(self.size, len(result))] = ratio
        return result


@dataclass(frozen=True, eq=False)
class _Newton:
    """Newton's system at a point of the cone, ``x`` of V and eta, and ``z`` of Z and the slacks of the pieces."""

    cone: _Cone
    Q: Matrix
    V: Matrix
    Z: Matrix
    eta: Vector
    rest: Vector
    roots: tuple[Matrix, Matrix]
    inverse: Matrix
    factor: tuple[Matrix, bool]

    @classmethod
    def at(cls, cone: _Cone, Q: Matrix, x: Vector, z: Vector) -> _Newton | None:
        """The system, None where rounding leaves it without a factor."""
        V, Z, eta, rest = cone.matrix(x), cone.matrix(z), x[cone.size :], z[cone.size :]
        root, other = root_of(V), root_of(Z)
        if root is None or other is None:
            return None
        inverse = inverse_of(root)
        system = cone.scaling(Z, inverse, rest / eta)
        system += Q
        if not np.isfinite(system).all():
            return None
        try:
            factor = scipy.linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return None
        return cls(cone, Q, V, Z, eta, rest, (root, other), inverse, factor)

    @property
    def barrier(self) -> Vector:
        """The inverses of V and eta."""
        return self.cone.vector(self.inverse, 1.0 / self.eta)

    def direction(self, right: Vector) -> tuple[Vector, float, Vector]:
        """Changes of x, of t, and of ``Q x``."""
        ones = self.cone.ones
        dx, toward = scipy.linalg.cho_solve(self.factor, np.column_stack([right, ones]), check_finite=False).T
        dt = float(ones @ dx) / float(ones @ toward)
        dx = dx - dt * toward
        return dx, dt, self.Q @ dx

    def second_order(self, dx: Vector, dz: Vector) -> Vector:
        """The second-order term, which the linearization leaves out."""
        bend = self.cone.matrix(dz) @ self.cone.matrix(dx) @ self.inverse
        return self.cone.vector(0.5 * (bend + bend.T), dx[self.cone.size :] * dz[self.cone.size :] / self.eta)

    def length(self, dx: Vector, dz: Vector) -> float:
        """The share of a direction that stays inside."""
        cone, ends = self.cone, slice(self.cone.size, None)
        matrices = share_of(self.V, self.roots[0], cone.matrix(dx)), share_of(self.Z, self.roots[1], cone.matrix(dz))
        return min(*matrices, share_of_positive(self.eta, dx[ends]), share_of_positive(self.rest, dz[ends]))


@np.errstate(all="ignore")  # a matrix may vanish: the direction is then no number, and the last point stays
def minimize_in_multipliers(
    model: SpectralModel, hessian: Matrix, tolerance: float = 1e-5, floor: float = 0.0, max_steps: int = 50
) -> SpectralPoint | None:
    """Solve the master of `minimize_spectral` for its multipliers, ``r (r + 1) / 2 + n`` unknowns.

    Parameters
    ----------
    model, hessian, tolerance, floor, max_steps
        As those of `minimize_spectral`.

    Returns
    -------
    SpectralPoint or None
        None where rounding, through a hessian that is almost singular, spoils the minimizer.

    Notes
    -----
    Let ``x`` be the multipliers V and eta, F the linear map of s to matrices and slopes, and c their constants. Then
    the minimizer is ``s = -hessian^-1 F' x``, and the dual problem is ``max c @ x - 1/2 x @ Q x`` with
    ``Q = F hessian^-1 F'``, over x of the cone with ``tr V + sum eta = 1``. Here ``Z = t I - F(s)`` is affine in x and
    t, ``V Z = mu I`` is linearized as ``dZ = mu V^-1 - Z - sym(Z dV V^-1)``, and a step solves a system with the matrix
    Q plus that of the last term. After Q is made no step depends on the number of variables.

    References
    ----------
    Helmberg & Rendl (2000), "A spectral bundle method for semidefinite programming", section 5.
    """
    r, n = len(model.center), len(model.constants)
    cone = _Cone(r, n)
    hessian, (factor, lower) = definite_factor(hessian)
    half = scipy.linalg.solve_triangular(
        factor, cone.rows(model), trans=int(not lower), lower=lower, check_finite=False
    )
    Q, c = half.T @ half, cone.vector(model.center, model.constants)
    x = cone.ones / (r + n)
    bent = Q @ x
    slack = bent - c  # but for t
    t = -_least(cone, slack)
    t += 0.1 * max(t - float(c @ x) + float(x @ bent), 1e-12 * abs(t), 1e-300)
    for _ in range(max_steps):
        seconds_left()
        z = t * cone.ones + bent - c
        gap, value = float(x @ z), t + 0.5 * float(x @ bent)
        if gap <= tolerance * abs(value) + floor:
            break
        newton = _Newton.at(cone, Q, x, z)
        if newton is None:
            break
        dx, dt, change = newton.direction(-z)
        dz = dt * cone.ones + change
        if not np.isfinite(dx).all():
            break
        share = newton.length(dx, dz)
        mu = gap / (r + n) * (float((x + share * dx) @ (z + share * dz)) / gap) ** 2
        dx, dt, change = newton.direction(mu * newton.barrier - z - newton.second_order(dx, dz))
        if not np.isfinite(dx).all():
            break
        share = newton.length(dx, dt * cone.ones + change)
        if not share > 1e-8:
            break
        x, t, bent = x + share * dx, t + share * dt, bent + share * change
    x = x / float(cone.ones @ x)
    bent = Q @ x
    s = -scipy.linalg.solve_triangular(factor, half @ x, trans=int(lower), lower=lower, check_finite=False)
    decrease = 0.5 * float(x @ bent) - float(c @ x)
    F, affine = model.at(s)
    reached = float(np.r_[np.linalg.eigvalsh(F), affine].max()) + 0.5 * float(s @ hessian @ s)
    if not reached + decrease <= max(100.0 * tolerance, 1e-3) * abs(decrease) + 100.0 * floor:
        return None
    V, eta = cone.matrix(x), x[cone.size :]
    slope = model.slope(V, eta)
    return SpectralPoint(s, V, eta, -(model.constant(V, eta) + float(slope @ s) + 0.5 * float(s @ hessian @ s)))


def _least(cone: _Cone, z: Vector) -> float:
    return float(np.r_[np.linalg.eigvalsh(cone.matrix(z)), z[cone.size :]].min())
