"""A bank whose kernels are priced by the workers of an executor: its parts, the tasks, and what is sent."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Executor

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arguments import callback, instance, whole
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.executors import Workers, successive
from oracle_opt.oracles.kernels.bank import Bank
from oracle_opt.oracles.kernels.bank_checks import checked_kernels
from oracle_opt.oracles.kernels.base import Indices, KernelBank
from oracle_opt.oracles.kernels.kept_kernels import Given
from oracle_opt.oracles.kernels.product import ProductBank
from oracle_opt.words import shown

# Entries of kernels, those of all rows and kernels of a call, from which on it is shared out: about 20 ms of work.
WORTH_SENDING = 1 << 25
PER_TASK = 8  # kernels, or rows, of a task: where there are fewer, the other of the two is cut into parts
_MOST_CHOSEN = 8  # banks of some kernels that a process keeps
Sent = tuple[int, Indices | None, Vector]  # size, where the entries that are not 0 stand (None: everywhere), and they


class ShardedBank(Bank):
    """Kernels of a bank, priced by workers: `quadratic_forms` and `row_products` are cut into tasks of an executor.

    Each worker process makes the bank once, from its pickle or a recipe; a task then sends the entries of a vector that
    are not 0, and brings back numbers of kernels: nothing of size ``n**2`` is sent. Weighted sums of kernels, in which
    few take part, are made in this process. A task leaves nothing behind, so a worker that dies costs the task in its
    hands; and tasks are the same whoever does them, and are put together in one order: so no bit of an answer depends
    on the workers and their number, as long as their processors are of one kind.

    Parameters
    ----------
    bank : KernelBank
        At least 2 kernels on n points. Its pickle is sent to each worker process once.
    executor : concurrent.futures.Executor, optional
        Does the tasks: threads, processes, or ``client.get_executor(pure=False)`` of a Dask client. It is the user's to
        shut down. Default is this process.
    parts : int
        Number of tasks of a call, whatever the number of workers: take two to four times as many as workers. Answers
        depend on it by rounding. No task has fewer than one kernel or point.

    Attributes
    ----------
    bank : KernelBank
        As given, or as the recipe made it.
    parts : int
        As given.
    executor : concurrent.futures.Executor or None
        As given.
    by_kernels : bool
        Whether a task of `quadratic_forms` has some of the kernels, else some of the points.

    Raises
    ------
    InvalidArgument
        A bank that cannot be sharded, with the reason; no executor.

    Notes
    -----
    Many kernels are cut into parts, as `KernelBank.subset` gives them. Where there are fewer than 8 kernels for each
    part, or the bank knows no way to ask for some alone, the points are: a task then has some rows of all kernels, and
    a quadratic form is summed over the tasks.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import numpy as np
    >>> from oracle_opt.oracles import RBFBank, ShardedBank
    >>> bank = RBFBank.from_quantiles(np.arange(12.0).reshape(6, 2), 40)
    >>> with ThreadPoolExecutor(2) as executor:
    ...     forms = ShardedBank(bank, executor, parts=4).quadratic_forms(np.arange(6.0))
    >>> bool(np.allclose(forms, bank.quadratic_forms(np.arange(6.0)), rtol=1e-12))
    True
    """

    def __init__(self, bank: KernelBank, executor: Executor | None = None, *, parts: int = 8) -> None:
        self._take(Given(_checked(bank, "bank")), "bank", bank, executor, parts)

    @classmethod
    def from_recipe(
        cls, build: Callable[[], KernelBank], executor: Executor | None = None, *, parts: int = 8
    ) -> ShardedBank:
        """Let each worker process make the bank itself: of a file that it can read, say, so that no kernels are sent.

        `build` takes no arguments and returns the bank, the same in each process. It is sent by cloudpickle, which
        takes functions of any kind; it is called in this process, too. `executor` and `parts` are as for the class.
        """
        sharded = cls.__new__(cls)
        callback("build", build, "a function of no arguments that returns a KernelBank")
        sharded._take(build, "build", _checked(build(), "build()"), executor, parts)
        return sharded

    def _take(
        self, build: Callable[[], KernelBank], name: str, bank: KernelBank, executor: Executor | None, parts: int
    ) -> None:
        super().__init__(bank)
        self.parts = whole("parts", parts)
        shards = Shards(bank, self.parts)
        instead = "Pass a function that makes the bank to ShardedBank.from_recipe, or a ThreadPoolExecutor"
        self._workers = Workers(ShardsRecipe(build, self.parts), executor, name, instead, shards)
        self._subsets = [shards.subset(part) for part in range(shards.n_parts)] if shards.by_kernels else []
        self.exactness = max(one.exactness for one in (bank, *self._subsets))

    def __repr__(self) -> str:
        return f"ShardedBank({shown(self.bank)}, parts={self.parts})"

    @property
    def executor(self) -> Executor | None:
        """Who does the tasks."""
        return self._workers.executor

    @property
    def by_kernels(self) -> bool:
        """Whether a task of `quadratic_forms` has some of the kernels, else some of the points."""
        return self._workers.made.by_kernels

    def _forms(self, x: Vector) -> Vector:
        if self.by_kernels:
            return forms_by_kernels(self._workers, x)
        return forms_by_points(self._workers, None, x, self.parts)

    def _products(self, rows: Indices, x: Vector) -> Matrix:
        if self.by_kernels and rows.size < PER_TASK * self.parts:
            return products_by_kernels(self._workers, rows, x)
        return products_by_points(self._workers, None, rows, x, self.parts)

    def subset(self, kernels: ArrayLike) -> KernelBank:
        """Some of the kernels as a bank, see `KernelBank.subset`; where it has much to do, workers do it by points."""
        chosen = checked_kernels(kernels, self.n_kernels)
        return ShardedSubset(self.bank.subset(chosen), chosen, self._workers, self.parts)

    def precise(self, most_bytes: float) -> KernelBank:
        """Return this bank, whose sums are for workers to make."""
        return self

    def form_error(self, u: Vector, v: Vector) -> tuple[float, float]:
        """Error of ``u @ K_k @ v`` for all k, see `KernelBank.form_error`: the largest of the bank and its parts.

        Its sum over pairs in 64 parts, or two sums over points, have more roundings than a sum over points whose terms
        are added up in parts.
        """
        errors = [one.form_error(u, v) for one in (self.bank, *self._subsets)]
        return max(of_largest for of_largest, _ in errors), max(of_trace for _, of_trace in errors)


def _checked(bank: object, name: str) -> KernelBank:
    """Return a bank that can be sharded, or raise `InvalidArgument` with the reason why it cannot."""
    reason = ""
    if isinstance(bank, ProductBank):
        reason = "each entry of a product needs all of its kernels, so no part can be priced without the others"
    elif isinstance(bank, ShardedBank):
        reason = "it is sharded; pass its attribute `bank`"
    elif isinstance(bank, KernelBank) and bank.n_kernels < 2:
        reason = "it has one kernel, which is priced by one task; let the bank itself use the threads of this process"
    if reason:
        raise InvalidArgument(f"`{name}` cannot be sharded, got {shown(bank)}: {reason}")
    return instance(name, bank, KernelBank, "a KernelBank such as RBFBank(X, features, widths)")


class ShardedSubset(Bank):
    """Some kernels, which live in this process; workers do what takes long, each for some of the points."""

    def __init__(self, bank: KernelBank, kernels: Indices, workers: Workers[Shards], parts: int) -> None:
        super().__init__(bank)
        self._kernels, self._workers, self._parts = kernels, workers, parts

    def _forms(self, x: Vector) -> Vector:
        n_support = int(np.count_nonzero(x))
        if n_support * n_support * self.n_kernels < WORTH_SENDING:
            return self.bank.quadratic_forms(x)
        return forms_by_points(self._workers, self._kernels, x, self._parts)

    def _products(self, rows: Indices, x: Vector) -> Matrix:
        if rows.size * int(np.count_nonzero(x)) * self.n_kernels < WORTH_SENDING:
            return self.bank.row_products(rows, x)
        return products_by_points(self._workers, self._kernels, rows, x, self._parts)

    def precise(self, most_bytes: float) -> KernelBank:
        """Return this bank, whose sums are for workers to make."""
        return self

    def subset(self, kernels: ArrayLike) -> KernelBank:
        """Some of these kernels, see `KernelBank.subset`."""
        chosen = self.bank.subset(kernels)
        return ShardedSubset(chosen, self._kernels[np.asarray(kernels)], self._workers, self._parts)


class Shards:
    """A bank and its parts, in the process of a worker."""

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
    """The message for a vector: its support with indices if at most half the entries, else all entries."""
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
