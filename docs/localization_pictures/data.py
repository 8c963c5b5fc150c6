"""A run in two variables as data for pictures: cuts, what they leave, points and bounds, call by call."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from localization_pictures.convex_polygons import Window
from oracle_opt.words import one_line

Point = tuple[float, float]


@dataclass(frozen=True, eq=False)
class CutLine:
    """The half-plane ``normal @ z <= offset`` that a cut leaves, and its edge.

    Attributes
    ----------
    call : int
        The call that was answered with this cut: 1, 2, ...
    kind : str
        'objective' or 'feasibility'.
    normal : pair of float
    offset : float
        Of an objective cut ``upper bound - value + subgradient @ point``, so it falls with the upper bound.
    ends : tuple of two points, or empty
        The part of the edge that lies in the window.
    """

    __repr__ = one_line

    call: int
    kind: str
    normal: Point
    offset: float
    ends: tuple[Point, ...]


@dataclass(frozen=True, eq=False)
class LocalizationStep:
    """What is known after one oracle call.

    Attributes
    ----------
    call : int
        1, 2, ...
    step : str
        'serious', 'null' or 'feasibility'.
    point : pair of float
        The query point of this call.
    next_point : pair of float or None
        The one asked next, for example the center of the set; `None` after the last call.
    center : pair of float or None
        Query point of the last serious step.
    best : pair of float or None
        The point of the best value so far.
    upper_bound, lower_bound : float or None
        Best so far; `None` while there is none.
    lines : tuple of CutLine
        Of all cuts so far.
    polygon : tuple of points
        Corners of the localization set in order; two are a segment. None are left if, in exact arithmetic, the oracle's
        cuts contradict each other.
    share : float
        Its area over that of the domain.
    """

    __repr__ = one_line

    call: int
    step: str
    point: Point
    next_point: Point | None
    center: Point | None
    best: Point | None
    upper_bound: float | None
    lower_bound: float | None
    lines: tuple[CutLine, ...]
    polygon: tuple[Point, ...]
    share: float


@dataclass(frozen=True, eq=False)
class Localization:
    """A run in two variables, call by call, as data for pictures.

    Attributes
    ----------
    domain : tuple of points
        Corners of the set in which the domain promises a minimizer.
    window : tuple of float
        What to show: left, right, bottom, top.
    points : tuple of points
        All query points of the run, in order.
    steps : tuple of LocalizationStep
        One for each of the calls asked for.
    contours : tuple of (float, tuple of points)
        Lines on which the function, or the model of all cuts, has a value.
    of_model : bool
        Whether the contour lines are those of the model.
    """

    __repr__ = one_line

    domain: tuple[Point, ...]
    window: Window
    points: tuple[Point, ...]
    steps: tuple[LocalizationStep, ...]
    contours: tuple[tuple[float, tuple[Point, ...]], ...]
    of_model: bool

    def as_dict(self) -> dict[str, Any]:
        """Return the same as dictionaries, tuples, numbers, texts and None, which `json.dumps` takes."""
        return asdict(self)
