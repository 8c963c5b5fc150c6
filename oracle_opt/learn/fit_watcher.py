"""Callbacks of a fit: after each oracle call they see an estimator as if the fit had ended there."""

from copy import copy
from typing import Any

import numpy as np

from oracle_opt.cuts import ObjectiveCut
from oracle_opt.history import Record
from oracle_opt.learn.callback_support import FitTasks
from oracle_opt.learn.formulation import kernel_weights
from oracle_opt.oracles import KernelBank, KernelModel, ProductBank, SharedWeightsOracle
from oracle_opt.oracles.mkl.kernel_weights_oracle import KernelWeightsOracle


class FitWatcher:
    """Makes a task of each machine, and in it one of each oracle call, for callbacks that are set on an estimator.

    The estimator is that of `FitTasks`. `gap_` is infinite while a run has not begun, `machine_gap_` of the present
    one.
    """

    def __init__(self, tasks: FitTasks, bank: KernelBank | ProductBank, n_machines: int) -> None:
        self.tasks, self.bank, self.n_machines = tasks, bank, n_machines
        self._models: list[KernelModel] = []
        self._weights: list[Any] = []
        self._gaps: list[float] = []
        self._n_calls: list[int] = []

    def begins(self, oracle: KernelWeightsOracle) -> None:
        """A run is about to begin."""
        self._oracle = oracle
        self._best: ObjectiveCut | None = None
        self._gap, self._calls = np.inf, 0
        self._machine = self.tasks.part("run", None)
        self._call = self._machine.part("oracle call")

    def answered(self, record: Record) -> bool:
        """Tell of an oracle call that was answered, and that the next one begins; whether a callback ends the run."""
        cut, best = record.cut, self._best
        if isinstance(cut, ObjectiveCut) and (best is None or cut.upper < best.upper):
            self._best = cut
        self._gap, self._calls = record.relative_gap, record.call
        stop = self._call.end(self._attributes if self._best is not None else None)
        self._call = self._machine.part("oracle call")
        return stop

    def ends(self) -> None:
        """The run is over; the task of the call that was not made ends empty."""
        self._call.end()
        if self._best is not None:
            attributes = self._attributes()
            self._machine.end(lambda: attributes)
            models = self._trained(self._best)
            self._models += models
            self._weights.append(kernel_weights(self._oracle, self._best))
            self._gaps.append(self._gap)
            self._n_calls.append(self._calls)

    def _trained(self, cut: ObjectiveCut) -> list[KernelModel]:
        """The machines that answered a cut of the oracle that is being asked."""
        oracle = self._oracle
        return oracle.models(cut) if isinstance(oracle, SharedWeightsOracle) else [oracle.model(cut)]

    def _attributes(self) -> dict[str, Any]:
        """Attributes of an estimator whose fit ended here."""
        assert self._best is not None
        found = [*self._weights, kernel_weights(self._oracle, self._best)]
        models = self._models + self._trained(self._best)
        n_left = self.n_machines - len(models)
        nothing = copy(models[0])
        nothing.signed_dual, nothing.bias = np.zeros_like(nothing.signed_dual), -1.0
        weights = np.array([*found, *(np.zeros_like(found[0]) for _ in range(n_left))])
        return {
            "models_": models + [nothing] * n_left,
            "weights_": weights if len(weights) > 1 else weights[0],
            "gap_": np.inf if n_left else max([*self._gaps, self._gap]),
            "machine_gap_": self._gap,
            "n_calls_": sum(self._n_calls) + self._calls,
            "n_iter_": max([*self._n_calls, self._calls]),
            "kernel_names_": np.array(self.bank.names, dtype=object),
            "kernel_groups_": np.array(self.bank.groups, dtype=object),
        }
