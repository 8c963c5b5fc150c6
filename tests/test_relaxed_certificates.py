"""Certificates of Lagrangian relaxations: written, read, and examined against the data; truth from other solvers."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import LinearConstraint, linprog, milp
from scipy.sparse.csgraph import minimum_spanning_tree, shortest_path

from oracle_opt import InvalidCertificate, Refuted, minimize
from oracle_opt.certificates.certificate import Certificate
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle
from oracle_opt.oracles import GeneralizedAssignmentOracle
from oracle_opt.oracles.lagrangian import FacilityLocationOracle, HeldKarpOracle, MulticommodityFlowOracle
from oracle_opt.proof.claim import ValueClaim

FOLDER = os.environ.get("ORACLE_OPT_PROBLEMS")


def tours(seed, multicut=False):
    places = np.random.default_rng(seed).uniform(size=(9, 2))
    return HeldKarpOracle(np.linalg.norm(places[:, None] - places, axis=2))


def shortest_tour(oracle):
    """Held and Karp's dynamic program over sets of cities."""
    d = oracle.distances
    n = len(d)
    best = {(1 << j, j): d[0, j] for j in range(1, n)}
    for cities in range(1, 1 << n):
        for j in range(1, n):
            if (cities, j) in best:
                for k in range(1, n):
                    if not cities >> k & 1:
                        one = (cities | 1 << k, k)
                        best[one] = min(best.get(one, np.inf), best[cities, j] + d[j, k])
    every = (1 << n) - 2
    return min(best[every, j] + d[j, 0] for j in range(1, n))


def jobs(seed, multicut=False):
    rng = np.random.default_rng(seed)
    uses = rng.integers(3, 12, (3, 14))
    return GeneralizedAssignmentOracle(
        rng.uniform(5, 25, (3, 14)), uses, np.full(3, 45), maximize=bool(seed % 2), multicut=multicut
    )


def best_assignment(oracle):
    m, n = oracle.costs.shape
    sign = -1 if oracle.maximize else 1
    once = sparse.hstack([sparse.eye_array(n)] * m)
    load = sparse.block_diag([sparse.coo_array(row[None]) for row in oracle.uses])
    constraints = [LinearConstraint(once, 1, 1), LinearConstraint(load, ub=oracle.capacities)]
    return sign * milp(sign * oracle.costs.ravel(), constraints=constraints, integrality=1, bounds=(0, 1)).fun


def places(seed, multicut=False):
    rng = np.random.default_rng(seed)
    return FacilityLocationOracle(rng.uniform(2, 5, 6), rng.uniform(0, 4, (6, 15)), multicut=multicut)


def best_location(oracle):
    m, n = oracle.costs.shape
    once = sparse.hstack([sparse.csr_array((n, m)), *[sparse.eye_array(n)] * m])
    opened = sparse.hstack([sparse.kron(sparse.eye_array(m), np.ones((n, 1))), -sparse.eye_array(m * n)])
    constraints = [LinearConstraint(once, 1, 1), LinearConstraint(opened, lb=0)]
    return milp(np.r_[oracle.opening, oracle.costs.ravel()], constraints=constraints, integrality=1, bounds=(0, 1)).fun


def flows(seed, multicut=False):
    rng = np.random.default_rng(seed)
    ring = [[k, (k + 1) % 8] for k in range(8)]
    arcs = np.r_[ring, rng.integers(0, 8, (16, 2))]
    commodities = np.array([[k % 3, 4 + k % 4] for k in range(8)])
    capacities = np.r_[np.full(8, 9.0), rng.uniform(0.5, 1.5, 16)]
    return MulticommodityFlowOracle(
        arcs, rng.uniform(1, 4, 24), capacities, commodities, rng.uniform(0, 1, 8), multicut=multicut
    )


def cheapest_flow(oracle):
    k, a, n = len(oracle.demands), len(oracle.arcs), int(oracle.arcs.max()) + 1
    along = np.arange(a)
    out = sparse.coo_array((np.ones(a), (oracle.arcs[:, 0], along)), shape=(n, a))
    into = sparse.coo_array((np.ones(a), (oracle.arcs[:, 1], along)), shape=(n, a))
    sides = np.zeros((k, n))
    sides[np.arange(k), oracle.commodities[:, 0]] += oracle.demands
    sides[np.arange(k), oracle.commodities[:, 1]] -= oracle.demands
    total = sparse.hstack([sparse.eye_array(a)] * k)
    balance = sparse.block_diag([out - into] * k)
    done = linprog(np.tile(oracle.costs, k), A_ub=total, b_ub=oracle.capacities, A_eq=balance, b_eq=sides.ravel())
    return done.fun


FAMILIES = {
    "tours": (tours, shortest_tour),
    "jobs": (jobs, best_assignment),
    "places": (places, best_location),
    "flows": (flows, cheapest_flow),
}


@pytest.mark.campaign(2)
@pytest.mark.parametrize("generator", [ProximalBundle, LevelSet, Kelley, AnalyticCenter])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_certificate_bounds_the_problem_itself(family, generator, tmp_path):
    make, optimum = FAMILIES[family]
    for seed in (0, 1):
        best = optimum(make(seed))
        for multicut in (False, True) if family != "tours" else (False,):
            oracle = make(seed, multicut)
            result = minimize(oracle, generator(), rtol=1e-6)
            assert result.relative_gap <= 1e-6
            read = Certificate.load(result.certificate().save(tmp_path / "run.jsonl"))
            for exact in (False, True):
                verdict = read.verify(make(seed, multicut), exact=exact)
                assert (verdict.n_given, verdict.value_proven) == (0, True)
                size = abs(result.upper_bound) + oracle.domain.extent(oracle.rhs)
                assert verdict.lower >= result.lower_bound - 1e-11 * size
                assert verdict.upper <= result.upper_bound + 1e-11 * size
                # theta, as the sense of the problem has it
                if oracle.maximize:
                    assert verdict.upper >= best * (1 - 1e-9)
                else:
                    assert -verdict.upper <= best * (1 + 1e-9)
            if family == "flows":  # a linear program: both bounds hold its optimum
                assert -verdict.upper - 1e-8 <= best <= -verdict.lower + 1e-8
            with pytest.raises(InvalidCertificate, match="another problem"):
                read.verify(make(seed + 2, multicut))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_certificate_of_other_data_or_with_other_numbers_is_refused_or_true(family):
    make, _ = FAMILIES[family]
    rng, refused = np.random.default_rng(1), 0
    for seed in (0, 1):
        oracle = make(seed)
        result = minimize(oracle, ProximalBundle(), rtol=1e-9)
        held, least = result.certificate(), result.lower_bound
        other = minimize(make(seed + 2), ProximalBundle(), rtol=1e-9).certificate()
        tried = [replace(other, problem=held.problem)]
        for k in range(len(held.cuts)):
            numbers = held.cuts[k].witness["compact"].copy()
            numbers[rng.integers(numbers.size)] += rng.choice([-1, 1])
            cut = replace(held.cuts[k], witness={"compact": numbers})
            tried.append(replace(held, cuts=(*held.cuts[:k], cut, *held.cuts[k + 1 :])))
        for one in tried:
            for exact in (False, True):
                try:
                    verdict = one.verify(oracle, exact=exact)
                except Refuted:
                    refused += 1
                else:
                    assert verdict.lower <= result.upper_bound
                    assert verdict.upper >= least
    assert refused >= 6


def relaxed_optimum(oracle, u):
    """Optimum of the relaxed problem by scipy."""
    if isinstance(oracle, HeldKarpOracle):
        reduced = oracle.distances + u[:, None] + u
        others = np.flatnonzero(np.arange(len(u)) != oracle.special)
        shift = 1.0 - reduced.min()  # entries that are 0 count as none
        tree = minimum_spanning_tree(reduced[np.ix_(others, others)] + shift).sum() - shift * (len(u) - 2)
        return tree + np.sort(reduced[oracle.special, others])[:2].sum()
    if isinstance(oracle, GeneralizedAssignmentOracle):
        sign = -1 if oracle.maximize else 1
        return sign * sum(
            milp(sign * c + u, constraints=LinearConstraint(row, ub=limit), integrality=1, bounds=(0, 1)).fun
            for c, row, limit in zip(oracle.costs, oracle.uses, oracle.capacities, strict=True)
        )
    if isinstance(oracle, FacilityLocationOracle):
        return np.minimum(0.0, oracle.opening + np.minimum(0.0, oracle.costs + u).sum(axis=1)).sum()
    lengths = oracle.costs.copy()
    lengths[np.isfinite(oracle.capacities)] += u
    n = int(oracle.arcs.max()) + 1
    table = np.full((n, n), np.inf)
    np.minimum.at(table, tuple(oracle.arcs.T), lengths)
    table[table == 0] = 1e-300
    away = shortest_path(np.where(np.isfinite(table), table, 0.0), method="BF" if n < 40 else "D")
    return oracle.demands @ away[tuple(oracle.commodities.T)]


@pytest.mark.skipif(FOLDER is None, reason="ORACLE_OPT_PROBLEMS names no folder")
@pytest.mark.parametrize(
    ("make", "path"),
    [
        (HeldKarpOracle.from_tsplib, "tsp/st70.tsp"),
        (GeneralizedAssignmentOracle.from_file, "gap/c05100.txt"),
        (FacilityLocationOracle.from_file, "uflp/cap101.txt"),
        (MulticommodityFlowOracle.from_file, "mcf/planar30.txt"),
    ],
    ids=["st70", "c05100", "cap101", "planar30"],
)
def test_public_instances_are_proven_from_their_files(make, path, tmp_path):
    oracle = make(Path(FOLDER) / path)
    result = minimize(oracle, ProximalBundle(), rtol=1e-6)
    read = Certificate.load(result.certificate().save(tmp_path / "run.jsonl.gz"))
    verdict = read.verify(make(Path(FOLDER) / path))
    assert (verdict.n_given, verdict.value_proven) == (0, True)
    size = abs(result.upper_bound)
    middle = oracle.domain.interior_point()
    for u in (result.point, middle, 0.5 * (middle + result.point)):
        relaxed = relaxed_optimum(oracle, u)
        known = (-relaxed if not oracle.maximize else relaxed) + u @ oracle.rhs
        assert oracle.prove_value(ValueClaim(u, 0.0)) == pytest.approx(known, abs=1e-9 * size)
