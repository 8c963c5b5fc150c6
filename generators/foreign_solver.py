"""A solver of another library, which calls the function itself, as a generator."""

from collections.abc import Callable, Generator
from contextvars import copy_context
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock, Thread, current_thread
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt import (
    Domain,
    Exhausted,
    FeasibilityCut,
    InvalidArgument,
    Minorant,
    ObjectiveCut,
    SequentialGenerator,
    Step,
)
from oracle_opt._deadline import seconds_left
from oracle_opt.arguments import callback, flag
from oracle_opt.arrays import Vector, real_array
from oracle_opt.cuts import Cut, is_infinite
from oracle_opt.generators.masters.cutting_plane_model import CuttingPlaneModel
from oracle_opt.generators.masters.polyhedra import polyhedral_refusal
from oracle_opt.words import shown

OUTSIDE = 1e-9  # distance to the domain, relative to the point's norm, that counts as rounding
Solve = Callable[[Callable[[ArrayLike], Any], Vector, Domain], object]
REPEATS = 1000  # questions at one and the same point after which a solver counts as stuck
PATIENCE = 1.0  # seconds to wait for a thread that was told to end; it may be busy with work of its own


class ForeignSolver(SequentialGenerator):
    """Run a solver that calls a function itself; each of its calls is a query of the driver, counted as all are.

    The solver runs in a thread of its own, which waits while the oracle works, and the other way round. Its thread ends
    with the run. A solver that returns ends the run as `Status.EXHAUSTED`; an exception inside it ends the run as any
    exception does.

    Parameters
    ----------
    solve : callable
        ``solve(function, start, domain)`` runs the solver; what it returns, if it is a text, is the reason in the
        result's message. ``function(x)`` returns the value, a float, and a subgradient, an array of its own, at x.
    cuts : bool
        Whether ``function(x)`` returns the `ObjectiveCut` or `FeasibilityCut` that the oracle answered instead. Without
        it, oracles that give feasibility cuts are refused.
    prove : bool
        Whether to minimize the model of all cuts so far after each call, as Kelley's method does, for the best lower
        bound that they prove. It costs a linear program a call, counted as the generator's time.

    Notes
    -----
    A solver may call the function in the domain alone. Farther outside than rounding, the call raises an
    `InvalidArgument` inside the solver: give the solver the domain's bounds, let it project by ``domain.project``, or
    answer without a call where it leaves the domain. A point that is outside by rounding is asked at its projection. A
    call at the same point as the last one gets the same answer, without another query; after a thousand of these the
    run ends as `Status.EXHAUSTED`.

    Without `prove` the driver's lower bounds are those of the last cut alone and of the cuts' average, in which the
    k-th has the weight k, as methods get better: Lacoste-Julien, Schmidt & Bach (2012), "A simpler approach to
    obtaining an O(1/t) convergence rate for the projected stochastic subgradient method".

    A `solve` that is defined at the top of a module can be pickled, and with it the generator, before and after a run.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import Box, FunctionOracle, minimize
    >>> from oracle_opt.generators import ForeignSolver
    >>> from scipy import optimize
    >>> def lbfgsb(function, start, domain):
    ...     bounds = optimize.Bounds(*domain.bounding_box())
    ...     optimize.minimize(function, start, jac=True, method="L-BFGS-B", bounds=bounds)
    >>> oracle = FunctionOracle(lambda z: ((z - 1) @ (z - 1) + 1, 2 * (z - 1)), Box([-2, -2], [2, 2]))
    >>> minimize(oracle, ForeignSolver(lbfgsb), [-1.0, 0.5]).status.name
    'CONVERGED'
    """

    _model: CuttingPlaneModel | None = None

    def __init__(self, solve: Solve, cuts: bool = False, prove: bool = False) -> None:
        self.solve = callback("solve", solve, "a function solve(function, start, domain)")
        self.cuts = flag("cuts", cuts)
        self.prove = flag("prove", prove)

    @property
    def takes(self) -> frozenset[type[FeasibilityCut]]:
        """Feasibility cuts, if the solver gets the cuts themselves."""
        return frozenset({FeasibilityCut} if self.cuts else ())

    def refusal(self, domain: Domain) -> str | None:
        """Refuse a domain without bounded linear constraints if bounds are to be proven by the model."""
        return polyhedral_refusal(domain) if self.prove else None

    def reset(self, domain: Domain, point: Vector) -> None:
        """Forget the last run; the solver starts when the first question is asked."""
        self.finish()
        if self.prove:
            self._model = CuttingPlaneModel(domain)
        self._weight = 0.0
        super().reset(domain, point)

    def finish(self) -> None:
        """End the solver's thread, and forget the model."""
        self._model = None
        coroutine = vars(self).pop("_coroutine", None)
        if coroutine is not None:
            coroutine.close()

    def minorant(self) -> Minorant | None:
        """Return the minorant of the model, if there is one."""
        return None if self._model is None else self._model.minorant

    def weight(self) -> float:
        """The number of the last objective cut."""
        return self._weight

    def queries(self, domain: Domain, point: Vector) -> Generator[Vector | Step, Cut, str | None]:
        """Ask what the solver asks."""
        # the thread holds no reference to this object, so that an abandoned one is collected, and its thread ends
        questions = _conversation(partial(_start, self.solve, domain, point, self.cuts))
        n_values = 0
        try:
            yield Step.NULL  # the solver starts when the first question is asked for
            asked = next(questions)
            while True:
                cut = yield asked
                self._weight, step = 0.0, Step.FEASIBILITY
                if isinstance(cut, ObjectiveCut) and not is_infinite(cut):
                    n_values += 1
                    self._weight, step = float(n_values), Step.NULL
                    if self.center is None or cut.upper < self.center.upper:
                        self.center, step = cut, Step.SERIOUS
                if self._model is not None and not is_infinite(cut):
                    self._model.add(cut)
                yield step
                asked = questions.send(cut)
        except StopIteration as end:
            return end.value if isinstance(end.value, str) else "the solver has returned"
        finally:
            questions.close()


class _SolverEnded(BaseException):
    """Raised in the solver where it calls its function after the end; no `except Exception` stops it."""


def _conversation(program: Callable[[Callable[[Vector], Cut]], object]) -> Generator[Vector, Cut, object]:
    """Turn a program around that calls a function: its calls are yielded, and what it returns is returned.

    It runs in a daemon thread with this one's context variables, such as numpy's error state. Only one of the two runs
    at a time. Once this is closed the program goes no further than to its next question.
    """
    said: SimpleQueue[tuple[str, Any]] = SimpleQueue()  # ("asks", question), ("raises", error), ("returns", x)
    answers: SimpleQueue[Cut | None] = SimpleQueue()  # None: there are no more
    one_at_a_time, ended = Lock(), False

    def ask(question: Vector) -> Cut:
        with one_at_a_time:
            if not ended:
                said.put(("asks", question))
                if (answer := answers.get()) is not None:
                    return answer
            raise _SolverEnded

    def run() -> None:
        try:
            said.put(("returns", program(ask)))
        except _SolverEnded:
            pass  # nobody listens any more
        except BaseException as problem:  # also SystemExit: it is raised again where the question was expected
            said.put(("raises", problem))

    thread = Thread(target=copy_context().run, args=(run,), daemon=True, name="foreign solver")
    thread.start()
    try:
        while True:
            try:
                kind, what = said.get(timeout=min(seconds_left(), 3600.0))
            except Empty:
                continue
            if kind == "raises":
                raise what
            if kind == "returns":
                return what
            answers.put((yield what))
    finally:
        ended = True
        answers.put(None)
        if thread is not current_thread():
            thread.join(PATIENCE)


def _start(solve: Solve, domain: Domain, point: Vector, cuts: bool, ask: Callable[[Vector], Cut]) -> object:
    return solve(_Function(ask, domain, cuts), point, domain)


class _Function:
    """The function that a solver calls."""

    def __init__(self, ask: Callable[[Vector], Cut], domain: Domain, cuts: bool) -> None:
        self._ask, self._domain, self._cuts = ask, domain, cuts
        self._last: Cut | None = None
        self._repeats = 0

    def __call__(self, x: ArrayLike) -> Any:
        """Value and subgradient, or the cut."""
        point = self._checked(x)
        if self._last is None or not np.array_equal(point, self._last.point):
            self._last, self._repeats = self._ask(point), 0
        self._repeats += 1
        if self._repeats > REPEATS:
            raise Exhausted(f"the solver has asked at {shown(point)} {REPEATS} times in a row")
        cut = self._last
        if self._cuts or isinstance(cut, FeasibilityCut):
            return cut
        return cut.value, cut.subgradient.copy()

    def _checked(self, x: ArrayLike) -> Vector:
        """The point as an array of its own, in the domain."""
        try:
            point = real_array(x)
        except (TypeError, ValueError) as problem:
            raise InvalidArgument(f"`x` must be an array of real numbers, got {shown(x)}: {problem}") from problem
        if point.shape != (self._domain.dimension,) or not np.isfinite(point).all():
            raise InvalidArgument(f"`x` must be {self._domain.dimension} finite numbers, got {shown(point)}")
        nearest = self._domain.project(point)
        distance = float(np.linalg.norm(nearest - point))
        if distance > OUTSIDE * max(1.0, float(np.linalg.norm(point))):
            raise InvalidArgument(
                f"`x` must lie in {self._domain!r}, got {shown(point)}, which is {distance:.3g} away from it: give the "
                "solver the domain's bounds, project by `domain.project`, or answer without a call outside the domain"
            )
        return nearest
