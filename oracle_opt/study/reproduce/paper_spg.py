"""Jain, Vishwanathan & Varma (2012), "SPG-GMKL": tables 2, 4, 5, 7 and 9, on the small data sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from oracle_opt.generator import QueryPointGenerator
from oracle_opt.generators import SPG, Kelley, ProjectedGradient, ReducedGradient
from oracle_opt.problems import Instance
from oracle_opt.study.reproduce.common import FOLDS, HARDWARE, sets_of
from oracle_opt.study.reproduce.experiment import Experiment
from oracle_opt.study.reproduce.experiment_runs import Recipe, add_runs, run_study
from oracle_opt.study.reproduce.repetitions import Options, Reproduced, Tally
from oracle_opt.study.reproduce.spg_findings import compared, fewest
from oracle_opt.study.reproduce.spg_problems import (
    ADULT_C,
    ADULT_KERNELS,
    GRID,
    OF_PRODUCTS,
    P_OF_L1,
    product_of_kernels,
    sum_of_few_kernels,
    sum_of_kernels,
    sum_on_simplex,
    sum_under_l1,
)
from oracle_opt.study.reproduce.stopping_rules import UntilStationary

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
RTOL, GTOL = 1e-3, 0.04
MAX_CALLS, OF_SIMPLEMKL, OF_ADULT = 2000, 5000, 300
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
SILP: dict[str, QueryPointGenerator] = {"SILP-MKL": Kelley()}
SIMPLEMKL: dict[str, QueryPointGenerator] = {"SimpleMKL": ReducedGradient()}

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
AT_MOST = f"At most {MAX_CALLS} SVMs a run; runs that need more are left out of the means, and counted in brackets."
NOTES = (
    HARDWARE,
    "the paper does not print its C, the size of its random start, what its gap is relative to, and its limits of time",
    "Breast-Cancer is a set of 683 points; wdbc, a row of its own, is another one of 569",
)


@dataclass(frozen=True)
class _Kind:
    """A kind of problem: a name, what makes its instances of a data set, the arguments, and how its runs end."""

    name: str
    make: Callable[..., Instance]
    arguments: tuple[float, ...] = ()
    gtol: float | None = None


@dataclass
class _Runs:
    """What the runs of a table gave: figures, notes and sets that are not at hand."""

    tally: Tally
    notes: list[str]
    absent: tuple[str, ...] = ()

    def add(
        self,
        names: Mapping[str, str],
        kinds: Mapping[str, _Kind],
        methods: Mapping[str, QueryPointGenerator],
        options: Options,
        *,
        count: bool = False,
        folds: int = FOLDS,
        max_calls: int = MAX_CALLS,
        kept: str = "spg",
    ) -> None:
        """Seconds, and on request SVMs, of each method on each kind of problem, whose words are added to the set's."""
        at_hand = sets_of(names, options)
        (gtol,) = {kind.gtol for kind in kinds.values()}
        results, failed = run_study(
            options,
            kept,
            {
                f"{label}, {kind.name}": Recipe(kind.make, dataset, (*kind.arguments, options.seed))
                for label, dataset in at_hand.found
                for kind in kinds.values()
            },
            {name: g if gtol is None else UntilStationary(g, gtol, np.inf) for name, g in methods.items()},
            range(min(options.repeats(folds), folds)),
            rtol=RTOL,
            max_calls=max_calls,
        )
        quantities = {"seconds": "processor_seconds", "SVMs": "n_calls"} if count else {"seconds": "processor_seconds"}
        for label, _ in at_hand.found:
            for suffix, kind in kinds.items():
                add_runs(self.tally, label + suffix, results, f"{label}, {kind.name}", quantities, methods)
        self.notes += [note for note in (*at_hand.notes, *failed) if note not in self.notes]
        self.absent += tuple(label for label in at_hand.absent if label not in self.absent)

    def table(self, options: Options, caption: str, findings: list[str], *notes: str) -> Reproduced:
        """What the experiment gives back."""
        folds = f"training parts of {min(options.repeats(FOLDS), FOLDS)} of 5 stratified folds"
        said = (*self.notes, folds, *notes, *NOTES)
        return Reproduced(self.tally.rows(), said, caption=caption, findings=tuple(findings), absent=self.absent)


def _sum(p: str, floored: bool = True) -> _Kind:
    name = f"sum, p={p}" if floored else f"sum, p={p}, no floor"
    return _Kind(name, sum_of_kernels, (float(p), floored))


def _product(p: str, power: float) -> _Kind:
    return _Kind(f"product, p={p}, power={power:g}", product_of_kernels, (float(p), power), gtol=GTOL)


def table2(options: Options) -> Reproduced:
    """Sums of kernels, p = 1.1, 1.33 and 2."""
    exponents = (" p=1.1", " p=1.33", " p=2.0")
    runs = _Runs(Tally(), [])
    kinds = {part: _sum(part[3:]) for part in exponents}
    runs.add(SETS, kinds, TWO, options)
    runs.add(SETS, {" p=1.1, no floor": _sum("1.1", floored=False)}, TWO, options, folds=1)
    rows = runs.tally.rows()
    findings = [
        *(line for part in exponents for line in compared(rows, "table2", "PGD", "SPG-GMKL", f"At{part}", part)),
        *compared(rows, "table2", "PGD", "SPG-GMKL", "At p = 1.1 without the floor", ", no floor"),
    ]
    floor = "The rows without this floor are of the first fold alone."
    return runs.table(options, f"{SUMS} {floor} {METHODS} {AT_MOST}", findings)


def table4(options: Options) -> Reproduced:
    """Sums of kernels under l1, among the specialized methods."""
    runs = _Runs(Tally(), [])
    simplex = {"": _Kind("simplex", sum_on_simplex)}
    runs.add(OF_TABLE_4, simplex, SIMPLEMKL, options, max_calls=OF_SIMPLEMKL, kept="spg-simplemkl")
    runs.add(OF_TABLE_4, simplex, SILP, options)
    runs.add(OF_TABLE_4, {"": _Kind("l1", sum_under_l1)}, TWO, options)
    rows = runs.tally.rows()
    caption = (
        "PGD, SPG-GMKL and `SPG()` minimize over weights of at least 0 under 1/2 sum(d)**2, as the authors' program "
        "does; SILP-MKL (`Kelley()`) and SimpleMKL (`ReducedGradient()`) over the simplex, with C times the sum of the "
        "solution's weights, which gives both the same solution. Kernels of `simplemkl_bank`, a proven gap of "
        f"{RTOL:g} relative to the objective, the C that validation chooses at p = {P_OF_L1:g}. {METHODS} {AT_MOST} "
        f"SimpleMKL: at most {OF_SIMPLEMKL} SVMs."
    )
    others = ("SimpleMKL", "SILP-MKL", "PGD")
    findings = [line for name in others for line in compared(rows, "table4", name, "SPG-GMKL", f"{name} and SPG-GMKL")]
    return runs.table(options, caption, findings)


def table5(options: Options) -> Reproduced:
    """Products of kernels, p = 1.1, 1.33 and 2."""
    exponents = (" p=1.1", " p=1.33", " p=2.0")
    runs = _Runs(Tally(), [])
    runs.add(SETS, {part: _product(part[3:], 2.0) for part in exponents}, TWO, options)
    rows = runs.tally.rows()
    findings = [line for part in exponents for line in compared(rows, "table5", "PGD", "SPG-GMKL", f"At{part}", part)]
    floor = "The slope of the regularizer 1/2 norm(d, p)**2 is floored as in the sums."
    return runs.table(options, f"{PRODUCTS} {floor} {METHODS} {AT_MOST}", findings)


def table7(options: Options) -> Reproduced:
    """The parts of SPG-GMKL switched on one by one; p = 1.1, as the figures of PGD are those of table 2."""
    runs = _Runs(Tally(), [])
    runs.add(OF_TABLE_7, {"": _sum("1.1")}, PARTS, options, count=True)
    if not options.quick:
        few = {"": _Kind("few kernels, p=1.1", sum_of_few_kernels, (1.1,))}
        runs.add(ADULT, few, PARTS, options, count=True, folds=1, max_calls=OF_ADULT, kept="spg-adult")
    parts = (
        "p = 1.1: the table does not print its p, but its seconds of PGD are those of Table 2 there. N is the averaged "
        "search, S the spectral step: PGD+N is `SPG(spectral=False, ...)`, PGD+S `SPG(nonmonotone=False, ...)`, both "
        "with `entropic=False, length_limits=(1e-30, 10.0)`, and PGD+N+S has both parts."
    )
    adult = (
        f"Adult: all points, one run on {ADULT_KERNELS} RBF kernels, of which the paper names none, with C = "
        f"{ADULT_C:g} and at most {OF_ADULT} SVMs."
    )
    return runs.table(options, f"{SUMS} {parts} {METHODS} {AT_MOST} {adult}", fewest(runs.tally.rows()))


def table9(options: Options) -> Reproduced:
    """Products of kernels under l1."""
    runs = _Runs(Tally(), [])
    runs.add(OF_TABLE_9, {"": _product("1.0", 1.0)}, TWO, options)
    findings = compared(runs.tally.rows(), "table9", "PGD", "SPG-GMKL", "Under l1")
    return runs.table(options, f"{PRODUCTS} The regularizer is sum(d). {METHODS} {AT_MOST}", findings)


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
