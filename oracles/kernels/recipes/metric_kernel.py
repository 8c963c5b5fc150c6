"""A kernel by the name it has in scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from numpy.random import Generator

from oracle_opt.arguments import flag, instance, real, whole
from oracle_opt.arrays import Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.recipes.columns import nearest
from oracle_opt.oracles.kernels.recipes.kernel_recipe import FittedKernels, KernelRecipe, Table
from oracle_opt.oracles.kernels.recipes.metric_formulas import (
    ALIASES,
    METRICS,
    Metric,
    check_table,
    exactness_of,
)
from oracle_opt.words import shown


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
