"""Run the benchmarks and write what they print into the pages that `PAGES` names, by default docs/performance.md.

    python benchmarks/run.py [--only NAME ...]   rewrites their sections
    python benchmarks/run.py --quick             a small part of each, printed and not kept

Each script runs in a process of its own with one thread; what it prints goes between the marks `begin NAME` and
`end NAME` of the page, as soon as it is done. A script that fails leaves its section as it was; it is named at the
end, and the exit code is 1. The section `machine` tells date, machine, versions and the peers that are missing.
"""

import argparse
import datetime
import os
import platform
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from time import perf_counter

import numpy as np
from _shared import ROOT, commit, words

from oracle_opt.files import atomic_text

PROBLEMS = ROOT / "docs" / "problems.md"
SCALING = ROOT / "docs" / "scaling.md"
CALLS = ROOT / "docs" / "performance_calls.md"
KERNELS = ROOT / "docs" / "performance_kernels.md"
PROVEN = ROOT / "docs" / "performance_certificates.md"
LEARNING = ROOT / "docs" / "learning_compared.md"
PEERS_PAGE = ROOT / "docs" / "peers.md"
PAGES = {
    "problems": PROBLEMS,
    "problems_lagrangian": PROBLEMS,
    "rounding": PROBLEMS,
    "models": PEERS_PAGE,
    **dict.fromkeys(("adversary", "stabilization"), ROOT / "docs" / "strategies.md"),
    "energy_blocks": ROOT / "docs" / "energy_models.md",
    "workers": SCALING,
    "products": SCALING,
    **dict.fromkeys(("learning", "estimators", "linear"), LEARNING),
    **dict.fromkeys(("uci_calls", "small_problems", "panel", "known_terms", "masters", "level_interior"), CALLS),
    **dict.fromkeys(("lp_mkl", "on_the_fly", "entries_on_the_fly", "gmkl", "scale", "features", "mixed_norm"), KERNELS),
    **dict.fromkeys(("certificates", "benders_certificates", "check_cost"), PROVEN),
}  # the other sections are on the page of performance
COPIES = {  # where a section stands a second time
    "peers_large": [ROOT / "docs" / "how_to_choose.md"],
    "panel": [ROOT / "docs" / "how_to_choose.md", ROOT / "docs" / "findings.md"],
}
PERFORMANCE = ROOT / "docs" / "performance.md"
# In the order they run: the long ones last.
SCRIPTS = (
    "adversary",
    "footprint",
    "model_size",
    "certificates",
    "benders_certificates",
    "check_cost",
    "estimators",
    "linear",
    "models",
    "energy_blocks",
    "svm_oracle",
    "svm_kinds",
    "mkl_query",
    "small_problems",
    "small_ratios",
    "known_terms",
    "masters",
    "level_interior",
    "stabilization",
    "lp_mkl",
    "on_the_fly",
    "entries_on_the_fly",
    "gmkl",
    "mixed_norm",
    "workers",
    "end_to_end",
    "problems",
    "problems_lagrangian",
    "rounding",
    "panel",
    "uci_calls",
    "products",
    "learning",
    "peers_spectral",
    "features",
    "scale",
    "peers_rows",
    "peers_large",
    "peers_lagrangian",
    "peers_benders",
    "peers_benders_first",
)
LIBRARIES = ("numpy", "scipy", "highspy", "osqp", "Cython", "threadpoolctl")
PEERS = ("scikit-learn", "cvxpy", "clarabel", "scs", "ellalgo", "MKLpy")
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def page_of(name):
    """Where a section stands."""
    return PEERS_PAGE if name.startswith("peers_") else PAGES.get(name, PERFORMANCE)


def version(distribution):
    """Installed version, or None."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def processor():
    """Its name, as Linux or else Python tells it."""
    try:
        found = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()


def bandwidth():
    """Gigabytes a second that one thread reads: the best of seven dot products of 400 MB with itself."""
    data = np.ones(50_000_000)
    seconds = []
    for _ in range(7):
        start = perf_counter()
        data @ data
        seconds.append(perf_counter() - start)
    return 1e-9 * data.nbytes / min(seconds)


def machine():
    """Section of the machine, run in a process of its own as the threads of BLAS are set when it is loaded."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    installed = {name: version(name) for name in (*LIBRARIES, *PEERS)}
    missing = [name for name in PEERS if installed[name] is None]
    rows = {
        "date": f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}",
        "oracle_opt": f"{version('oracle-opt')}, commit {commit()}",
        "processor": f"{processor()}, {os.cpu_count()} cores",
        "memory": f"{memory:.0f} GiB, read at {bandwidth():.1f} GB/s by one thread (dot product of 400 MB)",
        "system": f"{platform.system()} {platform.release()}, {words(['cc', '--version']) or 'no C compiler found'}",
        "libraries": ", ".join(
            [f"Python {platform.python_version()}"] + [f"{name} {installed[name]}" for name in LIBRARIES]
        ),
        "peers": ", ".join(f"{name} {installed[name]}" for name in PEERS if installed[name]) or "none",
        "peers not installed": ", ".join(missing) or "none",
    }
    print("| | |\n|---|---|")
    print("\n".join(f"| {name} | {value} |" for name, value in rows.items()))


def run(command):
    """Standard output of a Python script, or None if it failed; its standard error is passed on."""
    print(f"--- {' '.join(command)}", file=sys.stderr, flush=True)
    done = subprocess.run(
        [sys.executable, *command], stdout=subprocess.PIPE, text=True, cwd=ROOT, env=os.environ | ONE_THREAD
    )
    return done.stdout if done.returncode == 0 and done.stdout.strip() else None


def splice(text, name, section):
    """Put a section between its marks.

    Raises
    ------
    ValueError
        The page does not have the two marks, once each and in their order.
    """
    begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise ValueError(f"the page must have the lines {begin.strip()} and {end} once each, in this order")
    before, rest = text.split(begin)
    return f"{before}{begin}\n{section.strip()}\n\n{end}{rest.split(end)[1]}"


def keep(name, section):
    """Write a section into the page, read anew as it may have been edited meanwhile."""
    for path in (page_of(name), *COPIES.get(name, ())):
        atomic_text(path, splice(path.read_text(encoding="utf-8"), name, section))


def main():
    """Run what is asked for; return the exit code."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true", help="print a small part of each; the page stays as it is")
    options.add_argument("--only", nargs="+", choices=SCRIPTS, default=SCRIPTS, metavar="NAME", help=", ".join(SCRIPTS))
    options.add_argument("--machine", action="store_true", help="print the section of the machine alone")
    chosen = options.parse_args()
    if chosen.machine:
        machine()
        return 0
    for name in ("machine", *chosen.only):
        # an hour of measuring must not end at a missing mark
        splice(page_of(name).read_text(encoding="utf-8"), name, "")
    failed = []
    for name in ("machine", *chosen.only):
        began = perf_counter()
        command = ["benchmarks/run.py", "--machine"] if name == "machine" else [f"benchmarks/{name}.py"]
        section = run(command + ["--quick"] * (chosen.quick and name != "machine"))
        if section is None:
            failed.append(name)
            continue
        if name != "machine":
            today = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}"
            section = f"*{today}, commit {commit()}, {perf_counter() - began:.0f} s.*\n\n{section}"
        if chosen.quick:
            print(f"## {name}\n\n{section}", flush=True)
        else:
            keep(name, section)
    if failed:
        print(f"failed, their sections are as they were: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
