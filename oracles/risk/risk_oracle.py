"""Empirical risk: the mean of a convex loss of the scores of data."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from oracle_opt.arguments import finite, floats, one_of, real, sparse_matrix
from oracle_opt.arrays import Vector, digest
from oracle_opt.cuts import ObjectiveCut, Query
from oracle_opt.domains import Domain, FreeSpace
from oracle_opt.domains.domain import checked_domain
from oracle_opt.errors import InvalidArgument, Refuted
from oracle_opt.oracle import Oracle
from oracle_opt.oracles.risk import row_risks
from oracle_opt.oracles.risk.pair_risk import PairRisk
from oracle_opt.proof.affine_excess import affine_excess
from oracle_opt.proof.claim import Bound, ClaimKind, CutClaim, ValueClaim, missing
from oracle_opt.proof.enclosure import Enclosure
from oracle_opt.proof.floats import Floats
from oracle_opt.proof.rationals import Fractions
from oracle_opt.proof.witness_numbers import number, numbers
from oracle_opt.words import shown

KINDS: dict[str, type[row_risks.RowRisk] | type[PairRisk]] = {
    "hinge": row_risks.HingeRisk,
    "quantile": row_risks.QuantileRisk,
    "expectile": row_risks.ExpectileRisk,
    "huber": row_risks.HuberRisk,
    "logistic": row_risks.LogisticRisk,
    "auc": PairRisk,
    "multiclass": row_risks.MulticlassRisk,
}


class RiskOracle(Oracle):
    """``f(w) = mean of loss(y_i, x_i @ w)`` over the rows of data, convex, with cuts that are proven.

    With the residual ``r = y - s`` of a score ``s = x @ w`` the losses are:

    ============== ============================================================== ==================
    kind           loss                                                           y
    ============== ============================================================== ==================
    ``hinge``      ``max(0, 1 - y s)``                                            two classes
    ``logistic``   ``log(1 + exp(-y s))``                                         two classes
    ``auc``        ``max(0, 1 - s_p + s_n)``, mean over all pairs of a positive   two classes
                   and a negative row, by sorting
    ``multiclass`` ``max_k (1{k != y} + s_k) - s_y``                              two classes or more
    ``quantile``   ``level r`` if r > 0, else ``(level - 1) r``                   real numbers
    ``expectile``  ``level r**2`` if r > 0, else ``(1 - level) r**2``             real numbers
    ``huber``      ``r**2 / 2`` if ``abs(r) <= width``, else                      real numbers
                   ``width abs(r) - width**2 / 2``
    ============== ============================================================== ==================

    Of these, ``auc`` is from [1]_, ``multiclass`` from [2]_, ``quantile`` from [3]_ and ``expectile`` from [4]_.

    Of two classes the larger in sorted order is +1, the positive one. There is no intercept: append a column of ones.

    The witness of a cut is `row_weights`, the slopes of the losses by the scores, before sample weights. A certificate
    recomputes the cut from these and the data, by the conjugate of the loss; logarithms and exponentials are enclosed.
    For ``auc`` they count the pairs of positive loss of each row, with a minus sign for positive rows.

    Parameters
    ----------
    kind : str
        One of the losses above.
    X : array_like or sparse matrix of shape (m, n)
        Data, finite. It is copied, as float64; sparse ones by rows.
    y : array_like of shape (m,)
        Labels, of any type that sorts, or targets.
    level : float, optional
        Of ``quantile`` and ``expectile``, strictly between 0 and 1. Default 0.5.
    width : float, optional
        Of ``huber``, positive, in the unit of y. Default 1.
    sample_weight : array_like of shape (m,), optional
        Not negative; f is the weighted mean. The weight of a pair is the product of those of its rows. Default: all 1.
    domain : Domain, optional
        Of w, dimension n; for ``multiclass`` w is a matrix of shape (n, K) in C order, dimension n K. Default: the
        whole space, where the only bound is 0. Others need a promise, ``FreeSpace(n, radius=10)`` say, or a box.

    Attributes
    ----------
    classes : ndarray of shape (K,) or None
        The labels in sorted order; None for real targets.
    n_features : int
        n.

    Raises
    ------
    InvalidArgument
        Data that are not finite or do not fit each other, one class alone, arguments that the kind has not.

    References
    ----------
    .. [1] Joachims (2005), "A support vector method for multivariate performance measures", ICML 22:377-384.
    .. [2] Crammer, Singer (2001), "On the algorithmic implementation of multiclass kernel-based vector machines", JMLR
       2:265-292.
    .. [3] Koenker, Bassett (1978), "Regression quantiles", Econometrica 46:33-50.
    .. [4] Newey, Powell (1987), "Asymmetric least squares estimation and testing", Econometrica 55:819-847.

    Examples
    --------
    A linear rule that ranks all positive rows above all negative ones, by 1 at least:

    >>> import numpy as np
    >>> from oracle_opt import Box, minimize
    >>> from oracle_opt.generators import LevelSet
    >>> from oracle_opt.oracles import RiskOracle
    >>> X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]]), ["no", "no", "yes", "yes"]
    >>> oracle = RiskOracle("auc", X, y, domain=Box([-2, -2], [2, 2]))
    >>> result = minimize(oracle, LevelSet(), atol=1e-6)
    >>> round(float(result.upper_bound), 5)
    0.0
    """

    stateless = True
    witness = ("row_weights",)

    def __init__(
        self,
        kind: str,
        X: Any,
        y: ArrayLike,
        *,
        level: float | None = None,
        width: float | None = None,
        sample_weight: ArrayLike | None = None,
        domain: Domain | None = None,
    ) -> None:
        self.kind = one_of("kind", kind, KINDS)
        of_kind = KINDS[self.kind]
        parameters = {}
        for name, given, default in (("level", level, 0.5), ("width", width, 1.0)):
            if name in of_kind.takes:
                below = 1.0 if name == "level" else np.inf
                parameters[name] = real(name, default if given is None else given, above=0.0, below=below)
            elif given is not None:
                those = " and ".join(repr(one) for one, made in KINDS.items() if name in made.takes)
                raise InvalidArgument(f"`{name}` is for {those}, not for {self.kind!r}, got {shown(given)}")
        self.X = _data(X)
        self._transposed = self.X.T.tocsr() if sparse.issparse(self.X) else self.X.T  # by rows it is twice as fast
        m, self.n_features = self.X.shape
        self.classes: NDArray[Any] | None = None
        weights = _weights(sample_weight, m)
        targets: NDArray[Any]
        if of_kind.labels:
            self.classes, places = _labels(self.kind, y, m, of_kind.labels)
            if self.kind == "auc" and (np.bincount(places, weights) == 0).any():
                raise InvalidArgument("`sample_weight` must be positive somewhere in each class for 'auc'")
            targets = 2.0 * places - 1.0 if of_kind.labels == 2 else places
        else:
            targets = finite("y", y, (m,), "one target for each row of `X`")
        self._risk = of_kind(targets, weights, **parameters)
        self.polyhedral = of_kind.polyhedral
        self._columns = () if self.classes is None or of_kind.labels == 2 else (len(self.classes),)
        dimension = int(np.prod((self.n_features, *self._columns)))
        whose = "one coordinate for each column of `X`" + (" and each class" if self._columns else "")
        self.domain = checked_domain(FreeSpace(dimension, np.inf) if domain is None else domain, dimension, whose)

    def scores(self, w: ArrayLike) -> NDArray[np.float64]:
        """``X @ w``.

        Parameters
        ----------
        w : array_like of shape (dimension,)
            A point.

        Returns
        -------
        ndarray of shape (m,), for multiclass (m, K)
            A score for each row, and for each class in the order of `classes`.
        """
        point = finite("w", w, (self.domain.dimension,), "a point of the domain")
        made: NDArray[np.float64] = self.X @ point.reshape(self.n_features, *self._columns)
        return made

    def query(self, query: Query) -> ObjectiveCut:
        """Value and slope, exact up to rounding, with the bound 0 of every loss.

        Returns
        -------
        ObjectiveCut
            Its `extras`: `row_weights`, ndarray of shape (m,), for multiclass (m, K).
        """
        value, witness, weights = self._risk.at(self.scores(query.point))
        slope = (self._transposed @ weights).ravel()
        return ObjectiveCut(query.point, value, slope, lower_bound=0.0, extras={"row_weights": witness})

    @np.errstate(all="ignore")
    def prove_cut(self, claim: CutClaim, exact: bool = False) -> Bound | None:
        """Prove a cut by the conjugate of the loss at the row weights of its witness; the `claim` is one of those.

        With `exact` it is counted in fractions. See `Oracle.prove_cut`.
        """
        slope = numbers("slope of the claim", claim.slope, self.domain.dimension)
        if claim.kind is ClaimKind.BOUND and not slope.any():
            return max(number("constant of the claim", claim.constant), 0.0)
        if claim.kind is not ClaimKind.MINORANT:
            raise Refuted(f"a risk has neither half-spaces nor summands, and the claim is a {claim.kind.value}")
        if missing(claim, *self.witness):
            return None
        shape = (self.X.shape[0], *self._columns)
        witness = numbers("`row_weights` of the witness", claim.witness["row_weights"], *shape)
        try:
            tangent = self._risk.tangent(witness, Fractions if exact else Floats)
            constant = Enclosure.around(tangent.constant / tangent.total)
            proven = Enclosure.around(tangent.weights.mapped(self._transposed) / tangent.total)
            flat = np.unravel_index(np.arange(slope.size), (self.n_features, *self._columns))
            return affine_excess(self.domain, claim, constant, proven[flat])
        except (ValueError, ArithmeticError) as problem:
            raise _refusal("the witness proves nothing", problem) from None

    @np.errstate(all="ignore")
    def prove_value(self, claim: ValueClaim, exact: bool = False) -> Bound | None:
        """Prove an upper bound of the value by scores with a bound on their error, or in fractions with `exact`.

        The point is that of the `claim`. Logarithms and exponentials are rounded up.
        """
        point = numbers("best point", claim.point, self.domain.dimension).reshape(self.n_features, *self._columns)
        try:
            upper = self._risk.above((Fractions if exact else Floats).of(point).mapped(self.X))
        except (ValueError, ArithmeticError) as problem:
            raise _refusal("the value at the best point cannot be computed", problem) from None
        if isinstance(upper, float) and not np.isfinite(upper):
            raise Refuted("the value at the best point is not finite")
        return upper

    def size_of_terms(self, point: Vector) -> float:
        """Mean over the rows of ``abs(x) @ abs(w)`` and of the target, or 1: where f is 0 these are rounded."""
        return self._risk.unit + float(self._mean_row @ abs(point.reshape(self.n_features, -1)).max(axis=1))

    @cached_property
    def _mean_row(self) -> Vector:
        """The mean size of the entries of each column."""
        sizes: Vector = abs(self._transposed) @ self._risk.shares
        return sizes

    def identity(self) -> str:
        """Kind, parameters and data."""
        words = "".join(f"{name} {value!r}, " for name, value in self._risk.parameters.items())
        data = digest(self.X, self._risk.y, self._risk.sample_weight)
        return f"{super().identity()}, {self.kind} risk, {words}{self.X.shape[0]} rows #{data}"


def _refusal(words: str, problem: Exception) -> Refuted:
    """A refutation as it is, or one of what cannot be computed."""
    return problem if isinstance(problem, Refuted) else Refuted(f"{words}: {problem}")


def _data(X: Any) -> Any:
    """The matrix in floats, sparse as by rows and with short indices where these do."""
    made: Any = sparse_matrix("X", X) if sparse.issparse(X) else floats("X", X, "a matrix of real numbers")
    if made.ndim != 2 or 0 in made.shape:
        raise InvalidArgument(f"`X` must be a matrix of at least one row and one column, got shape {made.shape}")
    entries = made.data if sparse.issparse(made) else made
    if not np.isfinite(entries).all():
        raise InvalidArgument(f"`X` must be finite, got {entries[~np.isfinite(entries)][0]}")
    if sparse.issparse(made) and made.nnz < 2**31 and max(made.shape) < 2**31:
        made.indices, made.indptr = made.indices.astype(np.int32), made.indptr.astype(np.int32)
    return made


def _labels(kind: str, y: ArrayLike, m: int, most: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The classes in sorted order, and which of them each row has."""
    given = np.asarray(y)
    if given.shape != (m,):
        raise InvalidArgument(f"`y` must have shape ({m},), one label for each row of `X`, got {given.shape}")
    if given.dtype.kind == "c" or (given.dtype.kind == "f" and not np.isfinite(given).all()):
        raise InvalidArgument(f"`y` must be labels for {kind!r}, finite where they are numbers, got {shown(y)}")
    try:
        classes, places = np.unique(given, return_inverse=True)
    except TypeError as problem:
        raise InvalidArgument(f"`y` must be labels of one type, which sorts, got {shown(y)}: {problem}") from None
    if len(classes) < 2 or (most == 2 and len(classes) > 2):
        wanted = "two classes" if most == 2 else "two classes or more"
        raise InvalidArgument(f"`y` must have {wanted} for {kind!r}, got {len(classes)}: {shown(classes)}")
    return classes, places


def _weights(sample_weight: ArrayLike | None, m: int) -> Vector:
    """Weights of the rows, as they are; ones without any."""
    if sample_weight is None:
        return np.ones(m)
    made = finite("sample_weight", sample_weight, (m,), "one for each row of `X`")
    if (made < 0).any() or not 0 < made.sum() < np.inf:
        found = f"got a least one of {made.min():g} and a sum of {made.sum():g}"
        raise InvalidArgument(f"`sample_weight` must not be negative, nor all 0, {found}")
    return made
