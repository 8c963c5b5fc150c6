"""Tests on ranks: Friedman's, Wilcoxon's with its exact distribution, and Holm's correction."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from oracle_opt.arrays import Matrix, Vector

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_EXACT = 200  # differences up to which the distribution of Wilcoxon's statistic is computed


def ranks_of(costs: Matrix) -> Matrix:
    """Ranks within each row, from 1 for the least; equal entries, also infinite ones, share their mean rank."""
    from scipy.stats import rankdata

    ranks: Matrix = np.asarray(rankdata(costs, axis=1), dtype=float)
    return ranks


def friedman(ranks: Matrix) -> float:
    """Probability of mean ranks so far apart if all columns were alike: Friedman's test, corrected for ties.

    ``(k - 1) sum_j (R_j - N (k + 1) / 2)^2 / (sum of squared ranks - N k (k + 1)^2 / 4)`` is about chi-squared.
    """
    from scipy.stats import chi2

    n, k = ranks.shape
    spread = float((ranks**2).sum() - n * k * (k + 1) ** 2 / 4)
    if spread <= 1e-9:  # all are equal on all problems
        return 1.0
    statistic = (k - 1) * ((ranks.sum(axis=0) - n * (k + 1) / 2) ** 2).sum() / spread
    return float(chi2.sf(statistic, k - 1))


def nemenyi(n: int, k: int, alpha: float) -> float:
    """Nemenyi's critical difference of mean ranks, ``q sqrt(k (k + 1) / (6 N))`` (Demsar 2006)."""
    from scipy.stats import studentized_range

    return float(studentized_range.ppf(1 - alpha, k, np.inf)) / sqrt(2) * sqrt(k * (k + 1) / (6 * n))


def log_ratios(first: Vector, second: Vector) -> Vector:
    """``log(first / second)``; 0 where both are infinite, and beyond all others where one is."""
    both = np.isinf(first) & np.isinf(second)
    one = np.isinf(first) != np.isinf(second)
    found = np.zeros(len(first))
    neither = ~both & ~one
    found[neither] = np.log(first[neither] / second[neither])
    found[one] = (np.abs(found).max(initial=0.0) + 1.0) * np.where(np.isinf(first[one]), 1.0, -1.0)
    return found


def wilcoxon_p(differences: Vector) -> float:
    """Two-sided probability of Wilcoxon's signed-rank test; zeros are ranked and split evenly (Pratt; Demsar 2006).

    The distribution is that of all signs of these ranks, ties included, up to 200 differences, and normal beyond.
    """
    from scipy.stats import norm, rankdata

    ranks = np.asarray(rankdata(np.round(np.abs(differences), 12)))
    signs = np.sign(np.round(differences, 12))
    doubled = np.rint(2 * ranks[signs != 0]).astype(int)  # mean ranks are multiples of a half
    positive = int(np.rint(2 * ranks[signs > 0].sum()))
    total = int(doubled.sum())
    if total == 0:
        return 1.0
    off = abs(2 * positive - total)
    if len(doubled) > MOST_EXACT:
        return float(2 * norm.sf(off / sqrt(float((doubled.astype(float) ** 2).sum()))))
    chances = np.zeros(total + 1)  # of each sum of positive ranks, doubled
    chances[0] = 1.0
    for rank in doubled:
        shifted = np.zeros_like(chances)
        shifted[rank:] = chances[: total + 1 - rank]
        chances = 0.5 * (chances + shifted)
    return min(1.0, float(chances[np.abs(2 * np.arange(total + 1) - total) >= off].sum()))


def holm(probabilities: Sequence[float]) -> Vector:
    """Holm's corrected probabilities: the i-th smallest of m times m - i + 1, never below those before it."""
    values = np.asarray(probabilities, dtype=float)
    order = np.argsort(values, kind="stable")
    corrected = np.empty(len(values))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)))
    return corrected


def cliques_of(alike: np.ndarray) -> list[tuple[int, int]]:
    """Largest ranges of places in which all are alike, of two and more; first and last place of each."""
    found: list[tuple[int, int]] = []
    for first in range(len(alike)):
        last = first
        while last + 1 < len(alike) and alike[first : last + 2, first : last + 2].all():
            last += 1
        if last > first and not (found and found[-1][1] >= last):
            found.append((first, last))
    return found
