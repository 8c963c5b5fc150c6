"""Growth of time: Figure 2, Tables 3, 6 and 11 of Jain et al. (2012), Figure 1 of Vishwanathan et al. (2010)."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.datasets import Dataset
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.generators import ActiveSet, NewtonBundle
from oracle_opt.oracles import SMOMKL, GMKLOracle, KernelBank, LpRegularizer, MKLOracle, NewtonMKL, RBFBank
from oracle_opt.oracles.mkl.solve_mkl import STEPS_A_POINT, SVM_ACCURACY
from oracle_opt.problems import Instance
from oracle_opt.study.analyses.curves import Curves, growth, points, together
from oracle_opt.study.results import Results
from papers.experiment import Experiment
from papers.experiment_runs import Recipe, reached, run_study
from papers.figures import NOT_CONVERGED, Printed
from papers.peak_memory import forget_peak, peak
from papers.repetitions import Options, Reproduced, Row, Tally
from papers.sets import HARDWARE, Sets, sets_of, standardized

if TYPE_CHECKING:
    import pandas as pd

LARGE = {"Adult": "a9a", "Web": "w8a", "Cod-RNA": "cod_rna"}
RTOL = 1e-3
MAX_CALLS = 1000
KERNEL_COUNTS = (1000, 10_000, 100_000, 1_000_000)
POINT_COUNTS = (1000, 4000, 16_000)  # and then all
QUICK_COUNTS = (40, 80)
N_KERNELS = 50
MEMORY_BUDGET = 1 << 28  # from 5,800 points on no combined kernel
L1, LP = "l1", "p=1.33"
SAME, OWN = "", ", own distances"
# What solves which problem.
OF_KERNELS: dict[str, QueryPointGenerator] = {L1: ActiveSet(NewtonBundle()), LP: NewtonMKL(rtol=RTOL)}
OF_POINTS: dict[str, QueryPointGenerator] = {L1: NewtonBundle(), LP: SMOMKL(rtol=RTOL)}
# Tables of the two papers that say how long something took, or how time grew.
NAMES = {
    ("table3", "Adult-9"): "Adult, 32561 points, p=1.33",
    ("table3", "Cod-RNA"): "Cod-RNA, 59535 points, p=1.33",
    ("table3", "KDDCup04"): "KDDCup04, 50000 points, p=1.33",
    ("table3", "Covertype"): "Covertype, 581012 points, p=1.33",
    ("table3", "Sonar1M"): "Sonar, 1000000 kernels, p=1.33",
    ("table6", "Adult-9"): "Adult, 32561 points, l1",
    ("table6", "Cod-RNA"): "Cod-RNA, 59535 points, l1",
    ("table6", "KDDCup04"): "KDDCup04, 50000 points, l1",
    ("table6", "Real-Sim"): "Real-Sim, 72309 points, l1",
    ("table11", "Adult-9"): "Adult, 32561 points, Table 11",
    ("table11", "Web-8"): "Web, 49749 points, Table 11",
    ("table11", "Sonar100K"): "Sonar, 100000 kernels, Table 11",
}
PRINTED = (("spg", "table3"), ("spg", "table6"), ("spg", "table11"), ("spg", "figure2"), ("smo", "figure1"))
QUANTITIES = {"seconds": "processor_seconds", "calls": "n_calls", "gap": "relative_gap", "GiB": "peak"}


def _of_kernels(dataset: Dataset, size: int, norm: str, number: int) -> Instance:
    """So many RBF kernels, evenly many on each feature."""
    (Z,) = standardized(dataset.dense())
    return _instance(RBFBank.from_quantiles(Z, size, np.arange(Z.shape[1])[:, None].tolist()), dataset.y, norm)


def _of_points(dataset: Dataset, size: int, norm: str, own: str, split_seed: int, number: int) -> Instance:
    """50 RBF kernels on the first points of a permutation: of 50 widths, or on random halves of the features."""
    rows = np.random.default_rng(split_seed).permutation(dataset.y.size)[:size]
    (Z,) = standardized(dataset.dense()[rows])
    # The many small steps of SMO-MKL would add up the errors of single precision.
    dtype = np.float32 if norm == L1 else np.float64
    bank = RBFBank.from_quantiles(Z, N_KERNELS, features_of(Z, own), dtype=dtype)
    return _instance(bank, dataset.y[rows], norm)


def features_of(Z: Matrix, own: str) -> list[list[int]]:
    """Features of each family of kernels: all of them, or 50 random halves of them."""
    n_features = Z.shape[1]
    if not own:
        return [list(range(n_features))]
    rng = np.random.default_rng(0)
    return [rng.permutation(n_features)[: max(n_features // 2, 1)].tolist() for _ in range(N_KERNELS)]


def _instance(bank: KernelBank, y: Vector, norm: str) -> Instance:
    """C = 100, as everywhere; the peak is that of the process from here on."""
    measures = {"peak": _peak} if forget_peak() else {}
    if norm == L1:
        return Instance(MKLOracle(bank, y, C=100.0, memory_budget=MEMORY_BUDGET), measures=measures)
    steps = STEPS_A_POINT * bank.n_points
    regularizer = LpRegularizer(float(norm.removeprefix("p=")))
    oracle = GMKLOracle(bank, y, regularizer, C=100.0, accuracy=SVM_ACCURACY, max_steps=steps)
    assert oracle.domain.problem is not None
    return Instance(oracle, oracle.domain.problem.dual.start(), measures=measures)


def _peak(cut: ObjectiveCut) -> float:
    return peak()


def figure(options: Options) -> Reproduced:
    """Seconds, calls, gap and memory against kernels on Sonar, and against points on Adult, Web and Cod-RNA."""
    printed = EXPERIMENTS["spg-figure-scale"].printed()
    timed = {row for row, quantity in printed if quantity.startswith("hours")}
    tally = Tally()
    parts: list[pd.DataFrame] = []
    few = sets_of({"Sonar": "sonar"}, options)
    many = Sets(few.found, []) if options.quick else sets_of(LARGE, options)
    notes = few.notes
    for label, dataset in many.found:
        every = dataset.y.size
        sizes = QUICK_COUNTS if options.quick else (*(size for size in POINT_COUNTS if size < every), every)
        # Distances of their own on one set alone: with the 300 features of Web they would take as long as all the rest.
        kinds = [(L1, SAME), (LP, SAME), *([(L1, OWN)] if options.quick or label == "Adult" else [])]
        for norm, own in kinds:
            recipes = {
                f"{label}, {size} points, {norm}{own}": Recipe(_of_points, dataset, (size, norm, own, options.seed))
                for size in sizes
            }
            parts.append(
                _curve(options, tally, notes, timed, (label, "points", norm + own), sizes, recipes, OF_POINTS[norm])
            )
    for label, dataset in few.found:
        sizes = QUICK_COUNTS if options.quick else KERNEL_COUNTS
        for norm, generator in OF_KERNELS.items():
            recipes = {f"{label}, {size} kernels, {norm}": Recipe(_of_kernels, dataset, (size, norm)) for size in sizes}
            parts.append(_curve(options, tally, notes, timed, (label, "kernels", norm), sizes, recipes, generator))
    rows = tally.rows()
    if not options.quick:
        measured = {(row.set, row.quantity) for row in rows}
        rows += tuple(Row(*key, np.nan, np.nan, 0, 0) for key in printed if key not in measured)
    own_names = {name for part in parts for name in part["name"]}
    panels = {panel for part in parts for panel in part["panel"]}
    parts += [part for part in _printed_points(printed) if part["panel"].iloc[0] in panels]
    curves = Curves(
        together(parts),
        "Seconds against size",
        "size",
        "processor seconds",
        f"Processor seconds of a run to a proven relative gap of {RTOL:g} against the number of kernels, or of points; "
        "and the seconds the papers print, on their authors' machines.",
        log_x=True,
        log_y=True,
        order=tuple(sorted(own_names)),
    )
    absent = few.absent + many.absent
    return Reproduced(rows, (*notes, *many.notes, *NOTES), curves, CAPTION, absent=absent)


CAPTION = (
    "Ours are methods of this library, not those of the paper, which `spg-table3`, `spg-table6`, `spg-table11` and "
    "`spg-figure2` run: on Sonar `ActiveSet(NewtonBundle())` under l1 and `NewtonMKL(rtol=0.001)` at p = 1.33, "
    "elsewhere `NewtonBundle()` and `SMOMKL(rtol=0.001)`. "
    f"To a proven relative gap of {RTOL:g}, at most {MAX_CALLS} calls a run."
)
NOTES = (
    f"to a proven relative gap of {RTOL:g}, where the papers' thresholds are not printed; C = 100, lambda = 1; RBF "
    "kernels of unit trace on standardized features, computed on the fly, of widths between quantiles of their "
    "distances",
    f"Sonar: evenly many widths on each feature. Adult, Web, Cod-RNA: {N_KERNELS} widths on all features, or, on "
    f"Adult, with own distances, {N_KERNELS} random halves of the features; the papers do not say which kernels theirs "
    "are",
    "l1 as weights on the simplex, which is the same problem up to a change of variables",
    "SPG-GMKL, PGD: Jain et al. (2012), who write besides that Covertype took 26 SVMs, the first of them 44 hours, and "
    "that time is linear in the number of kernels (an exponent of 1 here). SMO-MKL: Vishwanathan et al. (2010), who "
    "write besides: 100,000 kernels on Sonar in less than half an hour on the fly and in approximately seven minutes "
    "made beforehand",
    "KDDCup04, Covertype and Real-Sim are not at hand; `python benchmarks/scale.py covertype` runs 581,012 points that "
    "are generated in the shape of Covertype",
    "GiB: largest resident memory of the process from making the kernels on, Python and data included, as Linux tells "
    "it. Choosing and making the kernels is not in the seconds",
    HARDWARE,
)


def _curve(
    options: Options,
    tally: Tally,
    notes: list[str],
    timed: Container[str],
    of: tuple[str, str, str],
    sizes: Sequence[int],
    recipes: Mapping[str, Recipe],
    generator: QueryPointGenerator,
) -> pd.DataFrame:
    """Run a problem in all its sizes, `timed` those whose hours a paper gives; give seconds by size."""
    label, unit, kind = of
    results, failed = run_study(
        options, "scale", recipes, {"ours": generator}, range(1), rtol=RTOL, max_calls=MAX_CALLS
    )
    notes += failed
    seconds = [_counted(tally, row, results, timed) for row in recipes]
    tally.add(label, f"exponent of {unit}, {kind}", growth(sizes, seconds))
    return points(f"{label}: {unit}", f"ours, {kind}", np.array(sizes, dtype=float), np.array(seconds))


def _counted(tally: Tally, row: str, results: Results, timed: Container[str]) -> float:
    """Count the figures of a run, hours too where a paper gives them; its seconds, NaN if it did not get to the gap."""
    run = results.runs[results.runs["instance"] == row]
    at_end = bool(reached(run).iloc[0])
    for quantity, column in QUANTITIES.items():
        if column in run:
            tally.add(row, quantity, float(run[column].iloc[0]) if at_end else np.nan)
    seconds = tally.mean(row, "seconds")
    if row in timed:
        tally.add(row, "hours", seconds / 3600)
    return seconds


def _printed_points(printed: Mapping[tuple[str, str], Printed]) -> Iterable[pd.DataFrame]:
    """The times the papers print, as curves of one point or a few, in seconds."""
    times: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for (row, quantity), figure_ in printed.items():
        kind, _, method = quantity.partition(", ")
        if kind not in ("hours", "seconds") or figure_.value == NOT_CONVERGED:
            continue
        label, size, *norm = row.split(", ")
        count, unit = size.split()
        name = f"{method} as printed" + (f", {norm[0]}" if norm[0] != "Table 11" else "")
        seconds = float(figure_.value) * (3600 if kind == "hours" else 1)
        times.setdefault((f"{label}: {unit}", name), []).append((float(count), seconds))
    for (panel, name), found in times.items():
        sizes, seconds_ = np.array(sorted(found)).T
        yield points(panel, name, sizes, seconds_)


JAIN = "Jain, Vishwanathan & Varma (2012)"
VISHWANATHAN = "Vishwanathan et al. (2010)"

EXPERIMENTS: dict[str, Experiment] = {
    "spg-figure-scale": Experiment(
        "spg",
        "figure2",
        f"{JAIN}, Figure 2, Tables 3, 6 and 11, sections 5.1, 5.2 and 5.5, beside {VISHWANATHAN}",
        "SPG-GMKL trains with a million kernels, or on half a million points; its time is linear in the number of "
        "kernels and less than quadratic in that of points",
        figure,
        PRINTED,
        NAMES,
    ),
}
