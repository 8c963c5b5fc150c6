"""SPG-GMKL (Jain, Vishwanathan & Varma 2012), Table 1: the data sets, beside those that are at hand."""

from __future__ import annotations

import numpy as np

from papers.experiment import Experiment
from papers.figures import printed_figures
from papers.repetitions import Options, Reproduced, Row
from papers.sets import sets_of, standardized

# The paper's sets with kernels on every feature; the others have a number of kernels that it fixes.
OF_FEATURES = {
    "Wpbc": "wpbc",
    "Sonar": "sonar",
    "Liver": "bupa",
    "Ionosphere": "ionosphere",
    "Breast-Cancer": "breast_cancer",
    "Australian": "australian",
    "Diabetes": "pima",
}
LARGE = {
    "Leukemia": "leukemia",
    "Letter": "letter",
    "RCV1": "rcv1",
    "Adult-8": "a8a",
    "Web-7": "w7a",
    "Poker": "poker_train",
    "Adult-9": "a9a",
    "Web-8": "w8a",
    "KDDCup04-Physics": "kddcup04",
    "Cod-RNA": "cod_rna",
    "Real-Sim": "real_sim",
    "Covertype": "covertype",
}
WIDTHS_AND_DEGREES = 13  # ten widths and three degrees, on each feature and on all


def table1(options: Options) -> Reproduced:
    """Run Table 1: points and features of each set at hand, and the kernels that its features give."""
    sets = sets_of(OF_FEATURES | LARGE, options)
    printed = printed_figures("spg", "table1")
    rows: list[Row] = []
    equal: list[str] = []
    other: list[str] = []
    for label, dataset in sets.found:
        n, d = dataset.shape
        figures = {"points": n, "features": d}
        if label not in LARGE:
            kept = standardized(np.asarray(dataset.dense()))[0].shape[1]
            figures |= {"kernels, sum": WIDTHS_AND_DEGREES * (kept + 1), "kernels, product": kept}
        rows += [Row(label, quantity, float(value), 0.0, 1, 1) for quantity, value in figures.items()]
        same = all(
            int(printed[label, quantity].value) == value
            for quantity, value in figures.items()
            if (label, quantity) in printed
        )
        (equal if same else other).append(label)
    findings = []
    if not options.quick:
        findings = [
            f"Of {len(equal) + len(other)} sets at hand {len(equal)} have the numbers that the paper prints.",
            *([f"Other numbers have {', '.join(other)}."] if other else []),
        ]
    caption = (
        "Points and features are those of the file at hand. A sum has kernels of ten widths and three degrees on each "
        "feature and on all, a product a kernel on each feature; constant features have none. For the larger sets the "
        "paper fixes the number of kernels, and ours are not counted."
    )
    return Reproduced(tuple(rows), tuple(sets.notes), caption=caption, findings=tuple(findings), absent=sets.absent)


EXPERIMENTS = {
    "spg-table1": Experiment(
        *("spg", "table1", "Jain, Vishwanathan & Varma (2012), Table 1, section 5"),
        "the statistics of the data sets that were tried",
        table1,
    ),
}
