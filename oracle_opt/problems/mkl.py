"""Multiple kernel learning on random splits of data sets: the protocol of Wulff & Ong (2014), section 4."""

import os
import re
from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.arguments import flag, instance, real, text, whole
from oracle_opt.arrays import Vector
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.datasets import Availability, Dataset, available, load, split_points
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles import GMKLOracle, MKLOracle, Regularizer, uci_bank
from oracle_opt.oracles.mkl.kernel_machine import chosen_loss
from oracle_opt.oracles.svm import Loss, OneClass
from oracle_opt.problems.instance import Instance, Measure, Problem, share_of_memory
from oracle_opt.problems.problem_family import Family, nearest

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


__all__ = ["mkl_problem"]

TRAIN = 0.7  # share of the points
PER_FEATURE = 13  # kernels of `uci_bank` on each feature, and as many on all of them together
# The sets that take less than a gigabyte: what `Dataset.digest` gives, and how many features are not constant. With
# these they are listed without being read.
UCI = {
    "wpbc": ("7447c35407a962f9", 33),
    "ionosphere": ("f6742aa355afbb75", 33),
    "sonar": ("eb4d1de588c13a2e", 60),
    "bupa": ("7f3777ea0ea11790", 6),
    "pima": ("8a25d3eddcee6786", 8),
    "vote": ("b0bdd3214c51c760", 16),
    "heart": ("2c667cda0d7a7e03", 13),
    "wdbc": ("8a5c1f787f34d48b", 30),
    "australian": ("f6915fcf41d4cb53", 14),
}
PROTOCOL = "random splits, 13 (d + 1) kernels of unit trace: Wulff & Ong (2014), section 4"


def mkl_problem(
    dataset: Dataset | str | os.PathLike[str],
    *,
    train: float = TRAIN,
    C: float | None = None,
    loss: Loss | None = None,
    regularizer: Regularizer | None = None,
    seed: int = 0,
    trace: bool = False,
    name: str | None = None,
) -> Problem:
    """Make the multiple kernel learning problem of a data set: the kernels of `uci_bank` on a random split by seed.

    Parameters
    ----------
    dataset : Dataset, str or path-like
        A data set, the name of one, or the path of a CSV or LIBSVM file, as for `oracle_opt.datasets.load`.
    train : float
        Share of the points that train; the others test.
    C : float, optional
        Short for ``loss=Hinge(C)``; default 100.
    loss : Loss, optional
        Of `oracle_opt.oracles.svm`. A regression has the labels as its targets; `OneClass` learns the training points
        of label 1.
    regularizer : Regularizer, optional
        Makes it a `GMKLOracle`, over all nonnegative weights. Default: weights in the simplex, `MKLOracle`.
    seed : int
        The instance of seed s is that of ``split_points(y, seed + s)``.
    trace : bool
        Whether the test accuracy is measured at every call, too. The kernels between training and test points are then
        kept: p x n_train x n_test numbers.
    name : str, optional
        Default: ``mkl/`` and the name of the set.

    Returns
    -------
    Problem
        Its instances measure `accuracy`, the share of the test points on whose label the sign of the decision value
        agrees, and `n_kernels`, the weights of more than 1e-3 times the largest. A `Problem` of one of the UCI sets
        that are at hand reads it when an instance is made. `n` counts 13 kernels a feature that is not constant on all
        points; on the training points of a split another one may be.

    Raises
    ------
    InvalidArgument
        A value cannot be used, or there is no data set of this name.
    InvalidData, DataUnavailable
        The set cannot be read.

    Examples
    --------
    >>> from oracle_opt import minimize
    >>> from oracle_opt.generators import LevelSet
    >>> from oracle_opt.problems.mkl import mkl_problem
    >>> instance = mkl_problem("wdbc")(0)
    >>> result = minimize(instance.oracle, LevelSet(), rtol=5e-3)
    >>> round(instance.measures["accuracy"](result.cut), 3)
    0.947
    """
    train, seed = real("train", train, above=0.0, below=1.0), whole("seed", seed, least=0)
    loss = chosen_loss(loss, None if C is None else real("C", C, above=0.0))
    if regularizer is not None:
        instance("regularizer", regularizer, Regularizer, "a Regularizer such as LpRegularizer(2.0)")
    source = dataset if isinstance(dataset, str) and _unread(dataset) else _read(dataset)
    if isinstance(source, str):
        (digest, varying), label = UCI[source], source
    else:
        X = source.dense()
        digest, varying, label = source.digest(), int((X.max(axis=0) > X.min(axis=0)).sum()), source.name
    name = f"mkl/{label}" if name is None else text("name", name)
    words = [f"data {digest}", "uci_bank", f"train {train:g}", f"seed {seed}", repr(loss), repr(regularizer)]
    return Problem(
        name=name,
        family=re.split("[/(]", name)[0],
        n=PER_FEATURE * (varying + 1),
        make=partial(_make, source, train, loss, regularizer, seed, flag("trace", trace)),
        data=", ".join([*words, "traced"] if trace else words),
        source=f"{label}; {PROTOCOL}",
    )


class _UCISets(Family):
    """The sets of `UCI`; any other data set by its parameters."""

    parameters = ("dataset", "C", "train")

    def problems(self) -> list[Problem]:
        """The problems whose data are at hand; only copies of OpenML are read for this."""
        return [mkl_problem(row.name) for row in uci_sets() if row.here]

    def missing(self) -> dict[str, str]:
        """The problems whose data are not at hand, and where the data would come from."""
        return {
            f"mkl/{row.name}": f"mkl/{row.name} needs a data set that is not here ({row.place}): put it into the "
            f"folder that ORACLE_OPT_DATA names, or fetch it by oracle_opt.datasets.load({row.name!r})"
            for row in uci_sets()
            if not row.here
        }

    def problem(self, parameters: Mapping[str, object]) -> Problem:
        """``mkl(dataset=sonar, C=10, train=0.5)``, the last two optional."""
        lowered = {known.lower(): known for known in self.parameters}
        for given in parameters:
            if given.lower() not in lowered:
                raise InvalidArgument(f"`text`: mkl has no parameter {given!r}: {nearest(given, self.parameters)}")
        values = {lowered[given.lower()]: value for given, value in parameters.items()}
        if "dataset" not in values:
            raise InvalidArgument("`text`: mkl needs a data set, as mkl(dataset=sonar) or mkl(dataset='my.csv')")
        dataset = load(text("dataset", values.pop("dataset")))
        numbers = {known: real(known, value) for known, value in values.items()}
        words = ", ".join([f"dataset={dataset.name}", *(f"{known}={value:g}" for known, value in numbers.items())])
        C, train = numbers.get("C"), numbers.get("train", TRAIN)
        return mkl_problem(dataset, train=train, C=C, name=f"mkl({words})")


FAMILY = _UCISets("mkl", "l1 multiple kernel learning on random splits of UCI's data sets, or of your own")


def uci_sets() -> list[Availability]:
    """Where each of the sets of `UCI` would come from, in the order of that table."""
    rows = {row.name: row for row in available()}
    return [rows[name] for name in UCI]


def _unread(name: str) -> bool:
    """Whether it is a set whose digest is known, at hand, and not OpenML's copy, whose rows may be in another order."""
    return any(row.name == name and row.here and not row.place.endswith(".openml.csv") for row in uci_sets())


def _read(dataset: Dataset | str | os.PathLike[str]) -> Dataset:
    return dataset if isinstance(dataset, Dataset) else load(dataset)


def _make(
    source: Dataset | str,
    train: float,
    loss: Loss,
    regularizer: Regularizer | None,
    seed: int,
    trace: bool,
    number: int,
) -> Instance:
    """Make the instance of a split."""
    dataset = load(source) if isinstance(source, str) else source
    X, y = dataset.dense(), dataset.y
    rows, test = split_points(y, seed + number, train=train)
    targets: Vector | None = y[rows]
    if isinstance(loss, OneClass):
        rows, targets = rows[y[rows] > 0], None
    bank = uci_bank(X[rows], memory_limit=share_of_memory())
    oracle: KernelOracle = (
        MKLOracle(bank, targets, loss) if regularizer is None else GMKLOracle(bank, targets, regularizer, loss=loss)
    )
    return kernel_instance(oracle, X[test], y[test], trace=trace)
