"""Work on few of many variables: solve on these, look at all, take in those that would lower the function."""

from enum import Enum, auto

import numpy as np

from oracle_opt import (
    Answer,
    Cut,
    Domain,
    ExactSlopes,
    Exhausted,
    FeasibilityCut,
    InvalidArgument,
    Minorant,
    ObjectiveCut,
    PartialQuery,
    Query,
    QueryPointGenerator,
    Step,
)
from oracle_opt.arguments import instance, whole
from oracle_opt.arrays import Vector
from oracle_opt.cuts import Kind
from oracle_opt.generators.masters.cutting_plane_model import CuttingPlaneModel
from oracle_opt.generators.masters.face_cuts import (
    face_refusal,
    gains,
    numbers_in_extras,
    on_face,
    peaks,
    spread,
    without_extras,
)
from oracle_opt.generators.masters.polyhedra import polyhedral_refusal

SOLVED = 0.03  # all variables are looked at once the gap on the active ones is this share of that on all
HOPELESS = 1e-4  # a smaller share of the gap will not help: the cuts are no proof, one by one
PATIENCE = 50  # calls after which all variables are looked at all the same
RELEVANT = 0.1  # share of the gap that new variables have to promise together, unless nothing else is left to do
WORTH = 0.03  # share of the largest promise that a new variable has to make
SLACK = 10.0  # variables at 0 stay active if their slope is within so many gaps of the best one's
ROOM = 1 << 27  # bytes that the model of all variables may take, and as many the cuts that a new start is told
FEWEST, MOST = 10, 100  # limits on the number of cuts that a new start is told


class ActiveSetPhase(Enum):
    """Who asks, and for which slopes."""

    BEFORE = auto()  # nobody has asked yet
    FACE = auto()  # the inner method, on the active variables
    LOOK = auto()  # the outer one, for all slopes at the best point
    EXACT = auto()  # the inner method got stuck, so each further query asks for all slopes


class ActiveSet(QueryPointGenerator):
    """Another method, on those few of many variables that matter: column generation.

    The inner method works on the active variables alone, a face of the domain. Its queries are those of `PartialQuery`:
    an oracle that can, as `MKLOracle`, answers with exact slopes on the active variables and safe bounds of the others.
    Once the gap on the face is small beside that on the whole domain, the slopes of all variables are asked for at the
    best point. Those outside that would lower the function most become active; active ones that are 0 and far from
    helping are dropped. Then the inner method starts anew: it is told the cuts that are exact in all variables and, if
    it takes up no old cuts, begins at the best point.

    Every bound is one over all variables: those of single cuts, whose slopes are exact or too low, the oracle's own,
    and that of a cutting-plane model of the cuts with exact slopes. So it proves the optimum of the whole problem.

    For variables that are not negative and mostly 0 at the minimum: simplices, products of simplices, orthants; other
    domains are refused. It makes no sense where every variable is positive, as the weights of kernels under an lp norm
    with p > 1 are: all would become active.

    Parameters
    ----------
    generator : QueryPointGenerator
        The inner method, which serves as a pattern: a run makes one of the same parameters for itself. `NewtonBundle`
        is best where the oracle tells its curvature. Methods without a lower bound of their own are interrupted every
        50 calls.
    start : int
        Number of variables that are active at first, evenly spread, beside those that are not 0 at the starting point.
        From the domain's interior point, the default of `minimize`, a run starts at that of their face instead. With no
        more variables than that the method is the inner one.
    most : int
        At most so many variables become active at a time.

    Notes
    -----
    *Which become active.* The candidates promise at least 3 hundredths of what the best one does. Among them, the ones
    that promise more than their neighbors become active. Where variables stand in an order, as kernels by their width,
    neighbors promise nearly the same, and one of them is enough.

    *When to look.* The bound of one cut is looser than that of the inner method's model, so the face has to be solved
    to a smaller gap than that on all variables: to 3 hundredths. If nothing outside promises a tenth of that gap then,
    what is left is for the inner method to close, and ten times as much is asked of it. If it cannot, all further
    questions are for slopes exact in all variables, and the model of those cuts says which are missing.

    *Oracles that ignore* `PartialQuery` give slopes exact in all variables with every cut: looking costs no call then.

    References
    ----------
    Bixby, Gregory, Lustig, Marsten & Shanno (1992), "Very large-scale linear programming", for column generation with
    many columns at a time ("sifting"); Sonnenburg, Raetsch, Schaefer & Schoelkopf (2006), "Large scale multiple kernel
    learning", for kernels as columns.

    Examples
    --------
    A thousand kernels, of which few are ever added up:

    >>> import numpy as np
    >>> from oracle_opt import minimize
    >>> from oracle_opt.generators import ActiveSet, NewtonBundle
    >>> from oracle_opt.oracles import MKLOracle, RBFBank
    >>> X = np.random.default_rng(0).normal(size=(40, 5))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    >>> oracle = MKLOracle(RBFBank.from_quantiles(X, 1000), y, C=100.0)
    >>> result = minimize(oracle, ActiveSet(NewtonBundle(), start=20), rtol=1e-3)
    >>> result.success, bool(np.count_nonzero(result.point) < 20)
    (True, True)
    """

    needs_convexity = True
    reads_extras = False
    _phase = ActiveSetPhase.BEFORE

    def __init__(self, generator: QueryPointGenerator, start: int = 200, most: int = 200) -> None:
        self.generator = instance("generator", generator, QueryPointGenerator, "a generator such as NewtonBundle()")
        self.start = whole("start", start)
        self.most = whole("most", most)

    @property
    def takes(self) -> frozenset[Kind]:
        """The kinds of cuts of the inner method but feasibility cuts, and slopes that are exact on some variables."""
        return self.generator.takes - {FeasibilityCut} | {ExactSlopes}

    @property
    def needs(self) -> frozenset[type[Answer]]:
        """The kinds of answers that the inner method needs."""
        return self.generator.needs

    def refusal(self, domain: Domain) -> str | None:
        """Refuse domains without faces, what the inner method refuses, and needs of it that know no faces."""
        reason = face_refusal(domain) or self.generator.refusal(domain)
        if reason is not None:
            return reason
        for kind in sorted(self.needs, key=lambda kind: kind.__name__):
            if kind.on_face is Answer.on_face:
                return f"its {type(self.generator).__name__} needs {kind.words}, which are not told of some variables"
        return None

    def reset(self, domain: Domain, point: Vector) -> None:
        """Choose the first active variables."""
        self._domain = domain
        self._inner = type(self.generator)(**self.generator.parameters())
        self._active = spread(domain, self.start)
        by_default = self._active.size < domain.dimension and np.array_equal(point, domain.interior_point())
        self._start = None if by_default else point
        if not by_default:
            self._active = np.union1d(self._active, np.flatnonzero(point))
        self._model: CuttingPlaneModel | None = None
        if polyhedral_refusal(domain) is None:
            self._model = CuttingPlaneModel(domain, max(2 * FEWEST, min(10 * MOST, ROOM // (8 * domain.dimension))))
        self._best: ObjectiveCut | None = None
        self._exact: list[ObjectiveCut] = []  # the latest cuts for a new start
        self._lower = self._face_lower = -np.inf
        self._opening = np.inf
        self._minorant: Minorant | None = None
        self._weight = 0.0
        self._query: Query | None = None
        self._phase = ActiveSetPhase.BEFORE

    def ask(self) -> Query:
        """Return the inner method's question, or the one for all slopes at the best point."""
        if self._query is None:
            self._query = self._next()
        return self._query

    def tell(self, cut: Cut) -> Step:
        """Take up a cut; the inner method is told what it says on the face."""
        assert isinstance(cut, ObjectiveCut)  # the method takes no feasibility cuts
        best, self._query, self._minorant, self._weight = self._best, None, None, 0.0
        better = best is None or cut.upper < best.upper
        looked = self._phase is ActiveSetPhase.LOOK
        if best is None or better or (looked and np.array_equal(cut.point, best.point)):
            self._best = best = without_extras(cut)
        self._lower = max(self._lower, cut.lower_bound)
        exact = cut.answer(ExactSlopes) is None
        if exact or self._phase is ActiveSetPhase.BEFORE:
            self._exact = [*self._exact, cut][-max(FEWEST, min(MOST, ROOM // (16 * cut.point.size))) :]
            room = ROOM // (1 + 8 * numbers_in_extras(cut))  # so many of the latest keep what proves them
            if len(self._exact) > room:
                self._exact[-room - 1] = without_extras(self._exact[-room - 1])
        if exact and not self._is_whole():
            self._lower = max(self._lower, _minorant_of(cut).minimum(self._domain))
            if self._model is not None:
                self._model.add(cut)
                self._minorant, self._lower = self._model.minorant, max(self._lower, self._model.lower)
        if looked:
            self._phase = ActiveSetPhase.FACE
        elif self._phase is not ActiveSetPhase.BEFORE:
            self._calls += 1
            self._tell_inner(cut if self._is_whole() else on_face(cut, self._active))
            self._opening = min(self._opening, best.upper - self._face_lower) if self._calls == 1 else self._opening
            self._weight = self._inner.weight()
            if self._is_whole():
                self._minorant = self._inner.minorant()
        return Step.SERIOUS if better else Step.NULL

    def minorant(self) -> Minorant | None:
        """Return what the last cut proves with others: by the model or, with all variables active, the inner method."""
        return self._minorant

    def weight(self) -> float:
        """Weight of the last cut in the inner method; 0 if it was not told."""
        return self._weight

    def finish(self) -> None:
        """Let the inner method let go."""
        if self._phase is not ActiveSetPhase.BEFORE:
            self._inner.finish()

    def _is_whole(self) -> bool:
        """Whether all variables are active."""
        return self._active.size == self._domain.dimension

    def _begin(self) -> None:
        """Start the inner method on the face of the active variables, and tell it what is known there."""
        if self._best is not None:
            self._active = np.union1d(self._active, np.flatnonzero(self._best.point))
        face = self._domain.face(self._active)
        assert face is not None  # `refusal` refuses domains without faces
        self.finish()
        self._face = face
        if self._phase is ActiveSetPhase.BEFORE:
            self._phase = ActiveSetPhase.FACE
        self._ended: Exhausted | None = None
        self._last: Query | None = None
        self._calls, self._share, self._due = 0, SOLVED, PATIENCE
        self._face_lower, self._opening = -np.inf, np.inf
        self._entry = np.inf if self._best is None else self._best.upper
        at = self._start if self._best is None else self._best.point
        point = face.interior_point() if at is None else at[self._active]
        self._inner.reset(face, point)
        outside = np.ones(self._domain.dimension, dtype=bool)
        outside[self._active] = False
        try:
            for cut in self._exact:
                if not cut.point[outside].any():
                    self._tell_inner(on_face(cut, self._active))
        except InvalidArgument:  # a coroutine takes up no old cuts
            self._inner.reset(face, point)

    def _tell_inner(self, cut: ObjectiveCut) -> None:
        """Tell the inner method a cut on the face, and see what is proven there."""
        try:
            self._inner.tell(cut)
        except Exhausted as end:
            self._ended = end
        for proof in (self._inner.minorant(), _minorant_of(cut)):
            if proof is not None:
                self._face_lower = max(self._face_lower, proof.minimum(self._face))

    def _asked(self) -> Query | None:
        """The question of the inner method; `None` if it has none."""
        if self._ended is None:
            try:
                asked = self._inner.ask()
                return asked if isinstance(asked, Query) else Query(asked)
            except Exhausted as end:
                self._ended = end
        return None

    def _next(self) -> Query:
        """Decide what to ask: go on, look at all variables, or start anew on others."""
        if self._phase is ActiveSetPhase.BEFORE:
            self._begin()
        query, best = self._asked(), self._best
        if best is not None and not self._is_whole():
            gap = best.upper - self._face_lower
            stuck = query is None or (self._last is not None and query.repeats(self._last)) or self._share < HOPELESS
            solved = gap < np.inf and gap <= self._share * min(best.upper - self._lower, self._opening)
            if stuck or solved or self._calls >= self._due:
                if best.answer(ExactSlopes) is not None:
                    self._phase = ActiveSetPhase.LOOK
                    return Query(best.point)
                if self._exchange(best, stuck):
                    self._begin()
                    query = self._asked()
                elif stuck and self._phase is not ActiveSetPhase.EXACT:
                    self._phase = ActiveSetPhase.EXACT
                    self._begin()
                    query = self._asked()
                else:
                    self._share, self._due = 0.1 * self._share, self._calls + PATIENCE
        if query is None:
            assert self._ended is not None
            raise self._ended
        self._last = query
        point = np.zeros(self._domain.dimension)
        point[self._active] = query.point
        if self._phase is ActiveSetPhase.EXACT or self._is_whole():
            return Query(point, query.accuracy, query.wishes)
        return PartialQuery(point, query.accuracy, query.wishes, coordinates=self._active)

    def _exchange(self, best: ObjectiveCut, stuck: bool) -> bool:
        """Take in variables that promise to lower the function, and drop idle ones; `False` if there are none."""
        gap, gain = best.upper - self._lower, gains(self._domain, best.subgradient, self._active)
        of_active = gain[self._active]
        gain[self._active] = 0.0
        largest = float(gain.max())
        if largest > 0.0 and (stuck or largest > RELEVANT * gap):
            wanted = peaks(gain, WORTH * largest, self.most)
        else:  # by the cuts with exact slopes together
            least = None if self._model is None else self._model.minimum
            weights = np.zeros(gain.size) if least is None or not stuck else least.point.copy()
            weights[self._active] = 0.0
            wanted = peaks(weights, 0.0, self.most)
        # where nothing was gained since variables were dropped these may help
        if wanted.size and best.upper < self._entry and self._phase is not ActiveSetPhase.EXACT:
            self._active = self._active[(best.point[self._active] > 0.0) | (of_active > -SLACK * gap)]
        self._active = np.union1d(self._active, wanted)
        return bool(wanted.size)


def _minorant_of(cut: ObjectiveCut) -> Minorant:
    return Minorant(cut.constant, cut.subgradient)
