"""Studies: what a run is, what a folder keeps, and what is refused."""

import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import study_parts
from small_results import largest_of_pieces

from oracle_opt import Box, FeasibilityCut, FreeSpace, FunctionOracle, Status, minimize
from oracle_opt.errors import InvalidArgument, StoreMismatch, StudyWarning
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle
from oracle_opt.problems import Instance, Problem
from oracle_opt.study import Limits, Results, Study
from oracle_opt.study.records import FAILED, KEY, REFUSED, RUN_COLUMNS

INSTANCES = {f"pieces {n}": largest_of_pieces(n, 0) for n in (2, 4)}
GENERATORS = ("level-set", "kelley(chebyshev=True)", "newton-bundle")
TIMES = ["oracle_seconds", "generator_seconds", "seconds", "processor_seconds"]


def run(study: Study, folder, **how) -> Results:
    return study.run(folder, **({"jobs": 1, "progress": False} | how))


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Results:
    return run(Study(INSTANCES, GENERATORS), tmp_path_factory.mktemp("study"))


def test_a_run_is_what_minimize_gives(results: Results) -> None:
    for row in results.runs[results.runs["status"] != REFUSED].itertuples():
        generator = LevelSet() if row.generator == "level-set" else Kelley(chebyshev=True)
        result = minimize(INSTANCES[row.instance], generator, rtol=1e-6, max_calls=500)
        assert (row.status, row.n_calls) == (result.status.name, result.n_calls)
        assert (row.upper_bound, row.lower_bound) == (result.upper_bound, result.lower_bound)
        part = results.filter(instance=row.instance, generator=row.generator).history
        for name in ("value", "upper_bound", "lower_bound", "cut_bound", "model_bound"):
            np.testing.assert_array_equal(part[name], getattr(result.history, name))
        assert row.start_value == result.history.value[0]
        assert row.method == repr(generator)


def test_a_generator_that_cannot_serve_an_instance_is_a_row(results: Results) -> None:
    refused = results.runs[results.runs["generator"] == "newton-bundle"]
    assert set(refused["status"]) == {REFUSED}
    assert refused["message"].str.contains("it needs a domain that is one simplex").all()
    assert not refused["n_calls"].any()


def test_columns(results: Results) -> None:
    assert tuple(results.runs.columns) == RUN_COLUMNS
    assert list(results.history.columns[:4]) == [*KEY, "call"]
    assert results.tau == (1e-2, 1e-4, 1e-6)
    assert results.runs["n"].tolist() == [2, 2, 2, 4, 4, 4]


def same_numbers(one: Results, other: Results) -> None:
    times = [*TIMES, "version", "machine"]
    pd.testing.assert_frame_equal(one.runs.drop(columns=times), other.runs.drop(columns=times))
    left, right = (
        each.history.drop(columns=["oracle_seconds", "generator_seconds"]).sort_values(
            [*KEY, "call"], ignore_index=True
        )
        for each in (one, other)
    )
    pd.testing.assert_frame_equal(left, right)


def test_read_gives_back_what_run_gave(tmp_path) -> None:
    made = run(Study({"b": study_parts.measured}, ["level-set", "kelley"], keep_points=True, seeds=2), tmp_path)
    read = Results.read(tmp_path)
    order = list(KEY)
    pd.testing.assert_frame_equal(
        made.runs.sort_values(order, ignore_index=True), read.runs.sort_values(order, ignore_index=True)
    )
    first, second = (each.history.sort_values([*order, "call"], ignore_index=True) for each in (made, read))
    assert first["point"].map(list).tolist() == second["point"].map(list).tolist()
    pd.testing.assert_frame_equal(first.drop(columns="point"), second.drop(columns="point"))
    assert read.tau == made.tau


def test_measures_traces_points_and_start(tmp_path) -> None:
    study = Study({"m": study_parts.measured}, ["level-set"], keep_points=True, tau=1e-3)
    found = run(study, tmp_path)
    (row,) = found.runs.itertuples()
    points = np.array(found.history["point"].tolist())
    assert (points[0] == 0.25).all()
    np.testing.assert_allclose(found.history["size_of_call"], np.abs(points).sum(axis=1))
    best = found.history["value"].to_numpy().argmin()
    assert row.size == found.history["size_of_call"][best]
    assert row.n_calls >= 5
    assert row.seconds < 0.02 * row.n_calls  # the traces' time is charged to nobody
    assert row.oracle_seconds + row.generator_seconds <= row.processor_seconds
    assert 0 < row.processor_seconds < 1.1 * row.seconds + 0.01


def test_until_the_single_cut_gap_has_closed(tmp_path) -> None:
    instances = {}
    for n in (3, 6):
        center = np.linspace(-0.5, 0.5, n)
        instances[f"bowl {n}"] = FunctionOracle(
            lambda z, c=center: (1 + (z - c) @ (z - c), 2 * (z - c)), Box(-np.ones(n), np.ones(n)), name=f"bowl {n}"
        )
    both = run(Study(instances, ["analytic-center"], tau=1e-2, until=("certified", "single-cut")), tmp_path / "both")
    plain = run(Study(instances, ["analytic-center"], tau=1e-2), tmp_path / "plain")
    columns = ["n_calls", "upper_bound", "lower_bound", "status"]
    pd.testing.assert_frame_equal(both.runs[columns], plain.runs[columns])
    for instance, part in both.history.groupby("instance"):
        assert part["single_cut_gap"].iloc[-1] <= 1e-2 < part["single_cut_gap"].iloc[-2], instance
        assert len(part) > plain.runs.set_index("instance")["n_calls"][instance]


def test_gaps_are_those_the_driver_stops_by(tmp_path) -> None:
    """The run ends where the driver's ends; near an optimum of 0 the scale is a thousandth of the decrease."""
    square = FunctionOracle(lambda z: (z @ z, 2 * z), Box(-np.ones(3), np.full(3, 2.0)), name="square")
    generators = {"level-set": LevelSet(), "bundle": ProximalBundle()}
    found = run(Study({"square": square}, generators, tau=1e-4), tmp_path)
    assert set(found.runs["status"]) == {"CONVERGED"}
    for row in found.runs.itertuples():
        gaps = found.filter(generator=row.generator).history["relative_gap"].to_numpy()
        assert gaps[-1] == row.relative_gap <= 1e-4
        alone = minimize(square, generators[row.generator], rtol=1e-4)
        assert (row.n_calls, row.upper_bound) == (alone.n_calls, alone.upper_bound)


def test_a_run_that_has_seen_infeasible_points_alone_has_not_converged(tmp_path) -> None:
    """Infinity minus minus infinity is no gap, whatever share of an infinite scale it is compared with."""

    def function(z):
        if z[0] < 0.7:
            return FeasibilityCut(z, float(0.7 - z[0]), np.array([-1.0, 0.0]))
        return float(z @ z), 2 * z

    oracle = FunctionOracle(function, Box([0.0, 0.0], [1.0, 1.0]), gives={FeasibilityCut}, name="half")
    results = Study({"half": oracle}, {"k": Kelley()}, tau=1e-6).run(tmp_path, jobs=1, progress=False)
    alone = minimize(oracle, Kelley(), rtol=1e-6)
    (run,) = results.runs.to_dict("records")
    assert alone.history.step[0] == "feasibility"
    assert (run["status"], run["n_calls"]) == ("CONVERGED", alone.n_calls)
    assert run["upper_bound"] == alone.upper_bound == pytest.approx(0.49)
    assert np.isinf(results.history["relative_gap"].iloc[0])
    assert results.table(tau=1e-6).data["k"].iloc[0] == alone.n_calls


@pytest.mark.parametrize(
    ("optimum", "status", "words"),
    [
        (np.nan, "DOUBTFUL", "has closed.*at the edge of what is promised"),
        (1.0, "CONVERGED", "at the edge of what is promised"),
        (0.5, "DOUBTFUL", "The lower bound .* is above the known minimum 0.5, which is said to be off by at most 0"),
    ],
)
def test_a_bound_in_doubt_proves_nothing_unless_a_known_minimum_confirms_it(tmp_path, optimum, status, words) -> None:
    """The minimizer lies at the edge of the ball in which it is promised to lie, for all that the run knows."""
    center = np.array([1.0, 0.0])
    oracle = FunctionOracle(
        lambda z: (1 + (z - center) @ (z - center), 2 * (z - center)), FreeSpace(2, 1.0), name="edge"
    )
    instance = Instance(oracle, optimum=optimum, optimum_error=0.0)
    found = run(Study({"edge": instance}, ["level-set"], tau=1e-4), tmp_path)
    (row,) = found.runs.itertuples()
    assert row.status == status
    assert re.search(words, row.message)
    assert found.runs["relative_gap"].iloc[0] <= 1e-4
    assert np.isfinite(found.table(tau=1e-4).data["level-set"][0]) == (status == "CONVERGED")


def test_the_folder_grows_and_nothing_is_done_twice(tmp_path, monkeypatch) -> None:
    calls = []
    real = FunctionOracle.query
    monkeypatch.setattr(FunctionOracle, "query", lambda self, query: calls.append(1) or real(self, query))
    first = run(Study(INSTANCES, ["level-set"]), tmp_path)
    asked = len(INSTANCES)  # each study asks each instance once at its start
    assert len(calls) == first.runs["n_calls"].sum() + asked
    calls.clear()
    second = run(Study(INSTANCES, ["level-set"]), tmp_path)
    assert len(calls) == asked
    same_numbers(first, second)
    pd.testing.assert_frame_equal(first.runs, second.runs)  # seconds, too: those of the folder
    calls.clear()
    more = run(Study(INSTANCES, ["level-set", "kelley"], seeds=2), tmp_path)
    assert len(more) == 8
    assert len(calls) == more.runs["n_calls"].sum() - first.runs["n_calls"].sum() + 2 * asked
    assert len(Results.read(tmp_path)) == 8
    assert len(run(Study({"pieces 2": INSTANCES["pieces 2"]}, ["kelley"]), tmp_path)) == 1


def test_failures_are_rows_and_are_tried_again(tmp_path, monkeypatch) -> None:
    file = tmp_path / "file"
    monkeypatch.setenv("STUDY_PARTS_FILE", str(file))
    generators = {"flaky": study_parts.Flaky(), "kelley": Kelley()}
    study = Study({"p": study_parts.pieces, "flawed": study_parts.with_a_flaw}, generators)
    with pytest.warns(StudyWarning) as said:
        found = run(study, tmp_path / "study").runs.set_index(["instance", "generator"])
    first, last = (str(one.message) for one in said)
    assert first.startswith("a run has failed, the first of this study: p, flaky, seed 0: RuntimeError: not yet")
    assert last.startswith(
        "3 of 4 runs failed: every run on 'flawed', the first one so: RuntimeError: not yet; every run"
    )
    assert "every run of 'flaky'" in last
    assert found["status"].tolist() == [FAILED, "CONVERGED", FAILED, FAILED]
    assert found["message"]["p", "flaky"] == "RuntimeError: not yet"
    assert "study_parts.py" in found["traceback"]["p", "flaky"]
    assert "the third query is one too many" in found["message"]["flawed", "kelley"]
    history = Results.read(tmp_path / "study").filter(instance="flawed", generator="kelley").history
    assert history["call"].tolist() == [1, 2]  # what had been computed is kept
    file.touch()
    with pytest.warns(StudyWarning, match="flawed.*: the third query is one too many"):
        found = run(study, tmp_path / "study").runs.set_index(["instance", "generator"])
    assert found["status"]["p", "flaky"] == "EXHAUSTED"
    assert found["status"]["p", "kelley"] == "CONVERGED"


@pytest.mark.parametrize(
    ("factory", "words"),
    [
        (study_parts.not_to_be_made, "the data are gone"),
        (study_parts.no_oracle, "must return an Oracle or an Instance"),
    ],
)
def test_an_instance_that_cannot_be_made_is_rows(tmp_path, factory, words) -> None:
    with pytest.warns(StudyWarning, match=words):
        found = run(Study({"a": factory, "b": study_parts.pieces}, ["level-set", "kelley"]), tmp_path).runs
    assert found["status"].tolist() == [FAILED, FAILED, "CONVERGED", "CONVERGED"]
    assert found["message"][:2].str.contains(words).all()


def test_other_problems_methods_and_settings_are_refused(tmp_path) -> None:
    box = Box(-np.ones(2), np.ones(2))
    first = FunctionOracle(lambda z: (z @ z, 2 * z), box, name="square")
    run(Study({"a": first}, {"m": LevelSet()}), tmp_path)
    with pytest.raises(StoreMismatch, match=r"holds runs of m as LevelSet\(.*, and it is now Kelley\("):
        run(Study({"a": first}, {"m": Kelley()}), tmp_path)
    other = FunctionOracle(lambda z: (z @ z, 2 * z), box, name="cube")
    with pytest.raises(StoreMismatch, match="on another problem called a"):
        run(Study({"a": other}, {"m": LevelSet()}), tmp_path)
    with pytest.raises(StoreMismatch, match="on another problem called a"):
        run(Study({"a": Instance(first, start=np.full(2, 0.5))}, {"m": LevelSet()}), tmp_path)
    for change, words in (
        ({"tau": 1e-3}, r"tau = \(0.01, 0.0001, 1e-06\) there, \(0.001,\) here"),
        ({"limits": Limits(calls=7)}, "limits = Limits"),
        ({"limits": Limits(seconds=7)}, "limits = Limits"),
        ({"keep_points": True}, "keep_points"),
        ({"until": ("certified", "single-cut")}, "until"),
    ):
        with pytest.raises(StoreMismatch, match=words):
            run(Study({"a": first}, {"m": LevelSet()}, **change), tmp_path)


def test_a_factory_that_makes_another_problem_than_before_is_noticed(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("STUDY_PARTS_FILE", str(tmp_path / "file"))
    run(Study({"f": study_parts.by_a_file}, ["level-set"]), tmp_path / "study")
    (tmp_path / "file").touch()
    with pytest.warns(StudyWarning, match="now makes another problem"):
        found = run(Study({"f": study_parts.by_a_file}, ["level-set", "kelley"]), tmp_path / "study")
    assert found.runs["status"].tolist() == ["CONVERGED", FAILED]
    assert "now makes another problem" in found.runs["message"][1]


def test_a_folder_of_another_version(tmp_path) -> None:
    study = Study(INSTANCES, ["level-set"])
    made = run(study, tmp_path)
    path = tmp_path / "study.json"
    stored = json.loads(path.read_text())
    path.write_text(json.dumps(stored | {"version": "0.0.9"}))
    with pytest.raises(StoreMismatch, match=r"runs of oracle_opt 0\.0\.9, and this is .*choose another folder"):
        run(study, tmp_path)
    same_numbers(made, Results.read(tmp_path))
    path.write_text(json.dumps(stored | {"format": 99, "version": "9.0"}))
    with pytest.raises(StoreMismatch, match=r"files of format 99, written by oracle_opt 9\.0"):
        Results.read(tmp_path)


def test_read_refuses_what_is_no_study(tmp_path) -> None:
    with pytest.raises(StoreMismatch, match="holds no study"):
        Results.read(tmp_path)
    with pytest.raises(StoreMismatch, match="there is no folder"):
        Results.read(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_problems_have_names(tmp_path) -> None:
    problem = Problem("family/one", "family", 3, study_parts.measured, data="pieces")
    found = run(Study([problem], ["level-set"]), tmp_path)
    assert found.runs[["instance", "family"]].to_numpy().tolist() == [["family/one", "family"]]
    other = Problem("family/one", "family", 3, study_parts.measured, data="other pieces")
    with pytest.raises(StoreMismatch, match="another problem called family/one"):
        run(Study([other], ["level-set"]), tmp_path)


def test_an_oracle_may_be_shared_by_threads(tmp_path) -> None:
    """Each thread has its own copy, as an oracle with a state cannot serve two runs at a time."""
    busy = threading.Lock()

    class Alone(FunctionOracle):
        def __reduce__(self):
            return alone, ()

    def alone() -> FunctionOracle:
        return Alone(INSTANCES["pieces 4"].function, INSTANCES["pieces 4"].domain, name="alone")

    with ThreadPoolExecutor(4) as executor:
        found = run(Study({"a": alone()}, GENERATORS, seeds=4), tmp_path, executor=executor, jobs=4)
    assert found.runs["status"].value_counts().to_dict() == {"CONVERGED": 8, REFUSED: 4}
    assert found.runs.groupby("generator")["n_calls"].nunique().max() == 1
    assert not busy.locked()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (({}, ["kelley"]), "`instances` must be at least one"),
        (({"a": 3}, ["kelley"]), r"`instances\['a'\]` must be an Oracle, an Instance, a function of a seed"),
        (([3], ["kelley"]), "`instances` must be a mapping by name where it holds other things than words, got 3"),
        (("nonsmooth", ["kelley"]), "`instances` must be a mapping by name, or a list of words, got 'nonsmooth'"),
        ((INSTANCES, []), "`generators` must be at least one"),
        ((INSTANCES, ["kely"]), "there is no generator 'kely': did you mean kelley"),
        ((INSTANCES, ["kelley(chebishev=True)"]), "no argument `chebishev`: did you mean `chebyshev`"),
        ((INSTANCES, ["kelley(chebyshev=open)"]), "must be a name with parameters such as"),
        ((INSTANCES, ["kelley("]), "must be a name with parameters such as"),
        ((INSTANCES, ["kelley", "kelley"]), "`generators` must have different names, got 'kelley' twice"),
        ((INSTANCES, {"a": LevelSet}), r"`generators\['a'\]` must be a QueryPointGenerator, not the class: write"),
        ((INSTANCES, ["nowhere:Thing"]), "'nowhere:Thing' cannot be imported"),
        ((INSTANCES, ["study_parts:Thing"]), "'study_parts:Thing' names nothing"),
        ((INSTANCES, ["study_parts:size"]), "must name a class of generators or a generator"),
        (({"a": "nowhere:Thing"}, ["kelley"]), "'nowhere:Thing' cannot be imported"),
        (({"a": "study_parts:time.sleep.__name__"}, ["kelley"]), "must be an Oracle, an Instance or a function"),
    ],
)
def test_refusals(arguments, words) -> None:
    with pytest.raises(InvalidArgument, match=words):
        Study(*arguments)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"seeds": 0}, "`seeds` must be a whole number of at least 1"),
        ({"seeds": (1, 1)}, "`seeds` must be different"),
        ({"seeds": 1.5}, "`seeds` must be a whole number"),
        ({"seeds": (0, -1)}, "`seeds` must be a number of seeds, or different seeds of at least 0"),
        ({"tau": ()}, "`tau` must be accuracies between 0 and 1"),
        ({"tau": (0.1, 1.0)}, "`tau` must be accuracies between 0 and 1"),
        ({"until": "single-cut"}, r"`until` must be \('certified',\)"),
        ({"until": ("certified", "reference")}, "`until` must be"),
        ({"limits": 3}, "`limits` must be Limits"),
    ],
)
def test_refused_options(options, words) -> None:
    with pytest.raises(InvalidArgument, match=words):
        Study(INSTANCES, ["kelley"], **options)


@pytest.mark.parametrize(("name", "value"), [("calls", 0), ("calls", 2.5), ("seconds", 0.0), ("seconds", np.inf)])
def test_refused_limits(name, value) -> None:
    with pytest.raises(InvalidArgument, match=f"`{name}` must be"):
        Limits(**{name: value})


def test_refused_ways_to_run(tmp_path) -> None:
    study = Study(INSTANCES, ["kelley"])
    with pytest.raises(InvalidArgument, match=r"`executor` must be an Executor such as .*client.get_executor"):
        run(study, tmp_path, executor=3)
    with pytest.raises(InvalidArgument, match="`jobs` must be a whole number of at least 1, got 0"):
        run(study, tmp_path, jobs=0)


def test_generators_may_be_ones_own(tmp_path) -> None:
    study = Study(INSTANCES, ["study_parts:Slow(level=0.7)", "analytic-center"], tau=1e-1)
    assert repr(study.generators["study_parts:Slow(level=0.7)"]).startswith("Slow(")
    assert study.generators["study_parts:Slow(level=0.7)"].level == 0.7
    assert isinstance(study.generators["analytic-center"], AnalyticCenter)
    assert set(run(study, tmp_path).runs["status"]) == {Status.CONVERGED.name}
