"""How many functions of this library a call of the oracle costs: counts, the same on every machine, that only fall."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import oracle_opt
from oracle_opt import Ball, Box, FunctionOracle, Minorant, Query, QueryPointGenerator, Simplex, Step, minimize
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle
from oracle_opt.oracles import GramBank, MKLOracle

N = 100
OURS = [str(Path(module.__file__).parent) for module in (oracle_opt, oracle_opt.oracles, oracle_opt.generators)]
DOMAINS = {"simplex": Simplex(N), "box": Box(-np.ones(N), np.ones(N)), "ball": Ball(N)}
# Of the driver alone, without and with a minorant and an average of the method.
MOST = {"simplex": (58, 82), "box": (60, 86), "ball": (60.5, 88)}


class TwoPoints(QueryPointGenerator):
    """Asks two points in turn."""

    def __init__(self, proofs: bool) -> None:
        self.proofs = proofs

    def reset(self, domain, point):
        other = domain.minimize_linear(np.arange(1.0, domain.dimension + 1))[1]
        self._points, self._k, self._cut = (point, 0.5 * (point + other)), 0, None

    def ask(self):
        return self._points[self._k % 2]

    def tell(self, cut):
        self._k, self._cut = self._k + 1, cut
        return Step.SERIOUS

    def minorant(self):
        return Minorant(self._cut.constant, self._cut.subgradient) if self.proofs else None

    def weight(self):
        return 1.0 if self.proofs else 0.0


def functions_of(work: Callable[[], object]) -> int:
    """How many Python functions of the library, and those that dataclasses make, are called meanwhile."""
    count = 0

    def watch(frame, event, _):
        nonlocal count
        name = frame.f_code.co_filename
        count += event == "call" and (name == "<string>" or name.startswith(tuple(OURS)))

    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def of_a_call(oracle, make: Callable[[], QueryPointGenerator], few: int, many: int) -> float:
    """Functions for each further call of a run."""
    counts = []
    for calls in (few, many):
        counts.append(
            functions_of(lambda calls=calls: minimize(oracle, make(), rtol=0.0, max_calls=calls, check=False))
        )
    return (counts[1] - counts[0]) / (many - few)


@pytest.mark.to_the_bit
@pytest.mark.parametrize("proofs", [False, True])
@pytest.mark.parametrize("name", DOMAINS)
def test_the_driver_takes_few_functions_a_call(name, proofs) -> None:
    slope = np.linspace(1, 2, N)
    oracle = FunctionOracle(lambda z: (float(slope @ z) + float(z @ z), slope + 2 * z), DOMAINS[name])
    assert of_a_call(oracle, lambda: TwoPoints(proofs), 20, 120) <= MOST[name][proofs]


@pytest.mark.to_the_bit
def test_a_warm_query_of_kernel_learning_takes_few_functions() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    oracle = MKLOracle(GramBank([np.outer(x, x) for x in X.T]), np.resize([1.0, -1.0], 40), 1.0)
    points = [rng.dirichlet(np.ones(5)) for _ in range(2)]
    for point in points:
        oracle.query(Query(point))
    assert functions_of(lambda: oracle.query(Query(points[0]))) <= 110


def largest_of_twenty(n: int) -> FunctionOracle:
    rng = np.random.default_rng(1)
    slopes, constants = rng.normal(size=(20, n)), rng.normal(size=20)

    def largest(z):
        values = slopes @ z + constants
        i = int(values.argmax())
        return float(values[i]), slopes[i]

    return FunctionOracle(largest, Box(-np.ones(n), np.ones(n)))


STEPS = {Kelley: 93, LevelSet: 173, ProximalBundle: 243, AnalyticCenter: 161}


@pytest.mark.parametrize("kind", STEPS)
def test_a_step_of_a_master_takes_few_functions(kind) -> None:
    assert of_a_call(largest_of_twenty(20), kind, 10, 20) <= STEPS[kind]


@pytest.mark.parametrize("kind", [Kelley, LevelSet, ProximalBundle, AnalyticCenter])
def test_the_probes_at_the_end_take_few_functions_a_call(kind) -> None:
    """Each of 8 is held against up to 64 answers."""
    results = []

    def run(probes):
        results.append(minimize(largest_of_twenty(20), kind(), rtol=1e-6, probes=probes))

    few, many = (functions_of(lambda probes=probes: run(probes)) for probes in (0, "auto"))
    assert results[1].n_probes == min(8, max(4, results[1].n_calls // 4))
    assert (many - few) / results[1].n_calls <= 12
