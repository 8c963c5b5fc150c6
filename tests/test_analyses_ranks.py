"""Ranks and their tests, by hand, against scipy, and by their properties."""

from itertools import product
from math import inf, log, sqrt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hand_results import hand_results, to
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from scipy import stats

from oracle_opt import InvalidArgument
from oracle_opt.study.analyses.mean_ranks import Ranks
from oracle_opt.study.analyses.rank_tests import cliques_of, friedman, holm, log_ratios, nemenyi, ranks_of, wilcoxon_p
from oracle_opt.study.results import Results


def results_of(rows: list[tuple[float, ...]], seed: int = 0) -> Results:
    return hand_results({(f"p{i}", f"g{j}", seed): to(c) for i, row in enumerate(rows) for j, c in enumerate(row)})


# g0 is always first but on the last problem, where it ties; g1 and g2 change places; g3 solves two of seven.
ROWS: list[tuple[float, ...]] = [
    (4, 6, 8, 20),
    (5, 9, 7, inf),
    (3, 8, 9, inf),
    (6, 7, 12, 30),
    (7, 11, 10, inf),
    (8, 10, 12, inf),
    (9, 9, 14, inf),
]


def test_mean_ranks_by_hand() -> None:
    """g0: six times 1 and a tie of 1.5; g1: 2 3 2 2 3 2 1.5; g2: 3 2 3 3 2 3 3; g3: always 4."""
    ranks = results_of(ROWS).ranks()
    assert ranks.data["generator"].tolist() == ["g0", "g1", "g2", "g3"]
    assert ranks.data["mean_rank"].tolist() == pytest.approx([7.5 / 7, 15.5 / 7, 19 / 7, 4.0])
    assert ranks.data["share_solved"].tolist() == pytest.approx([1, 1, 1, 2 / 7])
    assert ranks.n == 7
    table = ranks_of(np.array(ROWS, dtype=float))
    assert ranks.friedman_p == pytest.approx(stats.friedmanchisquare(*table.T).pvalue)
    pairs = ranks.pairs.set_index(["first", "second"])
    assert pairs.loc[("g0", "g1"), "p"] == pytest.approx(2 / 2**6), "six differences of one sign, and a zero"
    assert pairs.loc[("g0", "g2"), "p"] == pytest.approx(2 / 2**7)
    assert pairs.loc[("g2", "g3"), "p"] == pytest.approx(2 / 2**7)
    assert pairs.loc[("g0", "g2"), "p_holm"] == pytest.approx(6 * 2 / 2**7)
    assert "With 7 problems hardly anything" in ranks.caption
    assert "Mean ranks over 7 problems" in ranks.caption
    assert ranks.cliques == (("g0", "g1", "g2", "g3"),), "7 problems cannot tell four apart"
    assert results_of(ROWS).ranks(alpha=0.1).cliques == (("g1", "g2"),)


def test_problems_that_one_alone_solves_weigh_most() -> None:
    first, second = np.array([2.0, 8.0, inf, 3.0, inf]), np.array([4.0, 2.0, 5.0, inf, inf])
    found = log_ratios(first, second)
    assert found.tolist() == pytest.approx([-log(2), log(4), log(4) + 1, -log(4) - 1, 0.0])
    assert log_ratios(np.array([inf]), np.array([1.0])).tolist() == [1.0]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-60, 60).filter(bool), min_size=1, max_size=30, unique_by=abs))
def test_wilcoxon_agrees_with_scipy_where_nothing_ties(differences: list[int]) -> None:
    d = np.array(differences, dtype=float)
    assert wilcoxon_p(d) == pytest.approx(stats.wilcoxon(d, method="exact").pvalue, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=9))
def test_wilcoxon_with_ties_and_zeros_is_the_distribution_of_all_signs(differences: list[int]) -> None:
    """Zeros keep their ranks, half for each side: they add the same to both sums."""
    d = np.array(differences, dtype=float)
    ranks = stats.rankdata(np.abs(d))[d != 0]
    seen = abs(float((stats.rankdata(np.abs(d)) * np.sign(d)).sum()))
    sums = [abs(float(np.dot(signs, ranks))) for signs in product((-1, 1), repeat=len(ranks))]
    assert wilcoxon_p(d) == pytest.approx(np.mean([value >= seen - 1e-9 for value in sums]))


def test_wilcoxon_of_many_is_nearly_exact() -> None:
    d = np.random.default_rng(3).normal(0.1, 1, 300)
    assert wilcoxon_p(d) == pytest.approx(stats.wilcoxon(d, method="exact").pvalue, rel=0.02)


def test_holm_by_hand() -> None:
    """0.01 * 4, 0.03 * 3, and 0.04 * 2 = 0.08 may not be below 0.09; 0.5 * 1."""
    assert holm([0.04, 0.01, 0.5, 0.03]).tolist() == pytest.approx([0.09, 0.04, 0.5, 0.09])
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]
    assert holm([]).tolist() == []


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(*[st.one_of(st.integers(1, 9), st.just(inf))] * 3), min_size=2, max_size=12).filter(
        lambda rows: any(len(set(row)) > 1 for row in rows)
    )
)
def test_friedman_agrees_with_scipy(rows: list[tuple[float, ...]]) -> None:
    ranks = ranks_of(np.array(rows, dtype=float))
    assert friedman(ranks) == pytest.approx(stats.friedmanchisquare(*ranks.T).pvalue, abs=1e-12)


def test_friedman_of_equal_ones() -> None:
    assert friedman(np.full((5, 3), 2.0)) == 1.0


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (3, 2.343), (5, 2.728), (10, 3.164)])
def test_nemenyi_is_the_table_of_demsar(k: int, q: float) -> None:
    assert nemenyi(14, k, 0.05) == pytest.approx(q * sqrt(k * (k + 1) / (6 * 14)), rel=3e-4)


def test_cliques() -> None:
    """Alike are 0-1, 1-2-3 but 1-3, and 3-4: the ranges are 0-1, 1-2, 2-3, 3-4."""
    alike = np.eye(5, dtype=bool)
    for i, j in ((0, 1), (1, 2), (2, 3), (3, 4)):
        alike[i, j] = alike[j, i] = True
    assert cliques_of(alike) == [(0, 1), (1, 2), (2, 3), (3, 4)]
    alike[1, 3] = alike[3, 1] = True
    assert cliques_of(alike) == [(0, 1), (1, 3), (3, 4)]
    assert cliques_of(np.eye(3, dtype=bool)) == []
    assert cliques_of(np.ones((3, 3), dtype=bool)) == [(0, 2)]


@settings(max_examples=15, deadline=None)
@given(
    rows=st.lists(st.tuples(*[st.one_of(st.integers(1, 12), st.just(inf))] * 3), min_size=6, max_size=8),
    scales=st.lists(st.integers(1, 4), min_size=8, max_size=8),
)
def test_units_of_the_problems_do_not_matter(rows: list[tuple[float, ...]], scales: list[int]) -> None:
    """All tests are on ratios: a problem on which everything costs three times as much says the same."""
    scaled = [tuple(c * k for c in row) for row, k in zip(rows, scales, strict=False)]
    one, other = results_of(rows).ranks(), results_of(scaled).ranks()
    pd.testing.assert_frame_equal(one.data, other.data)
    pd.testing.assert_frame_equal(one.pairs, other.pairs)
    assert one.data["mean_rank"].mean() == pytest.approx(2.0), "mean ranks have the mean (k + 1) / 2"


def test_the_median_of_seeds_is_one_problem() -> None:
    gaps = {(f"p{i}", f"g{j}", s): to(c + s) for i, row in enumerate(ROWS) for j, c in enumerate(row) for s in (0, 1)}
    results = hand_results(gaps)
    assert results.ranks().n == 7
    each = results.ranks(seeds="each")
    assert each.n == 14
    assert "hardly anything" not in each.caption
    with pytest.raises(InvalidArgument, match="at least 6 problems for ranks, got 5; with seeds='each'"):
        results.filter(instance=[f"p{i}" for i in range(5)]).ranks()


def test_enough_problems_tell_apart() -> None:
    rng = np.random.default_rng(0)
    rows = [tuple(rng.integers(3, 9) * np.array([1, 1, 2])) for _ in range(20)]
    rows = [(a + int(rng.integers(0, 2)), b + int(rng.integers(0, 2)), c) for a, b, c in rows]
    ranks = results_of(rows).ranks()
    assert ranks.cliques == (tuple(sorted(("g0", "g1"), key=ranks.data["generator"].tolist().index)),)
    assert ranks.friedman_p < 1e-4
    pairs = ranks.pairs.set_index(["first", "second"])["different"]
    assert pairs.sum() == 2


def test_refusals() -> None:
    with pytest.raises(InvalidArgument, match=r"at least 6 problems for ranks, got 5$"):
        results_of(ROWS[:5]).ranks()
    with pytest.raises(InvalidArgument, match="at least two generators for ranks, got 1"):
        results_of(ROWS).filter(generator="g0").ranks()
    with pytest.raises(InvalidArgument, match="`alpha` must lie strictly between 0 and 1"):
        results_of(ROWS).ranks(alpha=0.0)


def test_nobody_solves_anything() -> None:
    ranks = results_of([(inf, inf)] * 6).ranks()
    assert ranks.data["mean_rank"].tolist() == [1.5, 1.5]
    assert (ranks.friedman_p, ranks.pairs["p"].tolist()) == (1.0, [1.0])
    assert "It does not tell them from equal ones" in ranks.caption


def test_the_diagram(tmp_path: Path) -> None:
    ranks = results_of(ROWS).ranks()
    figure = ranks.plot()
    (axes,) = figure.axes
    texts = [text.get_text() for text in axes.texts]
    assert texts == ["g0 1.07", "g1 2.21", "2.71 g2", "4.00 g3"]
    marks = [line.get_xdata()[0] for line in axes.lines if line.get_marker() not in ("None", None)]
    assert marks == pytest.approx(ranks.data["mean_rank"].tolist())
    bars = [line for line in axes.lines if line.get_linewidth() == 3.0]
    assert len(bars) == len(ranks.cliques)
    assert bars[0].get_xdata()[0] < ranks.data["mean_rank"].min()
    assert "7 problems" in axes.get_xlabel()
    own = Figure()
    assert ranks.plot(own.subplots()) is own
    for ending in ("pdf", "svg", "png"):
        ranks.save(tmp_path / f"ranks.{ending}")
    assert ">g0 1.07</text>" in (tmp_path / "ranks.svg").read_text()
    assert isinstance(ranks, Ranks)
    assert len(repr(ranks)) < 400
