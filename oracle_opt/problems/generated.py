"""Families that need no file: an instance is drawn from parameters and a seed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import nan

from oracle_opt.arguments import real, text, whole
from oracle_opt.errors import InvalidArgument
from oracle_opt.problems.instance import Instance, Problem
from oracle_opt.problems.problem_family import Family, nearest

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

    def problem(self, parameters: Mapping[str, object]) -> Problem:
        """The problem of these parameters, those left out at their defaults.

        Without a `seed` the instance is drawn by the seed that it is made with, that of a run.
        """
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
