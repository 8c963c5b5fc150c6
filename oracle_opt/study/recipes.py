"""Recipes: instances and generators of a study, brought to one form, and told from others.

The function that makes an instance takes the seed of a run in one place, which is found here, too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from inspect import Parameter
from typing import Any

from oracle_opt.arrays import digest
from oracle_opt.errors import InvalidArgument
from oracle_opt.files import folder_name
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.oracle import Oracle
from oracle_opt.problems import Instance, Problem
from oracle_opt.words import ADDRESS, shown

Recipe = Oracle | Instance | Problem | Callable[..., Oracle | Instance]
_STARRED = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


@dataclass(frozen=True, eq=False)
class Named:
    """A recipe of instances under the name it has in a study."""

    name: str
    recipe: Recipe

    def __post_init__(self) -> None:
        self._place()  # refuses what cannot be called with a seed

    def _place(self) -> SeedPlace:
        """How the recipe takes a seed."""
        if isinstance(self.recipe, Problem):
            return SeedPlace.FIRST
        return SeedPlace.NONE if isinstance(self.recipe, Oracle | Instance) else SeedPlace.of(self.name, self.recipe)

    def check_seeds(self, seeds: Sequence[int]) -> None:
        """Refuse seeds for a function that has no place for them."""
        self._place().check(self.name, seeds)

    @property
    def family(self) -> str:
        """The family of a problem; empty for what has none."""
        return self.recipe.family if isinstance(self.recipe, Problem) else ""

    def make(self, seed: int) -> Instance:
        """Make the instance of a seed, on a domain that is the same for all methods."""
        recipe = self.recipe
        made = recipe if isinstance(recipe, Oracle | Instance) else self._place().call(recipe, seed)
        if isinstance(made, Oracle):
            return Instance(made.fixed())
        if not isinstance(made, Instance):
            raise InvalidArgument(
                f"`instances[{self.name!r}]` must return an Oracle or an Instance when called with a seed, "
                f"got {shown(made)}"
            )
        fixed = made.oracle.fixed()
        return made if fixed is made.oracle else replace(made, oracle=fixed)

    def identity(self) -> str:
        """Words that tell it from others: the data of an oracle or a problem, the name and arguments of a function."""
        if isinstance(self.recipe, Problem):
            return self.recipe.identity()
        if isinstance(self.recipe, Oracle | Instance):
            return identity_of(self.make(0))
        return _words_of(self.recipe)


def identity_of(instance: Instance) -> str:
    """Words that tell an instance from others: its oracle and its start."""
    start = "" if instance.start is None else f", from {digest(instance.start)}"
    return instance.oracle.identity() + start


def named_instances(given: Mapping[str, object] | Iterable[object]) -> list[Named]:
    """Bring the instances of a study to one form."""
    found: list[Named] = []
    for name, value in _pairs("instances", given, Problem):
        if isinstance(value, str):
            found += _looked_up(name, value)
        elif isinstance(value, Oracle | Instance | Problem) or callable(value):
            found.append(Named(value.name if name is None and isinstance(value, Problem) else str(name), value))
        else:
            raise InvalidArgument(
                f"`instances[{name!r}]` must be an Oracle, an Instance, a function of a seed that returns one, or the "
                f"name of a problem, got {shown(value)}"
            )
    _check_names("instances", [instance.name for instance in found])
    return found


def named_generators(given: Mapping[str, object] | Iterable[object]) -> dict[str, QueryPointGenerator]:
    """Bring the generators of a study to one form: names to objects."""
    from oracle_opt.study.methods import generator_of

    pairs: list[tuple[str, QueryPointGenerator]] = []
    for name, value in _pairs("generators", given):
        made = generator_of(value) if isinstance(value, str) else value
        if not isinstance(made, QueryPointGenerator):
            hint = ", not the class: write LevelSet()" if isinstance(made, type) else ""
            raise InvalidArgument(f"`generators[{name!r}]` must be a QueryPointGenerator{hint}, got {shown(made)}")
        pairs.append((str(value if name is None else name), made))
    _check_names("generators", [name for name, _ in pairs])
    return dict(pairs)


def method_of(generator: QueryPointGenerator) -> str:
    """Class and parameters, without what changes from process to process."""
    return ADDRESS.sub("", repr(generator))


def module_of(generator: QueryPointGenerator) -> str:
    """Where a class of one's own is imported from; nothing for those of the library."""
    module = type(generator).__module__
    return "" if module.split(".")[0] == "oracle_opt" else module


def _pairs(
    argument: str, given: Mapping[str, object] | Iterable[object], *kinds: type
) -> Iterable[tuple[str | None, object]]:
    if isinstance(given, Mapping):
        return given.items()
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidArgument(f"`{argument}` must be a mapping by name, or a list of words, got {shown(given)}")
    values = list(given)
    for value in values:
        if not isinstance(value, (str, *kinds)):
            raise InvalidArgument(
                f"`{argument}` must be a mapping by name where it holds other things than words, got {shown(value)}"
            )
    return [(None, value) for value in values]


def _looked_up(name: str | None, words: str) -> list[Named]:
    from oracle_opt.study.generator_words import imported

    if ":" in words:
        recipe = imported(words)
        if not (isinstance(recipe, Oracle | Instance | Problem) or callable(recipe)):
            raise InvalidArgument(f"{words!r} must be an Oracle, an Instance or a function of a seed, got {recipe!r}")
        return [Named(words if name is None else name, recipe)]
    from oracle_opt.problems import find

    problems = find(words)
    if name is None:
        return [Named(problem.name, problem) for problem in problems]
    if len(problems) == 1:
        return [Named(name, problems[0])]
    return [Named(f"{name}/{problem.name.partition('/')[2] or problem.name}", problem) for problem in problems]


def _check_names(argument: str, names: list[str]) -> None:
    if not names:
        raise InvalidArgument(f"`{argument}` must be at least one, got none")
    for name in names:
        folder_name(name)
        if names.count(name) > 1:
            raise InvalidArgument(f"`{argument}` must have different names, got {name!r} twice")


def _words_of(thing: Any) -> str:
    if isinstance(thing, partial):
        arguments = [*map(_words_of, thing.args), *(f"{name}={_words_of(v)}" for name, v in thing.keywords.items())]
        return f"{_words_of(thing.func)}({', '.join(arguments)})"
    qualified = getattr(thing, "__qualname__", None)
    return ADDRESS.sub("", repr(thing)) if qualified is None else f"{thing.__module__}.{qualified}"


class SeedPlace(Enum):
    """How a function of a seed is called."""

    FIRST = "the first argument"
    NAMED = "the argument named seed"
    NONE = "it takes no argument, and makes the same for every seed"
    BOUND = "all its arguments have values of their own, as in `lambda n=n: make(n)`, and none is named seed"

    @classmethod
    def of(cls, name: str, function: Callable[..., Any]) -> SeedPlace:
        """Find out by the signature: the seed is an argument that must be given, or named `seed`, no default."""
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
        """Refuse seeds that would silently change nothing."""
        if self is SeedPlace.BOUND and tuple(seeds) != (0,):
            raise InvalidArgument(
                f"`instances[{name!r}]` has no argument for the seed: {self.value}. Name one `seed`, as in "
                f"`lambda seed, n=n: make(n, seed)`, or leave `seeds` at 1"
            )
