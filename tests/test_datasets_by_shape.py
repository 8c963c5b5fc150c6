"""Sets whose files a user fetches: found under all their names, read sparse, checked by their shape."""

import bz2
import gzip
import lzma
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

from oracle_opt import DataUnavailable, InvalidData
from oracle_opt.cli import main
from oracle_opt.datasets import available, load
from oracle_opt.datasets.catalog import BY_SHAPE, CATALOG

PACK = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
SHAPES = {
    "covertype": (581012, 54),
    "kddcup04": (50000, 78),
    "real_sim": (72309, 20958),
    "rcv1": (20242, 47236),
    "leukemia": (38, 7129),
    "breast_cancer": (683, 10),
    "a2a": (2265, 123),
    "w7a": (24692, 300),
}


def drawn(n, d, n_positive, per_row=3):
    """Sparse points, none of whose last features is used, and labels."""
    rng = np.random.default_rng(n)
    X = csr_array(random_array((n, d), density=per_row / d, rng=rng))
    X = csr_array((X.data, X.indices, X.indptr), shape=X.shape)
    X = X[:, : d - 1]
    y = np.repeat([1, -1], [n_positive, n - n_positive])
    return X, rng.permutation(y)


def write_libsvm(path, X, y, ending=""):
    dump_svmlight_file(X, y, str(path), zero_based=False)
    text = path.read_bytes()
    path.unlink()
    packed = path.with_name(path.name + ending)
    packed.write_bytes(PACK[ending](text))
    return packed


def test_the_sets_of_the_issue():
    assert {name: (entry.n, entry.d) for name, entry in BY_SHAPE.items()} == SHAPES
    assert all(CATALOG[name] is entry and entry.sha256 is None for name, entry in BY_SHAPE.items())


@pytest.mark.parametrize(
    ("name", "stem", "ending"),
    [
        ("rcv1", "rcv1_train.binary", ".bz2"),
        ("real_sim", "real-sim.svm", ".gz"),
        ("leukemia", "leu", ".bz2"),
        ("a2a", "a2a", ""),
        ("a2a", "a2a.libsvm", ".xz"),
        ("w7a", "w7a.txt", ""),
    ],
)
def test_a_set_loads_sparse_under_the_names_of_its_page(folder, name, stem, ending):
    """As dense arrays rcv1 and real_sim would have 8 and 12 GB."""
    n, d = SHAPES[name]
    X, y = drawn(n, d, n // 3)
    path = write_libsvm(folder / stem, X, y, ending)
    dataset = load(name)
    assert dataset.X.format == "csr"
    assert dataset.shape == (n, d)
    assert len(dataset.feature_names) == d
    assert dataset.source == str(path)
    assert dataset.name == name
    np.testing.assert_array_equal(dataset.y, y)
    assert abs(dataset.X[:, : d - 1] - X).max() < 1e-12
    assert {row.name: (row.place, row.here) for row in available()}[name] == (str(path), True)


def test_breast_cancer_by_its_positives(folder):
    rng = np.random.default_rng(0)
    X, y = csr_array(rng.uniform(1, 2, size=(683, 10))), np.where(rng.permutation(683) < 239, 4, 2)
    path = write_libsvm(folder / "breast-cancer", X, y)
    np.testing.assert_array_equal(load("breast_cancer").y, np.where(y == 4, 1.0, -1.0))
    write_libsvm(path, X, -y)
    with pytest.raises(InvalidData, match=r"683 points with 10 features, 444 of them labeled 1, and not 683 with 10"):
        load("breast_cancer")


def test_numbered_lines(folder, monkeypatch):
    """As KDD Cup 2004 has them: number, class, features; the size made small."""
    monkeypatch.setitem(CATALOG, "kddcup04", replace(CATALOG["kddcup04"], n=3, d=2))
    path = folder / "phy_train.dat"
    path.write_text("7\t1\t0.5\t999\n8\t0\t-1e-3\t2\n\n9\t1\t0\t1\n")
    dataset = load("kddcup04")
    assert dataset.X.tolist() == [[0.5, 999.0], [-1e-3, 2.0], [0.0, 1.0]]
    assert dataset.y.tolist() == [1.0, -1.0, 1.0]
    for text, message in [
        ("7 1 0.5 9\n8 0 1\n", "line 2: it should hold a number, a label and 2 features: there are 3 values, not 4"),
        ("7 1 0.5 9\n8 0 1 ?\n", "line 2: .* one is not a finite number"),
        ("7 1 0.5 9\n8 ? 1 1\n9 0 1 1\n", "the label must have exactly two values, got 3"),
        ("7 1\n", "at least one feature"),
        ("", "at least one feature"),
        ("7 1 0.5 9\n8 0 1 1\n", "it has 2 points with 2 features, and not 3 with 2"),
    ]:
        path.write_text(text)
        with pytest.raises(InvalidData, match=message):
            load("kddcup04")


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])
def test_a_file_cut_short(folder, ending):
    path = write_libsvm(folder / "a2a", *drawn(2265, 123, 500), ending)
    packed = path.read_bytes()
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InvalidData, match="cannot be unpacked by"):
        load("a2a")


def test_other_points_under_the_name(folder):
    X, y = drawn(2265, 123, 500)
    path = write_libsvm(folder / "a2a", X[:2000], y[:2000])
    with pytest.raises(InvalidData, match=r"known as 'a2a': it has 2000 points with 123 features, and not 2265"):
        load("a2a")
    path.write_text(path.read_text() + "1 124:1\n" * 265)
    with pytest.raises(InvalidData, match="2265 points with 124 features"):
        load("a2a")
    path.rename(folder / "a2a.csv")
    with pytest.raises(InvalidData, match="one feature column"):
        load("a2a")


def test_what_is_missing_says_which_file_under_which_names_and_where(folder, monkeypatch):
    with pytest.raises(DataUnavailable) as caught:
        load("real_sim")
    first, *rest = str(caught.value).splitlines()
    assert first.startswith(
        "the data set 'real_sim' is not here: put real-sim.bz2 of https://www.csie.ntu.edu.tw/~cjlin/"
    )
    assert "real_sim or real-sim as LIBSVM text (no ending, .svm, .libsvm, .txt)" in rest[0]
    assert ".gz, .bz2, .xz" in rest[0]
    assert rest[1:] == [f"  looked in: {folder}", f"  looked in: {folder.parent / 'cache'}"]
    monkeypatch.delenv("ORACLE_OPT_DATA")
    with pytest.raises(DataUnavailable, match="ORACLE_OPT_DATA names, which is not set"):
        load("kddcup04")


def test_they_are_listed(folder):
    lines = CliRunner().invoke(main, ["datasets"]).stdout.splitlines()
    listed = {line.split()[0]: line for line in lines[1:] if line and not line.startswith(" ")}
    for name, (n, d) in SHAPES.items():
        assert listed[name].split()[1:3] == [str(n), str(d)]
        assert f"needs the file {BY_SHAPE[name].file}" in listed[name]
    assert "239 / 444" in listed["breast_cancer"]
