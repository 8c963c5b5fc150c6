"""The classic nonsmooth functions that the library ships, for the table of problems; and what a problem is."""

from collections.abc import Callable
from dataclasses import dataclass, field

from oracle_opt import Oracle, problems


@dataclass(frozen=True)
class Problem:
    """A problem, its optimum, and what it is for."""

    name: str
    make: Callable[[], Oracle]
    optimum: float
    kinds: frozenset[str] = field(default_factory=frozenset)
    start: tuple[float, ...] | None = None
    accuracy: float = 1e-10  # of the optimum as stated, relative to the largest value seen

    def __str__(self) -> str:
        return self.name


HARD = {"MAXQ", "MAXL", "Goffin", "MXHILB", "L1HILB", "TR48", "Chained LQ", "Chained CB3 I", "Chained CB3 II", "Wong2"}


def nonsmooth_set() -> list[Problem]:
    """Classic functions on all of R^n, with those of the folder ORACLE_OPT_PROBLEMS if there is one."""
    return [_as_test(problem) for problem in problems.suite("nonsmooth")]


def _as_test(problem: problems.Problem) -> Problem:
    name, instance = problem.name.removeprefix("nonsmooth/"), problem()
    kinds = {"nonsmooth", "any"}
    if name in HARD:
        kinds.add("hard")
    if name in ("Chained CB3 I", "Chained CB3 II"):
        kinds.add("smooth pieces")
    if name == "Polak2":  # its values are of all sizes inside its box: the bounds alone are checked
        kinds = {"nonsmooth"}
    assert instance.start is not None
    start = tuple(float(entry) for entry in instance.start)
    return Problem(name, lambda: problem().oracle, problem.optimum, frozenset(kinds), start)
