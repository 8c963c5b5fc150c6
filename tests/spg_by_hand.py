"""SPG-GMKL and PGD for a sum of kernels under the squared lp norm, from the paper alone, on scikit-learn's SVM."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
from sklearn.svm import SVC


@dataclass
class Problem:
    """W of (2), its gradient (4) and the dual, at weights d, by an SVM of a tolerance, started anew."""

    kernels: np.ndarray
    y: np.ndarray
    C: float
    p: float
    floor: float  # smaller weights have the slope of this one; 0: the paper's norm as it is written
    solved: int = 0

    def __call__(self, d, tolerance):
        self.solved += 1
        norm = (d**self.p).sum() ** (1 / self.p)
        svm = SVC(C=self.C, kernel="precomputed", tol=tolerance).fit(np.tensordot(d, self.kernels, 1), self.y)
        signed = np.zeros(len(self.y))
        signed[svm.support_] = svm.dual_coef_[0]
        half = 0.5 * (self.kernels @ signed @ signed)
        q, linear = self.p / (self.p - 1), np.abs(signed).sum()
        return SimpleNamespace(
            d=d,
            W=linear - d @ half + 0.5 * norm**2,
            gradient=norm ** (2 - self.p) * np.maximum(d, self.floor) ** (self.p - 1) - half,
            dual=linear - 0.5 * half.max() ** 2 * ((half / half.max()) ** q).sum() ** (2 / q),
        )


def spg_gmkl(problem, start, rtol, most):
    """Algorithm 1: (6) to (13), until the gap of W and the dual is small or so many SVMs are solved."""
    tolerance = 1e-1
    now = problem(start, tolerance)
    reference, total, eta = now.W, 1.0, 1.0
    length = 1 / np.abs(now.gradient).max()
    while now.W - now.dual > rtol * now.W and problem.solved < most:
        u, v = now.W - now.dual, np.linalg.norm(np.maximum(now.d - now.gradient, 0) - now.d)
        tolerance = min(tolerance, 1e-3 if u < 0.1 or v < 1 else 1e-2 if u < 1 or v < 5 else 1e-1)  # (13)
        step = now.d - np.maximum(now.d - length * now.gradient, 0)  # (8)
        share, slope = 1.0, now.gradient @ step
        while problem.solved < most:
            trial = problem(now.d - share * step, tolerance)
            if reference - 1e-4 * share * slope >= trial.W:  # (10)
                break
            share /= 2
            if share < 1e-8:
                tolerance, share = max(tolerance / 10, 1e-5), 1.0
        gained = (now.W - trial.W) / (share * slope)
        eta = float(np.clip(eta + 0.025 * ((gained > 0.5) - float(gained < 0.1)), 0.1, 1))
        total, weight = eta * total + 1, eta * total  # (11)
        reference = (weight * reference + trial.W) / total  # (12)
        moved, turned = trial.d - now.d, trial.gradient - now.gradient
        curvature = moved @ turned
        length = float(np.clip(moved @ moved / curvature, 1e-30, 10)) if curvature > 0 else 10.0  # (6)
        now = trial
    return SimpleNamespace(value=now.W, gap=(now.W - now.dual) / now.W, solved=problem.solved)


def pgd(problem, start, rtol, most, tolerance):
    """Projected gradient descent with Armijo's rule (5): each search begins with length 1 and may go on to 1e-64."""
    now, longest = problem(start, tolerance), 0
    while now.W - now.dual > rtol * now.W and problem.solved < most:
        length, first = 1.0, problem.solved
        while problem.solved < most:
            trial = problem(np.maximum(now.d - length * now.gradient, 0), tolerance)
            if length < 1e-64 or now.W + 1e-4 * now.gradient @ (trial.d - now.d) >= trial.W:
                break
            length /= 2
        longest = max(longest, problem.solved - first)
        now = trial
    return SimpleNamespace(value=now.W, gap=(now.W - now.dual) / now.W, solved=problem.solved, longest_search=longest)
