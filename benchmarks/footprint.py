"""What the library itself costs: import time, the driver's share of an oracle call, memory of a run.

    python benchmarks/footprint.py [--quick]

Imports: in fresh processes, in turn; medians. Driver: a trivial oracle and a trivial generator with 100 variables,
through `minimize` and in a bare loop that calls the same methods as often, in turn; the difference of their processor
times is the driver's. Memory: one process a data set, the kernels of which are built, then `NewtonBundle` to 1e-6; the
peaks of the resident memory while building and while running, as Linux tells them, against what must be held.
"""

import subprocess
import sys
from pathlib import Path
from time import thread_time

import numpy as np
from _shared import OPTIMA, parser, resident, say, table, training_part
from threadpoolctl import threadpool_limits

from oracle_opt import Ball, Box, Minorant, ObjectiveCut, Oracle, Query, QueryPointGenerator, Simplex, Step, minimize
from oracle_opt.generators import NewtonBundle
from oracle_opt.oracles import MKLOracle, uci_bank

IMPORTS = (
    "numpy",
    "numpy, scipy.linalg, highspy",
    "oracle_opt",
    "oracle_opt, oracle_opt.oracles, oracle_opt.generators",
)
N_VARIABLES = 100


class LinearOracle(Oracle):
    """A linear function: nothing to compute."""

    def __init__(self, domain):
        self.domain = domain
        self.slope = np.linspace(0.0, 1.0, domain.dimension)

    def query(self, query):
        """Answer."""
        return ObjectiveCut(query.point, float(self.slope @ query.point), self.slope)


class TwoPoints(QueryPointGenerator):
    """Asks two points in turn, for ever; has a minorant and a weight if `proves`."""

    def __init__(self, proves=False):
        self.proves = proves

    def reset(self, domain, point):
        """Fix the points."""
        self._points = (point, 0.5 * (point + domain.minimize_linear(np.ones(domain.dimension))[1]))
        self._n_told = 0
        self._minorant = Minorant(-9.0, np.linspace(0.0, 1.0, domain.dimension)) if self.proves else None

    def ask(self):
        """Return one of the two."""
        return self._points[self._n_told % 2]

    def tell(self, cut):
        """Count."""
        self._n_told += 1
        return Step.SERIOUS

    def minorant(self):
        """Always the same."""
        return self._minorant

    def weight(self):
        """All equal."""
        return 1.0 if self.proves else 0.0


def import_rows(rounds):
    """Seconds each import takes, in processes of their own."""
    code = (
        "from time import perf_counter, process_time\nw, c = perf_counter(), process_time()\n"
        "import {}\nprint(perf_counter() - w, process_time() - c)"
    )
    seconds = {modules: [] for modules in IMPORTS}
    for _ in range(rounds):
        for modules, found in seconds.items():
            done = subprocess.run(
                [sys.executable, "-P", "-c", code.format(modules)], capture_output=True, text=True, check=True
            )
            found.append([float(word) for word in done.stdout.split()])
    for modules, found in seconds.items():
        wall, cpu = np.median(found, axis=0)
        yield f"`import {modules}`", f"{wall:.3f}", f"{cpu:.3f}", f"{min(row[0] for row in found):.3f}"


def in_driver(oracle, generator, n_calls):
    """Microseconds a call through the driver."""
    clock = thread_time()
    run = minimize(oracle, generator, rtol=0.0, max_calls=n_calls)
    seconds = thread_time() - clock
    if run.n_calls != n_calls:
        raise RuntimeError(f"stopped after {run.n_calls} calls: {run.message}")
    return 1e6 * seconds / n_calls


def in_bare_loop(oracle, generator, n_calls):
    """Microseconds a call without the driver."""
    generator.reset(oracle.domain, oracle.domain.interior_point())
    clock = thread_time()
    for _ in range(n_calls):
        cut = oracle.query(Query(generator.ask()))
        generator.tell(cut)
        generator.minorant()
        generator.weight()
    return 1e6 * (thread_time() - clock) / n_calls


def driver_rows(rounds, n_calls):
    """Medians over rounds in turn, for three domains, without and with proofs of the generator."""
    ones = np.ones(N_VARIABLES)
    for domain in (Simplex(N_VARIABLES), Box(-ones, ones), Ball(N_VARIABLES)):
        for proves in (False, True):
            oracle, generator = LinearOracle(domain), TwoPoints(proves)
            pairs = [
                (in_driver(oracle, generator, n_calls), in_bare_loop(oracle, generator, n_calls)) for _ in range(rounds)
            ]
            whole, bare = np.median(pairs, axis=0)
            yield (
                *(type(domain).__name__, "minorant and average" if proves else "none"),
                *(f"{whole:.1f}", f"{bare:.1f}", f"{whole - bare:.1f}"),
            )


def forget_peak():
    """Start a new peak (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")


def measure_memory(name):
    """Print one row, in a process of its own."""
    X, y = training_part(name)
    small = uci_bank(X[:40, :2])  # whatever is loaded or compiled on first use
    minimize(MKLOracle(small, y[:40]), NewtonBundle(), rtol=1e-3)
    before = resident("VmRSS")
    forget_peak()
    bank = uci_bank(X)
    building = resident("VmHWM") - before
    forget_peak()
    run = minimize(MKLOracle(bank, y), NewtonBundle(), rtol=1e-6)
    running = resident("VmHWM") - before
    n, p = y.size, bank.n_kernels
    cuts = 8 * run.n_calls * (2 * p + n)
    must = bank.nbytes + 16 * n * n + cuts
    cells = [bank.nbytes / 1e6, building / 1e6, 16e-6 * n * n, 1e-6 * cuts, running / 1e6, (running - must) / 1e6]
    print(f"{name}|{p} x {n}|" + "|".join(f"{cell:.1f}" for cell in cells) + f"|{running / must:.2f}")


def memory_rows(names):
    """One row a data set."""
    for name in names:
        say(f"memory: {name}")
        done = subprocess.run([sys.executable, __file__, "--memory", name], capture_output=True, text=True, check=True)
        yield done.stdout.strip().split("|")


def main():
    """Print the tables."""
    options = parser(__doc__)
    options.add_argument("--memory", metavar="SET", help="measure this one alone, in this process")
    chosen = options.parse_args()
    if chosen.memory:
        measure_memory(chosen.memory)
        return
    table(("", "seconds", "CPU seconds", "least seconds"), import_rows(3 if chosen.quick else 7))
    print(f"Microseconds of processor time a call, {N_VARIABLES} variables:\n")
    rows = driver_rows(*((3, 500) if chosen.quick else (7, 3000)))
    table(("domain", "proofs of the generator", "with the driver", "bare loop", "driver"), rows)
    print("Megabytes, above what the process holds after its imports; cuts are points, subgradients, dual variables:\n")
    columns = (
        "set",
        "kernels x points",
        "bank",
        "peak while built",
        "2 n^2",
        "cuts",
        "peak of the run",
        "beyond these",
    )
    table((*columns, "peak / (bank + 2 n^2 + cuts)"), memory_rows(["sonar"] if chosen.quick else OPTIMA))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
