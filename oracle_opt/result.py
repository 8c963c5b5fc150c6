"""What a run gives back: its status and its result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import ROUND_UP, Context
from enum import Enum
from html import escape
from math import isfinite, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from oracle_opt.arrays import Vector
from oracle_opt.bounds import BoundTracker, cut_rounding
from oracle_opt.clocks import kind_of_seconds
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.errors import InvalidArgument, InvalidCertificate
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.history import History, HistoryRecorder

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from oracle_opt import Certificate
    from oracle_opt.proof.run_proof import RunProof


LARGEST = 5  # entries of the point that are printed
ROUNDED = 1e-9  # of the size of terms: bounds that cross by less are likely to be rounded


class Status(Enum):
    """Why a run stopped; the value is the sentence to print."""

    CONVERGED = "The proven duality gap is within the tolerance."
    GRADIENT = "The norm of the projected gradient is within `gtol`."
    MAX_CALLS = "The limit of oracle calls was reached."
    MAX_SECONDS = "The time limit was reached."
    EXHAUSTED = "The generator has nothing left to ask."
    EMPTY = "The localization set is empty: no point of the domain satisfies every cut."
    STALLED = "The run makes no progress."
    CONTRADICTION = (
        "Two answers, or the bounds, contradict each other: the oracle's cuts are not minorants of one convex function "
        "on one convex set."
    )
    REFUTED = "What the oracle states does not hold against the data of the problem: nothing is proven."
    OUTSIDE = (
        "A point outside the stated radius of the domain has a value below the bound for all points within it: no "
        "minimizer lies there, and nothing is proven. State a larger radius."
    )
    EDGE = "The gap has closed within what is promised of a minimizer, and the best point lies at the edge of that."
    UNBOUNDED = (
        "The minimum is -inf: from the best point the objective falls without end in a direction that violates no "
        "constraint, which is proven."
    )
    STOPPED = "The callback asked to stop."
    INTERRUPTED = "Interrupted from the keyboard."
    FAILED = "An exception ended the run."

    @property
    def success(self) -> bool:
        """Whether the run reached what was asked of it."""
        return self in (Status.CONVERGED, Status.GRADIENT)

    @property
    def disproved(self) -> bool:
        """Whether something that was stated turned out false, so that the bounds prove nothing."""
        return self in (Status.CONTRADICTION, Status.REFUTED, Status.OUTSIDE, Status.UNBOUNDED)


class Ended(Exception):
    """A run is over: raised by what the driver calls, and by nothing of a user's."""

    def __init__(self, status: Status, reason: str = "") -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


@dataclass(frozen=True, eq=False)
class Result:
    """Outcome of `minimize`.

    ``print(result)`` shows it in thirteen lines. `x`, `fun` and `nfev` are other names of `point`, `upper_bound` and
    `n_calls`: those of scipy's results, where `success` and `message` mean the same as here.

    Attributes
    ----------
    point : ndarray of shape (n,) or None
        Best point seen; `None` if no objective cut was seen.
    cut : ObjectiveCut or None
        The oracle's answer there, with its `extras`.
    upper_bound, lower_bound : float
        The minimum is proven to lie between them.
    gap, relative_gap : float
        Their difference, and the same over ``max(1e-12, abs(upper_bound))``.
    status : Status
        Why the run stopped.
    success : bool
        Whether the run reached what was asked of it, and nothing casts doubt on that: see `warnings`.
    message : str
        The same in sentences, with the gap, what was wanted, and the warnings.
    n_calls, n_serious : int
        Oracle calls, and those that were serious steps; also on smaller sets, of which the history has no rows.
    seconds : float
        Time that `minimize` took from its call to this result, whatever it was spent on.
    oracle_seconds, generator_seconds : float
        Time spent in each; bounds, journal, callbacks and log are charged to neither. Calls that were replayed from a
        journal count with the time they took when they were made, and so their sum may be above `seconds`.
    n_replayed : int
        How many of the calls were replayed from a journal.
    memory : int or None
        Largest resident memory in bytes that the process has had from its start to the end of the run, its worker
        processes not included; None where the system does not tell, as on Windows.
    memory_growth : int or None
        How much of it came during the run: 0 if the process had held as much before.
    history : History
        One row a call.
    warnings : tuple of str
        What casts doubt on the gap: that the best point lies at the edge of a set, such as the ball of a `FreeSpace`,
        in which a minimizer is only promised to lie.
    generator : str
        The generator that ran, with its parameters.
    choice : str
        Why it was chosen, and which others went on after how many answers, in words; none if it was given.
    proof : RunProof or None
        What `certificate` is written from.
    checks : tuple of str
        What was checked before success was stated, in sentences: see `check` and `probes` of `minimize`.
    n_probes : int
        Calls that were probes; they are none of `n_calls`.
    violation : float
        What the best point misses of the constraint that it misses most, in the numbers of that constraint; 0 where it
        is feasible but for rounding, where the oracle cannot tell (`Oracle.separation`), and where the gap was open.
    price : float
        What that may be worth: the minimum may be so much above the upper bound. Success needs the gap and the price
        within the tolerance.
    clock : str
        What `oracle_seconds` and `generator_seconds` were read from, see `minimize`; `seconds` are elapsed.
    maximizes : bool
        Whether the problem that was modeled is a maximization: see `value` and `bound`.
    x : ndarray of shape (n,) or None
        The same as `point`.
    fun : float
        The same as `upper_bound`: the best value seen plus its stated error.
    nfev : int
        The same as `n_calls`.
    """

    point: Vector | None
    cut: ObjectiveCut | None
    upper_bound: float
    lower_bound: float
    gap: float
    relative_gap: float
    status: Status
    success: bool
    message: str
    n_calls: int
    n_serious: int
    oracle_seconds: float
    generator_seconds: float
    history: History = field(repr=False)
    warnings: tuple[str, ...] = ()
    generator: str = ""
    choice: str = ""
    seconds: float = nan
    n_replayed: int = 0
    memory: int | None = None
    memory_growth: int | None = None
    proof: RunProof | None = field(default=None, repr=False)
    checks: tuple[str, ...] = ()
    n_probes: int = 0
    clock: str = "elapsed"
    violation: float = 0.0
    price: float = 0.0
    maximizes: bool = False

    @property
    def x(self) -> Vector | None:
        """Best point seen, under scipy's name."""
        return self.point

    @property
    def fun(self) -> float:
        """Best value seen plus its stated error, which is the upper bound, under scipy's name."""
        return self.upper_bound

    @property
    def value(self) -> float:
        """Best value seen, of the problem as it was modeled: minus the upper bound if that is a maximization."""
        return -self.upper_bound if self.maximizes else self.upper_bound

    @property
    def bound(self) -> float:
        """What is proven of the optimum of the problem as it was modeled: no value is better."""
        return -self.lower_bound if self.maximizes else self.lower_bound

    def value_of(self, what: Any) -> Any:
        """Value at the best point of a variable of the cvxpy problem that was modeled, or of an expression of them.

        Of a constraint it is the multiplier, with cvxpy's sign, from the proof of the lower bound.

        Parameters
        ----------
        what : cvxpy.Expression, cvxpy.Constraint or str
            A variable, by itself or by its name, an expression, or a constraint of the problem. Values that are saved
            in the problem stay.

        Returns
        -------
        ndarray or float
            As cvxpy gives it.

        Raises
        ------
        InvalidArgument
            No point was seen, the oracle was not made by `from_cvxpy`, or the problem has no such variable.
        """
        variables = None if self.proof is None else getattr(self.proof.oracle, "variables", None)
        if self.point is None or variables is None:
            raise InvalidArgument(
                "`value_of` needs a point, and an oracle that ConicOracle.from_cvxpy made, not pickled"
            )
        if hasattr(what, "dual_value"):
            return self.proof.oracle.dual_value(what, self)  # type: ignore[union-attr]
        found = variables(self.point)
        used = [] if isinstance(what, str) else what.variables()
        lacking = {what} - found.keys() if isinstance(what, str) else {one.name() for one in used} - found.keys()
        if lacking:
            raise InvalidArgument(
                f"`what` must be of the variables {', '.join(found)}, got {', '.join(sorted(lacking))}"
            )
        if isinstance(what, str):
            return found[what]
        saved = [one.value for one in used]
        try:
            for one in used:
                one.save_value(found[one.name()])
            return what.value
        finally:
            for one, before in zip(used, saved, strict=True):
                one.save_value(before)

    def prices(self) -> Any:
        """Prices of the rows of a two-stage program, from the proof of the lower bound: see `BendersOracle.prices`.

        Returns
        -------
        DataFrame
            By the names of the rows, with the signs of linopy and Pyomo.

        Raises
        ------
        InvalidArgument
            The oracle is of another kind, or the result was pickled.
        """
        prices = None if self.proof is None else getattr(self.proof.oracle, "prices", None)
        if prices is None:
            raise InvalidArgument("`prices` needs the result of a run on a BendersOracle, not pickled")
        return prices(self)

    @property
    def nfev(self) -> int:
        """Number of oracle calls, under scipy's name."""
        return self.n_calls

    def certificate(self) -> Certificate:
        """Write down what the run proved, so that others can check it: see docs/certificates.md.

        The cuts that the best lower bound is made of were kept during the run; the certificate computes their minimum
        over the domain once more, exactly.

        Returns
        -------
        Certificate
            ``certificate.save("run.jsonl")`` writes the file that ``oracle-opt verify run.jsonl`` checks.

        Raises
        ------
        InvalidCertificate
            Nothing was proven: the oracle is not convex, or the run has no finite upper or lower bound; the domain
            cannot be described in a certificate; or the answers contradict each other.

        Examples
        --------
        >>> from oracle_opt import Box, FunctionOracle, minimize
        >>> from oracle_opt.generators import Kelley
        >>> oracle = FunctionOracle(lambda z: (abs(z).sum(), np.sign(z)), Box([-1.0], [2.0]), name="size")
        >>> minimize(oracle, Kelley()).certificate().verify().holds
        True
        """
        if self.proof is None:
            raise InvalidCertificate("there is nothing to certify: this result was not made by `minimize`")
        if self.status.disproved:
            raise InvalidCertificate(f"there is nothing to certify: {self.message}")
        facts: dict[str, object] = {"generator": self.generator, "status": self.status.name, "calls": self.n_calls}
        if self.proof.relaxation:
            facts["relaxation"] = self.proof.relaxation
        made = self.proof.certificate(self.cut, self.lower_bound, self.upper_bound, facts)
        if made.value is None:
            raise InvalidCertificate(
                "there is no upper bound to certify: no feasible point with a finite value was seen"
            )
        if not isfinite(made.lower):
            raise InvalidCertificate("there is no finite lower bound to certify: none was proven")
        return made

    def __repr__(self) -> str:
        bounds = f"upper_bound={self.upper_bound:.10g}, lower_bound={self.lower_bound:.10g}"
        return f"Result({self.status.name}, {bounds}, relative_gap={self.relative_gap:.2g}, n_calls={self.n_calls})"

    def __str__(self) -> str:
        return "\n".join(f"{name + ':':<14} {words}" for name, words in self._lines().items())

    def _lines(self) -> dict[str, str]:
        """The rows of the printed text, by name."""
        extras = {} if self.cut is None else self.cut.extras
        inner = self.history.inner_steps.sum()
        return {
            "status": self.status.name,
            "message": self.message,
            "generator": self.generator,
            **({"maximum": f"at least {self.value:.10g}, at most {self.bound:.10g}"} if self.maximizes else {}),
            "upper bound": f"{self.upper_bound:.10g}",
            "lower bound": f"{self.lower_bound:.10g}",
            "gap": f"{self.gap:.3g}",
            "relative gap": f"{self.relative_gap:.3g}",
            **({"price": f"{self.price:.3g}, of constraints missed by {self.violation:.3g}"} if self.violation else {}),
            "oracle calls": f"{self.n_calls}, of which {self.n_serious} were serious steps",
            **({"inner steps": f"{inner}, on problems that the oracle hands over"} if inner else {}),
            "checked": " ".join(self.checks) or "nothing besides",
            "seconds": self._times(),
            "memory": self._memory_in_words(),
            "point": "none seen" if self.point is None else _point_in_words(self.point),
            "extras": ", ".join(map(str, extras)) or "none",
        }

    def _times(self) -> str:
        replayed = f"; those of {self.n_replayed} calls are from the journal" if self.n_replayed else ""
        kind = "" if self.clock == "elapsed" else f"{kind_of_seconds([self.clock])} "
        parts = f"{kind}{self.oracle_seconds:.3g} in the oracle, {self.generator_seconds:.3g} in the generator"
        return f"{self.seconds:.3g} in all, {parts}{replayed}"

    def _memory_in_words(self) -> str:
        if self.memory is None:
            return "not told by this system"
        growth = (
            "" if self.memory_growth is None else f", of which {self.memory_growth / 2**20:.3g} MiB came in this run"
        )
        return f"{self.memory / 2**20:.4g} MiB at most in this process{growth}"

    def plot(self, ax: Axes | None = None, label: str | None = None, *, x: str = "calls") -> Axes:
        """Draw the proven relative gap against oracle calls or seconds, on logarithmic axes.

        Several results may be drawn on the same axes: each has a color, dashes and a marker of its own. See
        `oracle_opt.study.plot_runs` for both axes side by side, and for several runs of each method.

        `ax` are axes of Matplotlib, by default of a new figure, which are returned; `label` is the name of the curve in
        the legend. `x` is 'calls' or 'seconds': those in oracle and generator, up to and with each call.
        """
        from oracle_opt.line_styles import plot_gap  # only here: few runs are drawn

        return plot_gap(self.history, ax, label, x, self.clock)

    def _repr_html_(self) -> str:
        """Show a small table in a notebook."""
        cells = "".join(f"<tr><th>{name}</th><td>{escape(words)}</td></tr>" for name, words in self._lines().items())
        return f"<table>{cells}</table>"


def _point_in_words(point: Vector) -> str:
    """Say how many entries there are, how many are not zero, and which are the largest."""
    n_nonzero = int(np.count_nonzero(point))
    if not n_nonzero:
        return f"{point.size} entries, all zero"
    size = f"{point.size} entries" if n_nonzero == point.size else f"{point.size} entries, {n_nonzero} not zero"
    largest = np.argsort(-np.abs(point), kind="stable")[:LARGEST]
    entries = ", ".join(f"[{j}] {point[j]:.4g}" for j in largest if point[j])
    return f"{size}; the largest: {entries}" if n_nonzero > LARGEST else f"{size}: {entries}"


def summary(
    status: Status, reason: str, promise: str, bounds: BoundTracker, recorder: HistoryRecorder, wanted: float
) -> str:
    """Sentences on a run."""
    whose = "Its" if status is Status.EXHAUSTED else "The"
    if status is Status.UNBOUNDED:
        return f"{status.value} The direction: {reason}."
    said = [f"{whose} reason: {reason.removesuffix('.')}."] if reason else []
    if recorder.n_before:
        said.append(f"{recorder.n_before} of the calls were on smaller sets, see `Oracle.wider`.")
    if status is Status.EMPTY and promise:
        said.append(
            f"This holds within what is promised of a minimizer, {promise}; if it may lie farther out, state more."
        )
    return " ".join([status.value, *said, *_of_gap(status, bounds, recorder, wanted), *bounds.warnings()])


def named(generator: QueryPointGenerator) -> str:
    """The generator with its parameters; its class alone where its own words cannot be had."""
    try:
        return repr(generator)
    except Exception:  # a run is not lost because a user's generator does not keep a parameter under its name
        return type(generator).__name__


def _of_gap(status: Status, bounds: BoundTracker, recorder: HistoryRecorder, wanted: float) -> Iterator[str]:
    """Sentences on the gap."""
    if status is Status.CONTRADICTION:
        yield from _likely(bounds)
        yield bounds.conflict or f"The lower bound is {bounds.lower:.10g}, the upper bound {bounds.upper:.10g}."
        return
    if bounds.incumbent is None:
        if recorder.n_calls:
            yield "No feasible point was seen."
        return
    stuck = status is Status.STALLED and recorder.ends_infinite
    if stuck:
        yield "Instead of +inf answer by a `FeasibilityCut`, or pass FunctionOracle `constraints` of what has to hold."
    if not isfinite(bounds.lower):
        yield "No lower bound was proven."
        return
    gap, rounding = max(bounds.gap, 0.0), bounds.rounding
    size = f"The gap is {gap:.3g}, relative {bounds.relative_gap:.3g}"
    if status is Status.CONVERGED:
        yield (
            f"{size}; {wanted:.3g} was wanted."
            if gap <= wanted
            else f"{size}, and all of it rounding at a minimum of 0: values are known to {bounds.resolution:.3g}."
        )
        return
    yield f"{size}; {wanted:.3g} was wanted."
    if bounds.price > 0:
        yield (
            f"The best point misses a constraint by {bounds.violation:.3g}, within its tolerance, and the minimum may "
            f"be {bounds.price:.3g} higher for that: state less tolerance, or scale the problem."
        )
    error = bounds.incumbent.error
    if error > wanted:
        yield (
            f"The oracle states its value at the best point to {error:.3g} only: no more calls, but a more exact "
            "oracle, such as one with numbers in double precision, closes such a gap."
        )
    if status in (Status.STALLED, Status.EXHAUSTED) and gap > wanted and not stuck:
        if gap <= 4.0 * rounding:
            yield f"Of the lower bound {rounding:.3g} was taken off for rounding: no run can prove much less."
        yield f"If that is enough, pass `atol={_above(gap):.1g}`; else scale the problem, or try another generator."


def _likely(bounds: BoundTracker) -> Iterator[str]:
    """Likely causes of a contradiction, the likeliest first, and the check that finds each."""
    best = bounds.incumbent
    size = 0.0 if best is None else cut_rounding(best.point, best.value, best.subgradient)[1]
    sign = (
        "a subgradient of the wrong sign or with a wrong entry, a function or constraint that is not convex, or one "
        "that is maximized (its negative is to be minimized)"
    )
    rounding = f"the rounding of values that are sums of terms of size {size:.3g}"
    rounded = not bounds.conflict and 0.0 < bounds.lower - bounds.upper <= ROUNDED * size
    first, second = (rounding, sign) if rounded else (sign, rounding)
    yield f"The likeliest cause is {first}; else {second}. `oracle_opt.testing.check_oracle` finds it by name."


def _above(number: float) -> float:
    """Round up to one digit."""
    return float(Context(prec=1, rounding=ROUND_UP).create_decimal_from_float(number))
