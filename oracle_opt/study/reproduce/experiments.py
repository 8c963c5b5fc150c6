"""The one table of experiments, for the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from oracle_opt.study.reproduce import paper_accpm, paper_mixnorm, paper_qnpkl, paper_scale, paper_smo, paper_spg
from oracle_opt.study.reproduce.paper import Printed, printed_figures
from oracle_opt.study.reproduce.repetitions import Options, Reproduced


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    Attributes
    ----------
    paper, table : str
        Their names in the file of the papers' figures; where the paper only draws, a table with the same quantities.
    place : str
        Where it stands in the paper.
    claim : str
        What the paper says it shows.
    run : callable
        Makes an `Reproduced` of `Options`.
    others : tuple of (str, str)
        Further papers and tables it is compared with.
    """

    paper: str
    table: str
    place: str
    claim: str
    run: Callable[[Options], Reproduced]
    others: tuple[tuple[str, str], ...] = ()

    def printed(self) -> dict[tuple[str, str], Printed]:
        """The figures it is compared with: (set, quantity) to `Printed`."""
        tables = ((self.paper, self.table), *self.others)
        return {key: figure for of_table in tables for key, figure in printed_figures(*of_table).items()}


WULFF, JAIN = "Wulff & Ong (2014)", "Jain, Vishwanathan & Varma (2012)"
VISHWANATHAN, NATH, PICARD = "Vishwanathan et al. (2010)", "Nath et al. (2009)", "Picard et al. (2012)"

EXPERIMENTS: dict[str, Experiment] = {
    "accpm-table1": Experiment(
        *("accpm", "table1", f"{WULFF}, Table 1, section 4.3.1"),
        "accpm needs the fewest SVM calls on 6 of 8 sets and varies least between splits",
        paper_accpm.table1,
    ),
    "accpm-table2": Experiment(
        *("accpm", "table2", f"{WULFF}, Table 2, section 4.3.1"),
        "learning the weights helps on some sets; on wpbc, pima and heart the average kernel is as good",
        paper_accpm.table2,
    ),
    "accpm-table3": Experiment(
        *("accpm", "table3", f"{WULFF}, Table 3, section 4.3.3"),
        "a smaller gap goes with a better accuracy on some sets and not on others",
        paper_accpm.table3,
    ),
    "accpm-figure1": Experiment(
        *("accpm", "table1", f"{WULFF}, Figure 1, section 4.3.2"),
        "level-set and simpleMKL fall steeply at first and then stay, accpm converges steadily",
        paper_accpm.figure1,
    ),
    "accpm-figure2": Experiment(
        *("accpm", "table3", f"{WULFF}, Figure 2, section 4.3.3"),
        "accuracy follows the gap on ionosphere and hardly on sonar",
        paper_accpm.figure2,
    ),
    "spg-table2": Experiment(
        *("spg", "table2", f"{JAIN}, Table 2, section 5.1"),
        "SPG-GMKL is up to two orders of magnitude faster than projected gradient descent at small p, alike at p = 2",
        paper_spg.table2,
    ),
    "spg-table4": Experiment(
        *("spg", "table4", f"{JAIN}, Table 4, section 5.2"),
        "under l1, SPG-GMKL is more than twice as fast as SILP and an order of magnitude faster than SimpleMKL and PGD",
        paper_spg.table4,
    ),
    "spg-table5": Experiment(
        *("spg", "table5", f"{JAIN}, Table 5, section 5.3"),
        "on products of kernels PGD often fails, and is ten to a hundred times slower where it does not",
        paper_spg.table5,
    ),
    "spg-table7": Experiment(
        *("spg", "table7", f"{JAIN}, Table 7, section 5.5"),
        "spectral step and non-monotone search help consistently only together",
        paper_spg.table7,
    ),
    "spg-table9": Experiment(
        *("spg", "table9", f"{JAIN}, Table 9, section 5.4"),
        "on products of kernels under l1 SPG-GMKL is hundreds of times faster than PGD",
        paper_spg.table9,
    ),
    "spg-figure-scale": Experiment(
        *("spg", "figure2", f"{JAIN}, Figure 2, Tables 3, 6 and 11, sections 5.1, 5.2 and 5.5, beside {VISHWANATHAN}"),
        "SPG-GMKL trains with a million kernels, or on half a million points; its time is linear in the number of "
        "kernels and less than quadratic in that of points",
        paper_scale.figure,
        paper_scale.PRINTED,
    ),
    "smo-table1": Experiment(
        *("smo", "table1", f"{VISHWANATHAN}, Table 1, section 6"),
        "SMO-MKL is several times faster than Shogun at similar accuracy and stable over p, fastest at p = 2",
        paper_smo.table1,
    ),
    "smo-figure1": Experiment(
        *("smo", "figure1", f"{VISHWANATHAN}, Figure 1, section 6"),
        "SMO-MKL scales linearly with the number of kernels, to 100,000, and to 50,000 points",
        paper_smo.figure1,
    ),
    "mixnorm-figure2": Experiment(
        *("mixnorm", "figure2", f"{NATH}, Figure 2, section 4"),
        "mirror descent is up to 12 times faster than SimpleMKL as kernels are added",
        paper_mixnorm.figure2,
    ),
    "qnpkl-table1": Experiment(
        *("qnpkl", "table1", f"{PICARD}, Table 1, section 5"),
        "products are more accurate than sums, and QN-PKL is 5 to 10 times faster than SimpleMKL",
        paper_qnpkl.table1,
    ),
    "qnpkl-table2": Experiment(
        *("qnpkl", "table2", f"{PICARD}, Table 2, section 5"),
        "QN-PKL puts more of its weight on the true features than MKL does",
        paper_qnpkl.table2,
    ),
}
