"""The master of the spectral bundle: a small semidefinite program with a quadratic, by an interior point method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from oracle_opt._deadline import seconds_left
from oracle_opt.arrays import Matrix, Vector

STEP = 0.98  # share of the way to the boundary


@dataclass(frozen=True, eq=False)
class SpectralModel:
    """``s -> max(lambda_max(F_0 + sum_i s_i F_i), max_j (constants_j + slopes_j @ s))``, s of shape (m,).

    Attributes
    ----------
    center : ndarray of shape (r, r)
        F_0.
    matrices : ndarray of shape (m, r, r)
        The F_i, symmetric.
    constants, slopes : ndarray of shape (n,) and (n, m)
        Affine pieces.
    """

    center: Matrix
    matrices: Matrix
    constants: Vector
    slopes: Matrix

    def at(self, s: Vector) -> tuple[Matrix, Vector]:
        """The matrix and the affine pieces at s."""
        return self.center + np.tensordot(s, self.matrices, 1), self.constants + self.slopes @ s

    def slope(self, V: Matrix, eta: Vector) -> Vector:
        """Slope of the minorant ``<V, F(s)> + eta @ (constants + slopes @ s)``."""
        pulled: Vector = self.matrices.reshape(len(self.matrices), -1) @ V.ravel() + eta @ self.slopes
        return pulled

    def constant(self, V: Matrix, eta: Vector) -> float:
        """Constant of the same minorant, of V and eta."""
        return float(np.vdot(V, self.center)) + float(eta @ self.constants)


@dataclass(frozen=True, eq=False)
class SpectralPoint:
    """What `minimize_spectral` found.

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


@np.errstate(all="ignore")  # a matrix may vanish: the direction is then no number, and the last point stays
def minimize_spectral(
    model: SpectralModel, hessian: Matrix, tolerance: float = 1e-5, floor: float = 0.0, max_steps: int = 50
) -> SpectralPoint:
    """Minimize the largest eigenvalue of a small matrix function plus a quadratic: the master of spectral bundles.

    ::

        minimize max(lambda_max(F_0 + sum_i s_i F_i), max_j (constants_j + slopes_j @ s)) + 1/2 s @ hessian @ s

    A step costs O(m r^3 + m^2 r^2 + m^3) for m variables and matrices of order r; ten or so are needed.

    Parameters
    ----------
    model : SpectralModel
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
    m, r, _ = model.matrices.shape
    n = len(model.constants)
    upper = np.triu_indices(r)
    double = np.where(upper[0] == upper[1], 1.0, 2.0)
    rows = model.matrices[:, upper[0], upper[1]]  # the matrices are symmetric, so their upper triangles are enough
    V, eta = np.eye(r) / (r + n), np.full(n, 1.0 / (r + n))
    hessian, factor = _definite(hessian)
    s = -scipy.linalg.cho_solve(factor, model.slope(V, eta), check_finite=False)
    F, affine = model.at(s)
    top = float(np.r_[np.linalg.eigvalsh(F), affine].max())
    t = top + 0.1 * max(top - model.constant(V, eta) - float(model.slope(V, eta) @ s), 1e-12 * abs(top), 1e-300)
    for _ in range(max_steps):
        seconds_left()
        F, affine = model.at(s)
        Z, z = t * np.eye(r) - F, t - affine
        gap = float(np.vdot(V, Z)) + float(eta @ z)
        value = t + 0.5 * float(s @ hessian @ s)
        if gap <= tolerance * abs(value) + floor:
            break
        mu = gap / (r + n)
        try:
            inverse = np.linalg.inv(Z)
            inverse = 0.5 * (inverse + inverse.T)
            # column j of the system: F_i against sym(V F_j Z^-1)
            pushed = V @ model.matrices @ inverse
            pushed = 0.5 * (pushed + pushed.transpose(0, 2, 1))
            ratio = eta / z
            system = np.empty((m + 1, m + 1))
            system[:m, :m] = hessian + (rows * double) @ pushed[:, upper[0], upper[1]].T
            system[:m, :m] += (model.slopes.T * ratio) @ model.slopes
            VZ = V @ inverse
            system[m, :m] = system[:m, m] = -model.slope(0.5 * (VZ + VZ.T), ratio)
            system[m, m] = float(np.trace(VZ)) + float(ratio.sum())
            if not np.isfinite(system).all():
                break
            factor = scipy.linalg.cho_factor(system, overwrite_a=True, check_finite=False)
            roots = np.linalg.cholesky(V), np.linalg.cholesky(Z)
        except np.linalg.LinAlgError:
            break

        def direction(
            target: float, bend: Matrix, bent: Vector
        ) -> tuple[Vector, float, Matrix, Vector, Matrix, Vector]:
            """Newton's direction toward ``V Z = target I``, second-order terms subtracted."""
            R, rho = target * inverse - V - bend, target / z - eta - bent  # noqa: B023
            right = np.r_[-model.slope(R, rho), np.trace(R) + rho.sum()]
            solved = scipy.linalg.cho_solve(factor, right, check_finite=False)  # noqa: B023
            ds, dt = solved[:m], float(solved[m])
            dZ = dt * np.eye(r) - np.tensordot(ds, model.matrices, 1)
            dz = dt - model.slopes @ ds
            turned = V @ dZ @ inverse  # noqa: B023
            return ds, dt, R - 0.5 * (turned + turned.T), rho - ratio * dz, dZ, dz  # noqa: B023

        ds, dt, dV, deta, dZ, dz = direction(0.0, np.zeros((r, r)), np.zeros(n))
        if not (np.isfinite(dV).all() and np.isfinite(dZ).all()):
            break
        length = min(_share(roots[0], dV, eta, deta), _share(roots[1], dZ, z, dz))
        after = float(np.vdot(V + length * dV, Z + length * dZ)) + float((eta + length * deta) @ (z + length * dz))
        bend = dV @ dZ @ inverse
        ds, dt, dV, deta, dZ, dz = direction(mu * (after / gap) ** 2, 0.5 * (bend + bend.T), deta * dz / z)
        if not (np.isfinite(dV).all() and np.isfinite(dZ).all()):
            break
        length = min(_share(roots[0], dV, eta, deta), _share(roots[1], dZ, z, dz))
        if not length > 1e-8:
            break
        s, t, V, eta = s + length * ds, t + length * dt, V + length * dV, eta + length * deta
    total = float(np.trace(V)) + float(eta.sum())
    V, eta = V / total, eta / total
    slope = model.slope(V, eta)
    return SpectralPoint(s, V, eta, -(model.constant(V, eta) + float(slope @ s) + 0.5 * float(s @ hessian @ s)))


def _definite(matrix: Matrix) -> tuple[Matrix, tuple[Matrix, bool]]:
    """The matrix and its Cholesky factor; with a multiple of the identity where rounding leaves it without one."""
    ridge = 0.0
    while True:
        try:
            return matrix, scipy.linalg.cho_factor(matrix)
        except scipy.linalg.LinAlgError:
            ridge = max(100.0 * ridge, 1e-14 * float(np.abs(matrix).max()), 1e-300)
            matrix = matrix + ridge * np.eye(len(matrix))


@np.errstate(all="ignore")
def flattened(model: SpectralModel, V: Matrix, eta: Vector) -> tuple[Matrix, Vector]:
    """Multipliers near these whose minorant has less slope.

    ``dV = V (sum_i x_i F_i + x_0 I) V``, ``deta`` likewise: the least change, in the metric of the cone's barrier, that
    takes all the slope away and leaves the sum as it is, or as much of that change as the cone allows.
    """
    m, r, _ = model.matrices.shape
    pushed = (V @ model.matrices @ V).reshape(m, -1)
    square, trace = eta**2, (V @ V).ravel()
    system = np.empty((m + 1, m + 1))
    system[:m, :m] = pushed @ model.matrices.reshape(m, -1).T + (model.slopes.T * square) @ model.slopes
    system[m, :m] = system[:m, m] = model.slope(V @ V, square)
    system[m, m] = float(np.vdot(V, V)) + float(square.sum())
    system[np.diag_indices(m + 1)] += 1e-14 * float(system.diagonal().max())  # for directions in which nothing changes
    try:
        factor = scipy.linalg.cho_factor(system, overwrite_a=True, check_finite=False)
        root = np.linalg.cholesky(V)
    except np.linalg.LinAlgError:
        return V, eta
    x = scipy.linalg.cho_solve(factor, np.r_[-model.slope(V, eta), 0.0], check_finite=False)
    if not np.isfinite(x).all():
        return V, eta
    dV = (x[:m] @ pushed + x[m] * trace).reshape(r, r)
    deta = square * (model.slopes @ x[:m] + x[m])
    share = _share(root, 0.5 * (dV + dV.T), eta, deta)
    V, eta = V + share * 0.5 * (dV + dV.T), eta + share * deta
    total = float(np.trace(V)) + float(eta.sum())
    return V / total, eta / total


def _share(root: NDArray[np.floating], change: Matrix, value: Vector, difference: Vector) -> float:
    """How far, at most 1, a definite matrix, given by its root, and a positive vector can change and stay so."""
    half = scipy.linalg.solve_triangular(root, change, lower=True, check_finite=False)
    whole = scipy.linalg.solve_triangular(root, half.T, lower=True, check_finite=False)
    least = float(np.r_[np.linalg.eigvalsh(0.5 * (whole + whole.T)), difference / value].min())
    return min(1.0, -STEP / least) if least < 0 else 1.0
