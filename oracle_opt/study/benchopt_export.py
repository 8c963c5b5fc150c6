"""Write problems and generators as a benchmark folder of benchopt, to which others add their solvers."""

import ast
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from string import Template

from oracle_opt.arguments import real, whole
from oracle_opt.errors import InvalidArgument
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.problems import Problem, find
from oracle_opt.study.recipes import named_generators
from oracle_opt.words import shown

OBJECTIVE = Template('''\
from benchopt import BaseObjective

from oracle_opt import ObjectiveCut, Query

INFEASIBLE = 1e100  # the value of a point outside the domain, or that the oracle calls infeasible


class Objective(BaseObjective):
    name = $name
    min_benchopt_version = "1.7"
    requirements = ["pip::oracle-opt"]

    def set_data(self, instance):
        self.instance = instance
        self.oracle = instance.oracle
        self.start = self.oracle.domain.interior_point() if instance.start is None else instance.start

    def get_objective(self):
        """What a solver gets: a function that returns value and subgradient, the start, the domain, the oracle."""

        def function(x):
            cut = self.oracle.query(Query(x))
            if not isinstance(cut, ObjectiveCut):
                raise ValueError("this point is infeasible; use `oracle`, which answers with a feasibility cut")
            return cut.value, cut.subgradient

        return dict(function=function, start=self.start.copy(), domain=self.oracle.domain, oracle=self.oracle)

    def evaluate_result(self, point, lower_bound=None, calls=None):
        """Value at a point; a solver may add a lower bound that it has proven, and its number of oracle calls."""
        value = INFEASIBLE
        if self.oracle.domain.contains(point):
            cut = self.oracle.query(Query(point.copy()))
            if isinstance(cut, ObjectiveCut):
                value = cut.upper
        nan = float("nan")
        proven = lower_bound is not None and abs(lower_bound) < float("inf")
        return dict(
            value=value,
            above_optimum=value - self.instance.optimum,  # NaN where the optimum is not known
            lower_bound=lower_bound if proven else nan,
            relative_gap=max(0.0, value - lower_bound) / max(1e-12, abs(value)) if proven else nan,
            calls=nan if calls is None else calls,
        )

    def get_one_result(self):
        return dict(point=self.start)
''')

DATASET = Template("""\
from benchopt import BaseDataset

from oracle_opt.problems import find

PROBLEMS = {
$problems}


class Dataset(BaseDataset):
    name = $family
    requirements = ["pip::oracle-opt"]
    parameters = {"problem": list(PROBLEMS)}

    def get_data(self):
        (problem,) = find(PROBLEMS[self.problem])
        return dict(instance=problem(0))
""")

SOLVER = Template("""\
import numpy as np
from benchopt import BaseSolver
from benchopt.stopping_criterion import NoCriterion

from oracle_opt import CapabilityMismatch, ObjectiveCut, minimize
from $module import $kind


class Solver(BaseSolver):
    name = $name
    requirements = ["pip::oracle-opt"]
    sampling_strategy = "callback"  # once an oracle call
    stopping_criterion = NoCriterion()  # but its own: a small proven gap, or the limit of calls

    def skip(self, oracle, start, **others):
        try:
            minimize(oracle, $kind($arguments), start, max_calls=0)
        except CapabilityMismatch as reason:
            return True, str(reason)
        return False, None

    def get_next(self, stop_val):
        return max(stop_val + 1, int(1.2 * stop_val))  # where points of the curve are taken

    def set_objective(self, oracle, start, **others):
        self.oracle, self.start = oracle, start

    def run(self, callback):
        self.point, self.lower_bound, self.calls = self.start, -np.inf, 0
        generator = $kind($arguments)

        def each_call(record):
            self.calls, self.lower_bound = record.call, record.lower_bound
            if isinstance(record.cut, ObjectiveCut) and record.cut.upper <= record.upper_bound:
                self.point = record.cut.point
            return not callback()

        if callback():  # at the start, before the first call
            minimize(self.oracle, generator, self.start, rtol=$rtol, max_calls=$max_calls, callback=each_call, probes=0)

    def get_result(self):
        return dict(point=self.point, lower_bound=self.lower_bound, calls=self.calls)
""")

README = Template("""\
# $name

A benchmark of [benchopt](https://benchopt.github.io): solvers on convex functions that are known through an oracle, a
routine that returns value and subgradient at a point.

    pip install benchopt oracle-opt
    benchopt run .

The curves of the solvers that are here are taken at numbers of oracle calls (`stop_val`, and `objective_calls` for
any solver). In the value's place stands 1e100 where a point is infeasible.

## Add a solver

One file in `solvers/`. What it gets is `function(x)`, which returns value and subgradient, the `start`, the `domain`
(`domain.project(x)`, `domain.bounding_box()`), and the `oracle` behind the function. What it returns is its best
`point`, the number of its oracle `calls` and, if it proves one, a `lower_bound` on the minimum.

```python
from benchopt import BaseSolver
from scipy import optimize


class Solver(BaseSolver):
    name = "scipy L-BFGS-B"
    requirements = ["scipy"]
    sampling_strategy = "iteration"

    def set_objective(self, function, start, domain, oracle):
        self.function, self.start = function, start
        self.bounds = optimize.Bounds(*domain.bounding_box())

    def run(self, n_iter):
        self.found, self.calls = self.start, 0
        if n_iter:
            options = {"maxiter": n_iter}
            result = optimize.minimize(
                self.function, self.start, jac=True, method="L-BFGS-B", bounds=self.bounds, options=options
            )
            self.found, self.calls = result.x, result.nfev

    def get_result(self):
        return dict(point=self.found, calls=self.calls)
```
""")


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
