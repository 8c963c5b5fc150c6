"""What the oracles of one support vector machine share: the extras of a cut, decisions on new points, tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from oracle_opt.arguments import flag, instance
from oracle_opt.arrays import Vector
from oracle_opt.cuts import Cut, ObjectiveCut
from oracle_opt.errors import InvalidArgument
from oracle_opt.optional import require
from oracle_opt.oracle import Oracle
from oracle_opt.oracles.kernels import KernelBank
from oracle_opt.oracles.mkl.group_rounds import Round
from oracle_opt.oracles.mkl.kernel_machine import KernelMachine
from oracle_opt.oracles.mkl.kernel_model import KernelModel, some_of
from oracle_opt.oracles.mkl.kernel_weights_oracle import KernelWeightsOracle
from oracle_opt.oracles.mkl.weights import WeightSet
from oracle_opt.oracles.svm.loss_dual import LossDual
from oracle_opt.oracles.svm.svm_solution import decision_values

if TYPE_CHECKING:
    import pandas as pd

    from oracle_opt.result import Result


class SVMOracle(KernelWeightsOracle):
    """An oracle of kernel weights with one machine, whose cuts are laid out for it.

    Each cut has the extras `signed_dual`, the coefficients b of the points in the decision function, shape (n,);
    `alpha`, their absolute values; `bias`; and `n_steps` of the machine. `y` is a copy of the labels or targets.
    """

    bank: Any
    single = True

    def __init__(self, machine: KernelMachine, weights: WeightSet, *, max_solves: int | None = None) -> None:
        super().__init__([machine], weights, accuracy=machine.accuracy, max_solves=max_solves)
        self.machine, self.bank, self.y, self.loss = machine, machine.bank, machine.y, machine.loss
        self.max_steps, self.memory_budget = machine.max_steps, machine.memory_budget
        self._machine = self._solvers[0]

    def extras_of(self, cut: Cut, m: int) -> dict[str, Any]:
        """The extras of a cut: all are of the one machine."""
        return dict(cut.extras)

    def decision_function(self, cut: ObjectiveCut, new: Any) -> Vector:
        """Decision values, shape (m,), of new points for the machine that answered a `cut` of this oracle.

        They are positive for the class +1, or for points like those of the bank; of a regression the prediction. `new`
        is as the bank's `cross` takes it: m raw points, or p cross-kernels of shape (m, n).
        """
        _checked_cut(cut, "cut")
        cross = self.bank.cross(new, self._kernel_weights(cut))
        return decision_values(cross, cut.extras["signed_dual"], cut.extras["bias"])

    def predict(self, cut: ObjectiveCut, new: Any) -> Vector:
        """Labels -1 or +1 of new points, 0 counting as +1, or their targets, by the loss: ndarray of shape (m,)."""
        return self.loss.predict(self.decision_function(cut, new))

    def model(self, result: Result | ObjectiveCut) -> KernelModel:
        """What a run found, alone: for decisions on new points without this oracle and its bank.

        The `result` is that of a run on this oracle, or one of its cuts. The model holds support vectors and kernels of
        non-zero weight only.
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
        """Weights of the kernels that a run found, as a DataFrame.

        The `result` is that of a run on this oracle, or one of its cuts. The columns are name, group and weight, with a
        row for each kernel, in the order of the bank or with `largest_first` by weight. These are the weights in the
        decision function: those of `MKLOracle` add up to 1; in a product of kernels they are those of the distances in
        the exponent.
        """
        frame = require("pandas", "study", "tables of weights").DataFrame
        weights = np.array(self._kernel_weights(self._cut_of(result)), dtype=float)
        table = frame({"name": list(self.bank.names), "group": list(self.bank.groups), "weight": weights})
        if flag("largest_first", largest_first):
            table = table.sort_values("weight", ascending=False, kind="stable")
        return table

    def identity(self) -> str:
        """Kernels, loss, labels or targets, accuracy, and the weights."""
        words = f"{self.machine.identity()}{self._machine.identity()}{self.weights_set.identity()}"
        return f"{Oracle.identity(self)}, {words}"

    def problem_identity(self) -> str:
        """The same without how exactly, and with how much memory, machines are solved."""
        return f"{Oracle.identity(self)}, {self.machine.problem_identity()}{self.weights_set.identity()}"

    @property
    def dual(self) -> LossDual:
        """The dual of the machine without its kernel: what the loss makes of the labels or targets."""
        return self.machine.dual

    def _cut_of(self, result: Result | ObjectiveCut) -> ObjectiveCut:
        """The cut of a result, or the cut itself; it is one of this oracle."""
        cut = _checked_cut(getattr(result, "cut", result), "result")
        if cut.extras["signed_dual"].shape != (self.bank.n_points,) or cut.point.shape != (self.domain.dimension,):
            raise InvalidArgument(
                f"`result` must be one of this oracle, of {self.domain.dimension} weights and {self.bank.n_points} "
                f"points, got {cut.point.size} weights and {cut.extras['signed_dual'].size} points"
            )
        return cut

    def _extras(self, best: Round) -> dict[str, Any]:
        """What a cut tells of its support vector machine."""
        one, weights = best.parts[0], self.weights_set
        extras = {
            "signed_dual": one.svm.signed_dual,
            "alpha": np.abs(one.svm.signed_dual),
            "bias": one.svm.bias,
            "n_steps": one.svm.n_steps,
            "quadratic_forms": weights.clean(one.S) if best.c is None else one.S[weights.order],
            **one.told,
        }
        return extras | self._of_groups(best)

    def _kernel_weights(self, cut: ObjectiveCut) -> Vector:
        """Weights of the bank's kernels in the machine that answered a cut, ndarray of shape (p,)."""
        weights: Vector = cut.extras.get("kernel_weights", cut.point)
        return weights


def _checked_cut(cut: object, name: str) -> ObjectiveCut:
    """Return a cut, or refuse what is none of an oracle of support vector machines."""
    checked = instance(name, cut, ObjectiveCut, "a cut of this oracle such as result.cut")
    if not {"signed_dual", "bias"} <= checked.extras.keys():
        raise InvalidArgument(f"`{name}` must be one of this oracle, with `signed_dual` and `bias` in its `extras`")
    return checked
