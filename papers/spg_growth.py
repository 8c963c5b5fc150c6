"""Jain, Vishwanathan & Varma (2012), "SPG-GMKL": figure 2, seconds against the number of points and of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.study.analyses.curves import Curves, growth, points, together
from papers.experiment import Experiment
from papers.experiment_runs import add_runs
from papers.repetitions import Options, Reproduced, Row, Tally
from papers.sets import sets_of
from papers.spg import JAIN
from papers.spg_large import (
    LIMITS,
    METHODS,
    NOTES,
    OF_RTOL,
    QUANTITIES,
    RTOL,
    study,
    words_of_methods,
)
from papers.spg_large_problems import C, LargeProblem, problem

if TYPE_CHECKING:
    import pandas as pd

EXPONENTS = (1.33, 2.0)
OF_POINTS = {"Adult": ("Adult-9", "a9a"), "Web": ("Web-8", "w8a")}
# Of Platt's subsets: Adult-1, 4, 6 and 9, Web-1, 4, 6 and 8.
SIZES = {"Adult": (1605, 4781, 11220, 32561), "Web": (2477, 7366, 17188, 49749)}
KERNEL_COUNTS = (1000, 10_000, 100_000, 1_000_000)
QUICK_SIZES = (40, 80)
METHODS_OF_2 = ("PGD", "SPG-GMKL")


def figure2(options: Options) -> Reproduced:
    """Seconds against points on Adult and Web, and against kernels on Sonar, for several p."""
    tally = Tally()
    parts: list[pd.DataFrame] = []
    notes: list[str] = []
    large = sets_of({label: name for label, (_, name) in OF_POINTS.items()}, options)
    sonar = sets_of({"Sonar": "sonar"}, options)
    for label, dataset in large.found:
        sizes: Sequence[int] = QUICK_SIZES if options.quick else SIZES[label]
        for p in EXPONENTS:
            of = OF_POINTS.get(label, (label,))[0]
            problems = [problem(of, dataset, p, n_points=size) for size in sizes]
            parts += _curves(options, tally, notes, (label, "points"), sizes, problems)
    for label, dataset in sonar.found:
        sizes = QUICK_SIZES if options.quick else KERNEL_COUNTS
        for p in EXPONENTS:
            problems = [problem("Sonar", dataset, p, n_kernels=size) for size in sizes]
            parts += _curves(options, tally, notes, (label, "kernels"), sizes, problems)
    rows = tally.rows()
    figure = Curves(
        together(parts),
        "Seconds against size",
        "size",
        "processor seconds",
        f"Processor seconds of a run to a proven gap of {RTOL:g}, against the number of points, or of kernels.",
        log_x=True,
        log_y=True,
    )
    exponents = " and ".join(f"{p:g}" for p in EXPONENTS)
    caption = (
        f"{words_of_methods()} Sums of kernels under 1/2 norm(d, p)**2, p = {exponents}, C = {C:g}. {OF_RTOL} {LIMITS} "
        "Exponents are least-squares fits over all sizes, or the two largest, as mean and deviation over p; those of "
        'the paper are "on average" over its p, which are not printed, as are its sizes.'
    )
    notes = [*dict.fromkeys([*large.notes, *sonar.notes, *notes]), *NOTES]
    notes.insert(-1, "the numbers of points are those of Platt's subsets of Adult and Web, drawn at random here")
    return Reproduced(rows, tuple(notes), figure, caption, _findings(rows), (*large.absent, *sonar.absent))


def _curves(
    options: Options,
    tally: Tally,
    notes: list[str],
    of: tuple[str, str],
    sizes: Sequence[int],
    problems: Sequence[LargeProblem],
) -> list[pd.DataFrame]:
    """Run a problem in all its sizes, count seconds and SVMs and fit exponents."""
    (label, unit), p = of, problems[0].p
    results, failed = study(options, problems, {name: METHODS[name] for name in METHODS_OF_2})
    notes += failed
    parts = []
    for method in METHODS_OF_2:
        seconds = []
        for size, one in zip(sizes, problems, strict=True):
            row = f"{label}, {size} {unit}, p={p:g}"
            add_runs(tally, row, results, one.name(), QUANTITIES, [method])
            seconds.append(tally.mean(row, f"seconds, {method}"))
        tally.add(label, f"exponent of {unit}, {method}", growth(sizes, seconds))
        tally.add(label, f"exponent of {unit} at the two largest sizes, {method}", growth(sizes[-2:], seconds[-2:]))
        curve = np.array(sizes, dtype=float), np.array(seconds)
        parts.append(points(f"{label}: {unit}", f"{method}, p = {p:g}", *curve))
    return parts


def _findings(rows: Sequence[Row]) -> tuple[str, ...]:
    """How many times the seconds of SPG-GMKL PGD takes, from the least to the largest size."""
    found = {(row.set, row.quantity): row.ours for row in rows}
    sentences = []
    for name in dict.fromkeys(row.set.split(",")[0] for row in rows if row.quantity == "seconds, PGD"):
        ratios = [
            (value / found[of, "seconds, SPG-GMKL"], of)
            for (of, quantity), value in found.items()
            if quantity == "seconds, PGD" and of.split(",")[0] == name
        ]
        known = [ratio for ratio, _ in ratios if np.isfinite(ratio)]
        if known:
            sentences.append(
                f"On {name}, PGD takes {min(known):.2g} to {max(known):.2g} times the seconds of SPG-GMKL, in "
                f"{len(known)} of {len(ratios)} cases where both get to the gap."
            )
    return tuple(sentences)


EXPERIMENTS = {
    "spg-figure2": Experiment(
        *("spg", "figure2", f"{JAIN}, Figure 2, section 5.5"),
        '"SPG-GMKL, on average, scales linearly with the number of kernels on Sonar and as n^1.98 and n^1.52 with the '
        "number of training points on Adult and Web. The scaling factors are very similar for PGD though the constants "
        'involved are much bigger"',
        figure2,
    ),
}
