"""What several benchmarks need: the four MKL problems, two clocks, memory, Markdown tables, options, the commit."""

import argparse
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, process_time, thread_time

import numpy as np

from oracle_opt.datasets import load

ROOT = Path(__file__).resolve().parents[1]
# Certified by other solvers to a relative gap of 1e-6, for exactly these points, kernels and C = 100.
OPTIMA = {
    "sonar": (5122.857, 5122.862),
    "ionosphere": (5610.1236, 5610.1290),
    "wdbc": (6052.495, 6052.501),
    "pima": (27581.017, 27581.044),
}


@dataclass(frozen=True)
class Times:
    """Seconds by the wall clock, and of the processor in this process, all threads together."""

    wall: float
    cpu: float


def timed(call):
    """Call once; give the times and the answer."""
    wall, cpu = perf_counter(), process_time()
    answer = call()
    return Times(perf_counter() - wall, process_time() - cpu), answer


def milliseconds(call):
    """Processor time of this thread for one call, and its answer."""
    start = thread_time()
    answer = call()
    return 1e3 * (thread_time() - start), answer


def in_turn(*calls, rounds):
    """Median milliseconds of each call, in rounds each begun by the next call."""
    times = [[] for _ in calls]
    for first in range(rounds):
        for i in range(len(calls)):
            k = (first + i) % len(calls)
            times[k].append(milliseconds(calls[k])[0])
    return [median(of_call) for of_call in times]


def median_times(times):
    """Median of each clock."""
    return Times(*(float(np.median(column)) for column in zip(*((t.wall, t.cpu) for t in times), strict=True)))


def training_part(name):
    """Points and labels: the first 70 % of ``default_rng(0).permutation``."""
    dataset = load(name)
    chosen = np.random.default_rng(0).permutation(len(dataset.y))[: int(0.7 * len(dataset.y))]
    return dataset.dense()[chosen], dataset.y[chosen]


def parser(description):
    """Options every benchmark takes."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--quick", action="store_true", help="a small part, to see that it runs")
    return options


def resident(field):
    """Bytes of this process: VmRSS now, or VmHWM, the peak."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return 1024 * int(line.split()[1])
    raise RuntimeError(f"the system does not tell {field}")


def table(headings, rows):
    """Print a Markdown table."""
    print("| " + " | ".join(headings) + " |")
    print("|" + "---|" * len(headings))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print(flush=True)


def say(words):
    """Tell what goes on, beside the tables."""
    print(words, file=sys.stderr, flush=True)


def words(command):
    """First line a command prints; empty if there is no such command or it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.partition("\n")[0].strip()


def commit():
    """The commit of these sources, marked if they were changed since; pages, which the runner writes, do not count."""
    name = words(["git", "rev-parse", "--short", "HEAD"])
    changed = words(["git", "status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs", ":!*.md"])
    return f"{name or 'unknown'}{' with changes' if changed else ''}"
