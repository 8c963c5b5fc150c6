"""What a fitted model takes: the pickle of an oracle with its bank, and that of the model a run found.

    python benchmarks/model_size.py [--quick]

The first 200 points of each set, the kernels of `uci_bank`, `NewtonBundle` to 1e-3 with C = 1 and C = 100. The last two
columns compare the decision values of both at these points.
"""

import pickle

import numpy as np
from _shared import parser, say, table
from threadpoolctl import threadpool_limits

from oracle_opt import minimize
from oracle_opt.datasets import load
from oracle_opt.generators import NewtonBundle
from oracle_opt.oracles import MKLOracle, uci_bank

N_POINTS = 200


def rows(names):
    """One row a data set and C."""
    for name in names:
        dataset = load(name)
        X, y = dataset.dense()[:N_POINTS], dataset.y[:N_POINTS]
        for C in (1.0, 100.0):
            say(f"{name}, C = {C:g}")
            oracle = MKLOracle(uci_bank(X), y, C=C)
            run = minimize(oracle, NewtonBundle(), rtol=1e-3)
            model = oracle.model(run)
            before, after = len(pickle.dumps(oracle)), model.nbytes
            copy = pickle.loads(pickle.dumps(model))
            values = oracle.decision_function(run.cut, X)
            error = np.abs(copy.decision_function(X) - values).max() / np.abs(values).max()
            yield (
                *(name, f"{C:g}", f"{y.size}", f"{oracle.bank.n_kernels}", f"{before / 1e6:.1f} MB"),
                *(f"{model.kernels.size}", f"{model.support.size}", f"{after / 1e3:.1f} KB", f"{before / after:,.0f}"),
                f"{error:.0e}",
            )


def main():
    """Print the table."""
    options = parser(__doc__).parse_args()
    columns = ("set", "C", "points", "kernels", "oracle and bank", "active kernels", "support vectors", "model")
    names = ["sonar"] if options.quick else ["sonar", "ionosphere", "wdbc", "pima"]
    table((*columns, "ratio", "difference of decisions"), rows(names))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
