"""Words such as ``kelley(chebyshev=True)`` or ``module:name``: parsed or imported, and never evaluated."""

import ast
import difflib
import importlib
import re
import sys
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from oracle_opt.errors import InvalidArgument

LONGEST = 1000  # letters: no generator takes so many parameters
_NAME = re.compile(r"(?P<name>[^\W\d][\w-]*|[^\W\d][\w.]*:[^\W\d][\w.]*)\s*(?P<rest>\(.*\))?", re.DOTALL)
_PAIRS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class GeneratorWords:
    """A name with parameters, as it was written."""

    name: str
    has_parentheses: bool
    arguments: tuple[Any, ...]
    parameters: dict[str, Any]


def split_words(text: str) -> list[str]:
    """Split names at the commas that stand in no brackets and no quotation marks."""
    parts, open_brackets, quote = [""], [], ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in _PAIRS:
            open_brackets.append(_PAIRS[letter])
        elif open_brackets and letter == open_brackets[-1]:
            open_brackets.pop()
        if letter == "," and not quote and not open_brackets:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def read_generator_words(words: str) -> GeneratorWords:
    """Read a name with parameters in parentheses, as in ``kelley(chebyshev=True)``.

    Parameters are Python's literals, `inf`, and names of generators with parentheses: ``ActiveSet(NewtonBundle())``.
    """
    if len(words) > LONGEST:
        raise InvalidArgument(f"the words of a generator must be at most {LONGEST} letters, got {len(words)}")
    parts = _NAME.fullmatch(words.strip())
    if parts is None:
        raise _refusal(words, "it is no name with parameters in parentheses")
    name, rest = parts["name"], parts["rest"]
    if rest is None:
        return GeneratorWords(name, False, (), {})
    try:
        call = ast.parse(f"_{rest}", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        raise _refusal(words, str(problem)) from problem
    # `kelley()()` and `kelley().reset` are other expressions than one call of a name
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise _refusal(words, "more than a name and its parameters stands there")
    return _read_call(words, f"_{rest}", name, call)


def _read_call(words: str, source: str, name: str, call: ast.Call) -> GeneratorWords:
    parameters: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg in parameters:
            what = "`**` stands there" if keyword.arg is None else f"`{keyword.arg}` stands there twice"
            raise _refusal(words, what)
        parameters[keyword.arg] = _value(words, source, keyword.value)
    return GeneratorWords(name, True, tuple(_value(words, source, part) for part in call.args), parameters)


def _value(words: str, source: str, node: ast.expr) -> Any:
    """A literal, infinity, or words of a generator within words."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _read_call(words, source, node.func.id, node)
    if isinstance(node, ast.Name) and node.id == "inf":
        return inf
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError) as problem:
        said = (ast.get_source_segment(source, node) or "")[:60]
        reason = f"`{said}` is no plain value such as 0.5, True, None, 'text' or (1, 2)"
        raise _refusal(words, reason) from problem


def _refusal(words: str, reason: str) -> InvalidArgument:
    return InvalidArgument(
        f"`generator` {words[:100]!r} must be a name with parameters such as kelley(chebyshev=True): {reason}"
    )


def imported(words: str) -> Any:
    """Import ``module:name``, also from the folder where the program was started."""
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
            near = difflib.get_close_matches(part, [known for known in dir(thing) if known[0] != "_"], n=1, cutoff=0.7)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise InvalidArgument(f"{words!r} names nothing: {problem}{hint}") from problem
    return thing
