"""The kernels that scikit-learn knows by name, as formulas: a row of entries does not depend on the other rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.points import squared_norms
from oracle_opt.oracles.kernels.recipes.kernel_recipe import Table
from oracle_opt.oracles.kernels.recipes.weighted import products_of, squared_distances

Parameters = Mapping[str, float]

# Numbers of sparse points that are made dense at a time.
DENSE_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Metric:
    """A kernel known by name.

    Attributes
    ----------
    formula : str
        In words of NumPy.
    parameters : mapping of str to float or None
        Names and defaults; None for gamma: one over the number of columns.
    evaluate : callable
        Maps two tables of points and the parameters to the matrix of the kernel.
    roundings : tuple of two floats, or None
        Entries are wrong by at most so many times `EPS` a column, and so many besides, over the root of the product of
        the two diagonal entries. None: not known.
    sparse : bool
        Whether it takes sparse points.
    nonnegative : bool
        Whether it takes points of nonnegative entries alone.
    positive : bool
        Whether it is positive semidefinite for all parameters that are taken.
    """

    formula: str
    parameters: Mapping[str, float | None]
    evaluate: Callable[[Table, Table, Parameters], Matrix]
    roundings: tuple[float, float] | None = None
    sparse: bool = True
    nonnegative: bool = False
    positive: bool = True


def _linear(A: Table, B: Table, given: Parameters) -> Matrix:
    return products_of(A, B)


def _cosine(A: Table, B: Table, given: Parameters) -> Matrix:
    return products_of(_unit(A), _unit(B))


def _polynomial(A: Table, B: Table, given: Parameters) -> Matrix:
    return np.asarray((given["gamma"] * products_of(A, B) + given["coef0"]) ** int(given["degree"]))


def _sigmoid(A: Table, B: Table, given: Parameters) -> Matrix:
    return np.asarray(np.tanh(given["gamma"] * products_of(A, B) + given["coef0"]))


def _rbf(A: Table, B: Table, given: Parameters) -> Matrix:
    return np.asarray(np.exp(-given["gamma"] * squared_distances(A, B)))


def _laplacian(A: Table, B: Table, given: Parameters) -> Matrix:
    from scipy.spatial.distance import cdist

    found = np.empty((A.shape[0], B.shape[0]))
    for a, left in _dense_parts(A):
        for b, right in _dense_parts(B):
            found[a, b] = cdist(left, right, "cityblock")
    found *= -given["gamma"]
    return np.exp(found, out=found)


def _chi2(A: Table, B: Table, given: Parameters) -> Matrix:
    return np.asarray(np.exp(-given["gamma"] * _chi2_distances(A, B)))


def _additive_chi2(A: Table, B: Table, given: Parameters) -> Matrix:
    return -_chi2_distances(A, B)


METRICS: dict[str, Metric] = {
    "linear": Metric("x @ z", {}, _linear, (0.5, 1.0)),
    "cosine": Metric("x @ z / (norm(x) * norm(z))", {}, _cosine, (1.0, 6.0)),
    "polynomial": Metric(
        "(gamma * x @ z + coef0)**degree", {"degree": 3.0, "gamma": None, "coef0": 1.0}, _polynomial, (0.5, 4.0)
    ),
    "rbf": Metric("exp(-gamma * norm(x - z)**2)", {"gamma": None}, _rbf),
    "laplacian": Metric("exp(-gamma * norm(x - z, 1))", {"gamma": None}, _laplacian, (0.25, 3.0)),
    "chi2": Metric(
        "exp(-gamma * sum((x - z)**2 / (x + z)))", {"gamma": 1.0}, _chi2, (0.25, 4.0), sparse=False, nonnegative=True
    ),
    "sigmoid": Metric("tanh(gamma * x @ z + coef0)", {"gamma": None, "coef0": 1.0}, _sigmoid, positive=False),
    "additive_chi2": Metric(
        "-sum((x - z)**2 / (x + z))", {}, _additive_chi2, sparse=False, nonnegative=True, positive=False
    ),
}
ALIASES = {"poly": "polynomial"}


def exactness_of(metric: Metric, given: Parameters, n_columns: int) -> float | None:
    """How wrong entries may be, over the root of the product of the two diagonal entries.

    A sum of d products errs by at most ``d / 2 * EPS`` times the product of the norms, a power of degree t by t times
    as much. A sum of d terms that are not negative errs by ``d / 2 * EPS`` of itself, so the exponent s of a
    decreasing exponential by as much, and ``exp(-s)`` by ``s * exp(-s) <= 0.37`` of that; the rest are the roundings of
    a term.
    """
    if metric.roundings is None:
        return None
    by_column, besides = metric.roundings
    return given.get("degree", 1.0) * EPS * (by_column * n_columns + besides)


def check_table(metric: Metric, Z: Table, what: str) -> None:
    """Refuse points that a metric does not take."""
    if sparse.issparse(Z) and not metric.sparse:
        raise InvalidArgument(f"{what} takes no sparse `X`; pass X.toarray(), or choose few columns for it")
    if metric.nonnegative:
        least = Z.min()
        if least < 0:
            raise InvalidArgument(
                f"{what} takes numbers that are not negative, such as counts, got {least:g}; leave `standardize` off, "
                "bring the columns to [0, 1] by MinMaxScaler(), or choose others"
            )


def _unit(Z: Table) -> Table:
    """Rows divided by their norms; rows of zeros stay."""
    norms = np.sqrt(squared_norms(Z))
    inverse: Vector = 1.0 / np.where(norms > 0, norms, 1.0)
    return sparse.csr_array(Z.multiply(inverse[:, None])) if sparse.issparse(Z) else Z * inverse[:, None]


def _chi2_distances(A: Matrix, B: Matrix) -> Matrix:
    """``sum((x - z)**2 / (x + z))``, 0/0 counting as 0, column by column."""
    total = np.zeros((A.shape[0], B.shape[0]))
    for f in range(A.shape[1]):
        sums, terms = np.add.outer(A[:, f], B[:, f]), np.subtract.outer(A[:, f], B[:, f])
        terms *= terms
        sums[sums == 0.0] = 1.0
        terms /= sums
        total += terms
    return total


def _dense_parts(Z: Table) -> Iterator[tuple[slice, Matrix]]:
    """Dense points as they are, sparse ones in parts."""
    if not sparse.issparse(Z):
        yield slice(None), Z
        return
    at_once = max(DENSE_AT_ONCE // Z.shape[1], 1)
    for start in range(0, Z.shape[0], at_once):
        part = slice(start, min(start + at_once, Z.shape[0]))
        yield part, Z[part].toarray()
