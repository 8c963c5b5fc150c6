"""What a ranking is worth, by hand: halves of the problems, a budget, an older study."""

from math import inf

import numpy as np
import pytest
from hand_results import hand_results, to

from oracle_opt import InvalidArgument


def runs_of(costs: dict[str, list[float]]) -> dict:
    return {(f"p{i}", name, 0): to(cost) for name, each in costs.items() for i, cost in enumerate(each)}


def test_places_on_halves_of_problems_that_agree() -> None:
    """One is always first; two others take turns, so that their order says nothing."""
    turns = [[2, 3], [3, 2]] * 4
    results = hand_results(runs_of({"a": [1] * 8, "b": [x for x, _ in turns], "c": [y for _, y in turns]}))
    table = results.rank_stability(tau=1e-4)
    data = table.data.set_index("generator")
    assert data["mean rank"].tolist() == [1.0, 2.5, 2.5]
    assert data.loc["a", ["place, 10 %", "place, 90 %", "first"]].tolist() == [1.0, 1.0, 1.0]
    assert data.loc["b", "first"] == data.loc["c", "first"] == 0.0
    assert (data.loc["b", "place, 10 %"], data.loc["b", "place, 90 %"]) == (2.0, 3.0)
    assert "Kendall's tau" in table.caption
    assert table.data.equals(results.rank_stability(tau=1e-4).data)
    with pytest.raises(InvalidArgument, match="at least 6 problems"):
        hand_results(runs_of({"a": [1] * 5, "b": [2] * 5})).rank_stability(tau=1e-4)


def test_what_a_budget_buys() -> None:
    results = hand_results({("p", "kelley", 0): to(3), ("p", "own_one", 0): to(7), ("q", "kelley", 0): to(4)})
    early, late = results.gaps(3), results.gaps(100)
    assert early.data.loc[0, "kelley"] <= 1e-4 < early.data.loc[0, "own_one"]
    assert late.data.loc[0, "own_one"] <= 1e-4
    assert late.data.loc[1, "own_one"] == inf
    assert "after 3 oracle calls" in early.title
    with pytest.raises(InvalidArgument, match="`budget` must be positive"):
        results.gaps(0)


def test_against_an_older_study() -> None:
    older = hand_results(runs_of({"a": [4, 10, 6, inf, 5], "b": [1, 1, 1, 1, 1], "gone": [1] * 5}))
    newer = hand_results(runs_of({"a": [2, 10, 12, 3, inf], "b": [1, 1, 1, 1, 2], "new": [1] * 5}))
    data = newer.against(older, tau=1e-4).data.set_index("generator")
    assert list(data.index) == ["a", "b"]
    counts = ["problems", "less", "equal", "more", "solved now alone", "solved then alone"]
    assert data.loc["a", counts].tolist() == [5, 1, 1, 1, 1, 1]
    assert data.loc["a", "ratio"] == pytest.approx(1.0)
    assert data.loc["a", "largest ratio"] == 2.0
    assert data.loc["a", "at"] == "p2, seed 0"
    assert data.loc["b", "ratio"] == pytest.approx(2.0**0.2)
    assert np.isfinite(data["ratio"]).all()
    with pytest.raises(InvalidArgument, match="same names"):
        newer.against(hand_results(runs_of({"other": [1]})))
    with pytest.raises(InvalidArgument, match="`older` must be the Results"):
        newer.against(older.runs)
