"""Two-stage stochastic programs: Benders' decomposition beside HiGHS on the extensive form.

python benchmarks/peers_benders.py [--quick]
"""

import numpy as np
from _extensive import extensive_form, solved_by_highs
from _peers import Answer, from_result, growth, side_by_side
from _shared import parser, say, table
from _verified import print_certificates

from oracle_opt import minimize
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle
from oracle_opt.oracles import BendersOracle, RandomBlock, TwoStageProblem, read_smps
from oracle_opt.problems.collection import path_in_folder

RTOL, LIMIT, ROUNDS = 1e-6, 30.0, 1
GENERATORS = (ProximalBundle(), Kelley(), LevelSet(), AnalyticCenter())


def transport(count, plants=15, towns=25, costs=False, seed=0):
    """Capacities of plants, and what they ship to towns once demands are known, no two scenarios alike.

    A unit of capacity costs between 4 and 8; a unit shipped ten times the distance, in the unit square; a unit that
    lacks 40. Demands are log-normal about 5 to 15. With `costs` those of shipping vary by 30 % in each scenario, too.
    """
    rng = np.random.default_rng(seed)
    ship = 10.0 * np.linalg.norm(rng.random((plants, 1, 2)) - rng.random((towns, 2)), axis=2).ravel()
    of_plant, of_town = np.divmod(np.arange(plants * towns), towns)
    W = np.zeros((plants + towns, len(ship) + towns))
    W[of_plant, np.arange(len(ship))] = W[plants + of_town, np.arange(len(ship))] = 1.0
    W[plants:, len(ship) :] = np.eye(towns)
    T = np.vstack([-np.eye(plants), np.zeros((towns, plants))])
    mean = rng.uniform(5.0, 15.0, towns)
    varied = {"rows": plants + np.arange(towns), "rhs": mean * np.exp(0.3 * rng.normal(size=(count, towns)))}
    if costs:
        varied |= {"cost_columns": np.arange(len(ship)), "cost": ship * rng.uniform(0.7, 1.3, (count, len(ship)))}
    return TwoStageProblem(
        rng.uniform(4.0, 8.0, plants),
        np.r_[ship, np.full(towns, 40.0)],
        T,
        W,
        np.r_[np.full(plants, -np.inf), mean],
        np.r_[np.zeros(plants), np.full(towns, np.inf)],
        [RandomBlock(np.full(count, 1.0 / count), **varied)],
        x_upper=100.0,
    )


def with_costs(count):
    """The same, shipping costs varying, too."""
    return transport(count, costs=True)


def lands(_):
    """The instance lands of a million scenarios, of which so many are drawn."""
    return read_smps(path_in_folder("stochastic", "lands-1e6.cor", needed="lands-1e6"))


def ours(make, count, generator, n_summands=None):
    """`BendersOracle` and a generator to a proven 1e-6; the oracle is made within the time."""
    problem = make(count)

    def solve():
        oracle = BendersOracle(problem, n_samples=count if make is lands else None, n_summands=n_summands)
        return from_result(minimize(oracle, generator, rtol=RTOL, max_seconds=LIMIT), oracle)

    return solve


def highs(make, count, solver):
    """HiGHS on the extensive form, which is made before the clock starts."""
    problem = make(count)
    program = extensive_form(problem, *(problem.sample(count, 0) if make is lands else problem.all_scenarios()))

    def solve():
        value, status = solved_by_highs(program, solver)
        return Answer(value, ended="" if status == "optimal" else status)

    return solve


def family(make, sizes):
    """Table of one family, and the growth of each column."""
    rows, seconds = [], {}
    for count in sizes:
        say(f"{make.__name__} {count}")
        solvers = {repr(type(one).__name__): (ours, make, count, one) for one in GENERATORS[:3]}
        solvers |= {"simplex": (highs, make, count, "simplex"), "interior point": (highs, make, count, "ipm")}
        found = side_by_side(solvers, ROUNDS, LIMIT)
        for name, one in found.items():
            seconds.setdefault(name.strip("'"), []).append(np.nan if one.answer.ended else one.seconds)
        first = found["'ProximalBundle'"]
        peers = [found[name] for name in ("simplex", "interior point") if not found[name].answer.ended]
        off = abs(first.answer.value - peers[0].answer.value) / abs(peers[0].answer.value) if peers else np.nan
        best = min((one.seconds for one in peers), default=np.nan)
        rows.append(
            (
                f"{count:,}",
                *(
                    f"{one.words} ({one.answer.calls})" if name.startswith("'") else one.words
                    for name, one in found.items()
                ),
                f"{best / first.seconds:.2g}" if peers else "-",
                f"{off:.0e}" if peers else "-",
                *(f"{found[name].bytes / 1e6:.3g}" for name in ("'ProximalBundle'", "simplex")),
            )
        )
    own = (f"`{type(one).__name__}()` (calls)" for one in GENERATORS[:3])
    heads = ("scenarios", *own, "simplex", "interior point", "times faster", "differs by", "MB, ours", "MB, simplex")
    table(heads, rows)
    exponents = [
        f"{name} {growth(sizes, taken):.1f}" for name, taken in seconds.items() if np.isfinite(taken).sum() > 1
    ]
    print(f"\nGrowth of the seconds over the scenarios: {', '.join(exponents)}.\n")


def summands(make, count, numbers):
    """Calls and seconds by the number of groups that a cut is given for."""
    rows = []
    for n_summands in numbers:
        say(f"{make.__name__} {count}, {n_summands} summands")
        solvers = {type(one).__name__: (ours, make, count, one, n_summands) for one in GENERATORS}
        found = side_by_side(solvers, 1, LIMIT)
        rows.append((n_summands, *(f"{one.answer.calls}, {one.words}" for one in found.values())))
    table(("`n_summands`", *(f"`{type(one).__name__}()`" for one in GENERATORS)), rows)
    print()


def after(problem, seed=1):
    """New demands, 5 % higher and in each scenario different, and new probabilities."""
    rng, block = np.random.default_rng(seed), problem.blocks[0]
    demands = 1.05 * block.rhs * np.exp(0.1 * rng.normal(size=block.rhs.shape))
    blocks = [RandomBlock(rng.dirichlet(np.full(len(demands), 50.0)), block.rows, demands)]
    sides, x = (problem.row_lower, problem.row_upper), {"x_lower": problem.x_lower, "x_upper": problem.x_upper}
    return TwoStageProblem(problem.c, problem.q, problem.T, problem.W, *sides, blocks, **x)


def again(count, generator, how):
    """The problem after new demands: cold, or with what an earlier run knows."""
    problem = transport(count)
    old = BendersOracle(problem)
    first = minimize(old, generator, rtol=RTOL, keep_cuts=True)
    new = after(problem)

    def solve():
        if how == "cold":
            oracle = BendersOracle(new)
            return from_result(minimize(oracle, generator, rtol=RTOL), oracle)
        warm = BendersOracle(new, warm=old)
        cuts = warm.shifted(first.history.cuts) if how == "cuts" else ()
        return from_result(minimize(warm, generator, first.point, rtol=RTOL, cuts=cuts), warm)

    return solve


def new_demands(sizes):
    """Table of runs after new demands."""
    rows = []
    for count in sizes:
        for generator in GENERATORS:
            say(f"new demands {count} {generator}")
            ways = ("cold", "warm", "cuts")
            found = side_by_side({how: (again, count, generator, how) for how in ways}, ROUNDS, LIMIT)
            cells = (f"{one.words} ({one.answer.calls})" for one in found.values())
            rows.append((f"{count:,}", f"`{type(generator).__name__}()`", *cells))
    heads = ("scenarios", "generator", "cold (calls)", "`warm=` and its point (calls)", "and cuts `shifted` (calls)")
    table(heads, rows)


def main():
    """Print the tables."""
    quick = parser(__doc__).parse_args().quick
    print("Transport of 15 plants to 25 towns, random demands:\n")
    family(transport, [10] if quick else [10, 100, 1000, 3000])
    print("The same with shipping costs that vary, too:\n")
    family(with_costs, [10] if quick else [10, 100, 400])
    print("lands, so many of its million scenarios drawn:\n")
    family(lands, [10] if quick else [10, 100, 1000, 10_000])
    print("Transport with 100 scenarios by the number of summands: calls, seconds.\n")
    summands(transport, 30 if quick else 100, (1, 20) if quick else (1, 5, 20, 100))
    print("Transport after new demands and probabilities, from what the run before knows:\n")
    new_demands([30] if quick else [100])
    print_certificates()


if __name__ == "__main__":
    main()
