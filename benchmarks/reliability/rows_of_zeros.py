"""Rows without variables, in either stage and in a polyhedron: those that hold change nothing, others are named."""

import numpy as np
from _extensive_form import optimum
from scenario_frames import CLOSE, plain

from oracle_opt import InvalidArgument, OracleOptError, Polyhedron, Status, minimize
from oracle_opt.oracles import BendersOracle, RandomBlock, TwoStageProblem

UNIT = "programs"
FULL, SMALL = 2_000, 24


def ends(rng, holds):
    """Sides that 0 lies between, or not, one of them infinite or both equal at times."""
    size = 10.0 ** rng.uniform(-9, 6, 2)
    kind = int(rng.integers(4))
    if holds:
        return [
            (-size[0], size[1]),
            (-np.inf, size[1] * rng.integers(2)),
            (-size[0] * rng.integers(2), np.inf),
            (0, 0),
        ][kind]
    sign = rng.choice([-1.0, 1.0])
    low, high = size[0], [size[0], size[0] + size[1], np.inf, np.inf][kind]
    return (low, high) if sign > 0 else (-high, -low)


def inserted(matrix, rows):
    """A matrix with rows of zeros before those of these numbers."""
    return np.insert(matrix, rows, 0.0, axis=0)


def spoiled(rng, given):
    """A program with rows of zeros in both stages, and names of those that do not hold, by what is refused by them."""
    first, second = (np.sort(rng.integers(0, len(given[name]) + 1, int(rng.integers(3)))) for name in ("A", "T"))
    wrong_first, wrong_second = rng.random() < 0.3, rng.random() < 0.4
    made, names, empty = dict(given), [], None
    made |= {"A": inserted(given["A"], first), "T": inserted(given["T"], second), "W": inserted(given["W"], second)}
    for rows, low, high, wrong in (
        (first, "first_lower", "first_upper", wrong_first), (second, "row_lower", "row_upper", False),
    ):  # fmt: skip
        sides = [ends(rng, not (wrong and j == len(rows) - 1)) for j in range(len(rows))]
        for name, which in ((low, 0), (high, 1)):
            made[name] = np.insert(given[name], rows, [side[which] for side in sides])
    if wrong_first and len(first):
        names = [int(first[-1]) + len(first) - 1]
    count = int(rng.integers(2, 6))
    places = np.array([int(row) + j for j, row in enumerate(second)], dtype=int)
    others = np.setdiff1d(np.arange(len(made["T"])), places)[:1]
    rhs = rng.normal(size=(count, len(others))) * 3
    # right-hand sides of a row of zeros: those at which 0 lies between the sides, but for one scenario
    lower, upper = made["row_lower"], made["row_upper"]
    for i in places:
        width = upper[i] - lower[i] if np.isfinite([lower[i], upper[i]]).all() else np.inf
        column = np.array([rng.uniform(0.0, min(width, 9.0)) for _ in range(count)])
        if np.isinf(upper[i]):
            column = -column if np.isfinite(lower[i]) else np.zeros(count)
        rhs = np.c_[rhs, column]
    if wrong_second and len(places):
        i, empty = int(rng.integers(len(places))), int(rng.integers(count))
        row = places[i]
        width = upper[row] - lower[row] if np.isfinite([lower[row], upper[row]]).all() else 0.0
        if np.isfinite(upper[row]):
            rhs[empty, len(others) + i] = rng.choice([-1e-6, -3.0, width + 1e-6 * (1 + width), width + 4.0])
            if np.isinf(lower[row]):
                rhs[empty, len(others) + i] = -abs(rhs[empty, len(others) + i])
        elif np.isfinite(lower[row]):
            rhs[empty, len(others) + i] = rng.uniform(1e-6, 4.0)
        else:
            empty = None
    labels = [f"day {s}" for s in range(count)]
    block = RandomBlock(np.full(count, 1 / count), np.r_[others, places], rhs, labels=labels)
    return TwoStageProblem(**made, blocks=[block]), names, empty


def two_stage(rng, tally):
    """Words for what is wrong with one program."""
    problem, names, empty = spoiled(rng, plain(rng))
    status, value = optimum(problem)
    try:
        oracle = BendersOracle(problem, n_summands=int(rng.integers(1, 4)))
    except InvalidArgument as refusal:
        tally.count("refused")
        if status != 2 and not names:
            return [f"refused, and HiGHS finds a point: {refusal}"]
        named = not names or any(repr(problem.first_row_names[i]) in str(refusal) for i in names)
        return [] if named else [f"not named: {refusal}"]
    run = minimize(oracle, rtol=1e-6, max_calls=300)
    tally.count(run.status.name.lower())
    if names:
        return [f"{run.status.name} where first-stage row {names[0]} does not hold"]
    if empty is not None or status == 2:
        if run.status is not Status.EMPTY:
            return [f"{run.status.name} where nothing is feasible"]
        return []
    if status != 0:
        return ["success without a minimum"] if run.success else []
    size = 1.0 + abs(value) + float(np.abs(problem.c).sum())
    words = []
    if run.status is Status.EMPTY and not oracle.domain.promise():
        words.append("empty where HiGHS finds a point")
    if not value - CLOSE * size <= run.upper_bound <= value + run.gap + CLOSE * size:
        words.append(f"{run.status.name} at {run.upper_bound}, and the minimum is {value}")
    if run.success and run.lower_bound > value + CLOSE * size:
        words.append(f"lower bound {run.lower_bound} above {value}")
    if run.point is not None:
        try:
            tally.count("proven" if run.certificate().verify(oracle).proven else "verified, value or cuts given")
        except OracleOptError as refusal:
            words.append(f"refused: {refusal}")
    return words


def polyhedron(rng, tally):
    """Words for what is wrong with one polyhedron."""
    n, m, k = (int(rng.integers(a, b)) for a, b in ((1, 4), (0, 4), (0, 2)))
    inside = rng.uniform(0.0, 1.0, n)
    A, E = rng.normal(size=(m, n)), rng.normal(size=(k, n))
    b, f = A @ inside + rng.uniform(0.1, 1.0, m), E @ inside
    rows, equations = (np.sort(rng.integers(0, size + 1, int(rng.integers(1, 3)))) for size in (m, k))
    wrong, wrong_equation = rng.random() < 0.3, rng.random() < 0.3
    sides = np.abs(rng.normal(size=len(rows))) * rng.integers(2, size=len(rows))
    if wrong:
        sides[-1] = -(10.0 ** rng.uniform(-300, 3))
    others = np.zeros(len(equations))
    if wrong_equation:
        others[-1] = rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-300, 3)
    given = {"A": inserted(A, rows), "b": np.insert(b, rows, sides), "lower": 0.0, "upper": np.full(n, 1.0)}
    given |= {"equality_matrix": inserted(E, equations), "equality_rhs": np.insert(f, equations, others)}
    try:
        made = Polyhedron(**given)
    except InvalidArgument as refusal:
        tally.count("polyhedron refused")
        if not (wrong or wrong_equation):
            return [f"refused: {refusal}"]
        number = int(rows[-1]) + len(rows) - 1 if wrong else int(equations[-1]) + len(equations) - 1
        return [] if f"row {number} is 0 " in str(refusal) else [f"row {number} is not named: {refusal}"]
    if wrong or wrong_equation:
        return ["a polyhedron with a row of zeros that does not hold"]
    plain_one, slope = (
        Polyhedron(A, b, equality_matrix=E, equality_rhs=f, lower=0.0, upper=np.full(n, 1.0)),
        rng.normal(size=n),
    )
    tally.count("polyhedron made")
    same = (
        made.identity() == plain_one.identity()
        and made.minimize_linear(slope)[0] == plain_one.minimize_linear(slope)[0]
    )
    return [] if same else ["rows of zeros that hold make another polyhedron"]


def run(count, seed, tally):
    """Try two-stage programs, and polyhedra in one trial of five."""
    for trial in range(count):
        rng = np.random.default_rng([seed, trial])
        try:
            words = polyhedron(rng, tally) if trial % 5 == 4 else two_stage(rng, tally)
        except (RuntimeError, OracleOptError) as error:
            words = [f"it ended with {error!r}"]
        tally.trial([f"seed [{seed}, {trial}]", *words] if words else ())
