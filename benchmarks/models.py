"""Models as people bring them, by default: cvxpy problems and public quadratic programs, beside cvxpy with Clarabel.

    ORACLE_OPT_PROBLEMS=folder python benchmarks/models.py [--quick]

Processor seconds from the model to the proven end, in turn, medians of three; the problem is modeled before each.
"""

from statistics import median
from time import process_time

import cvxpy as cp
import numpy as np
from _shared import parser, say, table

from oracle_opt import minimize
from oracle_opt.oracles import ConicOracle

ROUNDS = 3


def portfolio(rng):
    """Markowitz with 100 assets and 10 factors, a limit of leverage."""
    n, m = 100, 10
    F, D, mu = rng.normal(size=(n, m)), rng.uniform(0, 0.9, n), np.abs(rng.normal(size=n))
    w, f = cp.Variable(n), cp.Variable(m)
    risk = cp.sum_squares(f) + cp.sum_squares(cp.multiply(np.sqrt(D), w))
    return cp.Problem(cp.Maximize(mu @ w - 0.5 * risk), [cp.sum(w) == 1, f == F.T @ w, cp.norm(w, 1) <= 2])


def lasso(rng):
    """200 points, 50 variables."""
    A, x = rng.normal(size=(200, 50)), cp.Variable(50)
    return cp.Problem(cp.Minimize(cp.sum_squares(A @ x - rng.normal(size=200)) / 2 + 5 * cp.norm(x, 1)))


def quantiles(rng):
    """A median of 300 points in 10 variables."""
    A, x = rng.normal(size=(300, 10)), cp.Variable(10)
    return cp.Problem(cp.Minimize(cp.norm(A @ x - rng.standard_cauchy(300), 1)))


def logistic(rng):
    """100 points in 10 variables with a ridge."""
    A, x = rng.normal(size=(100, 10)), cp.Variable(10)
    y = np.sign(A @ rng.normal(size=10) + rng.normal(size=100))
    return cp.Problem(cp.Minimize(cp.sum(cp.logistic(-cp.multiply(y, A @ x))) + cp.norm(x)))


def correlation(rng):
    """The nearest correlation matrix of order 12."""
    A, X = rng.normal(size=(12, 12)), cp.Variable((12, 12), PSD=True)
    return cp.Problem(cp.Minimize(cp.norm(X - (A + A.T) / 2, "fro")), [cp.diag(X) == 1])


def control(rng):
    """20 steps of a linear system with 6 states and 2 inputs."""
    A, B = np.eye(6) - 0.2 * rng.random((6, 6)), rng.normal(size=(6, 2))
    x, u = cp.Variable((6, 21)), cp.Variable((2, 20))
    steps = [x[:, t + 1] == A @ x[:, t] + B @ u[:, t] for t in range(20)]
    return cp.Problem(
        cp.Minimize(cp.sum_squares(x) + cp.sum_squares(u)),
        [*steps, cp.norm_inf(u) <= 1, x[:, 0] == rng.normal(size=6)],
    )


def robust(rng):
    """A linear program of 30 variables with 40 ellipsoids."""
    x = cp.Variable(30)
    rows = [
        rng.normal(size=30) @ x + cp.norm(0.1 * rng.normal(size=(30, 30)) @ x) <= 1 + rng.random() for _ in range(40)
    ]
    return cp.Problem(cp.Maximize(rng.random(30) @ x), [*rows, cp.norm_inf(x) <= 10])


def entropy(rng):
    """The distribution of largest entropy on 60 points with 5 means."""
    A, p = rng.normal(size=(5, 60)), cp.Variable(60)
    return cp.Problem(cp.Maximize(cp.sum(cp.entr(p))), [cp.sum(p) == 1, A @ p == A @ np.full(60, 1 / 60) + 0.05])


MODELS = (portfolio, lasso, quantiles, logistic, correlation, control, robust, entropy)


def main():
    """Measure, and print the table."""
    quick, rows, ratios = parser(__doc__).parse_args().quick, [], []
    for model in MODELS[:2] if quick else MODELS:
        taken = {"cvxpy": [], "ours": [], "verify": []}
        for _ in range(ROUNDS):
            problem = model(np.random.default_rng(0))
            began = process_time()
            problem.solve(solver=cp.CLARABEL)
            taken["cvxpy"].append(process_time() - began)
            problem = model(np.random.default_rng(0))
            began = process_time()
            oracle = ConicOracle.from_cvxpy(problem)
            result = minimize(oracle)
            taken["ours"].append(process_time() - began)
            certificate = result.certificate()
            began = process_time()
            verdict = certificate.verify(oracle)
            taken["verify"].append(process_time() - began)
        theirs, ours, verified = (median(one) for one in taken.values())
        ratios.append(ours / theirs)
        gap = f"{result.relative_gap:.0e}{', proven' if verdict.proven else ''}"
        rows.append((model.__doc__.rstrip("."), result.n_calls, gap, f"{theirs:.3f}", f"{ours:.3f}", f"{verified:.3f}"))
        rows[-1] += (f"{ours / theirs:.1f}",)
        say(" | ".join(map(str, rows[-1])))
    table(("model", "calls", "gap", "cvxpy, s", "ours, s", "verify, s", "ratio"), rows)
    print(f"\nMedian ratio {median(ratios):.1f}, worst {max(ratios):.1f}.")


if __name__ == "__main__":
    main()
