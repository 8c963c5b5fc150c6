"""Mixed norms on many classes: the votes, the sparsity and the gains, again by scikit-learn and by hand."""

import json

import numpy as np
import pytest
from papers_data import QUICK, figures
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from oracle_opt import DataUnavailable, InvalidData, minimize
from oracle_opt.datasets import Dataset, KernelData
from oracle_opt.generators import LevelSet
from oracle_opt.oracles import GramBank, MixedNormOracle, MKLOracle
from papers import mixnorm, mixnorm_classes, mixnorm_figure1
from papers.mixnorm_classes import CHOOSERS, METHODS, Votes, chosen, draw, one_against_one
from papers.mixnorm_figure1 import Split
from papers.repetitions import Options


def three_classes(n=14, seed=0):
    """Three groups of two kernels on points of three classes; the last feature is noise."""
    rng = np.random.default_rng(seed)
    y = np.repeat(["a", "b", "c"], n)
    X = rng.normal(size=(3 * n, 3))
    X[:, 0] += 1.5 * (y == "b")
    X[:, 1] += 1.5 * (y == "c")
    kernels = [s * np.exp(-g * (x[:, None] - x) ** 2) for x in X.T for g, s in ((0.2, 1.0), (2.0, 5.0))]
    return KernelData("three", np.array(kernels), ((0, 1), (2, 3), (4, 5)), y, "")


def by_scikit_learn(data, train, test, weights_of, C):
    """Votes of all pairs for the weights that a function gives the kernels of unit trace."""
    votes = np.zeros((len(test), 3))
    for first, second in ((0, 1), (0, 2), (1, 2)):
        names = np.array(data.classes)
        rows = train[np.isin(data.y[train], names[[first, second]])]
        y = np.where(data.y[rows] == names[first], 1.0, -1.0)
        K = data.kernels[:, rows[:, None], rows]
        scales = 1 / np.trace(K, axis1=1, axis2=2)
        K = K * scales[:, None, None]
        weights = weights_of(K, y)
        svm = SVC(C=C, kernel="precomputed", tol=1e-10).fit(np.tensordot(weights, K, 1), y)
        decisions = svm.decision_function(np.tensordot(weights * scales, data.kernels[:, test[:, None], rows], 1))
        votes[:, first] += decisions >= 0
        votes[:, second] += decisions < 0
    right = np.array(data.classes)[votes.argmax(axis=1)] == data.y[test]
    return [right[data.y[test] == name].mean() for name in data.classes]


def mixed(K, y, C):
    oracle = MixedNormOracle(GramBank(list(K), check=False), y, C, groups=((0, 1), (2, 3), (4, 5)))
    return minimize(oracle, LevelSet(), rtol=1e-7).cut.extras["kernel_weights"]


def one_group(K, y, C):
    return minimize(MKLOracle(GramBank(list(K), check=False), y, C=C), LevelSet(), rtol=1e-7).point


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_votes_are_those_of_scikit_learn(C):
    data = three_classes()
    train, test = draw(data, 6, None, 0)
    outcome = one_against_one(data, train, test, METHODS["L2-MKL"], C)
    assert outcome.accuracies == by_scikit_learn(data, train, test, lambda K, y: np.ones(6), C)
    assert 0.4 < np.mean(outcome.accuracies) < 1
    assert (outcome.C, outcome.zero, outcome.groups, outcome.few, outcome.n_svms) == (C, 0, 3, 0, 1)
    for name, weights_of in (("MixNorm-MKL by LevelSet", mixed), ("L1-MKL by LevelSet", one_group)):
        found = one_against_one(data, train, test, METHODS[name], C)
        known = by_scikit_learn(data, train, test, lambda K, y, f=weights_of: f(K, y, C), C)
        assert np.abs(np.array(found.accuracies) - known).max() <= 1 / 8 + 1e-12  # a point at a boundary may differ
        assert found.converged == 1


def test_sparsity_is_that_of_the_weights():
    data = three_classes()
    train, test = draw(data, 6, 3, 1)
    assert len(test) == 9
    counted = {}
    for name, weights_of in (("MixNorm-MKL by LevelSet", mixed), ("L1-MKL by LevelSet", one_group)):
        seen = []

        def spy(K, y, f=weights_of, seen=seen):
            seen.append(f(K, y, 10.0))
            return seen[-1]

        by_scikit_learn(data, train, test, spy, 10.0)
        used = [w >= 1e-3 * w.max() for w in seen]
        groups = [sum(u[2 * k : 2 * k + 2].any() for k in range(3)) for u in used]
        found = one_against_one(data, train, test, METHODS[name], 10.0)
        assert found.zero == pytest.approx(np.mean([1 - u.mean() for u in used]), abs=0.06)
        assert found.groups == pytest.approx(np.mean(groups), abs=0.4)
        assert found.few == pytest.approx(np.mean([g <= 2 for g in groups]), abs=0.34)
        counted[name] = found
    assert counted["MixNorm-MKL by LevelSet"].groups == 3
    assert counted["L1-MKL by LevelSet"].groups < 3


def test_the_papers_methods_solve_the_same_problems():
    """Mirror descent with one SVM a call counts them; LevelSet counts those within its calls."""
    data = three_classes()
    train, test = draw(data, 6, None, 2)
    outcomes = {name: one_against_one(data, train, test, method, 10.0) for name, method in METHODS.items()}
    for name in ("MixNorm-MKL", "L1-MKL"):
        assert outcomes[name].converged == 1
        near = np.abs(np.array(outcomes[name].accuracies) - outcomes[f"{name} by LevelSet"].accuracies)
        assert near.max() <= 0.3
    kinds = {name: (type(m.generator).__name__, m.rtol, m.norm) for name, m in METHODS.items()}
    assert kinds == {
        "MixNorm-MKL": ("MirrorDescent", 1e-2, "MixNorm-MKL"),
        "L1-MKL": ("ReducedGradient", 1e-2, "L1-MKL"),
        "L2-MKL": ("FixedPoint", 1e-2, "L2-MKL"),
        "MixNorm-MKL by LevelSet": ("LevelSet", 1e-4, "MixNorm-MKL"),
        "L1-MKL by LevelSet": ("LevelSet", 1e-4, "L1-MKL"),
    }
    bank = GramBank([np.eye(4)] * 3)
    oracle = METHODS["MixNorm-MKL"].oracle(bank, np.array([1.0, 1, -1, -1]), 1.0, ((0, 1), (2,)))
    assert (oracle.max_solves, oracle.groups) == (1, ((0, 1), (2,)))
    rows = np.flatnonzero(data.y[train] != "c")
    y = np.where(data.y[train[rows]] == "a", 1.0, -1.0)
    pair = mixnorm_classes.solve_pair(data, train[rows], y, test, METHODS["MixNorm-MKL by LevelSet"], 10.0)
    K = data.kernels[:, train[rows][:, None], train[rows]]
    K = K / np.trace(K, axis1=1, axis2=2)[:, None, None]
    oracle = MixedNormOracle(GramBank(list(K), check=False), y, 10.0, groups=data.groups)
    run = minimize(oracle, LevelSet(), rtol=1e-4, keep_cuts=True)
    assert pair.n_svms == sum(cut.extras["n_solves"] for cut in run.history.cuts) > run.n_calls


def test_draws():
    data = three_classes()
    train, test = draw(data, 5, 4, 3)
    assert not set(train) & set(test)
    for rows, count in ((train, 5), (test, 4)):
        assert np.unique(data.y[rows], return_counts=True)[1].tolist() == [count] * 3
    assert sorted(np.concatenate(draw(data, 5, None, 3))) == list(range(42))
    assert not np.array_equal(draw(data, 5, 4, 4)[0], train)
    for n_train, n_test, words in ((14, None, "14 that train and 1"), (10, 5, "10 that train and 5")):
        with pytest.raises(InvalidData, match=f"class a of 'three' has 14 points, too few for {words} to test"):
            draw(data, n_train, n_test, 0)


def test_c_has_the_best_mean_accuracy_of_the_classes(monkeypatch):
    data = three_classes()
    train, _ = draw(data, 6, None, 0)
    asked = []

    def made_up(data, fit, held, method, C):
        asked.append((tuple(fit), tuple(held), method, C))
        return Votes(C, [{1.0: 0.5, 10.0: 0.7, 100.0: 0.7}[C]] * 3, 0, 0, 0, 0, 1, 0)

    monkeypatch.setattr(mixnorm_classes, "one_against_one", made_up)
    assert chosen(data, train, "L1-MKL", 5) == 10.0
    parts = StratifiedKFold(2, shuffle=True, random_state=5).split(train, data.y[train])
    known = [(tuple(train[fit]), tuple(train[held])) for fit, held in parts]
    assert [(fit, held) for fit, held, _, _ in asked] == known * 3
    assert {method for *_, method, _ in asked} == {CHOOSERS["L1-MKL"]}
    assert [C for *_, C in asked] == [1.0, 1.0, 10.0, 10.0, 100.0, 100.0]


ACCURACIES = {
    "MixNorm-MKL": [0.8, 0.3, 0.5],
    "L1-MKL": [0.1, 0.0, 0.5],
    "L2-MKL": [0.4, 0.6, 0.5],
    "MixNorm-MKL by LevelSet": [0.9, 0.9, 0.9],
    "L1-MKL by LevelSet": [0.2, 0.2, 0.2],
}


@pytest.fixture
def made_up(monkeypatch):
    """Three classes by name, with outcomes that are numbers of the split."""
    calls = []

    def outcomes(data, train, test, method, C):
        (name,) = [name for name, known in METHODS.items() if known is method]
        calls.append((name, C, len(train), len(test)))
        seed = sum(call[0] == name for call in calls) - 1
        change = 0.1 * (-1) ** seed * (name == "MixNorm-MKL")
        return Votes(C, [a + change for a in ACCURACIES[name]], 0.25, 2.5, 0.5, 7.0, 0.75, 9.0 + seed)

    def load(name):
        if name == "proteinfold":
            return three_classes()
        raise DataUnavailable(f"{name} is away")

    monkeypatch.setattr(mixnorm_figure1, "one_against_one", outcomes)
    monkeypatch.setattr(mixnorm_figure1, "load_kernels", load)
    monkeypatch.setattr(mixnorm_figure1, "chosen", lambda data, train, norm, seed: {"L1-MKL": 10.0}.get(norm, 1.0))
    return calls


def test_gains_and_means_over_splits(tmp_path, made_up):
    outcome = mixnorm_figure1.figure1(Options(tmp_path, splits=2))
    found = figures(outcome)
    for name, accuracies in ACCURACIES.items():
        known = {
            "accuracy %": 100 * np.mean(accuracies),
            "zero weights %": 25,
            "groups of a pair": 2.5,
            "pairs with at most two groups %": 50,
            "log10 of C": 1 if name.startswith("L1") else 0,
            "pairs that reached the gap %": 75,
            "SVMs of a pair": 7,
            "seconds": 9.5,
        }
        for quantity, value in known.items():
            assert found.pop(("Protein folds", f"{quantity}, {name}")) == pytest.approx(value), quantity
    gains = {"L1-MKL": [700.0, np.nan, 0.0], "L2-MKL": [100.0, -50.0, 0.0]}
    for other, of_classes in gains.items():
        for name, gain in zip("abc", of_classes, strict=True):
            key = f"Protein folds, class {name}", f"gain %, over {other}"
            assert found.pop(key) == pytest.approx(gain, nan_ok=True, abs=1e-9)
        assert found.pop(("Protein folds", f"average gain %, over {other}")) == pytest.approx(np.nanmean(of_classes))
        assert found.pop(("Protein folds", f"largest gain %, over {other}")) == pytest.approx(np.nanmax(of_classes))
        drawn = outcome.figure.data[outcome.figure.data["name"] == other]
        assert drawn["x"].tolist() == [1, 2, 3]
        np.testing.assert_allclose(drawn["y"], of_classes, atol=1e-9)
    assert not found
    assert outcome.absent == ("Caltech-5", "Caltech-101", "Oxford flowers")
    assert [note for note in outcome.notes if "caltech5 is away" in note]
    assert outcome.findings[1] == (
        "Protein folds: the mixed norm is above L2-MKL in 1 of 3 classes and below in 1; its average gain is 16.67 %."
    )
    assert "by L1-MKL of 2.5 groups on average, of one or two in 50 % of the pairs" in outcome.findings[2]
    assert "3 classes, 3 groups, 6 kernels; of each class 8 points train and all others are tested, 2 splits" in (
        outcome.caption
    )
    assert {call[2:] for call in made_up} == {(24, 18)}


def test_splits_are_kept_and_done_again_where_they_are_others(tmp_path, made_up):
    def run(seed, splits=2):
        made_up.clear()
        outcome = mixnorm_figure1.figure1(Options(tmp_path, splits=splits, seed=seed))
        return len(made_up), figures(outcome)

    assert run(0)[0] == 10
    count, first = run(0)
    assert count == 0
    assert run(0)[1] == pytest.approx(first, nan_ok=True)
    assert run(1)[0] == 5  # split 1 is there
    file = tmp_path / "mixnorm-classes-runs" / "three-0.json"
    stored = json.loads(file.read_text())
    file.write_text(json.dumps(stored | {"identity": "another"}))
    assert run(0)[0] == 5


def test_kernels_of_a_quick_run(tmp_path):
    ((label, data, split),), notes, absent = mixnorm_figure1._sets(Options(tmp_path, quick=True))
    assert (label, split, absent) == ("wdbc", Split("wdbc", 10, None, 1), ())
    x = QUICK.X[:, 2]
    D = ((x[:, None] - x) / x.std()) ** 2
    np.testing.assert_allclose(data.kernels[7], np.exp(-D / 2))
    assert data.groups == ((0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11))
    assert "--quick" in notes[0]


def test_no_set_at_hand(tmp_path, monkeypatch):
    def away(name):
        raise DataUnavailable("away")

    monkeypatch.setattr(mixnorm_figure1, "load_kernels", away)
    with pytest.raises(DataUnavailable, match="none of the sets proteinfold, caltech5"):
        mixnorm_figure1.figure1(Options(tmp_path))
    monkeypatch.setattr(mixnorm, "load", away)
    monkeypatch.setattr(mixnorm, "read_protein_folds", lambda: away("folds"))
    notes = []
    assert mixnorm._pair_of_classes(Options(tmp_path), notes) == []
    assert notes == ["protein folds were left out: away"]


def test_the_pair_of_the_largest_folds(tmp_path, monkeypatch):
    proteins = Dataset("proteinfold", np.arange(10.0).reshape(5, 2), np.ones(5), ("a", "b"), "", "")
    monkeypatch.setattr(mixnorm, "load", lambda name: proteins)
    folds = np.array([7, 1, 16, 16, 27])
    monkeypatch.setattr(mixnorm, "read_protein_folds", lambda: (type("Folds", (), {"y": folds}), ""))
    ((label, pair),) = mixnorm._pair_of_classes(Options(tmp_path), [])
    assert label == "Protein folds 16 and 7"
    np.testing.assert_array_equal(pair.X, [[0, 1], [4, 5], [6, 7]])
    np.testing.assert_array_equal(pair.y, [-1, 1, 1])
