"""Every public object shows itself on one short line, whatever data it holds; a result prints in twelve."""

import dataclasses
import importlib
import inspect

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from small_results import small_results

import oracle_opt
import oracle_opt.datasets as D
import oracle_opt.generators as G
import oracle_opt.oracles as O
import oracle_opt.oracles.svm as S
import oracle_opt.study as T
from oracle_opt import minimize
from oracle_opt.words import shown

LONGEST = 400
N = 200
RNG = np.random.default_rng(0)
POINT = RNG.normal(size=N)
PUBLIC = ("oracle_opt", "oracle_opt.generators", "oracle_opt.oracles", "oracle_opt.oracles.svm", "oracle_opt.study")
MODULES = (*PUBLIC, "oracle_opt.datasets", "oracle_opt.learn")


def cut(**changes):
    """An objective cut with everything that one may carry."""
    small = oracle_opt.ObjectiveCut(POINT, 1.0, POINT)
    many = {"summands": (small,) * 9, "further": (small,) * 9, "extras": {"dual": POINT, "bias": 1.0}}
    return oracle_opt.ObjectiveCut(POINT, 1.5, POINT, 1e-9, **(many | changes))


def no_rows(point):
    return np.zeros((0, len(point))), np.zeros(0)


def simple_oracle():
    return oracle_opt.FunctionOracle(lambda z: (z @ z, 2 * z), oracle_opt.Simplex(N))


RESULT = minimize(simple_oracle(), G.LevelSet(), max_calls=20, keep_cuts=True)
KERNELS = [np.outer(v, v) + np.eye(12) for v in RNG.normal(size=(65, 12))]
LABELS = np.tile([1.0, -1.0], 6)
BANK = O.GramBank(KERNELS)
PROBLEM = O.TwoStageProblem(
    *(np.ones(N), np.ones(3), np.ones((4, N)), np.ones((4, 3)), -np.ones(4), np.ones(4)),
    [O.RandomBlock(np.full(50, 0.02), rows=[0], rhs=np.ones((50, 1)))] * 40,
    x_upper=1.0,
)
CONIC = O.ConicOracle(np.ones(N), np.eye(N), np.ones(N), [O.Nonnegative(1)] * N, P=np.eye(N))
BOX = oracle_opt.Box(POINT, POINT + 1)
MATRICES = [np.diag(row) for row in np.eye(20)]


class OwnBank(O.KernelBank):
    """A bank of a user's own, with the default repr."""

    n_kernels, n_points = 3, 4
    combine = quadratic_forms = row_products = cross = diagonal = digest = entries = None


def cvxpy_oracle():
    x, p = cp.Variable(30), cp.Parameter(30)
    return O.CvxpyOracle(cp.Problem(cp.Minimize(cp.sum_squares(x - p)), [x >= 0]))


def distances():
    points = RNG.normal(size=(30, 2))
    return np.linalg.norm(points[:, None] - points[None], axis=2)


INSTANCES = {
    "Ball": lambda: oracle_opt.Ball(N, 2.0, POINT),
    "BoundTracker": lambda: oracle_opt.BoundTracker(BOX),
    "Box": lambda: BOX,
    "FeasibilityCut": lambda: oracle_opt.FeasibilityCut(POINT, 1.0, POINT, extras={"dual": POINT}),
    "FreeSpace": lambda: oracle_opt.FreeSpace(N, 1e4, POINT),
    "FunctionOracle": simple_oracle,
    "L1Term": lambda: oracle_opt.L1Term(np.abs(POINT)),
    "QuadraticTerm": lambda: oracle_opt.QuadraticTerm(1.0, POINT, np.abs(POINT), np.outer(POINT, POINT)),
    "Certificate": RESULT.certificate,
    "History": lambda: RESULT.history,
    "LinearConstraints": BOX.linear_constraints,
    "Minorant": lambda: oracle_opt.Minorant(1.0, POINT),
    "NonnegativeOrthant": lambda: oracle_opt.NonnegativeOrthant(N, 1e4),
    "ObjectiveCut": cut,
    "Polyhedron": lambda: oracle_opt.Polyhedron(RNG.normal(size=(9, 20)), np.ones(9), lower=-np.ones(20), upper=1.0),
    "ProductOfSimplices": lambda: oracle_opt.ProductOfSimplices([2] * N),
    "Query": lambda: oracle_opt.Query(POINT),
    "Record": lambda: records()[-1],
    "Result": lambda: RESULT,
    "SimplexBlocks": lambda: oracle_opt.SimplexBlocks((2,) * N, 1.0, np.ones(2 * N)),
    "SecondStageSolutions": lambda: O.BendersOracle(PROBLEM, n_samples=10).second_stage(POINT),
    "Simplex": lambda: oracle_opt.Simplex(N),
    "BendersOracle": lambda: O.BendersOracle(PROBLEM, n_samples=10),
    "ConicOracle": lambda: CONIC,
    "ConicProblem": lambda: CONIC.problem,
    "SemiInfiniteOracle": lambda: O.SemiInfiniteOracle(np.ones(N), no_rows, oracle_opt.Box(-np.ones(N), np.ones(N))),
    "CvxpyOracle": cvxpy_oracle,
    "EntropyRegularizer": lambda: O.EntropyRegularizer(1.0, np.ones(N)),
    "Estimate": lambda: O.Estimate(1.0, 0.1),
    "FacilityLocationOracle": lambda: O.FacilityLocationOracle(np.ones(30), np.ones((30, 40))),
    "GeneralizedAssignmentOracle": lambda: O.GeneralizedAssignmentOracle(np.ones((3, 40)), np.ones((3, 40)), [30] * 3),
    "GMKLOracle": lambda: O.GMKLOracle(BANK, LABELS, O.LpRegularizer(2.0)),
    "Bank": lambda: O.Bank(BANK, range(9), range(5)),
    "GramBank": lambda: BANK,
    "HeldKarpOracle": lambda: O.HeldKarpOracle(distances()),
    "Infeasibility": lambda: O.Infeasibility(POINT, 1.0, True),
    "KernelBank": lambda: OwnBank(),
    "LagrangianOracle": lambda: O.LagrangianOracle(lambda u: None, POINT),
    "MaxEigenvalueOracle": lambda: O.MaxEigenvalueOracle(np.eye(20), MATRICES, np.ones(20)),
    "Composite": lambda: O.Composite(simple_oracle(), oracle_opt.QuadraticTerm(diagonal=np.ones(N))),
    "RiskOracle": lambda: O.RiskOracle("huber", np.ones((40, 20)), np.ones(40)),
    "SharedWeightsOracle": lambda: O.SharedWeightsOracle([O.MKLOracle(BANK, LABELS)] * 9),
    "MixedNormOracle": lambda: O.MixedNormOracle(BANK, LABELS, groups=[[k] for k in range(65)]),
    "MKLOneClassOracle": lambda: O.MKLOneClassOracle(BANK),
    "MKLOracle": lambda: O.MKLOracle(BANK, LABELS),
    "MKLRegressionOracle": lambda: O.MKLRegressionOracle(BANK, LABELS),
    "MulticommodityFlowOracle": lambda: O.MulticommodityFlowOracle([[0, 1]], [1.0], [9.0], [[0, 1]], [1.0]),
    "PositiveSemidefinite": lambda: O.PositiveSemidefinite(30),
    "PrimalSolution": lambda: O.PrimalSolution(1.0, POINT, 0.0, np.eye(9), (POINT,) * 9),
    "ProductBank": lambda: O.ProductBank([np.abs(np.subtract.outer(v, v)) for v in RNG.normal(size=(65, 12))]),
    "RandomBlock": lambda: PROBLEM.blocks[0],
    "PolynomialBank": lambda: O.PolynomialBank(RNG.normal(size=(12, 3)), [[0, 1, 2]] * 9, [[1, 2]] * 9),
    "JoinedBank": lambda: O.JoinedBank([BANK] * 65),
    "RBFBank": lambda: O.RBFBank(RNG.normal(size=(12, 3)), [[0, 1, 2]] * 9, [[1.0, 2.0]] * 9),
    "LightCuts": lambda: O.LightCuts(),
    "RoundedSolution": lambda: O.RoundedSolution(2.0, 1.0, True, {"open": POINT}),
    "RelaxedSolution": lambda: O.RelaxedSolution(1.0, POINT, POINT),
    "ShardedBank": lambda: O.ShardedBank(O.RBFBank(RNG.normal(size=(12, 3)), [[0, 1, 2]] * 9, [[1.0, 2.0]] * 9)),
    "TwoStageProblem": lambda: PROBLEM,
    "Separable": lambda: S.Hinge(np.ones(12)).dual(LABELS, 12),
    "SVMSolution": lambda: S.solve_csvc(KERNELS[0], LABELS),
    "Hinge": lambda: S.Hinge(np.ones(N)),
    "SquaredHinge": lambda: S.SquaredHinge(np.ones(N)),
    "Logistic": lambda: S.Logistic(np.ones(N)),
    "SmoothedHinge": lambda: S.SmoothedHinge(np.ones(N), 0.25, {1: 2.0}),
    "WeightedLoss": lambda: S.WeightedLoss(S.Huber(), np.ones(N)),
    "Huber": lambda: S.Huber(np.ones(N), 0.25),
    "LeastSquares": lambda: S.LeastSquares(np.ones(N)),
    "SquaredEpsilonInsensitive": lambda: S.SquaredEpsilonInsensitive(np.ones(N)),
    "AsymmetricEpsilonInsensitive": lambda: S.AsymmetricEpsilonInsensitive(np.ones(N)),
    "Pinball": lambda: S.Pinball(0.9, np.ones(N)),
    "EpsilonInsensitive": lambda: S.EpsilonInsensitive(np.ones(N)),
    "Verdict": lambda: T.settle(CONIC, G.Kelley(), max_calls=2),
    "Limits": lambda: T.Limits(20, 3.5),
    "Results": lambda: small_results(max_calls=3),
    "Study": lambda: T.Study({"own": simple_oracle()}, ["kelley"], tau=(1e-1, 1e-3)),
    "Availability": lambda: D.available()[0],
    "Dataset": lambda: D.Dataset("own", POINT[:, None], np.sign(POINT), ("x",), "words", "here"),
    "KernelData": lambda: D.KernelData("own", np.stack(KERNELS), (tuple(range(65)),), np.arange(12), "here"),
    "Power": lambda: O.Power(0.3),
    "LpRegularizer": lambda: O.LpRegularizer(1.5),
    "Nonnegative": lambda: O.Nonnegative(N),
    "SecondOrder": lambda: O.SecondOrder(N),
    "Zero": lambda: O.Zero(N),
}


def records():
    """What a callback saw."""
    seen = []
    minimize(simple_oracle(), G.LevelSet(), max_calls=3, callback=seen.append)
    return seen


def public_classes():
    """Every public class that can be made, errors and enumerations apart."""
    for module in MODULES:
        for name in importlib.import_module(module).__all__:
            value = getattr(importlib.import_module(module), name)
            if inspect.isclass(value) and not issubclass(value, Exception) and not hasattr(value, "__members__"):
                yield pytest.param(value, id=name)


@pytest.mark.parametrize("kind", list(public_classes()))
def test_public_objects_show_themselves_on_one_short_line(kind):
    if kind.__name__ in INSTANCES:
        made = INSTANCES[kind.__name__]()
        assert isinstance(made, kind)
    elif inspect.isabstract(kind):
        pytest.skip("abstract")
    else:
        try:
            made = kind()
        except TypeError:  # it needs arguments: no instance of it is made here
            assert kind.__repr__ is not object.__repr__
            return
    line = repr(made)
    assert kind.__name__ in line or type(made).__name__ in line
    assert "\n" not in line
    assert " at 0x" not in line
    assert len(line) <= LONGEST


def test_an_eigenvalue_cut_is_one_line_too():
    oracle = O.MaxEigenvalueOracle(np.eye(20), MATRICES, np.ones(20), domain=oracle_opt.FreeSpace(20, 10.0))
    seen = []
    minimize(oracle, G.SpectralBundle(), max_calls=3, callback=seen.append)
    for thing in (seen[-1], seen[-1].cut, oracle):
        assert "\n" not in repr(thing)
        assert len(repr(thing)) <= LONGEST


def test_users_own_objects_have_a_line_without_writing_one():
    class Own(oracle_opt.Domain):
        dimension = 3
        project = minimize_linear = interior_point = None

    class Ours(oracle_opt.Oracle):
        domain = oracle_opt.Simplex(3)
        query = None

    Own.__abstractmethods__ = Ours.__abstractmethods__ = frozenset()
    assert repr(Own()) == "Own(dimension=3)"
    assert repr(Ours()) == "Ours(on Simplex(3, radius=1))"


def test_a_result_prints_in_thirteen_lines():
    lines = str(RESULT).split("\n")
    assert len(lines) == 13
    assert all(len(line) <= 300 for line in lines)
    words = str(RESULT)
    for number in (RESULT.upper_bound, RESULT.lower_bound):
        assert f"{number:.10g}" in words
    assert f"{RESULT.n_calls}, of which {RESULT.n_serious} were serious steps" in words
    assert RESULT.message in words
    largest = int(np.argmax(np.abs(RESULT.point)))
    assert f"[{largest}] {RESULT.point[largest]:.4g}" in words
    assert f"{N} entries" in words
    for name in ("status", "seconds", "memory", "gap", "extras"):
        assert name in words


def test_a_result_without_a_point_prints_too():
    empty = oracle_opt.FunctionOracle(
        lambda z: oracle_opt.FeasibilityCut(z, 1.0, np.ones(2)),
        oracle_opt.Box([0.0, 0.0], [1.0, 1.0]),
        gives={oracle_opt.FeasibilityCut},
    )
    result = minimize(empty, G.Kelley(), max_calls=1)
    assert result.point is None
    assert "none seen" in str(result)
    assert result.x is None
    assert "<table>" in result._repr_html_()


def test_points_are_shown_by_their_largest_entries():
    for point, words in (
        (np.zeros(9), "9 entries, all zero"),
        (np.array([0.5, -2.0]), "2 entries: [1] -2, [0] 0.5"),
        (np.array([0.0, 0.25, 0.0]), "3 entries, 1 not zero: [1] 0.25"),
        (np.arange(1.0, 8.0), "7 entries; the largest: [6] 7, [5] 6, [4] 5, [3] 4, [2] 3"),
    ):
        cut = oracle_opt.ObjectiveCut(point, 1.0, point)
        assert words in str(dataclasses.replace(RESULT, point=point, cut=cut))


def test_the_names_of_scipy_mean_the_same():
    assert RESULT.x is RESULT.point
    assert RESULT.fun == RESULT.upper_bound
    assert RESULT.nfev == RESULT.n_calls
    assert isinstance(RESULT.message, str)
    assert isinstance(RESULT.success, bool)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.ones(5), "array(5)"),
        (np.ones((5, 2)), "array(5, 2)"),
        (np.array([1.0, np.inf]), "[1, inf]"),
        (np.array(["a", "b"]), "array(2)"),
        (np.array(0.5), "0.5"),
        (sparse.eye_array(9), "sparse(9, 9)"),
        ((1.0,), "(1,)"),
        ([1.0, None], "[1, None]"),
        ([1] * 9, "list of 9"),
        ({"a": POINT}, "{a}"),
        (G.Kelley, "the class Kelley"),
        (records, "the function records"),
        (oracle_opt.Status.EMPTY, "EMPTY"),
        ("a\nb", r"'a\nb'"),
        ("x" * 99, "str of 99"),
        (np.float64(1 / 3), "0.3333333333"),
    ],
    ids=lambda given: given if isinstance(given, str) else type(given).__name__,
)
def test_things_in_words(value, words):
    assert shown(value) == words
