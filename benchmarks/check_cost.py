"""What the check at the end of a run costs: processor time with `check=True` over that with `check=False`.

    ORACLE_OPT_DATA=folder python benchmarks/check_cost.py [--quick] [names]

In turn, in one process, medians of five.
"""

from statistics import median
from time import process_time

import numpy as np
from _shared import parser, say, table, training_part
from peers_benders import transport

from oracle_opt import minimize
from oracle_opt.datasets import load
from oracle_opt.generators import ActiveSet, NewtonBundle
from oracle_opt.oracles import BendersOracle, MKLOracle, RBFBank, uci_bank

UCI = ("sonar", "ionosphere", "wdbc", "pima")
NAMES = (*UCI, "a9a", "widths", "transport")


def runs_of(name):
    """Words, how the oracle is made, the generator's class or None, and the tolerance of each run of a name."""
    if name in UCI:
        X, y = training_part(name)
        for rtol in (1e-3, 1e-6):
            yield f"{name} to {rtol:g}", lambda: MKLOracle(uci_bank(X), y, C=100.0), NewtonBundle, rtol
    elif name == "a9a":
        data = load("a9a")
        for n, p in ((4000, 1), (4000, 20), (10000, 1), (len(data.y), 50)):
            X, y, widths = data.X[:n], data.y[:n], np.geomspace(0.5, 50, p) if p > 1 else np.array([10**0.5])
            bank = RBFBank(X, [np.arange(X.shape[1])], [widths])
            yield f"a9a, {n} points x {p}", lambda b=bank, y=y: MKLOracle(b, y, C=100.0), NewtonBundle, 1e-3
    elif name == "widths":
        X, y = training_part("sonar")
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        bank = RBFBank(X, [[j] for j in range(60)], [np.geomspace(0.1, 10, 16667)] * 60)
        yield "sonar, a million widths", lambda: MKLOracle(bank, y, C=100.0), lambda: ActiveSet(NewtonBundle()), 1e-3
    else:
        yield "transport, 100 scenarios", lambda: BendersOracle(transport(100)), lambda: None, 1e-6


def main():
    """Measure, and print the table."""
    options = parser(__doc__)
    options.add_argument("names", nargs="*", default=NAMES)
    chosen = options.parse_args()
    rows = []
    for name in ("pima",) if chosen.quick else chosen.names:
        for words, make, generator, rtol in runs_of(name):
            seconds = {False: [], True: []}
            for _ in range(5):
                for check, taken in seconds.items():
                    began = process_time()
                    result = minimize(make(), generator(), rtol=rtol, check=check)
                    taken.append(process_time() - began)
            without, checked = median(seconds[False]), median(seconds[True])
            rows.append((words, result.n_calls, f"{without:.3f}", f"{checked:.3f}", f"{checked / without:.2f}"))
            say(" | ".join(map(str, rows[-1])))
    table(("run", "calls", "without, s", "with, s", "ratio"), rows)


if __name__ == "__main__":
    main()
