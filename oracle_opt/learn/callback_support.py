"""Callbacks of scikit-learn 1.9 and later, and what stands in for them before."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])


class NoCallbackSupport:
    """In place of scikit-learn's mixin where the version has no callbacks: an estimator has no `set_callbacks`."""


try:
    _module: Any = import_module("sklearn.callback")
except ImportError:  # before scikit-learn 1.9
    _module = None

SUPPORTED = _module is not None
CallbackSupport: Any = _module.CallbackSupportMixin if SUPPORTED else NoCallbackSupport


def with_callbacks(method: Method) -> Method:
    """Decorate a `fit`, so that its callbacks are told when it is over, whether it ended or failed."""
    return cast(Method, _module.with_callbacks(method)) if SUPPORTED else method


class FitTasks:
    """A task of a fit, one a machine, and in it one an oracle call, after which the estimator can predict.

    Machines whose run has not begun say "not this class" to every point. Without callbacks nothing is made.
    """

    def __init__(self, estimator: Any, context: Any, X: Any, y: Any, metadata: dict[str, Any] | None) -> None:
        self.estimator, self.context = estimator, context
        self.seen = context is not None
        self.given = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}

    @classmethod
    def of_fit(cls, estimator: Any, X: Any, y: Any, sample_weight: Any, n_tasks: int | None) -> FitTasks:
        """The tasks of a fit that begins, at the place of its estimator among those of a meta-estimator."""
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        context = estimator._init_callback_context(max_subtasks=n_tasks) if SUPPORTED else None
        tasks = cls(estimator, context if vars(estimator).get("_skl_callbacks") else None, X, y, metadata)
        tasks.begin()
        return tasks

    def part(self, name: str, n_tasks: int | None = 0) -> FitTasks:
        """A task in this one that begins."""
        context = self.context and self.context.subcontext(task_name=name, max_subtasks=n_tasks)
        part = FitTasks(self.estimator, context, self.given["X"], self.given["y"], self.given["metadata"])
        part.begin()
        return part

    def begin(self) -> None:
        """Tell callbacks that this task begins."""
        if self.context is not None:
            self.context.call_on_fit_task_begin(**self.given)

    def end(self, attributes: Callable[[], dict[str, Any]] | None = None) -> bool:
        """Tell callbacks that this task ends, with the attributes of an estimator that ended here; whether to stop."""
        if self.context is None:
            return False
        return bool(self.context.call_on_fit_task_end(**self.given, reconstruction_attributes=attributes))
