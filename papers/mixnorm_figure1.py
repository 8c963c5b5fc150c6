"""Nath et al. (2009), Figure 1 and section 4: accuracy and sparsity of mixed norms against L1-MKL and L2-MKL."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from oracle_opt.arrays import Vector, digest
from oracle_opt.datasets import KernelData, load_kernels
from oracle_opt.files import atomic_text
from oracle_opt.study.analyses.curves import Curves, points, together
from papers.mixnorm_classes import (
    CONSTANTS,
    FOLDS,
    MAX_CALLS,
    METHODS,
    RTOL,
    TIGHT,
    Votes,
    chosen,
    draw,
    one_against_one,
)
from papers.repetitions import Options, Reproduced, Tally
from papers.sets import HARDWARE, read_each, sets_of


@dataclass(frozen=True)
class Split:
    """How the points of a set are split: of each class so many to train and to test, None for all others."""

    name: str
    n_train: int
    n_test: int | None
    splits: int


SETS = {
    "Protein folds": Split("proteinfold", 8, None, 3),  # the smallest fold has twelve proteins
    "Caltech-5": Split("caltech5", 50, 50, 10),
    "Caltech-101": Split("caltech101", 15, 15, 3),
    "Oxford flowers": Split("oxford_flowers", 60, 20, 10),
}
MIXED, OTHERS = "MixNorm-MKL", ("L1-MKL", "L2-MKL")


def figure1(options: Options) -> Reproduced:
    """Gains of the mixed norm class by class, and how sparse each norm is."""
    sets, notes, absent = _sets(options)
    tally, parts, findings = Tally(), [], []
    for label, data, split in sets:
        outcomes = _outcomes(options, label, data, split)
        for found in outcomes:
            _count(tally, label, found)
        gains = {other: _gains(outcomes, other) for other in OTHERS}
        for other, of_classes in gains.items():
            known = of_classes[np.isfinite(of_classes)]
            tally.add(label, f"average gain %, over {other}", float(known.mean()) if known.size else np.nan)
            tally.add(label, f"largest gain %, over {other}", float(known.max()) if known.size else np.nan)
            numbers = np.arange(1.0, len(of_classes) + 1)
            parts.append(points(f"{label}, over {other}", other, numbers, of_classes))
        for k, name in enumerate(data.classes):
            for other in OTHERS:
                tally.add(f"{label}, class {name}", f"gain %, over {other}", float(gains[other][k]))
        findings += _findings(tally, label, data, gains)
    figure = Curves(
        together(parts),
        "Gains of the mixed norm",
        "class",
        "gain %",
        "Gain of MixNorm-MKL in accuracy, in per cent of the other's, class by class; means over the splits.",
        kind="points",
        threshold=0.0,
    )
    return Reproduced(
        tally.rows(),
        (
            *notes,
            "the paper prints neither the widths of its kernels, nor C, nor when its runs end, nor from which weight a "
            "kernel counts; it says neither over which sets its sparsity is averaged",
            HARDWARE,
        ),
        figure,
        caption=(
            "Groups are views, each of nine Gaussian kernels exp(-D/w) of unit trace, D the squared distance and w "
            "from 1/16 to 16 times its mean in powers of two; pairs of classes, one against one, vote. MixNorm-MKL is "
            "`MixedNormOracle(groups=..., max_solves=1)` with `MirrorDescent`, the paper's alternation; L1-MKL is "
            f"`MKLOracle` with `ReducedGradient`, SimpleMKL; both to a proven relative gap of {RTOL:g}. L2-MKL is the "
            f"SVM on the sum of all kernels. By LevelSet: the same problems with `LevelSet`, to {TIGHT:g}, with the "
            f"same C. At most {MAX_CALLS} calls a pair. C is one of {', '.join(f'{C:g}' for C in CONSTANTS)}, for each "
            f"norm and split by {FOLDS}-fold cross-validation on the training points (with `LevelSet`, to {RTOL:g}). "
            f"{_of_splits(options, sets)} Accuracy: mean over the classes. A weight counts as zero below 1e-3 of the "
            "largest of its pair. Gain: by how many per cent the mean accuracy of a class is above that of the other "
            "norm."
        ),
        findings=tuple(findings),
        absent=absent,
    )


def _sets(options: Options) -> tuple[list[tuple[str, KernelData, Split]], list[str], tuple[str, ...]]:
    """The sets at hand, why others are not, and their labels."""
    if options.quick:
        quick = sets_of({}, options)
        ((label, part),) = quick.found
        X = part.dense()
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        squares = (X.T[:, :, None] - X.T[:, None, :]) ** 2
        kernels = np.array([np.exp(-D / (2.0 * w)) for D in squares for w in (0.1, 1.0, 10.0)])
        groups = tuple(tuple(range(3 * k, 3 * k + 3)) for k in range(len(squares)))
        data = KernelData(label, kernels, groups, part.y, part.source)
        return [(label, data, Split(label, 10, None, 1))], quick.notes, ()
    names = {label: split.name for label, split in SETS.items()}
    found, notes, absent = read_each(names, load_kernels, options)
    return [(label, data, SETS[label]) for label, data in found], notes, absent


def _of_splits(options: Options, sets: list[tuple[str, KernelData, Split]]) -> str:
    """Say how the sets were split."""
    sentences = []
    for label, data, split in sets:
        tested = "all others" if split.n_test is None else f"{split.n_test}"
        sentences.append(
            f"{label}: {len(data.classes)} classes, {len(data.groups)} groups, {len(data.kernels)} kernels; of each "
            f"class {split.n_train} points train and {tested} are tested, {options.repeats(split.splits)} splits."
        )
    return " ".join(sentences)


def _outcomes(options: Options, label: str, data: KernelData, split: Split) -> list[dict[str, Votes]]:
    """Outcomes of all methods on each split, read where they are kept."""
    content = digest(data.kernels, np.unique(data.y, return_inverse=True)[1])
    found = []
    for number in range(options.repeats(split.splits)):
        seed = options.seed + number
        limits = f"{CONSTANTS}, {FOLDS}, {RTOL}, {TIGHT}, {MAX_CALLS}, {list(METHODS)}"
        identity = f"{content}, {split.n_train}, {split.n_test}, {seed}, {limits}"
        path = options.folder / "mixnorm-classes-runs" / f"{data.name}-{seed}.json"
        options.say(f"{label}: split {number}")
        found.append(_kept(path, identity, partial(_split_outcomes, data, split, seed)))
    return found


def _split_outcomes(data: KernelData, split: Split, seed: int) -> dict[str, Votes]:
    train, test = draw(data, split.n_train, split.n_test, seed)
    constants = {norm: chosen(data, train, norm, seed) for norm in (MIXED, *OTHERS)}
    return {
        name: one_against_one(data, train, test, method, constants[method.norm]) for name, method in METHODS.items()
    }


def _kept(path: Path, identity: str, make: Callable[[], dict[str, Votes]]) -> dict[str, Votes]:
    """Read outcomes from a file, or make them and write it."""
    if path.is_file():
        stored = json.loads(path.read_text(encoding="utf-8"))
        if stored["identity"] == identity:
            return {name: Votes(**figures) for name, figures in stored["outcomes"].items()}
    outcomes = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = {"identity": identity, "outcomes": {name: asdict(outcome) for name, outcome in outcomes.items()}}
    atomic_text(path, json.dumps(kept))
    return outcomes


def _count(tally: Tally, label: str, found: dict[str, Votes]) -> None:
    for name, outcome in found.items():
        figures = {
            "accuracy %": 100 * float(np.mean(outcome.accuracies)),
            "zero weights %": 100 * outcome.zero,
            "groups of a pair": outcome.groups,
            "pairs with at most two groups %": 100 * outcome.few,
            "log10 of C": float(np.log10(outcome.C)),
            "pairs that reached the gap %": 100 * outcome.converged,
            "SVMs of a pair": outcome.n_svms,
            "seconds": outcome.seconds,
        }
        for quantity, value in figures.items():
            tally.add(label, f"{quantity}, {name}", value)


def _gains(outcomes: list[dict[str, Votes]], other: str) -> Vector:
    """Gain of the mixed norm in each class, of the mean accuracies; NaN where the other's is 0."""
    mixed, less = (np.mean([found[name].accuracies for found in outcomes], axis=0) for name in (MIXED, other))
    gains: Vector = 100 * np.divide(mixed - less, less, out=np.full_like(less, np.nan), where=less > 0)
    return gains


def _findings(tally: Tally, label: str, data: KernelData, gains: dict[str, Vector]) -> list[str]:
    sentences = []
    for other, of_classes in gains.items():
        above, below = int((of_classes > 0).sum()), int((of_classes < 0).sum())
        sentences.append(
            f"{label}: the mixed norm is above {other} in {above} of {len(of_classes)} classes and below in {below}; "
            f"its average gain is {tally.mean(label, f'average gain %, over {other}'):.2f} %."
        )
    parts = []
    for name in (MIXED, "L1-MKL", "L1-MKL by LevelSet"):
        mean = tally.mean(label, f"groups of a pair, {name}")
        few = tally.mean(label, f"pairs with at most two groups %, {name}")
        parts.append(f"{name} of {mean:.1f} groups on average, of one or two in {few:.0f} % of the pairs")
    sentences.append(f"{label}: of {len(data.groups)} groups, kernels are taken by {'; by '.join(parts)}.")
    return sentences
