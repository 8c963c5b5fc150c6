"""Where the function that makes an instance takes its seed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from enum import Enum
from inspect import Parameter
from typing import Any

from oracle_opt.errors import InvalidArgument

_STARRED = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


class SeedPlace(Enum):
    """How a function of a seed is called."""

    FIRST = "the first argument"
    NAMED = "the argument named seed"
    NONE = "it takes no argument, and makes the same for every seed"
    BOUND = "all its arguments have values of their own, as in `lambda n=n: make(n)`, and none is named seed"

    @classmethod
    def of(cls, name: str, function: Callable[..., Any]) -> SeedPlace:
        """Find out by the signature.

        An argument that must be given is the seed, and so is one that is named `seed`. A default is what its author
        wanted there: ``lambda n=n: make(n)`` binds n, as ``partial(make, n)`` does, and a seed must not replace it.

        Parameters
        ----------
        name : str
            Of the instance.
        function : callable
            What makes it.

        Raises
        ------
        InvalidArgument
            It needs more than a seed.
        """
        try:
            taken = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):  # a function of C that does not say
            return cls.FIRST
        needed = [one for one in taken if one.default is Parameter.empty and one.kind not in _STARRED]
        if len(needed) > 1 or any(one.kind is Parameter.KEYWORD_ONLY and one.name != "seed" for one in needed):
            words = ", ".join(one.name for one in needed)
            raise InvalidArgument(
                f"`instances[{name!r}]` must be a function of a seed alone, and it needs {words}: bind what is not the "
                f"seed, as in `lambda seed, {needed[0].name}=...: make(...)`"
            )
        if any(one.name == "seed" and one.kind is not Parameter.POSITIONAL_ONLY for one in taken):
            return cls.NAMED
        if needed or any(one.kind is Parameter.VAR_POSITIONAL for one in taken):
            return cls.FIRST
        return cls.BOUND if any(one.kind not in _STARRED for one in taken) else cls.NONE

    def call(self, function: Callable[..., Any], seed: int) -> Any:
        """Make the instance of a seed."""
        if self is SeedPlace.FIRST:
            return function(seed)
        return function(seed=seed) if self is SeedPlace.NAMED else function()

    def check(self, name: str, seeds: Sequence[int]) -> None:
        """Refuse seeds that would silently change nothing.

        Raises
        ------
        InvalidArgument
            There are seeds besides 0, and a function whose arguments all have defaults.
        """
        if self is SeedPlace.BOUND and tuple(seeds) != (0,):
            raise InvalidArgument(
                f"`instances[{name!r}]` has no argument for the seed: {self.value}. Name one `seed`, as in "
                f"`lambda seed, n=n: make(n, seed)`, or leave `seeds` at 1"
            )
