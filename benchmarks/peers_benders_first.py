"""Two-stage programs: HiGHS' solution asked first, and cuts alone, in processor seconds over those of HiGHS.

python benchmarks/peers_benders_first.py [--quick]
"""

import time

import numpy as np
from _expansion import expansion
from _expansion import transport as small_transport
from _extensive import extensive_form, solved_by_highs
from _shared import parser, say, table
from peers_benders import transport, with_costs

from oracle_opt import minimize
from oracle_opt.oracles import BendersOracle, RandomBlock, TwoStageProblem
from oracle_opt.oracles.benders import benders_proposal


def newsvendor(count, goods=20, seed=0):
    """Goods that are bought, sold up to a random demand, or kept for less, in one store."""
    rng = np.random.default_rng(seed)
    each, none = np.eye(goods), np.zeros((goods, goods))
    W = np.vstack([np.hstack([each, each]), np.hstack([each, none]), np.repeat([0.0, 1.0], goods)])
    demand = rng.uniform(5.0, 20.0, goods) * np.exp(0.4 * rng.normal(size=(count, goods)))
    return TwoStageProblem(
        rng.uniform(1.0, 3.0, goods),
        np.r_[-rng.uniform(4.0, 9.0, goods), np.full(goods, -0.5)],
        np.vstack([-each, none, np.zeros((1, goods))]),
        W,
        -np.inf,
        np.r_[np.zeros(2 * goods), 20.0],
        [RandomBlock(np.full(count, 1.0 / count), rows=np.arange(goods, 2 * goods), rhs=demand)],
        x_upper=100.0,
    )


FAMILIES = {
    "newsvendor": (newsvendor, (10, 100, 200)),
    "small transport": (lambda count: small_transport(5, 10, count, 0), (10, 100, 300, 1000)),
    "transport": (transport, (10, 100, 200)),
    "transport, costs vary": (with_costs, (10, 100, 200)),
    "expansion": (lambda count: expansion(2, 3, 12, count, 0), (10, 50)),
    "expansion, 380 rows": (lambda count: expansion(2, 4, 24, count, 0), (10,)),
}


def seconds(solve):
    """Processor seconds, and what came out."""
    start = time.process_time()
    found = solve()
    return time.process_time() - start, found


def main():
    """Print the table."""
    quick = parser(__doc__).parse_args().quick
    benders_proposal.MOST_ROWS = benders_proposal.MOST_ROWS_ALONE = 10**9  # the rule is what the table is for
    rows = []
    for name, (make, counts) in FAMILIES.items():
        for count in counts[:1] if quick else counts:
            say(f"{name} {count}")
            problem = make(count)
            program = extensive_form(problem, *problem.all_scenarios())
            alone = min(seconds(lambda p=program: solved_by_highs(p))[0] for _ in range(2))
            found = [
                seconds(lambda p=problem, o=options: minimize(BendersOracle(p), rtol=1e-6, **o))
                for options in ({}, {"check": False}, {"first": False})
            ]
            cells = [f"{taken / alone:.1f} ({result.n_calls})" for taken, result in found]
            rows.append((name, count, f"{count * problem.W.shape[0]:,}", f"{alone:.2g}", *cells))
    heads = (
        "problem",
        "scenarios",
        "rows",
        "HiGHS, s",
        "first (calls)",
        "first, `check=False`",
        "`first=False` (calls)",
    )
    table(heads, rows)


if __name__ == "__main__":
    main()
