"""The problems of `scale.py`, and a process that solves one: ``python _scale_rows.py PROBLEM [JOURNAL]``."""

import json
import sys
from dataclasses import dataclass, replace
from time import process_time

RTOL = 1e-3
MAX_CALLS = 1000
# Kernels from which on few of them are worked on at a time.
MANY_KERNELS = 1000
# Bytes of the oracle: from 5,800 points on no combined kernel, which would be slower to make than to do without.
MEMORY_BUDGET = 1 << 28
WIDTHS, SAME, OWN = "widths on each feature", "widths", "random halves"
SONAR, ADULT, WEB, COD, FOREST = "sonar", "a9a", "w8a", "cod_rna", "forest"


@dataclass(frozen=True)
class Problem:
    """Points, kernels and a norm of their weights.

    Attributes
    ----------
    data : str
        A data set, or 'forest', which is generated.
    kernels : str
        `WIDTHS`: evenly many widths on each feature alone; `SAME`: widths on all features; `OWN`: one width on a random
        half of the features each.
    p : int
        Number of kernels.
    n : int, optional
        Number of points, the first ones of ``default_rng(0).permutation``; default: all.
    norm : str
        'l1', or the p of the lp-norm.
    C : float
        Of the hinge loss.
    """

    data: str
    kernels: str
    p: int
    n: int | None = None
    norm: str = "l1"
    C: float = 100.0


@dataclass(frozen=True)
class Words:
    """A row of the table: the problem; the goal, a prototype and the papers' figures, as seconds and GiB in words."""

    problem: Problem
    goal: str = ""
    prototype: str = ""
    paper: str = ""


MILLION = Problem(SONAR, WIDTHS, 1_000_000)
LP = "1.33"
# Jain et al. (2012): Tables 3 (p = 1.33) and 6 (l1); Vishwanathan et al. (2010): section 6. Hours of their machines.
ROWS = {
    "widths-1e5": Words(replace(MILLION, p=100_000), "2 s", "2.0 s", "V: below 0.5 h (p = 1.33)"),
    "widths-1e6": Words(MILLION, "4 s, 1 GiB", "3.7 s, 0.87 GiB", "J: 105.62 h (p = 1.33)"),
    "lp-widths-1e6": Words(replace(MILLION, norm=LP), "8 s, 1.5 GiB", "", "J: 105.62 h"),
    "a9a-same": Words(Problem(ADULT, SAME, 50), "36 s, 1 GiB", "35.9 s, 0.48 GiB", "J: 4.55 h"),
    "a9a-own": Words(Problem(ADULT, OWN, 50), "90 s, 1 GiB", "89.8 s, 0.81 GiB", "J: 4.55 h"),
    "lp-a9a-same": Words(Problem(ADULT, SAME, 50, norm=LP), "", "", "J: 4.42 h, V: 2.57 h"),
    "lp-a9a-own": Words(Problem(ADULT, OWN, 50, norm=LP), "", "", "J: 4.42 h, V: 2.57 h"),
    "cod-rna": Words(Problem(COD, SAME, 50), "82 s, 1 GiB", "81.9 s, 0.83 GiB", "J: 25.17 h"),
    "lp-cod-rna": Words(Problem(COD, SAME, 50, norm=LP), "", "", "J: 19.10 h"),
    "w8a": Words(Problem(WEB, SAME, 50), "39 s, 1 GiB", "39.0 s, 0.83 GiB", "V: 0.44 h, J: 0.87 h (p = 1.33)"),
    "lp-w8a": Words(Problem(WEB, SAME, 50, norm=LP), "", "", "V: 0.44 h, J: 0.87 h"),
    "covertype": Words(
        Problem(FOREST, SAME, 5, C=1000.0), "2400 s, 4 GiB", "540 to 2160 s (estimate)", "J: 64.46 h (p = 1.33)"
    ),
}
PS, NS = (1_000, 10_000, 100_000, 1_000_000), (1_000, 4_000, 16_000)
# A problem, which of its numbers grows, and through what; None: to all points.
GROWTH = {
    "growth-p": (MILLION, "p", PS),
    "growth-p-lp": (replace(MILLION, norm=LP), "p", PS),
    "growth-n": (Problem(ADULT, SAME, 50), "n", (*NS, 32_561)),
    "growth-n-own": (Problem(ADULT, OWN, 50), "n", (*NS, 32_561)),
    "growth-n-cod-rna": (Problem(COD, SAME, 50), "n", (*NS, 59_535)),
    "growth-n-lp": (Problem(ADULT, SAME, 50, norm=LP), "n", (*NS, 32_561)),
}


def missing(problem):
    """Why the data of a problem cannot be had; empty if they are there."""
    from oracle_opt.datasets import load
    from oracle_opt.errors import DataUnavailable

    if problem.data != FOREST:
        try:
            load(problem.data, download=False)
        except DataUnavailable as reason:
            return str(reason).partition(". ")[0]
    return ""


def small(problem):
    """The same with few points and kernels."""
    return replace(problem, p=min(problem.p, 600), n=150 if problem.data == SONAR else 400)


def exponent(sizes, seconds):
    """Of the power law through the points, by least squares of the logarithms."""
    from oracle_opt.study.analyses.curves import growth

    return growth(sizes, seconds)


def points_of(problem):
    """Standardized points and labels; those of the forest as they are drawn."""
    import numpy as np
    from _forest import N_POINTS, forest

    from oracle_opt.datasets import load

    if problem.data == FOREST:
        return forest(problem.n or N_POINTS)
    dataset = load(problem.data, download=False)
    chosen = np.random.default_rng(0).permutation(dataset.y.size)[: problem.n]
    X = dataset.dense()[chosen]
    X = X[:, X.max(axis=0) > X.min(axis=0)]
    return (X - X.mean(axis=0)) / X.std(axis=0), dataset.y[chosen]


def bank_of(problem, X):
    """The kernels."""
    import numpy as np

    from oracle_opt.oracles import RBFBank

    d = X.shape[1]
    if problem.kernels == WIDTHS:
        return RBFBank.from_quantiles(X, problem.p, np.arange(d)[:, None])
    # Single precision, whose error is in the cuts, where few steps are taken; SMO-MKL takes many and would add it up.
    dtype = np.float32 if problem.norm == "l1" else np.float64
    if problem.kernels == SAME:
        return RBFBank.from_quantiles(X, problem.p, [np.arange(d)], dtype=dtype)
    rng = np.random.default_rng(0)
    halves = [rng.permutation(d)[: d // 2] for _ in range(problem.p)]
    return RBFBank.from_quantiles(X, problem.p, halves, dtype=dtype)


def solve(problem, bank, y, journal):
    """Solve to the gap."""
    from oracle_opt import minimize
    from oracle_opt.generators import ActiveSet, NewtonBundle
    from oracle_opt.oracles import MKLOracle
    from oracle_opt.oracles.mkl import solve_lp_mkl

    if problem.norm != "l1":
        return solve_lp_mkl(bank, y, C=problem.C, p=float(problem.norm), rtol=RTOL, max_calls=MAX_CALLS)
    oracle = MKLOracle(bank, y, C=problem.C, memory_budget=MEMORY_BUDGET)
    generator = ActiveSet(NewtonBundle()) if problem.p > MANY_KERNELS else NewtonBundle()
    return minimize(oracle, generator, rtol=RTOL, max_calls=MAX_CALLS, journal=journal)


def words_of(problem, n, p, result):
    """The problem in words."""
    import numpy as np

    norm = problem.norm if problem.norm == "l1" else f"p = {problem.norm}"
    support = np.count_nonzero(result.cut.extras["alpha"])
    C = "" if problem.C == 100.0 else f", C = {problem.C:g}"
    return f"{problem.data}, {n:,} points ({support:,} support vectors), {p:,} {problem.kernels}, {norm}{C}"


def main():
    """Solve a problem; print what came of it as one line of JSON."""
    problem = Problem(**json.loads(sys.argv[1]))
    journal = sys.argv[2] if len(sys.argv) > 2 else None
    X, y = points_of(problem)
    start = process_time()
    bank = bank_of(problem, X)
    made = process_time() - start
    result = solve(problem, bank, y, journal)
    seconds = process_time() - start
    if not result.relative_gap <= RTOL:
        raise SystemExit(f"{problem}: {result}")
    found = {
        "words": words_of(problem, bank.n_points, bank.n_kernels, result),
        "s": seconds,
        "bank": made,
        "calls": result.n_calls,
        "gap": result.relative_gap,
        "value": result.upper_bound,
        "lower": result.lower_bound,
        "used": int((result.point > 1e-6 * result.point.max()).sum()),
    }
    print(json.dumps(found))


def draw(curves, path):
    """Draw seconds against kernels and points, the papers' beside ours."""
    import numpy as np

    from oracle_opt.study.analyses.curves import Curves, points, together

    panels = {"p": "kernels", "n": "points"}
    parts = [
        points(panels[field], name, np.array(sizes, dtype=float), np.array(seconds))
        for field, name, sizes, seconds in curves
    ]
    printed = {
        ("p", "Jain et al., Sonar, p = 1.33"): [(1e5, 2.19), (1e6, 105.62)],
        ("n", "Jain et al., p = 1.33"): [(32_561, 4.42), (59_535, 19.10), (581_012, 64.46)],
        ("n", "Vishwanathan et al., p = 1.33"): [(32_561, 2.568), (49_749, 0.437)],
    }
    for (field, name), found in printed.items():
        if any(field == curve[0] for curve in curves):
            sizes, hours = np.array(found).T
            parts.append(points(panels[field], name, sizes, 3600 * hours))
    Curves(together(parts), "", "number", "processor seconds", "", log_x=True, log_y=True).save(path, width="page")


if __name__ == "__main__":
    main()
