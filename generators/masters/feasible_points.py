"""The nearest point that satisfies all feasibility cuts, or the proof that there is none."""

import numpy as np

from oracle_opt import Domain, EmptyLocalizationSet, Exhausted, Minorant
from oracle_opt.arrays import EPS, Vector
from oracle_opt.domains.projection import Projection, project_on_cuts
from oracle_opt.generators.masters.cut_rows import Rows
from oracle_opt.generators.masters.polyhedra import simple_part

INSIDE = 3e-9  # how far inside each cut the point is wanted, in units of its largest entry: three times the tolerance
FINE = 1e-12  # tolerance for sets that have no interior


def nearest_feasible(domain: Domain, rows: Rows, point: Vector) -> Projection:
    """Project a point on the feasibility cuts within the domain; the multipliers are those of the cuts.

    Parameters
    ----------
    domain : Domain
        With linear constraints; its inequalities are among the rows.
    rows : Rows
        The feasibility cuts.
    point : ndarray of shape (n,)
        The point to project.

    Returns
    -------
    Projection
        The nearest point, and the multipliers.
    """
    simple, equations, sides = simple_part(domain)
    matrix = np.vstack([rows.matrix, equations])
    scale = np.abs(matrix).max(axis=1)
    matrix, rhs = matrix / scale[:, None], np.r_[-rows.constant, sides] / scale
    count = len(rows)
    for margin, tolerance in (
        (INSIDE, INSIDE / 3),
        (0.0, FINE),
    ):  # the second is for sets without interior
        inner = rhs - np.where(np.arange(len(rhs)) < count, margin, 0.0)
        ones, start = np.ones(domain.dimension), np.zeros(len(rhs))
        done = project_on_cuts(simple, point, ones, matrix, inner, start, tolerance, n_equations=len(equations))
        if done.converged and (matrix @ done.point <= rhs)[:count].all():
            break
    nearest = domain.project(done.point) if len(equations) else done.point
    return Projection(nearest, (done.multipliers / scale)[:count], done.converged)


def prove_empty(domain: Domain, rows: Rows, multipliers: Vector) -> bool:
    """Whether ``multipliers @ (constant + matrix @ z)``, at most 0 where all cuts hold, is positive on the domain.

    By more than rounding, and than what the oracle tolerates: then no point is left that it calls feasible.

    Parameters
    ----------
    domain : Domain
        The set, or the one in which a minimizer is stated to lie.
    rows : Rows
        The feasibility cuts.
    multipliers : ndarray of shape (m,)
        Multipliers of the cuts; negative ones count as 0.

    Returns
    -------
    bool
        Whether it is proven.
    """
    u = np.maximum(multipliers, 0.0)
    if not (u.any() and np.isfinite(u).all()):
        return False
    u = u / u.max()
    error = float(u @ rows.error) + EPS * (np.count_nonzero(u) + 6) * float(u @ rows.size)
    tolerance = float(u @ rows.tolerance)
    return is_positive(domain, Minorant(float(u @ rows.constant), rows.combine(u), error, tolerance))


def is_positive(domain: Domain, affine: Minorant) -> bool:
    """Whether an affine function is positive on the domain, by more than its tolerance and whatever rounding did."""
    least = domain.minimize_linear(affine.slope)[0]
    error = affine.error + domain.minimum_rounding(affine.slope) + 2.0 * EPS * (abs(affine.constant) + abs(least))
    return affine.constant + least > error + affine.tolerance


def nothing_left(proven: bool) -> Exhausted:
    """Make the exception of a method that has no point left to ask about.

    Parameters
    ----------
    proven : bool
        Whether the cuts provably leave none; else the method found none.

    Returns
    -------
    Exhausted
        To be raised, with the reason in words.
    """
    if proven:
        return EmptyLocalizationSet("multipliers of the cuts prove that they leave no point of the domain")
    return Exhausted("no point was found that satisfies the feasibility cuts, and no proof that there is none")
