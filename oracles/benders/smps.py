"""The SMPS format of two-stage stochastic linear programs: core, time and stochastic file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse

from oracle_opt.errors import InvalidArgument, InvalidData
from oracle_opt.oracles.benders.problem import RandomBlock, TwoStageProblem

Entry = tuple[str, str]  # column, row


def read_smps(
    core: str | os.PathLike[str],
    time: str | os.PathLike[str] | None = None,
    stochastic: str | os.PathLike[str] | None = None,
    *,
    maximize: bool = False,
) -> TwoStageProblem:
    """Read a two-stage stochastic linear program.

    Parameters
    ----------
    core : path-like
        The core file, in MPS format (`.cor`).
    time, stochastic : path-like, optional
        Default: the files beside the core with the endings `.tim` and `.sto`.

    maximize : bool
        Whether the objective is to be maximised, which the format does not tell; all costs then change their sign.

    Raises
    ------
    InvalidData
        A file is missing or unreadable, has more than two stages, or a distribution that is not discrete.
    InvalidArgument
        Probabilities that are zero or do not add up to 1, named by their block.

    References
    ----------
    .. [1] Birge et al. (1987), "A standard input format for multiperiod stochastic linear programs", COAL Newsletter
       17.
    """
    core = Path(core)
    time = core.with_suffix(".tim") if time is None else Path(time)
    stochastic = core.with_suffix(".sto") if stochastic is None else Path(stochastic)
    for path in (core, time, stochastic):
        if not path.is_file():
            raise InvalidData(f"the file {path} does not exist; core, time and stochastic file belong together")
    model, objective = _read_core(core)
    columns = {name: j for j, name in enumerate(model.col_names_)}
    rows = {name: i for i, name in enumerate(model.row_names_)}
    first_column, first_row = _second_stage(time)
    for name, names, what in ((first_column, columns, "column"), (first_row, rows, "row")):
        if name not in names:
            raise InvalidData(f"{time}: the second stage starts at {what} {name}, which {core} does not have")
    n, r = columns[first_column], rows[first_row]
    matrix = sparse.csc_array(
        (model.a_matrix_.value_, model.a_matrix_.index_, model.a_matrix_.start_), shape=(len(rows), len(columns))
    ).tocsr()
    lower, upper = (np.where(np.abs(side) >= 1e20, np.copysign(np.inf, side), side) for side in _sides(model))
    x_lower, x_upper = np.array(model.col_lower_), np.array(model.col_upper_)
    sign = -1.0 if maximize else 1.0
    cost = sign * np.array(model.col_cost_)
    T, W = matrix[r:, :n], matrix[r:, n:]
    rhs = np.where(np.isfinite(upper), upper, lower)[r:]

    def block(name: str, outcomes: list[tuple[float, dict[Entry, float]]]) -> RandomBlock:
        return _block(name, outcomes, columns, rows, n, r, objective, rhs, cost[n:], T, W, sign, stochastic)

    return TwoStageProblem(
        cost[:n],
        cost[n:],
        T,
        W,
        lower[r:],
        upper[r:],
        [block(name, outcomes) for name, outcomes in _read_stochastic(stochastic)],
        A=matrix[:r, :n],
        first_lower=lower[:r],
        first_upper=upper[:r],
        x_lower=x_lower[:n],
        x_upper=x_upper[:n],
        y_lower=x_lower[n:],
        y_upper=x_upper[n:],
        offset=sign * model.offset_,
        names=model.col_names_[:n],
    )


def _sides(model) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[no-untyped-def]
    return np.array(model.row_lower_), np.array(model.row_upper_)


def _read_core(path: Path):  # type: ignore[no-untyped-def]
    """Let HiGHS read the core file; give its model and the name of the objective row."""
    import highspy

    text = path.read_text()
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "core.mps"  # HiGHS tells the format by the ending
        copy.write_text("\n".join(_plain(line) for line in text.splitlines()))
        if highs.readModel(str(copy)) == highspy.HighsStatus.kError:
            raise InvalidData(f"{path} is not a readable MPS file")
    objective = next((fields[1] for fields in map(str.split, text.splitlines()) if fields[:1] == ["N"]), "")
    highs.ensureColwise()
    return highs.getLp(), objective


def _plain(line: str) -> str:
    """Drop what SMPS files carry behind a section's name, ``RHS  RIGHT``; HiGHS takes it for a line of data."""
    return line if line[:1].isspace() or line.upper().startswith("NAME") else line.split(" ")[0].rstrip()


def _sections(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Lines of a file as (section, fields); a section's own line has the fields ``["", ...]``."""
    section = ""
    for line in path.read_text().splitlines():
        if not line.strip() or line.startswith("*"):
            continue
        fields = line.split()
        if not line[0].isspace():
            section = fields[0].upper()
            if section == "ENDATA":
                return
            yield section, ["", *fields[1:]]
        else:
            yield section, fields


def _second_stage(path: Path) -> Entry:
    """First column and row of the second period."""
    periods = [fields for section, fields in _sections(path) if section == "PERIODS" and fields[0]]
    if len(periods) != 2:
        raise InvalidData(f"{path} must name two periods, got {len(periods)}: only two-stage problems can be read")
    return periods[1][0], periods[1][1]


def _read_stochastic(path: Path) -> list[tuple[str, list[tuple[float, dict[Entry, float]]]]]:
    """Blocks in order: name, and outcomes as (probability, values by entry)."""
    blocks: dict[str, list[tuple[float, dict[Entry, float]]]] = {}
    by_scenario: dict[str, dict[Entry, float]] = {}
    current: dict[Entry, float] = {}
    for section, fields in _sections(path):
        if section in ("STOCH", "NAME", "RHS") and not fields[0]:
            continue
        if section not in ("INDEP", "BLOCKS", "SCENARIOS"):
            raise InvalidData(f"{path}: the section {section} cannot be read; INDEP, BLOCKS and SCENARIOS can")
        if not fields[0]:
            if len(fields) > 1 and fields[1].upper() != "DISCRETE":
                raise InvalidData(f"{path}: the distribution {fields[1]} must be DISCRETE; sample it into a file first")
        elif section == "INDEP":
            column, row, value, *_, probability = fields
            blocks.setdefault(f"{column} {row}", []).append((float(probability), {(column, row): float(value)}))
        elif section == "BLOCKS" and fields[0] == "BL":
            outcomes = blocks.setdefault(fields[1], [])
            # what a later outcome of a block leaves out has its value of the first one
            current = dict(outcomes[0][1]) if outcomes else {}
            outcomes.append((float(fields[3]), current))
        elif section == "SCENARIOS" and fields[0] == "SC":
            current = dict(by_scenario.get(fields[2], {}))  # and a scenario inherits from its parent
            by_scenario[fields[1]] = current
            blocks.setdefault("SCENARIOS", []).append((float(fields[3]), current))
        else:
            for row, value in zip(fields[1::2], fields[2::2], strict=True):
                current[fields[0], row] = float(value)
    return list(blocks.items())


def _block(  # type: ignore[no-untyped-def]
    name: str,
    outcomes: list[tuple[float, dict[Entry, float]]],
    columns: dict[str, int],
    rows: dict[str, int],
    n: int,
    r: int,
    objective: str,
    rhs: np.ndarray,
    q: np.ndarray,
    T,
    W,
    sign: float,
    path: Path,
) -> RandomBlock:
    """Sort a block's entries into right-hand sides, costs and matrices; what an outcome lacks is the core's."""
    entries = list(dict.fromkeys(entry for _, values in outcomes for entry in values))
    places: dict[str, list] = {"rhs": [], "cost": [], "technology": [], "recourse": []}
    values: dict[str, list] = {kind: [] for kind in places}
    for column, row in entries:
        if column in columns and row == objective:
            kind, place, core = "cost", columns[column] - n, q[columns[column] - n]
        elif row not in rows:
            raise InvalidArgument(f"`stochastic` names the row {row}, which the core file does not have ({path})")
        elif column not in columns:  # the name of the right-hand side
            kind, place = "rhs", rows[row] - r
            core = rhs[place]
        elif columns[column] < n:
            kind, place = "technology", (rows[row] - r, columns[column])
            core = T[place]
        else:
            kind, place = "recourse", (rows[row] - r, columns[column] - n)
            core = W[place]
        if np.min(place) < 0:
            raise InvalidArgument(f"`stochastic` must leave the first stage alone, and changes {column} {row} ({path})")
        places[kind].append(place)
        turned = sign if kind == "cost" else 1.0
        values[kind].append(
            [turned * outcome[column, row] if (column, row) in outcome else core for _, outcome in outcomes]
        )
    arrays = {kind: np.array(lists, dtype=float).reshape(len(lists), len(outcomes)).T for kind, lists in values.items()}
    return RandomBlock(
        np.array([probability for probability, _ in outcomes]),
        np.array(places["rhs"], dtype=np.intp),
        arrays["rhs"],
        np.array(places["cost"], dtype=np.intp),
        arrays["cost"],
        np.array(places["technology"], dtype=np.intp).reshape(-1, 2),
        arrays["technology"],
        np.array(places["recourse"], dtype=np.intp).reshape(-1, 2),
        arrays["recourse"],
        name,
    )
