"""Frames of results: what stays when runs are chosen or put together."""

import pandas as pd
import pytest
from small_results import small_results

from oracle_opt import InvalidArgument
from oracle_opt.study.records import KEY
from oracle_opt.study.results import Results


@pytest.fixture(scope="module")
def results() -> Results:
    return small_results(max_calls=15)


def test_a_filter_keeps_the_history_of_what_it_keeps(results: Results) -> None:
    part = results.filter(generator=["kelley", "level-set"], seed=1, where=lambda runs: runs["n"] > 2)
    assert set(part.runs["generator"]) == {"kelley", "level-set"}
    assert set(part.runs["n"]) == {4, 6}
    assert set(part.history[list(KEY)].itertuples(index=False, name=None)) == set(
        part.runs[list(KEY)].itertuples(index=False, name=None)
    )
    assert len(part.history) == part.runs["n_calls"].sum()


def test_parts_make_the_whole(results: Results) -> None:
    parts = [results.filter(generator=name) for name in results.runs["generator"].unique()]
    whole = parts[0].merge(*parts[1:], parts[0])
    order = list(KEY)
    pd.testing.assert_frame_equal(
        whole.runs.sort_values(order, ignore_index=True), results.runs.sort_values(order, ignore_index=True)
    )
    order.append("call")
    pd.testing.assert_frame_equal(
        whole.history.sort_values(order, ignore_index=True), results.history.sort_values(order, ignore_index=True)
    )


def test_refusals(results: Results) -> None:
    with pytest.raises(InvalidArgument, match=r"one that runs have, got 'keley': . are there, the nearest kelley, "):
        results.filter(generator="keley")
    other = Results(results.runs.assign(digest=results.runs["digest"] + "x"), results.history, results.tau)
    with pytest.raises(InvalidArgument, match="other runs of the same instance"):
        results.merge(other)
    with pytest.raises(InvalidArgument, match="accuracy in common"):
        results.merge(Results(results.runs, results.history, (1e-3,)))
    with pytest.raises(InvalidArgument, match="`runs` must have the columns seed"):
        Results(results.runs.drop(columns="seed"), results.history, results.tau)
