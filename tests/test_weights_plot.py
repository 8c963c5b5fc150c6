"""Weights of kernels as bars: the largest named, the others of their group summed, whatever their number."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from oracle_opt import InvalidArgument, minimize
from oracle_opt.generators import LevelSet
from oracle_opt.oracles import MKLOracle, uci_bank
from oracle_opt.study import plot_weights

RNG = np.random.default_rng(0)


def table(weights, groups):
    names = [f"kernel{k} of {group}" for k, group in enumerate(groups)]
    return pd.DataFrame({"name": names, "group": groups, "weight": weights})


def bars(ax):
    """Labels and lengths."""
    labels = [label.get_text() for label in ax.get_yticklabels()]
    return dict(zip(labels, [bar.get_width() for bar in ax.patches if bar.get_height() == 0.72], strict=True))


def test_few_kernels_are_all_named():
    ax = plot_weights(table([0.1, 0.7, 0.2], ["left", "right", "left"]))
    assert bars(ax) == {"kernel1": 0.7, "kernel2": 0.2, "kernel0": 0.1}
    assert list(bars(ax)) == ["kernel1", "kernel2", "kernel0"]  # by group, then by weight
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["right: 0.7", "left: 0.3"]
    colors = [bar.get_facecolor() for bar in ax.patches[:3]]
    assert colors[0] != colors[1] == colors[2]


def test_of_many_kernels_the_largest_are_named_and_none_is_lost():
    weights = np.where(RNG.random(400) < 0.3, RNG.random(400) ** 4, 0.0)
    weights /= weights.sum()
    given = table(weights, np.repeat([f"x{i}" for i in range(40)], 10))
    ax = plot_weights(given, n_named=8)
    found = bars(ax)
    assert len(found) < 20
    assert sum(found.values()) == pytest.approx(1.0)
    n_zero = int((weights == 0).sum())
    assert found[f"{n_zero} kernels have weight 0"] == 0.0
    for k in np.argsort(-weights)[:8]:
        name = given["name"][k]
        assert found.get(name, found.get(name.split(" of ")[0])) == pytest.approx(weights[k])
    assert len(ax.get_legend().get_texts()) == 10  # nine groups have a color
    assert ax.get_legend().get_texts()[-1].get_text().startswith("31 more groups: ")
    ax.figure.draw_without_rendering()


def test_weights_of_several_problems():
    values = RNG.dirichlet(np.ones(6), size=3)
    estimator = SimpleNamespace(
        weights_=values,
        kernel_names_=[f"k{i} of $g{i // 3}" for i in range(6)],
        kernel_groups_=[f"$g{i // 3}" for i in range(6)],
        classes_=np.array(["setosa", "virginica", "versicolor"]),
    )
    ax = plot_weights(estimator)
    assert sorted(bars(ax).values()) == pytest.approx(sorted(values.mean(axis=0)))
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[2:] == ["setosa", "virginica", "versicolor"]
    assert texts[0].startswith(r"\$g")
    marks = [line.get_xdata() for line in ax.lines]
    assert np.allclose(np.sort(np.ravel(marks)), np.sort(values.ravel()))
    estimator.weights_, estimator.classes_ = values[:, :6], np.array([1, 2, 3])
    pairs = plot_weights(estimator).get_legend().get_texts()
    assert [text.get_text() for text in pairs][2:] == ["1", "2", "3"]
    estimator.weights_ = RNG.dirichlet(np.ones(6), size=6)
    estimator.classes_ = list("abcd")
    assert [t.get_text() for t in plot_weights(estimator).get_legend().get_texts()][2:4] == ["a / b", "a / c"]
    estimator.weights_, estimator.classes_ = values[0], None
    assert plot_weights(estimator).get_xlabel() == "weight of the kernel"


def test_a_result_is_drawn_with_its_oracle():
    X = RNG.normal(size=(30, 2))
    oracle = MKLOracle(uci_bank(X), np.where(X[:, 0] > 0, 1.0, -1.0), C=1.0)
    result = minimize(oracle, LevelSet(), rtol=1e-2)
    for given in (result, result.cut):
        assert bars(plot_weights(given, oracle=oracle)) == bars(plot_weights(oracle.weights(result)))
    with pytest.raises(InvalidArgument, match="a result with `oracle=` the one it is of"):
        plot_weights(result)


def test_it_draws_where_it_is_told():
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert plot_weights(table([1.0], ["one"]), ax) is ax
    assert ax.get_legend() is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (pd.DataFrame({"name": ["a"], "weight": [1.0]}), "'group' is missing"),
        (np.ones(3), r"must be the table of oracle.weights\(result\), a result with"),
        (SimpleNamespace(weights_=np.ones(2), kernel_names_=["a"], kernel_groups_=["b"]), "got 2 weights, 1 names"),
        (table([np.nan, 1.0], ["a", "b"]), "must be finite"),
        (table([], []), "got 0 weights"),
    ],
)
def test_what_are_no_weights(given, words):
    with pytest.raises(InvalidArgument, match=words):
        plot_weights(given)
