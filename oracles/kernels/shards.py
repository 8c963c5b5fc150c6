"""What workers do of a bank: its parts, the tasks, and what is sent."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

import numpy as np

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.executors import Workers, successive
from oracle_opt.oracles.kernels.bank import Bank
from oracle_opt.oracles.kernels.base import Indices, KernelBank

PER_TASK = 8  # kernels, or rows, of a task: where there are fewer, the other of the two is cut into parts
_MOST_CHOSEN = 8  # banks of some kernels that a process keeps

Sent = tuple[int, Indices | None, Vector]  # size, where the entries that are not 0 stand (None: everywhere), and they


class Shards:
    """A bank and its parts, in the process of a worker.

    Parameters
    ----------
    bank : KernelBank
    parts : int

    Attributes
    ----------
    by_kernels : bool
        Whether kernels are cut into parts.
    n_parts : int
        Number of parts of kernels, all of about one size.
    """

    def __init__(self, bank: KernelBank, parts: int) -> None:
        self.bank, self._ranges = bank, successive(bank.n_kernels, parts)
        self.n_parts = len(self._ranges)
        self._made: dict[int, KernelBank] = {}
        self._chosen: OrderedDict[bytes, KernelBank] = OrderedDict()
        enough = bank.n_kernels >= PER_TASK * parts
        # A view of kernels asks the bank for all of them.
        self.by_kernels = enough and (
            parts == 1 or not (isinstance(one := self.subset(0), Bank) and one.kernels is not None)
        )

    def subset(self, part: int) -> KernelBank:
        """Kernels of a part, made once."""
        made = self._made.get(part)
        if made is None:
            made = self._made[part] = self.bank.subset(np.arange(*self._ranges[part]))
        return made

    def chosen(self, kernels: Indices | None) -> KernelBank:
        """Some kernels, kept for the next tasks; None is all."""
        if kernels is None:
            return self.bank
        key = kernels.tobytes()
        made = self._chosen.get(key)
        if made is None:
            made = self.bank.subset(kernels)
            self._chosen[key] = made
            while len(self._chosen) > _MOST_CHOSEN:
                self._chosen.popitem(last=False)
        return made


class ShardsRecipe:
    """Makes the shards of what a recipe makes."""

    def __init__(self, build: Callable[[], KernelBank], parts: int) -> None:
        self._build, self._parts = build, parts

    def __call__(self) -> Shards:
        """Make the bank, and shards of it."""
        return Shards(self._build(), self._parts)


def forms_by_kernels(workers: Workers[Shards], v: Vector) -> Vector:
    """Quadratic forms of all kernels, each part of them by a task."""
    tasks = [(part,) for part in range(workers.made.n_parts)]
    return np.concatenate(workers.run(_forms_of_kernels, _sent(v), tasks))


def forms_by_points(workers: Workers[Shards], kernels: Indices | None, v: Vector, parts: int) -> Vector:
    """Quadratic forms of some kernels, None is all, added up over tasks, each of which has some of the points."""
    tasks = [(kernels, *part) for part in successive(int(np.count_nonzero(v)), parts)]
    shares = workers.run(_forms_of_points, _sent(v), tasks)
    if not shares:
        return np.zeros(workers.made.bank.n_kernels if kernels is None else kernels.size)
    total: Vector = np.add.reduce(shares, axis=0)
    return total


def products_by_kernels(workers: Workers[Shards], rows: Indices, v: Vector) -> Matrix:
    """Rows of the products of all kernels with a vector, each part of the kernels by a task."""
    tasks = [(part, rows) for part in range(workers.made.n_parts)]
    return np.hstack(workers.run(_products_of_kernels, _sent(v), tasks))


def products_by_points(
    workers: Workers[Shards], kernels: Indices | None, rows: Indices, v: Vector, parts: int
) -> Matrix:
    """Rows of the products of some kernels, None is all, with a vector, some of the rows by each task."""
    tasks = [(kernels, _range_if_it_is(rows[first:last])) for first, last in successive(rows.size, parts)]
    shares = workers.run(_products_of_points, _sent(v), tasks)
    if not shares:
        return np.zeros((0, workers.made.bank.n_kernels if kernels is None else kernels.size))
    return np.vstack(shares)


def _range_if_it_is(rows: Indices) -> Indices | range:
    """Rows that follow each other in a few bytes."""
    first, last = int(rows[0]), int(rows[-1]) + 1
    successive_ones = last - first == rows.size and bool((np.diff(rows) == 1).all())
    return range(first, last) if successive_ones else rows


def _sent(v: Vector) -> Sent:
    """What is sent of a vector: at most half its entries with their places, else all."""
    support = np.flatnonzero(v)
    return (v.size, None, v) if 2 * support.size > v.size else (v.size, support, v[support])


def _received(sent: Sent) -> Vector:
    size, where, values = sent
    if where is None:
        return values
    v = np.zeros(size)
    v[where] = values
    return v


def _forms_of_kernels(shards: Shards, sent: Sent, part: int) -> Vector:
    return shards.subset(part).quadratic_forms(_received(sent))


def _forms_of_points(shards: Shards, sent: Sent, kernels: Indices | None, first: int, last: int) -> Vector:
    """Share of some support vectors in the forms of some kernels: ``sum of v_i (K_k v)_i`` over them."""
    v = _received(sent)
    rows = np.flatnonzero(v)[first:last]
    share: Vector = v[rows] @ shards.chosen(kernels).row_products(rows, v)
    return share


def _products_of_kernels(shards: Shards, sent: Sent, part: int, rows: Indices) -> Matrix:
    return shards.subset(part).row_products(rows, _received(sent))


def _products_of_points(shards: Shards, sent: Sent, kernels: Indices | None, rows: Indices | range) -> Matrix:
    return shards.chosen(kernels).row_products(np.asarray(rows), _received(sent))
