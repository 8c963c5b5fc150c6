"""The path in C of one fold: kernels are made once, and each problem starts where the last one ended."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arguments import real
from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.learn.callback_support import FitTasks
from oracle_opt.learn.class_probabilities import Calibration, calibrated
from oracle_opt.learn.fitting import Start
from oracle_opt.learn.mkl_classifier import MKLClassifier
from oracle_opt.learn.mkl_estimator import rows_of, seed_of


@dataclass(frozen=True, eq=False)
class FoldPart:
    """Rows that train, or that test."""

    X: Any
    y: NDArray[Any]
    weights: Vector | None


class SearchedClassifier(MKLClassifier):
    """A classifier on the way: its kernels stay, and probabilities are calibrated when a scorer asks for them."""

    _calibration_of_C: Calibration | None

    def fit_path(self, part: FoldPart, Cs: Sequence[float], starts: bool = True) -> Any:
        """Fit with each C in turn; yields the index of C and the oracle calls, from the smallest C to the largest."""
        training = self._training(shared=self.shared_weights)
        data = self._prepared(part.X, part.y, part.weights)
        bank = self._bank(part.X, data.merged)
        found: tuple[Start, ...] = ()
        rows, labels, weights = rows_of(part.X, data.merged), self.classes_[data.numbers], data.merged.weights
        for i in np.argsort(Cs, kind="stable").tolist():
            C = float(Cs[i])
            trained = training.run(bank, self._problems(data, C), found if starts else ())
            self._keep(bank, trained)
            found = trained.starts
            self._calibration_of_C = None
            make = partial(self._plain, C)
            self._calibrate = partial(calibrated, make, rows, data.numbers, labels, weights, seed_of(self.random_state))
            yield i, trained.n_calls

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """As of `MKLClassifier`."""
        if self._calibration_of_C is None:
            self._calibration_of_C = self.calibration_ = self._calibrate()
        found: NDArray[np.float64] = super().predict_proba(X)
        return found


def path_scores(
    machine: SearchedClassifier,
    Cs: Sequence[float],
    train: FoldPart,
    test: FoldPart,
    score: Callable[[Any, FoldPart], Any],
    tasks: FitTasks,
) -> tuple[Vector, int]:
    """Score each C on the test rows of a fold."""
    scores, n_calls = np.empty(len(Cs)), 0
    parameters = set(machine.get_params(deep=False))
    for i, calls in machine.fit_path(train, Cs):
        one = tasks.part("C")
        n_calls += calls
        scores[i] = checked_score(score(machine, test))
        one.end(partial(dict, {name: value for name, value in vars(machine).items() if name not in parameters}))
    return scores, n_calls


def checked_score(value: Any) -> float:
    """Return a score as a finite number, or refuse it."""
    found = np.asarray(value)
    if found.ndim or found.dtype.kind not in "biuf" or not np.isfinite(found):
        raise InvalidArgument(f"`scoring` must give a finite number for each fold and C, got {value!r}")
    return real("scoring", float(found))
