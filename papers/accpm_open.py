"""Wulff & Ong (2014): what the paper leaves open, kernels and forms of its methods, against its figures."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from oracle_opt.generator import QueryPointGenerator
from oracle_opt.generators import AnalyticCenter, LevelSet
from papers.accpm_runs import (
    BANKS,
    CHOSEN,
    COLUMNS,
    FOLDERS,
    FORM_11,
    GAP,
    KERNELS,
    ONE_CALL,
    SETS,
    STOP,
    TracedRuns,
    runs_of,
)
from papers.figures import Printed, printed_figures
from papers.repetitions import Options, Reproduced, Tally
from papers.stopping_rules import UntilSingleCut

SPLITS = 3
OF_AVERAGE = 10  # splits
OF_CALLS = ("wpbc", "bupa", "pima", "vote", "heart")
FORMS: dict[str, AnalyticCenter | LevelSet] = {
    "accpm without proximal term": AnalyticCenter(domain_weight=1.0, proximal=0.0),
    "accpm, proximal 100": AnalyticCenter(domain_weight=1.0, proximal=100.0),
    "accpm, upper_weight 1": AnalyticCenter(upper_weight=1.0, domain_weight=1.0, proximal=1.0),
    "(11), domain_weight 1": AnalyticCenter(epigraph=False, domain_weight=1.0, proximal=0.0),
    "(11), proximal 100": AnalyticCenter(epigraph=False, proximal=100.0),
    **{f"level-set, level {level}": LevelSet(level, entropic=False, adaptive=False) for level in (0.5, 0.8, 0.9, 0.95)},
}
# Each is compared with what the paper prints for its method.
KNOWN = ("accpm", "accpm in form (11)", "level-set")
METHOD_OF = {name: "level-set" if name.startswith("level") else "accpm" for name in (*KNOWN, *FORMS)}


def forms(options: Options) -> Reproduced:
    """Calls of the forms of accpm and levels of the level method that the paper leaves open."""
    generators: dict[str, QueryPointGenerator] = {name: ONE_CALL[name] for name in KNOWN}
    generators |= {name: UntilSingleCut(form, GAP) for name, form in FORMS.items()}
    names = {name: SETS[name] for name in OF_CALLS}
    runs = runs_of(names, options, generators=generators, simplemkl={}, splits=SPLITS)
    tally, printed = Tally(), printed_figures("accpm", "table1")
    for name in runs.sets:
        for method in generators:
            for calls in runs.column(name, method, "calls"):
                tally.add(name, f"calls, {method}", float(calls))
        for method in KNOWN:
            for calls in _by_best_cut(runs, name, method):
                tally.add(name, f"calls by the best cut, {method}", calls)
    apart = {
        method: factor_apart(tally, printed, {f"calls, {method}": f"calls, {METHOD_OF[method]}"})
        for method in generators
    }
    absolute = [trace["own_gap"].iloc[-1] * trace["upper"].iloc[-1] for trace in runs.traces.values()]
    findings = tuple(
        f"Calls of {of} differ from the printed ones by a factor of "
        + ", ".join(f"{factor:.2f} ({name})" for name, factor in apart.items() if METHOD_OF[name] == of)
        + "."
        for of in ("accpm", "level-set")
    )
    findings += (f"In absolute terms the gap of the last call is {min(absolute):.2g} to {max(absolute):.2g}.",)
    notes = (
        *runs.notes,
        "factors: geometric mean over the sets of the larger of ours / printed and printed / ours; a form that did not "
        "reach the gap on all splits of a set is not counted there",
        "by the best cut: the same runs, and the gap between the best value and the best bound of a single cut so far",
    )
    caption = " ".join([COLUMNS, FORM_11, "Other columns change what they name.", KERNELS, STOP])
    return Reproduced(tally.rows(), notes, caption=caption, findings=findings, absent=runs.absent)


def kernels(options: Options) -> Reproduced:
    """Accuracy, calls and number of kernels on the kernels that the paper's words may mean."""
    tally, notes = Tally(), []
    printed = printed_figures("accpm", "table1") | printed_figures("accpm", "table2")
    quantities = {"average": ("accuracy %",), "accpm": ("calls", "kernels"), "kcg": ("calls", "kernels")}
    called: dict[str, dict[str, str]] = {}
    for bank in BANKS:
        average, runs = (
            runs_of(
                {name: SETS[name] for name in names},
                options,
                folder=FOLDERS[bank],
                generators={name: ONE_CALL[name] for name in methods},
                simplemkl={},
                bank=bank,
                splits=splits,
            )
            for names, methods, splits in ((SETS, ("average",), OF_AVERAGE), (OF_CALLS, ("accpm", "kcg"), SPLITS))
        )
        notes = [f"average: {note}" for note in average.notes] + [f"accpm and kcg: {note}" for note in runs.notes]
        for method, of_method in quantities.items():
            of_runs = average if method == "average" else runs
            for name in of_runs.sets:
                for quantity in of_method:
                    known = f"{quantity}, {method}"
                    ours = known if bank == CHOSEN else f"{quantity}, {method}; {bank}"
                    called.setdefault(bank, {})[ours] = known
                    column = {"accuracy %": "accuracy", "calls": "calls", "kernels": "n_kernels"}[quantity]
                    for value in of_runs.column(name, method, column):
                        tally.add(name, ours, 100 * float(value) if quantity == "accuracy %" else float(value))
    findings = []
    for quantity, words in (("calls", "Calls of accpm and kcg"), ("kernels", "Kernels of accpm and kcg")):
        factors = [f"{factor_apart(tally, printed, _only(called[bank], quantity)):.2f} ({bank})" for bank in BANKS]
        findings.append(f"{words} differ from the printed ones by a factor of {', '.join(factors)}.")
    points = [f"{_points_apart(tally, printed, _only(called[bank], 'accuracy %')):.1f} ({bank})" for bank in BANKS]
    findings.append(
        f"The accuracy of the average kernel differs from the printed one by {', '.join(points)} points, on average "
        "over the sets."
    )
    caption = " ".join(
        [
            COLUMNS,
            "Columns without a name behind the semicolon are on the kernels of the other tables:",
            KERNELS,
            "The others differ in the widths: 2 s^2 in place of s^2; `uci_bank`, 2 s^2, with ten widths a feature, "
            "between the quantiles of the distances on it alone; `simplemkl_bank`, the fixed widths of SimpleMKL.",
            STOP,
        ]
    )
    more = ("factors: geometric mean over the sets of the larger of ours / printed and printed / ours",)
    return Reproduced(tally.rows(), (*notes, *more), caption=caption, findings=tuple(findings), absent=runs.absent)


def factor_apart(tally: Tally, printed: Mapping[tuple[str, str], Printed], quantities: Mapping[str, str]) -> float:
    """Geometric mean of the larger of ours / printed and its inverse, over sets and quantities all of whose runs ended.

    The quantities map ours to the paper's; NaN if there is nothing to compare.
    """
    logarithms = [
        abs(np.log(row.ours / float(printed[row.set, quantities[row.quantity]].value)))
        for row in tally.rows()
        if row.quantity in quantities and (row.set, quantities[row.quantity]) in printed and row.reached == row.runs
    ]
    return float(np.exp(np.mean(logarithms))) if logarithms else float("nan")


def _points_apart(tally: Tally, printed: Mapping[tuple[str, str], Printed], quantities: Mapping[str, str]) -> float:
    """Mean difference from the printed figures."""
    differences = [
        abs(row.ours - float(printed[row.set, quantities[row.quantity]].value))
        for row in tally.rows()
        if row.quantity in quantities and (row.set, quantities[row.quantity]) in printed
    ]
    return float(np.mean(differences)) if differences else float("nan")


def _only(quantities: Mapping[str, str], kind: str) -> dict[str, str]:
    """Those of a kind."""
    return {ours: known for ours, known in quantities.items() if known.startswith(f"{kind},")}


def _by_best_cut(runs: TracedRuns, name: str, method: str) -> list[float]:
    """Calls until the best value and the best bound of a single cut are near."""
    found = []
    for (instance, generator, _), trace in runs.traces.items():
        if (instance, generator) == (name, method):
            upper = np.minimum.accumulate(trace["upper"].to_numpy())
            lower = np.maximum.accumulate(trace["own_bound"].to_numpy())
            small = upper - lower <= GAP * np.abs(upper)
            found.append(float(1 + np.argmax(small)) if small.any() else float("nan"))
    return found
