"""What cutting-plane methods need between two oracle calls, on cuts of sonar with 793 kernels.

    ORACLE_OPT_DATA=folder-with-the-data-sets python benchmarks/masters.py [--quick]

Prints three tables in Markdown: the linear programs of Kelley's method against highspy used plainly (a row a cut, dual
simplex from the last basis) and scipy's linprog; one projection on a level set of 100 cuts against L-BFGS-B on its
dual, Clarabel and OSQP (limit of 20000 iterations); and the milliseconds a call of every generator at 100 cuts. Times
are CPU times of one thread, ours and the peer's in turn; ratios are medians of the rounds' ratios. `--quick` takes
fewer cuts, rounds and cases.
"""

import argparse
import os
import sys
from functools import partial
from pathlib import Path
from statistics import median
from time import thread_time

import numpy as np
import scipy.optimize
import scipy.sparse
from threadpoolctl import threadpool_limits

from oracle_opt import Query, Simplex, minimize
from oracle_opt._highs_model import silent_highs
from oracle_opt.bounds import BoundTracker
from oracle_opt.domains.projection import project_on_cuts
from oracle_opt.generators import (
    SPG,
    AnalyticCenter,
    Kelley,
    LevelSet,
    NewtonBundle,
    ProximalBundle,
    ReducedGradient,
    Subgradient,
)
from oracle_opt.generators.masters.cutting_plane_model import CuttingPlaneModel
from oracle_opt.oracles import MKLOracle, uci_bank

try:
    import clarabel
except ImportError:
    clarabel = None
try:
    import osqp
except ImportError:
    osqp = None


def sonar():
    """Return the oracle of the first split."""
    table = np.loadtxt(Path(os.environ["ORACLE_OPT_DATA"]) / "sonar.csv", delimiter=",", skiprows=1)
    chosen = np.random.default_rng(0).permutation(len(table))[: int(0.7 * len(table))]
    return MKLOracle(uci_bank(table[chosen, :-1]), table[chosen, -1])


def milliseconds(call):
    """CPU time of one call, and its answer."""
    start = thread_time()
    answer = call()
    return 1e3 * (thread_time() - start), answer


def in_turn(rounds, ours, peer):
    """Medians of interleaved rounds, median ratio, and the last answers."""
    times = []
    for _ in range(rounds):
        (a, first), (b, second) = milliseconds(ours), milliseconds(peer)
        times.append((a, b, b / a))
    return *(median(column) for column in zip(*times, strict=True)), first, second


# Kelley's linear programs


def our_values(cuts):
    """Take up the cuts one by one, as Kelley does; the minimum of the model after each."""
    generator, domain = Kelley(), Simplex(len(cuts[0].point))
    generator.reset(domain, cuts[0].point)
    values = []
    for cut in cuts:
        generator.tell(cut)
        minorant = generator.minorant()
        values.append(minorant.minimum(domain))
    return np.array(values)


def highspy_values(cuts):
    """``min theta`` with theta - slope @ z >= constant over the simplex, as plainly as highspy allows."""
    n = len(cuts[0].point)
    model = silent_highs()()
    model.setOptionValue("output_flag", False)
    model.setOptionValue("presolve", "off")
    model.addVars(n + 1, np.r_[np.zeros(n), -np.inf], np.full(n + 1, np.inf))
    model.changeColCost(n, 1.0)
    columns = np.arange(n + 1, dtype=np.int32)
    model.addRow(1.0, 1.0, n, columns[:n], np.ones(n))
    values = []
    for cut in cuts:
        constant = cut.constant
        model.addRow(constant, np.inf, n + 1, columns, np.r_[-cut.subgradient, 1.0])
        model.run()
        values.append(model.getInfo().objective_function_value)
    return np.array(values)


def linprog_value(cuts):
    """Solve the same program, built anew."""
    n = len(cuts[0].point)
    rows = np.array([np.r_[cut.subgradient, -1.0] for cut in cuts])
    sides = np.array([cut.subgradient @ cut.point - cut.value for cut in cuts])
    equality, bounds = np.r_[np.ones(n), 0.0][None], [(0, None)] * n + [(None, None)]
    return scipy.optimize.linprog(np.r_[np.zeros(n), 1.0], rows, sides, equality, [1.0], bounds, method="highs").fun


def lp_table(sequences, rounds):
    """Rows of the first table."""
    yield "| cuts | ours, ms | highspy, ms | highspy / ours | linprog, ms | largest difference of the minima |"
    yield "|---|---|---|---|---|---|"
    for name, cuts in sequences.items():
        ours, peer, ratio, values, theirs = in_turn(rounds, partial(our_values, cuts), partial(highspy_values, cuts))
        sample = range(5, len(cuts) + 1, 10)
        rebuilt = sum(milliseconds(partial(linprog_value, cuts[:m]))[0] for m in sample) * len(cuts) / len(sample)
        worst = np.abs(values - theirs).max() / np.abs(theirs).max()
        yield f"| {len(cuts)} of {name} | {ours:.0f} | {peer:.0f} | {ratio:.1f} | {rebuilt:.0f} | {worst:.0e} |"


# The projection


class LevelProblem:
    """Project the last query point of a run on a level set of its model."""

    def __init__(self, cuts, level, entropic):
        domain = Simplex(len(cuts[0].point))
        model = CuttingPlaneModel(domain, 10**6)
        for cut in cuts:
            model.add(cut)
        rows = model.pool.objective
        self.domain, self.center = domain, cuts[-1].point
        self.metric = domain.entropic_metric(self.center) if entropic else np.ones(domain.dimension)
        self.matrix, self.rhs = rows.matrix, model.lower + level * model.gap - rows.constant
        self.gap = model.gap
        # for the peers: rows of norm 1, less their value at the center, a constant on the simplex; else they fail
        shift = self.matrix @ self.center
        rows, sides = self.matrix - shift[:, None], self.rhs - shift
        norms = np.linalg.norm(rows, axis=1)
        self.rows, self.sides = rows / norms[:, None], sides / norms
        before = np.ones(len(self.rhs))
        before[-1] = 0.0  # without the last cut: what the call before left
        self.warm = self.ours(np.zeros(len(before)), np.flatnonzero(before)).multipliers
        self.warm = np.r_[self.warm, 0.0]

    def ours(self, start, rows=slice(None)):
        """Project from multipliers."""
        matrix, rhs = self.matrix[rows], self.rhs[rows]
        unit = np.full(len(rhs), self.gap)
        return project_on_cuts(self.domain, self.center, self.metric, matrix, rhs, start[: len(rhs)], unit=unit)

    def lbfgs(self):
        """Maximize the dual, one variable a row and one for the sum."""
        matrix, rhs = self.rows, self.sides

        def point(u):
            return np.maximum(self.center - (u[:-1] @ matrix + u[-1]) / self.metric, 0.0)

        def negative_dual(u):
            z = point(u)
            away = z - self.center
            gradient = np.r_[matrix @ z - rhs, z.sum() - 1.0]
            return -0.5 * (self.metric * away) @ away - u @ gradient, -gradient

        bounds = [(0, None)] * len(rhs) + [(None, None)]
        options = {"maxiter": 50000, "maxfun": 50000, "ftol": 1e-16, "gtol": 1e-9, "maxcor": 30}
        start = np.zeros(len(rhs) + 1)
        return point(scipy.optimize.minimize(negative_dual, start, jac=True, bounds=bounds, options=options).x)

    def _quadratic(self):
        n = len(self.center)
        rows = scipy.sparse.vstack([np.ones((1, n)), self.rows, -scipy.sparse.eye(n)], format="csc")
        sides = np.r_[1.0, self.sides, np.zeros(n)]
        return scipy.sparse.diags(self.metric, format="csc"), -self.metric * self.center, rows, sides

    def clarabel(self):
        """Interior point method at tolerances 1e-8."""
        hessian, linear, rows, sides = self._quadratic()
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(len(sides) - 1)]
        return np.array(clarabel.DefaultSolver(hessian, linear, rows, sides, cones, settings).solve().x)

    def osqp(self):
        """Operator splitting at tolerances 1e-8."""
        hessian, linear, rows, sides = self._quadratic()
        lower = np.r_[1.0, np.full(len(sides) - 1, -np.inf)]
        solver = osqp.OSQP()
        solver.setup(hessian, linear, rows, lower, sides, eps_abs=1e-8, eps_rel=1e-8, max_iter=20000, verbose=False)
        return np.array(solver.solve().x)

    def quality(self, z):
        """Largest violation in units of the gap, and the squared distance, once the simplex is satisfied exactly."""
        z = self.domain.project(z)
        away = z - self.center
        return ((self.matrix @ z - self.rhs) / self.gap).max(), float((self.metric * away) @ away)


def projection_table(cuts, levels, rounds):
    """Rows of the second table."""
    peers = ["L-BFGS-B"] + ["Clarabel"] * (clarabel is not None) + ["OSQP"] * (osqp is not None)
    yield f"| {len(cuts)} cuts: metric, level | ours from zero | ours warm | " + " | ".join(peers) + " |"
    yield "|---" * (3 + len(peers)) + "|"
    for entropic in (True, False):
        for level in levels:
            problem = LevelProblem(cuts, level, entropic)
            cold, warm, _, first, second = in_turn(
                rounds,
                partial(problem.ours, np.zeros(len(problem.rhs))),
                partial(problem.ours, problem.warm),
            )
            distance = problem.quality(first.point)[1]
            cells = [
                cell(time, problem.quality(done.point), distance) for time, done in ((cold, first), (warm, second))
            ]
            for peer in peers:
                print(f"projection {entropic} {level} {peer}", file=sys.stderr)
                solve = {"L-BFGS-B": problem.lbfgs, "Clarabel": problem.clarabel, "OSQP": problem.osqp}[peer]
                time, z = milliseconds(solve)
                cells.append(cell(time, problem.quality(z), distance))
            yield f"| {'entropic' if entropic else 'Euclidean'}, {level} | " + " | ".join(cells) + " |"


def cell(time, quality, distance):
    """Milliseconds, violation in gaps, and the squared distance relative to ours."""
    violation, square = quality
    return f"{time:.3g} ({max(violation, 0.0):.0e}, {square / distance - 1.0:+.0e})"


# Every generator


def between_calls(generator, oracle, limit):
    """Milliseconds a call needs besides the oracle, over a run down to a relative gap of 1e-8."""
    oracle.reset()
    domain, bounds = oracle.domain, BoundTracker(oracle.domain)
    generator.reset(domain, domain.interior_point())
    asked, times = None, []
    while len(times) < limit and not bounds.relative_gap <= 1e-8:
        before, start = asked, thread_time()
        query = generator.ask()
        asking = thread_time() - start
        query = query if isinstance(query, Query) else Query(query)
        asked = query.point
        if before is not None and (asked == before).all():
            break
        cut = oracle.query(query)
        start = thread_time()
        generator.tell(cut)
        minorant = generator.minorant()
        times.append(1e3 * (asking + thread_time() - start))
        bounds.update(cut, minorant, generator.weight())
    return times


def generator_table(oracle, at):
    """Rows of the third table."""
    yield "| generator | oracle calls | ms a call, last 10 | ms a call, mean |"
    yield "|---|---|---|---|"
    generators = (
        Kelley(),
        Kelley(chebyshev=True),
        LevelSet(),
        LevelSet(entropic=False),
        AnalyticCenter(),
        NewtonBundle(),
        ProximalBundle(),
        ReducedGradient(),
        SPG(),
        Subgradient(),
    )
    for generator in generators:
        print(f"generator {generator!r}", file=sys.stderr)
        times = between_calls(generator, oracle, at + 5)
        yield f"| `{generator!r}` | {len(times)} | {median(times[-10:]):.2f} | {np.mean(times):.2f} |"


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="fewer cuts, rounds and cases")
    quick = parser.parse_args().quick
    n_kelley, n_level, rounds, levels = (40, 30, 1, (0.5,)) if quick else (150, 100, 5, (0.8, 0.5, 0.2))
    oracle = sonar()
    print("recording the cuts", file=sys.stderr)
    kelley, level = (
        minimize(oracle, generator, rtol=0.0, max_calls=calls, keep_cuts=True).history.cuts
        for generator, calls in ((Kelley(), n_kelley), (LevelSet(), n_level))
    )
    for name, module in (("Clarabel", clarabel), ("OSQP", osqp)):
        if module is None:
            print(f"{name} is not installed: its column is missing.\n")
    print("Linear programs, one after each cut, in all:\n")
    print("\n".join(lp_table({"a Kelley run": kelley, "a level-set run": level}, rounds)))
    print(
        "\nOne projection on a level set, milliseconds (violation in gaps, squared distance against ours from zero):\n"
    )
    print("\n".join(projection_table(level, levels, rounds)))
    print(f"\nBetween two oracle calls, over {n_level + 5} calls, down to a relative gap of 1e-8:\n")
    print("\n".join(generator_table(oracle, n_level)))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
