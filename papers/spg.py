"""Jain, Vishwanathan & Varma (2012), "SPG-GMKL": tables 2, 4, 5, 7 and 9, on the small data sets."""

from __future__ import annotations

from oracle_opt.generator import QueryPointGenerator
from oracle_opt.generators import SPG, Kelley, ProjectedGradient, ReducedGradient
from papers.experiment import Experiment
from papers.repetitions import Options, Reproduced
from papers.spg_findings import compared, fewest
from papers.spg_problems import (
    ADULT_C,
    ADULT_KERNELS,
    GRID,
    OF_PRODUCTS,
    P_OF_L1,
    product_of_kernels,
    product_on_scaled_features,
    sum_of_few_kernels,
    sum_of_kernels,
    sum_on_simplex,
    sum_under_l1,
)
from papers.spg_runs import RTOL, Kind, Runs

SETS = {
    "Australian": "australian",
    "Liver": "bupa",
    "Sonar": "sonar",
    "Breast-Cancer": "breast_cancer",
    "wdbc": "wdbc",
    "Diabetes": "pima",
    "Wpbc": "wpbc",
}
OF_TABLE_4 = {name: SETS[name] for name in ("Wpbc", "Breast-Cancer", "wdbc", "Australian")}
OF_TABLE_4 |= {"Ionosphere": "ionosphere", "Sonar": "sonar"}
OF_TABLE_7 = {name: data for name, data in SETS.items() if name != "Liver"}
OF_TABLE_9 = {**SETS, "Leukemia": "leukemia"}
ADULT = {"Adult-1": "a1a", "Adult-2": "a2a"}
AUSTRALIAN, OF_SCALED = {"Australian": "australian"}, (1.0, 10.0)
GTOL = 0.04
SUM_CALLS, PRODUCT_CALLS, ADULT_CALLS = 2000, 1000, 300
CLIP = (1e-30, 10.0)
PGD = ProjectedGradient(accuracy=1e-6, first_length=1.0)
PAPERS = SPG(tune_accuracy=True, entropic=False, length_limits=CLIP)
TWO: dict[str, QueryPointGenerator] = {"PGD": PGD, "SPG-GMKL": PAPERS, "SPG()": SPG()}
PARTS: dict[str, QueryPointGenerator] = {
    "PGD": PGD,
    "PGD+N": SPG(spectral=False, entropic=False, length_limits=CLIP),
    "PGD+S": SPG(nonmonotone=False, entropic=False, length_limits=CLIP),
    "PGD+N+S": SPG(entropic=False, length_limits=CLIP),
    "SPG()": SPG(),
}
ON_SIMPLEX: dict[str, QueryPointGenerator] = {"SimpleMKL": ReducedGradient(), "SILP-MKL": Kelley()}

METHODS = (
    "PGD is `ProjectedGradient(accuracy=1e-6, first_length=1.0)`: each search begins with length 1, as in the program "
    "that the authors published. SPG-GMKL is `SPG(tune_accuracy=True, entropic=False, length_limits=(1e-30, 10.0))`. "
    "`SPG()` is the default of this library, which measures steps in the metric of the regularizer."
)
SUMS = (
    "Sums of the 13 (d + 1) kernels of `simplemkl_bank`, regularizer 1/2 norm(d, p)**2 with weight 1, to a proven gap "
    f"of {RTOL:g} relative to the objective, from weights drawn evenly from [0, 1]. C is chosen for each fold and p "
    f"from {', '.join(f'{at:g}' for at in GRID)} by the accuracy in 3-fold validation on its training part. At p < 2 "
    "the slope of the regularizer at weights below 1e-4 is that at 1e-4, as in the authors' program."
)
PRODUCTS = (
    "Products of one RBF kernel a feature, from weights drawn evenly from [0, 2/d] on d features, "
    f"C = {OF_PRODUCTS:g}, until the largest entry of the projected gradient is at most {GTOL:g}, which is the weaker "
    "of the paper's two norms."
)
AT_MOST = "At most {} SVMs a run; runs that need more are left out of the means, and counted in brackets."
OF_SUMS, OF_PRODUCT_RUNS = AT_MOST.format(SUM_CALLS), AT_MOST.format(PRODUCT_CALLS)


def _sum(p: str, floored: bool = True) -> Kind:
    name = f"sum, p={p}" if floored else f"sum, p={p}, no floor"
    return Kind(name, sum_of_kernels, (float(p), floored))


def _product(p: str, power: float) -> Kind:
    return Kind(f"product, p={p}, power={power:g}", product_of_kernels, (float(p), power), gtol=GTOL)


def _scaled(at: float) -> Kind:
    return Kind(f"product, scaled, C={at:g}", product_on_scaled_features, (at,), gtol=GTOL)


def table2(options: Options) -> Reproduced:
    """Sums of kernels, p = 1.1, 1.33 and 2."""
    exponents = (" p=1.1", " p=1.33", " p=2.0")
    runs = Runs()
    kinds = {part: _sum(part[3:]) for part in exponents}
    runs.add(SETS, kinds, TWO, options, max_calls=SUM_CALLS, kept="spg")
    no_floor = {" p=1.1, no floor": _sum("1.1", floored=False)}
    runs.add(SETS, no_floor, TWO, options, folds=1, max_calls=SUM_CALLS, kept="spg")
    rows = runs.tally.rows()
    findings = [
        *(line for part in exponents for line in compared(rows, "table2", "PGD", "SPG-GMKL", f"At{part}", part)),
        *compared(rows, "table2", "PGD", "SPG-GMKL", "At p = 1.1 without the floor", ", no floor"),
    ]
    floor = "The rows without this floor are of the first fold alone."
    return runs.table(options, f"{SUMS} {floor} {METHODS} {OF_SUMS}", findings)


def table4(options: Options) -> Reproduced:
    """Sums of kernels under l1, among the specialized methods."""
    runs = Runs()
    simplex = {"": Kind("simplex", sum_on_simplex)}
    runs.add(OF_TABLE_4, simplex, ON_SIMPLEX, options, max_calls=SUM_CALLS, kept="spg")
    runs.add(OF_TABLE_4, {"": Kind("l1", sum_under_l1)}, TWO, options, max_calls=SUM_CALLS, kept="spg")
    rows = runs.tally.rows()
    caption = (
        "PGD, SPG-GMKL and `SPG()` minimize over weights of at least 0 under 1/2 sum(d)**2, as the authors' program "
        "does; SILP-MKL (`Kelley()`) and SimpleMKL (`ReducedGradient()`) over the simplex, with C times the sum of the "
        "solution's weights, which gives both the same solution. Kernels of `simplemkl_bank`, a proven gap of "
        f"{RTOL:g} relative to the objective, the C that validation chooses at p = {P_OF_L1:g}. {METHODS} {OF_SUMS}"
    )
    others = ("SimpleMKL", "SILP-MKL", "PGD")
    findings = [line for name in others for line in compared(rows, "table4", name, "SPG-GMKL", f"{name} and SPG-GMKL")]
    return runs.table(options, caption, findings)


def table5(options: Options) -> Reproduced:
    """Products of kernels, p = 1.1, 1.33 and 2."""
    exponents = (" p=1.1", " p=1.33", " p=2.0")
    runs = Runs()
    runs.add(
        SETS,
        {part: _product(part[3:], 2.0) for part in exponents},
        TWO,
        options,
        max_calls=PRODUCT_CALLS,
        kept="spg-products",
    )
    rows = runs.tally.rows()
    findings = [line for part in exponents for line in compared(rows, "table5", "PGD", "SPG-GMKL", f"At{part}", part)]
    floor = "The slope of the regularizer 1/2 norm(d, p)**2 is floored as in the sums."
    return runs.table(options, f"{PRODUCTS} {floor} {METHODS} {OF_PRODUCT_RUNS}", findings)


def table7(options: Options) -> Reproduced:
    """The parts of SPG-GMKL switched on one by one; p = 1.1, as the figures of PGD are those of table 2."""
    runs = Runs()
    runs.add(OF_TABLE_7, {"": _sum("1.1")}, PARTS, options, count=True, max_calls=SUM_CALLS, kept="spg")
    if not options.quick:
        few = {"": Kind("few kernels, p=1.1", sum_of_few_kernels, (1.1,))}
        runs.add(ADULT, few, PARTS, options, count=True, folds=1, max_calls=ADULT_CALLS, kept="spg-adult")
    parts = (
        "p = 1.1: the table does not print its p, but its seconds of PGD are those of Table 2 there. N is the averaged "
        "search, S the spectral step: PGD+N is `SPG(spectral=False, ...)`, PGD+S `SPG(nonmonotone=False, ...)`, both "
        "with `entropic=False, length_limits=(1e-30, 10.0)`, and PGD+N+S has both parts."
    )
    adult = (
        f"Adult: all points, one run on {ADULT_KERNELS} RBF kernels, of which the paper names none, with C = "
        f"{ADULT_C:g} and at most {ADULT_CALLS} SVMs."
    )
    return runs.table(options, f"{SUMS} {parts} {METHODS} {OF_SUMS} {adult}", fewest(runs.tally.rows()))


def table9(options: Options) -> Reproduced:
    """Products of kernels under l1."""
    runs = Runs()
    runs.add(OF_TABLE_9, {"": _product("1.0", 1.0)}, TWO, options, max_calls=PRODUCT_CALLS, kept="spg-products")
    findings = compared(runs.tally.rows(), "table9", "PGD", "SPG-GMKL", "Under l1")
    if not options.quick:
        scaled = {f", scaled, C={at:g}": _scaled(at) for at in OF_SCALED}
        runs.add(AUSTRALIAN, scaled, TWO, options, folds=1, max_calls=PRODUCT_CALLS, kept="spg-products")
    others = "The rows called scaled have features scaled to [-1, 1] and another C, on the first fold alone."
    caption = f"{PRODUCTS} The regularizer is sum(d). {others} {METHODS} {OF_PRODUCT_RUNS}"
    return runs.table(options, caption, findings)


JAIN = "Jain, Vishwanathan & Varma (2012)"

EXPERIMENTS = {
    "spg-table2": Experiment(
        *("spg", "table2", f"{JAIN}, Table 2, section 5.1"),
        '"For small values of p [...] SPG-GMKL can be two orders of magnitude faster than PGD. As the value of p '
        "increases [...] the two techniques become more comparable though SPG-GMKL can still be twice as fast as "
        'PGD"',
        table2,
    ),
    "spg-table4": Experiment(
        *("spg", "table4", f"{JAIN}, Table 4, section 5.2"),
        '"SPG-GMKL is always more than twice as fast as SILP-MKL" and "an order of magnitude faster than SimpleMKL and '
        'PGD"',
        table4,
    ),
    "spg-table5": Experiment(
        *("spg", "table5", f"{JAIN}, Table 5, section 5.3"),
        '"PGD failed to converge in many cases and, when it did, it was often ten to a hundred times slower than '
        'SPG-GMKL"',
        table5,
    ),
    "spg-table7": Experiment(
        *("spg", "table7", f"{JAIN}, Table 7, section 5.5"),
        '"adding either component in isolation does not lead to the best gains [...] It is only when both the '
        'components are combined that one consistently gets improvements in performance"',
        table7,
    ),
    "spg-table9": Experiment(
        *("spg", "table9", f"{JAIN}, Table 9, section 5.4"),
        '"On many of the small data sets, SPG-GMKL was a thousand times faster than PGD"',
        table9,
    ),
}
