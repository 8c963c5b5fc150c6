"""Two-stage programs and Lagrangian relaxations: values and cuts against rational arithmetic, to the last bit."""

from fractions import Fraction
from itertools import combinations

import numpy as np
from _rational import _dot, _independent, solve
from scipy.optimize import linprog

from oracle_opt import EmptyLocalizationSet, FeasibilityCut, Query, Status, minimize
from oracle_opt.oracles import GeneralizedAssignmentOracle, MulticommodityFlowOracle
from oracle_opt.oracles.benders import BendersOracle, RandomBlock, TwoStageProblem
from oracle_opt.oracles.lagrangian import FacilityLocationOracle, HeldKarpOracle, LagrangianOracle, RelaxedSolution

UNIT = "oracles"
FULL, SMALL = 2_000, 24
LOOSE = 1e-6  # where a tolerance remains: free variables, recourse that is not complete


def optimum(cost, rows, values, equations, sides):
    """Least cost over ``rows @ y <= values``, ``equations @ y == sides`` of fractions: (lower, upper), None if unknown.

    HiGHS says which rows are the basis, and both its point and its multipliers are checked exactly.
    """
    floats = [np.array(cost, dtype=float), np.array(rows, dtype=float).reshape(-1, len(cost)), np.array(values, float)]
    both = [np.array(one, dtype=float) for one in (equations, sides)] if len(equations) else [None, None]
    found = linprog(*floats, *both, [(None, None)] * len(cost), method="highs-ds")
    if found.status != 0:
        return None, None
    order = np.lexsort((found.slack, found.ineqlin.marginals))
    every = [[*row, side] for row, side in zip(equations, sides, strict=True)] + [[*rows[i], values[i]] for i in order]
    basis = _independent(every, len(cost))
    if len(basis) < len(cost):
        return None, None
    matrix, n = [every[i][:-1] for i in basis], len(equations)
    y = solve(matrix, [every[i][-1] for i in basis])
    pi = solve([list(column) for column in zip(*matrix, strict=True)], cost)
    low = high = None
    if all(p <= 0 for i, p in zip(basis, pi, strict=True) if i >= n):
        low = sum((p * every[i][-1] for i, p in zip(basis, pi, strict=True)), Fraction(0))
    exact = all(_dot(row[:-1], y) == row[-1] for row in every[:n])
    if exact and all(_dot(row[:-1], y) <= row[-1] for row in every[n:]):
        high = _dot(cost, y)
    return low, high


def fractions(values):
    """The same numbers, exactly."""
    return [Fraction(float(v)) for v in values]


def expectation(problem, probabilities, outcomes, x, count=1):
    """Exact bounds on the value of each part at x; None where HiGHS' basis is not exactly optimal."""
    z, total = fractions(x), [[Fraction(0), Fraction(0)] for _ in range(count)]
    for s, (p, outcome) in enumerate(zip(probabilities, outcomes, strict=True)):
        T, W = ([fractions(row) for row in matrix.toarray()] for matrix in (problem.T, problem.W))
        q, moved = fractions(problem.q), [Fraction(0)] * len(T)
        for block, o in zip(problem.blocks, outcome, strict=True):
            for i, value in zip(block.rows, block.rhs[o], strict=True):
                moved[i] += Fraction(float(value)) - Fraction(float(problem.rhs[i]))
            for j, value in zip(block.cost_columns, block.cost[o], strict=True):
                q[j] = Fraction(float(value))
            for matrix, places, values in (
                (T, block.technology_entries, block.technology[o]),
                (W, block.recourse_entries, block.recourse[o]),
            ):
                for (i, j), value in zip(places, values, strict=True):
                    matrix[i][j] = Fraction(float(value))
        rows, values, equations, sides = [], [], [], []
        for i, row in enumerate(W):
            lower, upper = problem.row_lower[i], problem.row_upper[i]
            shift = moved[i] - _dot(T[i], z)
            if lower == upper:
                equations, sides = [*equations, row], [*sides, Fraction(float(upper)) + shift]
                continue
            if np.isfinite(upper):
                rows, values = [*rows, row], [*values, Fraction(float(upper)) + shift]
            if np.isfinite(lower):
                rows, values = [*rows, [-a for a in row]], [*values, -Fraction(float(lower)) - shift]
        for j, (lower, upper) in enumerate(zip(problem.y_lower, problem.y_upper, strict=True)):
            unit = [Fraction(int(i == j)) for i in range(len(q))]
            if np.isfinite(upper):
                rows, values = [*rows, unit], [*values, Fraction(float(upper))]
            if np.isfinite(lower):
                rows, values = [*rows, [-a for a in unit]], [*values, -Fraction(float(lower))]
        for k, value in enumerate(optimum(q, rows, values, equations, sides)):
            one = total[s * count // len(probabilities)]
            one[k] = None if value is None or one[k] is None else one[k] + Fraction(float(p)) * value
    return total


def numbers(rng, kind, *shape):
    """Whole numbers, normal ones or those of several scales."""
    if kind == 0:
        return rng.integers(-5, 6, shape).astype(float)
    return rng.normal(size=shape) * (1.0 if kind == 1 else 10.0 ** rng.uniform(-2, 3, shape))


def program(rng):
    """A random problem, and whether nothing in it rests on a tolerance."""
    kind = int(rng.integers(3))
    n, m, k = (int(rng.integers(a, b)) for a, b in ((1, 4), (1, 5), (1, 4)))
    complete, boxed, free = rng.random() < 0.8, rng.random() < 0.5, rng.random() < 0.15
    W, T, q = numbers(rng, kind, m, k), numbers(rng, kind, m, n), np.abs(numbers(rng, kind, k)) + 0.5
    y_lower, y_upper = np.zeros(k), np.where(rng.random(k) < 0.5, np.inf, rng.integers(1, 9, k) + 0.0)
    if boxed:
        y_lower, y_upper = -np.abs(numbers(rng, kind, k)), np.abs(numbers(rng, kind, k)) + 1.0
    elif rng.random() < 0.3:  # turned about: columns that may fall without end
        y_lower, y_upper, q = -y_upper, np.zeros(k), -q
    if free:
        y_lower[0], y_upper[0], q[0] = -np.inf, np.inf, 0.0
    if complete:
        price = np.abs(numbers(rng, kind, 2 * m)) + 5.0
        W, q = np.hstack([W, np.eye(m), -np.eye(m)]), np.r_[q, price]
        y_lower, y_upper = np.r_[y_lower, np.zeros(2 * m)], np.r_[y_upper, np.full(2 * m, np.inf)]
    at, sense = numbers(rng, kind, m), rng.integers(4, size=m)
    row_lower, row_upper = np.where(sense == 0, -np.inf, at), np.where(sense == 1, np.inf, at + 2.0 * (sense == 3))
    blocks = []
    for _ in range(int(rng.integers(1, 3))):
        count = int(rng.integers(2, 4))
        shares = rng.dirichlet(np.ones(count)) if rng.random() < 0.5 else np.full(count, 1 / count)
        what = {}
        rows = rng.permutation(m)[: int(rng.integers(1, m + 1))]
        what |= {"rows": rows, "rhs": numbers(rng, kind, count, len(rows))}
        if rng.random() < 0.4 and not blocks:
            what |= {"technology_entries": [[0, 0]], "technology": numbers(rng, kind, count, 1)}
        if rng.random() < 0.2 and not blocks:
            cost = np.sign(q[-1]) * (np.abs(numbers(rng, kind, count, 1)) + 0.5)
            what |= {"cost_columns": [len(q) - 1], "cost": cost}
        if rng.random() < 0.15 and not blocks:
            what |= {"recourse_entries": [[m - 1, 0]], "recourse": numbers(rng, kind, count, 1)}
        blocks.append(RandomBlock(shares, **what))
    upper = 10.0 if rng.random() < 0.7 else np.inf
    problem = TwoStageProblem(
        numbers(rng, kind, n), q, T, W, row_lower, row_upper, blocks,
        x_lower=-3.0, x_upper=upper, y_lower=y_lower, y_upper=y_upper, offset=float(numbers(rng, kind, 1)[0]),
    )  # fmt: skip
    return problem, complete and not free


def two_stage(rng, tally):
    """Words for what is wrong with the answers of one oracle at several points, some next to each other."""
    problem, strict = program(rng)
    outcomes, p = problem.all_scenarios()
    oracle = BendersOracle(problem, n_summands=int(rng.integers(1, 4)))
    n, count = len(problem.c), oracle.n_summands
    first = rng.integers(-2, 6, n) + (0.0 if rng.random() < 0.5 else rng.random(n))
    points = [first, first + 10.0 ** rng.uniform(-12, -8) * rng.normal(size=n), rng.uniform(-3, 10, n)]
    known = [expectation(problem, p, outcomes, x, count) for x in points]
    try:
        cuts = [oracle.query(Query(x)) for x in points]
    except EmptyLocalizationSet as empty:
        tally.count("empty")
        feasible = [
            x.tolist() for x, sums in zip(points, known, strict=True) if all(high is not None for _, high in sums)
        ]
        return [f"{empty}, and these points are feasible: {feasible}"] if feasible else []
    mass = np.bincount(np.arange(len(p)) * count // len(p), p, count)
    words = []
    for i, (x, cut) in enumerate(zip(points, cuts, strict=True)):
        several = cut.further if isinstance(cut, FeasibilityCut) else cut.summands
        for j, z in enumerate(points):
            away = [a - b for a, b in zip(fractions(z), fractions(x), strict=True)]
            sums = [[None if None in side else sum(side)] for side in zip(*known[j], strict=True)]
            low, high = sums[0][0], sums[1][0]
            if isinstance(cut, FeasibilityCut):
                for one in (cut, *several):
                    over = Fraction(one.violation) + _dot(fractions(one.normal), away)
                    if high is not None and over > (0 if strict else Fraction(LOOSE)):
                        words.append(f"half-space {i} cuts off point {j} by {float(over):.1e}")
                continue
            linear = _dot(fractions(problem.c), fractions(z)) + Fraction(problem.offset)
            affine = Fraction(cut.value) + _dot(fractions(cut.subgradient), away)
            size = 1.0 + abs(cut.value) + float(abs(linear)) + float(np.abs(cut.subgradient) @ np.abs(z))
            slack = 0 if strict else Fraction(LOOSE * size)
            kind = "strict" if strict else "tolerant"
            if high is not None:
                over = affine - high - linear
                tally.error(f"cut above f, {kind}", max(float(over) / size, 0.0))
                if over > slack:
                    words.append(f"cut {i} is above f at point {j} by {float(over):.1e}")
            if i == j and low is not None:
                below = low + linear - Fraction(cut.value) - Fraction(cut.error)
                tally.error(f"f above value + error, {kind}", max(float(below) / size, 0.0))
                tally.error(f"error stated, {kind}", cut.error / size)
                if below > slack:
                    words.append(f"the upper bound of cut {i} is below f by {float(below):.1e}")
            for s, part in enumerate(several):
                most, share = known[j][s][1], Fraction(float(mass[s] / mass.sum()))
                over = Fraction(part.value) + _dot(fractions(part.subgradient), away)
                if most is not None and over - most - share * linear > slack:
                    words.append(f"part {s} of cut {i} is above its summand at point {j}")
        tally.count("half-spaces" if isinstance(cut, FeasibilityCut) else "cuts")
    tally.count(
        "points of exact optimum",
    ) if all(None not in side for side in known[0]) else tally.count("unknown")
    values = []
    for x, sums in zip(points, known, strict=True):
        high = None if any(part[1] is None for part in sums) else sum(part[1] for part in sums)
        inside = high is not None and oracle.domain.contains(x, 0.0)
        values.append(high + _dot(fractions(problem.c), fractions(x)) + Fraction(problem.offset) if inside else None)
    return words + verified(oracle, points, values, Fraction(0 if strict else LOOSE), tally)


def facilities(rng, kind):
    """An oracle and its exact function."""
    c, opening, multicut = numbers(rng, kind, 3, 4), np.abs(numbers(rng, kind, 3)), bool(rng.integers(2))

    def exact(u):
        each = [
            min(Fraction(0), Fraction(f) + sum(min(Fraction(0), a + b) for a, b in zip(fractions(row), u, strict=True)))
            for f, row in zip(opening, c, strict=True)
        ]
        return sum(u) - sum(each)

    return FacilityLocationOracle(opening, c, multicut=multicut), exact


def assignments(rng, kind):
    """An oracle and its exact function."""
    c, uses, room = numbers(rng, kind, 2, 4), rng.integers(1, 5, (2, 4)), rng.integers(5, 9, 2)
    maximize, multicut = bool(rng.integers(2)), bool(rng.integers(2))
    sign = -1 if maximize else 1

    def exact(u):
        total = Fraction(0)
        for row, use, most in zip(c, uses, room, strict=True):
            costs = [sign * a + b for a, b in zip(fractions(row), u, strict=True)]
            chosen = [one for r in range(5) for one in combinations(range(4), r) if use[list(one)].sum() <= most]
            total += min(sum((costs[j] for j in one), Fraction(0)) for one in chosen)
        return sum(u) - total

    return GeneralizedAssignmentOracle(c, uses, room, maximize=maximize, multicut=multicut), exact


def tours(rng, kind):
    """An oracle and its exact function."""
    n = int(rng.integers(4, 7))
    d = np.abs(numbers(rng, kind, n, n))
    d = d + d.T

    def exact(u):
        costs = {(i, j): Fraction(d[i, j]) + u[i] + u[j] for i, j in combinations(range(n), 2)}
        group, total = list(range(n)), sum(sorted(costs[0, j] for j in range(1, n))[:2])
        for i, j in sorted((edge for edge in costs if edge[0]), key=costs.get):
            if group[i] != group[j]:
                total += costs[i, j]
                group = [group[i] if g == group[j] else g for g in group]
        return 2 * sum(u) - total

    return HeldKarpOracle(d), exact


def flows(rng, kind):
    """An oracle and its exact function; whole demands, so that sums of them are exact."""
    n = 5
    arcs = [(i, (i + 1) % n) for i in range(n)] + [tuple(rng.permutation(n)[:2]) for _ in range(4)]
    costs, capacities = np.abs(numbers(rng, kind, len(arcs))), rng.integers(1, 9, len(arcs)) / 2
    pairs, demands = [tuple(rng.permutation(n)[:2]) for _ in range(3)], rng.integers(1, 5, 3)

    def exact(u):
        lengths = [a + b for a, b in zip(fractions(costs), u, strict=True)]
        total = sum(a * b for a, b in zip(fractions(capacities), u, strict=True))
        for (origin, end), demand in zip(pairs, demands, strict=True):
            far = {origin: Fraction(0)}
            for _ in range(n):
                for (i, j), length in zip(arcs, lengths, strict=True):
                    if i in far and (j not in far or far[i] + length < far[j]):
                        far[j] = far[i] + length
            total -= int(demand) * far[end]
        return total

    return MulticommodityFlowOracle(arcs, costs, capacities, pairs, demands, multicut=bool(rng.integers(2))), exact


def tables(rng, kind):
    """An oracle of a function that looks through a table exactly, and its exact function."""
    costs, activities, rhs = numbers(rng, kind, 6), numbers(rng, kind, 6, 3), numbers(rng, kind, 3)
    sign = -1 if rng.integers(2) else 1

    def worth(u):
        return [sign * Fraction(c) + _dot(fractions(a), u) for c, a in zip(costs, activities, strict=True)]

    def solve(u):
        values = worth(fractions(u))
        best = values.index(min(values))
        return RelaxedSolution(costs[best], activities[best])

    def exact(u):
        return _dot(fractions(rhs), u) - min(worth(u))

    return LagrangianOracle(solve, rhs, maximize=sign < 0), exact


def verified(oracle, points, known, slack, tally):
    """Words for what is wrong with a run: its bounds against exact values at points, and its certificate."""
    run = minimize(oracle, rtol=1e-6, max_calls=60)
    tally.count(f"run {run.status.name.lower()}")
    words = [
        f"the run proves {run.lower_bound}, and f is {float(value)} at {x.tolist()}"
        for x, value in zip(points, known, strict=True)
        if value is not None and run.lower_bound > value + slack * (1 + abs(value))
    ]
    if run.status is Status.EMPTY and any(value is not None for value in known):
        words.append("the run ended as empty, and a point is feasible")
    if np.isfinite(run.lower_bound) and run.point is not None and not oracle.domain.doubt(run.point):
        words += tally.certificate(run, oracle)
    return words


def relaxation(rng, tally):
    """Words for what is wrong with the answers of one Lagrangian oracle."""
    kind = int(rng.integers(3))
    maker = (facilities, assignments, tours, flows, tables)[int(rng.integers(5))]
    oracle, exact = maker(rng, kind)
    box, n = oracle.domain, oracle.domain.dimension
    near = [rng.normal(size=n) * 10.0 ** rng.uniform(-1, 2) for _ in range(2)]
    if rng.random() < 0.5:
        near = [np.rint(u) for u in near]
    points = [box.project(u) for u in [*near, near[0] + 1e-10 * rng.normal(size=n)]]
    cuts, known = [oracle.query(Query(u)) for u in points], [exact(fractions(u)) for u in points]
    words = []
    for i, (u, cut) in enumerate(zip(points, cuts, strict=True)):
        size = 1.0 + abs(cut.value) + float(np.abs(cut.subgradient) @ np.abs(u))
        tally.error("error stated, relaxed", cut.error / size)
        if known[i] > Fraction(cut.value) + Fraction(cut.error):
            words.append(f"{maker.__name__}: the upper bound of cut {i} is below f")
        for j, z in enumerate(points):
            away = [a - b for a, b in zip(fractions(z), fractions(u), strict=True)]
            over = Fraction(cut.value) + _dot(fractions(cut.subgradient), away) - known[j]
            if over > 0:
                words.append(f"{maker.__name__}: cut {i} is above f at point {j} by {float(over):.1e}")
            several = [Fraction(part.value) + _dot(fractions(part.subgradient), away) for part in cut.summands]
            if several and sum(several) > known[j]:
                words.append(f"{maker.__name__}: the summands of cut {i} are above f at point {j}")
    tally.count(maker.__name__)
    return words + verified(oracle, points, known, 0, tally)


def run(count, seed, tally):
    """Try oracles of two-stage programs, and of Lagrangian relaxations in one trial of four."""
    for trial in range(count):
        rng = np.random.default_rng([seed, trial])
        try:
            words = relaxation(rng, tally) if trial % 4 == 3 else two_stage(rng, tally)
        except RuntimeError as error:
            words = [f"it ended with {error}"]
        tally.trial([f"seed [{seed}, {trial}]", *words] if words else ())
