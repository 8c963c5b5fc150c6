"""An upper bound of Benders' function at a point: a point of each scenario's second stage, proven to be one.

Let y be floats, E the equations among the rows and R nearly a right inverse of W_E: ``abs(I - W_E R) <= eta`` in the
norm of row sums. Then ``W_E step = r`` has a solution with ``abs(step) <= abs(R) 1 max abs(r) / (1 - eta)``. Let y have
more room than that to its bounds, and ``W y`` more than what the step moves to the sides of the other rows. Then there
is a point of the second stage that costs at most ``q @ y + abs(q) @ abs(step)``. Room is made by a small step toward a
point inside. Where there is none, the same is tried in fractions. Programs are solved anew: no witness is needed.

An optimal x often lies at the edge of what is feasible, and its last digit outside. Then the value is that of a point
next to x, toward where there is room: the minimum of f is no larger than that, either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import fsum, inf, isfinite, nextafter

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import linalg as sparse_linalg

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.domains import Domain
from oracle_opt.errors import Refuted
from oracle_opt.oracles.benders.exact_stage import ExactStage, Side
from oracle_opt.oracles.benders.proven_vertices import ProvenVertices
from oracle_opt.oracles.benders.scenario_data import Indices, ScenarioData
from oracle_opt.oracles.benders.scenario_points import Bases, Programs, Unsolved, inner_points, inside_of_both
from oracle_opt.oracles.benders.vertices import BASIC, LOWER, UPPER
from oracle_opt.proof.claim import Bound, ValueClaim
from oracle_opt.proof.extended import UNIT, Extended
from oracle_opt.proof.rationals import Fractions

_STEPS = (0.0, 1e-12, 1e-10, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5)  # toward the point inside
_TOGETHER = 1 << 20  # entries of the sides and points looked at together
_MOST_ALONE = 20_000  # scenarios whose programs differ in more than their sides
_MOST_EXACT = 500  # scenarios that fractions are tried for, where floats fail
_FEASIBLE = 1e-6  # a scenario that has no second stage with sides so much wider, relative to their terms, has none
_SHIFTS = (1e-12, 1e-11, 1e-10)  # of x toward a point inside the first stage
_JOINT_SHIFTS = (1e-7, 1e-5, 1e-3, 1e-2, 1e-1)  # of x toward a point inside both stages, which is near
_MOST_JOINT = 30  # scenarios that such a point is looked for together
_MOST_SEARCHED = 5  # scenarios with programs of their own that are searched before points next to x
_ONE = 1
_STARTS = (0.0, 1e-6, 1e-4, 1e-2, 1.0)  # of the way to the point inside: where fractions begin, one after the other
_NEXT = 1e-9  # to an end, relative to 1 and to it: HiGHS' tolerance
_REFINED = 4  # steps of refinement
_SHIFT = 1e-13  # by which sides are moved inside for a vertex, relative to 1 and to the side
_LOST = 5e-10  # of the value: where more is lost in its proof, that does not tell against a claim


@dataclass(frozen=True)
class Sides:
    """Sides of the rows of some scenarios at a point, a line each."""

    members: Indices
    lower: NDArray[np.longdouble]  # less T x, shape (b, m)
    upper: NDArray[np.longdouble]
    error: NDArray[np.longdouble]  # what rounding may have done to them
    size: NDArray[np.longdouble]  # of their terms

    def take(self, lines: Indices) -> Sides:
        """The sides of some of the scenarios."""
        sides = self.lower[lines], self.upper[lines]
        return Sides(self.members[lines], *sides, self.error[lines], self.size[lines])

    def floats(self) -> tuple[Matrix, Matrix]:
        """Lower and upper ones in floats, in this order."""
        lower, upper = self.lower.astype(float), self.upper.astype(float)
        return np.minimum(lower, upper), np.maximum(lower, upper)


@dataclass(frozen=True)
class AlikeScenarios:
    """Scenarios of one recourse matrix and one vector of costs, at a point."""

    sides: Sides
    cost: Vector
    W: sparse.csr_array

    def take(self, lines: Indices) -> AlikeScenarios:
        """Some of the scenarios."""
        return AlikeScenarios(self.sides.take(lines), self.cost, self.W)


@dataclass(frozen=True)
class Valued:
    """The values found of f at a point."""

    above: Bound | None  # a proven upper bound, if there is one
    near: float  # what the value is about
    size: float  # sum of the sizes of its terms
    failing: list[int]  # scenarios of which nothing is proven, the first ones if they are many


def value_bound(data: ScenarioData, domain: Domain, claim: ValueClaim, exact: bool) -> Bound | None:
    """A proven upper bound of f at a point, or next to it; see `Oracle.prove_value`."""
    problem = data.problem
    x = np.asarray(claim.point, dtype=float)
    if x.shape != problem.c.shape or not np.isfinite(x).all():
        raise Refuted(f"its point must be {len(problem.c)} finite numbers")
    if data.ambiguous or (not problem.only_rows_vary and data.n_scenarios > _MOST_ALONE):
        return None
    try:
        with np.errstate(all="ignore"):
            # little is searched at first, also at points next to it; all there is to search where that proves nothing
            for here, there in ((_STARTS, _STARTS),) if exact else ((_STARTS[:2], ()), (_STARTS, _STARTS)):
                at = _valued(data, x, exact, here)
                if _tells(at, at.near, claim):
                    return at.above
                for other in _next_to(data, domain, x, at.failing):
                    if not domain.contains(other):
                        continue
                    try:
                        found = _valued(data, other, exact, there, _ONE)
                    except Refuted:  # too far
                        continue
                    if _tells(found, min(at.near, found.near), claim):
                        return found.above
            if not exact and data.n_scenarios <= _MOST_JOINT:  # what floats lose here is all that is left
                at = _valued(data, x, True, _STARTS)
                if _tells(at, at.near, claim):
                    return at.above
    except Unsolved:
        pass
    return None


def _tells(found: Valued, near: float, claim: ValueClaim) -> bool:
    """Whether something is proven for or against a claim; a small loss of a proof is not against what seems true."""
    if found.above is None:
        return False
    lost = _LOST * found.size
    return found.above <= max(claim.upper, near) + lost or claim.upper < near - lost


def _next_to(data: ScenarioData, domain: Domain, x: Vector, failing: list[int]) -> Iterator[Vector]:
    """Points next to x, toward where there is room in both stages, or in the first one."""
    if 0 < len(failing) < _MOST_JOINT:
        inside = inside_of_both(data, domain, x, np.array(failing))
        if inside is not None:
            yield from (x + shift * (inside - x) for shift in _JOINT_SHIFTS)
    away = domain.interior_point() - x
    yield from (x + shift * away for shift in _SHIFTS)


def _valued(
    data: ScenarioData, x: Vector, exact: bool, starts: Sequence[float], most_failing: int = _MOST_JOINT
) -> Valued:
    """Upper bound of f at x; not all of it is looked at once so many scenarios fail.

    By vertices in floats, unless it shall be `exact`, or points that leave room; then by vertices in fractions, and
    points searched from these starts.
    """
    problem, whole = data.problem, data
    costs: list[float] = []  # p_s Q_s, above and as far as is known
    known: list[float] = []
    total, n_exact, failing = Fraction(0), 0, list[int]()
    for data in whole.sections:
        vertices = None if exact else ProvenVertices(data)
        for sides in _sides_at(data, x):
            if len(failing) >= most_failing == _ONE:
                break
            p = data.probability[sides.members]
            found, near = np.full(len(p), inf), np.full(len(p), np.nan)
            if vertices is not None:
                lower, upper = sides.floats()
                doubt = sides.error.astype(float) + EPS * sides.size.astype(float)
                found, near = vertices.costs(sides.members, lower, upper, doubt)
            left = np.flatnonzero(np.isinf(found))
            if starts != _STARTS and len(left) > _MOST_SEARCHED and not problem.only_rows_vary:
                return Valued(None, -inf, inf, [])
            for lines, group in _groups(data, sides, left):
                done = None if vertices is None or vertices.solved is None else _of_lines(*vertices.solved, lines)
                y, bases = _points(data, group, done)
                near[lines] = y @ group.cost
                if len(failing) >= most_failing:
                    continue  # what the value is about is still of use
                above, inside = np.full(len(lines), inf) if exact else _shifted(data, group, y, bases), y.copy()
                rest = np.flatnonzero(np.isinf(above))
                if len(rest):
                    some, (z, these) = group.take(rest), _of_lines(y, bases, rest)
                    above[rest], inside[rest] = _bounds(data, some, _refined(data, some, z, these))
                found[lines] = above
                for i in np.flatnonzero(np.isinf(found[lines]) | exact).tolist():
                    value = None
                    if len(failing) < most_failing and (exact or n_exact < _MOST_EXACT):
                        n_exact += 1
                        at = bases.at[bases.which[i]] if bases.which[i] >= 0 else None
                        if at is not None or starts == _STARTS:  # HiGHS does not know better
                            tries = [(y[i] + step * (inside[i] - y[i])).astype(float) for step in starts]
                            value = _exact_cost(data, group, i, x, at, tries)
                    if value is None:
                        failing.append(int(group.sides.members[i]))
                    total += Fraction(float(p[lines[i]])) * (value or Fraction(0))
                    found[lines[i]] = 0.0
            known += (p * near).tolist()
            above = np.nextafter((p.astype(np.longdouble) * found).astype(float), inf)
            costs += np.where(found == 0.0, 0.0, above).tolist()
    first = sum((Fraction(c) * Fraction(z) for c, z in zip(problem.c.tolist(), x.tolist(), strict=True)), Fraction(0))
    first += Fraction(problem.offset)
    try:
        bound, near_by = fsum([*costs, float(first + total)]), fsum([*known, float(first)])
        size = fsum(map(abs, [*costs, float(first), float(total)]))
    except (OverflowError, ValueError):
        return Valued(None, inf, inf, failing)
    if failing or not isfinite(size):
        return Valued(None, near_by, size, failing)
    return Valued(first + total if exact else nextafter(bound + 2.0 * EPS * size, inf), near_by, size, failing)


def _sides_at(data: ScenarioData, x: Vector) -> Iterator[Sides]:
    """The sides of all scenarios, some at a time."""
    m, k = data.problem.W.shape
    step = max(1, _TOGETHER // (8 * m + 4 * k))
    at = x.astype(np.longdouble)
    moved = data.T.astype(np.longdouble) @ at
    moved_size = abs(data.T).astype(np.longdouble) @ np.abs(at)
    rows, columns = data.technology_entries.T
    width = int(np.diff(data.T.indptr).max(initial=0)) + len(rows)
    for start in range(0, data.n_scenarios, step):
        members = np.arange(start, min(start + step, data.n_scenarios))
        finite = data.sides(members)
        lower, upper, error = (
            *(finite.astype(np.longdouble) for _ in range(2)),
            np.zeros(finite.shape, dtype=np.longdouble),
        )
        low, wide = data.lower_sides(Extended.of(finite)), data.wide_rows[0]
        lower[:, wide], error[:, wide] = low.x, low.r
        terms = data.technology(members) * at[columns]
        pulled, size = np.tile(moved, (len(members), 1)), np.tile(moved_size, (len(members), 1))
        np.add.at(pulled.T, rows, terms.T)
        np.add.at(size.T, rows, np.abs(terms).T)
        size = size + np.maximum(np.abs(lower), np.abs(upper))
        error = error + UNIT * (width + 6) * size
        lower, upper = lower - pulled, upper - pulled
        lower[:, np.isinf(data.problem.row_lower)], upper[:, np.isinf(data.problem.row_upper)] = -inf, inf
        yield Sides(members, lower, upper, error, size)


def _groups(data: ScenarioData, sides: Sides, lines: Indices) -> Iterator[tuple[Indices, AlikeScenarios]]:
    """Some of these scenarios by their lines; scenarios of the same matrix and costs stay together."""
    if data.problem.only_rows_vary:
        if len(lines):
            yield lines, AlikeScenarios(sides.take(lines), data.problem.q, data.W)
        return
    for i in lines.tolist():
        member = sides.members[i]
        one = np.array([i])
        yield one, AlikeScenarios(sides.take(one), data.costs(np.array([member]))[0], data.matrix(int(member)))


def _of_lines(y: Matrix, bases: Bases, lines: Indices) -> tuple[Matrix, Bases]:
    """Points and bases of some scenarios."""
    return y[lines].copy(), Bases(bases.at, bases.which[lines])


def _points(
    data: ScenarioData, group: AlikeScenarios, done: tuple[Matrix, Bases] | None = None
) -> tuple[Matrix, Bases]:
    """Points of the scenarios' second stages that cost least, within tolerances, and the bases that they are of.

    Those that are `done` are not solved again.
    """
    lower, upper = group.sides.floats()
    programs = Programs(group.cost, group.W, data.problem.y_lower, data.problem.y_upper)
    y, bases = programs.solved(lower, upper) if done is None else done
    none = np.isnan(y).any(axis=1)
    if none.any():
        wider = _FEASIBLE * (1.0 + group.sides.size[none].astype(float))
        y[none] = programs.points(lower[none] - wider, upper[none] + wider)
        lost = np.isnan(y).any(axis=1)
        if lost.any():
            raise Refuted(f"{data.name(int(group.sides.members[lost][0]))} has no second stage at its point")
    return y, bases


def _shifted(data: ScenarioData, group: AlikeScenarios, y: Matrix, bases: Bases) -> Vector:
    """Upper bounds by vertices of sides that are moved inside by next to nothing; infinite where they do not fit."""
    problem = data.problem
    equations = problem.row_lower == problem.row_upper
    if equations.any():
        return np.full(len(y), inf)
    z, k = _refined(data, group, y, bases, _SHIFT), group.W.shape[1]
    solver, ends = (np.zeros((k, 0)), np.zeros(k)), (problem.y_lower, problem.y_upper)
    return _proven_costs(group, np.arange(len(y)), z, equations, solver, ends)


def _refined(
    data: ScenarioData, group: AlikeScenarios, y: Matrix, bases: Bases, shift: float = 0.0
) -> NDArray[np.longdouble]:
    """The vertices of the bases in extended precision: what a row that is tight misses then needs hardly any room.

    With a `shift` of the sides inside, relative to 1 and to the side, NaN where the vertex is out of its bounds.
    """
    m, k = group.W.shape
    found = y.astype(np.longdouble)
    C = sparse.csc_array(sparse.hstack([group.W, -sparse.eye_array(m)]))
    for i, which in enumerate(bases.which.tolist()):
        at = bases.at[which] if which >= 0 else np.zeros(0)
        basic = np.flatnonzero(at == BASIC)
        if len(basic) != m:
            continue
        lower, upper = (side[i] for side in (group.sides.lower, group.sides.upper))
        low = np.r_[data.problem.y_lower, lower + shift * (1.0 + np.abs(lower))]
        high = np.r_[data.problem.y_upper, upper - shift * (1.0 + np.abs(upper))]
        v = np.where(at == LOWER, low, np.where(at == UPPER, high, 0.0))
        v[np.isinf(v)] = 0.0
        try:
            factors = sparse_linalg.splu(C[:, basic])
        except RuntimeError:  # singular
            continue
        for _ in range(_REFINED):
            v[basic] -= factors.solve((C @ v).astype(float))
        found[i] = np.clip(v[:k], data.problem.y_lower, data.problem.y_upper)
        if shift and (np.abs(found[i] - v[:k]) > _NEXT * (1.0 + np.abs(v[:k]))).any():
            found[i] = np.nan  # the basis is that of another vertex
    return found


def _bounds(data: ScenarioData, group: AlikeScenarios, y: NDArray[np.longdouble]) -> tuple[Vector, Matrix]:
    """Upper bounds of the scenarios' costs, infinite where none is proven, and points inside."""
    problem, W = data.problem, group.W
    y_lower, y_upper = problem.y_lower, problem.y_upper
    lower, upper = group.sides.floats()
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
        ends = y_lower[~moves], y_upper[~moves]
        for held in ends:  # what may not move is at its end, not next to it
            here = y[np.ix_(mine, ~moves)]
            at_end = np.isfinite(held) & (np.abs(here - held) <= _NEXT * (1.0 + np.abs(held)))
            y[np.ix_(mine, ~moves)] = np.where(at_end, held, here)
        solver = _right_inverse(W[equations], moves)
        if solver is None:
            continue
        for step in _STEPS:
            left = mine[np.isinf(found[mine])]
            if not len(left):
                break
            point = y[left] + step * (inside[left] - y[left])
            found[left] = _proven_costs(group, left, point, equations, solver, (y_lower, y_upper))
    return found, inside


def _right_inverse(W: sparse.csr_array, moves: NDArray[np.bool_]) -> tuple[Matrix, Vector] | None:
    """R of shape (k, number of equations), 0 where y may not move, and the row sums of its sizes over ``1 - eta``."""
    m, k = W.shape
    R = np.zeros((k, m))
    part = W[:, moves]
    able = np.flatnonzero(np.diff(part.indptr))  # an equation of what may not move holds, or does not
    part, m = part[able], len(able)
    if not m:
        return R, np.zeros(k)
    if part.shape[1] < m:
        return None
    for inverse in (_by_normal_equations, lambda part: np.linalg.pinv(part.toarray())):
        own = inverse(part)
        if own is None:
            continue
        doubt = EPS * (part.shape[1] + 4) * (abs(part) @ np.abs(own))
        eta = float((np.abs(np.eye(m) - part @ own) + doubt).sum(axis=1).max())
        if eta < 0.01:
            R[np.ix_(moves, able)] = own
            return R, 1.02 * np.abs(R).sum(axis=1)
    return None


def _by_normal_equations(part: sparse.csr_array) -> Matrix | None:
    """The right inverse of least norm, if rounding leaves it: ten times faster than by singular values."""
    try:
        found: Matrix = part.T @ np.linalg.inv((part @ part.T).toarray())
    except np.linalg.LinAlgError:
        return None
    return found


def _proven_costs(
    group: AlikeScenarios,
    lines: Indices,
    point: NDArray[np.longdouble],
    equations: NDArray[np.bool_],
    solver: tuple[Matrix, Vector],
    bounds: tuple[Vector, Vector],
) -> Vector:
    """Upper bounds of the costs of some scenarios, infinite where a point is not proven to be near one of these."""
    R, reach = solver
    at = group.sides
    lower, upper, error = at.lower[lines], at.upper[lines], at.error[lines]
    W, point = group.W.astype(np.longdouble), point.astype(np.longdouble)
    for _ in range(3):
        point = np.clip(point, *bounds)
        if not equations.any():
            break
        missing = (lower - (W @ point.T).T)[:, equations].astype(float)
        point = point + missing @ R.T
    point = np.clip(point, *bounds)
    rows, sizes = (W @ point.T).T, (abs(W) @ np.abs(point).T).T
    error = error + UNIT * (np.diff(group.W.indptr) + 4) * sizes
    off, able = (np.abs(lower - rows) + error)[:, equations], R.any(axis=0)
    missed = np.max(off[:, able], axis=1, initial=0.0)
    step = missed[:, None] * reach
    need = (error + (abs(W) @ step.T).T) * (1.0 + 1e-9)
    fits = ((rows - lower >= need) & (upper - rows >= need) | equations).all(axis=1)
    wide = step * (1.0 + 1e-9)
    held = (step == 0) | ((point - bounds[0] >= wide) & (bounds[1] - point >= wide))
    fits &= held.all(axis=1) & (off[:, ~able] == 0).all(axis=1)
    sized = np.abs(group.cost) * (np.abs(point) + step)
    cost = point @ group.cost.astype(np.longdouble) + step @ np.abs(group.cost)
    cost += UNIT * (2 * point.shape[1] + 6) * sized.sum(axis=1)
    return np.where(fits, np.nextafter(cost.astype(float), inf), inf)


def _exact_cost(
    data: ScenarioData, group: AlikeScenarios, i: int, x: Vector, basis: NDArray[np.int8] | None, points: list[Vector]
) -> Fraction | None:
    """Cost of a point of one scenario, in fractions: of a basis, or near to the first of some for which that works."""
    problem, member = data.problem, int(group.sides.members[i])
    upper = Fractions.of(data.sides(np.array([member]))) - Fractions.of(x).mapped(data.technology_matrix(member))
    lower = upper.x.copy()
    lower[:, data.wide_rows[0]] = data.lower_sides(upper).x
    lower[:, np.isinf(problem.row_lower)], upper.x[:, np.isinf(problem.row_upper)] = None, None
    sides: list[tuple[Side, Side]] = [*zip(lower[0].tolist(), upper.x[0].tolist(), strict=True)]
    stage = ExactStage(group.W, problem.y_lower, problem.y_upper, sides)
    found = None if basis is None else stage.vertex(basis)
    for y in points:
        if found is not None:
            break
        found = stage.point(y)
    if found is None:
        return None
    costs = zip(group.cost.tolist(), found, strict=True)
    return sum((Fraction(q) * value for q, value in costs if value), Fraction(0))
