"""Docstrings of all public names, held against numpydoc's checks; the API pages of the site are made of them."""

import enum
import importlib
import inspect
import re
from collections.abc import Iterator

import pytest
from test_docs import api_sections

pytest.importorskip("numpydoc", reason="needs the packages of the extra: pip install 'oracle-opt[site]'")
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import ERROR_MSGS, Validator, validate

from oracle_opt import Domain, Oracle, QueryPointGenerator, SequentialGenerator

LEFT_OUT = {
    "ES01": "a sentence is enough where there is no more to say",
    "EX01": "examples stand on the pages, where they are run; in a docstring where no page has one",
    "SA01": "names in the text are links already",
    "SS05": "the heuristic takes nouns for verbs: a summary such as 'Labels of new points' says what is returned",
    "PR08": "a description may begin with the name of a variable: 'p kernels on n points'",
    "RT03": "a type is enough where the summary says what is made",
    "RT04": "as PR08",
}
# Who plugs in a class of their own reads these: each of their methods has all its sections.
CONTRACTS = (Oracle, QueryPointGenerator, SequentialGenerator, Domain)


SECTION = {"PR01": "Parameters\n---", "RT01": "Returns\n---", "YD01": "Yields\n---"}


class Quick(Validator):
    """numpydoc's validator, which neither looks for comments that switch it off nor for line numbers."""

    source_file_name = None
    source_file_def_line = 1

    def __init__(self, obj_name: object) -> None:
        super().__init__(get_doc_object(obj_name))


def members(owner: type) -> Iterator[tuple[str, object, bool]]:
    """Public methods and properties that a class defines, and whether a base class documents them."""
    for name, member in vars(owner).items():
        if name.startswith("_") or not (
            (inspect.isfunction(member) and member.__name__ == name)
            or isinstance(member, property | classmethod | staticmethod)
        ):
            continue
        bases = (vars(base).get(name) for base in owner.__mro__[1:])
        yield name, getattr(owner, name), any(inspect.getdoc(base) for base in bases if base is not None)


def public_things() -> dict[str, tuple[object, bool, object]]:
    """Name of each public class, function, method and property: the thing, whether a base documents it, its owner."""
    found: dict[str, tuple[object, bool, object]] = {}
    for module, names in api_sections().items():
        for name in names:
            thing = getattr(importlib.import_module(module), name)
            if not (inspect.isclass(thing) or inspect.isroutine(thing)):
                continue
            found[f"{module}.{name}"] = (thing, False, None)
            if inspect.isclass(thing):
                for member, method, documented in members(thing):
                    found[f"{module}.{name}.{member}"] = (method, documented, thing)
    return found


THINGS = public_things()


def complaints(name: str) -> list[str]:
    """What numpydoc says of a docstring, but for what is left out or said in another way."""
    thing, documented, owner = THINGS[name]
    text = inspect.getdoc(thing) or ""
    plain = not re.search(r"^(Parameters|Returns|Yields)\n-", text, re.MULTILINE)
    found = []
    for code, message in validate(thing, Quick)["errors"]:
        if code in LEFT_OUT:
            continue
        if documented and code in SECTION and SECTION[code] not in text:
            continue  # the base class has it, and this docstring says what is particular
        if code == "PR01" and is_record(thing):
            continue  # a class of results or an enumeration: its fields are attributes, see below
        if code == "PR01" and owner is not None:
            missing = set(re.findall(r"'\*{0,2}(\w+)'", message)) - {first_parameter(owner, thing)}
            if plain and owner not in CONTRACTS:  # of which a few sentences say all: they name each parameter
                missing = {name for name in missing if not re.search(rf"\b{name}\b", text)}
            if missing:
                found.append(f"{code}: {', '.join(sorted(missing))}")
            continue
        if code == "RT01" and SECTION["YD01"] in text:
            continue  # a coroutine; a docstring has one of the two sections
        if code == "RT01" and owner is not None and plain and owner not in CONTRACTS:
            continue  # the sentences say what is returned
        if code == "PR04" and refers(text, message):
            continue  # "C, loss: as for `MKLOracle`": what stands there is not repeated
        found.append(f"{code}: {message}")
    return found


def first_parameter(owner: type, method: object) -> str:
    """Return what a function calls the object whose method it is; those of `Results` say `results`."""
    if not inspect.isfunction(vars(owner).get(method.__name__)):
        return ""
    return next(iter(inspect.signature(method).parameters), "")


def refers(text: str, message: str) -> bool:
    """Whether the parameter of a complaint is described by naming where its description stands."""
    name = re.findall(r'"(.*)"', message)[0]
    return bool(re.search(rf"^(?:\w+, )*{name}(?:, \w+)*\n    As ", text, re.MULTILINE))


def is_record(thing: object) -> bool:
    """Whether a class lists its fields as attributes, or is an enumeration."""
    return inspect.isclass(thing) and (
        issubclass(thing, enum.Enum) or "\nAttributes\n---" in (inspect.getdoc(thing) or "")
    )


@pytest.mark.parametrize("name", THINGS)
def test_docstring_is_valid(name: str) -> None:
    assert complaints(name) == []


def test_what_is_left_out_is_a_check() -> None:
    assert set(LEFT_OUT) <= set(ERROR_MSGS)


def test_a_parameter_that_is_not_documented_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def halve(value: float, times: int) -> float:
        """Halve a number.

        Parameters
        ----------
        value : float
            The number.
        """
        return value / 2**times

    class Halves:
        def of(self, value: float, times: int) -> float:
            """Return a value that was halved."""
            return value / 2**times

    monkeypatch.setitem(THINGS, "halve", (halve, False, None))
    monkeypatch.setitem(THINGS, "Halves.of", (Halves.of, False, Halves))
    assert [words.partition(":")[0] for words in complaints("halve")] == ["PR01", "RT01"]
    assert complaints("Halves.of") == ["PR01: times"]
