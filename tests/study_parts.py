"""Instances and generators for tests of studies, in a module that worker processes can import."""

import os
import time
from pathlib import Path

import numpy as np
from small_results import largest_of_pieces

from oracle_opt import Box, Domain, FreeSpace, FunctionOracle, ObjectiveCut, Query
from oracle_opt.generators import FixedPoint, LevelSet
from oracle_opt.problems import Instance
from oracle_opt.study.execute import forget


def pieces(seed: int) -> FunctionOracle:
    """A factory."""
    return largest_of_pieces(3, seed)


def measured(seed: int) -> Instance:
    """With measures, a trace and a start of its own."""
    return Instance(
        largest_of_pieces(3, seed),
        start=np.full(3, 0.25),
        measures={"size": size, "slow": slow},
        traces={"size_of_call": size, "slow_of_call": slow},
    )


def size(cut: ObjectiveCut) -> float:
    return float(np.abs(cut.point).sum())


def slow(cut: ObjectiveCut) -> float:
    time.sleep(0.02)
    return 0.0


def with_a_flaw(seed: int) -> FunctionOracle:
    """Raises at its third query."""
    oracle, calls = largest_of_pieces(3, seed), 0

    def function(z: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise ZeroDivisionError("the third query is one too many")
        return oracle.function(z)

    return FunctionOracle(function, oracle.domain, name="flawed")


def undefined(z: np.ndarray) -> object:
    """A function with a slip of the pen."""
    return undefined_name, z  # noqa: F821


def sized(n: int) -> FunctionOracle:
    return largest_of_pieces(n, 0)


def of_both(n: int, seed: int) -> FunctionOracle:
    return largest_of_pieces(n, seed)


def with_default(n: int, seed: int = 5) -> FunctionOracle:
    return largest_of_pieces(n, seed)


class Maker:
    def __init__(self, n: int) -> None:
        self.n = n

    def __call__(self, seed: int) -> FunctionOracle:
        return largest_of_pieces(self.n, seed)


class Forgetful(LevelSet):
    """Its process has no instance left after a run, as one that was replaced."""

    def reset(self, domain: Domain, point: np.ndarray) -> None:
        forget()
        super().reset(domain, point)


def not_to_be_made(seed: int) -> FunctionOracle:
    raise FileNotFoundError("the data are gone")


def no_oracle(seed: int) -> int:
    return seed


def by_a_file(seed: int) -> FunctionOracle:
    """Another problem when the file that an environment variable names has come."""
    changed = Path(os.environ["STUDY_PARTS_FILE"]).exists()
    return FunctionOracle(lambda z: (z @ z, 2 * z), Box(-np.ones(2), np.full(2, 2.0 + changed)), name="by a file")


class Slow(LevelSet):
    """Takes a while."""

    def ask(self) -> np.ndarray | Query:
        time.sleep(0.02)
        return super().ask()


class Flaky(FixedPoint):
    """Fails as long as the file that an environment variable names is not there."""

    def reset(self, domain, point):
        if not Path(os.environ["STUDY_PARTS_FILE"]).exists():
            raise RuntimeError("not yet")
        super().reset(domain, point)


def at_the_edge(seed: int) -> FunctionOracle:
    """The minimizer lies on the sphere within which it is promised."""
    center = np.array([1.0, 0.0])
    return FunctionOracle(
        lambda z: (1 + (z - center) @ (z - center), 2 * (z - center)), FreeSpace(2, 1.0), name="at the edge"
    )
