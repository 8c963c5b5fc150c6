"""One support vector machine of multiple kernel learning: the kernels, the loss, and how it is solved."""

from collections.abc import Sequence
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arguments import instance, real, whole
from oracle_opt.arrays import Matrix, Vector, digest
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels import JoinedBank, KernelBank, ProductBank
from oracle_opt.oracles.kernels.base import COARSE
from oracle_opt.oracles.kernels.on_the_fly import OnTheFlyBank
from oracle_opt.oracles.mkl.dense_machine import DenseMachine
from oracle_opt.oracles.mkl.matrix_free_machine import MatrixFreeMachine, least_budget
from oracle_opt.oracles.mkl.product_machine import ProductMachine
from oracle_opt.oracles.mkl.svm_machine import SVMMachine
from oracle_opt.oracles.svm import Hinge, Loss
from oracle_opt.oracles.svm.checked_data import array_of
from oracle_opt.oracles.svm.curvature_factor import curvature_factor
from oracle_opt.oracles.svm.loss import checked_dual
from oracle_opt.oracles.svm.loss_dual import LossDual
from oracle_opt.words import shown

# Bytes that a combined kernel, or what takes its place, may take by default.
MEMORY_BUDGET = 2 << 30
# Bytes that the entries of kernels may take which are kept because sums of the bank are coarse: a tenth of a second.
KEPT_BYTES = 1 << 26
# Points from which on kernels that are computed anew each time are better not computed for all pairs: measured in
# docs/performance_kernels.md.
MANY_POINTS = 4000
# Quadratic forms are updated so many times in a row at most; see `MKLOracle`.
MOST_UPDATES = 16


class KernelMachine:
    """``max over b of L(b) - 1/2 b @ (sum_k w_k K_k) @ b``, at any weights w: what `KernelWeightsOracle` is made of.

    Parameters
    ----------
    bank : KernelBank or ProductBank
        p kernels on n points.
    y, loss, C, accuracy, max_steps, memory_budget
        As for `MKLOracle`.
    most_updates : int
        So many times in a row at most quadratic forms are updated from the last ones; 0: each time they are summed in
        full.

    Attributes
    ----------
    y : ndarray or None
        Labels or targets: a copy of what was given.
    loss : Loss
    dual : LossDual
        The dual of the machine without its kernel: what the loss makes of the labels or targets.

    Raises
    ------
    InvalidArgument
        Labels, targets or a loss that cannot be used, or a `memory_budget` that is too small; the least is named.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt.oracles import GramBank, KernelMachine
    >>> KernelMachine(GramBank([np.eye(2), 2 * np.eye(2)]), [1, -1], C=10.0)
    KernelMachine(GramBank(n_kernels=2, n_points=2, dtype=float64), Hinge(C=10, class_weight=None))
    """

    def __init__(
        self,
        bank: KernelBank | ProductBank,
        y: ArrayLike | None = None,
        loss: Loss | float | ArrayLike | None = None,
        *,
        C: float | ArrayLike | None = None,
        accuracy: float = 1e-8,
        max_steps: int = 10_000_000,
        memory_budget: int = MEMORY_BUDGET,
        most_updates: int = MOST_UPDATES,
    ) -> None:
        self.bank = bank if isinstance(bank, ProductBank) else checked_bank(bank)
        self.loss = chosen_loss(loss, C)
        self.y = None if y is None else np.array(array_of("y", y, "labels or targets"))
        if self.y is not None and self.y.dtype.kind in "biu":
            self.y = self.y.astype(float)
        self.dual: LossDual = checked_dual(self.loss, self.y, bank.n_points)
        self.accuracy = real("accuracy", accuracy, least=0.0)
        self.max_steps = whole("max_steps", max_steps, 0)
        self.memory_budget = whole("memory_budget", memory_budget)
        self.most_updates = whole("most_updates", most_updates, 0)

    def __repr__(self) -> str:
        return f"KernelMachine({self.bank!r}, {self.loss!r})"

    def solver(self, bank: KernelBank | ProductBank | None = None) -> SVMMachine:
        """Return what solves this machine, and knows no solution yet, on all kernels or those of a `bank`.

        The bank has some of the kernels, or the same ones with other errors. The combined kernel is formed where the
        memory budget allows it; but from `MANY_POINTS` on not of a bank that keeps no entries, where working sets take
        less work.
        """
        bank = self.bank if bank is None else bank
        given = isinstance(bank, ProductBank) and not bank.on_the_fly
        if given or (8 * bank.n_points**2 <= self.memory_budget and not self._by_sets(bank)):
            if isinstance(bank, KernelBank):
                bank = bank.precise(min(KEPT_BYTES, self.memory_budget - 8 * bank.n_points**2))
            return DenseMachine(bank, self.dual, self.accuracy, self.max_steps, self.most_updates)
        dual = self.dual.piecewise
        if dual is None:
            raise InvalidArgument(
                f"`memory_budget` must be at least {8 * bank.n_points**2} bytes with the loss {self.loss!r}, which is "
                f"solved on the combined kernel of all points, got {self.memory_budget}"
            )
        if isinstance(bank, ProductBank):
            return ProductMachine(bank, dual, self.accuracy, self.max_steps, self.memory_budget)
        return MatrixFreeMachine(bank, dual, self.accuracy, self.max_steps, self.memory_budget)

    def _by_sets(self, bank: KernelBank | ProductBank) -> bool:
        """Whether working sets are likely to take less work than entries of all pairs of points."""
        many = bank.n_points >= MANY_POINTS and self.dual.piecewise is not None
        if not many or not isinstance(bank, KernelBank) or not _keeps_nothing(bank) or bank.exactness > COARSE:
            return False
        return least_budget(bank) <= self.memory_budget

    def problem_identity(self) -> str:
        """Words on kernels, loss, and labels or targets, which tell this machine from others."""
        content = digest(self.y, *self.dual.numbers())
        return f"kernels #{self.bank.digest()}, {type(self.loss).__name__} #{content}"

    def identity(self) -> str:
        """The same, and how exactly it is solved."""
        return f"{self.problem_identity()}, accuracy {float(self.accuracy)!r}, steps {self.max_steps}"


def _keeps_nothing(bank: KernelBank) -> bool:
    return isinstance(bank, OnTheFlyBank) or (isinstance(bank, JoinedBank) and all(map(_keeps_nothing, bank.banks)))


def checked_bank(bank: KernelBank) -> KernelBank:
    """Return a bank, or raise `InvalidArgument` unless it is one whose kernels can be added up."""
    return instance("bank", bank, KernelBank, "a KernelBank such as GramBank(kernels) or uci_bank(X)")


def chosen_loss(loss: Loss | float | ArrayLike | None, C: float | ArrayLike | None) -> Loss:
    """Return the loss; a number or weights of the points are those of `Hinge`, which is the default."""
    if loss is None:
        return Hinge() if C is None else Hinge(C)
    if C is not None:
        raise InvalidArgument(
            f"`C` is short for `loss=Hinge(C)`: leave one out, got C={shown(C)} and loss={shown(loss)}"
        )
    if isinstance(loss, (Real, np.ndarray, Sequence)) and not isinstance(loss, str | bytes):
        try:
            return Hinge(loss)
        except InvalidArgument as problem:
            raise InvalidArgument(f"`loss` must be a Loss or the C of Hinge, got {shown(loss)}: {problem}") from problem
    return instance("loss", loss, Loss, "a Loss such as Hinge(C=100.0) or EpsilonInsensitive(C=100.0, epsilon=0.1)")


def factor_of(of: KernelMachine, solver: SVMMachine, d: Vector, b: Vector) -> Matrix | None:
    """Factor of the Hessian at weights at which a machine has the solution b: no rows if it is 0, None if not known."""
    free = of.dual.free(b)
    if not free.size:
        return np.empty((0, d.size))
    block = solver.block(d, free)
    return None if block is None else curvature_factor(block, solver.rows(free, b))
