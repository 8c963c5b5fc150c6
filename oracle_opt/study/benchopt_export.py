"""Write problems and generators as a benchmark folder of benchopt, to which others add their solvers."""

import ast
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from oracle_opt.arguments import real, whole
from oracle_opt.errors import InvalidArgument
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.problems import Problem, find
from oracle_opt.study.benchopt_files import DATASET, OBJECTIVE, README, SOLVER
from oracle_opt.study.recipes import named_generators
from oracle_opt.words import shown


def export_benchopt(
    folder: str | os.PathLike[str],
    problems: Iterable[str | Problem],
    generators: Mapping[str, object] | Iterable[object],
    *,
    name: str = "Convex functions known through oracles",
    rtol: float = 1e-6,
    max_calls: int = 1000,
) -> Path:
    """Write a benchmark that ``benchopt run FOLDER`` runs, whose curves are taken at numbers of oracle calls.

    The folder gets `objective.py`, a file in `datasets/` for each family of problems, one in `solvers/` for each
    generator, and a README.md that says how to add a solver: one more file in `solvers/`, which need not know this
    library. What is plotted, against oracle calls or seconds, is the best value, the value minus the known optimum,
    and for methods that prove a lower bound the relative gap.

    Parameters
    ----------
    folder : path-like
        Must not exist, or be empty.
    problems : iterable of str or Problem
        What `oracle_opt.problems.find` understands, such as ``"nonsmooth"`` or ``"max-affine(n=10, seed=0)"``. Those
        drawn by the seed of a run are drawn by the seed 0.
    generators : mapping or iterable
        Names to generators, or words as on the command line, such as ``"kelley(chebyshev=True)"``.
    name : str
        Name of the benchmark.
    rtol : float
        Proven relative gap at which the generators stop.
    max_calls : int
        Their limit of oracle calls.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    InvalidArgument
        The folder is not empty, a problem is not one that `find` finds by its name, or a generator has parameters that
        cannot be written down as Python literals.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from oracle_opt.study import export_benchopt
    >>> with tempfile.TemporaryDirectory() as place:
    ...     folder = export_benchopt(Path(place) / "bench", ["nonsmooth/CB2"], ["kelley"])
    ...     sorted(str(file.relative_to(folder)) for file in folder.rglob("*.*"))
    ['README.md', 'datasets/nonsmooth.py', 'objective.py', 'solvers/kelley.py']
    """
    rtol, max_calls = real("rtol", rtol, least=0.0), whole("max_calls", max_calls)
    families = _by_family(problems)
    solvers = {title: _solver(title, made, rtol, max_calls) for title, made in named_generators(generators).items()}
    files = {"objective.py": OBJECTIVE.substitute(name=repr(name)), "README.md": README.substitute(name=name)}
    for family, texts in families.items():
        lines = "".join(f"    {short!r}: {text!r},\n" for short, text in texts.items())
        files[f"datasets/{_file_name(family)}.py"] = DATASET.substitute(family=repr(family), problems=lines)
    for title, text in solvers.items():
        path = f"solvers/{_file_name(title)}.py"
        if path in files:
            raise InvalidArgument(f"`generators` must have names that differ in letters and digits, got {title!r}, too")
        files[path] = text
    place = Path(folder)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise InvalidArgument(f"`folder` must be new or empty, got {place}")
    for path, text in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text, encoding="utf-8")
    return place


def _by_family(problems: Iterable[str | Problem]) -> dict[str, dict[str, str]]:
    """For each family the short names of problems, with what `find` finds them by."""
    if isinstance(problems, str | Problem) or not isinstance(problems, Iterable):
        raise InvalidArgument(f"`problems` must be a list of words or Problems, got {shown(problems)}")
    families: dict[str, dict[str, str]] = {}
    for given in problems:
        if not isinstance(given, str | Problem):
            raise InvalidArgument(f"`problems` must hold words or Problems, got {shown(given)}")
        for problem in find(given) if isinstance(given, str) else [given]:
            again = find(problem.name)
            if len(again) != 1 or again[0].identity() != problem.identity():
                raise InvalidArgument(
                    f"`problems` must hold problems that oracle_opt.problems.find finds by their names, got {problem!r}"
                )
            short = problem.name.removeprefix(f"{problem.family}/").replace("/", " ")
            families.setdefault(problem.family, {})[short] = problem.name
    if not families:
        raise InvalidArgument("`problems` must hold at least one, got none")
    return families


def _solver(title: str, generator: QueryPointGenerator, rtol: float, max_calls: int) -> str:
    """Text of a solver's file."""
    from oracle_opt import generators

    kind = type(generator)
    words = []
    for parameter, value in generator.parameters().items():
        try:
            literal = ast.literal_eval(repr(value))
        except (ValueError, SyntaxError):
            literal = None
        if literal is None and value is not None:
            raise InvalidArgument(
                f"`generators[{title!r}]` must have parameters that can be written down, got {parameter}={shown(value)}"
            )
        words.append(f"{parameter}={value!r}")
    if kind.__module__ == "__main__" or "." in kind.__qualname__:
        raise InvalidArgument(f"`generators[{title!r}]` must be of a class at the top of a module, got {kind!r}")
    module = "oracle_opt.generators" if vars(generators).get(kind.__name__) is kind else kind.__module__
    return SOLVER.substitute(
        name=repr(title.replace("/", " ")),
        module=module,
        kind=kind.__name__,
        arguments=", ".join(words),
        rtol=repr(rtol),
        max_calls=max_calls,
    )


def _file_name(title: str) -> str:
    """A title as the name of a Python file."""
    return re.sub(r"\W+", "_", title.lower()).strip("_") or "unnamed"
