"""What the figures of the experiments on SMO-MKL say, in sentences made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from papers.figures import Printed
from papers.repetitions import Row

Figures = Mapping[tuple[str, str], float]
# Relative distance of two numbers of kernels that count as alike.
NEAR = 0.1


def our_figures(rows: Iterable[Row]) -> dict[tuple[str, str], float]:
    """Return what was measured: (set, quantity) to our figure."""
    return {(row.set, row.quantity): row.ours for row in rows if row.reached}


def printed_numbers(printed: Mapping[tuple[str, str], Printed]) -> dict[tuple[str, str], float]:
    """Return what is printed: (set, quantity) to the paper's figure."""
    return {key: float(figure.value) for key, figure in printed.items()}


def spread(values: Iterable[float]) -> str:
    """Write the least and the largest of some numbers, "0.914 to 1.2", or the one that both are."""
    found = list(values)
    low, high = (f"{value:.3g}" if value < 1000 else f"{value:.0f}" for value in (min(found), max(found)))
    return low if low == high else f"{low} to {high}"


def ratios(rows: Sequence[str], over: Figures, under: Figures, top: str, bottom: str) -> dict[str, float]:
    """Divide one quantity of each row by another, where both are known and the other is not 0."""
    return {row: over[row, top] / under[row, bottom] for row in rows if (row, top) in over and under.get((row, bottom))}


def on_rows(count: int, total: int) -> str:
    """Write how many rows of how many."""
    return f"on {count} of {total} rows"


def of_kernels(ours: Figures, paper: Figures, names: Sequence[str], columns: Mapping[str, str]) -> list[str]:
    """Compare the numbers of kernels by several thresholds with the printed ones.

    Parameters
    ----------
    ours, paper : mapping
        (set, quantity) to a figure.
    names : sequence of str
        Rows.
    columns : mapping
        Columns of kernels to the thresholds they count by, in words.
    """
    quotients = {column: ratios(names, ours, paper, f"kernels, {column}", "kernels, SMO-MKL") for column in columns}
    quotients = {column: found for column, found in quotients.items() if found}
    if not quotients:
        return []
    distance = {column: float(np.mean([abs(np.log(q)) for q in found.values()])) for column, found in quotients.items()}
    order = sorted(quotients, key=distance.__getitem__)
    told = [
        f"{columns[column]}: {100 * distance[column]:.1f} %, {_near(quotients[column].values())} of "
        f"{len(quotients[column])} rows"
        for column in order
    ]
    nearest = order[0]
    by_exponent: dict[str, list[float]] = {}
    for row, quotient in quotients[nearest].items():
        by_exponent.setdefault(row.split("p=")[1], []).append(quotient)
    parts = "; ".join(f"p = {p}: {spread(found)}" for p, found in by_exponent.items())
    return [
        "How far the numbers of kernels are from the printed ones, by threshold (mean distance of their logarithms; "
        f"rows with at most {100 * NEAR:g} %): {'; '.join(told)}.",
        f"Kernels {columns[nearest]} over those printed, on the sets: {parts}.",
    ]


def _near(quotients: Iterable[float]) -> int:
    return sum(abs(quotient - 1.0) <= NEAR for quotient in quotients)


def of_accuracy(ours: Figures, printed: Mapping[tuple[str, str], Printed], names: Sequence[str]) -> list[str]:
    """Compare the accuracies with the printed ones."""
    quantity = "accuracy %, SMO-MKL"
    rows = [row for row in names if (row, quantity) in ours and (row, quantity) in printed]
    if not rows:
        return []
    apart = {row: abs(ours[row, quantity] - float(printed[row, quantity].value)) for row in rows}
    inside = sum(apart[row] <= float(printed[row, quantity].spread) for row in rows)
    farthest = max(rows, key=apart.__getitem__)
    return [
        f"The accuracies are within one printed standard deviation of the printed ones {on_rows(inside, len(rows))}; "
        f"they are farthest apart, {apart[farthest]:.1f} points, on {farthest}."
    ]


def of_seconds(ours: Figures, paper: Figures, names: Sequence[str]) -> list[str]:
    """Compare the seconds: with those printed, over p, and with NewtonMKL."""
    mine, newton, sentences = "seconds, SMO-MKL", "seconds, NewtonMKL", []
    shorter = ratios(names, paper, ours, mine, mine)
    if shorter:
        sentences.append(f"SMO-MKL's seconds printed over ours: {spread(shorter.values())}.")
    for words, figures in (("Here", ours), ("In print", paper)):
        by_set: dict[str, dict[str, float]] = {}
        for row in names:
            if figures.get((row, mine)):
                by_set.setdefault(row.split(" p=")[0], {})[row.split("p=")[1]] = figures[row, mine]
        if by_set:
            slowest = spread(max(found.values()) / min(found.values()) for found in by_set.values())
            fastest = ", ".join(f"{label} {min(found, key=found.__getitem__)}" for label, found in by_set.items())
            sentences.append(f"{words} the slowest p takes {slowest} times the seconds of the fastest: {fastest}.")
    over = ratios(names, ours, ours, newton, mine)
    if over:
        less = on_rows(sum(value < 1 for value in over.values()), len(over))
        sentences.append(f"NewtonMKL takes {spread(over.values())} times the seconds of SMO-MKL, fewer {less}.")
    shogun = ratios(names, paper, paper, "seconds, Shogun", mine)
    if shogun:
        counts = ", ".join(
            f"more than {k} times {on_rows(sum(v > k for v in shogun.values()), len(shogun))}" for k in (4, 10, 20)
        )
        sentences.append(f"As printed Shogun takes {spread(shogun.values())} times the seconds of SMO-MKL, {counts}.")
    return sentences


def of_gaps(ours: Figures, names: Sequence[str], loose: str) -> list[str]:
    """Compare runs to two gaps."""
    kernels, seconds = (
        ratios(names, ours, ours, f"{kind}, {loose}", f"{kind}, SMO-MKL") for kind in ("kernels", "seconds")
    )
    kind = "accuracy %"
    keys = [((row, f"{kind}, {loose}"), (row, f"{kind}, SMO-MKL")) for row in names]
    points = [abs(ours[a] - ours[b]) for a, b in keys if a in ours and b in ours]
    if not (kernels and seconds and points):
        return []
    return [
        f"Ended at the {loose} in place of the small one SMO-MKL counts {spread(kernels.values())} times as many "
        f"kernels, its accuracies differ by at most {max(points):.1f} points, and it takes {spread(seconds.values())} "
        "times the seconds."
    ]


def of_growth(ours: Figures, rows: Iterable[str], values: Figures) -> tuple[str, ...]:
    """Say how long the largest problems took, in how much memory, and how time grew; values are by row and column."""
    names = list(dict.fromkeys(rows))
    sizes: dict[tuple[str, str], list[int]] = {}
    for row in names:
        label, *rest = row.split(", ")
        if len(rest) == 2:  # the others are exponents of growth
            size, unit = rest[0].split()
            sizes.setdefault((label, unit), []).append(int(size))
    found = []
    for (label, unit), of_unit in sizes.items():
        largest = [row for row in names if row.startswith(f"{label}, {max(of_unit)} {unit}, ")]
        columns = dict.fromkeys(quantity.split(", ")[1] for row, quantity in ours if row in largest)
        if columns:
            told = "; ".join(_of_column(ours, largest, column) for column in columns)
            found.append(f"{label}, {max(of_unit)} {unit}: {told}.")
        powers: dict[str, list[float]] = {}
        for (row, quantity), value in ours.items():
            if row.startswith(f"{label}, p=") and quantity.startswith(f"exponent of {unit}, "):
                powers.setdefault(quantity.split(", ")[1], []).append(value)
        told = ", ".join(f"{column} {spread(values)}" for column, values in powers.items())
        found.append(f"Exponents of the growth with the {unit} of {label}: {told}.")
    return (*found, *_compared(ours, names, values))


def _of_column(ours: Figures, rows: Sequence[str], column: str) -> str:
    """Seconds and memory of one column in the largest problems, one an exponent."""
    seconds = [
        f"{ours[row, f'seconds, {column}']:.3g} s ({row.split(', ')[-1].replace('=', ' = ')})"
        for row in rows
        if (row, f"seconds, {column}") in ours
    ]
    memory = [ours[row, f"GiB, {column}"] for row in rows if (row, f"GiB, {column}") in ours]
    return f"{column} {' and '.join(seconds)}" + (f", {spread(memory)} GiB" if memory else "")


def _compared(ours: Figures, names: Sequence[str], values: Figures) -> list[str]:
    """Two kinds of kernels against the usual ones."""
    found = []
    for column, words in (("made beforehand", "Made beforehand"), ("random halves", "On random halves")):
        over = ratios(names, ours, ours, f"seconds, {column}", "seconds, SMO-MKL")
        if over:
            found.append(f"{words} the kernels cost {spread(over.values())} times the seconds, row by row.")
    apart = [abs(value - 1.0) for value in ratios(names, values, values, "made beforehand", "SMO-MKL").values()]
    if apart:
        found.append(f"The values made beforehand and on the fly differ by at most {max(apart):.1g} of themselves.")
    return found


def of_columns(
    figures: Iterable[Row], ours: Figures, names: Sequence[str], compared: Iterable[tuple[str, str, str]]
) -> tuple[str, ...]:
    """Say how many runs got to the gap, and compare pairs of columns: a quantity of one over that of the other."""
    counted = {
        (row.set, row.quantity): (row.reached, row.runs) for row in figures if row.quantity.startswith("kernels")
    }
    reached, runs = (sum(part) for part in zip(*counted.values(), strict=True))
    found = [f"{reached} of {runs} runs ended at the proven gap."]
    for kind, column, other in compared:
        keys = [(row, f"{kind}, {column}", f"{kind}, {other}") for row in names]
        pairs = [(ours[row, a], ours[row, b]) for row, a, b in keys if (row, a) in ours and (row, b) in ours]
        if pairs:
            less, more = sum(a < b for a, b in pairs), sum(a > b for a, b in pairs)
            if kind.endswith("%"):
                words = (
                    f"minus {other}: {min(a - b for a, b in pairs):.1f} to {max(a - b for a, b in pairs):.1f} points"
                )
            else:
                words = f"over {other}: {spread(a / b for a, b in pairs)}"
            found.append(
                f"{kind[:1].upper()}{kind[1:]}, {column} {words}; less on {less} and more on {more} of {len(pairs)} "
                "rows."
            )
    return tuple(found)
