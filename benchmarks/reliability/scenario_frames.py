"""Scenarios from tables, in odd units: Benders' runs against the whole linear program by HiGHS."""

import numpy as np
import pandas as pd
from _extensive_form import optimum

from oracle_opt import InvalidArgument, OracleOptError, Status, minimize
from oracle_opt.oracles import BendersOracle, TwoStageProblem

UNIT = "programs"
FULL, SMALL = 2_000, 24
CLOSE = 1e-5  # of the sizes: HiGHS' tolerances, and ten times the gap asked for


def plain(rng):
    """A random program in units of about 1: its arguments, and whether x has bounds on all sides."""
    n, m, k = (int(rng.integers(a, b)) for a, b in ((1, 4), (1, 4), (1, 4)))
    sense, complete = rng.integers(3, size=m), rng.random() < 0.8
    W, q = rng.normal(size=(m, k)), rng.uniform(0.0, 3.0, k)
    T = rng.normal(size=(m, n))
    if complete:
        W, q = np.hstack([W, np.eye(m), -np.eye(m)]), np.r_[q, rng.uniform(4.0, 9.0, 2 * m)]
    side = rng.normal(size=m) * 3
    bounded = rng.random() < 0.7
    upper = rng.uniform(1.0, 9.0, n) if bounded else np.where(rng.random(n) < 0.5, np.inf, rng.uniform(1.0, 9.0, n))
    lower = np.where(rng.random(n) < 0.7, 0.0, rng.uniform(-3.0, 0.9, n))
    A = rng.uniform(0.2, 1.0, (int(rng.integers(3)), n))
    room = A @ np.maximum(lower, 0.0) + rng.uniform(1.0, 5.0, len(A))
    return {
        "c": rng.normal(size=n) if bounded else rng.uniform(0.0, 2.0, n), "q": q, "T": T, "W": W,
        "row_lower": np.where(sense == 1, -np.inf, side), "row_upper": np.where(sense == 2, np.inf, side),
        "A": A, "first_lower": np.where(rng.random(len(A)) < 0.3, room / 3, -np.inf), "first_upper": room,
        "x_lower": lower, "x_upper": upper, "y_upper": np.full(len(q), 50.0), "offset": float(rng.normal()),
    }  # fmt: skip


def in_units(given, x, rows, first, money):
    """The same program in other units of x, of the rows of either stage, and of costs."""
    return given | {
        "c": money * given["c"] * x, "q": money * given["q"], "offset": money * given["offset"],
        "T": given["T"] * x * rows[:, None], "W": given["W"] * rows[:, None],
        "row_lower": given["row_lower"] * rows, "row_upper": given["row_upper"] * rows,
        "A": given["A"] * x * first[:, None], "first_lower": given["first_lower"] * first,
        "first_upper": given["first_upper"] * first, "x_lower": given["x_lower"] / x, "x_upper": given["x_upper"] / x,
    }  # fmt: skip


def frames(rng, given, problem, x, rows, money):
    """One table of scenarios or two, of all kinds of entries, with probabilities or without."""
    m, n, k = len(given["T"]), len(given["c"]), len(given["q"])
    every = [("rhs", f"row{i}") for i in range(m)] + [
        ("technology", f"row{i}", f"x{j}") for i in range(m) for j in range(n)
    ]
    if rng.random() < 0.4:
        every += [("cost", f"y{j}") for j in range(k)]
    if rng.random() < 0.3:
        every += [("recourse", f"row{i}", f"y{j}") for i in range(m) for j in range(min(k, 2))]
    chosen = [every[i] for i in rng.permutation(len(every))[: int(rng.integers(1, 6))]]
    tables = [chosen[::2], chosen[1::2]] if len(chosen) > 1 and rng.random() < 0.4 else [chosen]
    made = []
    for columns in tables:
        count = int(rng.integers(1, 6))
        table = {}
        for column in columns:
            kind, name = column[0], column[1]
            i = int(name[1 if kind == "cost" else 3 :])
            values = rng.normal(size=count) * (3 if kind == "rhs" else 1)
            if kind == "rhs":
                table[column if rng.random() < 0.5 else name] = values * rows[i]
            elif kind == "cost":
                table[column] = np.abs(values) * money
            elif kind == "technology":
                table[column] = values * rows[i] * x[int(column[2][1:])]
            else:
                table[column] = values * rows[i]
        if rng.random() < 0.5:
            table["probability"] = rng.dirichlet(np.ones(count) * 3)
        index = [f"case {s}" for s in range(count)] if rng.random() < 0.5 else None
        made.append(pd.DataFrame(table, index=index))
    return problem.with_scenarios(*made)


def one(rng, tally):
    """Words for what is wrong with one run."""
    given = plain(rng)
    n, m, r = len(given["c"]), len(given["T"]), len(given["A"])
    # x is stated in a unit of 1e-6 to 1e9, its entries in units that are up to a factor of 100 apart
    x, rows = 10.0 ** -(rng.uniform(-6, 9) + rng.uniform(-1, 1, n)), 10.0 ** rng.uniform(-3, 3, m)
    first, money = 10.0 ** rng.uniform(-3, 3, r), 10.0 ** rng.uniform(-3, 6)
    problem = frames(rng, given, TwoStageProblem(**in_units(given, x, rows, first, money)), x, rows, money)
    # what is left of the radius is a promise that may be false
    finite = np.isfinite(problem.x_upper).all()
    status, value = optimum(problem, 1.0 / x)
    try:
        oracle = BendersOracle(problem, n_summands=int(rng.integers(1, 5)))
    except InvalidArgument as refusal:
        tally.count("no first stage")
        return [f"HiGHS finds a point, and {refusal}"] if status != 2 else []
    run = minimize(oracle, rtol=1e-6, max_calls=400)
    tally.count(f"{run.status.name.lower()}, {'success' if run.success else 'none'}")
    if status not in (0, 2):
        tally.count("unbounded or unknown")
        return ["success, and HiGHS finds no minimum"] if run.success else []
    if status == 2:
        return [] if run.status is Status.EMPTY or not run.success else ["success where HiGHS finds no point"]
    if run.status is Status.EMPTY:
        return ["empty where HiGHS finds a point"] if finite or not oracle.domain.promise() else []
    size = money * (1.0 + abs(value) / money + float(np.abs(given["c"]).sum()))
    words = []
    if run.upper_bound < value - CLOSE * size:
        words.append(f"upper bound {run.upper_bound} below {value}")
    if run.lower_bound > value + CLOSE * size and (run.success or not oracle.domain.promise()):
        words.append(f"lower bound {run.lower_bound} above {value}")
    if run.success and run.upper_bound > value + run.gap + CLOSE * size:
        words.append(f"success at {run.upper_bound}, and the minimum is {value}")
    if (
        run.status is Status.CONTRADICTION
    ):  # upper bounds of incomplete recourse rest on a tolerance: nothing is certified
        tally.error("upper bound below a lower one, of their size", (run.lower_bound - run.upper_bound) / size)
    elif run.point is not None:
        words += tally.certificate(run, oracle)
    return words


def run(count, seed, tally):
    """Try runs on programs from tables of scenarios."""
    for trial in range(count):
        rng = np.random.default_rng([seed, trial])
        try:
            words = one(rng, tally)
        except (RuntimeError, OracleOptError) as error:
            words = [f"it ended with {error!r}"]
        tally.trial([f"seed [{seed}, {trial}]", *words] if words else ())
