"""A family of problems: those at hand, those that are not and why, and those that parameters draw."""

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from math import nan

import numpy as np

from oracle_opt.arguments import real, text, whole
from oracle_opt.arrays import EPS, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.problems.instance import Instance, Problem


class Family:
    """Problems of one kind. A module of `oracle_opt.problems` has one as its constant `FAMILY`.

    Parameters
    ----------
    name : str
        Before the slash in the names of its problems.
    about : str
        What they are, in one line.
    at_hand : callable
        Returns the problems at hand, a list, with little work: data are read when an instance is made.
    not_at_hand : callable
        Returns names of those that are not, each with what would bring it; default: none.
    """

    def __init__(
        self,
        name: str,
        about: str,
        at_hand: Callable[[], list[Problem]] = list,
        not_at_hand: Callable[[], dict[str, str]] = dict,
    ) -> None:
        self.name, self.about, self.at_hand, self.not_at_hand = name, about, at_hand, not_at_hand

    def problems(self) -> list[Problem]:
        """Return the problems at hand."""
        return self.at_hand()

    def missing(self) -> dict[str, str]:
        """Return names of problems that are not at hand, each with what would bring it."""
        return self.not_at_hand()

    def problem(self, parameters: Mapping[str, object]) -> Problem:
        """Return the problem of these parameters; by default a family has none.

        Raises
        ------
        InvalidArgument
            The family takes no parameters, not these, or not these values.
        """
        raise InvalidArgument(
            f"`text`: the family {self.name!r} takes no parameters; name one of its problems, such as "
            f"{self.name}/{next((problem.name for problem in self.problems()), 'NAME').rpartition('/')[2]}"
        )


def nearest(word: str, known: Iterable[str]) -> str:
    """Say in words which of the known names are near one that is not known."""
    known = list(known)
    lowered = {name.lower(): name for name in known}
    near = [lowered[name] for name in difflib.get_close_matches(word.lower(), lowered, n=3, cutoff=0.5)]
    return f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known)}"


def between(upper: float, lower: float, terms: float) -> tuple[float, float]:
    """Return an optimum and its error from a value at some point and a lower bound, both computed."""
    rounding = 64.0 * EPS * terms
    middle = 0.5 * (upper + lower)
    return middle, 0.5 * abs(upper - lower) + rounding + 2.0 * EPS * abs(middle)


def unit_weights(rng: np.random.Generator, count: int) -> Vector:
    """Positive weights that add up to one, none much smaller than the others."""
    weights: Vector = rng.uniform(0.5, 1.5, count)
    weights /= weights.sum()
    return weights


SEED = "seed"


@dataclass(frozen=True)
class Generated(Family):
    """A family whose instances are drawn.

    Parameters
    ----------
    name, about : str
        As in `Family`.
    draw : callable
        A function of a module with default values for all its parameters, of which `n` is the number of variables and
        `seed` that of the random numbers, which it may lack; returns an `Instance`. The type of a default value is the
        type of the parameter: whole numbers are at least 1 and numbers above 0.
    members : tuple of mappings
        Parameters of the problems that are listed.
    version : int
        Changes when `draw` draws other instances than it did: runs that are kept are then not used again.
    optimum, optimum_error : float
        Where the optimum is the same for all parameters.
    source : str
        Where the construction and its optimum come from.
    """

    name: str
    about: str
    draw: Callable[..., Instance]
    members: tuple[Mapping[str, object], ...]
    version: int = 1
    optimum: float = nan
    optimum_error: float = nan
    source: str = ""

    def problems(self) -> list[Problem]:
        """The members that are listed."""
        return [self.problem(member) for member in self.members]

    def missing(self) -> dict[str, str]:
        """None: all can be drawn."""
        return {}

    def problem(self, parameters: Mapping[str, object]) -> Problem:
        """The problem of these parameters, others at their defaults; without `seed`, that of a run draws it."""
        defaults = {name: one.default for name, one in inspect.signature(self.draw).parameters.items()}
        for name in parameters:
            if name not in defaults:
                raise InvalidArgument(f"`text`: {self.name} has no parameter {name!r}: {nearest(name, defaults)}")
        chosen = {name: _checked(name, value, defaults[name]) for name, value in parameters.items()}
        full = {**defaults, **chosen}
        always = [name for name, value in full.items() if name in ("n", SEED) or isinstance(value, str)]
        told = [name for name in full if name in always or full[name] != defaults[name]]
        words = ", ".join(f"{name}={full[name]}" for name in told if name in chosen or name != SEED)
        fixed = {name: value for name, value in full.items() if name != SEED or name in chosen}
        return Problem(
            name=f"{self.name}({words})",
            family=self.name,
            n=int(str(full["n"])),
            make=partial(drawn, self.draw, fixed, SEED in defaults and SEED not in chosen),
            data=f"drawn, version {self.version}, {fixed}",
            optimum=self.optimum,
            optimum_error=self.optimum_error,
            source=self.source,
        )


def drawn(draw: Callable[..., Instance], parameters: Mapping[str, object], seeded: bool, seed: int) -> Instance:
    """Draw an instance, with the seed of the run where the parameters fix none."""
    return draw(**parameters, seed=seed) if seeded else draw(**parameters)


def _checked(name: str, value: object, default: object) -> object:
    """A value of the type of the default, or a refusal."""
    if isinstance(default, str):
        return text(name, value).lower()
    if isinstance(default, int):
        return whole(name, value, 0 if name == SEED else 1)
    return real(name, value, above=0.0)
