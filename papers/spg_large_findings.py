"""Sentences on the tables of SPG-GMKL on large sets, made of our figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature

from oracle_opt.generator import QueryPointGenerator
from oracle_opt.study.results import Results
from papers.figures import NOT_CONVERGED, Printed, printed_figures
from papers.repetitions import Row

FAST = "SPG-GMKL"
SLOWER = ("PGD", "PGD+N+S", "PGD from 1")


def reached_and_ratio(rows: Sequence[Row], table: str) -> tuple[str, ...]:
    """Which methods got to the gap, and how many times the seconds of SPG-GMKL the others took.

    Parameters
    ----------
    rows : sequence of Row
        With quantities "seconds, METHOD".
    table : str
        Of the paper, whose ratios of hours stand beside ours.
    """
    ours = {(row.set, row.quantity): row for row in rows if row.runs}
    printed = printed_figures("spg", table)
    methods = [quantity.partition(", ")[2] for _, quantity in ours if quantity.startswith("seconds")]
    sentences = []
    for method in dict.fromkeys(methods):
        of = [row for (_, quantity), row in ours.items() if quantity == f"seconds, {method}"]
        missed = [row.set for row in of if not row.reached]
        if missed:
            sentences.append(f"{method} does not get to the gap on {', '.join(missed)}.")
    if not sentences:
        sentences.append("All methods get to the gap on all sets that are at hand.")
    for slow in SLOWER:
        parts = [_ratio(ours, printed, name, slow) for name, quantity in ours if quantity == f"seconds, {slow}"]
        parts = [part for part in parts if part]
        if parts:
            sentences.append(f"{slow} takes, over the seconds of {FAST}, {'; '.join(parts)}.")
    return tuple(sentences)


def _ratio(
    ours: Mapping[tuple[str, str], Row], printed: Mapping[tuple[str, str], Printed], name: str, slow: str
) -> str:
    a, b = (ours[name, f"seconds, {method}"] for method in (slow, FAST))
    if not (a.reached and b.reached):
        return ""
    words = f"on {name} {a.ours / b.ours:.2g} times"
    theirs = [printed.get((name, f"hours, {method}")) for method in (slow, FAST)]
    values = [figure.value for figure in theirs if figure is not None]
    if len(values) < 2:
        return words
    if NOT_CONVERGED in values:
        return f"{words} (printed: {slow} did not converge)"
    return f"{words} (printed: {float(values[0]) / float(values[1]):.2g})"


def below_best(rows: Sequence[Row], at: float) -> tuple[str, ...]:
    """By how many points of accuracy a C is below the best of those tried, over the sets.

    Parameters
    ----------
    rows : sequence of Row
        With quantities "accuracy %, C=...".
    at : float
        The C.
    """
    accuracies = {(row.set, row.quantity): row.ours for row in rows if row.quantity.startswith("accuracy %, C=")}
    sets = dict.fromkeys(name for name, _ in accuracies)
    below = [
        max(value for (of, _), value in accuracies.items() if of == name) - accuracies[name, f"accuracy %, C={at:g}"]
        for name in sets
    ]
    if not below:
        return ()
    if max(below) == 0.0:
        return (f"C = {at:g} has the best accuracy of the table on each set.",)
    return (f"C = {at:g} is at most {max(below):.1f} points of accuracy below the best C of the table.",)


def first_share(results: Results, labels: Mapping[str, str]) -> tuple[str, ...]:
    """Share of the first machine in the oracle's seconds of SPG-GMKL, by set.

    Parameters
    ----------
    results : Results
    labels : mapping
        Names of instances, to what the paper calls the set.
    """
    parts = []
    for name, label in labels.items():
        history = results.history
        run = history[(history["instance"] == name) & (history["generator"] == FAST)]
        if len(run):
            seconds = run["oracle_seconds"].to_numpy(dtype=float)
            parts.append(f"{100 * seconds[0] / seconds.sum():.0f} % on {label} ({seconds.size} SVMs)")
    if not parts:
        return ()
    return (
        f"The first SVM of {FAST} takes, of the seconds of all its SVMs, {', '.join(parts)}; printed: 44 of 64 hours, "
        "26 SVMs, on Covertype.",
    )


def first_length(results: Results, label: str, method: str) -> list[str]:
    """How a descent went whose searches begin with length 1: answers, and the largest value on the way.

    Parameters
    ----------
    results : Results
        One run.
    label : str
        What the paper calls the set.
    method : str
        What the run is called.
    """
    values = results.history["value"].to_numpy(dtype=float) if len(results.history) else []
    if len(values) < 2:
        return [
            f"On {label} {method} got {len(values)} answer: the SVM of its first trial did not end within the limit."
        ]
    times = max(values) / values[0]
    return [f"On {label} {method} got {len(values)} answers, the largest {times:.2g} times that of the start."]


def words_of(generator: QueryPointGenerator) -> str:
    """Class and arguments of a generator, those alone that are not the defaults."""
    given = {
        name: value
        for name, value in generator.parameters().items()
        if value != signature(type(generator)).parameters[name].default
    }
    return f"`{type(generator).__name__}({', '.join(f'{name}={value!r}' for name, value in given.items())})`"
