"""The subspace of a spectral bundle: eigenvectors, the curvature outside of them, and the model they make."""

import numpy as np

from oracle_opt import Eigenpairs, ObjectiveCut
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.generators.masters.spectral_master import SpectralPoint, minimize_spectral
from oracle_opt.generators.masters.spectral_models import ChosenRows, Span, SpectralModel, StructuredModel
from oracle_opt.generators.masters.spectral_multipliers import minimize_in_multipliers

ACTIVE = 1e-3  # share of the largest multiplier above which an eigenvector is active
NEAR = 0.1  # a vector nearer than this to the span of others adds nothing to them

# nanoseconds, measured: of a multiplication in products of large and of small matrices and in factors, of an entry
LARGE, SMALL, FACTOR, ENTRY = 0.08, 0.1, 0.03, 10.0
STEPS = 10.0  # of an interior point method
DEARER = 9.0  # the model whole takes a third of the calls, and nothing in between


def told_at(cut: ObjectiveCut) -> Eigenpairs:
    """Return the eigenpairs of a cut that has some."""
    told = cut.answer(Eigenpairs)
    assert told is not None  # `SpectralBundle.tell` takes no cuts without eigenpairs
    return told


def computed(cut: ObjectiveCut) -> float:
    """Return the function at the point of a cut, as its eigenvalue says."""
    told = told_at(cut)
    return told.trace * float(told.values[0]) + float(told.b @ cut.point)


def coupled_pairs(told: Eigenpairs, point: Vector) -> tuple[Vector, Matrix]:
    """Return orthonormal eigenpairs of the matrix without its blocks of order one, largest first."""
    single = told.matrix.single
    if not len(single):
        return told.values, told.vectors
    vectors = told.vectors.copy()
    vectors[single] = 0.0
    pure = np.linalg.norm(told.vectors[single], axis=0) < 1e-12
    basis, sizes, _ = np.linalg.svd(vectors[:, ~pure], full_matrices=False)
    basis = basis[:, sizes > NEAR]
    small = basis.T @ (told.matrix.at(point) @ basis)
    values, axes = np.linalg.eigh(0.5 * (small + small.T))
    values, vectors = np.r_[told.values[pure], values], np.hstack([vectors[:, pure], basis @ axes])
    order = np.argsort(-values, kind="stable")
    return values[order], vectors[:, order]


def extended(first: Matrix, further: Matrix, most: int) -> Matrix:
    """Return orthonormal columns `first` and what the further ones add to their span, until there are `most`."""
    P = first
    for v in further.T:
        if P.shape[1] >= most:
            break
        rest = v - P @ (P.T @ v)
        rest -= P @ (P.T @ rest)
        norm = float(np.linalg.norm(rest))
        if norm > NEAR * float(np.linalg.norm(v)):
            P = np.column_stack([P, rest / norm])
    return P


def active_part(V: Matrix, P: Matrix) -> Matrix:
    """Return X of shape (N, k) with ``X X'`` close to ``P V P'``, of the multipliers V that are not next to zero."""
    multipliers, axes = np.linalg.eigh(V)
    active = multipliers > ACTIVE * multipliers.max(initial=0.0)
    result: Matrix = P @ (axes[:, active] * np.sqrt(multipliers[active]))
    return result


def curvature(told: Eigenpairs, y: Vector, group: int, pairs: tuple[Vector, Matrix], W: Matrix, least: float) -> Matrix:
    """Return ``H_ij = 2 trace tr(A_i W A_j K)``, K of the eigenvectors that are not in the leading group."""
    values, vectors = pairs
    others, top, single = vectors[:, group:], told.values[0], told.matrix.single
    K = (others / np.maximum(top - values[group:], least)) @ others.T
    unknown = told.matrix.order - len(single) - len(values)
    if unknown > 0:
        trace = float(np.delete(told.matrix.at(y).diagonal(), single).sum())
        mean = (trace - float(values.sum())) / unknown
        K += (np.eye(told.matrix.order) - vectors @ vectors.T) / max(top - mean, least)
    H: Matrix = told.trace * told.matrix.pairs(W, K)
    return H + H.T


def matrix_at(told: Eigenpairs, basis: Span | ChosenRows, y: Vector, value: float) -> Matrix:
    """Return ``trace P' M(y) P + (b @ y - value) I``."""
    small: Matrix = told.trace * basis.small(told.matrix.at(y))
    small[np.diag_indices(len(small))] += float(told.b @ y) - value
    return small


def restricted(model: StructuredModel) -> SpectralModel:
    """Return the same model with its matrices made, ``b_i I - trace P' A_i P``."""
    told, r = model.told, len(model.center)
    matrices = -told.trace * told.matrix.restrict(model.basis.columns)
    matrices[:, np.arange(r), np.arange(r)] += told.b[:, None]
    return SpectralModel(model.center, matrices, model.constants, model.slopes)


def nanoseconds(told: Eigenpairs, r: int, n: int, whole: bool = False) -> tuple[float, float, float]:
    """Return what a step of an interior point method costs with r vectors and n affine pieces, about."""
    order, m = told.matrix.order, len(told.b)
    solve, unknowns = FACTOR * m**3, 0.5 * r * (r + 1) + n
    products = 10.0 * r**3 * LARGE + (0.0 if whole else 4.0 * LARGE * order**2 * r)
    sparse = told.matrix.pairs.nanoseconds + products + solve + ENTRY * m**2
    dense = 2.0 * SMALL * m * r**3 + 0.5 * LARGE * m**2 * r**2 + solve
    once = solve + LARGE * (m**2 * unknowns + m * unknowns**2)
    return sparse, dense, once / STEPS + FACTOR * unknowns**3 + ENTRY * unknowns**2


def whole_rows(told: Eigenpairs, few: int) -> ChosenRows | None:
    """Return the rows of the matrix in larger blocks, where a model of it whole costs little; else None."""
    order = told.matrix.order
    rows = ChosenRows(np.setdiff1d(np.arange(order), told.matrix.single), order)
    n = len(told.matrix.single) + 1
    if len(rows.rows) <= few:
        return rows
    whole = nanoseconds(told, len(rows.rows), n, whole=True)[0]
    return rows if whole <= DEARER * min(nanoseconds(told, few, n)) else None


def minimized(
    model: StructuredModel, hessian: Matrix, floor: float
) -> tuple[SpectralModel | StructuredModel, SpectralPoint]:
    """Solve the master in the form that costs least, and return its model, too."""
    r, n = len(model.center), len(model.constants)
    sparse, dense, multipliers = nanoseconds(model.told, r, n)
    if sparse <= min(dense, multipliers):
        return model, minimize_spectral(model, hessian, floor=floor)
    small = restricted(model)
    if multipliers < dense:
        done = minimize_in_multipliers(small, hessian, floor=floor)
        if done is not None:
            return small, done
    if sparse <= dense:
        return model, minimize_spectral(model, hessian, floor=floor)
    return small, minimize_spectral(small, hessian, floor=floor)
