"""The files of a benchmark folder of benchopt, with places for names and parameters."""

from string import Template

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
