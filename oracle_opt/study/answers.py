"""The answer of each instance at its start, kept beside its runs: by this a folder knows the problem again."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from oracle_opt.certificates.examination import same_but_for_names
from oracle_opt.checks import check_cut
from oracle_opt.cuts import ObjectiveCut, Query
from oracle_opt.errors import StoreMismatch
from oracle_opt.files import atomic_text
from oracle_opt.problems import Instance, Problem
from oracle_opt.study.recipes import Named, identity_of

SAME = 1e-9  # of the sizes of the terms: so much answers of other processors may differ


def is_same(path: Path, named: Named, seed: int, stored: str) -> bool:
    """Whether an instance is the one of the stored runs, whatever its functions are called now; its answer is kept."""
    if isinstance(named.recipe, Problem):
        return False  # whose data are in its identity
    try:
        instance = named.make(seed)
        answer = _answer_of(instance)
    except Exception as problem:  # without stored runs the run meets it, too, and its row says so
        if path.exists():
            raise StoreMismatch(
                f"{path.parent} holds runs of {named.name}, which now raises {type(problem).__name__} at its start: "
                f"{problem}; choose another folder"
            ) from problem
        return False
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_text(path, json.dumps(answer) + "\n")
        return False
    there = json.loads(path.read_text(encoding="utf-8"))
    if there["point"] != answer["point"]:
        return False  # whose identity tells another start or domain
    _compare(path, there, answer, named.name)
    start = identity_of(instance).removeprefix(instance.oracle.identity())
    return stored.endswith(start) and same_but_for_names(instance.oracle, stored.removesuffix(start))


def _answer_of(instance: Instance) -> dict[str, Any]:
    """The oracle's answer at the start, as plain data."""
    oracle = instance.oracle
    point = np.array(oracle.domain.interior_point() if instance.start is None else instance.start, dtype=float)
    oracle.reset()
    cut = check_cut(oracle.query(Query(point.copy())), point, oracle)
    if isinstance(cut, ObjectiveCut):
        number, vector, error = cut.value, cut.subgradient, cut.error
    else:
        number, vector, error = cut.violation, cut.normal, cut.error
    terms = np.abs(vector * point)
    return {
        "kind": type(cut).__name__,
        "point": point.tolist(),
        "number": number,
        "vector": vector.tolist(),
        "error": error,
        "size": float(np.abs(number) + terms.sum()),
    }


def _compare(path: Path, there: dict[str, Any], here: dict[str, Any], name: str) -> None:
    """Refuse an answer that differs from the file's."""
    apart = there["kind"] != here["kind"] or len(there["vector"]) != len(here["vector"])
    numbers, vectors = (there["number"], here["number"]), (np.array(there["vector"]), np.array(here["vector"]))
    if not apart and numbers[0] != numbers[1]:
        apart = not abs(numbers[0] - numbers[1]) <= SAME * max(there["size"], here["size"]) + there["error"]
    if not apart:
        apart = bool(np.abs(vectors[0] - vectors[1]).max() > SAME * max(np.abs(one).max() for one in vectors))
    if apart:
        raise StoreMismatch(
            f"{path.parent} holds runs of another problem called {name}: at its start the oracle answered "
            f"{_words(there)}, and now {_words(here)}; choose another folder"
        )


def _words(answer: dict[str, Any]) -> str:
    vector = np.array2string(np.array(answer["vector"]), threshold=10, precision=17)
    return f"{answer['kind']} {answer['number']!r} with slope {vector}"
