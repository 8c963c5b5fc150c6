"""A kernel by the name it has in scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy import sparse

from oracle_opt.arguments import flag, instance, real, whole
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.points import products_of, squared_distances, squared_norms
from oracle_opt.oracles.kernels.recipes.kernel_recipe import FittedKernels, KernelRecipe, Table
from oracle_opt.oracles.kernels.recipes.points_table import nearest
from oracle_opt.words import shown

Parameters = Mapping[str, float]

# Numbers of sparse points that are made dense at a time.
DENSE_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class Metric:
    """A kernel known by name."""

    formula: str  # in words of NumPy
    parameters: Mapping[str, float | None]  # names and defaults; None for gamma: one over the number of columns
    # Maps two tables of points and the parameters to the matrix of the kernel.
    evaluate: Callable[[Table, Table, Parameters], Matrix]
    # Entries are wrong by at most so many times `EPS` a column, and so many besides, over the root of the product of
    # the two diagonal entries. None: not known.
    roundings: tuple[float, float] | None = None
    sparse: bool = True  # whether it takes sparse points
    nonnegative: bool = False  # whether it takes points of nonnegative entries alone
    positive: bool = True  # whether it is positive semidefinite for all parameters that are taken


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
    """Errors of entries over the root of two diagonal ones: see docs/theory_smooth_mkl.md, "Kernels by name"."""
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


class MetricKernel(KernelRecipe):
    """One of the kernels that scikit-learn knows by name, see `sklearn.metrics.pairwise.pairwise_kernels`.

    ============= ========================================================= ====================================
    name          formula                                                   parameters
    ============= ========================================================= ====================================
    linear        ``x @ z``
    cosine        ``x @ z / (norm(x) * norm(z))``
    polynomial    ``(gamma * x @ z + coef0)**degree``                       gamma, degree (3), coef0 (1)
    rbf           ``exp(-gamma * norm(x - z)**2)``                          gamma
    laplacian     ``exp(-gamma * norm(x - z, 1))``                          gamma
    chi2          ``exp(-gamma * sum((x - z)**2 / (x + z)))``               gamma (1)
    sigmoid       ``tanh(gamma * x @ z + coef0)``                           gamma, coef0 (1)
    additive_chi2 ``-sum((x - z)**2 / (x + z))``
    ============= ========================================================= ====================================

    The default of gamma is one over the number of columns where none stands. The last two are not positive semidefinite
    on all points and refused on those on which they are not. The two of chi2 take points of entries that are not
    negative, and no sparse ones.

    Parameters
    ----------
    metric : str
        The name.
    parameters : mapping of str to float, optional
        Parameters that are not at their defaults.
    each : bool
        On each column alone in place of on all together.

    Raises
    ------
    InvalidArgument
        There is no such name or parameter, and the nearest one is told; or a parameter cannot be used.

    Examples
    --------
    >>> from oracle_opt.oracles import MetricKernel
    >>> MetricKernel("laplacian", {"gamma": 0.5})
    MetricKernel('laplacian', {'gamma': 0.5})
    """

    takes_sparse = True

    def __init__(self, metric: str, parameters: Mapping[str, float] | None = None, *, each: bool = False) -> None:
        instance("metric", metric, str, "the name of a kernel such as 'laplacian'")
        if metric in ("precomputed", "gaussian"):
            instead = {"precomputed": "PrecomputedKernels(stack)", "gaussian": "GaussianKernels(widths)"}[metric]
            raise InvalidArgument(f"`metric` must be the name of a kernel, got {metric!r}; take {instead}")
        if ALIASES.get(metric, metric) not in METRICS:
            raise InvalidArgument(
                f"`metric` must be the name of a kernel, got {shown(metric)}; {nearest(metric, [*METRICS, *ALIASES])}"
            )
        self.metric, self.each = metric, flag("each", each)
        self.parameters = _checked(metric, {} if parameters is None else parameters)

    def __repr__(self) -> str:
        parameters = f", {self.parameters}" if self.parameters else ""
        return f"MetricKernel({self.metric!r}{parameters}{', each=True' if self.each else ''})"

    def count(self) -> int:
        """One."""
        return 1

    def fit(self, Z: Table, weights: Vector, rng: Generator) -> FittedMetric:
        """Fill in the defaults, see `KernelRecipe.fit`."""
        metric = _named(self.metric)
        given = {name: 1.0 / Z.shape[1] if value is None else value for name, value in metric.parameters.items()}
        return FittedMetric(self.metric, given | self.parameters, Z.shape[1])


class FittedMetric(FittedKernels):
    """A kernel by name, of known parameters."""

    def __init__(self, name: str, parameters: Mapping[str, float], n_columns: int) -> None:
        self.name, self.parameters = name, dict(parameters)
        words = ", ".join(f"{parameter}={value:.4g}" for parameter, value in self.parameters.items())
        self.labels = (f"{name}({words})" if words else name,)
        metric = _named(name)
        self.positive_semidefinite = metric.positive
        self.exactness = exactness_of(metric, self.parameters, n_columns)

    def matrices(self, A: Table, B: Table, which: Sequence[int]) -> Iterator[Matrix]:
        """Yield the kernel as often as it is asked for, see `FittedKernels.matrices`."""
        metric = _named(self.name)
        for Z in (A, B) if A is not B else (A,):
            check_table(metric, Z, f"the kernel {self.name!r}")
        for _ in which:
            yield metric.evaluate(A, B, self.parameters)


def _named(name: str) -> Metric:
    return METRICS[ALIASES.get(name, name)]


def _checked(metric: str, parameters: Mapping[str, float]) -> dict[str, float]:
    """Parameters as floats, or refuse what the kernel does not have."""
    instance("parameters", parameters, Mapping, "a mapping such as {'gamma': 0.5}")
    known = _named(metric).parameters
    checked: dict[str, float] = {}
    for name, value in parameters.items():
        if name not in known:
            hint = nearest(str(name), known) if known else "it has none"
            raise InvalidArgument(f"`parameters` of the kernel {metric!r} have no {shown(name)}; {hint}")
        if name == "degree":
            checked[name] = whole("parameters['degree']", value)
        elif name == "gamma":
            checked[name] = real("parameters['gamma']", value, above=0.0)
        else:
            checked[name] = real("parameters['coef0']", value, least=0.0 if metric != "sigmoid" else -float("inf"))
    return checked
