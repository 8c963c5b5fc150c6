"""Copies of a problem that a method should find as easy as the problem itself, or nearly so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from oracle_opt.arguments import instance, real, text, whole
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracle import Oracle
from oracle_opt.problems.changes import ChangeOfVariables, Permutation, Rescaling, Rotation
from oracle_opt.problems.instance import Instance, Measure, Problem
from oracle_opt.problems.oracle_changes import ChangedOracle, NoisyOracle
from oracle_opt.problems.problem_family import nearest

# kinds of copies, each with its default size; 0 where it has none
KINDS = {"permuted": 0.0, "rotated": 0.0, "rescaled": 2.0, "noisy": 1e-3}


def perturbed(problem: Problem, kind: str, *, seed: int = 0, size: float | None = None) -> Problem:
    """Return a copy of a problem in other variables or with a noisy oracle; its minimum is the same.

    - ``permuted``: the variables in another order, within its block on a product of simplices.
    - ``rotated``: turned about the origin by a random orthogonal matrix, for `FreeSpace`, `Ball`, bounded `Box` and
      `Polyhedron`.
    - ``rescaled``: each variable in another unit, a power of two, for `Box`, `Polyhedron`, `FreeSpace` and
      `NonnegativeOrthant`.
    - ``noisy``: values and slopes are off, and every cut states by how much, so that bounds stay proofs; how good they
      get is limited by the noise.

    Parameters
    ----------
    problem : Problem
        What to copy.
    kind : str
        One of the four.
    seed : int
        Of the change or the noise; the seed of a run stays that of the problem.
    size : float, optional
        Of ``rescaled``, the decades between the largest unit and the smallest, default 2; of ``noisy``, the error of
        a value relative to ``max(1, abs(value))``, default 1e-3. The others have none.

    Returns
    -------
    Problem
        Named like ``nonsmooth/CB2~rotated(seed=1)``, by which `find` finds it, too.

    Raises
    ------
    InvalidArgument
        There is no such kind, or the kind has no size. That the domain does not allow it is seen when an instance is
        made, also an `InvalidArgument`.

    Examples
    --------
    >>> from oracle_opt import problems
    >>> (problem,) = problems.find("nonsmooth/CB2")
    >>> problems.perturbed(problem, "rotated", seed=1).name
    'nonsmooth/CB2~rotated(seed=1)'
    """
    instance("problem", problem, Problem, "a Problem; oracle_opt.problems.find gives those of a name")
    word = text("kind", kind).lower()
    if word not in KINDS:
        raise InvalidArgument(f"`kind` must be a kind of copy, got {kind!r}: {nearest(kind, KINDS)}")
    seed = whole("seed", seed, 0)
    if size is not None and not KINDS[word]:
        raise InvalidArgument(f"`size` must be left out: a {word} copy has none, got {size!r}")
    chosen = KINDS[word] if size is None else real("size", size, above=0.0)
    words = f"{word}(seed={seed}{f', size={chosen:g}' if size is not None else ''})"
    return replace(
        problem,
        name=f"{problem.name}~{words}",
        make=partial(_made, problem, word, seed, chosen),
        data=f"{problem.data}; {word}, version 1, seed {seed}, size {chosen!r}",
        source=f"{problem.source}; {words}",
    )


def copies(found: list[Problem], kind: str, parameters: Mapping[str, object]) -> list[Problem]:
    """Return the copies that a text names: ``rotated(seed=1)`` has the kind and its parameters."""
    for name in parameters:
        if name not in ("seed", "size"):
            raise InvalidArgument(f"`text`: {kind} has no parameter {name!r}: {nearest(name, ('seed', 'size'))}")
    seed, size = whole("seed", parameters.get("seed", 0), 0), parameters.get("size")
    return [
        perturbed(one, kind, seed=seed, size=None if size is None else real("size", size, above=0.0)) for one in found
    ]


def _made(problem: Problem, kind: str, seed: int, size: float, number: int) -> Instance:
    """Make the instance of a seed of the problem, and change it."""
    made = problem(number)
    oracle, rng = made.oracle, np.random.default_rng(seed)
    if kind == "noisy":
        return replace(made, oracle=NoisyOracle(oracle, size, seed))
    change: ChangeOfVariables
    if kind == "permuted":
        change = Permutation(oracle.domain, rng)
    elif kind == "rotated":
        change = Rotation(oracle.domain, rng)
    else:
        change = Rescaling(oracle.domain, rng, size)
    changed = ChangedOracle(oracle, change, f"{kind} by seed {seed}, size {size!r}:")
    start = oracle.domain.interior_point() if made.start is None else made.start
    return replace(
        made,
        oracle=changed,
        start=change.new(start),
        measures={name: partial(_measured, changed, one) for name, one in made.measures.items()},
        traces={name: partial(_measured, changed, one) for name, one in made.traces.items()},
    )


def _measured(oracle: Oracle, measure: Measure, cut: ObjectiveCut) -> float:
    """A measure of the problem, taken at the point in its own variables."""
    assert isinstance(oracle, ChangedOracle)
    old = oracle.old(cut)
    assert isinstance(old, ObjectiveCut)
    return measure(old)
