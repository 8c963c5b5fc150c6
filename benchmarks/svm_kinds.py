"""The other kinds of support vector machines against scikit-learn's, on the same precomputed kernels, on one thread.

    python benchmarks/svm_kinds.py [--quick]

Prints a Markdown table; progress goes to stderr. Solves from scratch: epsilon-SVR against SVR, one-class against
OneClassSVM, class weights against SVC, and the squared hinge, which libsvm has not, against SVC without a bound on the
kernel plus its ridge. The kernel is the sum of the 13 (d + 1) kernels of the other benchmarks, of mean diagonal 1.
Times are processor times of the thread, medians of rounds in which both take their turn. Ours ends at a relative gap of
1e-12, the peer at a violation of 1e-5; "behind" is how far the peer's dual objective is below ours, relative to it.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from _shared import in_turn, parser, say, table, training_part
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR, OneClassSVM
from threadpoolctl import threadpool_limits

from oracle_opt.oracles import uci_bank
from oracle_opt.oracles.svm import EpsilonInsensitive, OneClass, SquaredHinge, SVMSolution, solve_csvc, solve_svm

ROUNDS = 7
PEER = {"kernel": "precomputed", "tol": 1e-5, "max_iter": 1_000_000}
OURS = {"accuracy": 1e-12, "tolerance": 1e-9, "check": False}
UNBOUNDED = 1e9  # C of a peer without an upper bound on its dual variables
HEADINGS = (
    "kind",
    "data",
    "n",
    "parameters",
    "ours, ms",
    "scikit-learn, ms",
    "ratio",
    "steps",
    "Newton",
    "gap",
    "behind",
)


@dataclass(frozen=True)
class Case:
    """A problem, the two calls that solve it, and the dual objective of a peer that was fitted."""

    words: tuple[str, str, int, str]
    ours: Callable[[], SVMSolution]
    peer: Callable[[], SVC | SVR | OneClassSVM]
    objective: Callable[[np.ndarray], float]


def sum_of_kernels(X):
    """Equal weights, mean diagonal 1."""
    bank = uci_bank(X)
    return bank.combine(np.full(bank.n_kernels, len(X) / bank.n_kernels))


def regressions(quick):
    """Standardized targets: those of patients, and of Friedman's first function with noise."""
    yield "diabetes", *load_diabetes(return_X_y=True)
    if not quick:
        yield "friedman1", *make_friedman1(600, noise=1.0, random_state=0)


def svr_cases(quick):
    """Epsilon-support vector regression."""
    for name, X, t in regressions(quick):
        K, t = sum_of_kernels(X), (t - t.mean()) / t.std()
        for C in (1.0, 100.0):
            yield Case(
                ("epsilon-SVR", name, len(t), f"C {C:g}, epsilon 0.1"),
                lambda K=K, t=t, C=C: solve_svm(K, t, EpsilonInsensitive(C, 0.1), **OURS),
                lambda K=K, t=t, C=C: SVR(C=C, epsilon=0.1, **PEER).fit(K, t),
                lambda b, K=K, t=t: t @ b - 0.1 * np.abs(b).sum() - 0.5 * b @ K @ b,
            )


def classification_cases(name):
    """One class, two classes of unequal weight, squared hinge."""
    X, y = training_part(name)
    K, n = sum_of_kernels(X), len(y)
    for nu in (0.1, 0.5):
        yield Case(
            ("one-class", name, n, f"nu {nu:g}"),
            lambda nu=nu: solve_svm(K, loss=OneClass(nu), **OURS),
            lambda nu=nu: OneClassSVM(nu=nu, **PEER).fit(K),
            lambda a: -0.5 * a @ K @ a,
        )
    for C in (1.0, 100.0):
        bounds = C * np.where(y > 0, 5.0, 1.0)
        yield Case(
            ("class weights", name, n, f"C {C:g}, 5 to 1"),
            lambda bounds=bounds: solve_csvc(K, y, bounds, **OURS),
            lambda C=C: SVC(C=C, class_weight={1: 5.0, -1: 1.0}, **PEER).fit(K, y),
            lambda b: y @ b - 0.5 * b @ K @ b,
        )
        ridged = K + np.diag(np.full(n, 0.5 / C))
        yield Case(
            ("squared hinge", name, n, f"C {C:g}"),
            lambda C=C: solve_svm(K, y, SquaredHinge(C), **OURS),
            lambda ridged=ridged: SVC(C=UNBOUNDED, **PEER).fit(ridged, y),
            lambda b, ridged=ridged: y @ b - 0.5 * b @ ridged @ b,
        )


def row(case, rounds):
    """Times in turn, and how good both answers are."""
    ours, peer = in_turn(case.ours, case.peer, rounds=rounds)
    solution, fitted = case.ours(), case.peer()
    b = np.zeros(case.words[2])
    b[fitted.support_] = fitted.dual_coef_[0]
    behind = (solution.dual_objective - case.objective(b)) / abs(solution.dual_objective)
    times = f"{ours:.3f}", f"{peer:.3f}", f"{peer / ours:.1f}"
    quality = solution.n_steps, solution.n_newton, f"{solution.relative_gap:.0e}", f"{behind:.0e}"
    return *case.words, *times, *quality


def main():
    """Print the table."""
    quick = parser(__doc__.splitlines()[0]).parse_args().quick
    names = ("wdbc",) if quick else ("sonar", "ionosphere", "wdbc", "pima")
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        cases = [*svr_cases(quick), *(case for name in names for case in classification_cases(name))]
        for case in cases:
            say(case.words)
            rows.append(row(case, 3 if quick else ROUNDS))
    table(HEADINGS, sorted(rows, key=lambda cells: cells[0]))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
