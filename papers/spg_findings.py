"""Sentences on the tables of SPG-GMKL that quote our figures, made of the rows."""

from __future__ import annotations

from collections.abc import Sequence

from papers.figures import printed_figures
from papers.repetitions import Row

METHODS = ("PGD", "PGD+N", "PGD+S", "PGD+N+S")


def compared(rows: Sequence[Row], table: str, slow: str, fast: str, words: str, part: str = "") -> list[str]:
    """Who got to the end, and the ratio of seconds of two methods where both did on all folds.

    Parameters
    ----------
    rows : sequence of Row
    table : str
        Of the paper, whose ratios stand beside ours.
    slow, fast : str
        Names of the methods.
    words : str
        Where: begins the sentence.
    part : str
        Rows whose set ends so.
    """
    ours = _of_methods(rows, slow, fast, part)
    sentence = (
        f"{words}: {fast} got to the end on {sum(b.reached for _, b in ours)} of {sum(b.runs for _, b in ours)} runs, "
        f"{slow} on {sum(a.reached for a, _ in ours)}"
    )
    whole = [a.ours / b.ours for a, b in ours if a.reached == a.runs and b.reached == b.runs]
    if whole:
        sentence += f"; on {_sets(len(whole))} where both did on all, {slow} took {_range(whole)} times the seconds"
    figures = printed_figures("spg", table)
    printed = [
        float(figure.value) / float(figures[key[0], f"seconds, {fast}"].value)
        for key, figure in figures.items()
        if key[1] == f"seconds, {slow}" and key[0].endswith(part) and _number(figure.value)
    ]
    if printed:
        sentence += f" (printed: {slow} took {_range(printed)} times the seconds on {_sets(len(printed))})"
    return [f"{sentence}."]


def fewest(rows: Sequence[Row]) -> list[str]:
    """On how many sets all parts together need the fewest SVMs, ours and printed."""
    found = {(row.set, row.quantity): row for row in rows}
    printed = printed_figures("spg", "table7")
    counted = {key: float(figure.value) for key, figure in printed.items() if key[1].startswith("SVMs")}
    sets = list(dict.fromkeys(row.set for row in rows))
    best, theirs = dict.fromkeys(METHODS, 0), 0
    whole = [
        name
        for name in sets
        if all(found[name, f"SVMs, {m}"].reached == found[name, f"SVMs, {m}"].runs for m in METHODS)
    ]
    for name in whole:
        best[min(METHODS, key=lambda method: found[name, f"SVMs, {method}"].ours)] += 1
    names = list(dict.fromkeys(name for name, _ in counted))
    for name in names:
        theirs += counted[name, "SVMs, PGD+N+S"] <= min(counted[name, f"SVMs, {method}"] for method in METHODS)
    together = [found[name, "SVMs, PGD+N+S"].ours for name in sets if found[name, "SVMs, PGD+N+S"].reached]
    sentences = [
        f"All four got to the end on all runs of {len(whole)} of {_sets(len(sets))}. The fewest SVMs there: "
        + ", ".join(f"{method} on {count}" for method, count in best.items())
        + f" (printed: PGD+N+S on {theirs} of {len(names)})."
    ]
    if together:
        low, high = min(together), max(together)
        known = [value for (_, quantity), value in counted.items() if quantity == "SVMs, PGD+N+S"]
        sentences.append(
            f"PGD+N+S needs {low:.0f} to {high:.0f} SVMs, by set, as the mean of the runs that get to the end "
            f"(printed: {min(known):.0f} to {max(known):.0f})."
        )
    return sentences


def _of_methods(rows: Sequence[Row], slow: str, fast: str, part: str) -> list[tuple[Row, Row]]:
    found = {(row.set, row.quantity): row for row in rows if row.runs}
    return [
        (row, found[name, f"seconds, {fast}"])
        for (name, quantity), row in found.items()
        if quantity == f"seconds, {slow}" and name.endswith(part) and (name, f"seconds, {fast}") in found
    ]


def _number(value: object) -> bool:
    try:
        return float(str(value)) > 0
    except ValueError:
        return False


def _sets(count: int) -> str:
    return f"{count} set{'s' * (count != 1)}"


def _range(ratios: list[float]) -> str:
    low, high = _two_digits(min(ratios)), _two_digits(max(ratios))
    return low if low == high else f"{low} to {high}"


def _two_digits(value: float) -> str:
    return f"{value:.2g}" if value < 100 else f"{float(f'{value:.2g}'):.0f}"
