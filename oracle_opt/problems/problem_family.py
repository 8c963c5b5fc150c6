"""A family of problems: those at hand, those that are not and why, and those that parameters make."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from oracle_opt.errors import InvalidArgument
from oracle_opt.problems.instance import Problem


class Family(ABC):
    """Problems of one kind. A module of `oracle_opt.problems` has one as its constant `FAMILY`.

    Attributes
    ----------
    name : str
        Before the slash in the names of its problems.
    about : str
        What they are, in one line.
    """

    name: str
    about: str

    @abstractmethod
    def problems(self) -> list[Problem]:
        """Return the problems at hand, with little work: data are read when an instance is made."""

    def missing(self) -> dict[str, str]:
        """Return names of problems that are not at hand, each with what would bring it; by default none."""
        return {}

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


@dataclass(frozen=True)
class Listed(Family):
    """A family made of functions, which are called when it is asked.

    Attributes
    ----------
    name : str
        What it is found by.
    about : str
        What its problems are, in a few words.
    at_hand : callable
        Returns its problems, a list.
    not_at_hand : callable
        Returns those that are not at hand, names to reasons; default: none.
    """

    name: str
    about: str
    at_hand: Callable[[], list[Problem]]
    not_at_hand: Callable[[], dict[str, str]] = dict

    def problems(self) -> list[Problem]:
        """Call `at_hand`."""
        return self.at_hand()

    def missing(self) -> dict[str, str]:
        """Call `not_at_hand`."""
        return self.not_at_hand()


def nearest(word: str, known: Iterable[str]) -> str:
    """Say in words which of the known names are near one that is not known."""
    known = list(known)
    lowered = {name.lower(): name for name in known}
    near = [lowered[name] for name in difflib.get_close_matches(word.lower(), lowered, n=3, cutoff=0.5)]
    return f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(known)}"
