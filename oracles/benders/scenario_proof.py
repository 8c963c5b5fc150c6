"""What the dual vectors of scenarios prove of a cut: the proof that a certificate is checked by.

With multipliers pi_s of each scenario of a summand, and the bound of `dual_bound`,

    f_j(z) >= share_j (c @ z + offset) + sum_s p_s (least(pi_s) + pi_s @ (side_s - T_s z)),

for every z at all. A ray, pi with costs 0, proves in the same way that ``0 >= least(pi) + pi @ (side_s - T_s z)``
wherever scenario s has a second stage. A claim exceeds this affine function by its own excess at 0 and by what the
slopes differ by, over the domain. Nothing here is shared with what makes cuts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import fsum, inf, isfinite, nextafter

import numpy as np
from scipy import sparse

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.domains import Domain
from oracle_opt.errors import Refuted
from oracle_opt.oracles.benders.dual_bound import INFEASIBLE, ExactDual, check_signs, least_costs
from oracle_opt.oracles.benders.scenario_data import UNIT, Extended, Indices, ScenarioData
from oracle_opt.oracles.benders.scenario_duals import RAY, RAY_OF, VERTEX_OF, VERTICES
from oracle_opt.proof.affine_excess import excess_of
from oracle_opt.proof.claim import Bound, ClaimKind, CutClaim
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.witness_numbers import number, numbers, whole_numbers

_TOGETHER = 1 << 19  # entries of the dual vectors looked at together


@dataclass(frozen=True)
class Subject:
    """What a claim is about.

    Attributes
    ----------
    members : ndarray of int
        Scenarios.
    weights : ndarray
        Their probabilities, or 1 for a ray.
    vertices, vertex_of : ndarray of shape (K, m), ndarray of int
        Dual vectors, and which one each scenario has.
    share : Fraction
        Share of the first stage's cost.
    costs : bool
        Whether the costs of the second stage count: not for a ray.
    """

    members: Indices
    weights: Vector
    vertices: Matrix
    vertex_of: Indices
    share: Fraction
    costs: bool


def cut_excess(data: ScenarioData, domain: Domain, claim: CutClaim, exact: bool) -> Bound | None:
    """By how much a cut claims more than its dual vectors prove; see `Oracle.prove_cut`."""
    numbers("slope of the claim", claim.slope, domain.dimension)
    number("constant of the claim", claim.constant)
    try:
        with np.errstate(all="ignore"):
            excess = _excess(data, domain, claim, exact)
    except Refuted:
        raise
    except (OverflowError, ValueError) as problem:
        raise Refuted(f"the numbers of its witness prove nothing: {problem}") from problem
    if excess is not None and not isfinite(excess):
        raise Refuted("the numbers of its witness are too large to prove anything")
    return excess


def _excess(data: ScenarioData, domain: Domain, claim: CutClaim, exact: bool) -> Bound | None:
    subject = _subject(data, claim)
    if subject is None or data.ambiguous:
        return None
    check_signs(subject.vertices, data.problem.row_lower, data.problem.row_upper)
    claimed = Enclosure.of(claim.constant, exact)
    if exact:
        found = in_fractions(data, subject)
        if found is None:
            return None
        value, slopes = (Enclosure.of(np.array(one, dtype=object), exact) for one in found)
        return excess_of(domain, claimed - value, Enclosure.of(claim.slope, exact) - slopes)
    proven = _in_floats(data, subject)
    if proven is None:
        return None
    constant, error, slope, slope_error = proven
    steeper = (claim.slope - slope).astype(float)  # the difference is small, and rounded where it is made
    doubt = slope_error + EPS * np.abs(steeper)
    return excess_of(
        domain,
        claimed - Enclosure.within(np.array(constant), np.array(error)),
        Enclosure.within(steeper, doubt),
    )


def _subject(data: ScenarioData, claim: CutClaim) -> Subject | None:
    """What the claim is about, as its witness has it; None without one."""
    witness, m = claim.witness, len(data.problem.row_lower)
    if claim.kind is ClaimKind.HALF_SPACE:
        if not {RAY, RAY_OF} <= set(witness):
            return None
        member = whole_numbers(RAY_OF, witness[RAY_OF], data.n_scenarios)
        one = np.zeros(1, dtype=np.intp)
        ray = numbers(RAY, witness[RAY], m)[None]
        return Subject(member.reshape(1), np.ones(1), ray, one, Fraction(0), False)
    if claim.kind is ClaimKind.BOUND or not {VERTICES, VERTEX_OF} <= set(witness):
        return None
    first, last, share = 0, data.n_scenarios, Fraction(1)
    if claim.kind is ClaimKind.SUMMAND:
        j = claim.summand
        if claim.n_summands != data.n_summands or not 0 <= j < data.n_summands:
            raise Refuted(f"it is of summand {j} of {claim.n_summands}, and the oracle has {data.n_summands}")
        first, last = data.first_of[j], data.first_of[j + 1]
        shares = [Fraction(one) for one in data.shares.tolist()]
        share = shares[j] if j < len(shares) else 1 - sum(shares, Fraction(0))
    members = np.arange(first, last)
    vertices = numbers(VERTICES, witness[VERTICES], None, m)
    vertex_of = whole_numbers(VERTEX_OF, witness[VERTEX_OF], len(vertices), len(members))
    return Subject(members, data.probability[first:last], vertices, vertex_of, share, True)


def _in_floats(data: ScenarioData, subject: Subject) -> tuple[float, float, Extended, Vector] | None:
    """Constant, its error, slope and its error: what is proven."""
    problem = data.problem
    n, entries = len(problem.c), data.technology_entries
    values, sizes, lost = [], 0.0, 0.0
    mean, pull = np.zeros(data.T.shape[0], dtype=np.longdouble), np.zeros(len(entries), dtype=np.longdouble)
    n_parts = 0
    mean_size, pull_size, moved_size = np.zeros(data.T.shape[0]), np.zeros(len(entries)), np.zeros(n)
    T_size = abs(data.T)
    for part in _parts(subject, data):
        bounds = _bounds(data, subject, part)
        if bounds is None:
            return None
        pi, least, error, moved = bounds
        members, weight = subject.members[part], subject.weights[part].astype(np.longdouble)
        lower, upper, doubt = data.sides(members)
        side = np.where(pi > 0, lower, np.where(pi < 0, upper, 0.0))
        terms = pi * side
        size = np.abs(terms).sum(axis=1) + np.abs(least)
        reach = np.maximum(np.where(np.isinf(lower), 0.0, np.abs(lower)), np.where(np.isinf(upper), 0.0, np.abs(upper)))
        error = error + UNIT * (len(pi[0]) + 6) * size + ((np.abs(pi) + moved) * doubt + moved * reach).sum(axis=1)
        values += _split(weight * (least + terms.sum(axis=1)))
        sizes += float(weight @ size)
        lost += float(weight @ error)
        mean += _column_sums(weight[:, None] * pi)
        mean_size += (weight @ np.abs(pi)).astype(float)
        technology = data.technology(members)
        pulled = technology * pi[:, entries[:, 0]]
        pull += _column_sums(weight[:, None] * pulled)
        n_parts += 1
        pull_size += (weight @ np.abs(pulled)).astype(float)
        if moved.any():
            moved_size += T_size.T @ (weight @ moved).astype(float)
            np.add.at(
                moved_size, entries[:, 1], (weight @ (np.abs(technology) * moved[:, entries[:, 0]])).astype(float)
            )
    high = float(subject.share)
    share = np.longdouble(high) + np.longdouble(float(subject.share - Fraction(high)))
    turned = sparse.csr_array(data.T.T)
    slope = share * problem.c.astype(np.longdouble) - turned.astype(np.longdouble) @ mean
    slope_size = high * np.abs(problem.c) + T_size.T @ mean_size
    np.subtract.at(slope, entries[:, 1], pull)
    np.add.at(slope_size, entries[:, 1], pull_size)
    count = np.diff(turned.indptr) + np.bincount(entries[:, 1], minlength=n) + n_parts + 8
    slope_error = UNIT * count * slope_size + 1.01 * moved_size
    offset = float(share * problem.offset)
    constant = fsum([*values, offset])
    return constant, 1.01 * (lost + 4.0 * EPS * (sizes + abs(offset))), slope, slope_error


def _parts(subject: Subject, data: ScenarioData) -> Iterator[slice]:
    step = max(1, _TOGETHER // max(sum(data.problem.W.shape), 1))
    for start in range(0, len(subject.members), step):
        yield slice(start, start + step)


def _bounds(data: ScenarioData, subject: Subject, part: slice) -> tuple[Matrix, Extended, Extended, Matrix] | None:
    """Dual vectors of some scenarios, ``least(pi)``, its error, and how far feasible ones are from these."""
    problem, members, which = data.problem, subject.members[part], subject.vertex_of[part]
    alike = problem.only_rows_vary or not (subject.costs or len(data.recourse_entries))
    # where costs and W are the same in all scenarios, each vertex is looked at once
    lines, again = np.unique(which, return_inverse=True) if alike else (which, np.arange(len(which)))
    scenarios = members[:1].repeat(len(lines)) if alike else members
    pi = subject.vertices[lines]
    cost = data.costs(scenarios) if subject.costs else np.zeros((1, problem.q.size))
    bounds = problem.y_lower, problem.y_upper
    least, error, missing = least_costs(pi, cost, data.W, data.recourse_entries, data.recourse(scenarios), *bounds)
    moved = np.zeros_like(pi)
    if missing.max(initial=0.0) > INFEASIBLE:
        raise Refuted(f"a dual vector of its witness misses a constraint of the dual by {float(missing.max()):.1e}")
    for line in np.flatnonzero(missing > 0).tolist():
        found = _exact_dual(data, pi[line], cost[line % len(cost)], int(scenarios[line]))
        if not found.proven:
            return None
        steps = (abs(new - Fraction(old)) for new, old in zip(found.pi, pi[line].tolist(), strict=True))
        moved[line] = [nextafter(float(step), inf) if step else 0.0 for step in steps]
        least[line] = float(found.least)
        error[line] = EPS * abs(least[line])
    again = again.ravel()
    return pi[again], least[again], error[again], moved[again]


def _exact_dual(data: ScenarioData, pi: Vector, cost: Vector, member: int) -> ExactDual:
    p = data.problem
    return ExactDual(pi, cost, data.matrix(member), p.y_lower, p.y_upper, p.row_lower, p.row_upper)


def _split(terms: Extended) -> list[float]:
    """The same numbers as twice as many floats."""
    high = terms.astype(float)
    return [*high.tolist(), *(terms - high).astype(float).tolist()]


def _column_sums(terms: Extended) -> Extended:
    """Sums of the columns, rounded about once: what the rounded sum leaves is added to it."""
    sums = []
    for column in terms.T:
        each = _split(column)
        total = fsum(each)
        sums.append(np.longdouble(total) + np.longdouble(fsum([*each, -total])))
    return np.array(sums, dtype=np.longdouble)


def in_fractions(data: ScenarioData, subject: Subject) -> tuple[Fraction, list[Fraction]] | None:
    """Constant and slope that are proven, exactly."""
    problem = data.problem
    slope = [subject.share * Fraction(c) for c in problem.c.tolist()]
    constant = subject.share * Fraction(problem.offset)
    known: dict[int, ExactDual] = {}
    alike = problem.only_rows_vary
    for member, p, row in zip(
        subject.members.tolist(), subject.weights.tolist(), subject.vertex_of.tolist(), strict=True
    ):
        dual = known.get(row) if alike else None
        if dual is None:
            cost = data.costs(np.array([member]))[0] if subject.costs else np.zeros(problem.q.size)
            dual = known[row] = _exact_dual(data, subject.vertices[row], cost, member)
        if not dual.proven:
            _refuse_infeasible(data, subject)
            return None
        weight, T = Fraction(p), data.technology_matrix(member)
        sides = exact_sides(data, member)
        value = dual.least
        for i, pi in enumerate(dual.pi):
            if pi:
                value += pi * sides[i][0 if pi > 0 else 1]
                for j, t in zip(
                    T.indices[T.indptr[i] : T.indptr[i + 1]].tolist(),
                    T.data[T.indptr[i] : T.indptr[i + 1]].tolist(),
                    strict=True,
                ):
                    slope[j] -= weight * pi * Fraction(t)
        constant += weight * value
    return constant, slope


def _refuse_infeasible(data: ScenarioData, subject: Subject) -> None:
    """Refuse dual vectors that are far from feasible."""
    for part in _parts(subject, data):
        _bounds(data, subject, part)


def exact_sides(data: ScenarioData, member: int) -> list[tuple[Fraction, Fraction]]:
    """Sides of the rows of a scenario; 0 in place of infinite ones."""
    problem = data.problem
    result = [
        (Fraction(low) if isfinite(low) else Fraction(0), Fraction(high) if isfinite(high) else Fraction(0))
        for low, high in zip(problem.row_lower.tolist(), problem.row_upper.tolist(), strict=True)
    ]
    for block, outcome in zip(problem.blocks, data.outcomes[member].tolist(), strict=True):
        assert block.rhs is not None
        for i, value in zip(block.rows.tolist(), block.rhs[outcome].tolist(), strict=True):
            low, high = result[i]
            if isfinite(problem.row_upper[i]):
                along = low + Fraction(value) - high if isfinite(problem.row_lower[i]) else low
                result[i] = along, Fraction(value)
            elif isfinite(problem.row_lower[i]):
                result[i] = Fraction(value), high
    return result
