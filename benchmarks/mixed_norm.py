"""SVMs that mixed-norm MKL takes to a proven relative gap: mirror descent, the alternation, cutting planes.

    python benchmarks/mixed_norm.py

Two problems from the folder `ORACLE_OPT_DATA` names, C = 100, kernels of unit trace. `proteinfold`: 70 % of the rows,
13 kernels on each of the 12 views, one group a view. `spambase`: 300 rows; a group for the words, the characters and
the runs of capitals, each of 13 kernels on the whole group and on each of its features. The 13 kernels are those of
`uci_bank`. An SVM is counted whenever one is solved, so also inside an oracle call.
"""

import os
from pathlib import Path

import numpy as np
from _verified import print_certificates, verified

from oracle_opt import QueryPointGenerator, minimize
from oracle_opt.generators import SPG, AnalyticCenter, FixedPoint, Kelley, LevelSet, MirrorDescent
from oracle_opt.oracles import GramBank, MixedNormOracle

GAPS = (1e-1, 1e-2, 1e-3, 1e-4)
MAX_SVMS = 1000
METHODS: list[tuple[str, QueryPointGenerator, int | None]] = [
    ("MirrorDescent(), c to 1e-6 every call", MirrorDescent(), None),
    ("MirrorDescent(), one SVM a call (the paper's alternation)", MirrorDescent(), 1),
    ("FixedPoint(updates=True), one SVM a call", FixedPoint(updates=True), 1),
    ("LevelSet()", LevelSet(), None),
    ("LevelSet(tune_accuracy=True)", LevelSet(tune_accuracy=True), None),
    ("AnalyticCenter()", AnalyticCenter(), None),
    ("AnalyticCenter(tune_accuracy=True)", AnalyticCenter(tune_accuracy=True), None),
    ("Kelley()", Kelley(), None),
    ("Kelley(tune_accuracy=True)", Kelley(tune_accuracy=True), None),
    ("SPG()", SPG(), None),
    ("SPG(tune_accuracy=True)", SPG(tune_accuracy=True), None),
]


def kernels_on(Z: np.ndarray, features: list[int]) -> list[np.ndarray]:
    """The 13 kernels of `uci_bank` on some features of standardized points."""
    squares = sum((Z[:, None, f] - Z[None, :, f]) ** 2 for f in features)
    products = Z[:, features] @ Z[:, features].T
    widths = np.geomspace(*np.quantile(np.sqrt(squares[squares > 0]), (0.1, 0.9)), 10)
    return [np.exp(squares * (-0.5 / s**2)) for s in widths] + [(1.0 + products) ** k for k in (1, 2, 3)]


def problem(path: Path, n: int, parts: list[list[int]], alone: bool) -> tuple[GramBank, np.ndarray, list[range]]:
    """Bank, labels and groups: one a part, on all its features together and perhaps on each alone."""
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    chosen = np.random.default_rng(0).permutation(len(table))[:n]
    X, y = table[chosen, :-1], table[chosen, -1]
    spread = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    kernels: list[np.ndarray] = []
    groups = []
    for part in parts:
        used = [f for f in part if spread[f] > 0]
        first = len(kernels)
        for subset in [used, *([[f] for f in used] if alone else [])]:
            kernels += kernels_on(Z, subset)
        groups.append(range(first, len(kernels)))
    return GramBank(kernels, normalize=True, check=False), y, groups


def main() -> None:
    """Print a table a problem."""
    folder = Path(os.environ["ORACLE_OPT_DATA"])
    problems = {
        "proteinfold": problem(
            folder / "proteinfold.csv.gz", 485, [list(range(27 * v, 27 * v + 27)) for v in range(12)], False
        ),
        "spambase": problem(
            folder / "spambase.csv", 300, [list(range(48)), list(range(48, 54)), list(range(54, 57))], True
        ),
    }
    for name, (bank, y, groups) in problems.items():
        print(f"\n{name}: {bank.n_kernels} kernels on {bank.n_points} points, {len(groups)} groups\n")
        print("| method | " + " | ".join(f"SVMs to {gap:g}" for gap in GAPS) + " | calls | upper bound | gap |")
        print("|---|" + "---|" * (len(GAPS) + 3))
        for words, generator, solves in METHODS:
            oracle = MixedNormOracle(bank, y, 100.0, groups=groups, max_solves=solves, accuracy=1e-6)
            svms: list[int] = []

            def count(record, svms=svms) -> bool:
                svms.append(record.cut.extras["n_solves"])
                return sum(svms) >= MAX_SVMS

            result = minimize(oracle, generator, rtol=GAPS[-1], max_calls=MAX_SVMS, callback=count)
            verified(result, oracle)
            total = np.cumsum(svms)
            calls = [result.history.calls_to(gap) for gap in GAPS]
            reached = ["-" if c is None else str(total[c - 1]) for c in calls]
            cells = [words, *reached, str(result.n_calls), f"{result.upper_bound:.4f}", f"{result.relative_gap:.1e}"]
            print("| " + " | ".join(cells) + " |", flush=True)
        print()
        print_certificates()


if __name__ == "__main__":
    main()
