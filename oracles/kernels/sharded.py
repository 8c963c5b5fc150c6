"""A bank whose kernels are priced by the workers of an executor."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.arguments import callback, instance, whole
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.executors import Workers, successive
from oracle_opt.oracles.kernels.base import Indices, KernelBank, checked_indices, checked_vector
from oracle_opt.oracles.kernels.chosen_kernels import ChosenKernels
from oracle_opt.oracles.kernels.product import ProductBank
from oracle_opt.words import shown

PER_TASK = 8  # kernels, or rows, of a task: where there are fewer, the other of the two is cut into parts

Sent = tuple[int, Indices | None, Vector]  # size, where the entries that are not 0 stand (None: everywhere), and they


class ShardedBank(KernelBank):
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
        self._take(_Given(_checked(bank, "bank")), "bank", bank, executor, parts)

    @classmethod
    def from_recipe(
        cls, build: Callable[[], KernelBank], executor: Executor | None = None, *, parts: int = 8
    ) -> ShardedBank:
        """Let each worker process make the bank itself: of a file that it can read, say, so that no kernels are sent.

        Parameters
        ----------
        build : callable
            Takes no arguments and returns the bank, the same in each process. It is sent by cloudpickle, which takes
            functions of any kind; it is called in this process, too.
        executor, parts
            As for the class.

        Returns
        -------
        ShardedBank
            The bank.

        Raises
        ------
        InvalidArgument
            What it returns cannot be sharded, or it cannot be pickled.
        """
        sharded = cls.__new__(cls)
        callback("build", build, "a function of no arguments that returns a KernelBank")
        sharded._take(build, "build", _checked(build(), "build()"), executor, parts)
        return sharded

    def _take(
        self, build: Callable[[], KernelBank], name: str, bank: KernelBank, executor: Executor | None, parts: int
    ) -> None:
        self.bank, self.parts = bank, whole("parts", parts)
        self.n_kernels, self.n_points = bank.n_kernels, bank.n_points
        shards = Shards(bank, self.parts)
        instead = "Pass a function that makes the bank to ShardedBank.from_recipe, or a ThreadPoolExecutor"
        self._workers = Workers(_Recipe(build, self.parts), executor, name, instead, shards)
        self._subsets = [shards.subset(part) for part in range(shards.n_parts)] if shards.by_kernels else []
        self.exactness = max(one.exactness for one in (bank, *self._subsets))

    def __repr__(self) -> str:
        return f"ShardedBank({shown(self.bank)}, parts={self.parts})"

    @property
    def executor(self) -> Executor | None:
        """Who does the tasks."""
        return self._workers.executor

    def quadratic_forms(self, v: ArrayLike) -> Vector:
        """Quadratic form of every kernel at one vector, by the workers, see `KernelBank.quadratic_forms`."""
        x = checked_vector(v, self.n_points, "v")
        sent, shards = _sent(x), self._workers.made
        if shards.by_kernels:
            tasks = [(part, sent) for part in range(shards.n_parts)]
            return np.concatenate(self._workers.run(_forms_of_kernels, tasks))
        pieces = np.array_split(np.flatnonzero(x), self.parts)
        shares = self._workers.run(_forms_of_points, [(rows, sent) for rows in pieces if rows.size])
        total: Vector = np.add.reduce(shares, axis=0) if shares else np.zeros(self.n_kernels)
        return total

    def row_products(self, rows: ArrayLike, v: ArrayLike) -> Matrix:
        """Some entries of every kernel times one vector, by the workers, see `KernelBank.row_products`."""
        sent = _sent(checked_vector(v, self.n_points, "v"))
        which, shards = checked_indices(rows, self.n_points, "rows"), self._workers.made
        if shards.by_kernels and which.size < PER_TASK * self.parts:
            tasks = [(part, which, sent) for part in range(shards.n_parts)]
            return np.hstack(self._workers.run(_products_of_kernels, tasks))
        pieces = [piece for piece in np.array_split(which, self.parts) if piece.size]
        shares = self._workers.run(_products_of_points, [(piece, sent) for piece in pieces])
        return np.vstack(shares) if shares else np.zeros((0, self.n_kernels))

    def combine(self, weights: ArrayLike, out: Matrix | None = None) -> Matrix:
        """Weighted sum of the kernels, in this process, see `KernelBank.combine`."""
        return self.bank.combine(weights, out)

    def block(self, weights: ArrayLike, rows: ArrayLike, columns: ArrayLike) -> Matrix:
        """Some entries of the weighted sum, in this process, see `KernelBank.block`."""
        return self.bank.block(weights, rows, columns)

    def entries(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Some entries of every kernel, in this process, see `KernelBank.entries`."""
        return self.bank.entries(rows, columns)

    def subset(self, kernels: ArrayLike) -> KernelBank:
        """Some of the kernels as a bank in this process, see `KernelBank.subset`."""
        return self.bank.subset(kernels)

    def diagonal(self) -> Matrix:
        """Diagonals of the kernels, ndarray of shape (n, p)."""
        return self.bank.diagonal()

    @cached_property
    def sizes(self) -> tuple[Vector, Vector]:
        """Largest diagonal entry and trace of each kernel, two ndarrays of shape (p,)."""
        return self.bank.sizes

    def noise(self, n_used: int) -> float:
        """Error of an entry of a sum of so many kernels: that of the bank."""
        return self.bank.noise(n_used)

    def form_error(self, u: Vector, v: Vector) -> tuple[float, float]:
        """Error of ``u @ K_k @ v`` for all k, see `KernelBank.form_error`: the largest of the bank and its parts.

        Its sum over pairs in 64 parts, or two sums over points, have more roundings than a sum over points whose terms
        are added up in parts.
        """
        errors = [one.form_error(u, v) for one in (self.bank, *self._subsets)]
        return max(of_largest for of_largest, _ in errors), max(of_trace for _, of_trace in errors)

    def cross(self, new: Any, weights: ArrayLike) -> Matrix:
        """Weighted sum of the kernels between new points and those of the bank, in this process."""
        return self.bank.cross(new, weights)

    def digest(self) -> str:
        """16 hexadecimal digits, those of the bank: answers differ by rounding alone, and `form_error` covers it."""
        return self.bank.digest()


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
        enough = bank.n_kernels >= PER_TASK * parts
        self.by_kernels = enough and (parts == 1 or not isinstance(self.subset(0), ChosenKernels))

    def subset(self, part: int) -> KernelBank:
        """Kernels of a part, made once."""
        made = self._made.get(part)
        if made is None:
            made = self._made[part] = self.bank.subset(np.arange(*self._ranges[part]))
        return made


class _Given:
    """The recipe of a bank that is there."""

    def __init__(self, bank: KernelBank) -> None:
        self._bank = bank

    def __call__(self) -> KernelBank:
        return self._bank


class _Recipe:
    """Makes the shards of what a recipe makes."""

    def __init__(self, build: Callable[[], KernelBank], parts: int) -> None:
        self._build, self._parts = build, parts

    def __call__(self) -> Shards:
        return Shards(self._build(), self._parts)


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


def _forms_of_kernels(shards: Shards, part: int, sent: Sent) -> Vector:
    return shards.subset(part).quadratic_forms(_received(sent))


def _forms_of_points(shards: Shards, rows: Indices, sent: Sent) -> Vector:
    """Share of these rows in the quadratic form of every kernel: ``sum of v_i (K_k v)_i`` over them."""
    v = _received(sent)
    share: Vector = v[rows] @ shards.bank.row_products(rows, v)
    return share


def _products_of_kernels(shards: Shards, part: int, rows: Indices, sent: Sent) -> Matrix:
    return shards.subset(part).row_products(rows, _received(sent))


def _products_of_points(shards: Shards, rows: Indices, sent: Sent) -> Matrix:
    return shards.bank.row_products(rows, _received(sent))
