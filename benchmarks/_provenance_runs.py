"""One run of `certificates.py` in a process of its own, also under an older version of the library.

    python benchmarks/_provenance_runs.py NAME

Prints processor seconds, calls, and the bytes by which the largest resident memory grew during the run, as JSON.
"""

import gc
import json
import sys
from pathlib import Path
from time import process_time

from _shared import resident, training_part
from threadpoolctl import threadpool_limits

from oracle_opt import minimize, problems
from oracle_opt.generators import Kelley, LevelSet, NewtonBundle, ProximalBundle, Subgradient
from oracle_opt.oracles import MKLOracle, uci_bank

SUITE = {
    "max-affine(n=1000, pieces=100)": LevelSet,
    "stochastic/4node-16": Kelley,
    "tsp/st70": Subgradient,
    "uflp/capa": ProximalBundle,
    "mcf/planar30": ProximalBundle,
}
KERNELS = {"wdbc": LevelSet, "sonar": NewtonBundle}
MAX_CALLS = 300


def made(name):
    """Oracle, generator and start of a run."""
    if name in KERNELS:
        X, y = training_part(name)
        return MKLOracle(uci_bank(X), y, C=100.0), KERNELS[name](), None
    instance = problems.find(name)[0]()
    return instance.oracle, SUITE[name](), instance.start


def main():
    """Run, and print what it took."""
    oracle, generator, start = made(sys.argv[1])
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    before, began = resident("VmRSS"), process_time()
    result = minimize(oracle, generator, start, rtol=1e-6, max_calls=MAX_CALLS)
    seconds = process_time() - began
    print(json.dumps({"seconds": seconds, "calls": result.n_calls, "bytes": resident("VmHWM") - before}))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
