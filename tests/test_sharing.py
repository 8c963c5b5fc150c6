"""One oracle, one generator, one run at a time; and what an exception, of whatever kind, leaves behind."""

import copy
import pickle
import threading

import numpy as np
import pytest

from oracle_opt import Box, FunctionOracle, Oracle, Polyhedron, Simplex, Status, minimize
from oracle_opt.cuts import FeasibilityCut, ObjectiveCut, Query
from oracle_opt.errors import EmptyLocalizationSet, Exhausted, InvalidArgument
from oracle_opt.generators import SPG, Kelley, LevelSet

TARGET = np.array([0.2, 0.3, 0.5])


def quadratic(z):
    """Distance squared."""
    return float((z - TARGET) @ (z - TARGET)), 2 * (z - TARGET)


class Stateful(Oracle):
    """Runs something inside its queries."""

    domain = Simplex(3)

    def __init__(self, inside=lambda: None):
        self.inside = inside

    def query(self, query):
        self.inside()
        return ObjectiveCut(query.point, *quadratic(query.point))


def waiting():
    """An oracle that waits in its first query, and the events that say so and let it go on."""
    inside, go_on = threading.Event(), threading.Event()

    def wait():
        inside.set()
        assert go_on.wait(30)

    return Stateful(wait), inside, go_on


@pytest.mark.parametrize("shared", ["oracle", "generator"])
def test_two_threads_cannot_share(shared) -> None:
    oracle, inside, go_on = waiting()
    generator, results = Kelley(), []
    thread = threading.Thread(target=lambda: results.append(minimize(oracle, generator, rtol=1e-4)))
    thread.start()
    try:
        assert inside.wait(30)
        with pytest.raises(InvalidArgument, match=f"`{shared}` must serve one run at a time"):
            minimize(*((oracle, Kelley()) if shared == "oracle" else (Stateful(), generator)))
    finally:
        go_on.set()
        thread.join()
    alone = minimize(Stateful(), Kelley(), rtol=1e-4)
    assert results[0].history.value.tolist() == alone.history.value.tolist()
    assert minimize(oracle, generator, rtol=1e-4).history.value.tolist() == alone.history.value.tolist()


def test_a_run_inside_a_query_cannot_use_the_same_objects() -> None:
    generator = LevelSet()
    nested = Stateful(lambda: minimize(Stateful(), generator, max_calls=2))
    with pytest.raises(InvalidArgument, match="`generator` must serve one run at a time") as caught:
        minimize(nested, generator)
    assert caught.value.result.status is Status.FAILED
    recursive = Stateful()
    recursive.inside = lambda: minimize(recursive, Kelley(), max_calls=2)
    with pytest.raises(InvalidArgument, match="`oracle` must serve one run at a time"):
        minimize(recursive, LevelSet())
    recursive.inside = lambda: minimize(Stateful(), Kelley(), max_calls=2)  # and free again after the failure
    assert minimize(recursive, generator, rtol=1e-3).success


def test_a_function_may_be_shared_and_nested() -> None:
    inner = FunctionOracle(quadratic, Simplex(3))

    def outer(z):
        minimize(inner, Kelley(), max_calls=2)
        return quadratic(z)

    oracle = FunctionOracle(outer, Simplex(3))
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(minimize(oracle, SPG(), rtol=1e-3, max_calls=30)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({tuple(result.history.value) for result in results}) == 1


def test_objects_are_copied_and_pickled_during_a_run() -> None:
    oracle, generator, copies = FunctionOracle(quadratic, Simplex(3)), LevelSet(), []

    def look(record):
        copies.extend([copy.deepcopy(generator), pickle.loads(pickle.dumps(oracle))])
        return True

    minimize(oracle, generator, callback=look)
    assert minimize(copies[1], copies[0], rtol=1e-3).success


class Stop(Exception):
    """Lets no attribute be set."""

    @property
    def result(self):
        """Nothing."""
        return None


@pytest.mark.parametrize(
    "kind", [SystemExit, ValueError, Exhausted, EmptyLocalizationSet, GeneratorExit, StopIteration]
)
@pytest.mark.parametrize("place", ["oracle", "callback"])
def test_every_exception_carries_the_result(kind, place) -> None:
    calls = []

    def fail(*_):
        calls.append(1)
        if len(calls) == 4:
            raise kind("enough")

    oracle = Stateful(fail if place == "oracle" else lambda: None)
    with pytest.raises(kind, match="enough") as caught:
        minimize(oracle, Kelley(), rtol=0, callback=fail if place == "callback" else None)
    result = caught.value.result
    assert result.status is Status.FAILED
    assert result.n_calls == (3 if place == "oracle" else 4)
    assert np.isfinite(result.upper_bound)
    assert "error.result" in caught.value.__notes__[0]


def test_an_exception_that_takes_no_result_is_raised_as_it_is() -> None:
    def fail():
        raise Stop("enough")

    with pytest.raises(Stop, match="enough"):
        minimize(Stateful(fail), Kelley())


def test_an_oracle_that_finds_points_infeasible_may_prove_that_all_are() -> None:
    def nowhere(z):
        raise EmptyLocalizationSet("no point is feasible")

    oracle = FunctionOracle(nowhere, Simplex(3), gives={FeasibilityCut})
    assert minimize(oracle, Kelley()).status is Status.EMPTY
    with pytest.raises(EmptyLocalizationSet):
        minimize(FunctionOracle(nowhere, Simplex(3)), Kelley())


@pytest.mark.to_the_bit
def test_a_generator_that_gives_up_when_it_is_told_keeps_the_answer() -> None:
    class GivesUp(Kelley):
        def tell(self, cut):
            super().tell(cut)
            raise Exhausted("enough")

    result = minimize(FunctionOracle(quadratic, Simplex(3)), GivesUp())
    assert result.status is Status.EXHAUSTED
    assert result.n_calls == 1
    assert result.upper_bound == quadratic(result.point)[0]


def test_the_function_sees_a_point_of_its_own() -> None:
    seen = []
    oracle = FunctionOracle(lambda z: (seen.append(z), quadratic(z))[1], Box(-np.ones(3), np.ones(3)))
    cut = oracle.query(Query(np.zeros(3)))
    seen[0][:] = 9.0
    assert (cut.point == 0).all()


def test_threads_may_share_a_polyhedron() -> None:
    domain = Polyhedron(np.array([[1.0, 2.0, 3.0], [3.0, -1.0, 1.0]]), np.array([4.0, 2.0]), lower=-2.0, upper=5.0)
    rng = np.random.default_rng(0)
    slopes = rng.normal(size=(4, 60, 3))
    alone = [[domain.minimize_linear(slope)[0] for slope in several] for several in slopes]
    found: dict[int, list[float]] = {}

    def minima(i):
        found[i] = [domain.minimize_linear(slope)[0] for slope in slopes[i]]

    threads = [threading.Thread(target=minima, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, values in found.items():
        np.testing.assert_allclose(values, alone[i], rtol=1e-9)
    assert len(found) == 4
