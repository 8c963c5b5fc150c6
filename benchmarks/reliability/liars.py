"""Oracles that lie: every run ends in a status or in a clear error with the result so far, whatever is answered.

An honest oracle of a random convex function with a known minimizer answers, and a random lie is told about some of its
answers: numbers that are none, other types and shapes, wrong values, subgradients, errors, bounds, summands and points,
arrays that change later, feasibility cuts out of place, exceptions of all kinds, values that drift, functions that are
not convex. A run may end with a status; with `InvalidCut`; or with the oracle's own exception; each carries the
result. Where the lie amounts to another convex function, or to none, bounds are held against its optimum. Runs
are made in a process of its own, which is killed if it does not answer.
"""

import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
from _guard import Abandoned, guarded
from _methods import METHODS

from oracle_opt import AnalyticUpdate, Curvature, FeasibilityCut, FunctionOracle, ObjectiveCut, Oracle, Status, minimize
from oracle_opt.domains import Ball, Box, FreeSpace, NonnegativeOrthant, Polyhedron, ProductOfSimplices, Simplex
from oracle_opt.errors import EmptyLocalizationSet, Exhausted, InvalidCut

UNIT = "runs with lying oracles"
FULL = 5000
SMALL = 60
LIMIT = 30.0
DRIFT = 1e-2


class Other(Exception):
    """What no library knows."""

    def __init__(self, one, two):
        super().__init__(one, two)


class Closed(Exception):
    """Takes no attribute of this name."""

    @property
    def result(self):
        """Nothing."""
        return None


RAISED = (
    lambda: ValueError("no value"),
    lambda: Other(1, 2),
    lambda: Closed("closed"),
    lambda: Exhausted("out of place"),
    lambda: EmptyLocalizationSet("nowhere"),
    lambda: StopIteration("stop"),
    lambda: GeneratorExit("exit"),
    lambda: SystemExit(3),
    lambda: KeyboardInterrupt(),
    lambda: RecursionError("deep"),
    lambda: MemoryError(),
    lambda: np.linalg.LinAlgError("singular"),
    lambda: FloatingPointError("inexact"),
)
WILD = (np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-320, 0.0, -0.0, 1e16)
ODD = (None, "1.0", "word", 1j, [1.0], (), {}, object(), b"1", np.datetime64("2001-01-01"), Fraction(1, 3), True, 7)


def odd_array(g, rng):
    """Something in place of an array."""
    return (
        lambda: list(g),
        lambda: tuple(g),
        lambda: g.astype(np.float32),
        lambda: g.astype(np.longdouble),
        lambda: np.rint(g).astype(int),
        lambda: g.astype(object),
        lambda: g.astype(complex),
        lambda: g.astype(str),
        lambda: g[:, None],
        lambda: g[None, :],
        lambda: np.append(g, 1.0),
        lambda: g[:-1],
        lambda: np.zeros(0),
        lambda: np.float64(1.0),
        lambda: np.array(3.0),
        lambda: np.ma.masked_array(g, mask=g > 0),
        lambda: np.asmatrix(g),
        lambda: np.broadcast_to(g[:1], g.shape),
        lambda: g[::-1],
        lambda: None,
        lambda: "slope",
        lambda: iter(g),
        lambda: [list(g), [1.0]],
        lambda: {1.0, 2.0},
    )[int(rng.integers(24))]()


def with_entry(g, rng, value):
    """The array with one entry changed."""
    g = np.array(g)
    g[rng.integers(len(g))] = value
    return g


class Liar(Oracle):
    """Answers well, but for a lie about some of its answers."""

    def __init__(self, domain, function, lie, often, seed, feasibility=False):
        self.domain, self.function, self.lie, self.often = domain, function, lie, often
        self.gives = frozenset({Curvature, FeasibilityCut} if feasibility else {Curvature})
        self.rng = np.random.default_rng(seed)
        self.raised = None
        self.calls = 0
        self.buffer = np.zeros(domain.dimension)

    def query(self, query):
        """Answer."""
        self.calls += 1
        z = query.point
        value, slope = self.function(z)
        cut = ObjectiveCut(z, value, slope)
        if self.rng.random() >= self.often:
            return cut
        try:
            return self.lie(self, cut, self.rng)
        except BaseException as problem:
            self.raised = problem
            raise


def raises(oracle, cut, rng):
    """One of many exceptions."""
    raise RAISED[int(rng.integers(len(RAISED)))]()


def feasibility(oracle, cut, rng):
    """A feasibility cut of a feasible point, right or wrong."""
    normal = rng.normal(size=len(cut.point))
    kind = int(rng.integers(8))
    wild = float(rng.choice(WILD))
    wrong = (
        FeasibilityCut(cut.point, 1.0, normal),
        FeasibilityCut(cut.point, wild, normal),
        FeasibilityCut(cut.point, 1.0, 0 * normal),
        FeasibilityCut(cut.point, 1.0, with_entry(normal, rng, wild)),
        FeasibilityCut(cut.point, 1e-300, normal),
        FeasibilityCut(cut.point, 1.0, normal, error=wild),
        FeasibilityCut(cut.point, 1.0, normal, further=(FeasibilityCut(cut.point, 1.0, -normal),)),
        FeasibilityCut(
            cut.point, 1.0, normal, further=(FeasibilityCut(cut.point, wild, with_entry(normal, rng, wild)),)
        ),
    )
    return wrong[kind]


def summands(oracle, cut, rng):
    """Summands and further cuts that do not fit."""
    wild = float(rng.choice(WILD))
    half = replace(cut, value=0.5 * cut.value, subgradient=0.5 * cut.subgradient)
    kind = int(rng.integers(9))
    return (
        lambda: replace(cut, summands=(half, half)),
        lambda: replace(cut, summands=(half,) * int(rng.integers(1, 4))),
        lambda: replace(cut, summands=[half, half]),
        lambda: replace(cut, summands=None),
        lambda: replace(cut, summands=(1.0, 2.0)),
        lambda: replace(cut, summands=(half, replace(half, subgradient=with_entry(half.subgradient, rng, wild)))),
        lambda: replace(cut, further=(replace(cut, value=wild),)),
        lambda: replace(cut, further=(replace(cut, subgradient=odd_array(cut.subgradient, rng)),)),
        lambda: replace(cut, further=(replace(cut, subgradient=-cut.subgradient),)),
    )[kind]()


def returns(oracle, cut, rng):
    """No cut at all."""
    return (
        None,
        (cut.value, cut.subgradient),
        cut.value,
        cut.subgradient,
        "cut",
        [cut],
        ObjectiveCut,
        ValueError("x"),
    )[int(rng.integers(8))]


def reuses(oracle, cut, rng):
    """An array that is overwritten in the next call, as only a `FunctionOracle` is protected against."""
    oracle.buffer[:] = cut.subgradient
    return replace(cut, subgradient=oracle.buffer)


LIES = {
    "a wild value": lambda o, c, r: replace(c, value=float(r.choice(WILD))),
    "an odd value": lambda o, c, r: replace(c, value=ODD[int(r.integers(len(ODD)))]),
    "a noisy value": lambda o, c, r: replace(c, value=c.value + r.normal()),
    "a slightly noisy value": lambda o, c, r: replace(c, value=c.value * (1 + 1e-9 * r.normal())),
    "another sign": lambda o, c, r: replace(c, value=-c.value, subgradient=-c.subgradient),
    "a value that drifts": lambda o, c, r: replace(c, value=c.value + DRIFT * o.calls),
    "a value that falls": lambda o, c, r: replace(c, value=c.value - DRIFT * o.calls),
    "a wild entry": lambda o, c, r: replace(c, subgradient=with_entry(c.subgradient, r, float(r.choice(WILD)))),
    "an odd subgradient": lambda o, c, r: replace(c, subgradient=odd_array(c.subgradient, r)),
    "minus the subgradient": lambda o, c, r: replace(c, subgradient=-c.subgradient),
    "a random subgradient": lambda o, c, r: replace(c, subgradient=r.normal(size=len(c.point))),
    "a subgradient of 0": lambda o, c, r: replace(c, subgradient=0 * c.subgradient),
    "a large subgradient": lambda o, c, r: replace(c, subgradient=10.0 ** r.uniform(5, 200) * c.subgradient),
    "a wild error": lambda o, c, r: replace(c, error=float(r.choice([*WILD, -1.0]))),
    "an odd error": lambda o, c, r: replace(c, error=ODD[int(r.integers(len(ODD)))]),
    "a wild bound": lambda o, c, r: replace(c, lower_bound=float(r.choice(WILD))),
    "an odd bound": lambda o, c, r: replace(c, lower_bound=ODD[int(r.integers(len(ODD)))]),
    "another point": lambda o, c, r: replace(c, point=c.point + r.normal(size=len(c.point))),
    "an odd point": lambda o, c, r: replace(c, point=odd_array(c.point, r)),
    "an odd curvature": lambda o, c, r: replace(c, answers=(Curvature(odd_array(c.subgradient, r)),)),
    "a wild curvature": lambda o, c, r: replace(c, answers=(Curvature(np.full((2, len(c.point)), r.choice(WILD))),)),
    "curvature twice": lambda o, c, r: replace(c, answers=2 * (Curvature(np.eye(len(c.point))),)),
    "odd answers": lambda o, c, r: replace(c, answers=ODD[int(r.integers(len(ODD)))]),
    "an answer that is not declared": lambda o, c, r: replace(c, answers=(AnalyticUpdate(c.point),)),
    "feasibility cuts": feasibility,
    "summands": summands,
    "no cut": returns,
    "an array used again": reuses,
    "an exception": raises,
}
TRUE = {  # what amounts to a convex function, or only looks odd: its minimum, from that of the honest one
    "nothing": (lambda o, c, r: c, lambda least: least),
    "a constant": (lambda o, c, r: replace(c, value=c.value + 3.0), lambda least: least + 3.0),
    "a factor": (
        lambda o, c, r: replace(c, value=7.0 * c.value, subgradient=7.0 * c.subgradient),
        lambda least: 7 * least,
    ),
    "an honest error": (
        lambda o, c, r: replace(c, value=c.value - 0.01, error=0.01 if r.random() < 0.5 else 0.02),
        lambda least: least,
    ),
    "a list": (
        lambda o, c, r: replace(c, subgradient=list(c.subgradient), value=np.array(c.value)),
        lambda least: least,
    ),
    "an array used again by a function": (None, lambda least: least),
}


def random_domain(rng, n):
    """Of all kinds; those of the library's own are no liars."""
    ones = np.ones(n)
    return (
        lambda: Simplex(n),
        lambda: ProductOfSimplices([n // 2, n - n // 2], 2.0) if n > 1 else Simplex(n),
        lambda: Box(-ones, 2 * ones),
        lambda: NonnegativeOrthant(n, 10.0),
        lambda: Ball(n, 2.0),
        lambda: FreeSpace(n, 10.0),
        lambda: Polyhedron(np.ones((1, n)), [1.0], lower=-1.0, upper=1.0),
    )[int(rng.integers(7))]()


def random_function(rng, domain):
    """A convex function with its minimum and minimizer, a point of the domain."""
    n = domain.dimension
    target = domain.project(rng.normal(size=n))
    weights, least = rng.exponential(size=n) + 0.1, float(rng.choice([0.0, 1.0, -5.0]))
    if rng.random() < 0.5:
        return lambda z: (float(weights @ np.abs(z - target)) + least, weights * np.sign(z - target)), least
    return lambda z: (float(weights @ (z - target) ** 2) + least, 2 * weights * (z - target)), least


def not_convex(rng):
    """Smooth functions with valleys, or without an end."""
    shift, kind = rng.normal(), int(rng.integers(3))
    if kind == 0:
        return lambda z: (float(np.sin(3 * z + shift).sum()), 3 * np.cos(3 * z + shift))
    if kind == 1:
        return lambda z: (float(-z @ z), -2 * z)
    return lambda z: (float(np.sqrt(np.abs(z)).sum()), 0.5 * np.sign(z) / np.sqrt(np.abs(z) + 1e-12))


def serves(generator, domain, feasibility):
    """Whether a generator takes the domain and feasibility cuts, if there are any."""
    if generator.needs or generator.refusal(domain):
        return False
    return FeasibilityCut in generator.takes or not feasibility


def one_run(item):
    """A message before the run, and one after it."""
    rng = np.random.default_rng(item)
    n = int(rng.integers(1, 7))
    domain = random_domain(rng, n)
    function, least = random_function(rng, domain)
    told = [*LIES, *TRUE, "a function that is not convex"][int(rng.integers(len(LIES) + len(TRUE) + 1))]
    often = float(rng.choice([0.05, 0.3, 1.0]))
    known = told in TRUE
    feasible = bool(told == "feasibility cuts" or rng.random() < 0.1)
    serving = [name for name, make in METHODS.items() if serves(make(), domain, feasible)]
    name = serving[int(rng.integers(len(serving)))]
    limits = {"rtol": float(rng.choice([0.0, 1e-6, 1e-12])), "max_calls": 60, "max_seconds": 10.0}
    words = f"{list(item)}: {told}, {often:g} of the answers, {name} on {domain!r} with {limits}"
    yield words
    if told == "an array used again by a function":
        buffer = np.zeros(n)

        def again(z):
            value, buffer[:] = function(z)
            z[:] = np.nan
            return value, buffer

        oracle = FunctionOracle(again, domain)
    elif told == "a function that is not convex":
        oracle = Liar(domain, not_convex(rng), LIES["a noisy value"], 0.0, item)
    else:
        lie = TRUE[told][0] if known else LIES[told]
        oracle = Liar(domain, function, lie, 1.0 if known else often, item, feasible)
    failures = []
    warnings.simplefilter("ignore")
    try:
        result = minimize(oracle, METHODS[name](), **limits)
        end = result.status.name
    except BaseException as problem:
        end = type(problem).__name__
        result = getattr(problem, "result", None)
        if not (isinstance(problem, InvalidCut) or problem is getattr(oracle, "raised", None)):
            failures.append(f"{words}: raised {problem!r}")
        if isinstance(problem, InvalidCut) and "`" not in str(problem) and "cut" not in str(problem):
            failures.append(f"{words}: does not say what is wrong: {problem}")
        if not isinstance(problem, Closed) and (result is None or result.status is not Status.FAILED):
            failures.append(f"{words}: {problem!r} carries no result")
        if known:
            failures.append(f"{words}: raised {problem!r} without a lie")
    if result is not None:
        if len(result.history) != result.n_calls or not result.message:
            failures.append(f"{words}: a result that does not fit its history")
        if np.isnan(result.upper_bound) or np.isnan(result.lower_bound):
            failures.append(f"{words}: bounds that are no numbers")
    if known and result is not None:
        if result.status in (Status.CONTRADICTION, Status.EMPTY, Status.INTERRUPTED):
            failures.append(f"{words}: {result.message}")
        truth = TRUE[told][1](least)
        slack = 1e-12 * (1 + abs(truth))
        if result.upper_bound < truth - slack or result.lower_bound > truth + slack:
            failures.append(f"{words}: {result.lower_bound!r} .. {result.upper_bound!r}, truth {truth!r}")
    yield failures, end


def run(count, seed, tally):
    """Make so many runs."""
    for item, message in guarded(one_run, [(seed, index) for index in range(count)], LIMIT):
        if isinstance(message, Abandoned):
            tally.trial(f"{list(item)}, last heard of {message.last}: {message.words}")
        elif isinstance(message, tuple):
            failures, end = message
            tally.trial(failures)
            tally.count(end)
