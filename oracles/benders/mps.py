"""The MPS format of linear programs, in words that blanks separate."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracle_opt.arrays import Vector
from oracle_opt.errors import InvalidData
from oracle_opt.reading import number, read_text, shown, wrong

INFINITE = 1e20  # a side or bound of this size counts as infinite, as solvers agree
_SECTIONS = ("NAME", "OBJSENSE", "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS")
WHOLE_BOUNDS = {"BV": "BV", "LI": "LO", "UI": "UP"}
SIDES = {"UP": "u", "LO": "l", "FX": "lu", "FR": "lu", "MI": "l", "PL": "u"}
RELAX = "whole variables cannot be read but as any numbers, by read_smps(..., relax=True)"


@dataclass(frozen=True)
class Line:
    """A line of data: its number, its section and its words. The section's own line has ``head`` True."""

    number: int
    section: str
    words: list[str]
    head: bool = False


def read_lines(path: Path, known: tuple[str, ...]) -> Iterator[Line]:
    """Yield the lines of a file of sections that ends in ENDATA.

    A comment is a line that begins with ``*``, or what follows a ``*`` that stands alone.
    """
    section, seen, at = "", set(), 1
    for at, text in enumerate(read_text(path).split("\n"), 1):
        words = [] if text.startswith("*") else list(takewhile(_counts, text.split()))
        if not words:
            continue
        if words[0].startswith("*"):
            reason = f"{shown(words[0])} is no name: a comment begins with * in the first column, or with * and a blank"
            raise wrong(path, at, reason)
        if not text[0].isspace():
            section = words[0].upper()
            if section == "ENDATA":
                return
            if section not in known:
                raise wrong(path, at, f"the section {shown(words[0])} cannot be read; {', '.join(known)} can")
            if section in seen:
                raise wrong(path, at, f"the section {section} stands twice")
            seen.add(section)
            yield Line(at, section, words[1:], head=True)
        elif not section:
            raise wrong(path, at, "there are data before the first section")
        else:
            yield Line(at, section, words)
    raise wrong(path, at, "the file ends without ENDATA: it is cut off")


def _counts(word: str) -> bool:
    """Whether a word is data, which a star alone, or a row of stars, ends."""
    return word.strip("*") != ""


@dataclass
class LinearProgram:
    """The content of a file; columns and rows in its order, the objective row not among the rows.

    Attributes
    ----------
    rows, columns : dict
        Names to places.
    objective, rhs_name : str
        Names of the objective row and of the right-hand sides, the latter empty if there is none.
    cost, column_lower, column_upper : ndarray of shape (number of columns,)
        Costs and bounds.
    row_lower, row_upper : ndarray of shape (number of rows,)
        Sides.
    matrix : csr_array
        Coefficients.
    offset : float
        Constant of the objective.
    maximize : bool
        Whether OBJSENSE says so.
    rhs : ndarray of shape (number of rows,)
        Right-hand sides as a file has them, on which the intervals of RANGES hang; empty for a model that is no file.
    n_whole : int
        How many variables are whole in the model, and any number here.
    whole : ndarray of bool
        Which; empty for a file that is read here.
    """

    rows: dict[str, int]
    columns: dict[str, int]
    objective: str
    rhs_name: str
    cost: Vector
    column_lower: Vector
    column_upper: Vector
    row_lower: Vector
    row_upper: Vector
    matrix: sparse.csr_array
    offset: float
    maximize: bool
    rhs: Vector = field(default_factory=lambda: np.zeros(0))
    n_whole: int = 0
    whole: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))


def read_mps(path: Path, relax: bool = False) -> LinearProgram:
    """Read a linear program; names are words without blanks, the first row of type N is the objective, others go.

    With `relax` whole variables are any numbers; those without bounds of their own lie between 0 and 1, as in solvers.
    """
    return _Reader(path, relax).read()


@dataclass
class _Reader:
    path: Path
    relax: bool
    whole: set[str] = field(default_factory=set)  # columns
    inside: bool = False  # whether the columns that are read are whole
    types: dict[str, str] = field(default_factory=dict)  # of the rows; of type N only the objective is kept
    free: set[str] = field(default_factory=set)
    objective: str = ""
    maximize: bool = False
    columns: dict[str, int] = field(default_factory=dict)
    entries: dict[tuple[str, str], float] = field(default_factory=dict)  # (column, row)
    rhs: dict[str, float] = field(default_factory=dict)
    ranges: dict[str, float] = field(default_factory=dict)
    bounds: dict[tuple[str, str], float] = field(default_factory=dict)  # (column, "l" or "u")
    bound_lines: dict[str, Line] = field(default_factory=dict)
    sets: dict[str, str] = field(default_factory=dict)  # section to the name of its set

    def read(self) -> LinearProgram:
        take = {
            "OBJSENSE": self._sense,
            "ROWS": self._row,
            "COLUMNS": self._column,
            "RHS": self._rhs,
            "RANGES": self._range,
            "BOUNDS": self._bound,
        }
        seen = set()
        for line in read_lines(self.path, _SECTIONS):
            seen.add(line.section)
            if line.section == "NAME":
                if not line.head:
                    raise self._wrong(line, "NAME has no lines of data")
            elif not line.head or (line.section == "OBJSENSE" and line.words):
                take[line.section](line)
        if not {"ROWS", "COLUMNS"} <= seen or not self.columns or not self.objective:
            raise InvalidData(f"{self.path} must have ROWS, one of them of type N, and COLUMNS before ENDATA")
        return self._program()

    def _wrong(self, line: Line, reason: str) -> InvalidData:
        return wrong(self.path, line.number, f"{line.section}: {reason}")

    def _number(self, line: Line, word: str, infinite: bool = False) -> float:
        value = number(word, infinite)
        if value is None:
            raise self._wrong(line, f"{shown(word)} is not a {'' if infinite else 'finite '}number")
        return value

    def _sense(self, line: Line) -> None:
        word = line.words[0].upper()
        if word not in ("MIN", "MINIMIZE", "MAX", "MAXIMIZE"):
            raise self._wrong(line, f"the objective must be MIN or MAX, got {shown(line.words[0])}")
        self.maximize = word.startswith("MAX")

    def _row(self, line: Line) -> None:
        if len(line.words) != 2 or line.words[0].upper() not in ("N", "L", "G", "E"):
            raise self._wrong(line, f"a row is one of N, L, G, E and a name, got {shown(' '.join(line.words))}")
        kind, name = line.words[0].upper(), line.words[1]
        if name in self.types or name in self.free or name == self.objective:
            raise self._wrong(line, f"the row {shown(name)} stands twice")
        if kind != "N":
            self.types[name] = kind
        elif self.objective:
            self.free.add(name)
        else:
            self.objective = name

    def _pairs(self, line: Line, words: list[str]) -> Iterator[tuple[str, float]]:
        """Rows and numbers in turn."""
        for name, word in zip(words[::2], words[1::2], strict=True):
            if name not in self.types and name not in self.free and name != self.objective:
                raise self._wrong(line, f"there is no row {shown(name)}")
            yield name, self._number(line, word)

    def _column(self, line: Line) -> None:
        if len(line.words) == 3 and line.words[1].strip("'\"").upper() == "MARKER":
            if not self.relax:
                raise self._wrong(line, RELAX)
            self.inside = line.words[2].strip("'\"").upper() == "INTORG"
            return
        if len(line.words) not in (3, 5):
            raise self._wrong(
                line, f"a column is a name and one or two pairs of row and number, got {len(line.words)} words"
            )
        column = line.words[0]
        if column not in self.columns:
            self.columns[column] = len(self.columns)
        elif self.columns[column] != len(self.columns) - 1:
            raise self._wrong(line, f"the column {shown(column)} stands twice")
        if self.inside:
            self.whole.add(column)
        for row, value in self._pairs(line, line.words[1:]):
            if (column, row) in self.entries:
                raise self._wrong(line, f"column {shown(column)} has two numbers in row {shown(row)}")
            self.entries[column, row] = value

    def _named(self, line: Line, named: bool, name: str) -> None:
        """Refuse a second set of right-hand sides, ranges or bounds."""
        first = self.sets.setdefault(line.section, name if named else "")
        if named and first and name != first:
            raise self._wrong(line, f"one set can be read, and there are {shown(first)} and {shown(name)}")

    def _sides(self, line: Line, values: dict[str, float]) -> None:
        named = len(line.words) % 2 == 1
        if not 2 <= len(line.words) <= 5:
            raise self._wrong(line, f"one or two pairs of row and number were expected, got {len(line.words)} words")
        self._named(line, named, line.words[0])
        for row, value in self._pairs(line, line.words[named:]):
            if values.get(row, value) != value:
                raise self._wrong(line, f"row {shown(row)} has two numbers, {values[row]:g} and {value:g}")
            values[row] = value

    def _rhs(self, line: Line) -> None:
        self._sides(line, self.rhs)

    def _range(self, line: Line) -> None:
        self._sides(line, self.ranges)

    def _bound(self, line: Line) -> None:
        kind, words = line.words[0].upper(), line.words[1:]
        whole = kind in WHOLE_BOUNDS
        if kind not in SIDES and not (whole and self.relax):
            reason = RELAX if whole else "semicontinuous variables cannot be read" if kind == "SC" else "unknown"
            raise self._wrong(line, f"the bound {shown(line.words[0])}: {reason}; {', '.join(SIDES)} can be read")
        kind = WHOLE_BOUNDS.get(kind, kind)
        valued = kind in ("UP", "LO", "FX")
        if valued and len(words) in (2, 3):
            named, column, value = len(words) == 3, words[-2], self._number(line, words[-1], infinite=True)
        elif not valued and len(words) in (1, 2, 3):
            # a number after these has no meaning
            named = len(words) > 1 and words[1] in self.columns
            column, value = words[named], 0.0
        else:
            raise self._wrong(line, f"a bound is a type, a set, a column and a number, got {len(line.words)} words")
        self._named(line, named, words[0])
        if column not in self.columns:
            raise self._wrong(line, f"there is no column {shown(column)}")
        if abs(value) >= INFINITE:
            value = float(np.copysign(np.inf, value))
        if whole:
            self.whole.add(column)
        for side in SIDES.get(kind, "lu"):
            if (column, side) in self.bounds:
                raise self._wrong(line, f"column {shown(column)} has two {'lower' if side == 'l' else 'upper'} bounds")
            least, most = (0.0, 1.0) if kind == "BV" else (-np.inf, np.inf)
            self.bounds[column, side] = value if valued else least if side == "l" else most
        self.bound_lines[column] = line

    def _ends(self) -> Vector:
        """Both bounds of each column, shape (number of columns, 2)."""
        for name in self.whole - {name for name, _ in self.bounds}:
            self.bounds[name, "u"] = 1.0
        ends = {
            name: (self.bounds.get((name, "l"), 0.0), self.bounds.get((name, "u"), np.inf)) for name in self.columns
        }
        for name, line in self.bound_lines.items():
            lower, upper = ends[name]
            if lower > upper or lower == np.inf or upper == -np.inf:
                # programs disagree on what a negative upper bound alone makes of the lower bound
                stated = "" if (name, "l") in self.bounds else "; state its lower bound, too"
                raise self._wrong(line, f"column {shown(name)} lies between {lower:g} and {upper:g}: nowhere{stated}")
        return np.array(list(ends.values()))

    def _program(self) -> LinearProgram:
        rows = {name: i for i, name in enumerate(self.types)}
        lower, upper = np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
        for name, i in rows.items():
            lower[i], upper[i] = self._row_sides(name)
        cost = np.array([self.entries.get((name, self.objective), 0.0) for name in self.columns])
        held = [(rows[row], self.columns[column], v) for (column, row), v in self.entries.items() if row in rows and v]
        shape = (len(rows), len(self.columns))
        ends = self._ends()
        places = np.array([at[:2] for at in held], dtype=np.intp).reshape(-1, 2).T
        values = np.array([value for *_, value in held], dtype=float)
        matrix = sparse.csr_array(sparse.coo_array((values, (places[0], places[1])), shape=shape))
        return LinearProgram(
            rows,
            self.columns,
            self.objective,
            self.sets.get("RHS", ""),
            cost,
            ends[:, 0],
            ends[:, 1],
            lower,
            upper,
            matrix,
            -self.rhs.get(self.objective, 0.0),
            self.maximize,
            np.array([self.rhs.get(name, 0.0) for name in rows]),
            len(self.whole),
        )

    def _row_sides(self, name: str) -> tuple[float, float]:
        """Both sides of a row: its type, its right-hand side b and its range r say ``[b, b + |r|]`` and the like."""
        kind, b, width = self.types[name], self.rhs.get(name, 0.0), self.ranges.get(name)
        reach = np.inf if width is None else abs(width)
        if kind == "E":
            reach = 0.0 if width is None else reach
            lower, upper = (b - reach, b) if width is not None and width < 0 else (b, b + reach)
        else:
            lower, upper = (b - reach, b) if kind == "L" else (b, b + reach)
        lower, upper = (-np.inf if lower <= -INFINITE else lower), (np.inf if upper >= INFINITE else upper)
        if lower >= INFINITE or upper <= -INFINITE:
            raise InvalidData(f"{self.path}: the right-hand side {b:g} of row {shown(name)} is infinite the wrong way")
        return lower, upper
