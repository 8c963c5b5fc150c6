"""Problems of multiple kernel learning: splits, measures by scikit-learn, lists, and what tells problems apart."""

import pickle

import numpy as np
import pytest
from sklearn.svm import SVC, SVR, OneClassSVM
from test_study import made_up

from oracle_opt import InvalidArgument, InvalidData, Query, minimize
from oracle_opt.datasets import Dataset, load, split_points
from oracle_opt.generators import FixedPoint, Kelley, LevelSet
from oracle_opt.oracles import GMKLOracle, LpRegularizer, MKLOracle, uci_bank
from oracle_opt.oracles.svm import EpsilonInsensitive, Hinge, OneClass, SquaredHinge
from oracle_opt.problems import find, missing, mkl, suite
from oracle_opt.problems.instance import processes, share_of_memory
from oracle_opt.problems.mkl import mkl_problem
from oracle_opt.study import Limits, Study


def test_splits_are_reproducible_and_differ():
    y = made_up().y
    train, test = split_points(y, 3)
    assert train.size == int(0.7 * y.size)
    assert sorted([*train, *test]) == list(range(y.size))
    np.testing.assert_array_equal(train, np.random.default_rng(3).permutation(y.size)[: train.size])
    assert not np.array_equal(train, split_points(y, 4)[0])


def test_the_training_part_has_both_classes():
    y = np.where(np.arange(40) < 2, 1.0, -1.0)
    for seed in range(20):
        train, _ = split_points(y, seed, train=0.1)
        assert abs(y[train].sum()) < train.size
    with pytest.raises(InvalidData, match="too few"):
        split_points(y[:3], 0, train=0.5)
    with pytest.raises(InvalidData, match="no split out of 1000"):
        split_points(-np.ones(10), 0)
    with pytest.raises(InvalidArgument, match="`train`"):
        split_points(y, 0, train=1.0)
    with pytest.raises(InvalidArgument, match="`seed`"):
        split_points(y, -1)


@pytest.mark.parametrize(("seed", "number"), [(0, 2), (2, 0), (1, 1)])
def test_the_oracle_is_that_of_the_split(seed, number):
    dataset = made_up()
    rows = np.random.default_rng(2).permutation(60)[:42]
    known = MKLOracle(uci_bank(dataset.X[rows]), dataset.y[rows], C=100.0)
    problem = mkl_problem(dataset, seed=seed)
    assert problem(number).oracle.identity() == known.identity()
    assert problem.n == known.domain.dimension == 52
    assert (problem.name, problem.family) == ("mkl/moons", "mkl")


def machine(loss):
    return {
        "Hinge": SVC(C=1.0, kernel="precomputed", tol=1e-9),
        "EpsilonInsensitive": SVR(C=1.0, epsilon=0.2, kernel="precomputed", tol=1e-9),
        "OneClass": OneClassSVM(nu=0.3, kernel="precomputed", tol=1e-9),
    }[type(loss).__name__]


@pytest.mark.parametrize("loss", [Hinge(C=1.0), EpsilonInsensitive(C=1.0, epsilon=0.2), OneClass(nu=0.3)])
def test_accuracy_and_kernels_by_scikit_learn(loss):
    """At weights of which two are above a thousandth of the largest, and one is exactly that."""
    dataset = made_up()
    instance = mkl_problem(dataset, loss=loss, train=0.6)(1)
    weights = np.zeros(52)
    weights[[3, 7, 11]] = 1.0, 0.002, 0.001
    weights /= weights.sum()
    weights[11] = weights[3] * 0.001
    cut = instance.oracle.query(Query(weights))
    train, test = split_points(dataset.y, 1, train=0.6)
    if isinstance(loss, OneClass):
        train = train[dataset.y[train] > 0]
    bank = uci_bank(dataset.X[train])
    scale = 1e4 if isinstance(loss, OneClass) else 1.0  # libsvm cannot tell small kernels from none
    svm = machine(loss).fit(scale * bank.combine(weights), None if isinstance(loss, OneClass) else dataset.y[train])
    values = svm.predict(scale * bank.cross(dataset.X[test], weights))
    known = np.mean(np.sign(values) == dataset.y[test])
    assert 0.2 < known < 1.0
    assert instance.measures["accuracy"](cut) == known
    assert instance.measures["n_kernels"](cut) == 2
    assert isinstance(instance.measures["n_kernels"](cut), float)


def test_traces_are_the_measure_at_every_call():
    instance = mkl_problem(made_up(), trace=True)(0)
    result = minimize(instance.oracle, Kelley(), max_calls=12, keep_cuts=True, rtol=0)
    trace, measure = instance.traces["accuracy"], instance.measures["accuracy"]
    found = [trace(cut) for cut in result.history.cuts]
    assert found == [measure(cut) for cut in result.history.cuts]
    assert len(set(found)) > 1
    assert not mkl_problem(made_up())(0).traces


def test_regularizers_and_losses():
    problem = mkl_problem(made_up(), regularizer=LpRegularizer(2.0), loss=SquaredHinge(C=3.0), name="gmkl/moons-p2")
    assert (problem.name, problem.family) == ("gmkl/moons-p2", "gmkl")
    instance = problem(0)
    assert isinstance(instance.oracle, GMKLOracle)
    assert repr(instance.oracle.loss) == repr(SquaredHinge(C=3.0))
    result = minimize(instance.oracle, FixedPoint(), np.full(52, 0.1), max_calls=1)
    assert 0.5 < instance.measures["accuracy"](result.cut) <= 1.0


def test_everything_that_decides_an_instance_is_in_its_identity():
    base = made_up()
    variants = [
        mkl_problem(base),
        mkl_problem(made_up(seed=1)),
        mkl_problem(base, train=0.5),
        mkl_problem(base, C=10.0),
        mkl_problem(base, loss=SquaredHinge(C=100.0)),
        mkl_problem(base, regularizer=LpRegularizer(2.0)),
        mkl_problem(base, regularizer=LpRegularizer(1.5)),
        mkl_problem(base, seed=1),
        mkl_problem(base, trace=True),
        mkl_problem(base, name="mkl/suns"),
    ]
    assert len({problem.identity() for problem in variants}) == len(variants)
    assert mkl_problem(base, loss=Hinge(C=100.0)).identity() == variants[0].identity()
    assert base.digest() in variants[0].data


def test_problems_can_be_pickled():
    for problem in (mkl_problem(made_up()), mkl_problem("wdbc", regularizer=LpRegularizer(2.0))):
        again = pickle.loads(pickle.dumps(problem))
        assert again.identity() == problem.identity()
        assert again(1).oracle.identity() == problem(1).oracle.identity()


def test_a_file_by_its_path(tmp_path):
    dataset = made_up()
    rows = [f"{a!r},{b!r},{c!r},{int(y)}" for (a, b, c), y in zip(dataset.X.tolist(), dataset.y, strict=True)]
    path = tmp_path / "moons.csv"
    path.write_text("\n".join(["a,b,c,label", *rows, ""]))
    problem = mkl_problem(path)
    assert problem.identity() == mkl_problem(dataset).identity()
    path.unlink()  # it has been read
    assert problem(0).oracle.domain.dimension == 52


def test_sets_are_listed_without_being_read(monkeypatch):
    monkeypatch.setattr(mkl, "load", lambda name: pytest.fail(f"{name} was read"))
    listed = {problem.name: problem for problem in [*suite("mkl"), *suite("mkl-kinds")]}
    assert listed["mkl/wdbc"].n == 403
    assert {problem.family for problem in listed.values()} <= {"mkl", "mkl-kinds"}
    sets = {name.removeprefix("mkl/") for name in listed if name.startswith("mkl/")}
    lacking = {name.removeprefix("mkl/") for name in missing("mkl")}
    assert sets | lacking == set(mkl.UCI)
    assert not sets & lacking
    assert len([*suite("mkl-kinds"), *missing("mkl-kinds")]) == 18


def test_any_data_set_by_its_parameters(tmp_path):
    (problem,) = find("mkl(dataset=wdbc, C=10, train=0.5)")
    assert (problem.name, problem.family) == ("mkl(dataset=wdbc, C=10, train=0.5)", "mkl")
    same = mkl_problem("wdbc", C=10.0, train=0.5)
    assert (problem.data, problem.n) == (same.data, same.n)
    for words, advice in (
        ("mkl(C=10)", "needs a data set"),
        ("mkl(dataset=wdbc, D=10)", "no parameter 'd'"),
        ("mkl(dataset=wdbc, C=-1)", "`C` must be positive"),
        ("mkl(dataset=wdbd)", "wdbc"),
    ):
        with pytest.raises(InvalidArgument, match=advice):
            find(words)


@pytest.mark.parametrize("name", mkl.UCI)
def test_what_is_known_of_the_sets_is_so(name):
    if not mkl._unread(name):
        pytest.skip(f"{name} is not at hand")
    dataset = load(name)
    X = dataset.dense()
    assert mkl.UCI[name] == (dataset.digest(), np.count_nonzero(np.ptp(X, axis=0)))
    assert mkl_problem(name).identity() == mkl_problem(dataset).identity()
    assert mkl_problem(name).n == mkl_problem(dataset).n


def test_listed_kinds_run():
    for problem in suite("mkl-kinds"):
        if "/bupa" in problem.name:
            instance = problem(0)
            assert instance.oracle.domain.dimension == problem.n
            cut = instance.oracle.query(Query(np.full(problem.n, 1.0 / problem.n)))
            assert 0.3 < instance.measures["accuracy"](cut) <= 1.0


def test_openml_copies_are_read_for_their_digest(monkeypatch, tmp_path):
    """Their rows may be in another order."""
    dataset = made_up("sonar")
    monkeypatch.setenv("ORACLE_OPT_DATA", str(tmp_path))
    monkeypatch.setenv("ORACLE_OPT_CACHE", str(tmp_path))
    (tmp_path / "sonar.openml.csv").touch()
    monkeypatch.setattr(mkl, "load", lambda name: dataset)
    assert dataset.digest() in mkl_problem("sonar").data
    assert mkl_problem("sonar").n == 52
    assert dataset.digest() in next(problem for problem in suite("mkl") if problem.name == "mkl/sonar").data


def test_processes_share_the_memory(monkeypatch):
    """52 kernels on 42 points: 375,648 bytes a copy, of which one must fit."""
    problem = mkl_problem(made_up())
    monkeypatch.setattr("oracle_opt.oracles.kernels.bank_checks.most_of_memory", lambda: 1_000_000)
    assert share_of_memory() == 1_000_000
    problem(0)
    token = processes.set(4)
    try:
        assert share_of_memory() == 250_000
        with pytest.raises(InvalidArgument, match="memory_limit"):
            problem(0)
    finally:
        processes.reset(token)


@pytest.mark.parametrize(
    ("words", "argument"),
    [
        ({"train": 1.0}, "train"),
        ({"C": 0.0}, "C"),
        ({"seed": -1}, "seed"),
        ({"regularizer": 2.0}, "regularizer"),
        ({"C": 1.0, "loss": Hinge()}, "C"),
        ({"loss": "hinge"}, "loss"),
        ({"trace": 1}, "trace"),
    ],
)
def test_refusals(words, argument):
    with pytest.raises(InvalidArgument, match=f"`{argument}`"):
        mkl_problem(made_up(), **words)


def test_a_name_that_is_none():
    with pytest.raises(InvalidArgument, match="sonar"):
        mkl_problem("sonnar")


def test_runs_are_those_of_today():
    """The numbers of `compare`'s protocol: calls, accuracy and kernels of a run by hand."""
    dataset = made_up()
    instance = mkl_problem(dataset)(1)
    result = minimize(instance.oracle, LevelSet(), rtol=5e-3)
    train, test = split_points(dataset.y, 1)
    oracle = MKLOracle(uci_bank(dataset.X[train]), dataset.y[train], C=100.0)
    known = minimize(oracle, LevelSet(), rtol=5e-3)
    assert (result.n_calls, result.upper_bound) == (known.n_calls, known.upper_bound)
    assert instance.measures["accuracy"](result.cut) == np.mean(
        oracle.predict(known.cut, dataset.X[test]) == dataset.y[test]
    )
    assert instance.measures["n_kernels"](result.cut) == (known.point > 1e-3 * known.point.max()).sum()


def test_large_data_sets_are_sent_to_processes(tmp_path):
    """Arrays of more than 64 kB are pickled in another way than small ones."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(60, 2)), 100, axis=1)
    large = Dataset("large", X, made_up().y, tuple(map(str, range(200))), "", "")
    assert X.nbytes > 1 << 16
    study = Study([mkl_problem(large)], ["fixed-point", "level-set"], seeds=2, limits=Limits(calls=2))
    results = study.run(tmp_path, jobs=2, progress=False)
    assert set(results.runs["status"]) <= {"EXHAUSTED", "MAX_CALLS", "CONVERGED"}
    assert (results.runs["accuracy"] > 0.2).all()
