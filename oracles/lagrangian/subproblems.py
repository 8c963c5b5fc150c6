"""Relaxed problems that fall apart into independent ones, which the workers of an executor may solve."""

from collections.abc import Callable
from concurrent.futures import Executor
from typing import Generic, TypeVar

from oracle_opt.arguments import whole
from oracle_opt.arrays import Vector
from oracle_opt.executors import Workers, successive

A = TypeVar("A")
T = TypeVar("T")

PARTS = 8  # tasks of a call


class Subproblems(Generic[T]):
    """Independent problems in an order, in as many tasks as are asked for."""

    def __init__(
        self, data: T, count: int, executor: Executor | None, parts: int, name: str, instead: str = ""
    ) -> None:
        self.data, self._count = data, count
        self._parts = successive(count, whole("parts", parts))
        self._workers = Workers(_Data(data), executor, name, instead or "Pass a ThreadPoolExecutor", data)

    def solve(self, function: Callable[[T, Vector, int, int], A], u: Vector) -> list[A]:
        """What ``function(data, u, first, last)`` answers for problems `first` to `last` - 1, part by part."""
        if self._workers.executor is None:
            return [function(self.data, u, 0, self._count)]
        return self._workers.run(function, u, self._parts)


class _Data(Generic[T]):
    """The recipe of data that are there."""

    def __init__(self, data: T) -> None:
        self._data = data

    def __call__(self) -> T:
        return self._data
