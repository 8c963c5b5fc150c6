"""What a certificate costs: writing it, its file, checking it by itself and against the data, and keeping its origins.

    ORACLE_OPT_PROBLEMS=folder python benchmarks/certificates.py [--quick] [--before PYTHON]

Processor seconds of one thread. "File" is that of `Certificate.save`, plain and compressed; "alone" is the program of
one file, `python verify.py FILE`, in a process of its own, its start included; "data" is `verify(oracle)` in floats
with bounds on their rounding, and "exact" the same in fractions, on small problems. `--before` names the Python of an
environment with an older version of the library, and adds the table of what a run takes there and here, medians of
seven processes each, in turn.
"""

import json
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np
from _provenance_runs import KERNELS, SUITE
from _shared import ROOT, parser, say, table, training_part
from threadpoolctl import threadpool_limits

from oracle_opt import Box, FunctionOracle, Query, minimize, problems
from oracle_opt.bounds import cut_rounding
from oracle_opt.certificates import verify as program
from oracle_opt.certificates.certificate import Certificate
from oracle_opt.generators import Kelley, LevelSet, NewtonBundle, ProximalBundle
from oracle_opt.oracles import GramBank, MKLOracle, uci_bank
from oracle_opt.proof.claim import ClaimKind, CutClaim, ValueClaim

RUNS = {
    "lp/stocfor1": Kelley,
    "qp/CVXQP1_S": Kelley,
    "stochastic/4node-16": Kelley,
    "gap/d05100": LevelSet,
    "tsp/st70": ProximalBundle,
    "mcf/planar80": ProximalBundle,
    "uflp/capa": ProximalBundle,
    "max-cut(n=200, rank=5)": None,
}
QUICK = ("lp/stocfor1",)
HEADINGS = (
    "run",
    "variables",
    "cuts",
    "writing, s",
    "file, kB",
    "compressed",
    "check, s",
    "alone, s",
    "data, s",
    "exact, s",
)
ROUNDS = 7


class Pieces:
    """The largest of affine functions."""

    def __init__(self, n, pieces):
        rng = np.random.default_rng(0)
        self.slopes, self.heights = rng.normal(size=(pieces, n)), rng.normal(size=pieces)

    def __call__(self, z):
        """Value and slope."""
        values = self.heights + self.slopes @ z
        return float(values.max()), self.slopes[int(values.argmax())]


def timed(call):
    """What it returns, and processor seconds."""
    began = process_time()
    found = call()
    return found, process_time() - began


def program_seconds(path):
    """Processor seconds of the stand-alone program, whose answer must be that the file holds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, program.__file__, str(path)], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def row(words, certificate, writing, oracle, exact=False):
    """Cells of one certificate, checked in every way."""
    with TemporaryDirectory() as folder:
        plain, small = Path(folder) / "run.jsonl", Path(folder) / "run.jsonl.gz"
        (_, saving) = timed(lambda: certificate.save(plain))
        certificate.save(small)
        sizes = [f"{path.stat().st_size / 1e3:.3g}" for path in (plain, small)]
        found, check = timed(lambda: Certificate.load(plain).verify())
        alone = program_seconds(plain)
    assert found.holds
    against = fractions = ""
    if oracle is not None:
        verdict, seconds = timed(lambda: certificate.verify(oracle))
        against = f"{seconds:.2g}" + ("" if verdict.proven else f" ({verdict.n_given} given)")
    if exact:
        fractions = f"{timed(lambda: certificate.verify(oracle, exact=True))[1]:.2g}"
    n, cuts = certificate.value.point.size, len(certificate.cuts)
    cells = f"{writing + saving:.2g}", *sizes, f"{check:.2g}", f"{alone:.2g}", against, fractions
    say(" | ".join(map(str, (words, n, cuts, *cells))))
    return words, f"{n:,}", cuts, *cells


def of_pieces(n, count):
    """A certificate of exactly so many dense cuts, with random multipliers."""
    function, box = Pieces(n, count), Box(-np.ones(n), np.ones(n))
    oracle = FunctionOracle(function, box)
    cuts = [
        CutClaim(ClaimKind.MINORANT, height, slope)
        for height, slope in zip(function.heights.tolist(), function.slopes, strict=True)
    ]
    multipliers = np.random.default_rng(1).uniform(0.5, 1.5, count)
    weights = multipliers / multipliers.sum()
    slope, value = weights @ function.slopes, function(np.zeros(n))[0]
    lower = float(weights @ function.heights - np.abs(slope).sum()) - 1e-9
    claim, facts = ValueClaim(np.zeros(n), value), {"problem": oracle.identity()}
    made, writing = timed(lambda: Certificate.of(box, cuts, multipliers, claim, lower, value, facts))
    return row(f"{count} cuts of {n:,} variables, made up", made, writing, None)


def of_run(words, oracle, generator, start=None, exact=False, rtol=1e-6):
    """The certificate of a run."""
    result = minimize(oracle, generator, start, rtol=rtol, max_calls=2000, max_seconds=60.0)
    made, writing = timed(result.certificate)
    return row(f"{words}, {result.n_calls} calls", made, writing, oracle, exact)


def of_queries(words, oracle, count):
    """A certificate of exactly so many cuts of an oracle, at random weights, each with the same multiplier."""
    rng, p = np.random.default_rng(0), oracle.domain.dimension
    cuts = [oracle.query(Query(oracle.domain.project(w))) for w in rng.dirichlet(np.full(p, 0.05), count)]
    claims = []
    for cut in cuts:
        witness = {name: cut.extras[name] for name in oracle.witness if name in cut.extras}
        constant = cut.constant - cut_rounding(cut.point, cut.value, cut.subgradient)[0]
        claims.append(CutClaim(ClaimKind.MINORANT, constant, cut.subgradient, witness=witness))
    slope, best = np.mean([cut.subgradient for cut in cuts], axis=0), min(cuts, key=lambda cut: cut.upper)
    lower = float(np.mean([one.constant for one in claims]) + slope.min())
    lower -= 1e-12 * abs(lower)
    claim = ValueClaim(best.point, best.upper, {name: best.extras[name] for name in ("signed_dual", "bias")})
    facts = {"problem": oracle.problem_identity()}
    made, writing = timed(
        lambda: Certificate.of(oracle.domain, claims, np.ones(count), claim, lower, best.upper, facts)
    )
    return row(words, made, writing, oracle)


def drawn_kernels(n, p):
    """Random linear kernels, and labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3 * p))
    y = np.where(X[:, :6].sum(axis=1) + rng.normal(size=n) > 0, 1.0, -1.0)
    return MKLOracle(GramBank([Z @ Z.T / n for Z in X.T.reshape(p, 3, n).transpose(0, 2, 1)]), y, C=100.0)


def costs(quick):
    """Rows of the first table."""
    yield of_pieces(100, 30) if quick else of_pieces(1000, 300)
    yield of_run("kernels of 30 points", drawn_kernels(30, 20), LevelSet(), exact=True)
    if not quick:
        large = drawn_kernels(400, 400)
        yield of_run("kernels of 400 points", large, LevelSet())
        yield of_queries("kernels of 400 points, random weights", large, 300)
        X, y = training_part("wdbc")
        for generator in (LevelSet(), NewtonBundle()):
            oracle = MKLOracle(uci_bank(X), y, C=100.0)
            yield of_run(f"kernels of wdbc, {len(y)} points, `{type(generator).__name__}`", oracle, generator)
    for name, kind in RUNS.items():
        if name in problems.missing() or name.partition("/")[0] in problems.missing() or (quick and name not in QUICK):
            continue
        instance = problems.find(name)[0]()
        generator = None if kind is None else kind()
        yield of_run(f"`{name}`", instance.oracle, generator, instance.start, exact=name in QUICK)


def measured(python, name):
    """A run in a process of its own."""
    command = [python, str(ROOT / "benchmarks" / "_provenance_runs.py"), name]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def origins(before):
    """Rows of the second table: the same runs under both versions."""
    for name in [*KERNELS, *SUITE]:
        found = {python: [] for python in (before, sys.executable)}
        for _ in range(ROUNDS):
            for python, runs in found.items():
                runs.append(measured(python, name))
        cells = []
        for field, unit in (("seconds", 1.0), ("bytes", 1e6)):
            old, new = (median(run[field] for run in runs) / unit for runs in found.values())
            cells += [f"{old:.3g}", f"{new:.3g}", f"{new / old:.2f}" if old else "-"]
        calls = "/".join(str(runs[0]["calls"]) for runs in found.values())
        say(f"{name} {calls} {cells}")
        yield (name, (KERNELS | SUITE)[name].__name__, calls, *cells)


def main():
    """Print the tables."""
    options = parser(__doc__.splitlines()[0])
    options.add_argument("--before", metavar="PYTHON", help="of an environment with an older version")
    chosen = options.parse_args()
    table(HEADINGS, list(costs(chosen.quick)))
    if chosen.before:
        print("What keeping the origins of all cuts adds to a run, under an older version and now:\n")
        heads = ("s before", "now", "ratio", "MB before", "now", "ratio")
        table(("problem", "generator", "calls before/now", *heads), list(origins(chosen.before)))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
