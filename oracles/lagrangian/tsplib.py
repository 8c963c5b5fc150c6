"""Distances of symmetric travelling salesman problems in TSPLIB's format."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oracle_opt.errors import InvalidData

Matrix = NDArray[np.float64]


def read_tsplib(path: str | os.PathLike[str]) -> Matrix:
    """Read the distances of a symmetric TSPLIB file.

    EDGE_WEIGHT_TYPE may be EXPLICIT (FULL_MATRIX, UPPER_ROW, LOWER_ROW, UPPER_DIAG_ROW, LOWER_DIAG_ROW), EUC_2D,
    CEIL_2D, ATT or GEO.

    Returns
    -------
    ndarray of shape (n, n)
        Symmetric, zero diagonal.

    Raises
    ------
    InvalidData
        The file is missing, is none of these, or holds fewer or more numbers than it says.

    References
    ----------
    .. [1] Reinelt (1991), "TSPLIB - a traveling salesman problem library", ORSA J. Comput. 3:376-384.
    """
    path = Path(path)
    if not path.is_file():
        raise InvalidData(f"the file {path} does not exist")
    header, numbers = _sections(path)
    try:
        n = int(header["DIMENSION"])
        kind = header["EDGE_WEIGHT_TYPE"]
    except (KeyError, ValueError) as problem:
        raise InvalidData(f"{path} must state DIMENSION and EDGE_WEIGHT_TYPE as TSPLIB does") from problem
    if kind == "EXPLICIT":
        return _explicit(path, n, header.get("EDGE_WEIGHT_FORMAT", ""), numbers.get("EDGE_WEIGHT_SECTION", []))
    if kind not in ("EUC_2D", "CEIL_2D", "ATT", "GEO"):
        raise InvalidData(f"{path}: EDGE_WEIGHT_TYPE must be EXPLICIT, EUC_2D, CEIL_2D, ATT or GEO, got {kind}")
    table = _as_array(path, numbers.get("NODE_COORD_SECTION", []), 3 * n, "NODE_COORD_SECTION").reshape(n, 3)
    return _geo(table[:, 1:]) if kind == "GEO" else _planar(kind, table[:, 1:])


def _sections(path: Path) -> tuple[dict[str, str], dict[str, list[str]]]:
    header: dict[str, str] = {}
    numbers: dict[str, list[str]] = {}
    current: list[str] = []
    for line in path.read_text().splitlines():
        word, _, rest = line.strip().partition(":")
        if word.strip() == "EOF":
            break
        if rest:
            header[word.strip()] = rest.strip()
        elif word.split()[:1] and word.split()[0].endswith("_SECTION"):
            # some files go on with numbers on the line of the section's name
            name, *first = word.split()
            current = numbers.setdefault(name, [])
            current += first
        else:
            current += word.split()
    return header, numbers


def _as_array(path: Path, words: list[str], count: int, section: str) -> Matrix:
    if len(words) != count:
        raise InvalidData(f"{path}: {section} must hold {count} numbers, got {len(words)}")
    try:
        return np.array(words, dtype=float)
    except ValueError as problem:
        raise InvalidData(f"{path}: {section} must hold numbers, {problem}") from problem


def _explicit(path: Path, n: int, layout: str, words: list[str]) -> Matrix:
    d = np.zeros((n, n))
    if layout == "FULL_MATRIX":
        d = _as_array(path, words, n * n, "EDGE_WEIGHT_SECTION").reshape(n, n)
        if not np.array_equal(d, d.T):
            raise InvalidData(f"{path} must be symmetric, and its FULL_MATRIX is not")
        np.fill_diagonal(d, 0.0)
        return d
    triangles = {
        "UPPER_ROW": np.triu_indices(n, 1),
        "LOWER_ROW": np.tril_indices(n, -1),
        "UPPER_DIAG_ROW": np.triu_indices(n),
        "LOWER_DIAG_ROW": np.tril_indices(n),
    }
    if layout not in triangles:
        raise InvalidData(f"{path}: EDGE_WEIGHT_FORMAT must be FULL_MATRIX or {', '.join(triangles)}, got {layout!r}")
    place = triangles[layout]
    d[place] = _as_array(path, words, len(place[0]), "EDGE_WEIGHT_SECTION")
    d = d + d.T
    np.fill_diagonal(d, 0.0)
    return d


def _planar(kind: str, xy: Matrix) -> Matrix:
    away = ((xy[:, None] - xy) ** 2).sum(axis=2)
    if kind == "EUC_2D":
        return np.floor(np.sqrt(away) + 0.5)
    if kind == "CEIL_2D":
        return np.ceil(np.sqrt(away))
    return np.ceil(np.sqrt(away / 10.0))  # ATT: to the nearest, and one more where that is too short


def _geo(given: Matrix) -> Matrix:
    """Great circles on TSPLIB's Earth; coordinates are degrees and minutes, DDD.MM."""
    degrees = np.trunc(given)
    latitude, longitude = (3.141592 * (degrees + 5.0 * (given - degrees) / 3.0) / 180.0).T
    q1 = np.cos(longitude[:, None] - longitude)
    q2 = np.cos(latitude[:, None] - latitude)
    q3 = np.cos(latitude[:, None] + latitude)
    d = np.trunc(6378.388 * np.arccos(np.clip(0.5 * ((1 + q1) * q2 - (1 - q1) * q3), -1, 1)) + 1.0)
    np.fill_diagonal(d, 0.0)
    return d
