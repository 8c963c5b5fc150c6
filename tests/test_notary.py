"""Bounds of other solvers' multipliers: near theirs, never above the truth, on bad conditions and in forged files."""

import os
from fractions import Fraction as F

import highspy
import numpy as np
import pytest
from scipy import sparse
from test_certificates_tampered import WORD, changed_word, closed

from oracle_opt import Box, CapabilityMismatch, Certificate, FunctionOracle, InvalidCertificate, Refuted, notarize
from oracle_opt.oracles import (
    BendersOracle,
    ConicOracle,
    LagrangianOracle,
    Nonnegative,
    RandomBlock,
    RelaxedSolution,
    TwoStageProblem,
    Zero,
)
from oracle_opt.problems import suite

needs_files = pytest.mark.skipif("ORACLE_OPT_PROBLEMS" not in os.environ, reason="ORACLE_OPT_PROBLEMS names no folder")


def by_highs(problem, solver, lower=-np.inf, upper=np.inf, **options):
    """Point, multipliers, and the gap that HiGHS leaves between both objectives, relative."""
    A, (m, n) = sparse.csr_array(problem.A), problem.A.shape
    zero = np.repeat([isinstance(one, Zero) for one in problem.cones], [one.dimension for one in problem.cones])
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_, lp.col_cost_ = n, m, problem.c
    lp.col_lower_, lp.col_upper_ = np.full(n, lower), np.full(n, upper)
    lp.row_lower_, lp.row_upper_ = np.where(zero, problem.b, -np.inf), problem.b
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = A.indptr, A.indices, A.data
    highs = highspy.Highs()
    for name, value in {"output_flag": False, "solver": solver, "run_crossover": "off", **options}.items():
        highs.setOptionValue(name, value)
    highs.passModel(lp)
    highs.run()
    found = highs.getSolution()
    x, y = np.array(found.col_value), -np.array(found.row_dual)
    reduced = problem.c + A.T @ y
    value = problem.c @ x
    dual = np.minimum(reduced * lower, reduced * upper).sum() if np.isfinite(lower) else 0.0
    missed = 0.0 if np.isfinite(lower) else np.abs(reduced) @ np.abs(x)
    return x, y, (abs(value + problem.b @ y - dual) + missed) / abs(value)


@needs_files
@pytest.mark.parametrize("solver", ["simplex", "ipm"])
@pytest.mark.parametrize("problem", suite("lp"), ids=lambda problem: problem.name)
def test_bounds_of_exact_multipliers_are_as_near_as_their_solver(problem, solver):
    instance = problem(0)
    oracle, size = instance.oracle, abs(instance.optimum)
    x, y, own = by_highs(oracle.problem, solver)
    both, alone = notarize(oracle, y, x), notarize(oracle, y)
    assert alone.upper == np.inf
    for made in (both, alone):
        assert -1e-11 <= (instance.optimum - made.lower) / size <= max(1e-9, 2 * own)
        assert made.verify(oracle).proven


@needs_files
@pytest.mark.parametrize("name", ["lp/sc50a", "lp/blend", "lp/stocfor1"])
def test_sloppy_multipliers_are_mended(name):
    (problem,) = (one for one in suite("lp") if one.name == name)
    instance = problem(0)
    x, y, _ = by_highs(instance.oracle.problem, "pdlp", pdlp_optimality_tolerance=1e-4, kkt_tolerance=1e-4)
    made = notarize(instance.oracle, y, x)
    assert made.facts["point"] == "the given point is not feasible"
    assert "mended" in made.facts["generator"]
    assert -1e-11 <= (instance.optimum - made.lower) / abs(instance.optimum) <= 3e-3
    assert made.verify(instance.oracle).proven


REGIMES = {"plain": (0, 0, 0), "columns": (4, 0, 0), "rows": (0, 4, 0), "parallel": (0, 0, 1e-7)}


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("seed", range(4))
def test_no_bound_is_above_the_value_of_a_point_that_is_feasible_in_fractions(regime, seed):
    rng, (columns, rows, apart) = np.random.default_rng(seed), REGIMES[regime]
    n, m = int(rng.integers(5, 15)), int(rng.integers(5, 20))
    A, far = rng.normal(size=(m, n)), 1e6 if apart else 10.0
    A = A[rng.integers(0, 3, m)] + apart * rng.normal(size=(m, n)) if apart else A
    A = A * 10.0 ** rng.uniform(-columns, columns, n) * 10.0 ** rng.uniform(-rows, rows, (m, 1))
    inside = rng.uniform(-1, 1, n)
    b, c = A @ inside + np.abs(A).sum(axis=1) * rng.uniform(0.001, 0.1, m), rng.normal(size=n) * np.abs(A).mean(axis=0)
    oracle = ConicOracle(c, A, b, [Nonnegative(m)], domain=Box(np.full(n, -far), np.full(n, far)))
    x, y, _ = by_highs(oracle.problem, "simplex", -far, far)
    made = notarize(oracle, y)
    for share in [F(0), *(F(1, 2**k) for k in range(60, -1, -1))]:
        z = [(1 - share) * F(a) + share * F(i) for a, i in zip(np.clip(x, -far, far), inside, strict=True)]
        if all(sum(F(a) * v for a, v in zip(row, z, strict=True)) <= F(side) for row, side in zip(A, b, strict=True)):
            break
    value = sum(F(a) * v for a, v in zip(c, z, strict=True))
    assert 0 <= value - F(made.lower) <= F(1e-7) * abs(value)
    assert made.verify(oracle, exact=True).proven


def diet(radius=None):
    """``min x + y + z`` with ``x + 2 y + z >= 3, x - z = 1``, x and y at least 0: least at 1."""
    rows = [[1, 0, -1], [-1, -2, -1], [-1, 0, 0], [0, -1, 0]]
    return ConicOracle([1, 1, 1], rows, [1, -3, 0, 0], [Zero(1), Nonnegative(3)], radius=radius)


def test_nothing_is_promised_where_bounds_or_rows_end_a_column(tmp_path):
    oracle, y = diet(), np.array([0.5, 0.4999, 1.0001, 0.0])
    made = notarize(oracle, y)
    assert not made.verify(oracle, exact=True).promise
    assert made.lower == pytest.approx(1.0, abs=1e-3)
    raw = made.save(tmp_path / "run.jsonl").read_bytes()
    lines, rng, accepted = raw.split(b"\n")[:-2], np.random.default_rng(0), 0
    for trial in range(100):
        k = (0, 1, 2, 3)[trial % 4]
        text = lines[k].decode()
        words = list(WORD.finditer(text))
        at = words[int(rng.integers(len(words)))]
        forged = text[: at.start()] + changed_word(rng, at.group()) + text[at.end() :]
        (tmp_path / "run.jsonl").write_bytes(closed([*lines[:k], forged.encode(), *lines[k + 1 :]]))
        try:
            verdict = Certificate.load(tmp_path / "run.jsonl").verify(oracle)
        except (InvalidCertificate, Refuted):
            continue
        accepted += 1
        assert verdict.lower <= 1.0 + 1e-12
    assert accepted < 60


def test_free_columns_need_reduced_costs_of_0_or_a_radius():
    line = ConicOracle([1, 1], [[1, 1]], [1], [Zero(1)])
    verdict = notarize(line, [-1.0]).verify(line, exact=True)
    assert verdict.proven
    assert not verdict.promise
    assert notarize(line, [-1.0]).verify(line).proven
    assert 1.0 - 1e-14 <= verdict.lower <= 1.0
    for radius in (None, 10.0):
        curved = ConicOracle([1, 1], [[1, 1]], [1], [Zero(1)], P=np.eye(2), radius=radius)
        if radius is None:
            with pytest.raises(ValueError, match="`radius`"):
                notarize(curved, [-1.4])
        else:
            made = notarize(curved, [-1.4], [0.5, 0.5])
            assert made.gap <= 1e-12
            assert made.verify(curved).promise


def test_what_proves_nothing_is_refused_in_words():
    oracle = diet()
    for given, words in (([1.0], r"`multipliers` must have shape \(4,\)"), ([np.nan] * 4, "finite, got nan")):
        with pytest.raises(ValueError, match=words):
            notarize(oracle, given)
    with pytest.raises(ValueError, match=r"`point` must have shape \(3,\)"):
        notarize(oracle, np.zeros(4), [1.0])
    free = ConicOracle([1, 1, 0], [[-1, 0, 0], [0, 0, -1]], [0, 0], [Nonnegative(2)])
    with pytest.raises(ValueError, match="columns 1, which have no bound"):
        notarize(free, [1, 0])
    nowhere = ConicOracle([1], [[1], [-1]], [0, -1], [Nonnegative(2)])
    with pytest.raises(ValueError, match="infeasible_by"):
        notarize(nowhere, [1.0, 1.0000001])
    with pytest.raises(CapabilityMismatch, match="takes no multipliers"):
        notarize(FunctionOracle(lambda z: (z @ z, 2 * z), Box([0], [1])), [1.0])


def test_duals_of_scenarios():
    demand = RandomBlock([0.5, 0.5], rows=[1], rhs=[[2.0], [6.0]])
    shop = TwoStageProblem([1], [-3], [[-1], [0]], [[1], [1]], -np.inf, [0, 2], [demand], x_upper=10)
    oracle, noise = BendersOracle(shop), 0.1 * np.random.default_rng(0).normal(size=(2, 2))
    pi = np.array([[0.0, -3.0], [-2.0, -1.0]])
    for given, least in ((pi, -6.0), (pi + noise, -8.0)):
        made = notarize(oracle, given, [6.0])
        assert least - 1e-9 <= made.lower <= -6.0 <= made.upper <= -6.0 + 1e-9
        assert made.verify(oracle, exact=True).proven
    assert notarize(oracle, pi).value is None
    with pytest.raises(ValueError, match="a line a scenario"):
        notarize(oracle, pi[0])


def test_multipliers_of_a_relaxation_are_a_point_without_a_bound():
    worth, size = np.array([6.0, 5.0, 4.0]), np.array([3.0, 2.0, 2.0])

    def solve(u):
        x = (worth > u[0] * size).astype(float)
        return RelaxedSolution(worth @ x, [size @ x], solution=x)

    oracle = LagrangianOracle(solve, [4], inequality=True, maximize=True, radius=10)
    made = notarize(oracle, [2.0])
    assert (made.lower, made.upper) == (-np.inf, pytest.approx(9.0))
    assert "a point, no lower bound" in str(made.verify(oracle))
