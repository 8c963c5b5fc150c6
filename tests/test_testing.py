"""Every shipped domain, oracle and generator passes what `oracle_opt.testing` asks of a plug-in."""

import cvxpy as cp
import numpy as np
import pytest
from identity_oracles import ORACLES

import oracle_opt
from oracle_opt import Oracle, QueryPointGenerator, SequentialGenerator, domains, generators, minimize, oracles
from oracle_opt.domains import Ball, Box, Domain, FreeSpace, NonnegativeOrthant, Polyhedron, ProductOfSimplices, Simplex
from oracle_opt.generators import AnalyticCenter
from oracle_opt.oracles import BendersOracle, ConicOracle, CvxpyOracle, LagrangianOracle, RelaxedSolution
from oracle_opt.testing import check_domain, check_generator, check_oracle, small_domains, small_problems

RNG = np.random.default_rng(6)
ROWS, SIDES = RNG.normal(size=(6, 5)), RNG.uniform(0.2, 0.8, 6)
EQUATIONS = {"equality_matrix": RNG.normal(size=(2, 5)), "equality_rhs": [0.1, -0.2]}
DOMAINS = [
    Simplex(6),
    Simplex(1),
    Simplex(6, 3.5),
    ProductOfSimplices([1, 3, 2]),
    ProductOfSimplices([2, 2, 2], radius=0.5),
    Box(-np.ones(6), np.arange(1.0, 7.0)),
    Box([-np.inf, 0, -1], [0, np.inf, np.inf]),
    Box([0.0, 1.0, -1.0], [0.0, 2.0, 3.0]),
    Box(np.arange(6.0) - 9.0, np.arange(6.0) - 8.5),
    NonnegativeOrthant(3),
    NonnegativeOrthant(6, radius=200.0),
    NonnegativeOrthant(6, radius=0.3),
    Ball(6, 2.0, np.arange(6.0)),
    Ball(6, 0.7, 5.0 - np.arange(6.0)),
    FreeSpace(3, np.inf),
    FreeSpace(6, 3.0, 2.0 - np.arange(6.0)),
    FreeSpace(6, 1000.0),
    Polyhedron(ROWS, SIDES, lower=-1, upper=1),
    Polyhedron(ROWS, SIDES, lower=-1, upper=1, **EQUATIONS),
    Polyhedron([[1, 1]], [1], lower=0),
]


@pytest.mark.campaign(2)
@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
@pytest.mark.parametrize("seed", range(2))
def test_domains(domain: Domain, seed: int) -> None:
    check_domain(domain, other=Box([0.0], [1.0]), seed=seed)


def test_no_domain_is_left_out() -> None:
    shipped = {getattr(domains, name) for name in domains.__all__}
    shipped = {kind for kind in shipped if issubclass(kind, Domain) and kind is not Domain}
    assert {type(domain) for domain in DOMAINS} == shipped
    assert {type(domain) for domain in small_domains()} == shipped


def _relaxed(u: np.ndarray) -> RelaxedSolution:
    """min x1 + 2 x2 + u @ (A x), x in {0, 1}^2."""
    A = np.array([[1.0, -1.0], [2.0, 0.5]])
    x = (np.array([1.0, 2.0]) + u @ A < 0).astype(float)
    return RelaxedSolution(x @ [1.0, 2.0], A @ x, solution=x)


def _conic() -> ConicOracle:
    """A quadratic over second-order, semidefinite and exponential cones; the origin is feasible."""
    x, X = cp.Variable(2), cp.Variable((2, 2), symmetric=True)
    cones = [cp.norm(x) <= 1, X + np.eye(2) >> 0, cp.exp(x[0]) <= 2 + X[0, 1], cp.abs(cp.vec(X, order="F")) <= 1]
    return ConicOracle.from_cvxpy(cp.Problem(cp.Minimize(cp.sum_squares(x - 2) + X[0, 0]), cones))


OF_THEIR_OWN = {
    ConicOracle: _conic,
    LagrangianOracle: lambda: LagrangianOracle(_relaxed, [0.5, 0.5], inequality=[True, False], radius=5.0),
}
HOLD_SOLVERS = (BendersOracle, ConicOracle, CvxpyOracle, LagrangianOracle)  # or functions: these cannot be pickled


@pytest.mark.parametrize("kind", [kind for kind in ORACLES if kind is not oracle_opt.FunctionOracle])
def test_oracles(kind: type[Oracle]) -> None:
    """As they stand in the test of identities, each beside one of other data."""
    case = ORACLES[kind]
    name, values = next(iter(case.changed.items()))
    oracle = OF_THEIR_OWN[kind]() if kind in OF_THEIR_OWN else case.make(**case.arguments)
    other = case.make(**case.arguments | {name: values[0]})
    feasible = []
    if kind is ConicOracle:  # two points that are not of one cut
        feasible = [minimize(oracle, AnalyticCenter(), rtol=rtol, max_calls=500).point for rtol in (0.5, 1e-2)]
    check_oracle(oracle, other=other, feasible=feasible, pickles=kind not in HOLD_SOLVERS)


@pytest.mark.campaign(2)
@pytest.mark.parametrize("domain", small_domains(), ids=repr)
def test_small_problems(domain: Domain) -> None:
    """The problems that generators are held against are true themselves."""
    for problem in small_problems(domain, seed=1):
        if np.isfinite(problem.optimum):
            found = minimize(problem.oracle, generators.Ellipsoid(), rtol=0, atol=1e-6, max_calls=2000)
            assert found.lower_bound - 1e-6 <= problem.optimum <= found.upper_bound + 1e-6
            check_oracle(problem.oracle, feasible=[found.point])


def test_no_oracle_is_left_out() -> None:
    shipped = [getattr(oracles, name) for name in oracles.__all__]
    assert {one for one in shipped if isinstance(one, type) and issubclass(one, Oracle)} <= set(ORACLES)


class Halving(SequentialGenerator):
    """Projected gradient whose step is halved until the value falls: a generator of a user's own."""

    def __init__(self, first: float = 1.0) -> None:
        self.first = first

    def queries(self, domain, point):
        self.center = cut = yield point
        length = self.first
        while length > 1e-12:
            trial = yield domain.project(cut.point - length * cut.subgradient)
            if trial.upper < cut.upper:
                self.center = cut = trial
            else:
                length *= 0.5


def test_generators_of_a_users_own_and_what_they_refuse() -> None:
    """The shipped ones are in test_conformance_contract.py."""
    names = check_generator(Halving())
    assert len(names) == len(set(names))
    assert {name.partition(" on ")[2] for name in names} == {repr(domain) for domain in small_domains()}
    assert not any("feasib" in name for name in names)
    classes = [thing for name in generators.__all__ if isinstance(thing := getattr(generators, name), type)]
    assert len(classes) >= 15
    assert all(issubclass(one, QueryPointGenerator) for one in classes)
