"""Identities: every constructor argument that changes answers changes the identity, by one bit of one entry."""

import inspect
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from identity_cases import (
    BANK,
    BLOCK,
    CLASSES,
    DISTANCES,
    KERNELS,
    NAMES_ALONE,
    OTHER_BANK,
    POINTS,
    ROUNDS_ALONE,
    Case,
    Y,
    answers_of,
    fixed_beside,
    next_to,
    sells,
    solve,
    two_parameters,
    ulp,
)
from identity_oracles import ORACLES
from scipy import sparse

import oracle_opt
import oracle_opt.oracles.svm as S
from oracle_opt import InvalidArgument, Oracle, QueryPointGenerator, oracles
from oracle_opt.arrays import class_name, digest, fingerprint
from oracle_opt.domains import Ball, Box, Domain, FreeSpace, NonnegativeOrthant, Polyhedron, ProductOfSimplices, Simplex
from oracle_opt.generators import Kelley
from oracle_opt.oracles import BendersOracle, CvxpyOracle, MaxEigenvalueOracle, RandomBlock, TwoStageProblem
from oracle_opt.oracles.conic import ConicOracle, PositiveSemidefinite, Power
from oracle_opt.oracles.kernels import (
    Bank,
    GramBank,
    JoinedBank,
    KernelBank,
    PolynomialBank,
    ProductBank,
    RBFBank,
    ShardedBank,
    SubsetBank,
    simplemkl_bank,
    uci_bank,
    uci_bank_on_the_fly,
)
from oracle_opt.oracles.mkl import ElasticNet, EntropyRegularizer, LpRegularizer, MKLOracle

OfBank = partial(Case, identity=lambda made: made.digest())
OfLoss = partial(Case, identity=answers_of)
OfParts = partial(Case, identity=fingerprint)
OTHERS = {
    case.make: case
    for case in [
        Case(
            TwoStageProblem,
            sells(),
            {
                name: [ulp(sells()[name], (0,) * np.ndim(sells()[name]))]
                for name in sells()
                if name not in ("blocks", "names", "offset")
            }
            | {"offset": [0.25], "sections": [[0, 0]], "blocks": [[], [RandomBlock(**BLOCK), RandomBlock([1.0])]]}
            | {name: [sparse.csr_array(np.eye(2)[::-1])] for name in ("T", "W", "A")},
            dict.fromkeys(("names", "row_names", "column_names", "first_row_names", "maximize"), NAMES_ALONE),
            identity=lambda made: BendersOracle(made, n_samples=3).identity(),
        ),
        Case(
            RandomBlock,
            BLOCK,
            {
                "probabilities": [ulp([0.25, 0.75])],
                "rows": [[0]],
                "rhs": [ulp([[2.0], [6.0]], (1, 0))],
                "cost_columns": [[1]],
                "cost": [ulp([[-3.0], [-2.0]], (1, 0))],
                "technology_entries": [[[1, 0]]],
                "technology": [ulp([[-0.5], [-0.75]], (1, 0))],
                "recourse_entries": [[[1, 0]]],
                "recourse": [ulp([[1.0], [2.0]], (1, 0))],
            },
            {"name": NAMES_ALONE, "labels": NAMES_ALONE, "total": "is the sum of the probabilities"},
            identity=lambda made: BendersOracle(TwoStageProblem(**sells(blocks=[made])), n_samples=3).identity(),
        ),
        OfLoss(S.Hinge, {"C": 3.0}, CLASSES),
        OfLoss(S.SquaredHinge, {"C": 3.0}, CLASSES),
        OfLoss(S.EpsilonInsensitive, {"C": 3.0, "epsilon": 0.1}, {"C": CLASSES["C"], "epsilon": [next_to(0.1)]}),
        OfLoss(S.SmoothedHinge, {"C": 3.0, "width": 0.5}, CLASSES | {"width": [next_to(0.5)]}),
        OfLoss(
            S.WeightedLoss,
            {"loss": S.Huber(3.0), "weights": np.ones(6)},
            {"loss": [S.Huber(next_to(3.0)), S.LeastSquares(3.0)], "weights": [ulp(np.ones(6), 4)]},
        ),
        OfLoss(S.Huber, {"C": 3.0, "delta": 1.5}, {"C": CLASSES["C"], "delta": [next_to(1.5)]}),
        OfLoss(S.LeastSquares, {"C": 3.0}, {"C": CLASSES["C"]}),
        OfLoss(S.SquaredEpsilonInsensitive, {"C": 3.0, "epsilon": 0.1}, {"C": CLASSES["C"], "epsilon": [next_to(0.1)]}),
        OfLoss(
            S.AsymmetricEpsilonInsensitive,
            {"C": 3.0, "below": 0.25, "above": 0.25, "quantile": 0.5},
            {"C": CLASSES["C"], "below": [next_to(0.25)], "above": [next_to(0.25)], "quantile": [next_to(0.5)]},
        ),
        OfLoss(S.Pinball, {"quantile": 0.5, "C": 3.0}, {"quantile": [next_to(0.5)], "C": CLASSES["C"]}),
        OfLoss(S.OneClass, {"nu": 0.5}, {"nu": [next_to(0.5)], "weights": [np.full(6, next_to(1.0))]}),
        OfBank(
            GramBank,
            {"kernels": KERNELS},
            {
                "kernels": [[ulp(K, (2, 2)) if k == at else K for k, K in enumerate(KERNELS)] for at in range(3)]
                + [[ulp(KERNELS[0], (5, 0), (0, 5)), *KERNELS[1:]], KERNELS[[1, 0, 2]]],
                "normalize": [True],
                "dtype": [np.float32],
            },
            {"memory_limit": ROUNDS_ALONE, "check": "refuses or accepts"},
        ),
        OfBank(
            simplemkl_bank,
            {"X": POINTS},
            {"X": [np.where(np.eye(6, 3), POINTS + 1e-12, POINTS)], "dtype": [np.float32]},
            {"memory_limit": ROUNDS_ALONE},
        ),
        OfBank(
            uci_bank,
            {"X": POINTS},
            {"X": [np.where(np.eye(6, 3), POINTS + 1e-12, POINTS)], "dtype": [np.float32]},
            {"memory_limit": ROUNDS_ALONE},
        ),
        OfBank(
            ProductBank,
            {"distances": DISTANCES},
            {"distances": [[ulp(DISTANCES[0], (2, 3), (3, 2)), *DISTANCES[1:]], DISTANCES[[1, 0, 2]]]},
            {"check": "refuses or accepts"},
        ),
        OfBank(ProductBank.from_points, {"X": POINTS}, {"X": [np.where(np.eye(6, 3), POINTS + 1e-12, POINTS)]}),
        OfBank(
            SubsetBank,
            {"X": POINTS, "features": [[0, 1, 2], [1]], "widths": [1.0, 2.0]},
            {
                "X": [ulp(POINTS, (4, 1)), sparse.csr_array(ulp(POINTS, (5, 2)))],
                "features": [[[0, 1, 2], [2]], [[0, 1], [1]]],
                "widths": [[1.0, 2.0001], [2.0, 1.0]],
                "scale": [1.0],
            },
        ),
        OfBank(
            RBFBank,
            {"X": POINTS, "features": [[0, 1, 2], [1]], "widths": [[1.0, 2.0], [3.0]]},
            {
                "X": [ulp(POINTS, (4, 1)), sparse.csr_array(ulp(POINTS, (5, 2)))],
                "features": [[[0, 1, 2], [2]], [[1, 0, 2], [1]]],
                "widths": [[[1.0, next_to(2.0)], [3.0]], [[1.0], [2.0, 3.0]]],
                "scale": [1.0],
                "dtype": [np.float32],
            },
            {"block_bytes": ROUNDS_ALONE},
        ),
        OfBank(
            ShardedBank,
            {"bank": BANK},
            {"bank": [OTHER_BANK]},
            {"executor": "only does the tasks", "parts": ROUNDS_ALONE},
        ),
        OfBank(
            Bank,
            {"source": BANK, "kernels": [0, 2], "points": [1, 3, 5]},
            {"source": [OTHER_BANK], "kernels": [[2, 0], [0, 1], None], "points": [[3, 1, 5], [1, 3], None]},
        ),
        OfBank(
            PolynomialBank,
            {"X": POINTS, "features": [[0, 1, 2], [1]], "degrees": [[1, 2], [3]]},
            {
                "X": [ulp(POINTS, (4, 1)), sparse.csr_array(ulp(POINTS, (5, 2)))],
                "features": [[[0, 1, 2], [2]], [[1, 0, 2], [1]]],
                "degrees": [[[1, 3], [3]], [[1], [2, 3]]],
                "scale": [1.0],
            },
            {"block_bytes": ROUNDS_ALONE},
        ),
        OfBank(
            JoinedBank,
            {"banks": [GramBank(KERNELS[:2]), GramBank(KERNELS[1:])]},
            {"banks": [[GramBank(KERNELS[:2]), GramBank(KERNELS[:2])], [GramBank(KERNELS[1:]), GramBank(KERNELS[:2])]]},
            {"prepare": "is for new points alone", "labels": NAMES_ALONE},
        ),
        OfBank(
            uci_bank_on_the_fly,
            {"X": POINTS, "n_pairs": 7},
            {"X": [np.where(np.eye(6, 3), POINTS + 1e-12, POINTS)], "dtype": [np.float32], "n_pairs": [8], "seed": [1]},
        ),
        Case(Simplex, {"dimension": 3}, {"dimension": [4], "radius": [next_to(1.0)]}),
        Case(ProductOfSimplices, {"sizes": [2, 3]}, {"sizes": [[3, 2], [2, 2, 1]], "radius": [next_to(1.0)]}),
        Case(
            Box,
            {"lower": np.zeros(3), "upper": np.ones(3)},
            {
                "lower": [ulp(np.zeros(3), 1), -0.0 * np.ones(3)],
                "upper": [ulp(np.ones(3), 1)],
                "promised": [True, [[False], [True]]],
            },
        ),
        Case(NonnegativeOrthant, {"dimension": 3, "radius": 5.0}, {"dimension": [4], "radius": [next_to(5.0), np.inf]}),
        Case(Ball, {"dimension": 3}, {"dimension": [4], "radius": [next_to(1.0)], "center": [ulp(np.zeros(3), 1)]}),
        Case(
            FreeSpace,
            {"dimension": 3, "radius": 10.0},
            {"dimension": [4], "radius": [next_to(10.0)], "center": [ulp(np.zeros(3), 1)]},
        ),
        Case(
            Polyhedron,
            {
                "A": [[1.0, 1.0, 0.0]],
                "b": [1.5],
                "equality_matrix": [[0.0, 1.0, 1.0]],
                "equality_rhs": [1.0],
                "lower": np.zeros(3),
                "upper": np.full(3, 2.0),
            },
            {
                "A": [[[1.0, next_to(1.0), 0.0]]],
                "b": [[next_to(1.5)]],
                "equality_matrix": [[[0.0, 1.0, next_to(1.0)]]],
                "equality_rhs": [[next_to(1.0)]],
                "lower": [ulp(np.zeros(3), 2)],
                "upper": [ulp(np.full(3, 2.0), 2)],
                "tighten": [True],
                "center": [np.full(3, 0.3)],
                "promised": [True, [[False], [True]]],
            },
        ),
        OfParts(LpRegularizer, {"p": 2.0}, {"p": [next_to(2.0)], "weight": [next_to(1.0)], "power": [next_to(2.0)]}),
        OfParts(
            EntropyRegularizer, {}, {"weight": [next_to(1.0)], "reference": [next_to(1.0), ulp(np.ones(2000), 1000)]}
        ),
        OfParts(ElasticNet, {}, {"linear": [next_to(1.0)], "quadratic": [next_to(1.0)]}),
        OfParts(Power, {"exponent": 0.5}, {"exponent": [next_to(0.5)]}),
        OfParts(PositiveSemidefinite, {"order": 2}, {"order": [3]}),
    ]
}


CASES = ORACLES | OTHERS


def named(thing):
    return thing.__qualname__


@pytest.mark.parametrize("made", CASES, ids=named)
def test_every_argument_changes_the_identity_or_is_exempt_with_a_reason(made) -> None:
    case = CASES[made]
    names = set(inspect.signature(case.make).parameters)
    assert names == {*case.changed, *case.exempt}
    identity = case.identity(case.make(**case.arguments))
    assert case.identity(case.make(**case.arguments)) == identity
    seen = {identity}
    for name, values in case.changed.items():
        for value in values:
            other = case.identity(case.make(**(case.arguments | {name: value})))
            assert other not in seen, f"{name}={value!r}"
            seen.add(other)


def test_every_oracle_domain_and_bank_is_in_the_table() -> None:
    for module, base in ((oracles, Oracle), (oracles, KernelBank), (oracle_opt, Oracle), (oracle_opt, Domain)):
        for name in module.__all__:
            thing = getattr(module, name)
            if isinstance(thing, type) and issubclass(thing, base) and not inspect.isabstract(thing):
                assert thing in CASES, name


def test_identities_rest_on_data_and_not_on_layout() -> None:
    data = ORACLES[ConicOracle].arguments
    identity = ConicOracle(**data).identity()
    assert ConicOracle(**(data | {"A": data["A"].tocoo()})).identity() == identity
    assert ConicOracle(**(data | {"A": data["A"].toarray(order="F")})).identity() == identity
    assert MKLOracle(GramBank(np.asfortranarray(KERNELS)), Y.astype(int)).identity() == MKLOracle(BANK, Y).identity()


def test_identities_stand_through_queries_and_runs() -> None:
    for made in (MKLOracle, BendersOracle, MaxEigenvalueOracle, ConicOracle):
        oracle = made(**ORACLES[made].arguments)
        identity = oracle.identity()
        oracle_opt.minimize(oracle, Kelley(), max_calls=3)
        assert oracle.identity() == identity
    box = Polyhedron(**CASES[Polyhedron].arguments)
    identity = box.identity()
    box.project(np.full(3, 7.0))
    box.minimize_linear(np.ones(3))
    assert box.identity() == identity


def test_cvxpy_parameters_that_are_fixed_or_in_another_order() -> None:
    def identity(problem, parameters, **options):
        return CvxpyOracle(problem, parameters, **options).identity()

    seen = {identity(*fixed_beside(value)) for value in (1.0, next_to(1.0))}
    seen |= {identity(*two_parameters(order)) for order in ((0, 1), (1, 0))}
    seen |= {identity(*two_parameters(), radius=10.0)}
    assert len(seen) == 5
    assert identity(*two_parameters()) in seen  # made anew, with new numbers of cvxpy's variables


class Slab(Domain):
    """A domain of a user's own, without words or an identity."""

    def __init__(self, dimension, width, inner=None):
        self.dimension, self.width, self.inner = dimension, width, inner

    def project(self, point, metric=None):
        return np.clip(point, -self.width, self.width)

    def minimize_linear(self, slope):
        return -self.width * float(np.abs(slope).sum()), -self.width * np.sign(slope)

    def interior_point(self):
        return np.zeros(self.dimension)


class Other:
    """Without attributes."""


class Another:
    """As well."""


def test_eigenvalues_of_matrices_with_entries_in_other_columns_of_the_same_rows() -> None:
    def oracle(*pairs):
        rows, columns = np.transpose([*pairs, *(pair[::-1] for pair in pairs)])
        matrix = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(4, 4))
        return MaxEigenvalueOracle(np.eye(4), [matrix], [1.0])

    assert oracle((0, 1), (2, 3)).identity() != oracle((0, 2), (1, 3)).identity()


def test_a_domain_of_a_user_is_known_by_its_attributes() -> None:
    made = [Slab(2, 1.0), Slab(2, next_to(1.0)), Slab(3, 1.0), Slab(2, 1.0, Slab(2, 2.0)), Slab(2, 1.0, Slab(2, 3.0))]
    made += [Slab(2, 1.0, [np.ones(2)]), Slab(2, 1.0, {"a": np.ones(2)}), Slab(2, 1.0, solve), Slab(2, 1.0, Slab)]
    assert len({domain.identity() for domain in made}) == len(made)
    assert Slab(2, 1.0).identity() == made[0].identity()
    assert "0x" not in Slab(2, 1.0).identity()
    assert Slab(2, 1.0, Other()).identity() != Slab(2, 1.0, Another()).identity()
    round_about = Slab(2, 1.0)
    round_about.inner = round_about
    assert round_about.identity() != made[0].identity()


def test_digest_counts_type_shape_and_every_bit_but_not_the_layout() -> None:
    rng = np.random.default_rng(1)
    a = rng.normal(size=(3, 4))
    same = [a, np.asfortranarray(a), np.pad(a, 1)[1:-1, 1:-1], a.astype(">f8"), a[::-1][::-1]]
    assert len({digest(one) for one in same}) == 1
    assert len(digest(a)) == 16
    s = sparse.random(5, 4, 0.5, format="csr", random_state=0)
    assert len({digest(s.asformat(kind)) for kind in ("csr", "csc", "coo", "lil")}) == 1
    doubled = sparse.csr_array(([1.0, 2.0, 3.0, 4.0], [2, 0, 2, 1], [0, 3, 4]), shape=(2, 3))  # and not sorted
    assert digest(doubled) == digest(sparse.csr_array([[2.0, 0.0, 4.0], [0.0, 4.0, 0.0]]))
    assert doubled.nnz == 4  # it is left as it was
    different = [a, a.T, a.ravel(), a.astype(np.float32), ulp(a, (2, 3)), (a,), [[a]], s, s.T, s.toarray(), a > 0]
    different += [None, "None", b"None", "", 0, False, 0.5, -0.0, np.nan, np.inf, 1j, 2**70, 2**70 + 1, (), ((),), {}]
    different += [
        ("ab", "c"),
        ("a", "bc"),
        (1, 2),
        {1: 2},
        {2: 1},
        {1, 2},
        np.zeros(0),
        np.zeros((0, 2)),
        np.array("a"),
    ]
    different += [a.view(np.int64), ((1,), 2), ((1, 2),), sparse.csr_array((s.data, s.indices, s.indptr), shape=(5, 5))]
    words = [digest(one) for one in different if not (isinstance(one, np.ndarray) and one.ndim == 0)]
    assert len(set(words)) == len(words)
    assert digest(1) == digest(1.0) == digest(np.float32(1)) == digest(np.array(1))
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    for wrong in (object(), np.array([object()]), solve):
        with pytest.raises(InvalidArgument, match="must be arrays, numbers, texts"):
            digest(wrong)


def test_identities_are_the_same_in_every_process() -> None:
    code = (
        "import numpy as np\nfrom oracle_opt import Ball, Simplex\nfrom oracle_opt.arrays import digest\n"
        "print(digest({'a', 'b', 'c'}, np.eye(2), {'x': 1}), Ball(2).identity(), Simplex(3).identity())"
    )
    words = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert words == {f"{digest({'a', 'b', 'c'}, np.eye(2), {'x': 1})} {Ball(2).identity()} {Simplex(3).identity()}\n"}


def test_a_class_keeps_its_name_when_its_module_moves() -> None:
    """Names of this library's classes in identities have no module; so no two may have one name."""
    kinds = [kind for base in (Oracle, Domain, QueryPointGenerator) for kind in subclasses(base)]
    own = [kind for kind in kinds if kind.__module__.partition(".")[0] == "oracle_opt"]
    names = [class_name(kind) for kind in own]
    assert len(names) >= 40
    assert len(set(names)) == len(names)
    assert all(name == f"oracle_opt.{kind.__qualname__}" for name, kind in zip(names, own, strict=True))


def subclasses(kind: type) -> list[type]:
    return [one for below in kind.__subclasses__() for one in (below, *subclasses(below))]
