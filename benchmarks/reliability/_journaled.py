"""Random small runs for journals: every kind of cut and of warm start, and what can be compared of two runs."""

import numpy as np
from _tally import refusal

from oracle_opt import Ball, Box, FeasibilityCut, FunctionOracle, ObjectiveCut, Oracle, Polyhedron, Simplex, minimize
from oracle_opt.generators import (
    LBFGS,
    SPG,
    AnalyticCenter,
    Ellipsoid,
    Kelley,
    LevelSet,
    MirrorDescent,
    NewtonBundle,
    ProximalBundle,
    ReducedGradient,
    Subgradient,
)
from oracle_opt.oracles import BendersOracle, GramBank, MixedNormOracle, MKLOracle, RandomBlock, TwoStageProblem

COLUMNS = ("call", "step", "value", "error", "upper_bound", "lower_bound", "bound_source", "model_bound")


class Watched(Oracle):
    """Passes everything on and calls `after` when a query has been answered."""

    def __init__(self, inner, after):
        self.inner, self.after, self.domain, self.convex = inner, after, inner.domain, inner.convex
        self.gives, self.witness = inner.gives, inner.witness
        self.prove_cut, self.prove_value, self.missing_witness = (
            inner.prove_cut,
            inner.prove_value,
            inner.missing_witness,
        )

    def reset(self):
        self.inner.reset()

    def resume(self, cut):
        self.inner.resume(cut)

    def identity(self):
        return self.inner.identity()

    def problem_identity(self):
        return self.inner.problem_identity()

    def query(self, query):
        cut = self.inner.query(query)
        self.after()
        return cut


def pieces(rng):
    """Largest of affine functions, with summands or further cuts."""
    n, m = int(rng.integers(1, 6)), int(rng.integers(2, 12))
    A, b = rng.normal(size=(m, n)), rng.normal(size=m)
    inexact = rng.uniform() < 0.3

    def largest(z):
        values = A @ z + b
        first, second = np.argsort(-values, kind="stable")[:2]
        error = 0.01 * abs(values[first]) if inexact else 0.0
        also = ObjectiveCut(z, values[second], A[second], extras={"piece": int(second)})
        extras = {"piece": int(first), "values": values}
        return ObjectiveCut(z, values[first] - error, A[first], error, extras=extras, further=(also,))

    rows = Polyhedron(rng.choice([-1.0, 1.0], (3, n)), np.ones(3), lower=-1, upper=1)
    domain = [Box(-np.ones(n), np.ones(n)), Simplex(n + 1), Ball(n, 2.0), rows][int(rng.integers(4))]
    if domain.dimension > n:
        A = rng.normal(size=(m, n + 1))
    methods = [Kelley(), LevelSet(), ProximalBundle(), Subgradient()]
    generator = Subgradient() if isinstance(domain, Ball) else methods[int(rng.integers(len(methods)))]
    return FunctionOracle(largest, domain), generator


def smooth(rng):
    """A quadratic function."""
    n = int(rng.integers(1, 7))
    root, c = rng.normal(size=(n, n)), rng.normal(size=n)
    H = root @ root.T + 0.1 * np.eye(n)
    on_simplex = rng.uniform() < 0.5 and n > 1
    methods = [MirrorDescent(), ReducedGradient()] if on_simplex else [SPG(), LBFGS(), Ellipsoid()]
    domain = Simplex(n) if on_simplex else Box(-np.ones(n), np.ones(n))
    oracle = FunctionOracle(lambda z: (0.5 * z @ H @ z + c @ z, H @ z + c), domain)
    return oracle, methods[int(rng.integers(len(methods)))]


def constrained(rng):
    """A linear function under a ball and an affine constraint, both seen by feasibility cuts alone."""
    n = int(rng.integers(2, 5))
    c, a = rng.normal(size=n), rng.normal(size=n)

    def answer(z):
        violated = []
        if (excess := float(z @ z) - 1.0) > 0:
            violated.append(FeasibilityCut(z, excess, 2 * z, error=1e-9))
        if (excess := float(a @ z) - 0.5) > 0:
            violated.append(FeasibilityCut(z, excess, a))
        if violated:
            first, *rest = violated
            return FeasibilityCut(z, first.violation, first.normal, tuple(rest), error=first.error)
        return float(c @ z), c

    oracle = FunctionOracle(answer, Box(-2 * np.ones(n), 2 * np.ones(n)), gives={FeasibilityCut})
    return oracle, [Kelley(), AnalyticCenter(), Ellipsoid()][int(rng.integers(3))]


def kernels(rng):
    """Kernel learning, whose oracles start warm."""
    n, p = 12, int(rng.integers(2, 5))
    X, y = rng.normal(size=(n, 2)), np.where(np.arange(n) % 2, 1.0, -1.0)
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    bank, C = GramBank([np.exp(-distances * g) for g in rng.uniform(0.1, 5.0, p)]), float(rng.uniform(0.5, 50.0))
    if rng.uniform() < 0.5:
        return MixedNormOracle(bank, y, C, groups=[[0], list(range(1, p))]), LevelSet()
    return MKLOracle(bank, y, C), [LevelSet(), NewtonBundle(), Kelley(), SPG()][int(rng.integers(4))]


def stages(rng):
    """A two-stage program with summands."""
    k = int(rng.integers(2, 6))
    demand = RandomBlock(np.full(k, 1.0 / k), rows=[1], rhs=rng.uniform(1, 9, (k, 1)))
    shop = TwoStageProblem([1, 1.5], [-3, 2], [[-1, -1], [0, 0]], np.eye(2) + 0.2, -np.inf, [0, 2], [demand], x_upper=8)
    return BendersOracle(shop, n_summands=int(rng.integers(1, k + 1))), [Kelley(), LevelSet()][int(rng.integers(2))]


def random_run(rng):
    """Makes an oracle anew, its generator, and the options of a run of 3 to 30 calls or so."""
    kind = KINDS[int(rng.integers(len(KINDS)))]
    seed = int(rng.integers(2**32))
    options = {"rtol": 10.0 ** -rng.uniform(3, 9), "max_calls": int(rng.integers(3, 30))}
    return (lambda: kind(np.random.default_rng(seed))[0]), kind(np.random.default_rng(seed))[1], options


def history(make, generator, options, after=lambda: None, **more):
    """The columns of a run that do not depend on the clock, and the words of its status."""
    oracle = Watched(make(), after)
    result = minimize(oracle, generator, **options, **more, probes=0)  # calls are counted
    _, words = refusal(result, oracle)
    if words:  # no run is compared that proves less than it says
        raise AssertionError(words[0])
    columns = {name: np.asarray(getattr(result.history, name)) for name in COLUMNS}
    return columns | {"point": np.asarray(result.point), "status": np.array([result.status.name])}


def differences(make, one, other, kept):
    """Names of what differs between two histories, of which the second had so many answers of the first.

    A `BendersOracle` knows bases from earlier calls, which a journal does not hold: by its tolerance, 1e-9, later
    answers may differ, so only the replayed ones must be the same, and the bounds must not contradict each other.
    """
    if not isinstance(make(), BendersOracle):
        return [name for name in one if not np.array_equal(one[name], other[name], equal_nan=one[name].dtype == float)]
    wrong = [name for name in ("value", "step", "lower_bound") if list(one[name][:kept]) != list(other[name][:kept])]
    for a, b in ((one, other), (other, one)):
        if a["lower_bound"][-1] > b["upper_bound"][-1] + 1e-6 * (1.0 + abs(b["upper_bound"][-1])):
            wrong.append("bounds that contradict each other")
    return wrong


KINDS = (pieces, smooth, constrained, kernels, stages)
