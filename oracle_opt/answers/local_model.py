"""A convex function below f that is exact near the query point and cheap: what an oracle may hand over in an answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oracle_opt.answers.answer import Answer
from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidCut

if TYPE_CHECKING:
    from oracle_opt.cuts import ObjectiveCut
    from oracle_opt.oracle import Oracle


@dataclass(frozen=True, eq=False)
class LocalMinimum:
    """Where a `LocalFunction` is least on some coordinates.

    Parameters
    ----------
    point : ndarray of shape (n,)
        The minimizer, a point of the domain whose other coordinates are 0.
    cut : ObjectiveCut
        A cut of f itself, valid on the whole domain, whose value at `point` is the minimum up to the accuracy asked.
        Its `error` is infinite: it says nothing of f from above.
    n_steps : int
        Inner problems solved: linear systems, or small problems of the oracle's own kind.
    """

    point: Vector
    cut: ObjectiveCut
    n_steps: int


class LocalFunction(ABC):
    """A convex function g on the domain of f with ``g <= f``, which is f while something of the query point's stays.

    It is cheap where f is not, so a method may minimize it between two calls. What "stays" means is the oracle's
    matter: for a support vector machine, the variables at their bounds.
    """

    @abstractmethod
    def on(self, coordinates: NDArray[np.intp]) -> Oracle:
        """Return g as an oracle in some coordinates; the others are 0.

        Parameters
        ----------
        coordinates : ndarray of int, shape (k,)
            In increasing order.

        Returns
        -------
        Oracle
            On the points of the domain whose other coordinates are 0, without these; exact up to the `error` of its
            cuts and rounding.
        """

    @abstractmethod
    def minimize(self, coordinates: NDArray[np.intp], point: Vector, accuracy: float) -> LocalMinimum | None:
        """Minimize g where all but some coordinates are 0.

        Parameters
        ----------
        coordinates : ndarray of int, shape (k,)
            In increasing order.
        point : ndarray of shape (n,)
            Where a minimizer is expected; other coordinates than those given are ignored.
        accuracy : float
            Absolute error wanted in the minimum.

        Returns
        -------
        LocalMinimum or None
            None if it fails numerically.
        """

    @abstractmethod
    def predict(self, minimum: LocalMinimum) -> tuple[float, LocalFunction | None]:
        """Estimate f where g is least, from above, and find what g leaves out.

        Parameters
        ----------
        minimum : LocalMinimum
            Where g is least.

        Returns
        -------
        tuple
            An upper estimate of f at ``minimum.point``, which no bound rests on. And a function between g and f, which
            is larger where g differs from f most there; None if there is nothing to be added.
        """

    @abstractmethod
    def joined(self, other: LocalFunction) -> LocalFunction:
        """Return a function between g and f, exact at the same point, that lets move what moves in `other`, too."""


@dataclass(frozen=True, eq=False, repr=False)
class LocalModel(Answer):
    """A `LocalFunction` at the point of a cut.

    It works on the data of the oracle, so a journal keeps nothing of it: when it is replayed, the oracle makes the
    answer anew from the rest of the cut, see `Oracle.revived`. Nor is it pickled: without its function the answer says
    nothing.

    Parameters
    ----------
    function : LocalFunction, optional
        The function; a cut that was read from a journal has none at first.
    """

    words = "local models"

    function: LocalFunction | None = None

    def arrays(self) -> dict[str, NDArray[Any]]:
        """None."""
        return {}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> LocalModel:
        """An answer without its function."""
        return cls()

    def owned(self) -> LocalModel:
        """Return this answer, which nobody can change."""
        return self

    def check(self, cut: ObjectiveCut) -> None:
        """Refuse what is not a LocalFunction."""
        if not (self.function is None or isinstance(self.function, LocalFunction)):
            raise InvalidCut(f"`function` of a LocalModel must be a LocalFunction, got {self.function!r}")

    def __copy__(self) -> LocalModel:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> LocalModel:
        return self

    def __reduce__(self) -> tuple[type[LocalModel], tuple[()]]:
        return LocalModel, ()

    def __repr__(self) -> str:
        return "LocalModel(without its function)" if self.function is None else f"LocalModel({self.function!r})"
