"""Certificates of random convex functions made of affine pieces: honest ones hold, by the file alone, too."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from oracle_opt import Ball, Box, FreeSpace, NonnegativeOrthant, Polyhedron, ProductOfSimplices, Simplex
from oracle_opt.certificates import verify
from oracle_opt.certificates.certificate import Certificate
from oracle_opt.proof.claim import ClaimKind, CutClaim, ValueClaim

N = 5
DOMAINS = {
    "simplex": lambda: Simplex(N, 2.0),
    "blocks": lambda: ProductOfSimplices([2, 3], 0.7),
    "box": lambda: Box(-np.ones(N), [1.0, 2.0, 3.0, -1.0, 0.5]),
    "promised box": lambda: Box(-np.ones(N), np.ones(N), promised=[[False], [True]]),
    "ball": lambda: Ball(N, 0.3, np.linspace(-1, 1, N)),
    "free space": lambda: FreeSpace(N, 7.0),
    "orthant": lambda: NonnegativeOrthant(N, 3.0),
    "polyhedron": lambda: Polyhedron(
        [[1, 2, 0.5, 1, 1]], [2.0], equality_matrix=[[1, -1, 0, 0, 0]], equality_rhs=[0.1], lower=-1.0
    ),
}


def pieces(rng, domain, m=6):
    """A certificate of the largest of some affine functions at an interior point, by random multipliers."""
    slopes, constants, weights = rng.normal(size=(m, N)), rng.normal(size=m), rng.dirichlet(np.ones(m))
    cuts = [CutClaim(ClaimKind.MINORANT, *pair) for pair in zip(constants.tolist(), slopes, strict=True)]
    point = domain.interior_point()
    lower = float(weights @ constants) + domain.minimize_linear(weights @ slopes)[0]
    return Certificate.of(
        domain, cuts, weights, ValueClaim(point, upper := float((slopes @ point + constants).max())), lower, upper
    )


@pytest.mark.parametrize("name", DOMAINS)
def test_honest_certificates_hold(name, tmp_path):
    domain = DOMAINS[name]()
    for seed in range(10):
        made = pieces(np.random.default_rng(seed), domain)
        read = Certificate.load(made.save(tmp_path / "run.jsonl"))
        assert read.records == made.records
        verdict = read.verify()
        assert verdict.holds
        assert (verdict.lower, verdict.upper) == (made.lower, made.upper)


def test_the_checker_runs_without_the_library(tmp_path):
    path = pieces(np.random.default_rng(0), Simplex(N)).save(tmp_path / "run.jsonl")
    command = [sys.executable, "-I", "-S", verify.__file__, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("holds, given the 6 cuts")
    assert len(Path(verify.__file__).read_text().splitlines()) < 300
