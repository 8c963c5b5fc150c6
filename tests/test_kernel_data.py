"""Precomputed kernels with class labels: what is read, and what is refused."""

import gzip
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat
from scipy.spatial.distance import cdist
from typer.testing import CliRunner

from oracle_opt import DataUnavailable, InvalidArgument, InvalidData, minimize
from oracle_opt.cli import main
from oracle_opt.datasets import kernel_data, load, load_kernels
from oracle_opt.datasets.kernel_data import FLOWER_FILES, WIDTHS
from oracle_opt.generators import LevelSet
from oracle_opt.oracles import GramBank, MixedNormOracle

N = 12
RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(6, N, 3))
K = POINTS @ POINTS.transpose(0, 2, 1)
CLASSES = np.repeat([1, 2, 5], 4)


def distances(n, count):
    points = np.random.default_rng(1).normal(size=(count, n, 2))
    return np.linalg.norm(points[:, :, None] - points[:, None], axis=-1)


@pytest.mark.skipif(not os.environ.get("ORACLE_OPT_DATA"), reason="ORACLE_OPT_DATA names no folder with the data sets")
def test_the_faces_of_yale():
    data = load_kernels("yale")
    assert data.kernels.shape == (5, 165, 165)
    assert np.linalg.eigvalsh(data.kernels).min() > -1e-8
    assert data.groups == ((0, 1, 2, 3, 4),)
    assert len(data.classes) == 15
    assert np.unique(data.y, return_counts=True)[1].tolist() == [11] * 15
    best = np.argsort(data.kernels[2] - 10 * np.eye(165), axis=1)[:, -1]
    assert (data.y[best] == data.y).mean() > 0.5  # the nearest face is mostly of the same person


@pytest.mark.skipif(not os.environ.get("ORACLE_OPT_DATA"), reason="ORACLE_OPT_DATA names no folder with the data sets")
def test_the_views_of_the_protein_folds(tmp_path, monkeypatch):
    data, proteins = load_kernels("proteinfold"), load("proteinfold")
    assert data.kernels.shape == (108, 694, 694)
    assert [len(group) for group in data.groups] == [9] * 12
    assert data.classes == tuple(range(1, 28))
    np.testing.assert_array_equal(data.y <= 15, proteins.y > 0)
    Z = proteins.dense()[:, 27:54]  # the second view
    D = cdist(Z, Z, "sqeuclidean")
    for width, kernel in zip(WIDTHS, data.kernels[9:18], strict=True):
        np.testing.assert_allclose(kernel, np.exp(-D / (width * D.mean())), rtol=1e-9, atol=1e-300)
    # the folds of a file that belongs to another order of the proteins, that is too short, or no numbers
    place = Path(os.environ["ORACLE_OPT_DATA"])
    monkeypatch.setenv("ORACLE_OPT_DATA", str(tmp_path))
    monkeypatch.setenv("ORACLE_OPT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "proteinfold.csv.gz").write_bytes((place / "proteinfold.csv.gz").read_bytes())
    with pytest.raises(DataUnavailable, match=r"the folds of 'proteinfold' are not here: put proteinfold_folds.csv.gz"):
        load_kernels("proteinfold")
    folds = data.y[::-1].astype(str).tolist()
    for lines, message in ((folds, "does not belong"), (folds[:5], "it holds 5 folds"), (["a"], "a number in each")):
        (tmp_path / "proteinfold_folds.csv.gz").write_bytes(gzip.compress("\n".join(["fold", *lines]).encode()))
        with pytest.raises(InvalidData, match=message):
            load_kernels("proteinfold")


def test_kernels_of_groups_go_into_the_mixed_norm_oracle(folder):
    np.savez(folder / "caltech5.npz", K=K.reshape(2, 3, N, N), y=CLASSES)
    data = load_kernels("caltech5")
    np.testing.assert_array_equal(data.kernels, K)
    assert data.groups == ((0, 1, 2), (3, 4, 5))
    assert data.classes == (1, 2, 5)
    assert data.source == str(folder / "caltech5.npz")
    y = np.where(data.y == 1, 1.0, -1.0)
    oracle = MixedNormOracle(GramBank(list(data.kernels)), y, groups=data.groups)
    assert minimize(oracle, LevelSet(), rtol=1e-4).status.name == "CONVERGED"


def test_groups_by_number_and_classes_by_word(tmp_path):
    words = np.array(["ant", "bee", "cat"])[np.arange(N) % 3]
    np.savez_compressed(tmp_path / "mine.npz", K=K.astype(np.float32), y=words, groups=np.array([3, 1, 3, 1, 7, 1]))
    data = load_kernels(tmp_path / "mine.npz")
    assert data.groups == ((1, 3, 5), (0, 2), (4,))
    assert data.classes == ("ant", "bee", "cat")
    assert data.name == "mine"
    assert data.kernels.dtype == float
    np.savez(tmp_path / "mine.npz", K=K, y=words)
    assert load_kernels(str(tmp_path / "mine.npz")).groups == (tuple(range(6)),)


def test_distances_become_nine_kernels_each(folder):
    D = distances(N, 2)
    np.savez(folder / "oxford_flowers.npz", D=D, y=CLASSES)
    data = load_kernels("oxford_flowers")
    assert data.groups == (tuple(range(9)), tuple(range(9, 18)))
    for j in range(2):
        for k, width in enumerate(WIDTHS):
            np.testing.assert_allclose(data.kernels[9 * j + k], np.exp(-D[j] / (width * D[j].mean())), rtol=1e-14)
    assert (WIDTHS[0], WIDTHS[-1], len(WIDTHS)) == (1 / 16, 16.0, 9)


def test_the_flowers_as_their_page_distributes_them(folder, monkeypatch):
    """Two files with seven matrices of 17 x 80 images in order; here of 17 x 4."""
    assert kernel_data.FLOWER_CLASSES * kernel_data.FLOWERS_OF_A_CLASS == 1360
    monkeypatch.setattr(kernel_data, "FLOWERS_OF_A_CLASS", 4)
    D = distances(68, 1)[0].astype(np.float32)
    names = ("colourgc", "shapegc", "texturegc"), ("hog", "hsv", "siftbdy", "siftint")
    savemat(folder / FLOWER_FILES[0], {f"D_{name}": D for name in names[0]})
    with pytest.raises(InvalidData, match=r"itfeat08.mat does not exist; the other file"):
        load_kernels("oxford_flowers")
    savemat(folder / FLOWER_FILES[1], {f"D_{name}": D for name in names[1]})
    data = load_kernels("oxford_flowers")
    assert data.kernels.shape == (63, 68, 68)
    assert [len(group) for group in data.groups] == [9] * 7
    assert data.y.tolist() == [k for k in range(17) for _ in range(4)]
    content = (folder / FLOWER_FILES[1]).read_bytes()
    for damaged in (content[:1000], content[: len(content) // 2], b"no MATLAB file at all" * 50, b""):
        (folder / FLOWER_FILES[1]).write_bytes(damaged)
        with pytest.raises(InvalidData, match="cannot be read as a MATLAB file"):
            load_kernels("oxford_flowers")
    savemat(folder / FLOWER_FILES[1], {f"D_{name}": D for name in names[1][1:]})
    with pytest.raises(InvalidData, match="hold no matrix D_hog"):
        load_kernels("oxford_flowers")
    savemat(folder / FLOWER_FILES[1], {f"D_{name}": D[:10, :10] for name in names[1]})
    with pytest.raises(InvalidData, match=r"D_hog must be a real matrix of shape \(68, 68\), got float32"):
        load_kernels("oxford_flowers")


def changed(k, i, j, value):
    other = K.copy()
    other[k, i, j] = value
    return other


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"K": K}, "must hold an array y and one of K, kernels, and D, distances; got K"),
        ({"y": CLASSES}, "got y"),
        ({"k": K}, "got none of them"),
        ({"K": K, "D": K, "y": CLASSES}, "got D, K, y"),
        ({"K": K[0], "y": CLASSES}, r"K must have shape \(p, n, n\) or \(groups, p, n, n\), got \(12, 12\)"),
        ({"K": K[:, :, :5], "y": CLASSES}, r"got \(6, 12, 5\)"),
        ({"K": K[:0], "y": CLASSES}, r"got \(0, 12, 12\)"),
        ({"D": K.reshape(2, 3, N, N), "y": CLASSES}, r"D must have shape \(groups, n, n\)"),
        ({"K": K, "y": CLASSES[:5]}, r"a class for each of the 12 points of K, got shape \(5,\)"),
        ({"K": K, "y": CLASSES[:, None]}, r"got shape \(12, 1\)"),
        ({"K": K, "y": np.ones(N)}, r"at least two classes, got \[1.0\]"),
        ({"K": changed(4, 1, 2, np.nan), "y": CLASSES}, "matrix 4 of K, counted from 0, is not finite"),
        ({"K": changed(0, 0, 0, np.inf), "y": CLASSES}, "matrix 0 of K, counted from 0, is not finite"),
        ({"K": changed(5, 1, 2, 3.0), "y": CLASSES}, "matrix 5 of K, counted from 0, is not symmetric"),
        ({"D": -distances(N, 1), "y": CLASSES}, "matrix 0 of D, counted from 0, holds no distances"),
        ({"D": np.zeros((1, N, N)), "y": CLASSES}, "holds no distances"),
        ({"K": K * 1j, "y": CLASSES}, "must hold real matrices"),
        ({"K": K, "y": CLASSES, "groups": np.zeros(5)}, r"groups must have shape \(6,\).* got shape \(5,\)"),
        ({"K": K.reshape(2, 3, N, N), "y": CLASSES, "groups": np.zeros(6)}, r"for K of shape \(p, n, n\) alone"),
        ({"K": K, "y": np.array([None] * N)}, "cannot be read as .npz"),
    ],
)
def test_arrays_that_are_no_kernels(tmp_path, arrays, message):
    np.savez(tmp_path / "mine.npz", **arrays)
    with pytest.raises(InvalidData, match=message):
        load_kernels(tmp_path / "mine.npz")


def test_halves_that_differ_by_rounding_are_averaged(tmp_path):
    np.savez(tmp_path / "mine.npz", K=changed(3, 1, 2, K[3, 1, 2] * (1 + 1e-9)), y=CLASSES)
    kernels = load_kernels(tmp_path / "mine.npz").kernels
    np.testing.assert_array_equal(kernels, kernels.transpose(0, 2, 1))
    np.testing.assert_allclose(kernels, K, rtol=1e-8)


def test_damaged_files(tmp_path):
    path = tmp_path / "mine.npz"
    np.savez_compressed(path, K=K, y=CLASSES)
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 255
    for damaged in (content[:100], content[: len(content) // 2], bytes(flipped), b"", b"words", pickle.dumps({"K": 1})):
        path.write_bytes(damaged)
        with pytest.raises(InvalidData, match=r"cannot be read as \.npz"):
            load_kernels(path)
    with path.open("wb") as file:
        np.save(file, K)
    with pytest.raises(InvalidData, match="holds a single array"):
        load_kernels(path)
    with pytest.raises(InvalidData, match="does not exist"):
        load_kernels(tmp_path / "nothing.npz")


def test_they_are_listed(folder):
    np.savez(folder / "caltech5.npz", K=K, y=CLASSES)
    lines = CliRunner().invoke(main, ["datasets"]).stdout.splitlines()
    listed = {line.split()[0]: line for line in lines if line.strip()}
    assert str(folder / "caltech5.npz") in "".join(lines)
    assert f"needs {FLOWER_FILES[0]} and {FLOWER_FILES[1]}" in listed["oxford_flowers"]
    assert "needs yale_kernels.npz" in listed["yale"]


def test_names(folder, monkeypatch):
    with pytest.raises(InvalidArgument, match="did you mean oxford_flowers"):
        load_kernels("oxford_flower")
    with pytest.raises(InvalidArgument, match="known are caltech5, caltech101, oxford_flowers, proteinfold, yale"):
        load_kernels("qqqq")
    with pytest.raises(DataUnavailable) as caught:
        load_kernels("oxford_flowers")
    for part in (*FLOWER_FILES, "oxford_flowers.npz", str(folder), str(folder.parent / "cache"), "robots.ox.ac.uk"):
        assert part in str(caught.value)
    monkeypatch.delenv("ORACLE_OPT_DATA")
    with pytest.raises(DataUnavailable, match=r"caltech101.npz.* which is not set"):
        load_kernels("caltech101")


@pytest.mark.parametrize("share", [1e-13, 1e-9, 5e-7])
def test_halves_that_nearly_agree_are_averaged(tmp_path, share):
    moved = K[:1].copy()
    moved[0, 2, 5] += share * np.abs(K[0]).max()
    np.savez(tmp_path / "mine.npz", K=moved, y=CLASSES)
    (kernel,) = load_kernels(tmp_path / "mine.npz").kernels
    np.testing.assert_array_equal(kernel, kernel.T)
    assert kernel[2, 5] == 0.5 * (moved[0, 2, 5] + moved[0, 5, 2])
