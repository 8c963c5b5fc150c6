"""Processor time of an MKL query in two checkouts of the library: a ratio, of the same points in turn in two processes.

    ORACLE_OPT_DATA=folder-with-the-data-sets python tools/query_ratio.py PYTHON-OF-THE-OTHER [--rounds N]

Two processes that live on, one with this interpreter and one with that of another checkout, answer the points of a
level-set run to 1e-4, one after the other, each point in both before the next. The ratio of a round is that of the sums
over its points; printed are the median of the rounds, the quartiles, and the same oracle's difference to itself where
the other interpreter is this one.
"""

import argparse
import json
import os
import subprocess
import sys
from itertools import cycle, islice
from pathlib import Path
from statistics import median, quantiles

NAMES = ("sonar", "wdbc", "pima")
WORKER = """
import json, os, sys
from pathlib import Path
from time import thread_time
import numpy as np
from oracle_opt import Query, minimize
from oracle_opt.generators import LevelSet
from oracle_opt.oracles import MKLOracle, uci_bank
answers = os.fdopen(os.dup(1), "w")  # what else is printed must not be taken for one
os.dup2(2, 1)
for line in sys.stdin:
    told = json.loads(line)
    if "set" in told:
        data = np.loadtxt(Path(os.environ["ORACLE_OPT_DATA"]) / f"{told['set']}.csv", delimiter=",", skiprows=1)
        chosen = np.random.default_rng(0).permutation(len(data))[: int(0.7 * len(data))]
        oracle = MKLOracle(uci_bank(data[chosen, :-1]), data[chosen, -1])
        answer = 0
    elif "run" in told:
        cuts = minimize(oracle, LevelSet(), rtol=1e-4, keep_cuts=True).history.cuts
        answer = [cut.point.tolist() for cut in cuts]
    elif "points" in told:
        points, answer = [np.array(one) for one in told["points"]], 0
    elif "reset" in told:
        answer = oracle.reset()
    else:
        query = Query(points[told["ask"]])
        start = thread_time()
        oracle.query(query)
        answer = thread_time() - start
    print(json.dumps(answer), flush=True, file=answers)
"""


class Checkout:
    """A process that answers queries with one checkout of the library."""

    def __init__(self, python):
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [python, "-c", WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    def tell(self, **what):
        """Send one line, and return what is answered."""
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self):
        """End it."""
        self._process.stdin.close()
        self._process.wait()


def rounds_of(name, ours, theirs, rounds):
    """Milliseconds of the median query here, and the ratio to the other checkout in each round."""
    for one in (ours, theirs):
        one.tell(set=name)
    points = ours.tell(run=1)
    for one in (ours, theirs):
        one.tell(points=points)
    ratios, times = [], []
    for order in islice(cycle(((0, 1), (1, 0))), rounds):
        spent = ([], [])
        for one in (ours, theirs):
            one.tell(reset=1)
        for i in range(len(points)):
            for which in order:
                spent[which].append((ours, theirs)[which].tell(ask=i))
        ratios.append(median(a / b for a, b in zip(*spent, strict=True)))
        times.append(1e3 * median(spent[0]))
    return len(points), median(times), ratios


def main():
    """Print a line for each set."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("other", type=Path, help="the interpreter of the other checkout")
    options.add_argument("--rounds", type=int, default=20)
    chosen = options.parse_args()
    ours, theirs = Checkout(sys.executable), Checkout(str(chosen.other))
    print("| set | queries | ms | ratio | quartiles |\n|---|---|---|---|---|")
    for name in NAMES:
        count, time, ratios = rounds_of(name, ours, theirs, chosen.rounds)
        low, _, high = quantiles(ratios)
        print(f"| {name} | {count} | {time:.2f} | {median(ratios):.3f} | {low:.3f} to {high:.3f} |", flush=True)
    ours.close()
    theirs.close()


if __name__ == "__main__":
    main()
