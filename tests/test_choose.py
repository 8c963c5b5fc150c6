"""The generator that `minimize` chooses: the rule line by line, that it can serve, and what the result says of it."""

import subprocess
import sys

import cvxpy as cp
import numpy as np
import own_domains as own
import pytest
from identity_oracles import ORACLES
from journal_runs import assert_same_history
from table_problems import PROBLEMS

from oracle_opt import AnalyticUpdate, Answer, Curvature, Eigenpairs, FunctionOracle, Oracle, Status, minimize
from oracle_opt.cuts import FeasibilityCut
from oracle_opt.domains import Ball, Box, Domain, FreeSpace, NonnegativeOrthant, Polyhedron, ProductOfSimplices, Simplex
from oracle_opt.errors import CapabilityMismatch, InvalidArgument, JournalMismatch
from oracle_opt.generator import QueryPointGenerator, Step
from oracle_opt.generators import Kelley, LevelSet, choose_generator, explain_choice
from oracle_opt.oracles import ConicOracle


class States(Oracle):
    """An oracle of a user's own class that states what it is told to, and is not to be called."""

    def __init__(self, domain, *gives, convex=True, polyhedral=False, curved=False):
        self.domain, self.gives, self.convex = domain, frozenset(gives), convex
        self.polyhedral, self.curved = polyhedral, curved

    def query(self, query):
        raise AssertionError("the choice is made before the first call")


class Unknown(Domain):
    """A set of which a user tells the three necessary things alone."""

    def __init__(self, of):
        self.of, self.dimension = of, of.dimension

    def project(self, point, metric=None):
        return self.of.project(point, metric)

    def minimize_linear(self, slope):
        return self.of.minimize_linear(slope)

    def interior_point(self):
        return self.of.interior_point()


def box(n):
    return Box(-np.ones(n), np.ones(n))


def half_space(n):
    return Polyhedron(np.ones((1, n)), np.ones(1), lower=-1, upper=1)


OWN_SIMPLEX, OWN_BOX = own.ScaledSimplex(own.SCALE), own.BudgetBox(own.LOWER, own.UPPER, own.PRICES, own.BUDGET)
ELLIPSE = own.Ellipsoidal(own.CENTER, own.AXES)
RULE = [
    ("SPG", States(box(5), convex=False)),
    ("SPG", States(OWN_SIMPLEX, Curvature, convex=False)),
    ("Subgradient", States(box(5), FeasibilityCut, convex=False)),
    ("Ellipsoid", States(ELLIPSE)),
    ("Ellipsoid", States(Ball(10))),
    ("Ellipsoid", States(Unknown(box(3)), Curvature)),
    ("SPG", States(Ball(11))),
    ("SPG", States(Unknown(FreeSpace(3, np.inf)))),
    ("Ellipsoid", States(Ball(11), FeasibilityCut)),
    ("Subgradient", States(Unknown(FreeSpace(3, np.inf)), FeasibilityCut)),
    ("SpectralBundle", States(FreeSpace(60, 10.0), Eigenpairs)),
    ("SpectralBundle", States(own.Everywhere(3, 9.0), Eigenpairs)),
    ("SpectralBundle", States(FreeSpace(3, np.inf), Eigenpairs)),
    ("ProximalBundle", States(box(3), Eigenpairs)),
    ("AnalyticCenter", States(FreeSpace(60, 10.0), Eigenpairs, FeasibilityCut)),
    ("ProximalBundle", States(FreeSpace(60, np.inf))),
    ("ProximalBundle", States(NonnegativeOrthant(60), FeasibilityCut)),
    ("NewtonBundle", States(Simplex(60), Curvature)),
    ("NewtonBundle", States(OWN_SIMPLEX, Curvature)),
    ("AnalyticCenter", States(OWN_SIMPLEX, Curvature, FeasibilityCut)),
    ("ProximalBundle", States(ProductOfSimplices([30, 30]), Curvature)),
    ("ProximalBundle", States(OWN_SIMPLEX)),
    ("Kelley", States(OWN_SIMPLEX, polyhedral=True)),
    ("ProximalBundle", States(Simplex(60), AnalyticUpdate)),
    ("Kelley", States(half_space(3), FeasibilityCut)),
    ("AnalyticCenter", States(half_space(3), FeasibilityCut, curved=True)),
    ("Kelley", States(OWN_BOX, FeasibilityCut)),
    ("Kelley", States(OWN_BOX, Curvature)),
    ("Kelley", States(box(60), FeasibilityCut, polyhedral=True)),
    ("ProximalBundle", States(box(60), polyhedral=True)),
    ("AnalyticCenter", States(box(60), FeasibilityCut)),
    ("AnalyticCenter", States(FreeSpace(60, 10.0), FeasibilityCut, Curvature)),
    ("SPG", States(NonnegativeOrthant(60, 9.0), AnalyticUpdate)),
    ("SPG", States(NonnegativeOrthant(60), AnalyticUpdate)),
    ("AnalyticCenter", States(NonnegativeOrthant(60, 9.0), AnalyticUpdate, FeasibilityCut)),
    ("ProximalBundle", States(NonnegativeOrthant(60, 9.0))),
    ("ProximalBundle", States(FreeSpace(10, 9.0))),
    ("ProximalBundle", States(box(10))),
    ("ProximalBundle", States(box(19), Curvature)),
    ("ProximalBundle", States(OWN_BOX)),
    ("ProximalBundle", States(half_space(20))),
]


@pytest.mark.parametrize(("name", "oracle"), RULE, ids=lambda value: value if isinstance(value, str) else "")
def test_the_rule(name: str, oracle: Oracle) -> None:
    generator = choose_generator(oracle)
    assert repr(generator) == repr(type(generator)())
    assert type(generator).__name__ == name
    assert explain_choice(oracle).startswith(f"No generator was given, and {name}() was chosen: ")
    assert minimize(oracle, max_calls=0).status is Status.MAX_CALLS  # it is not refused


def test_choices_and_explanations_are_pairs() -> None:
    """Every reason belongs to one generator, and oracles that state the same are treated the same."""
    pairs = {(explain_choice(oracle).partition("chosen: ")[2], name) for name, oracle in RULE}
    assert len(pairs) == len({reason for reason, _ in pairs})
    for name, oracle in RULE:
        assert type(choose_generator(oracle)).__name__ == name


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_it_serves_every_problem_of_the_table(problem) -> None:
    oracle = problem.make()
    result = minimize(oracle, point=problem.start, max_calls=6)
    assert result.n_calls > 0
    assert result.choice.startswith(explain_choice(oracle))
    assert (result.generator == repr(choose_generator(oracle))) == (result.choice == explain_choice(oracle))


@pytest.mark.campaign(5)
@pytest.mark.parametrize(
    "kind", [kind for kind in ORACLES if kind is not FunctionOracle], ids=lambda kind: kind.__name__
)
def test_it_serves_every_shipped_oracle(kind) -> None:
    """Not only as it comes: also with the arguments that make it one of another kind."""
    case = ORACLES[kind]
    changes = [{}, *({name: value} for name, values in case.changed.items() for value in values)]
    for change in changes:
        oracle = kind(**(case.arguments | change))
        result = minimize(oracle, max_calls=3, first=False)
        assert (result.generator == repr(choose_generator(oracle))) == ("went on" not in result.choice)


def test_the_result_says_what_was_chosen_and_what_was_given() -> None:
    oracle = FunctionOracle(lambda z: (float(abs(z - 0.2).sum()), np.sign(z - 0.2)), box(3))
    chosen, given = minimize(oracle, atol=1e-6), minimize(oracle, Kelley(max_cuts=30), atol=1e-6)
    assert chosen.success
    assert given.success
    assert chosen.generator == "ProximalBundle(descent=0.1, proximal=None, max_cuts=1000)"
    assert chosen.choice == (
        "No generator was given, and ProximalBundle() was chosen: nothing else is known of the function."
    )
    assert chosen.message.endswith(chosen.choice)
    assert f"generator:     {chosen.generator}\n" in str(chosen)
    assert given.generator == "Kelley(chebyshev=False, max_cuts=30, tune_accuracy=False)"
    assert given.choice == ""
    assert "chosen" not in str(given)
    assert f"generator:     {given.generator}\n" in str(given)


def test_a_run_that_fails_says_it_too() -> None:
    with pytest.raises(AssertionError) as caught:
        minimize(States(box(60)))
    assert caught.value.result.choice.startswith("No generator was given, and ProximalBundle() was chosen")
    assert caught.value.result.generator.startswith("ProximalBundle(descent=0.1")


class Forgetful(QueryPointGenerator):
    """It does not keep its parameter, so that it has no words for itself."""

    def __init__(self, step):
        pass

    def reset(self, domain, point):
        self._point = point

    def ask(self):
        return self._point

    def tell(self, cut):
        return Step.SERIOUS


def test_a_generator_without_words_runs_all_the_same() -> None:
    oracle = FunctionOracle(lambda z: (float(z @ z), 2 * z), box(2))
    assert minimize(oracle, Forgetful(1.0), max_calls=1).generator == "Forgetful"


class Color(Answer):
    """What no shipped generator takes, and none may ignore."""

    words, optional = "colors", False


def test_what_no_generator_can_serve_is_refused_as_ever() -> None:
    with pytest.raises(CapabilityMismatch, match=r"ProximalBundle cannot serve States on .*: it takes no colors"):
        minimize(States(box(3), Color))
    with pytest.raises(InvalidArgument, match="`oracle` must be an Oracle, got function"):
        minimize(lambda z: z)
    with pytest.raises(InvalidArgument, match="`generator` must be a QueryPointGenerator"):
        minimize(States(box(3)), LevelSet)


def test_a_journal_resumes_the_choice(tmp_path) -> None:
    """The same choice is made again; another generator's journal it is not."""
    target = np.array([0.1, 0.2, 0.3, 0.4])
    calls = []

    def function(z):
        calls.append(z)
        return float(np.abs(z - target).sum()), np.sign(z - target)

    oracle, path = FunctionOracle(function, Simplex(4), name="absolute"), tmp_path / "journal"
    whole = minimize(oracle, rtol=0, max_calls=6)
    minimize(oracle, rtol=0, max_calls=3, journal=path)
    calls.clear()
    resumed = minimize(oracle, rtol=0, max_calls=6, journal=path, journal_check=False)
    assert len(calls) == 3
    assert_same_history(whole, resumed)
    assert resumed.choice == whole.choice != ""
    assert resumed.generator == whole.generator
    for given in (choose_generator(oracle), LevelSet()):  # the first of them would not be followed by another
        with pytest.raises(JournalMismatch, match="another generator"):
            minimize(oracle, given, journal=path)


def test_generators_are_loaded_only_when_one_is_chosen() -> None:
    code = """
import sys
from oracle_opt import Box, FunctionOracle, minimize
assert "oracle_opt.generators" not in sys.modules
minimize(FunctionOracle(lambda z: (float(z @ z), 2 * z), Box([0], [1])), max_calls=1)
assert "oracle_opt.generators" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("seed", range(3))
def test_curved_cones_with_equations_get_a_method_that_ends(seed) -> None:
    rng, n = np.random.default_rng(seed), 5
    X, C, inside = cp.Variable((n, n), symmetric=True), rng.normal(size=(n, n)), rng.normal(size=(n, n))
    inside = inside @ inside.T / n
    rows = [row + row.T for row in rng.normal(size=(3, n, n))]
    equations = [cp.trace(row @ X) == np.trace(row @ inside) for row in [np.eye(n), *rows]]
    given = cp.Problem(cp.Minimize(cp.trace((C + C.T) @ X)), [X >> 0, *equations])
    result = minimize(ConicOracle.from_cvxpy(given), rtol=1e-5, first=False)
    assert str(result.generator).startswith("AnalyticCenter")
    assert result.success
    assert result.upper_bound == pytest.approx(given.solve(solver="CLARABEL"), rel=1e-4)
