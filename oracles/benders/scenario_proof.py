"""The proof of a cut by the dual vectors of scenarios, by which a certificate is checked.

With multipliers pi_s of each scenario of a summand, and the bound of `dual_bound`,

    f_j(z) >= share_j (c @ z + offset) + sum_s p_s (least(pi_s) + pi_s @ (side_s - T_s z)),

for every z at all. A ray, pi with costs 0, proves in the same way that ``0 >= least(pi) + pi @ (side_s - T_s z)``
wherever scenario s has a second stage. A claim exceeds this affine function by its own excess at 0 and by what the
slopes differ by, over the domain. Nothing here is shared with what makes cuts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite

import numpy as np

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.domains import Domain
from oracle_opt.errors import Refuted
from oracle_opt.oracles.benders.dual_bound import check_signs, feasible, summing
from oracle_opt.oracles.benders.scenario_data import Indices, ScenarioData
from oracle_opt.oracles.benders.scenario_duals import RAY, RAY_OF, SECTION, VERTEX_OF, VERTICES
from oracle_opt.proof.affine_excess import excess_of
from oracle_opt.proof.claim import Bound, ClaimKind, CutClaim
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.extended import Extended
from oracle_opt.proof.linear import least_over
from oracle_opt.proof.number import Numbers
from oracle_opt.proof.rationals import Fractions
from oracle_opt.proof.witness_numbers import number, numbers, whole_numbers

_TOGETHER = 1 << 19  # entries of the dual vectors looked at together


@dataclass(frozen=True)
class Subject:
    """The subject of a claim."""

    members: Indices  # scenarios
    weights: Vector  # their probabilities, or 1 for a ray
    vertices: Matrix  # dual vectors, shape (K, m)
    vertex_of: Indices  # which one each scenario has
    share: Fraction  # of the first stage's cost
    costs: bool  # whether the costs of the second stage count: not for a ray


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
    about = None if data.ambiguous else subject_of(data, claim)
    if about is None:
        return None
    data, subject = about
    check_signs(subject.vertices, data.problem.row_lower, data.problem.row_upper)
    found = proven(data, subject, Fractions if exact else Extended)
    if found is None:
        return None
    head, difference = (claimed - one for claimed, one in zip((claim.constant, claim.slope), found, strict=True))
    return excess_of(domain, Enclosure.around(head), Enclosure.around(difference))


def subject_of(data: ScenarioData, claim: CutClaim) -> tuple[ScenarioData, Subject] | None:
    """The subject of a claim by its witness, and the data of the subject; None without a witness."""
    witness = claim.witness
    if claim.kind is ClaimKind.HALF_SPACE:
        if not {RAY, RAY_OF} <= set(witness):
            return None
        if SECTION in witness:
            data = data.sections[int(whole_numbers(SECTION, witness[SECTION], len(data.sections)))]
        member = whole_numbers(RAY_OF, witness[RAY_OF], data.n_scenarios)
        one = np.zeros(1, dtype=np.intp)
        ray = numbers(RAY, witness[RAY], len(data.problem.row_lower))[None]
        return data, Subject(member.reshape(1), np.ones(1), ray, one, Fraction(0), False)
    if claim.kind is ClaimKind.BOUND or not {VERTICES, VERTEX_OF} <= set(witness):
        return None
    first, last, share = 0, data.n_scenarios, Fraction(1)
    if claim.kind is ClaimKind.SUMMAND:
        j = claim.summand
        if claim.n_summands != data.n_summands or not 0 <= j < data.n_summands:
            raise Refuted(f"it is of summand {j} of {claim.n_summands}, and the oracle has {data.n_summands}")
        group, section = divmod(j, data.of_sections)
        first, last = data.first_of[group], data.first_of[group + 1]
        shares = [Fraction(one) for one in data.shares.tolist()]
        share = shares[j] if j < len(shares) else 1 - sum(shares, Fraction(0))
        data = data if data.of_sections == 1 else data.sections[section]
    members = np.arange(first, last)
    vertices = numbers(VERTICES, witness[VERTICES], None, len(data.problem.row_lower))
    vertex_of = whole_numbers(VERTEX_OF, witness[VERTEX_OF], len(vertices), len(members))
    return data, Subject(members, data.probability[first:last], vertices, vertex_of, share, True)


def proven(data: ScenarioData, subject: Subject, kind: type[Numbers]) -> tuple[Numbers, Numbers] | None:
    """Constant and slope of the affine function that is proven; None where a dual vector cannot be mended."""
    problem, places = data.problem, data.technology_entries
    share = kind.of(subject.share)
    constant = share * problem.offset
    slope = share * problem.c
    for part in _parts(subject, data):
        members, weight = subject.members[part], kind.of(subject.weights[part])
        used: Indices = subject.vertex_of[part]
        which: Indices | slice = slice(None)
        scenarios, mass = members, weight
        if problem.only_rows_vary or not (subject.costs or len(data.recourse_entries)):
            # costs and W are the same in all scenarios: each vertex is looked at once
            used, which = np.unique(used, return_inverse=True)
            scenarios, mass = members[:1].repeat(len(used)), weight.mapped(summing(which, len(used)))
        cost = data.costs(scenarios) if subject.costs else np.zeros((1, problem.q.size))
        found = feasible(data, subject.vertices[used], cost, scenarios, kind)
        if found is None:
            return None
        pi, least = found
        mine = pi[:, which]
        constant = constant + weight.dot(least[which] + least_over(mine, data.sides(members).T, data.wide_rows))
        slope = slope - (pi * mass).sum(axis=1).mapped(data.T.T)
        if len(places):
            pulled = (mine[places[:, 0]] * data.technology(members).T * weight).sum(axis=1)
            slope = slope - pulled.mapped(summing(places[:, 1], len(problem.c)))
    return constant, slope


def _parts(subject: Subject, data: ScenarioData) -> Iterator[slice]:
    step = max(1, _TOGETHER // max(sum(data.problem.W.shape), 1))
    for start in range(0, len(subject.members), step):
        yield slice(start, start + step)
