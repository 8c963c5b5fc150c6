"""Reading files of kernel or distance matrices: NumPy's `.npz`, and the two `.mat` files of the Oxford flowers."""

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oracle_opt.errors import InvalidData

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
