"""The base of all estimators of multiple kernel learning: the stages of `fit`, and new points."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from oracle_opt.arguments import flag, real, whole
from oracle_opt.arrays import Matrix
from oracle_opt.certificates.certificate import Certificate
from oracle_opt.errors import InvalidArgument, InvalidCertificate
from oracle_opt.learn.callback_support import CallbackSupport, FitTasks
from oracle_opt.learn.checked_input import checked_points
from oracle_opt.learn.fit_watcher import FitWatcher
from oracle_opt.learn.fitting import MachineProblem, Start, Trained, Training
from oracle_opt.learn.formulation import check_shared, checked_generator, checked_norm
from oracle_opt.learn.merged_points import MergedPoints
from oracle_opt.optional import require
from oracle_opt.oracles import GaussianKernels, KernelBank, KernelList, ProductBank
from oracle_opt.oracles.kernels.recipes.points_table import framed
from oracle_opt.words import shown

if TYPE_CHECKING:
    import pandas as pd


@dataclass(repr=False, eq=False)
class MKLEstimator(CallbackSupport, BaseEstimator):
    """Base of the estimators: subclasses check y, make the machines' problems, and say what values mean.

    The stages of a fit: check the input, merge equal rows (`merged_points`), make the kernels (`_bank`) and problems,
    train (`_training`, `Training.run`), and keep what was found (`_keep`).
    """

    kernels: Any = None
    _: KW_ONLY
    norm: Any = 1.0
    generator: Any = None
    rtol: float = 1e-4
    max_calls: int = 1000
    warm_start: bool = False
    memory_budget: int = 2 << 30
    random_state: Any = None
    progress: bool = False
    certify: bool = False

    def __sklearn_tags__(self) -> Any:
        """Sparse points are taken where all kernels take them; for kernels computed before see `PrecomputedKernels`."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = takes_sparse(self.kernels)
        return tags

    def _training(self, *, shared: bool = False) -> Training:
        """The formulation and the limits of the runs, checked."""
        flag("warm_start", self.warm_start)
        norm = checked_norm(self.norm)
        if shared:
            check_shared(norm)
        if flag("certify", self.certify) and norm == "product":
            raise InvalidArgument("`certify` must be False with norm='product', which is not convex: nothing is proven")
        return Training(
            norm=norm,
            shared=shared,
            generator=None if self.generator is None else checked_generator(self.generator),
            rtol=real("rtol", self.rtol, least=0.0),
            max_calls=whole("max_calls", self.max_calls),
            memory_budget=whole("memory_budget", self.memory_budget),
            progress=flag("progress", self.progress),
            certify=self.certify,
        )

    def _bank(self, X: Any, merged: MergedPoints) -> KernelBank | ProductBank:
        """Kernels on the merged points: of a DataFrame its rows, so that columns have their names."""
        self._sparse = sparse.issparse(merged.points)
        product = isinstance(self.norm, str) and self.norm == "product"
        recipe = self._recipe(whole("memory_budget", self.memory_budget), product)
        points = rows_of(X, merged)
        return recipe.fit_product(points, merged.weights) if product else recipe.fit(points, merged.weights)

    def _recipe(self, budget: int, product: bool) -> KernelList:
        """The kernels that were given, or the default ones."""
        seed = seed_of(self.random_state)
        if self.kernels is not None:
            return kernel_list(self.kernels, budget, seed)
        if product:
            return KernelList([GaussianKernels(each=True)], standardize=True, memory_budget=budget, seed=seed)
        return self._default_kernels(each=not self._sparse, memory_budget=budget, seed=seed)

    def _default_kernels(self, *, each: bool, memory_budget: int, seed: int) -> KernelList:
        """The default kernels: on all columns and, with `each`, on each column alone."""
        return KernelList.default(each=each, memory_budget=memory_budget, seed=seed)

    def _fit_machines(
        self, training: Training, bank: KernelBank | ProductBank, problems: list[MachineProblem], tasks: FitTasks
    ) -> None:
        """Train, from where the last fit ended if that is wanted, and set the attributes of a fit."""
        starts: tuple[Start, ...] = self._starts if self.warm_start and hasattr(self, "_starts") else ()
        if tasks.seen:
            training = replace(training, watcher=FitWatcher(tasks, bank, len(problems)))
        self._keep(bank, training.run(bank, problems, starts))

    def _keep(self, bank: KernelBank | ProductBank, trained: Trained) -> None:
        """Set the attributes of a fit."""
        self.kernel_names_ = np.array(bank.names, dtype=object)
        self.kernel_groups_ = np.array(bank.groups, dtype=object)
        self.weights_ = trained.weights
        self.gap_ = trained.gap
        self.n_calls_, self.n_iter_ = trained.n_calls, trained.most_calls
        self.history_ = trained.histories
        self.models_ = trained.models
        self._starts, self._certificates = trained.starts, trained.certificates

    def certificate(self, run: int = 0) -> Certificate:
        """What a run of the fit proved, with `certify`, for others to check: see `Result.certificate`.

        There is one run for each machine, in the order of `models_`, or one for all that share their weights.
        """
        check_is_fitted(self, "models_")
        if not self._certificates:
            raise InvalidArgument(
                f"`certificate` needs certify=True, set before `fit`, got certify={self.certify!r}: it names the "
                "kernels by all their entries, which takes up to a third of the time of a fit"
            )
        if whole("run", run, least=0) >= len(self._certificates):
            raise InvalidArgument(f"`run` must be below the number of runs, {len(self._certificates)}, got {run}")
        found = self._certificates[int(run)]
        if isinstance(found, InvalidCertificate):
            raise found
        return found

    def weights_frame(self) -> pd.DataFrame:
        """Kernels by name, group and weight: of several machines their mean, and each has a column ``weight_i``."""
        check_is_fitted(self, "models_")
        rows = np.atleast_2d(self.weights_)
        columns = {"name": self.kernel_names_, "group": self.kernel_groups_, "weight": rows.mean(axis=0)}
        if len(rows) > 1:
            columns |= {f"weight_{i}": row for i, row in enumerate(rows)}
        return require("pandas", "study", "tables of weights").DataFrame(columns)

    def _values(self, X: Any) -> Matrix:
        """Decision values of all machines at new points, ndarray of shape (m, number of machines)."""
        check_is_fitted(self, "models_")
        points = checked_points(self, X, fit=False)
        if sparse.issparse(points) != self._sparse:  # kernels look at new points in the form of the training points
            points = sparse.csr_array(points) if self._sparse else points.toarray()
        return np.stack([model.decision_function(points) for model in self.models_], axis=1)


def checked_C(C: Any) -> float:
    """Return C as a positive number, or refuse it; a list is refused with the way to choose among its numbers."""
    if isinstance(C, list | tuple | np.ndarray) and np.ndim(C) > 0:
        raise InvalidArgument(
            f"`C` must be one positive number, got {shown(C)}. To choose among several: MKLClassifierCV(Cs=...), or "
            "GridSearchCV(estimator, {'C': [...]}); weights of single rows go to fit(X, y, sample_weight=...)"
        )
    return real("C", C, above=0.0)


def kernel_list(kernels: Any, memory_budget: int, seed: int) -> KernelList:
    """Return the recipe of the kernels that a user gave."""
    if isinstance(kernels, KernelList):
        return kernels
    if isinstance(kernels, KernelBank) or np.ndim(kernels if isinstance(kernels, np.ndarray) else 0) == 3:
        raise InvalidArgument(
            f"`kernels` must be a recipe, which can be fitted on any rows, got {shown(kernels)}. For kernels computed "
            "before: kernels=KernelList([PrecomputedKernels(stack)]) with the stack of all points, and X a column of "
            "row indices"
        )
    if isinstance(kernels, list | tuple):
        return KernelList(kernels, on_the_fly="auto", memory_budget=memory_budget, seed=seed)
    raise InvalidArgument(
        f"`kernels` must be a KernelList, a list of kernels or None, got {shown(kernels)}; put a single one into a "
        "list: kernels=['linear']"
    )


def seed_of(random_state: Any) -> int:
    """Return the seed of what is drawn at random: 0 for None, so that two fits are the same."""
    if random_state is None:
        return 0
    if isinstance(random_state, Integral) and not isinstance(random_state, bool):
        return whole("random_state", random_state, 0)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise InvalidArgument(
        f"`random_state` must be a whole number, a numpy.random.RandomState or None, got {shown(random_state)}"
    )


def takes_sparse(kernels: Any) -> bool:
    """Whether kernels as a user gave them can be made of sparse points, so far as is known before `fit`."""
    try:
        return kernels is None or kernel_list(kernels, 0, 0).takes_sparse
    except InvalidArgument:
        return True  # nothing can be made of them; `fit` says why


def rows_of(X: Any, merged: MergedPoints) -> Any:
    """The merged points in the form of X: the rows of a DataFrame as one of pandas, else the checked array."""
    iloc = getattr(framed(X), "iloc", None)
    return merged.points if iloc is None else iloc[merged.rows]
