"""What a user names as ``module:name`` in a file or on the command line."""

from __future__ import annotations

import difflib
import importlib
import sys
from pathlib import Path
from typing import Any

from oracle_opt.errors import InvalidArgument


def imported(words: str) -> Any:
    """Import ``module:name``, also from the folder where the program was started.

    Parameters
    ----------
    words : str
        A module with dots, a colon, and a name in it, with dots where it is an attribute.

    Raises
    ------
    InvalidArgument
        The words are not of this form, the module cannot be imported, or it has no such name.
    """
    module, _, name = words.partition(":")
    if not module or not name:
        raise InvalidArgument(f"{words!r} must be module:name, such as my_oracles:make")
    if module.endswith(".py"):
        raise InvalidArgument(f"{words!r} must name the module without its ending: {module.removesuffix('.py')}:{name}")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        thing: Any = importlib.import_module(module)
    except Exception as problem:  # whatever the user's module raises
        reason = f"{problem}" if isinstance(problem, ImportError) else f"{type(problem).__name__}: {problem}"
        raise InvalidArgument(f"{words!r} cannot be imported: {reason}; the current folder is {here}") from problem
    for part in name.split("."):
        try:
            thing = getattr(thing, part)
        except AttributeError as problem:
            near = difflib.get_close_matches(part, [known for known in dir(thing) if known[0] != "_"], n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise InvalidArgument(f"{words!r} names nothing: {problem}{hint}") from problem
    return thing
