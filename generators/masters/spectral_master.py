"""The master of the spectral bundle: a small semidefinite program with a quadratic, by an interior point method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from oracle_opt._deadline import seconds_left
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.generators.masters.definite_matrices import (
    definite_factor,
    inverse_of,
    root_of,
    share_of,
    share_of_positive,
)
from oracle_opt.generators.masters.spectral_models import SpectralModel, StructuredModel

REFINEMENTS = 3  # most corrections of the solution of a system
PASSES = 4  # of corrections of the slope
Model = SpectralModel | StructuredModel
System = tuple[tuple[Matrix, bool], Matrix]  # a factor, and the system


@dataclass(frozen=True, eq=False)
class SpectralPoint:
    """The result of `minimize_spectral`.

    Attributes
    ----------
    s : ndarray of shape (m,)
        The minimizer.
    V, eta : ndarray of shape (r, r) and (n,)
        Multipliers, ``tr V + sum(eta) = 1``: `SpectralModel.slope` and `.constant` make the minorant of the model.
    decrease : float
        By how much they prove the minimum to lie below zero, at most.
    """

    s: Vector
    V: Matrix
    eta: Vector
    decrease: float


@dataclass(frozen=True, eq=False)
class _Direction:
    """A step of all unknowns; `turned` is ``dZ Z^-1``."""

    s: Vector
    t: float
    V: Matrix
    eta: Vector
    Z: Matrix
    z: Vector
    turned: Matrix

    def is_finite(self) -> bool:
        return bool(np.isfinite(self.V).all() and np.isfinite(self.Z).all())


@dataclass(frozen=True, eq=False)
class _Newton:
    """Newton's system at a point; `left` is ``hessian s + F*(V) + slopes' eta``, zero but for rounding."""

    model: Model
    V: Matrix
    eta: Vector
    Z: Matrix
    z: Vector
    left: Vector
    roots: tuple[Matrix, Matrix]
    inverse: Matrix
    factor: System

    @classmethod
    def at(
        cls, model: Model, hessian: Matrix, V: Matrix, eta: Vector, Z: Matrix, z: Vector, left: Vector
    ) -> _Newton | None:
        """The system, None where rounding leaves it without a factor."""
        root, other = root_of(V), root_of(Z)
        if root is None or other is None:
            return None
        inverse = inverse_of(other)
        factor = _factor(model, hessian, V, inverse, eta / z)
        return None if factor is None else cls(model, V, eta, Z, z, left, (root, other), inverse, factor)

    def direction(self, target: float, bend: Matrix | float, shift: Vector | float) -> _Direction:
        """Direction toward ``V Z = target I``, second-order terms subtracted."""
        R, rho = target * self.inverse - self.V - bend, target / self.z - self.eta - shift
        missing = 1.0 - float(np.trace(self.V)) - float(self.eta.sum())
        right = np.r_[-self.left - self.model.slope(R, rho), missing + np.trace(R) + rho.sum()]
        solved = _solved(self.factor, right)
        ds, dt = solved[:-1], float(solved[-1])
        dZ = -self.model.combined(ds)
        dZ[np.diag_indices(len(dZ))] += dt
        dz = dt - self.model.slopes @ ds
        turned = dZ @ self.inverse
        change = self.V @ turned
        return _Direction(ds, dt, R - 0.5 * (change + change.T), rho - self.eta / self.z * dz, dZ, dz, turned)

    def length(self, d: _Direction) -> float:
        """The share of a direction that stays inside."""
        matrices = share_of(self.V, self.roots[0], d.V), share_of(self.Z, self.roots[1], d.Z)
        return min(*matrices, share_of_positive(self.eta, d.eta), share_of_positive(self.z, d.z))


@np.errstate(all="ignore")  # a matrix may vanish: the direction is then no number, and the last point stays
def minimize_spectral(
    model: Model, hessian: Matrix, tolerance: float = 1e-5, floor: float = 0.0, max_steps: int = 50
) -> SpectralPoint:
    """Minimize the largest eigenvalue of a small matrix function plus a quadratic: the master of spectral bundles.

    ::

        minimize max(lambda_max(F_0 + sum_i s_i F_i), max_j (constants_j + slopes_j @ s)) + 1/2 s @ hessian @ s

    A step costs O(r^3 + m^3) for m variables and matrices of order r, and what `pairs` of the model costs; ten or so
    are needed.

    Parameters
    ----------
    model : SpectralModel or StructuredModel
        At most 0 at s = 0.
    hessian : ndarray of shape (m, m)
        Positive definite.
    tolerance, floor : float
        Limits on the duality gap: relative to the decrease below 0, and absolute.
    max_steps : int
        Limit on steps.

    Returns
    -------
    SpectralPoint
        Minimizer and multipliers.

    Notes
    -----
    With ``Z = t I - F(s)`` and ``z = t - constants - slopes @ s`` the conditions are ``hessian s + F*(V) + slopes' eta
    = 0``, ``tr V + sum eta = 1``, ``V Z = mu I``, ``eta z = mu``. The start satisfies all but the last two and so do
    the steps after it. The third is linearized as ``dV = mu Z^-1 - V - sym(V dZ Z^-1)``, which leaves a system of order
    m + 1 with the matrix ``tr(F_i V F_j Z^-1)`` plus the Hessian; predictor and corrector share its Cholesky factor.

    References
    ----------
    Helmberg, Rendl, Vanderbei & Wolkowicz (1996), "An interior-point method for semidefinite programming", for the
    direction; Mehrotra (1992), "On the implementation of a primal-dual interior point method".
    """
    r, n = len(model.center), len(model.constants)
    V, eta = np.eye(r) / (r + n), np.full(n, 1.0 / (r + n))
    hessian, factor = definite_factor(hessian)
    s, t = _start(model, hessian, factor, V, eta)
    for _ in range(max_steps):
        seconds_left()
        F, affine = model.at(s)
        Z, z = t * np.eye(r) - F, t - affine
        gap = float(np.vdot(V, Z)) + float(eta @ z)
        bent = hessian @ s
        left = bent + model.slope(V, eta)  # rounding, which grows where the hessian is almost singular
        value = t + 0.5 * float(s @ bent)
        if gap <= tolerance * abs(value) + floor:
            break
        newton = _Newton.at(model, hessian, V, eta, Z, z, left)
        if newton is None:
            break
        d = newton.direction(0.0, 0.0, 0.0)
        if not d.is_finite():
            break
        share = newton.length(d)
        after = float(np.vdot(V + share * d.V, Z + share * d.Z)) + float((eta + share * d.eta) @ (z + share * d.z))
        bend = d.V @ d.turned
        d = newton.direction(gap / (r + n) * (after / gap) ** 2, 0.5 * (bend + bend.T), d.eta * d.z / z)
        if not d.is_finite():
            break
        share = newton.length(d)
        if not share > 1e-8:  # rounding
            break
        s, t, V, eta = s + share * d.s, t + share * d.t, V + share * d.V, eta + share * d.eta
    total = float(np.trace(V)) + float(eta.sum())
    V, eta = V / total, eta / total
    slope = model.slope(V, eta)
    return SpectralPoint(s, V, eta, -(model.constant(V, eta) + float(slope @ s) + 0.5 * float(s @ hessian @ s)))


def _start(model: Model, hessian: Matrix, factor: tuple[Matrix, bool], V: Matrix, eta: Vector) -> tuple[Vector, float]:
    """The minimizer for these multipliers, and a t for which Z is definite."""
    s = -scipy.linalg.cho_solve(factor, model.slope(V, eta), check_finite=False)
    F, affine = model.at(s)
    top = float(np.r_[np.linalg.eigvalsh(F), affine].max())
    below = model.constant(V, eta) + float(model.slope(V, eta) @ s)
    return s, top + 0.1 * max(top - below, 1e-12 * abs(top), 1e-300)


def _factor(model: Model, hessian: Matrix | float, V: Matrix, inverse: Matrix, ratio: Vector) -> System | None:
    """Cholesky factor of the system of order m + 1, and the system; None where it is not finite."""
    m = model.slopes.shape[1]
    system = np.empty((m + 1, m + 1))
    system[:m, :m] = model.pairs(V, inverse)
    system[:m, :m] += hessian
    if len(ratio):
        system[:m, :m] += (model.slopes.T * ratio) @ model.slopes
    VZ = V @ inverse
    system[m, :m] = system[:m, m] = -model.slope(0.5 * (VZ + VZ.T), ratio)
    system[m, m] = float(np.trace(VZ)) + float(ratio.sum())
    if not np.isfinite(system).all():
        return None
    return definite_factor(system)[1], system


def _solved(factor: System, right: Vector) -> Vector:
    """Solution of a system given with the Cholesky factor of one close by, and refined."""
    root, system = factor
    x: Vector = scipy.linalg.cho_solve(root, right, check_finite=False)
    left = right - system @ x
    for _ in range(REFINEMENTS):
        better = x + scipy.linalg.cho_solve(root, left, check_finite=False)
        remains = right - system @ better
        if not np.linalg.norm(remains) < 0.5 * np.linalg.norm(left):
            break
        x, left = better, remains
    return x


@np.errstate(all="ignore")
def flattened(model: Model, V: Matrix, eta: Vector) -> tuple[Matrix, Vector]:
    """Multipliers near these whose minorant has less slope: the least change, as far as the cone allows it.

    ``dV = V (sum_i x_i F_i - x_0 I) V``, ``deta`` likewise, of sum 0; see docs/theory_cones.md, "Minorants".
    """
    square = eta**2
    root, factor, metric = root_of(V), _factor(model, 0.0, V, V, square), V
    if root is None or factor is None:
        return V, eta
    slope, ones = model.slope(V, eta), np.eye(len(V))
    for _ in range(PASSES):  # the system is nearly singular where the model has no interior
        x = _solved(factor, np.r_[-slope, np.trace(V) + eta.sum() - 1.0])
        if not np.isfinite(x).all():
            break
        change = metric @ (model.combined(x[:-1]) - x[-1] * ones) @ metric
        change = 0.5 * (change + change.T)
        deta = square * (model.slopes @ x[:-1] - x[-1])
        share = min(share_of(V, root, change), share_of_positive(eta, deta))
        V_next, eta_next = V + share * change, eta + share * deta
        total = float(np.trace(V_next)) + float(eta_next.sum())
        V_next, eta_next, root = V_next / total, eta_next / total, root_of(V_next / total)
        left = model.slope(V_next, eta_next)
        if root is None or not np.linalg.norm(left) < np.linalg.norm(slope):
            break
        halved = np.linalg.norm(left) < 0.5 * np.linalg.norm(slope)
        V, eta, slope = V_next, eta_next, left
        if not halved:
            break
    return V, eta
