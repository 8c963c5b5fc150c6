"""What the oracles of multiple kernel learning share: a loss, and one support vector machine after another."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arguments import flag, floats, instance, real, whole
from oracle_opt.arrays import Vector, digest
from oracle_opt.cuts import Cut, ObjectiveCut
from oracle_opt.domains import Domain
from oracle_opt.errors import InvalidArgument
from oracle_opt.optional import require
from oracle_opt.oracle import Oracle
from oracle_opt.oracles.kernels import KernelBank, ProductBank
from oracle_opt.oracles.mkl.dense_machine import DenseMachine
from oracle_opt.oracles.mkl.kernel_model import KernelModel, some_of
from oracle_opt.oracles.mkl.matrix_free_machine import MatrixFreeMachine
from oracle_opt.oracles.mkl.product_machine import ProductMachine
from oracle_opt.oracles.mkl.svm_machine import SVMMachine
from oracle_opt.oracles.svm import Hinge, Loss, SVMSolution
from oracle_opt.oracles.svm.checked_data import array_of
from oracle_opt.oracles.svm.loss import checked_dual
from oracle_opt.oracles.svm.separable_dual import Separable
from oracle_opt.oracles.svm.svm_solution import decision_values
from oracle_opt.proof.claim import CutClaim, ValueClaim, missing
from oracle_opt.result import Result
from oracle_opt.words import shown

if TYPE_CHECKING:
    import pandas as pd

# Bytes that a combined kernel, or what takes its place, may take by default.
MEMORY_BUDGET = 2 << 30
# Weights of kernels up to which machines are solved: beyond them squares overflow.
LARGEST = 1e140
# Bytes that the entries of kernels may take which are kept because sums of the bank are coarse: a tenth of a second.
KEPT_BYTES = 1 << 26


class SVMOracle(Oracle):
    """An oracle whose cuts come from support vector machines on the weighted kernels of a bank.

    Every solve starts where the last one ended. Each cut has the extras `signed_dual`, the coefficients b of the points
    in the decision function, shape (n,); `alpha`, their absolute values; `bias`; and `n_steps` of the machine.

    Parameters
    ----------
    bank : KernelBank or ProductBank
        p kernels on n points.
    y, loss, C, accuracy, max_steps, memory_budget
        As for `MKLOracle`.
    most_updates : int
        As for `DenseMachine`.

    Attributes
    ----------
    y : ndarray or None
        Labels or targets: a copy of what was given.
    loss : Loss
    """

    bank: KernelBank | ProductBank

    def __init__(
        self,
        bank: KernelBank | ProductBank,
        y: ArrayLike | None,
        loss: Loss | float | ArrayLike | None,
        C: float | ArrayLike | None,
        accuracy: float,
        max_steps: int,
        memory_budget: int,
        most_updates: int = 0,
    ) -> None:
        self.loss = chosen_loss(loss, C)
        self.y = None if y is None else np.array(array_of("y", y, "labels or targets"))
        if self.y is not None and self.y.dtype.kind in "biu":
            self.y = self.y.astype(float)
        self._dual = checked_dual(self.loss, self.y, bank.n_points)
        self.accuracy = real("accuracy", accuracy, least=0.0)
        self.max_steps = whole("max_steps", max_steps, 0)
        self.memory_budget = whole("memory_budget", memory_budget)
        self._most_updates = most_updates
        self._start: Vector | None = None
        self._machine = self._machine_on(bank)

    def reset(self) -> None:
        """Forget the last solution."""
        self._machine.reset()
        if self._start is not None:
            self._machine.signed = self._start.copy()

    def start_from(self, signed_dual: ArrayLike | None) -> None:
        """Let the first machine of every run start here, as at the end of a run with a similar loss.

        Parameters
        ----------
        signed_dual : array_like of shape (n,) or None
            Signed dual variables, which need not be feasible; None: each run starts anew, which is the default.
        """
        self._start = checked_start_of(signed_dual, self.bank.n_points)
        self.reset()

    def resume(self, cut: Cut) -> None:
        """Take the solution of a cut as the next starting point."""
        self._machine.resume(cut.extras)

    def decision_function(self, cut: ObjectiveCut, new: Any) -> Vector:
        """Decision values of new points, for the support vector machine that answered a cut of this oracle.

        Parameters
        ----------
        cut : ObjectiveCut
            For example the best one of a run, ``result.cut``.
        new : array_like
            New points as the bank's `cross` takes them: m raw points, or p cross-kernels of shape (m, n).

        Returns
        -------
        ndarray of shape (m,)
            Positive for the class +1, or for points like those of the bank; of a regression the prediction.
        """
        _checked_cut(cut, "cut")
        cross = self.bank.cross(new, self._kernel_weights(cut))
        return decision_values(cross, cut.extras["signed_dual"], cut.extras["bias"])

    def predict(self, cut: ObjectiveCut, new: Any) -> Vector:
        """Labels -1 or +1 of new points, 0 counting as +1, or their targets, by the loss: ndarray of shape (m,)."""
        return self.loss.predict(self.decision_function(cut, new))

    def model(self, result: Result | ObjectiveCut) -> KernelModel:
        """What a run found, alone: for decisions on new points without this oracle and its bank.

        Parameters
        ----------
        result : Result or ObjectiveCut
            A run on this oracle, or one of its cuts.

        Returns
        -------
        KernelModel
            It holds support vectors and kernels of non-zero weight only.

        Raises
        ------
        InvalidArgument
            It is no result or cut of this oracle.
        """
        cut = self._cut_of(result)
        weights, b = self._kernel_weights(cut), cut.extras["signed_dual"]
        kernels, support = some_of(weights), some_of(b)
        used, bias = weights[kernels], float(cut.extras["bias"])
        if not used.any() and isinstance(self.bank, KernelBank):
            used, b = np.ones(1), np.zeros_like(b)  # all decisions are the bias, as if there were no support vector
        labels = [self.bank.label(k) for k in kernels.tolist()]
        kept = self.bank.kept(kernels, support)
        return KernelModel(kept, used, b[support], bias, self.loss, kernels, support, labels)

    def weights(self, result: Result | ObjectiveCut, *, largest_first: bool = False) -> pd.DataFrame:
        """Weights of the kernels that a run found, as a table.

        Parameters
        ----------
        result : Result or ObjectiveCut
            A run on this oracle, or one of its cuts.
        largest_first : bool
            Whether rows are sorted by weight. Default: in the order of the bank.

        Returns
        -------
        DataFrame
            The columns name, group and weight, a row for each kernel: the weights in the decision function. Those of
            `MKLOracle` add up to 1. In a product of kernels they are those of the distances in the exponent.

        Raises
        ------
        InvalidArgument
            It is no result or cut of this oracle.
        MissingPackage
            pandas is not installed.
        """
        frame = require("pandas", "study", "tables of weights").DataFrame
        weights = np.array(self._kernel_weights(self._cut_of(result)), dtype=float)
        table = frame({"name": list(self.bank.names), "group": list(self.bank.groups), "weight": weights})
        if flag("largest_first", largest_first):
            table = table.sort_values("weight", ascending=False, kind="stable")
        return table

    def missing_witness(self, claim: CutClaim | ValueClaim) -> tuple[str, ...]:
        """The dual variables: any bias will do."""
        return missing(claim, "signed_dual")

    def identity(self) -> str:
        """Kernels, loss, labels or targets, and accuracy."""
        words = self._machine.identity()
        return f"{self._svm_identity()}, accuracy {float(self.accuracy)!r}, steps {self.max_steps}{words}"

    def problem_identity(self) -> str:
        """Kernels, loss, labels or targets: without how exactly, and with how much memory, machines are solved."""
        return self._svm_identity()

    def _svm_identity(self) -> str:
        dual = self._dual
        kink = 0.0 if dual.kink is None else float(dual.kink[0]) if np.ptp(dual.kink) == 0 else dual.kink
        numbers = dual.total, kink, dual.unit, dual.offset
        content = digest(self.y, dual.linear, *dual.box, dual.ridge, *numbers)
        return f"{super().identity()}, kernels #{self.bank.digest()}, {type(self.loss).__name__} #{content}"

    @property
    def dual(self) -> Separable:
        """The dual of the machine without its kernel: what the loss makes of the labels or targets."""
        return self._dual

    def new_machine(self) -> SVMMachine:
        """Return a machine on all kernels, of this loss and these options, that knows no solution yet."""
        return self._machine_on(self.bank)

    def _machine_on(self, bank: KernelBank | ProductBank) -> SVMMachine:
        """A machine of this loss and these options on a bank: this oracle's, or some of its kernels."""
        given = isinstance(bank, ProductBank) and not bank.on_the_fly
        if given or 8 * bank.n_points**2 <= self.memory_budget:
            if isinstance(bank, KernelBank):
                bank = bank.precise(min(KEPT_BYTES, self.memory_budget - 8 * bank.n_points**2))
            return DenseMachine(bank, self._dual, self.accuracy, self.max_steps, self._most_updates)
        if isinstance(bank, ProductBank):
            return ProductMachine(bank, self._dual, self.accuracy, self.max_steps, self.memory_budget)
        return MatrixFreeMachine(bank, self._dual, self.accuracy, self.max_steps, self.memory_budget)

    def _cut_of(self, result: Result | ObjectiveCut) -> ObjectiveCut:
        """The cut of a result, or the cut itself; it is one of this oracle."""
        cut = _checked_cut(result.cut if isinstance(result, Result) else result, "result")
        if cut.extras["signed_dual"].shape != (self.bank.n_points,) or cut.point.shape != (self.domain.dimension,):
            raise InvalidArgument(
                f"`result` must be one of this oracle, of {self.domain.dimension} weights and {self.bank.n_points} "
                f"points, got {cut.point.size} weights and {cut.extras['signed_dual'].size} points"
            )
        return cut

    def _extras(self, svm: SVMSolution) -> dict[str, Any]:
        """What every cut tells of its support vector machine."""
        return {"signed_dual": svm.signed_dual, "alpha": svm.alpha, "bias": svm.bias, "n_steps": svm.n_steps}

    def _kernel_weights(self, cut: ObjectiveCut) -> Vector:
        """Weights of the bank's kernels in the machine that answered a cut, ndarray of shape (p,)."""
        return cut.point

    def _checked_point(self, point: Vector) -> Vector:
        """Return a copy of the point, or raise `InvalidArgument` unless it is finite and in the domain."""
        return checked_query_point(point, self.domain)


def checked_query_point(point: Vector, domain: Domain) -> Vector:
    """Return a copy of a query point, or raise `InvalidArgument` unless it is finite and in the domain."""
    checked, dimension = np.array(point, dtype=float), domain.dimension
    if checked.shape != (dimension,) or not np.isfinite(checked).all():
        raise InvalidArgument(f"`query.point` must be {dimension} finite weights, got shape {checked.shape}")
    if np.abs(checked).max() > LARGEST:
        raise InvalidArgument(
            f"`query.point` must have weights up to {LARGEST:g}, got {np.abs(checked).max():.3g}: objectives of "
            "machines overflow; a regularizer of more weight, or a radius, keeps them smaller"
        )
    if not domain.contains(checked):
        raise InvalidArgument(
            f"`query.point` must be in {domain!r}, got the sum {checked.sum():.12g} and the least entry "
            f"{checked.min():.3g}; project it first"
        )
    return checked


def checked_start_of(signed_dual: ArrayLike | None, n_points: int) -> Vector | None:
    """Return dual variables to start from, or raise `InvalidArgument` unless they are so many finite numbers."""
    if signed_dual is None:
        return None
    start = np.array(floats("signed_dual", signed_dual))
    if start.shape != (n_points,) or not np.isfinite(start).all():
        raise InvalidArgument(f"`signed_dual` must be {n_points} finite numbers, got {shown(start)}")
    return start


def _checked_cut(cut: object, name: str) -> ObjectiveCut:
    """Return a cut, or refuse what is none of an oracle of support vector machines."""
    checked = instance(name, cut, ObjectiveCut, "a cut of this oracle such as result.cut")
    if not {"signed_dual", "bias"} <= checked.extras.keys():
        raise InvalidArgument(f"`{name}` must be one of this oracle, with `signed_dual` and `bias` in its `extras`")
    return checked


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
