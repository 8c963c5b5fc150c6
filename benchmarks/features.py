"""Explicit features in place of kernels: how many it takes to be as right as the exact way, and what they cost.

    ORACLE_OPT_DATA=folder python benchmarks/features.py [--quick]

Prints a Markdown table; progress goes to stderr. The same l1-MKL problem is solved to a relative gap of 1e-3, without
a combined kernel: exactly, and with m features for each kernel, by Nystroem's method on m random points or by random
Fourier features. Of an answer from features the dual variables and weights are then put into the exact problem: how
far its primal value is above, and its dual bound below, the exact optimum is what the features cost in truth. Their own
proven gap is that of the approximate problem and says nothing of this. Seconds are the processor's, one thread, of
making kernels or features and solving; looking at the truth is not in them.
"""

from time import process_time

import numpy as np
from _scale_rows import ADULT, COD, FOREST, MEMORY_BUDGET, SAME, Problem, bank_of, missing, points_of
from _shared import parser, say, table
from _verified import print_certificates, verified
from scipy.linalg import cholesky, solve_triangular
from threadpoolctl import threadpool_limits

from oracle_opt import minimize
from oracle_opt.arrays import EPS
from oracle_opt.generators import NewtonBundle
from oracle_opt.oracles import KernelBank, MKLOracle

HEADINGS = ("points", "C", "method", "m", "s", "own gap", "primal above", "dual below", "true gap")
JITTER = 1e-6
ROWS = 8192


class Features(KernelBank):
    """Kernels ``F_k @ F_k.T / n`` of stored features F_k, float32; products are summed in double precision."""

    def __init__(self, features):
        self.features = features
        self.n_kernels, self.n_points = len(features), len(features[0])
        # Features are what they are, so an entry is wrong by the rounding of a sum of m products alone.
        self.exactness = 0.5 * EPS * (features[0].shape[1] + 8)

    def subset(self, kernels):
        """Some of them."""
        return Features([self.features[k] for k in kernels])

    def combine(self, weights, out=None):
        """Made of a block of all points."""
        points = np.arange(self.n_points)
        total = self.block(weights, points, points)
        if out is None:
            return total
        out[:] = total
        return out

    def block(self, weights, rows, columns):
        """Entries of the weighted sum."""
        total = np.zeros((len(rows), len(columns)))
        for F, w in zip(self.features, weights, strict=True):
            if w:
                total += (w / self.n_points) * (F[rows].astype(float) @ F[columns].T.astype(float))
        return total

    def row_products(self, rows, v):
        """First the features times v, then rows of them times that."""
        used, products = np.flatnonzero(v), np.empty((len(rows), self.n_kernels))
        for k, F in enumerate(self.features):
            z = sum(F[part].T.astype(float) @ v[part] for part in _parts(used)) if used.size else np.zeros(F.shape[1])
            at = 0
            for part in _parts(np.asarray(rows)):
                products[at : at + part.size, k] = F[part].astype(float) @ z
                at += part.size
        return products / self.n_points

    def quadratic_forms(self, v):
        """Squared norms of the features times v."""
        used = np.flatnonzero(v)
        sums = [sum(F[part].T.astype(float) @ v[part] for part in _parts(used)) for F in self.features]
        return np.array([np.sum(z * z) for z in sums]) / self.n_points

    def entries(self, rows, columns):
        """Of each kernel."""
        units = np.eye(self.n_kernels)
        return np.stack([self.block(unit, rows, columns) for unit in units], axis=-1)

    def diagonal(self):
        """Squared norms of the points' features."""
        return np.stack([np.einsum("ij,ij->i", F, F, dtype=float) for F in self.features], axis=1) / self.n_points

    def cross(self, new, weights):
        """Nothing is predicted here."""
        raise NotImplementedError

    def digest(self):
        """No journal is kept here."""
        return "features"


def _parts(indices):
    return [indices[start : start + ROWS] for start in range(0, len(indices), ROWS)]


def nystroem(X, bank, m, rng):
    """``K_k[:, L] @ T.T`` with ``T' T = inv(K_k[L, L])``, L random points."""
    chosen = np.sort(rng.choice(len(X), m, replace=False))
    features = []
    for k in range(bank.n_kernels):
        kernel = bank.subset([k])
        square = kernel.block(np.ones(1), chosen, chosen) * len(X)
        square.flat[:: m + 1] += JITTER
        T = solve_triangular(cholesky(square, lower=True), np.eye(m), lower=True).astype(np.float32)
        F = np.empty((len(X), m), np.float32)
        for part in _parts(np.arange(len(X))):
            F[part] = (kernel.block(np.ones(1), part, chosen) * len(X)).astype(np.float32) @ T.T
        features.append(F)
    return Features(features)


def fourier(X, bank, m, rng):
    """Cosines and sines of ``X @ W / s``, W normal, the same for all widths s."""
    turns = np.asarray(X, dtype=np.float32) @ rng.standard_normal((X.shape[1], m // 2)).astype(np.float32)
    features = []
    for s in np.concatenate(bank.widths):
        angles = turns / np.float32(s)
        features.append(np.hstack([np.cos(angles), np.sin(angles)]) * np.float32((2 / m) ** 0.5))
    return Features(features)


def solved(bank, y, C):
    """The l1 optimum, to the gap."""
    oracle = MKLOracle(bank, y, C=C, memory_budget=MEMORY_BUDGET)
    return oracle, minimize(oracle, NewtonBundle(), rtol=1e-3, max_calls=200)


def truth(bank, y, C, result):
    """Primal value and dual bound of the exact problem at the dual variables and weights of an answer."""
    v, d = result.cut.extras["signed_dual"], result.point
    M = np.concatenate([bank.row_products(part, v) for part in _parts(np.arange(len(y)))])
    decision, S = M @ d, v @ M
    # The best bias is a point where the slope of the hinge losses, -1 for each label +1 below its margin, turns.
    margins = np.sort(y - decision)
    bias = margins[min(np.count_nonzero(y > 0), len(y) - 1)]
    primal = 0.5 * (v @ decision) + C * np.maximum(0.0, 1.0 - y * (decision + bias)).sum()
    linear, largest = y @ v, S.max()
    multiple = min(1.0, linear / largest)
    return primal, multiple * linear - 0.5 * multiple**2 * largest


def rows(problem, sizes):
    """Lines of the table for one problem."""
    X, y = points_of(problem)
    start = process_time()
    bank = bank_of(problem, X)
    oracle, exact = solved(bank, y, problem.C)
    found = [("exact", "", process_time() - start, exact, None)]
    verified(exact, oracle)
    for m in sizes:
        for name, make in (("Nystroem", nystroem), ("Fourier", fourier)):
            start = process_time()
            oracle, result = solved(make(X, bank, m, np.random.default_rng(0)), y, problem.C)
            found.append((name, m, process_time() - start, result, truth(bank, y, problem.C, result)))
            verified(result, oracle)
    best = 0.5 * (exact.upper_bound + exact.lower_bound)
    lines = []
    for name, m, seconds, result, true in found:
        primal, dual = true or (exact.upper_bound, exact.lower_bound)
        figures = (primal / best - 1, 1 - dual / best, (primal - dual) / primal)
        label = f"{problem.data}, {len(y):,} x {bank.n_kernels}"
        cells = label, f"{problem.C:g}", name, m, f"{seconds:.3g}", f"{result.relative_gap:.0e}"
        lines.append((*cells, *(f"{figure:.1e}" for figure in figures)))
        say(" | ".join(map(str, lines[-1])))
    return lines


def problems(quick):
    """Problems and numbers of features."""
    if quick:
        yield Problem(FOREST, SAME, 3, n=600, C=10.0), (50,)
        return
    for n in (10_000, 20_000, 40_000, 80_000):
        yield Problem(FOREST, SAME, 5, n=n, C=1000.0), (500,)
    for data in (ADULT, COD):
        for C in (100.0, 8000.0):
            yield Problem(data, SAME, 20, n=8000, C=C), (250, 1000)


def main():
    """Print the table."""
    chosen = parser(__doc__.splitlines()[0]).parse_args()
    lines = []
    for problem, sizes in problems(chosen.quick):
        reason = missing(problem)
        if reason:
            print(f"Left out: {problem.data}, as {reason}\n")
            continue
        lines += rows(problem, sizes)
    table(HEADINGS, lines)
    print_certificates()


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
