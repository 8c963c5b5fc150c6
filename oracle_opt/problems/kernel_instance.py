"""Measures of multiple kernel learning: test accuracy and the number of kernels."""

from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arrays import Vector
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.oracles import GMKLOracle, MKLOracle
from oracle_opt.problems.instance import Instance, Measure

KernelOracle = MKLOracle | GMKLOracle
# A kernel counts as used if its weight exceeds this share of the largest weight. Interior methods leave every weight
# positive: at 1e-5 an analytic center would still count all kernels, while methods with sparse points hardly change.
VANISHING_WEIGHT = 1e-3


def kernel_instance(
    oracle: KernelOracle, X_test: Any, y_test: Vector, *, start: Vector | None = None, trace: bool = False
) -> Instance:
    """Make an instance that measures test accuracy and number of kernels."""
    measures: dict[str, Measure] = {
        "accuracy": partial(share_right, oracle, X_test, y_test),
        "n_kernels": n_kernels,
    }
    traces: dict[str, Measure] = {"accuracy": _Accuracy(oracle, X_test, y_test)} if trace else {}
    return Instance(oracle, start, measures=measures, traces=traces)


def share_right(oracle: KernelOracle, X_test: Any, y_test: Vector, cut: ObjectiveCut) -> float:
    """Share of the test points on whose label the sign of the decision value agrees, 0 counting as positive."""
    return float((_labels(oracle.decision_function(cut, X_test)) == y_test).mean())


def n_kernels(cut: ObjectiveCut) -> float:
    """Kernels of more than 1e-3 times the largest weight."""
    return float((cut.point > VANISHING_WEIGHT * cut.point.max()).sum())


class _Accuracy:
    """`share_right` at many calls: the kernels between training and test points are computed once."""

    def __init__(self, oracle: KernelOracle, X_test: Any, y_test: Vector) -> None:
        self.oracle, self.X_test, self.y_test = oracle, X_test, y_test

    @cached_property
    def _crosses(self) -> NDArray[np.float64]:
        """All kernels, (p, m, n)."""
        bank = self.oracle.bank
        units = np.eye(bank.n_kernels)
        return np.array([bank.cross(self.X_test, unit) for unit in units])

    def __call__(self, cut: ObjectiveCut) -> float:
        """Measure one answer."""
        used = np.flatnonzero(cut.point)
        if 2 * used.size < cut.point.size:
            kernel = np.tensordot(cut.point[used], self._crosses[used], 1)
        else:
            kernel = np.tensordot(cut.point, self._crosses, 1)
        decisions = kernel @ cut.extras["signed_dual"] + cut.extras["bias"]
        return float((_labels(decisions) == self.y_test).mean())


def _labels(decisions: Vector) -> Vector:
    return np.where(decisions >= 0, 1.0, -1.0)
