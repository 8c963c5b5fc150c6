"""The contract of the kinds of answers that an oracle may give besides a value and a subgradient."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from oracle_opt.words import shown

if TYPE_CHECKING:  # cuts hold answers
    from oracle_opt.cuts import ObjectiveCut


class Answer(ABC):
    """Something an oracle tells with an `ObjectiveCut`, in the cut's `answers`; its class is its kind.

    An oracle names the kinds that it can give in `Oracle.gives`, a generator those that it understands in
    `QueryPointGenerator.takes` or `needs`, and a query wishes for them in `Query.wishes`. A kind of your own is a
    subclass, which no part of the library has to know. It says how messages call it, writes and reads its own arrays
    for a journal, and checks itself against the cut that it belongs to.

    Attributes
    ----------
    words : str
        What messages call answers of this kind, in the plural and without an article: "second derivatives".
    optional : bool
        Whether a generator may ignore answers of this kind. An oracle that gives a kind which is not optional serves
        those generators alone that take it.
    wished : bool
        Whether the `wishes` of a query ask for it; else a kind of query of its own does.

    Examples
    --------
    The point in which f is known to be not differentiable:

    >>> import numpy as np
    >>> from oracle_opt import Answer, InvalidCut
    >>> class Kink(Answer):
    ...     words = "nearest kinks"
    ...
    ...     def __init__(self, place):
    ...         self.place = place
    ...
    ...     def arrays(self):
    ...         return {"place": self.place}
    ...
    ...     @classmethod
    ...     def from_arrays(cls, arrays):
    ...         return cls(arrays["place"])
    ...
    ...     def check(self, cut):
    ...         if self.place.shape != cut.point.shape:
    ...             raise InvalidCut(f"`place` must have shape {cut.point.shape}, got {self.place.shape}")
    >>> Kink(np.zeros(2))
    Kink(place=[0, 0])
    """

    words: ClassVar[str]
    optional: ClassVar[bool] = True
    wished: ClassVar[bool] = True

    @abstractmethod
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Return all that this answer holds, as arrays by names: what a journal keeps of it."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the answer of which `arrays` gave these."""

    @abstractmethod
    def check(self, cut: ObjectiveCut) -> None:
        """Check that this answer fits the cut that carries it.

        Raises
        ------
        InvalidCut
            Its arrays are not those of an answer at the point of the cut: of another shape, or not finite.
        """

    def on_face(self, coordinates: NDArray[np.intp]) -> Answer | None:
        """Return the same answer about f where all other variables are 0, in these variables; `None`, the default.

        Asked by methods that work on some variables at a time, `ActiveSet` say: a kind that does not answer is lost to
        them.

        Parameters
        ----------
        coordinates : ndarray of int, shape (k,)
            In increasing order; the point of the cut is 0 elsewhere.
        """
        return None

    def owned(self) -> Self:
        """Return the same answer with arrays of its own, which nobody else can change."""
        return self.from_arrays({name: array.copy() for name, array in self.arrays().items()})

    def __repr__(self) -> str:
        """Class and arrays, in short."""
        return f"{type(self).__name__}({', '.join(f'{name}={shown(array)}' for name, array in self.arrays().items())})"
