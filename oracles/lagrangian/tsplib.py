"""Distances of symmetric traveling salesman problems in TSPLIB's format."""

import os
from pathlib import Path

import numpy as np

from oracle_opt.arrays import Matrix
from oracle_opt.errors import InvalidData
from oracle_opt.reading import Words, read_text, shown, whole, wrong

MOST_CITIES = 20_000  # of which the distances take 3.2 GB
_HEADER = (
    *("NAME", "TYPE", "COMMENT", "DIMENSION", "EDGE_WEIGHT_TYPE", "EDGE_WEIGHT_FORMAT"),
    *("NODE_COORD_TYPE", "DISPLAY_DATA_TYPE"),
)
_SECTIONS = ("NODE_COORD_SECTION", "EDGE_WEIGHT_SECTION", "DISPLAY_DATA_SECTION")  # the last one is for pictures


def read_tsplib(path: str | os.PathLike[str]) -> Matrix:
    """Read the distances of a symmetric TSPLIB file, perhaps packed by gzip.

    EDGE_WEIGHT_TYPE may be EXPLICIT (FULL_MATRIX, UPPER_ROW, LOWER_ROW, UPPER_DIAG_ROW, LOWER_DIAG_ROW), EUC_2D,
    CEIL_2D, ATT or GEO. Cities are in the order of their numbers. Files of another TYPE than TSP, and those with
    further sections, such as FIXED_EDGES_SECTION, are of other problems and refused.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    ndarray of shape (n, n)
        Symmetric, zero diagonal.

    Raises
    ------
    InvalidData
        The file is missing, is none of these, has more than 20,000 cities, or holds fewer or more numbers than it says;
        a line of it is wrong, its number is in the message.

    References
    ----------
    .. [1] Reinelt (1991), "TSPLIB - a traveling salesman problem library", ORSA J. Comput. 3:376-384.
    """
    path = Path(path)
    header, sections = _sections(path)
    n, kind = whole(header.get("DIMENSION", "")), header.get("EDGE_WEIGHT_TYPE")
    if n is None or kind is None:
        raise InvalidData(f"{path} must state DIMENSION and EDGE_WEIGHT_TYPE as TSPLIB does")
    if not 1 <= n <= MOST_CITIES:
        raise InvalidData(f"{path}: DIMENSION must be 1 to {MOST_CITIES}, got {n}")
    if kind == "EXPLICIT":
        return _explicit(path, n, header.get("EDGE_WEIGHT_FORMAT", ""), sections.get("EDGE_WEIGHT_SECTION", []))
    if kind not in ("EUC_2D", "CEIL_2D", "ATT", "GEO"):
        raise InvalidData(f"{path}: EDGE_WEIGHT_TYPE must be EXPLICIT, EUC_2D, CEIL_2D, ATT or GEO, got {shown(kind)}")
    table = _numbers(path, sections.get("NODE_COORD_SECTION", []), 3 * n, "NODE_COORD_SECTION").reshape(n, 3)
    cities, order = np.unique(table[:, 0], return_index=True)
    if len(cities) < n or (cities != np.floor(cities)).any():
        raise InvalidData(f"{path}: NODE_COORD_SECTION must number the cities, each once, by whole numbers")
    xy = table[order, 1:]
    with np.errstate(over="ignore", invalid="ignore"):
        d = _geo(xy) if kind == "GEO" else _planar(kind, xy)
    if not np.isfinite(d).all():
        raise InvalidData(f"{path}: the coordinates, up to {np.abs(xy).max():g}, are too large for finite distances")
    return d


def _sections(path: Path) -> tuple[dict[str, str], dict[str, list[tuple[int, str]]]]:
    """Header, and the lines of each section with their numbers."""
    header: dict[str, str] = {}
    sections: dict[str, list[tuple[int, str]]] = {}
    current: list[tuple[int, str]] | None = None
    for at, line in enumerate(read_text(path).split("\n"), 1):
        word, colon, rest = line.strip().partition(":")
        name = word.split()[0] if word.split() else ""
        if name == "EOF":
            break
        if colon and name in _HEADER:
            if name in header and name != "COMMENT":
                raise wrong(path, at, f"{name} stands twice")
            if name == "TYPE" and rest.split()[:1] != ["TSP"]:
                kind = shown(rest.strip())
                raise wrong(path, at, f"TYPE must be TSP, a symmetric traveling salesman problem, got {kind}")
            header[name] = rest.strip()
        elif name.endswith("_SECTION"):
            if name in sections:
                raise wrong(path, at, f"{name} stands twice")
            if name not in _SECTIONS:
                reason = f"{shown(name)} may change the problem and cannot be read; {', '.join(_SECTIONS)} can"
                raise wrong(path, at, reason)
            # some files go on with numbers on the line of the section's name
            current = sections.setdefault(name, [])
            current.append((at, f"{line.strip()[len(name) :].lstrip(' :')}"))
        elif name and (current is None or name[:1].isalpha()):
            reason = "is neither a keyword that can be read, with a colon, nor a line of numbers in a section"
            raise wrong(path, at, f"{shown(line.strip())} {reason}")
        elif current is not None and name:
            current.append((at, line))
    return header, sections


def _numbers(path: Path, lines: list[tuple[int, str]], count: int, section: str) -> Matrix:
    words = Words(path, lines)
    if len(words) != count:
        raise InvalidData(f"{path}: {section} must hold {count} numbers, got {len(words)}")
    return words.numbers()


def _explicit(path: Path, n: int, layout: str, lines: list[tuple[int, str]]) -> Matrix:
    def numbers(count: int) -> Matrix:
        return _numbers(path, lines, count, "EDGE_WEIGHT_SECTION")

    if layout == "FULL_MATRIX":
        d = numbers(n * n).reshape(n, n)
        if not np.array_equal(d, d.T):
            i, j = np.argwhere(d != d.T)[0] + 1
            raise InvalidData(f"{path} must be symmetric, and its FULL_MATRIX is not, as between {i} and {j}")
        np.fill_diagonal(d, 0.0)
        return d
    # which triangle, and its distance from the diagonal
    triangles = {"UPPER_ROW": (np.triu_indices, 1), "LOWER_ROW": (np.tril_indices, -1)}
    triangles |= {"UPPER_DIAG_ROW": (np.triu_indices, 0), "LOWER_DIAG_ROW": (np.tril_indices, 0)}
    if layout not in triangles:
        choice = f"FULL_MATRIX or {', '.join(triangles)}"
        raise InvalidData(f"{path}: EDGE_WEIGHT_FORMAT must be {choice}, got {shown(layout)}")
    place, offset = triangles[layout]
    values = numbers(n * (n - 1) // 2 if offset else n * (n + 1) // 2)
    d = np.zeros((n, n))
    d[place(n, offset)] = values
    d = d + d.T
    np.fill_diagonal(d, 0.0)
    return d


def _planar(kind: str, xy: Matrix) -> Matrix:
    away = (xy[:, None, 0] - xy[:, 0]) ** 2 + (xy[:, None, 1] - xy[:, 1]) ** 2
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
    d: Matrix = np.trunc(6378.388 * np.arccos(np.clip(0.5 * ((1 + q1) * q2 - (1 - q1) * q3), -1, 1)) + 1.0)
    np.fill_diagonal(d, 0.0)
    return d
