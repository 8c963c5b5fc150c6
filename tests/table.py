"""The table of generators for the conformance tests; that of problems with known optima is in `table_problems`.

A new generator joins by one line in `GENERATORS`. Which problems it runs on, and how close it must come, is data.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from table_nonsmooth import Problem

from oracle_opt import Answer, Eigenpairs, FeasibilityCut, Oracle, QueryPointGenerator
from oracle_opt.domains import Ball, Box, Domain, FreeSpace, NonnegativeOrthant, Polyhedron, ProductOfSimplices, Simplex
from oracle_opt.generators import (
    LBFGS,
    SPG,
    ActiveSet,
    AnalyticCenter,
    Ellipsoid,
    FixedPoint,
    FrankWolfe,
    Kelley,
    LevelSet,
    MirrorDescent,
    NewtonBundle,
    OptimalKelley,
    ProjectedGradient,
    ProximalBundle,
    QuasiNewton,
    ReducedGradient,
    SpectralBundle,
    Subgradient,
    TrustRegion,
)


@dataclass(frozen=True)
class Entry:
    """A generator, and what is expected of it: per kind of problem a gap (relative to max(1, |optimum|)) and calls.

    The first kind that the problem has decides; an infinite gap, or no kind, means that only the bounds are checked.
    What it cannot serve stands here as well: `needs` holds the domains it serves, after the words it has for them; none
    stands for all.
    """

    name: str
    make: Callable[[], QueryPointGenerator]
    reaches: tuple[tuple[str, float, int], ...] = ()
    needs: tuple[str | type[Domain], ...] = ()
    takes_feasibility_cuts: bool = True
    needs_answer: type[Answer] | None = None
    needs_faces: bool = False

    def __str__(self) -> str:
        return self.name

    @property
    def variant(self) -> bool:
        """Whether it is a class with other parameters: its name says which, after that of the class."""
        return " " in self.name

    def serves(self, problem: Problem) -> bool:
        """Whether it must run on a problem."""
        return self.refusal(problem.make()) is None

    def refusal(self, oracle: Oracle) -> str | None:
        """Words that the driver must refuse an oracle with; `None` where it must run."""
        if FeasibilityCut in oracle.gives and not self.takes_feasibility_cuts:
            return "it takes no feasibility cuts, and this oracle gives them"
        if self.needs_answer is not None and self.needs_answer not in oracle.gives:
            return f"it needs {self.needs_answer.words}, and this oracle gives none"
        if self.needs_faces and not isinstance(oracle.domain, ProductOfSimplices | NonnegativeOrthant):
            return "it needs a domain with faces: simplices or nonnegative variables"
        words, *served = self.needs or ("", Domain)
        return None if isinstance(oracle.domain, tuple(served)) else f"it needs {words}"


INTERIOR = (("hard", 1e-4, 600), ("any", 1e-6, 400))


# Methods that ask at the boundary of the outer model never ask a feasible point of a curved feasible set.
EXACT = (("curved", np.inf, 60), *INTERIOR)


# Kelley's linear programs jump from corner to corner where many smooth pieces meet.
CORNERS = (("smooth pieces", np.inf, 60), *EXACT)


CENTRAL = (("hard", 1e-3, 1200), ("any", 1e-5, 1000))


# With fewer cuts than variables no model is exact: only the bounds are promised.
CAPPED = (("hard", np.inf, 60), *EXACT)


SMOOTH = (("badly scaled", 1e-2, 1000), ("smooth", 1e-4, 1000))


STEEPEST = (("badly scaled", np.inf, 60), *SMOOTH)


LINEAR = ("a domain with linear constraints", Box, FreeSpace, NonnegativeOrthant, Polyhedron, ProductOfSimplices)


BOUNDS_ALONE = ("a domain of bounds alone, as Box or FreeSpace", Box, FreeSpace, NonnegativeOrthant)


METRICS = ("a domain that projects in diagonal metrics", *LINEAR[1:])


NO_CONSTRAINTS = ("a domain without constraints, as FreeSpace", FreeSpace)


ONE_SIMPLEX = ("a domain that is one simplex", Simplex)


SIMPLICES = ("a domain made of simplices", ProductOfSimplices)


# Most methods take feasibility cuts and need linear constraints, or take no feasibility cuts.
Linear = partial(Entry, needs=LINEAR)
Uncut = partial(Entry, takes_feasibility_cuts=False)
GENERATORS = [
    Uncut("active-set", lambda: ActiveSet(NewtonBundle(), start=2, most=2), EXACT, needs=ONE_SIMPLEX, needs_faces=True),
    Uncut("active-set of levels", lambda: ActiveSet(LevelSet(), start=1, most=1), EXACT, needs_faces=True),
    Linear("analytic-center", AnalyticCenter, INTERIOR),
    Linear(
        "analytic-center objective cuts",
        lambda: AnalyticCenter(epigraph=False, proximal=0.0),
        (("hard", np.inf, 60), *CENTRAL),
    ),
    Linear("analytic-center not proximal", lambda: AnalyticCenter(proximal=0.0), CENTRAL),
    Linear("analytic-center tuned accuracy", lambda: AnalyticCenter(tune_accuracy=True), INTERIOR),
    Linear("kelley", Kelley, CORNERS),
    Linear("kelley tuned accuracy", lambda: Kelley(tune_accuracy=True), CORNERS),
    Linear("kelley chebyshev", lambda: Kelley(chebyshev=True), CENTRAL),
    Linear("kelley 60 cuts", lambda: Kelley(max_cuts=60)),
    Linear("level-set", LevelSet, EXACT),
    Linear("level-set classic", lambda: LevelSet(adaptive=False), EXACT),
    Linear("level-set euclidean", lambda: LevelSet(entropic=False), EXACT),
    Linear("level-set tuned accuracy", lambda: LevelSet(tune_accuracy=True), EXACT),
    Linear("level-set interior", lambda: LevelSet(interior=True), INTERIOR),
    Linear("level-set 40 cuts", lambda: LevelSet(max_cuts=40), CAPPED),
    Uncut("newton-bundle", NewtonBundle, EXACT, needs=ONE_SIMPLEX),
    Uncut(
        "optimal-kelley",
        lambda: OptimalKelley(planned=60),
        needs=("a Ball, or FreeSpace with a radius", Ball, FreeSpace),
    ),
    Linear("proximal-bundle", ProximalBundle, EXACT),
    Linear("proximal-bundle 40 cuts", lambda: ProximalBundle(max_cuts=40), CAPPED),
    Linear("trust-region", TrustRegion, EXACT),
    Linear("trust-region of boxes", lambda: TrustRegion("box"), EXACT),
    Linear("trust-region 40 cuts", lambda: TrustRegion(max_cuts=40), CAPPED),
    Entry("ellipsoid", Ellipsoid, (("hard", np.inf, 60), ("any", 1e-6, 2000))),
    Entry("ellipsoid central", lambda: Ellipsoid(deep=False), (("hard", np.inf, 60), ("any", 1e-6, 2500))),
    Uncut("spectral-bundle", SpectralBundle, (("any", 1e-9, 25),), needs=NO_CONSTRAINTS, needs_answer=Eigenpairs),
    Uncut(
        "spectral-bundle of order 3",
        lambda: SpectralBundle(min_order=2, max_order=3),
        (("any", 1e-5, 100),),
        needs=NO_CONSTRAINTS,
        needs_answer=Eigenpairs,
    ),
    Uncut("spg", SPG, SMOOTH),
    Uncut("spg tuned accuracy", lambda: SPG(tune_accuracy=True), SMOOTH),
    Uncut("spg euclidean", lambda: SPG(entropic=False), SMOOTH),
    Uncut("spg lengths alone", lambda: SPG(nonmonotone=False), STEEPEST),
    Uncut("spg averages alone", lambda: SPG(spectral=False), STEEPEST),
    Entry(
        "subgradient", Subgradient, (("feasibility", np.inf, 60), ("badly scaled", np.inf, 60), ("bounded", 0.15, 500))
    ),
    Entry("subgradient polyak", lambda: Subgradient(polyak=True)),
    Uncut("projected-gradient", ProjectedGradient, STEEPEST),
    Uncut("projected-gradient 1e-6", lambda: ProjectedGradient(accuracy=1e-6), STEEPEST),
    Uncut(
        "mirror-descent",
        MirrorDescent,
        (("feasibility", np.inf, 60), ("smooth", 0.05, 1000), ("bounded", 0.15, 1000)),
        needs=SIMPLICES,
    ),
    Uncut("reduced-gradient", ReducedGradient, (("smooth simplex", 1e-4, 1000),), needs=ONE_SIMPLEX),
    Uncut("quasi-newton", QuasiNewton, SMOOTH, needs=METRICS),
    Uncut("lbfgs", LBFGS, SMOOTH, needs=BOUNDS_ALONE),
    Uncut("frank-wolfe", FrankWolfe, STEEPEST),
    Uncut("frank-wolfe away", lambda: FrankWolfe("away"), STEEPEST),
    Uncut("frank-wolfe blended", lambda: FrankWolfe("blended-pairwise"), STEEPEST),
    Uncut("frank-wolfe classic", lambda: FrankWolfe("classic")),
    Uncut("frank-wolfe adaptive", lambda: FrankWolfe(rule="adaptive"), STEEPEST),
    Uncut("frank-wolfe open-loop", lambda: FrankWolfe("classic", "open-loop")),
    Uncut("fixed-point", FixedPoint),
]


def classes() -> dict[str, Entry]:
    """The first entry of each class that serves whole domains, by the name of the class."""
    found: dict[str, Entry] = {}
    for entry in GENERATORS:
        if not entry.needs_faces:
            found.setdefault(type(entry.make()).__name__, entry)
    return found


def serving(*met: str | type[Domain]) -> set[str]:
    """Names of the classes that need nothing of a domain but what is met: words of needs, or a class of domains."""
    return {name for name, entry in classes().items() if not entry.needs or set(met) & set(entry.needs)}


def sampled(entries: list[Entry]) -> list[Any]:
    """The generators as parameters of a test: of those with an option, which differ in little, one in four is run."""
    return [pytest.param(entry, marks=pytest.mark.campaign(4)) if entry.variant else entry for entry in entries]
