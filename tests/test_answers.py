"""Kinds of answers: a user's own with its oracle and generator, what is refused, and that the core knows none."""

import ast
from dataclasses import replace
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest

from oracle_opt import (
    AnalyticUpdate,
    Answer,
    Curvature,
    Eigenpairs,
    FunctionOracle,
    Oracle,
    SequentialGenerator,
    Status,
    minimize,
)
from oracle_opt.answers.eigenpairs import AffineMatrix
from oracle_opt.cuts import FeasibilityCut, ObjectiveCut, Query, owned
from oracle_opt.domains import Box, Simplex
from oracle_opt.errors import CapabilityMismatch, InvalidArgument, InvalidCut, JournalMismatch
from oracle_opt.generators import FixedPoint, Kelley, LevelSet, NewtonBundle, SpectralBundle
from oracle_opt.oracles import ElasticNet, GMKLOracle, GramBank, LpRegularizer, MixedNormOracle

N = 4


class Minimizers(Answer):
    """Where f is least along each coordinate: a kind of a user's own, made of two arrays."""

    words = "minimizers along coordinates"

    def __init__(self, places, values) -> None:
        self.places, self.values = places, values

    def arrays(self):
        return {"places": self.places, "deep/values": self.values}

    @classmethod
    def from_arrays(cls, arrays):
        return cls(arrays["places"], arrays["deep/values"])

    def check(self, cut) -> None:
        if not self.places.shape == self.values.shape == cut.point.shape:
            raise InvalidCut(f"`places` must have shape {cut.point.shape}, got {self.places.shape}")


class Quadratic(Oracle):
    """``1/2 z'Qz - c'z`` that tells the best place along each coordinate, if it is wished for."""

    gives = frozenset({Minimizers})

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        root = rng.normal(size=(N, N))
        self.Q, self.c = root.T @ root + np.eye(N), rng.normal(size=N)
        self.domain, self.calls, self.wished = Box(-np.ones(N), np.ones(N)), 0, 0

    def query(self, query: Query) -> ObjectiveCut:
        self.calls += 1
        z = query.point
        slope = self.Q @ z - self.c
        value, answers = 0.5 * float(z @ (slope - self.c)), ()
        if Minimizers in query.wishes:
            self.wished += 1
            moved, curved = -slope / np.diag(self.Q), np.diag(self.Q)
            answers = (Minimizers(z + moved, value + slope * moved + 0.5 * curved * moved**2),)
        return ObjectiveCut(z, value, slope, answers=answers)

    def identity(self) -> str:
        return f"{super().identity()}, {self.Q.tolist()}, {self.c.tolist()}"


class BestCoordinate(SequentialGenerator):
    """Move along the coordinate that gains most: a generator that lives on the user's answer."""

    needs = frozenset({Minimizers})

    def queries(self, domain, point):
        while True:
            self.center = cut = yield Query(point, wishes=self.needs)
            told = cut.answer(Minimizers)
            places = domain.project(told.places)
            values = cut.value + cut.subgradient * (places - point)  # then the quadratic along each coordinate
            curved = 2 * (told.values - cut.value - cut.subgradient * (told.places - point))
            curved = curved / np.maximum((told.places - point) ** 2, 1e-300)
            k = int(np.argmin(values + 0.5 * curved * (places - point) ** 2))
            point = point.copy()
            point[k] = places[k]


def optimum(oracle: Quadratic) -> float:
    z = cp.Variable(N)
    objective = 0.5 * cp.quad_form(z, cp.psd_wrap(oracle.Q)) - oracle.c @ z
    return float(cp.Problem(cp.Minimize(objective), [cp.norm_inf(z) <= 1]).solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("seed", range(4))
def test_a_kind_of_ones_own_runs_and_is_replayed(seed, tmp_path) -> None:
    whole, oracle = Quadratic(seed), Quadratic(seed)
    result = minimize(whole, BestCoordinate(), rtol=1e-6, probes=0, keep_cuts=True)
    assert result.status is Status.CONVERGED
    assert whole.wished == whole.calls == result.n_calls
    assert result.upper_bound == pytest.approx(optimum(whole), rel=2e-6)
    assert all(type(cut.answers[0]) is Minimizers for cut in result.history.cuts)

    minimize(oracle, BestCoordinate(), rtol=1e-6, probes=0, max_calls=7, journal=tmp_path / "j")
    resumed = minimize(oracle, BestCoordinate(), rtol=1e-6, probes=0, journal=tmp_path / "j", keep_cuts=True)
    assert oracle.calls == result.n_calls + (1 if result.n_calls > 7 else 0)  # the last one is asked again
    assert len(resumed.history) == len(result.history)
    for one, other in zip(resumed.history.cuts, result.history.cuts, strict=True):
        for name, array in one.answer(Minimizers).arrays().items():
            np.testing.assert_array_equal(other.answer(Minimizers).arrays()[name], array)


def test_what_is_not_given_is_refused_before_the_first_call_and_names_both() -> None:
    oracle = FunctionOracle(lambda z: pytest.fail("was called"), Simplex(N))
    for generator, words in (
        (BestCoordinate(), "it needs minimizers along coordinates, and this oracle gives none"),
        (SpectralBundle(), "it needs eigenvectors of a largest eigenvalue, and this oracle gives none"),
        (FixedPoint(updates=True), "it needs analytic updates, and this oracle gives none"),
    ):
        with pytest.raises(CapabilityMismatch) as refusal:
            minimize(oracle, generator)
        assert (
            str(refusal.value)
            == f"{type(generator).__name__} cannot serve FunctionOracle on {oracle.domain!r}: {words}"
        )
    oracle = FunctionOracle(lambda z: pytest.fail("was called"), Simplex(N), gives=[FeasibilityCut, Curvature])
    with pytest.raises(CapabilityMismatch, match=r"FixedPoint cannot serve .*: it takes no feasibility cuts, and this"):
        minimize(oracle, FixedPoint())


def test_kinds_that_cannot_be_ignored_have_to_be_taken() -> None:
    class Binding(Minimizers):
        optional = False

    class Gives(Quadratic):
        gives = frozenset({Binding})

    class Takes(LevelSet):
        takes = frozenset({Binding})

    with pytest.raises(CapabilityMismatch, match="it takes no minimizers along coordinates, and this oracle gives"):
        minimize(Gives(), LevelSet())
    assert minimize(Gives(), Takes()).success
    assert minimize(Quadratic(), LevelSet()).success


def test_answers_unasked_do_no_harm_and_undeclared_ones_are_refused() -> None:
    def function(z):
        return ObjectiveCut(z, float(z @ z), 2 * z, answers=(Curvature(np.sqrt(2) * np.eye(N)),))

    assert minimize(FunctionOracle(function, Simplex(N), gives=[Curvature]), LevelSet()).success
    with pytest.raises(InvalidCut, match=r"FunctionOracle answered with second derivatives, .*; add Curvature there"):
        minimize(FunctionOracle(function, Simplex(N)), LevelSet())
    inner = FunctionOracle(lambda z: replace(function(z), answers=(), further=(function(z),)), Simplex(N))
    with pytest.raises(InvalidCut, match="add Curvature there"):
        minimize(inner, LevelSet())
    inner = FunctionOracle(lambda z: replace(function(z), answers=(), summands=(function(z),)), Simplex(N))
    with pytest.raises(InvalidCut, match="add Curvature there"):
        minimize(inner, LevelSet())


GOOD = Curvature(np.eye(N))
SAME = type("Curvature", (Minimizers,), {})


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([GOOD], "must be a tuple"),
        (None, "must be a tuple"),
        ((np.eye(N),), "must be a tuple of objects of kinds of Answer"),
        ((Curvature,), "must be a tuple of objects of kinds of Answer"),
        ((GOOD, GOOD), "at most one of a kind"),
        ((Minimizers(np.zeros(N), np.zeros(N + 1)),), "`places` must have shape"),
        ((AnalyticUpdate(np.zeros(N + 1)),), r"`point` of an AnalyticUpdate must be a finite array of shape \(4,\)"),
        ((AnalyticUpdate(np.full(N, np.nan)),), "`point` of an AnalyticUpdate must be"),
    ],
)
def test_wrong_answers_are_refused(answers, words) -> None:
    class Wrong(Quadratic):
        gives = frozenset({Minimizers, Curvature, AnalyticUpdate})

        def query(self, query):
            return replace(super().query(query), answers=answers)

    with pytest.raises(InvalidCut, match=words):
        minimize(Wrong(), Kelley())


def eigenpairs(**changes) -> Eigenpairs:
    from scipy import sparse

    C = sparse.csr_array(np.diag([3.0, 2.0, 1.0]))
    matrix = AffineMatrix.of(C, [sparse.csr_array(np.diag(row)) for row in np.eye(3)[:2]])
    fields = {"trace": 2.0, "b": np.ones(2), "values": np.array([3.0, 2.0]), "vectors": np.eye(3)[:, :2]}
    return Eigenpairs(matrix, **(fields | changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"trace": -1.0}, "`trace` positive"),
        ({"trace": np.nan}, "`trace` positive"),
        ({"b": np.ones(3)}, "of a matrix of 2 variables"),
        ({"b": np.array([1.0, np.inf])}, "must be finite"),
        ({"values": np.zeros(0), "vectors": np.zeros((3, 0))}, "of a matrix of 2 variables"),
        ({"values": np.array([np.nan, 0.0])}, "must be finite"),
        ({"vectors": np.eye(3)}, r"`vectors` of shape \(3, k\)"),
        ({"vectors": np.eye(2)}, r"`vectors` of shape \(3, k\)"),
    ],
)
def test_eigenpairs_check_themselves(changes, words) -> None:
    cut = ObjectiveCut(np.zeros(2), 0.0, np.zeros(2))
    eigenpairs().check(cut)
    with pytest.raises(InvalidCut, match=words):
        eigenpairs(**changes).check(cut)
    with pytest.raises(InvalidCut, match="of a matrix of 3 variables"):
        eigenpairs().check(ObjectiveCut(np.zeros(3), 0.0, np.zeros(3)))


def test_an_owned_cut_shares_no_array_with_the_answers_of_another() -> None:
    given = (eigenpairs(), Curvature(np.eye(2)), AnalyticUpdate(np.ones(2)), Minimizers(np.ones(2), np.ones(2)))
    for cut in (ObjectiveCut(np.zeros(2), 0.0, np.zeros(2), answers=given),):
        copy = owned(replace(cut, further=(cut,)))
        for taken in (copy, copy.further[0]):
            for one, other in zip(taken.answers, given, strict=True):
                assert type(one) is type(other)
                for name, array in other.arrays().items():
                    np.testing.assert_array_equal(one.arrays()[name], array)
                    assert not np.shares_memory(one.arrays()[name], array)


def test_a_cut_finds_its_answer_by_the_class_alone() -> None:
    class Finer(Curvature):
        """Another kind."""

    cut = ObjectiveCut(np.zeros(2), 0.0, np.zeros(2), answers=(Finer(np.eye(2)), AnalyticUpdate(np.ones(2))))
    assert type(cut.answer(Finer)) is Finer
    assert cut.answer(Curvature) is None
    assert cut.answer(AnalyticUpdate).point.tolist() == [1.0, 1.0]
    assert repr(cut.answer(Finer)) == "Finer(factor=array(2, 2))"
    assert len(repr(eigenpairs())) < 200


@pytest.mark.parametrize(
    "sets", [{Curvature}, frozenset({3}), frozenset({ObjectiveCut}), None, frozenset({GOOD})], ids=repr
)
def test_declarations_that_are_no_sets_of_kinds_are_refused(sets) -> None:
    for name in ("takes", "needs"):
        generator = type("Odd", (LevelSet,), {name: sets})()
        with pytest.raises(InvalidArgument, match=f"`{name}` of Odd must be a frozenset of kinds"):
            minimize(Quadratic(), generator)
    with pytest.raises(InvalidArgument, match="`gives` of Odd must be a frozenset of kinds"):
        minimize(type("Odd", (Quadratic,), {"gives": sets})(), LevelSet())


def test_two_kinds_of_one_name_are_refused() -> None:
    """A journal tells kinds by the names of their classes."""
    oracle = type("Both", (Quadratic,), {"gives": frozenset({Curvature, SAME})})()
    with pytest.raises(CapabilityMismatch, match="both know an answer of the name Curvature, but not the same class"):
        minimize(oracle, LevelSet())
    oracle = type("Other", (Quadratic,), {"gives": frozenset({SAME})})()
    with pytest.raises(CapabilityMismatch, match="both know an answer of the name Curvature"):
        minimize(oracle, type("Takes", (LevelSet,), {"takes": frozenset({Curvature})})())


@pytest.mark.parametrize("wishes", [{Curvature}, frozenset({Minimizers}), Curvature, None], ids=repr)
def test_wishes_are_for_kinds_that_the_generator_takes(wishes) -> None:
    class Wishes(LevelSet):
        takes = frozenset({Curvature})

        def ask(self):
            return Query(super().ask(), wishes=wishes)

    with pytest.raises(InvalidArgument, match="`wishes` of a query must be a frozenset of kinds that Wishes has in"):
        minimize(Quadratic(), Wishes())


def test_function_oracles_say_in_their_identity_what_they_give() -> None:
    oracles = [FunctionOracle(len, Simplex(N), gives=kinds) for kinds in ((), [Curvature], [Curvature, FeasibilityCut])]
    assert len({oracle.identity() for oracle in oracles}) == 3
    with pytest.raises(InvalidArgument, match="`gives` must be"):
        FunctionOracle(len, Simplex(N), gives=Curvature)


def test_a_journal_of_answers_that_the_run_does_not_know_is_refused(tmp_path) -> None:
    class Silent(Quadratic):
        gives = frozenset()

        def identity(self):
            return Quadratic.identity(self).replace("Silent", "Quadratic")

    class Asks(LevelSet):
        takes = frozenset({Minimizers})

        def ask(self):
            return Query(super().ask(), wishes=frozenset({Minimizers}))

        def parameters(self):
            return {}

    Forgets = type("Asks", (Asks,), {"takes": frozenset(), "ask": LevelSet.ask, "__module__": Asks.__module__})
    Forgets.__qualname__, Silent.__qualname__ = Asks.__qualname__, Quadratic.__qualname__
    minimize(Quadratic(), Asks(), max_calls=3, journal=tmp_path / "j")
    before = (tmp_path / "j").read_bytes()
    with pytest.raises(JournalMismatch, match=r"answer 1 cannot be read: .*answers of the kind Minimizers"):
        minimize(Silent(), Forgets(), journal=tmp_path / "j")
    with pytest.raises(JournalMismatch, match="with the wish for minimizers along coordinates, now the other way"):
        minimize(Quadratic(), Forgets(), journal=tmp_path / "j")
    assert (tmp_path / "j").read_bytes() == before


def test_an_answer_of_objects_is_not_journaled(tmp_path) -> None:
    class Odd(Minimizers):
        def arrays(self):
            return {"places": np.array([None])}

    class Gives(Quadratic):
        gives = frozenset({Odd})

        def query(self, query):
            z = query.point
            return replace(super().query(query), answers=(Odd(z, z),))

    with pytest.raises(InvalidCut, match=r"`answers\['Odd/places'\]` must be an array or a number to be journaled"):
        minimize(Gives(), Kelley(), journal=tmp_path / "j")


def test_analytic_updates_are_given_where_there_is_a_closed_form_and_a_wish() -> None:
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(3, 6, 6))
    bank, y = GramBank([root @ root.T for root in roots]), np.array([1.0, -1.0] * 3)
    for oracle, gives in (
        (GMKLOracle(bank, y, regularizer=LpRegularizer(2), C=1.0), True),
        (GMKLOracle(bank, y, regularizer=ElasticNet(), C=1.0), False),
        (MixedNormOracle(bank, y, groups=[[0, 1], [2]]), True),
    ):
        assert (AnalyticUpdate in oracle.gives) == gives
        point, wishes = oracle.domain.interior_point(), frozenset({AnalyticUpdate, Curvature})
        assert oracle.query(Query(point)).answers == ()
        assert len(oracle.query(Query(point, wishes=wishes)).answers) == gives
        if not gives:
            with pytest.raises(CapabilityMismatch, match="it needs analytic updates"):
                minimize(oracle, FixedPoint(updates=True))


def test_an_oracle_that_breaks_its_word_ends_the_run() -> None:
    oracle = FunctionOracle(lambda z: (float(z @ z), 2 * z), Simplex(N), gives=[AnalyticUpdate])
    with pytest.raises(InvalidCut, match="gave none, though it is in its `gives`"):
        minimize(oracle, FixedPoint(updates=True))


def test_an_oracle_without_the_answer_leaves_an_optional_one_out() -> None:
    """NewtonBundle wishes for curvature of an oracle that does not know it, and is the level method."""
    oracle = FunctionOracle(lambda z: (float(z @ z), 2 * z), Simplex(N))
    newton, level = (minimize(oracle, method, rtol=1e-8) for method in (NewtonBundle(), LevelSet()))
    assert newton.n_calls == level.n_calls


FOLDER = Path(__file__).parents[1] / "oracle_opt"
CORE = [
    path
    for path in (*FOLDER.glob("*.py"), *FOLDER.glob("domains/*.py"), *FOLDER.glob("testing/*.py"))
    if path != FOLDER / "__init__.py" and path.name not in ("cli.py", "partial_rules.py")  # the rules of one kind
]


@pytest.mark.parametrize("path", CORE, ids=lambda path: str(path.relative_to(FOLDER)))
def test_the_core_knows_no_kind_of_answer(path) -> None:
    """It imports the contract alone, and names no kind: a new one touches no file of the core."""
    tree = ast.parse(path.read_text())
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    imported |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert {name for name in imported if name.startswith("oracle_opt.answers")} <= {"oracle_opt.answers.answer"}
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not names & {kind.__name__ for kind in (Curvature, Eigenpairs, AnalyticUpdate)}
