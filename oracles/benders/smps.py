"""The SMPS format of two-stage stochastic linear programs: core, time and stochastic file."""

import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from oracle_opt.arguments import flag
from oracle_opt.errors import InvalidArgument, InvalidData
from oracle_opt.oracles.benders.mps import INFINITE, SIDES, WHOLE_BOUNDS, Line, LinearProgram, read_lines, read_mps
from oracle_opt.oracles.benders.random_block import RandomBlock
from oracle_opt.oracles.benders.two_stage_problem import TwoStageProblem
from oracle_opt.reading import number, shown, wrong

Entry = tuple[str, str]  # column, row


def read_smps(
    core: str | os.PathLike[str],
    time: str | os.PathLike[str] | None = None,
    stochastic: str | os.PathLike[str] | None = None,
    *,
    maximize: bool = False,
    rescale: bool | None = None,
    relax: bool = False,
) -> TwoStageProblem:
    """Read a two-stage stochastic linear program.

    Files may be packed by gzip; text that is not UTF-8 is taken for Latin-1. The core has the sections NAME, OBJSENSE,
    ROWS, COLUMNS, RHS, RANGES, BOUNDS; the stochastic file INDEP, BLOCKS and SCENARIOS, all DISCRETE.

    Parameters
    ----------
    core : path-like
        The core file, in MPS format (`.cor`).
    time, stochastic : path-like, optional
        Default: the files beside the core with the endings `.tim` and `.sto`, perhaps with `.gz` behind.
    maximize : bool
        Whether the objective is to be maximized, if the core does not say so by OBJSENSE; all costs then change their
        sign.
    rescale : bool, optional
        `True` divides the probabilities of each block by their sum, `False` takes them as they are, up to 1e-4 from it.
        By default they must add up to 1 within 1e-9.
    relax : bool
        Whether to take whole variables as any numbers: the relaxation of a program in whole numbers, whose minimum lies
        below. Columns between MARKER lines without bounds lie between 0 and 1 then, as in solvers.

    Returns
    -------
    TwoStageProblem
        Its data, to be minimized.

    Raises
    ------
    InvalidData
        A file is missing, unreadable or cut off. A line of it is wrong; its number is in the message. There are more
        than two stages, a distribution that is not discrete, probabilities that are not positive or do not add up to 1.

    References
    ----------
    .. [1] Birge et al. (1987), "A standard input format for multiperiod stochastic linear programs", COAL Newsletter
       17.
    """
    core = Path(core)
    time = _beside(core, ".tim") if time is None else Path(time)
    stochastic = _beside(core, ".sto") if stochastic is None else Path(stochastic)
    for path in (core, time, stochastic):
        if not path.is_file():
            raise InvalidData(f"the file {path} does not exist; core, time and stochastic file belong together")
    model = read_mps(core, flag("relax", relax))
    n, r = _second_stage(time, core, model)
    early = model.matrix[:r, n:].tocoo()
    if early.nnz:
        row, column = list(model.rows)[early.row[0]], list(model.columns)[n + early.col[0]]
        raise InvalidData(f"{core}: row {row} is of the first stage and holds column {column} of the second")
    sign = -1.0 if maximize or model.maximize else 1.0
    stages = _Stages(model, n, r, sign, stochastic)
    blocks = [_random_block(stages, block, rescale) for block in _read_stochastic(stochastic)]
    lower, upper = model.row_lower, model.row_upper
    try:
        made = TwoStageProblem(
            sign * model.cost[:n],
            stages.q,
            stages.T,
            stages.W,
            lower[r:],
            upper[r:],
            blocks,
            A=model.matrix[:r, :n],
            first_lower=lower[:r],
            first_upper=upper[:r],
            x_lower=model.column_lower[:n],
            x_upper=model.column_upper[:n],
            y_lower=model.column_lower[n:],
            y_upper=model.column_upper[n:],
            offset=sign * model.offset,
            names=list(model.columns)[:n],
            row_names=list(model.rows)[r:],
            column_names=list(model.columns)[n:],
            first_row_names=list(model.rows)[:r],
            maximize=sign < 0,
        )
    except InvalidArgument as problem:
        raise InvalidData(f"{core}: {problem}") from problem
    made.n_whole = model.n_whole
    return made


def _beside(core: Path, ending: str) -> Path:
    """File of the same name with another ending, in small or capital letters, packed or not."""
    plain = core.with_suffix("") if core.suffix.lower() == ".gz" else core
    wanted = plain.with_suffix(ending.upper() if plain.suffix.isupper() else ending)
    others = [plain.with_suffix(ending), plain.with_suffix(ending.upper())]
    names = [path.with_name(path.name + packed) for path in (wanted, *others) for packed in ("", ".gz", ".GZ")]
    return next((path for path in names if path.is_file()), wanted)


def _second_stage(path: Path, core: Path, model: LinearProgram) -> tuple[int, int]:
    """Places of the first column and the first row of the second period."""
    periods = []
    for line in read_lines(path, ("TIME", "PERIODS")):
        if line.head and line.section == "PERIODS" and line.words[:1] == ["EXPLICIT"]:
            raise wrong(path, line.number, "periods that are listed (EXPLICIT) cannot be read, LP can: first ones only")
        if not line.head:
            periods.append(line)
            if line.section == "TIME" or len(line.words) != 3:
                raise wrong(
                    path, line.number, f"a period is a column, a row and a name, got {shown(' '.join(line.words))}"
                )
    if len(periods) != 2:
        raise InvalidData(f"{path} must name two periods, got {len(periods)}: only two-stage problems can be read")
    starts = []
    for line in periods:
        column, row, name = line.words
        for word, names, what in ((column, model.columns, "column"), (row, model.rows, "row")):
            if word not in names and (what == "column" or word != model.objective):
                reason = f"period {shown(name)} starts at {what} {shown(word)}, which {core} does not have"
                raise wrong(path, line.number, reason)
        starts.append((model.columns[column], model.rows.get(row, 0)))
    (first, top), (n, r) = starts
    if first:
        reason = f"the first period starts at column {shown(periods[0].words[0])}, and {core} has others before it"
        raise wrong(path, periods[0].number, f"{reason}; periods and columns are to have the same order")
    if n == 0 or r < top or line.words[1] == model.objective:
        reason = f"the second period starts at column {shown(line.words[0])} and row {shown(line.words[1])}"
        raise wrong(path, line.number, f"{reason}, which must lie behind the start of the first one in {core}")
    return n, r


@dataclass
class _Block:
    """Outcomes as (probability, values by entry), and where the file has them first."""

    name: str
    line: int
    outcomes: list[tuple[float, dict[Entry, float]]] = field(default_factory=list)
    lines: dict[Entry, int] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)  # names of scenarios


class _Stochastic:
    """The state of reading a stochastic file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.blocks: dict[str, _Block] = {}
        self._owner: dict[Entry, str] = {}
        self._scenarios: dict[str, dict[Entry, float]] = {}
        self._current: dict[Entry, float] | None = None
        self._block = _Block("", 0)
        self._given: set[Entry] = set()  # entries that the current outcome has given

    def head(self, line: Line) -> None:
        """Check a section's own line: DISCRETE, and values that replace the core's."""
        self._current = None
        kind, modification = ([word.upper() for word in line.words] + ["", ""])[:2]
        if line.section != "STOCH" and kind not in ("", "DISCRETE"):
            raise self._wrong(line, f"the distribution {shown(kind)} must be DISCRETE; sample it into a file first")
        if line.section != "STOCH" and modification not in ("", "REPLACE"):
            raise self._wrong(line, f"random values must REPLACE those of the core, got {shown(modification)}")

    def independent(self, line: Line) -> None:
        """``column row value [period] probability``: an outcome of one entry."""
        self._refuse_bound(line)
        if len(line.words) not in (4, 5):
            got = shown(" ".join(line.words))
            raise self._wrong(line, f"column, row, value, perhaps a period, and probability were expected, got {got}")
        column, row, value = line.words[:3]
        self._start(line, f"{column} {row}", line.words[-1], {})
        self._set(line, (column, row), value)

    def block(self, line: Line) -> None:
        """``BL name period probability`` or ``column row value ...``."""
        if line.words[0] != "BL":
            self._values(line)
            return
        self._check_head(line, 4, "BL, name, period and probability")
        known = self.blocks.get(line.words[1])
        # an entry that a later outcome of a block leaves out keeps its value of the first outcome
        self._start(line, line.words[1], line.words[3], dict(known.outcomes[0][1]) if known else {})

    def scenario(self, line: Line) -> None:
        """``SC name parent probability period`` or ``column row value ...``."""
        if line.words[0] != "SC":
            self._values(line)
            return
        self._check_head(line, 5, "SC, name, parent, probability and period")
        name, parent = line.words[1:3]
        if name in self._scenarios:
            raise self._wrong(line, f"the scenario {shown(name)} stands twice")
        if parent not in self._scenarios and parent.strip("'\"").upper() != "ROOT":
            raise self._wrong(line, f"the parent {shown(parent)} is no scenario above")
        # a scenario inherits from its parent
        self._scenarios[name] = self._start(line, "SCENARIOS", line.words[3], dict(self._scenarios.get(parent, {})))
        self._block.labels.append(name)

    def _wrong(self, line: Line, reason: str) -> InvalidData:
        return wrong(self.path, line.number, f"{line.section}: {reason}")

    def _check_head(self, line: Line, count: int, what: str) -> None:
        if len(line.words) != count:
            raise self._wrong(line, f"{what} were expected, got {shown(' '.join(line.words))}")

    def _start(self, line: Line, name: str, word: str, values: dict[Entry, float]) -> dict[Entry, float]:
        """Begin an outcome; the values are those it inherits."""
        probability = number(word)
        if probability is None or not 0 < probability <= 1 + 1e-4:
            reason = f"the probability of {name} must lie above 0 and be at most 1, got {shown(word)}"
            raise self._wrong(line, f"{reason}; drop impossible outcomes")
        self._block = self.blocks.setdefault(name, _Block(name, line.number))
        self._block.outcomes.append((probability, values))
        self._current, self._given = values, set()
        return values

    def _refuse_bound(self, line: Line) -> None:
        """Refuse ``type set column value``, which has a name where other lines have their number."""
        kind, *words = line.words
        if kind.upper() in (*SIDES, *WHOLE_BOUNDS) and len(words) > 1 and number(words[1]) is None:
            reason = f"the bound {kind} of {shown(words[1])} cannot be random; write it as a row with a random side"
            raise self._wrong(line, reason)

    def _values(self, line: Line) -> None:
        self._refuse_bound(line)
        if self._current is None:
            raise self._wrong(line, f"values stand before the first {'SC' if line.section == 'SCENARIOS' else 'BL'}")
        if len(line.words) not in (3, 5):
            raise self._wrong(
                line, f"a column and one or two pairs of row and value were expected, got {len(line.words)} words"
            )
        for row, word in zip(line.words[1::2], line.words[2::2], strict=True):
            self._set(line, (line.words[0], row), word)

    def _set(self, line: Line, entry: Entry, word: str) -> None:
        value = number(word)
        what = f"{entry[0]} {entry[1]}"
        if value is None or abs(value) >= INFINITE or self._current is None:
            raise self._wrong(line, f"the value {shown(word)} of {what} is not a finite number")
        if entry in self._given:
            raise self._wrong(line, f"one outcome of {self._block.name} has two values of {what}")
        owner = self._owner.setdefault(entry, self._block.name)
        if owner != self._block.name:
            raise self._wrong(line, f"{what} belongs to {self._block.name} and to {owner}")
        self._given.add(entry)
        self._block.lines.setdefault(entry, line.number)
        self._current[entry] = value


def _read_stochastic(path: Path) -> list[_Block]:
    """Blocks, in the order of the file."""
    found = _Stochastic(path)
    take = {"INDEP": found.independent, "BLOCKS": found.block, "SCENARIOS": found.scenario}
    for line in read_lines(path, ("STOCH", "NAME", "INDEP", "BLOCKS", "SCENARIOS")):
        if line.head:
            found.head(line)
        elif line.section in take:
            take[line.section](line)
        else:
            raise wrong(path, line.number, f"{line.section} has no lines of data")
    return list(found.blocks.values())


class _Stages:
    """The core in two stages: n columns and r rows are of the first. `path` is the stochastic file."""

    def __init__(self, model: LinearProgram, n: int, r: int, sign: float, path: Path) -> None:
        self.model, self.n, self.r, self.sign, self.path = model, n, r, sign, path
        self.T, self.W = model.matrix[r:, :n], model.matrix[r:, n:]
        self.q = sign * model.cost[n:]
        self.lower, self.upper = model.row_lower[r:], model.row_upper[r:]
        self.rhs = np.where(np.isfinite(self.upper), self.upper, self.lower)
        # the right-hand side of a problem is the upper end of an interval that may hang on its lower one
        self.above = np.where(np.isfinite(self.upper) & (self.lower == model.rhs[r:]), self.upper - self.lower, 0.0)

    def place(self, entry: Entry, line: int) -> tuple[str, int | tuple[int, int], float]:
        """Kind of an entry, its place in the second stage, and the core's value there."""
        column, row = entry
        rows, columns = self.model.rows, self.model.columns
        j = columns[column] - self.n if column in columns else None
        if row == self.model.objective and j is not None:
            kind, place = "cost", j
        elif row not in rows:
            raise wrong(self.path, line, f"it names the row {shown(row)}, which the core file does not have")
        elif j is None:
            if self.model.rhs_name not in ("", column) and column.upper() not in ("RHS", "RIGHT"):
                reason = f"it names {shown(column)}, which is neither a column nor the right-hand side of the core file"
                raise wrong(self.path, line, reason)
            kind, place = "rhs", rows[row] - self.r
            if place >= 0 and np.isinf(self.rhs[place]):
                raise wrong(
                    self.path, line, f"row {shown(row)} has an infinite side in the core; state a finite one there"
                )
        else:
            kind, place = ("technology", columns[column]) if j < 0 else ("recourse", j)
            if rows[row] >= self.r:
                i = rows[row] - self.r
                return kind, (i, place), float((self.T if j < 0 else self.W)[i, place])
            place = -1
        if place < 0:
            raise wrong(self.path, line, f"it must leave the first stage alone, and changes {column} {row}")
        return kind, place, float((self.q if kind == "cost" else self.rhs)[place])

    def upper_end(self, i: int, value: float, line: int) -> float:
        """The upper end of the interval of row i that hangs on a right-hand side, or its only end."""
        end = float(value + self.above[i])
        lost = abs(self.lower[i] + (end - self.upper[i]) - value) if self.above[i] else 0.0
        if lost > 1e-9 * max(abs(value), abs(self.lower[i])):
            row = list(self.model.rows)[self.r + i]
            reason = f"the range {self.above[i]:g} of row {shown(row)} is too wide for a side of {value:g}"
            raise wrong(self.path, line, f"{reason}; give its upper side a row of its own")
        return end


def _random_block(stages: _Stages, block: _Block, rescale: bool | None) -> RandomBlock:
    """Sort a block's entries into right-hand sides, costs and matrices; what an outcome lacks is the core's."""
    probability = np.array([p for p, _ in block.outcomes])
    total = float(probability.sum())
    if rescale:
        probability, total = probability / total, 1.0
    elif abs(total - 1.0) > (1e-9 if rescale is None else 1e-4):
        raise wrong(
            stages.path,
            block.line,
            f"the probabilities of {block.name} must add up to 1, got {total:.9g}; `rescale=True` divides them by that",
        )
    places: dict[str, list[int | tuple[int, int]]] = {"rhs": [], "cost": [], "technology": [], "recourse": []}
    values: dict[str, list[list[float]]] = {kind: [] for kind in places}
    for entry, line in block.lines.items():
        kind, place, core = stages.place(entry, line)
        places[kind].append(place)
        given = [drawn.get(entry) for _, drawn in block.outcomes]
        if isinstance(place, int) and kind == "rhs":
            values[kind].append([core if one is None else stages.upper_end(place, one, line) for one in given])
        else:
            turned = stages.sign if kind == "cost" else 1.0
            values[kind].append([core if one is None else turned * one for one in given])
    arrays = {kind: np.array(v, dtype=float).reshape(len(v), len(probability)).T for kind, v in values.items()}
    return RandomBlock(
        probability,
        np.array(places["rhs"], dtype=np.intp),
        arrays["rhs"],
        np.array(places["cost"], dtype=np.intp),
        arrays["cost"],
        np.array(places["technology"], dtype=np.intp).reshape(-1, 2),
        arrays["technology"],
        np.array(places["recourse"], dtype=np.intp).reshape(-1, 2),
        arrays["recourse"],
        block.name,
        block.labels,
        total,
    )
