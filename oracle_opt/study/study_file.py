"""Studies written down in a file, for the command line."""

import difflib
import os
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from oracle_opt.errors import InvalidArgument
from oracle_opt.study.records import Limits
from oracle_opt.study.study import Study

KEYS = ("instances", "generators", "seeds", "limits", "tau", "until", "keep_points", "verify", "clock")
LIMITS = ("calls", "seconds")


def read_study(path: os.PathLike[str] | str) -> Study:
    """Read a study from a TOML file.

    Parameters
    ----------
    path : path-like
        The file. Its keys are the arguments of `Study`: `instances` and `generators`, lists of words or tables of names
        to words, where ``module:name`` stands for something of one's own; `seeds`, a number or a list; `tau`; `until`;
        `keep_points`; `verify`; `clock`; and the table `limits` with `calls` and `seconds`.

    Returns
    -------
    Study

    Raises
    ------
    InvalidArgument
        The file cannot be read, a key is unknown (the nearest is named) or missing, or a value cannot be used.
    """
    path = Path(path)
    try:
        with open(path, "rb") as file:
            given: dict[str, Any] = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise InvalidArgument(f"{path} is no file of a study: {problem}") from problem
    _check_keys(path, "", given, KEYS)
    for key in ("instances", "generators"):
        if key not in given:
            raise InvalidArgument(f"{path} must have the key {key}: a list of words, or a table of names to words")
    limits = given.pop("limits", {})
    if not isinstance(limits, dict):
        raise InvalidArgument(f"{path}: `limits` must be a table with calls and seconds, got {limits!r}")
    _check_keys(path, "limits.", limits, LIMITS)
    try:
        return Study(**given, limits=Limits(**limits))
    except InvalidArgument as problem:
        raise InvalidArgument(f"{path}: {problem}") from problem


def _check_keys(path: Path, where: str, given: Iterable[str], known: tuple[str, ...]) -> None:
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
            hint = f"did you mean {where}{near[0]}?" if near else f"known are {', '.join(known)}"
            raise InvalidArgument(f"{path} has the unknown key {where}{key}: {hint}")
