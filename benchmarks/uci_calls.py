"""Oracle calls on the eight UCI sets of Wulff & Ong (2014), by our gap and by theirs, beside the figures of the paper.

    python benchmarks/uci_calls.py [--quick] [--jobs N] [--out FOLDER]

20 random splits, 70 % train, 13 (d + 1) kernels, C = 100, at most 500 calls. Three comparisons of the library's study:
to a relative gap of 5e-3 with the default generators, where the cutting planes among them (`BOTH_GAPS`) go on until
the gap by the best single cut is there, too; and to 1e-6 with `PRECISE`. Finished runs are kept in the folder, by
default one a commit under benchmarks/runs: the same command continues with what is missing. Takes about an hour on
one core; `--quick`: 2 splits of pima and bupa.
"""

import sys
from pathlib import Path

import numpy as np
from _shared import ROOT, commit, parser, say, table
from _verified import WORDS, counted, print_certificates
from threadpoolctl import threadpool_limits

from oracle_opt.certificates.proof_level import Standing
from oracle_opt.datasets import load
from oracle_opt.study import DEFAULT_GENERATORS, GENERATORS, compare, summary_table
from oracle_opt.study.summary import spread

sys.path.append(str(ROOT))  # last: what is installed is measured, not the sources beside
from papers.figures import all_figures

HERE = Path(__file__).parent
SETS = ("wpbc", "ionosphere", "sonar", "bupa", "pima", "vote", "heart", "wdbc")
PAPER = 5e-3  # the gap of the paper
BASELINE = "fixed-point"  # one call at the average kernel
BOTH_GAPS = ("analytic-center", "level-set", "newton-bundle")
PRECISE = ("newton-bundle", "level-set")
MULTIPLE = ("accpm", "level-set", "simpleMKL", "kcg")


def of_the_paper():
    """Figures of the paper as it prints them: (set, quantity, method) to mean ± deviation, and to the mean."""
    words, means = {}, {}
    for line in all_figures():
        if line["paper"] == "accpm" and line["table"] in ("table1", "table2"):
            quantity, _, method = line["column"].partition(", ")
            key = line["row"], quantity.removesuffix(" %"), method
            words[key], means[key] = f"{line['value']} ± {line['spread']}", float(line["value"])
    return words, means


def runs_of(datasets, names, folder, splits, jobs, **settings):
    """Run what is missing; results by (set, generator)."""
    say(str(folder))
    done = compare(datasets, names, folder, splits=splits, jobs=jobs, progress=True, **settings)
    failed = done.runs[done.runs["traceback"] != ""]
    if done.interrupted or len(failed):
        raise SystemExit(f"interrupted: {done.interrupted}, failed: {failed[['instance', 'generator', 'seed']].values}")
    for word in done.runs["certificate"]:  # runs of a folder that is older than certificates have none
        counted(WORDS[Standing(word)])
    return {(one.name, name): done.filter(instance=one.name, generator=name) for one in datasets for name in names}


def classes(names):
    """Column headings."""
    return [f"`{GENERATORS[name].__name__}`" for name in names]


def cells(group, quantity):
    """Mean ± deviation over the splits, and how many runs reached the gap where not all did."""
    row = summary_table(group).iloc[0]
    scale = 100 if quantity == "accuracy" else 1
    mean, deviation = (scale * row[f"{quantity}_{part}"] for part in ("mean", "std"))
    share = f" ({row.converged}/{row.runs})" if quantity == "n_calls" and row.converged < row.runs else ""
    return f"{mean:.1f} ± {deviation:.1f}{share}"


def by_single_cut(group):
    """The same of the calls to the gap of the paper, over the runs that got there."""
    name = group.runs["generator"].iloc[0]
    needed = group.table(tau=PAPER, test="single-cut", seeds="each").data[name].to_numpy(dtype=float)
    calls = needed[np.isfinite(needed)]
    share = "" if len(calls) == len(needed) else f" ({len(calls)}/{len(needed)})"
    return spread(calls, "{:.1f}") + share if len(calls) else f"- (0/{len(needed)})"


def mean_calls(group):
    """Mean calls of a set."""
    return float(group.runs["n_calls"].mean())


def print_calls(runs, sets, names):
    """Calls to 5e-3 by our gap, and the summary of them against the paper."""
    printed, means = of_the_paper()
    rows = [
        [name, *(printed[name, "calls", method] for method in MULTIPLE)]
        + [cells(runs[name, generator], "n_calls") for generator in names]
        for name in sets
    ]
    of_all = [f"{np.mean([mean_calls(runs[name, generator]) for name in sets]):.1f}" for generator in names]
    paper = [f"{np.mean([means[name, 'calls', method] for name in sets]):.1f}" for method in MULTIPLE]
    table(("set", "paper: accpm", "level-set", "simpleMKL", "kcg", *classes(names)), [*rows, ["mean", *paper, *of_all]])
    print("The best of ours against the best of the paper, and `AnalyticCenter` against its accpm:\n")
    rows = []
    for name in sets:
        best = min((generator for generator in names), key=lambda generator: mean_calls(runs[name, generator]))
        ours, theirs = mean_calls(runs[name, best]), min(means[name, "calls", method] for method in MULTIPLE)
        center = mean_calls(runs[name, "analytic-center"]) / means[name, "calls", "accpm"]
        rows.append((name, *classes([best]), f"{ours:.1f}", theirs, f"{ours / theirs:.2f}", f"{center:.2f}"))
    table(("set", "best", "its calls", "best of the paper", "ratio", "`AnalyticCenter` / accpm"), rows)


def print_rest(runs, sets, names):
    """Calls by the gap of the paper, kernels of non-vanishing weight, test accuracy."""
    printed, means = of_the_paper()
    print("Calls until the gap by the best single cut is at most 5e-3; the paper stops on the last query point and its")
    print("cut alone, a gap never smaller:\n")
    rows = []
    for name in sets:
        best = min(MULTIPLE, key=lambda method: means[name, "calls", method])
        ours = (by_single_cut(runs[name, generator]) for generator in BOTH_GAPS)
        rows.append([name, *ours, f"{printed[name, 'calls', best]} ({best})"])
    table(("set", *classes(BOTH_GAPS), "best of the paper"), rows)
    print("Kernels of non-vanishing weight (above 1e-3 of the largest) at the end:\n")
    rows = [
        [name, printed[name, "kernels", "accpm"], *(cells(runs[name, generator], "n_kernels") for generator in names)]
        for name in sets
    ]
    table(("set", "paper: accpm", *classes(names)), rows)
    print("Test accuracy in per cent:\n")
    columns = [*names, BASELINE]
    rows = [
        [name, *(printed[name, "accuracy", method] for method in ("MKL", "average"))]
        + [cells(runs[name, generator], "accuracy") for generator in columns]
        for name in sets
    ]
    table(("set", "paper: MKL", "average kernel", *classes(columns)), rows)


def print_precise(runs, sets):
    """Calls to 1e-6, and the most of a split."""
    print("Calls until our gap is at most 1e-6, and the most calls of a split:\n")
    rows = []
    for name in sets:
        row = [name]
        for generator in PRECISE:
            group = runs[name, generator]
            row += [cells(group, "n_calls"), int(group.runs["n_calls"].max())]
        rows.append(row)
    means = [np.mean([mean_calls(runs[name, generator]) for name in sets]) for generator in PRECISE]
    last = [cell for mean in means for cell in (f"{mean:.1f}", "")]
    headings = [cell for name in classes(PRECISE) for cell in (name, "most")]
    table(("set", *headings), [*rows, ["mean", *last]])


def main():
    """Run and print."""
    options = parser(__doc__)
    options.add_argument("--jobs", type=int, default=1, help="processes; -1 for one a core")
    options.add_argument("--out", type=Path, default=HERE / "runs" / commit().replace(" ", "-"), help="kept runs")
    chosen = options.parse_args()
    sets, splits = (("pima", "bupa"), 2) if chosen.quick else (SETS, 20)
    datasets = [load(name) for name in sets]
    others = [name for name in DEFAULT_GENERATORS if name not in BOTH_GAPS]
    studies = (
        ("gap-5e-3", others, {"rtol": PAPER}),
        ("both-gaps-5e-3", BOTH_GAPS, {"rtol": PAPER, "single_cut": True}),
        ("gap-1e-6", PRECISE, {"rtol": 1e-6}),
    )
    ours, both, precise = (
        runs_of(datasets, names, chosen.out / folder, splits, chosen.jobs, **settings)
        for folder, names, settings in studies
    )
    multiple = [name for name in DEFAULT_GENERATORS if name != BASELINE]
    print_calls(ours | both, sets, multiple)
    print_rest(ours | both, sets, multiple)
    print_precise(precise, sets)
    print_certificates()


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
