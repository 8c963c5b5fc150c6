"""Precomputed kernels with class labels, by name or from a file; protein folds by their twelve views."""

import difflib
import os
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oracle_opt.datasets.load import folders, load, what_to_do
from oracle_opt.errors import DataUnavailable, InvalidArgument, InvalidData
from oracle_opt.reading import numbers, read_text

FLOWER_FILES = ("distancematrices17gcfeat06.mat", "distancematrices17itfeat08.mat")
FLOWER_MATRICES = ("colourgc", "shapegc", "texturegc", "hog", "hsv", "siftbdy", "siftint")
FLOWER_CLASSES, FLOWERS_OF_A_CLASS = 17, 80


class Arrays(NamedTuple):
    """The content of a file before it is checked: kernels or distances, the groups if stated, and the classes."""

    matrices: NDArray[np.generic]
    groups: NDArray[np.generic] | None
    is_distance: bool
    y: NDArray[np.generic]


def read_npz(path: Path) -> Arrays:
    """Read the arrays K or D, y, and groups if it is there."""
    found = {}
    try:
        with path.open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            if isinstance(archive, np.ndarray):
                raise InvalidData(f"{path} holds a single array; save with numpy.savez(file, K=kernels, y=classes)")
            for name in {"K", "D", "y", "groups"}.intersection(archive.files):
                found[name] = np.asarray(archive[name])
    except FileNotFoundError as problem:
        raise InvalidData(f"the file {path} does not exist") from problem
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as problem:
        raise InvalidData(f"{path} cannot be read as .npz: {problem}") from problem
    if "y" not in found or ("K" in found) == ("D" in found):
        names = ", ".join(sorted(found)) or "none of them"
        raise InvalidData(f"{path} must hold an array y and one of K, kernels, and D, distances; got {names}")
    is_distance = "D" in found
    matrices = found["D" if is_distance else "K"]
    if matrices.dtype.kind not in "fiub" or found["y"].dtype.kind not in "fiubUS":
        kinds = f"{matrices.dtype} and {found['y'].dtype}"
        raise InvalidData(f"{path} must hold real matrices, and classes that are numbers or words; got {kinds}")
    return Arrays(matrices, found.get("groups"), is_distance, found["y"])


def read_flowers(paths: Sequence[Path]) -> Arrays:
    """Read the seven distance matrices of the 17 flowers; the images are in order, 80 of a class."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    found = {}
    for path in paths:
        if not path.is_file():
            raise InvalidData(
                f"the file {path} does not exist; the other file of the flowers is there, and both are needed"
            )
        try:
            found.update(loadmat(path))
        except (OSError, EOFError, ValueError, TypeError, NotImplementedError, zlib.error, MatReadError) as problem:
            raise InvalidData(f"{path} cannot be read as a MATLAB file: {problem}") from problem
    missing = [f"D_{name}" for name in FLOWER_MATRICES if f"D_{name}" not in found]
    if missing:
        raise InvalidData(f"{' and '.join(map(str, paths))} hold no matrix {', '.join(missing)}")
    matrices = [np.asarray(found[f"D_{name}"]) for name in FLOWER_MATRICES]
    n = FLOWER_CLASSES * FLOWERS_OF_A_CLASS
    for name, matrix in zip(FLOWER_MATRICES, matrices, strict=True):
        if matrix.shape != (n, n) or matrix.dtype.kind not in "fiu":
            raise InvalidData(
                f"D_{name} must be a real matrix of shape ({n}, {n}), got {matrix.dtype} of shape {matrix.shape}"
            )
    return Arrays(np.stack(matrices), None, True, np.repeat(np.arange(FLOWER_CLASSES), FLOWERS_OF_A_CLASS))


FOLDS = "proteinfold_folds.csv.gz"
LAST_POSITIVE = 15  # folds 1 to 15 are labeled 1 in the binary set
_OWN = (
    "{}.npz, which you make: arrays K and y of the images of http://www.vision.caltech.edu/Image_Datasets/Caltech101/,"
)
FILES = {  # name: file, and what to say of it where it is missing
    "caltech5": ("caltech5.npz", _OWN.format("caltech5")),
    "caltech101": ("caltech101.npz", _OWN.format("caltech101")),
    "oxford_flowers": (
        "oxford_flowers.npz",
        f"{' and '.join(FLOWER_FILES)}, of https://www.robots.ox.ac.uk/~vgg/data/flowers/17/, or oxford_flowers.npz",
    ),
    "proteinfold": (FOLDS, f"proteinfold.csv.gz and {FOLDS}"),
    "yale": ("yale_kernels.npz", "yale_kernels.npz with arrays K, 5 kernels of 165 faces, and y, their 15 persons,"),
}
WIDTHS = tuple(2.0**e for e in range(-4, 5))
SYMMETRY = 1e-6  # relative; halves that differ by less are averaged


@dataclass(frozen=True, eq=False)
class KernelData:
    """Kernel matrices of one set of points, in groups, with the classes of the points.

    Attributes
    ----------
    name : str
        Its name, or its file's name without folder and ending.
    kernels : ndarray of shape (p, n, n)
        Symmetric and finite, float64, neither scaled nor centered.
    groups : tuple of tuples of int
        The numbers of the kernels of each group, each of 0 .. p - 1 once: what `MixedNormOracle` takes.
    y : ndarray of shape (n,)
        Classes, numbers or words, at least two of them.
    source : str
        Where this copy was read.
    """

    name: str
    kernels: NDArray[np.float64]
    groups: tuple[tuple[int, ...], ...]
    y: NDArray[np.generic]
    source: str

    @property
    def classes(self) -> tuple[object, ...]:
        """The classes, in sorted order."""
        return tuple(np.unique(self.y).tolist())

    def __repr__(self) -> str:
        p, n, _ = self.kernels.shape
        return (
            f"KernelData({self.name!r}, n={n}, kernels={p}, groups={len(self.groups)}, classes={len(self.classes)}, "
            f"source={self.source!r})"
        )


def load_kernels(name: str | os.PathLike[str]) -> KernelData:
    """Load precomputed kernels with class labels.

    A known name is looked for in the folder that the environment variable ORACLE_OPT_DATA names, then in the cache (see
    `load`); nothing is downloaded.

    Parameters
    ----------
    name : str or path-like
        ``"caltech5"``, ``"caltech101"``, ``"oxford_flowers"``, ``"proteinfold"`` or ``"yale"``, or the path of an
        `.npz` file. It holds

        - `y` of shape (n,), the classes, and
        - `K` of shape (p, n, n), or (groups, p, n, n) for groups of p kernels each; with the former an array `groups`
          of shape (p,) may hold the number of each kernel's group, otherwise all are one group; or
        - `D` of shape (groups, n, n), a distance matrix for each group. Of each, nine Gaussian kernels ``exp(-D / w)``
          are made, w from 1/16 to 16 times the mean of D in powers of two. Nath et al. (2009) make nine of each
          distance, too; their widths are not printed, these are ours.

        The protein folds are the twelve views of the set of that name, D the squared distances in each, with the 27
        folds. The flowers are also taken from the two `.mat` files of distances that the page of the images
        distributes.

    Returns
    -------
    KernelData
        Kernels, groups and classes.

    Raises
    ------
    InvalidArgument
        The name is not known; the message has the nearest ones.
    InvalidData
        A file cannot be read, or does not hold kernels: a wrong shape, not symmetric, not finite.
    DataUnavailable
        The set is nowhere to be had; the message says which files were looked for, and where.
    """
    text = os.fspath(name)
    if text in FILES:
        return _known(text)
    path = Path(text)
    if path.is_file() or path.name != text or text.lower().endswith(".npz"):
        return _made(path.stem, read_npz(path), str(path))
    near = difflib.get_close_matches(text, FILES, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(FILES)}."
    raise InvalidArgument(f"there are no kernels {text!r}: {hint} A file is given by its path, such as ./{text}.npz")


def kernel_places() -> dict[str, str]:
    """Name of every known set of kernels, to where `load_kernels` would take it from, or to the file it needs."""
    places = {}
    for name, (file, _) in FILES.items():
        found = _found(name)
        missing = " and ".join(FLOWER_FILES) if name == "oxford_flowers" else file
        places[name] = f"needs {missing}" if found is None else ", ".join(map(str, found))
    return places


def _found(name: str) -> list[Path] | None:
    """Files of a known set, in the first folder with any: an `.npz`, or those the flowers are distributed in."""
    for folder in folders():
        path = folder / FILES[name][0]
        if path.is_file():
            return [path]
        parts = [folder / file for file in FLOWER_FILES]
        if name == "oxford_flowers" and any(part.is_file() for part in parts):
            return parts
    return None


def _known(name: str) -> KernelData:
    if name == "proteinfold":
        arrays, source = read_protein_folds()
        return _made(name, arrays, source)
    found = _found(name)
    if found is None:
        raise DataUnavailable(f"the kernels {name!r} are not here: {what_to_do(FILES[name][1])}")
    if len(found) == 1:
        return _made(name, read_npz(found[0]), str(found[0]))
    return _made(name, read_flowers(found), str(found[0].parent))


def _made(name: str, arrays: Arrays, source: str) -> KernelData:
    """Check arrays of a file and put them into the one form."""
    matrices, given, is_distance, y = arrays
    what = "D" if is_distance else "K"
    if (
        matrices.ndim not in ((3,) if is_distance else (3, 4))
        or matrices.shape[-1] != matrices.shape[-2]
        or not matrices.size
    ):
        shapes = "(groups, n, n)" if is_distance else "(p, n, n) or (groups, p, n, n)"
        raise InvalidData(f"{source}: {what} must have shape {shapes}, got {matrices.shape}")
    n = matrices.shape[-1]
    if y.shape != (n,):
        raise InvalidData(f"{source}: y must hold a class for each of the {n} points of {what}, got shape {y.shape}")
    if len(np.unique(y)) < 2:
        raise InvalidData(f"{source}: y must hold at least two classes, got {np.unique(y).tolist()}")
    kernels = np.ascontiguousarray(matrices, dtype=float).reshape(-1, n, n)
    for k, matrix in enumerate(kernels):
        if not np.isfinite(matrix).all():
            raise InvalidData(f"{source}: matrix {k} of {what}, counted from 0, is not finite")
        asymmetry = np.abs(matrix - matrix.T).max()
        if asymmetry > SYMMETRY * np.abs(matrix).max():
            raise InvalidData(f"{source}: matrix {k} of {what}, counted from 0, is not symmetric")
        if asymmetry > 0:
            kernels[k] = (matrix + matrix.T) / 2
        if is_distance and (matrix.min() < 0 or matrix.mean() == 0):
            raise InvalidData(
                f"{source}: matrix {k} of D, counted from 0, holds no distances: {matrix.min():g} is the least"
            )
    if is_distance:
        kernels = np.concatenate([_gaussians(matrix) for matrix in kernels])
    return KernelData(name, kernels, _grouped(len(kernels), matrices, given, is_distance, source), y, source)


def _gaussians(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    kernels: NDArray[np.float64] = np.exp(-distances / (np.array(WIDTHS)[:, None, None] * distances.mean()))
    return kernels


def _grouped(
    p: int, matrices: NDArray[np.generic], given: NDArray[np.generic] | None, is_distance: bool, source: str
) -> tuple[tuple[int, ...], ...]:
    if given is not None:
        if given.shape != (p,) or is_distance or matrices.ndim == 4:
            raise InvalidData(
                f"{source}: groups must have shape ({p},), for K of shape (p, n, n) alone; got shape {given.shape} for "
                f"{'D' if is_distance else 'K'} of shape {matrices.shape}"
            )
        return tuple(tuple(np.flatnonzero(given == number).tolist()) for number in np.unique(given))
    if matrices.ndim == 3 and not is_distance:
        return (tuple(range(p)),)
    size = p // len(matrices)
    return tuple(tuple(range(start, start + size)) for start in range(0, p, size))


def read_protein_folds() -> tuple[Arrays, str]:
    """Read the views of `load("proteinfold")` and the fold of each protein."""
    dataset = load("proteinfold")
    path = next((folder / FOLDS for folder in folders() if (folder / FOLDS).is_file()), None)
    if path is None:
        raise DataUnavailable(f"the folds of 'proteinfold' are not here: {what_to_do(FOLDS)}")
    folds = _folds(path)
    if folds.shape != dataset.y.shape or ((folds <= LAST_POSITIVE) != (dataset.y > 0)).any():
        raise InvalidData(
            f"{path} does not belong to the set 'proteinfold': it holds {folds.size} folds, and those of the "
            f"{dataset.y.size} proteins labeled 1 should be 1 to {LAST_POSITIVE}"
        )
    X = dataset.dense()
    views = np.array([name.partition("_")[0] for name in dataset.feature_names])
    distances = []
    for view in np.unique(views):
        Z = X[:, views == view]
        products, norms = Z @ Z.T, (Z * Z).sum(axis=1)
        D = np.maximum(norms[:, None] + norms - products - products.T, 0.0)  # symmetric to the last bit
        np.fill_diagonal(D, 0.0)
        distances.append(D)
    return Arrays(np.array(distances), None, True, folds), str(path)


def _folds(path: Path) -> np.ndarray:
    """Whole numbers below a header line."""
    _, *lines = read_text(path).split()
    values = numbers(lines)
    if values is None:
        raise InvalidData(f"{path} must hold a header line and a number in each further line")
    return np.asarray(values).astype(int)
