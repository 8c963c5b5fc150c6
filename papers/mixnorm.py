"""Nath et al. (2009), "On the algorithmics and applications of a mixed-norm based kernel learning formulation"."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oracle_opt.datasets import Dataset, load
from oracle_opt.datasets.kernel_data import read_protein_folds
from oracle_opt.errors import DataUnavailable
from oracle_opt.generator import QueryPointGenerator
from oracle_opt.generators import LevelSet, MirrorDescent, ReducedGradient
from oracle_opt.oracles import MKLOracle
from oracle_opt.problems import Instance
from oracle_opt.study.analyses.curves import Curves, points, together
from papers.experiment import Experiment
from papers.experiment_runs import Recipe, add_runs, run_study
from papers.mixnorm_figure1 import figure1
from papers.repetitions import Options, Reproduced, Tally
from papers.sets import HARDWARE, rbf_bank, sets_of, standardized

SETS = {"Sonar": "sonar", "Ionosphere": "ionosphere"}
PAIR = (16, 7)  # the folds with the most proteins
COUNTS = (30, 100, 300, 1000)
C = 100.0
RTOL = 1e-2
MAX_CALLS = 5000
METHODS: dict[str, QueryPointGenerator] = {
    "mirror descent": MirrorDescent(),
    "SimpleMKL": ReducedGradient(),
    "LevelSet": LevelSet(),
}


def _kernels(dataset: Dataset, count: int, seed: int) -> Instance:
    """l1-MKL on all points."""
    (Z,) = standardized(dataset.dense())
    return Instance(MKLOracle(rbf_bank(Z, count), dataset.y, C=C))


def figure2(options: Options) -> Reproduced:
    """Seconds of mirror descent and SimpleMKL against the number of kernels, one group."""
    at_hand = sets_of(SETS, options)
    notes, counts = at_hand.notes, (10, 20) if options.quick else COUNTS
    sets = at_hand.found if options.quick else [*at_hand.found, *_pair_of_classes(options, notes)]
    instances = {
        f"{label}, {count} kernels": Recipe(_kernels, dataset, (count,)) for label, dataset in sets for count in counts
    }
    results, failed = run_study(options, "mixnorm", instances, METHODS, (0,), rtol=RTOL, max_calls=MAX_CALLS)
    tally = Tally()
    for row in instances:
        add_runs(tally, row, results, row, {"seconds": "processor_seconds", "SVMs": "n_calls"}, METHODS)
    parts, ratios, findings = [], [], []
    for label, _ in sets:
        seconds, svms = (
            {
                name: np.array([tally.mean(f"{label}, {count} kernels", f"{quantity}, {name}") for count in counts])
                for name in METHODS
            }
            for quantity in ("seconds", "SVMs")
        )
        gained = seconds["SimpleMKL"] / seconds["mirror descent"]
        more = svms["SimpleMKL"] / svms["mirror descent"]
        level = seconds["mirror descent"] / seconds["LevelSet"]
        ratios += list(gained)
        parts += [points(label, name, np.array(counts, dtype=float), times) for name, times in seconds.items()]
        findings.append(
            f"{label}: from {counts[0]} to {counts[-1]} kernels, SimpleMKL's seconds over those of mirror descent go "
            f"from {gained[0]:.1f} to {gained[-1]:.1f}, its SVMs over those of mirror descent from {more[0]:.1f} to "
            f"{more[-1]:.1f}; mirror descent's seconds over those of LevelSet from {level[0]:.1f} to {level[-1]:.1f}."
        )
    known = [ratio for ratio in ratios if np.isfinite(ratio)]
    tally.add("largest", "speed-up of mirror descent over SimpleMKL", max(known, default=np.nan))
    notes += [
        *failed,
        "the paper's two problems are pairs of classes of its images, which are not at hand; its threshold is not "
        "printed, nor is any value of its curves but the largest speed-up, which stands in section 5",
        HARDWARE,
    ]
    figure = Curves(
        together(parts),
        "Seconds against kernels",
        "kernels",
        "seconds",
        f"Seconds of a run to a proven relative gap of {RTOL:g} against the number of kernels.",
        log_x=True,
        log_y=True,
    )
    return Reproduced(
        tally.rows(),
        tuple(notes),
        figure,
        caption="Mirror descent is `MirrorDescent`, SimpleMKL `ReducedGradient`, both and `LevelSet` on `MKLOracle`: "
        "the mixed norm of one group is l1-MKL. RBF kernels of unit trace on all points, on all features and on each "
        f"alone; C = {C:g}; to a proven relative gap of {RTOL:g}, at most {MAX_CALLS} SVMs a run.",
        findings=tuple(findings),
        absent=at_hand.absent,
    )


def _pair_of_classes(options: Options, notes: list[str]) -> list[tuple[str, Dataset]]:
    """The proteins of the two largest folds; none if they are not at hand."""
    try:
        proteins, folds = load("proteinfold"), read_protein_folds()[0].y
    except DataUnavailable as problem:
        notes.append(f"protein folds were left out: {str(problem).splitlines()[0]}")
        options.say(notes[-1])
        return []
    rows = np.isin(folds, PAIR)
    y = np.where(folds[rows] == PAIR[0], 1.0, -1.0)
    label = f"Protein folds {PAIR[0]} and {PAIR[1]}"
    return [(label, replace(proteins, name="proteinfold_pair", X=proteins.dense()[rows], y=y))]


NATH = "Nath et al. (2009)"

EXPERIMENTS = {
    "mixnorm-figure1": Experiment(
        "mixnorm",
        "figure1",
        f"{NATH}, Figure 1, section 4",
        '"for most object categories, the gains are positive and moreover quite high"; L1-MKL "almost always selected '
        'kernels from one or two components", MixNorm-MKL "from all the components"',
        figure1,
    ),
    "mixnorm-figure2": Experiment(
        "mixnorm",
        "figure2",
        f"{NATH}, Figure 2, section 4, and section 5",
        '"the proposed algorithm outperforms simpleMKL in terms of computational effort", by the number of kernels; '
        '"the speed-up was as high as 12 times in some cases"',
        figure2,
    ),
}
