"""An upper bound of Benders' function at a point: a point of each scenario's second stage, proven to be one.

Let y be floats, E the equations among the rows and R nearly a right inverse of W_E: ``abs(I - W_E R) <= eta`` in the
norm of row sums. Then ``W_E step = r`` has a solution with ``abs(step) <= abs(R) 1 max abs(r) / (1 - eta)``. If y has
more room than that to its bounds, and ``W y`` more than what the step moves to the sides of the other rows, there is a
point of the second stage that costs at most ``q @ y + abs(q) @ abs(step)``. Room is made by a small step toward a point
inside. Where there is none, the same is tried in fractions. Programs are solved anew: no witness is needed.

An optimal x often lies at the edge of what is feasible, and its last digit outside. Then the value is that of a point
so near to x, toward the inside of the first stage, that only rounding tells the two apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import fsum, inf, isfinite, nextafter

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.certificates.claim import ValueClaim
from oracle_opt.domains import Domain
from oracle_opt.errors import Refuted
from oracle_opt.oracles.benders.exact_point import Side, exact_point
from oracle_opt.oracles.benders.scenario_data import UNIT, Extended, Indices, ScenarioData
from oracle_opt.oracles.benders.scenario_points import Programs, inner_points
from oracle_opt.oracles.benders.scenario_proof import exact_sides

_STEPS = (0.0, 1e-12, 1e-10, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5)  # toward the point inside
_TOGETHER = 1 << 20  # entries of the sides and points looked at together
_MOST_ALONE = 20_000  # scenarios whose programs differ in more than their sides
_MOST_EXACT = 500  # scenarios that fractions are tried for, where floats fail
_FEASIBLE = 1e-6  # a scenario that has no second stage with sides so much wider, relative to their terms, has none
_SHIFTS = (0.0, 1e-12, 1e-11, 1e-10)  # of x toward a point inside the first stage
_STARTS = (0.0, 1e-6, 1e-4, 1e-2, 1.0)  # of the way to the point inside: where fractions begin, one after the other
_LOST = 5e-10  # of the value: where more is lost in its proof, that does not tell against a claim


@dataclass(frozen=True)
class AlikeScenarios:
    """Scenarios of one recourse matrix and one vector of costs, at a point.

    Attributes
    ----------
    members : ndarray of int
    cost, W : ndarray of shape (k,), csr_array of shape (m, k)
    lower, upper : ndarray of shape (b, m)
        Sides less T x.
    error, size : ndarray of shape (b, m)
        What rounding may have done to them, and the sizes of their terms.
    """

    members: Indices
    cost: Vector
    W: sparse.csr_array
    lower: Extended
    upper: Extended
    error: Extended
    size: Extended


def value_bound(data: ScenarioData, domain: Domain, claim: ValueClaim, exact: bool) -> float | Fraction | None:
    """A proven upper bound of f at a point, or next to it; see `Oracle.prove_value`."""
    problem = data.problem
    x = np.asarray(claim.point, dtype=float)
    if x.shape != problem.c.shape or not np.isfinite(x).all():
        raise Refuted(f"its point must be {len(problem.c)} finite numbers")
    if data.ambiguous or (not problem.only_rows_vary and data.n_scenarios > _MOST_ALONE):
        return None
    away = domain.interior_point() - x
    about = inf
    for shift in _SHIFTS:
        with np.errstate(all="ignore"):
            above, near, size = _value(data, x + shift * away, exact)
        about = min(about, near)
        # what a proof of little room loses does not tell against a claim that seems to be true
        unclear = above is not None and above - about > _LOST * size and above > claim.upper >= about - _LOST * size
        if above is not None and not unclear:
            return above
    return None


def _value(data: ScenarioData, x: Vector, exact: bool) -> tuple[float | Fraction | None, float, float]:
    """An upper bound at x, None where nothing is proven, what it is about, and the size of its terms."""
    problem = data.problem
    costs: list[float] = []  # p_s Q_s, above and as far as is known
    known: list[float] = []
    total, n_exact, proven = Fraction(0), 0, True
    for group in _groups(data, x):
        found, y, inside = _bounds(data, group)
        p = data.probability[group.members]
        known += (p * (y @ group.cost)).tolist()
        for i in np.flatnonzero(np.isinf(found) | exact).tolist():
            n_exact += not exact
            value = None
            if proven and (exact or n_exact <= _MOST_EXACT):
                value = _exact_cost(data, group, i, [y[i] + step * (inside[i] - y[i]) for step in _STARTS], x)
            proven = value is not None
            total += Fraction(float(p[i])) * (value or Fraction(0))
            found[i] = 0.0
        costs += np.where(
            found == 0.0, 0.0, np.nextafter((p.astype(np.longdouble) * found).astype(float), inf)
        ).tolist()
    first = sum((Fraction(c) * Fraction(z) for c, z in zip(problem.c.tolist(), x.tolist(), strict=True)), Fraction(0))
    first += Fraction(problem.offset)
    try:
        above, near = fsum([*costs, float(first + total)]), fsum([*known, float(first)])
        size = fsum(map(abs, [*costs, float(first), float(total)]))
    except (OverflowError, ValueError):
        return None, inf, inf
    if not (proven and isfinite(size)):
        return None, near, size
    return (first + total if exact else nextafter(above + 2.0 * EPS * size, inf)), near, size


def _groups(data: ScenarioData, x: Vector) -> Iterator[AlikeScenarios]:
    """All scenarios, those of the same matrix and costs together."""
    problem = data.problem
    m, k = problem.W.shape
    alike = problem.only_rows_vary
    step = max(1, _TOGETHER // (8 * m + 4 * k)) if alike else 1
    at = x.astype(np.longdouble)
    moved = data.T.astype(np.longdouble) @ at
    moved_size = abs(data.T).astype(np.longdouble) @ np.abs(at)
    rows, columns = data.technology_entries.T
    width = int(np.diff(data.T.indptr).max(initial=0)) + len(rows)
    for start in range(0, data.n_scenarios, step):
        members = np.arange(start, min(start + step, data.n_scenarios))
        lower, upper, error = data.sides(members)
        terms = data.technology(members) * at[columns]
        pulled, size = np.tile(moved, (len(members), 1)), np.tile(moved_size, (len(members), 1))
        np.add.at(pulled.T, rows, terms.T)
        np.add.at(size.T, rows, np.abs(terms).T)
        finite = (np.where(np.isinf(side), 0.0, np.abs(side)) for side in (lower, upper))
        size = size + np.maximum(*finite)
        error = error + UNIT * (width + 6) * size
        W, cost = (data.W, problem.q) if alike else (data.matrix(start), data.costs(members)[0])
        yield AlikeScenarios(members, cost, W, lower - pulled, upper - pulled, error, size)


def _bounds(data: ScenarioData, group: AlikeScenarios) -> tuple[Vector, Matrix, Matrix]:
    """Upper bounds of the scenarios' costs, infinite where none is proven, points that cost least, and points inside.

    Raises
    ------
    Refuted
        A scenario has no second stage, with wider sides either.
    """
    problem, W = data.problem, group.W
    y_lower, y_upper = problem.y_lower, problem.y_upper
    lower, upper = group.lower.astype(float), group.upper.astype(float)
    lower, upper = np.minimum(lower, upper), np.maximum(lower, upper)
    programs = Programs(group.cost, W, y_lower, y_upper)
    y = programs.points(lower, upper)
    none = np.isnan(y).any(axis=1)
    if none.any():
        wider = _FEASIBLE * (1.0 + group.size[none].astype(float))
        y[none] = programs.points(lower[none] - wider, upper[none] + wider)
        lost = np.isnan(y).any(axis=1)
        if lost.any():
            raise Refuted(f"scenario {int(group.members[lost][0])} has no second stage at its point")
    equations = problem.row_lower == problem.row_upper
    found = np.full(len(y), inf)
    inside = inner_points(group.cost, W, y_lower, y_upper, equations, lower, upper)
    failed = np.isnan(inside).any(axis=1)
    inside[failed] = y[failed]
    # which entries of y may be moved for the sake of the equations
    room = (np.minimum(inside - y_lower, y_upper - inside) > 1e-12 * (1.0 + np.abs(inside))) & equations.any()
    patterns, of_pattern = np.unique(room, axis=0, return_inverse=True)
    for number, moves in enumerate(patterns):
        mine = np.flatnonzero(of_pattern.ravel() == number)
        solver = _right_inverse(W[equations], moves)
        if solver is None:
            continue
        for step in _STEPS:
            left = mine[np.isinf(found[mine])]
            if not len(left):
                break
            point = y[left] + step * (inside[left] - y[left])
            found[left] = _proven_costs(group, left, point, equations, solver, (y_lower, y_upper))
    return found, y, inside


def _right_inverse(W: sparse.csr_array, moves: NDArray[np.bool_]) -> tuple[Matrix, Vector] | None:
    """R of shape (k, number of equations), 0 where y may not move, and the row sums of its sizes over ``1 - eta``."""
    m, k = W.shape
    R = np.zeros((k, m))
    if not m:
        return R, np.zeros(k)
    part = W.toarray()[:, moves]
    if part.shape[1] < m:
        return None
    R[moves] = np.linalg.pinv(part)
    sizes = np.abs(part) @ np.abs(R[moves])
    eta = float((np.abs(np.eye(m) - part @ R[moves]) + EPS * (part.shape[1] + 4) * sizes).sum(axis=1).max())
    if not eta < 0.01:
        return None
    return R, 1.02 * np.abs(R).sum(axis=1)


def _proven_costs(
    group: AlikeScenarios, lines: Indices, point: Matrix, equations: NDArray[np.bool_], solver: tuple[Matrix, Vector],
    bounds: tuple[Vector, Vector],
) -> Vector:  # fmt: skip
    """Upper bounds of the costs of some scenarios, infinite where a point is not proven to be near one of these."""
    R, reach = solver
    lower, upper, error = group.lower[lines], group.upper[lines], group.error[lines]
    W = group.W.astype(np.longdouble)
    for _ in range(2):
        if not equations.any():
            break
        missing = (lower - (W @ point.T).T)[:, equations].astype(float)
        point = np.clip(point + missing @ R.T, *bounds)
    point = np.clip(point, *bounds)
    rows, sizes = (W @ point.T).T, (abs(W) @ np.abs(point).T).T
    error = error + UNIT * (np.diff(group.W.indptr) + 4) * sizes
    missed = np.max((np.abs(lower - rows) + error)[:, equations], axis=1, initial=0.0)
    step = missed[:, None] * reach
    need = (error + (abs(W) @ step.T).T) * (1.0 + 1e-9)
    fits = ((rows - lower >= need) & (upper - rows >= need) | equations).all(axis=1)
    wide = step * (1.0 + 1e-9)
    held = (step == 0) | ((point - bounds[0] >= wide) & (bounds[1] - point >= wide))
    fits &= held.all(axis=1)
    sized = np.abs(group.cost) * (np.abs(point) + step)
    cost = point @ group.cost.astype(np.longdouble) + step @ np.abs(group.cost)
    cost += UNIT * (2 * point.shape[1] + 6) * sized.sum(axis=1)
    return np.where(fits, np.nextafter(cost.astype(float), inf), inf)


def _exact_cost(
    data: ScenarioData, group: AlikeScenarios, i: int, points: Sequence[Vector], x: Vector
) -> Fraction | None:
    """Cost of a point of one scenario, in fractions, near to the first of some points for which that works."""
    member = int(group.members[i])
    T, at = data.technology_matrix(member), [Fraction(z) for z in x.tolist()]
    sides: list[tuple[Side, Side]] = []
    for r, (low, high) in enumerate(exact_sides(data, member)):
        part = slice(T.indptr[r], T.indptr[r + 1])
        pairs = zip(T.indices[part].tolist(), T.data[part].tolist(), strict=True)
        pulled = sum((Fraction(t) * at[j] for j, t in pairs), Fraction(0))
        least, most = data.problem.row_lower[r], data.problem.row_upper[r]
        sides.append((low - pulled if isfinite(least) else None, high - pulled if isfinite(most) else None))
    for y in points:
        found = exact_point(y, group.W, data.problem.y_lower, data.problem.y_upper, sides)
        if found is not None:
            return sum((Fraction(q) * value for q, value in zip(group.cost.tolist(), found, strict=True)), Fraction(0))
    return None
