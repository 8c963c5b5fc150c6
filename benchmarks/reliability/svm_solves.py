"""Random support vector machines of all kinds: everything an answer states, recomputed in long double.

A trial is one solve. Of each problem come several: cold to accuracies from 1e-2 to 0, and warm from a neighbor's
answer, a disturbed one or noise. Checked in `np.longdouble`: dual and primal value, gap, gradient and sum of the point
that is returned; that no solve contradicts another, nor scikit-learn, nor the accuracy it claims; that a looser
accuracy takes no more steps than a tighter one but for a few passes over the points.
"""

import warnings

import numpy as np

from oracle_opt import Refuted
from oracle_opt.oracles import GMKLOracle, GramBank, LpRegularizer
from oracle_opt.oracles.mkl import SMOMKL, NewtonMKL, solve_lp_mkl
from oracle_opt.oracles.svm import EpsilonInsensitive, Hinge, OneClass, SquaredHinge, SVMStatus, solve_svm

UNIT = "solves"
FULL = 100_000
SMALL = 400
ACCURACIES = (1e-2, 1e-4, 1e-6, 1e-9, 1e-12, 0.0)
EPS, LONG = float(np.finfo(float).eps), float(np.finfo(np.longdouble).eps)
MAX_STEPS = 300_000
SHARE_MKL, SHARE_PEER = 0.03, 0.1


def long(x):
    """As long double."""
    return np.asarray(x, dtype=np.longdouble)


def points(rng, most=60):
    """Random points, a few of them, many of few values."""
    n, d = int(rng.integers(2, 6) if rng.random() < 0.1 else rng.integers(5, most)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, d))
    return np.round(2 * X) / 2 if rng.random() < 0.2 else X


def rbf(X, width):
    """Gaussian kernel."""
    return np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / (2 * width**2))


def gram(X):
    """Linear kernel."""
    return X @ X.T


def kernel(rng, X=None):
    """A kernel of a random family, and its name."""
    X = points(rng) if X is None else X
    n = len(X)
    families = {
        "rbf": lambda: rbf(X, 10.0 ** rng.uniform(-1, 1)),
        "wide rbf": lambda: rbf(X, 10.0 ** rng.uniform(1, 4)),
        "float32": lambda: (rbf(X, 10.0 ** rng.uniform(-1, 1)) + 1e-4 * np.eye(n)).astype(np.float32),
        "unit trace": lambda: rbf(X, 10.0 ** rng.uniform(-1, 1)) / n,
        "linear": lambda: gram(X),
        "scaled": lambda: 10.0 ** rng.uniform(-8, 8) * gram(X),
        "polynomial": lambda: (
            (10.0 ** rng.uniform(-2, 2) * gram(X) + 10.0 ** rng.uniform(-1, 3)) ** int(rng.integers(2, 5))
        ),
        "far from 0": lambda: gram(X + 10.0 ** rng.uniform(1, 4)),
        "constant": lambda: np.full((n, n), 10.0 ** rng.uniform(-3, 3)),
        "zero": lambda: np.zeros((n, n)),
        "identity": lambda: 10.0 ** rng.uniform(-3, 3) * np.eye(n),
        "twins": lambda: rbf(np.repeat(X[: (n + 1) // 2], 2, axis=0)[:n], 10.0 ** rng.uniform(-1, 1)),
        "decades": lambda: rbf(X, 1.0) * np.multiply.outer(*(2 * [10.0 ** rng.uniform(-3, 3, n)])),
        "blocks": lambda: np.kron(np.eye(n), np.ones((3, 3)))[:n, :n],
    }
    name = str(rng.choice(list(families)))
    K = families[name]()
    return (K + K.T) / 2, name


class Problem:
    """One kind of machine: how it is solved, and its two objectives."""

    def __init__(self, rng, K):
        self.K, self.n = K, len(K)
        self.linear, self.epsilon, self.total, self.squared = np.zeros(self.n), 0.0, 0.0, False
        self.kind = str(rng.choice(["hinge", "hinge", "squared hinge", "regression", "one class"]))
        self.C = 10.0 ** rng.uniform(-4, 8) * np.ones(self.n)
        if rng.random() < 0.3:
            self.C *= rng.uniform(0.1, 10.0, self.n)
        if "hinge" in self.kind:
            self.linear = np.where(rng.random(self.n) < rng.uniform(0.1, 0.9), 1.0, -1.0)
            self.linear[:2] = 1.0, -1.0
            if rng.random() < 0.3:  # weighted classes
                self.C *= np.where(self.linear > 0, 10.0 ** rng.uniform(-2, 2), 1.0)
            self.squared = self.kind != "hinge"
        elif self.kind == "regression":
            self.linear = 10.0 ** rng.uniform(-3, 3) * (rng.normal(size=self.n) + rng.choice([0.0, 1.0, 1e4]))
            self.epsilon = float(rng.choice([0.0, 0.01, 0.3, 3.0])) * float(np.std(self.linear))
        else:
            self.nu, self.C = float(rng.choice([rng.uniform(1e-3, 1), 0.5, 1.0])), np.ones(self.n)
            self.total = self.nu * self.n

    def solve(self, **options):
        """Solve by the library."""
        options = {"max_steps": MAX_STEPS, **options}
        if self.kind == "regression":
            return solve_svm(self.K, self.linear, EpsilonInsensitive(self.C, self.epsilon), **options)
        if self.kind == "one class":
            return solve_svm(self.K, loss=OneClass(self.nu), **options)
        loss = SquaredHinge(self.C) if self.squared else Hinge(self.C)
        return solve_svm(self.K, self.linear, loss, **options)

    def box(self):
        """Bounds of the signed duals."""
        if self.kind == "regression":
            return -self.C, self.C
        y = np.ones(self.n) if self.kind == "one class" else self.linear
        C = np.full(self.n, np.inf) if self.squared else self.C
        return np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)

    def objectives(self, b, bias):
        """Dual objective at b, primal one of b and the bias, and the gradient: in long double, by the definitions."""
        b, bias, C = long(b), np.longdouble(bias), long(self.C)
        f = long(self.K) @ b
        half = 0.5 * (b @ f)
        linear = long(self.linear)
        dual = linear @ b - long(self.epsilon) * np.abs(b).sum() - half
        if self.kind == "one class":
            return dual, half + long(self.total) * bias + np.maximum(0, -(f + bias)).sum(), linear - f
        if self.kind == "regression":
            loss = C * np.maximum(0, np.abs(linear - f - bias) - long(self.epsilon))
            return dual, half + loss.sum(), linear - f
        hinge = np.maximum(0, 1 - linear * (f + bias))
        if not self.squared:
            return dual, half + (C * hinge).sum(), linear - f
        return dual - (b * b / (4 * C)).sum(), half + (C * hinge**2).sum(), linear - f - b / (2 * C)

    def size(self, b, bias):
        """What the terms of the objectives add up to in absolute value, up to a factor."""
        K, b = np.abs(self.K.astype(float)), np.abs(b)
        f = K @ b + abs(bias) + np.abs(self.linear) + self.epsilon
        loss = self.C * f * (f if self.squared else 1.0)
        return b @ f + loss.sum() + self.total * abs(bias)

    def within_reach(self):
        """Whether the optimum is of a problem that double precision can tell from its neighbors."""
        return float(np.max(self.C)) * float(self.K.diagonal().max()) <= 1e10 * max(1.0, np.ptp(self.linear))

    def indefinite(self, length):
        """What eigenvalues below 0 by rounding make of the duality of two points that are so far apart."""
        values = np.linalg.eigvalsh(self.K.astype(float))
        return (max(-values[0], 0.0) + self.n * EPS * abs(values[-1])) * length**2

    def rounding(self, b):
        """What floating point may make of an entry of the gradient: a generous bound, shape (n,)."""
        diagonal = self.K.diagonal().astype(float) + (0.5 / self.C if self.squared else 0.0)
        root = np.sqrt(np.maximum(diagonal, 0)) + 1e-7 * np.sqrt(diagonal.max())
        size = np.abs(self.linear).max() + self.epsilon + root * (root @ np.abs(b))
        return 16 * EPS * (self.n + 40) * size


def wrong(problem, solution, accuracy, tally):
    """Words for what does not hold of one answer; and its exact dual and primal objective."""
    b, words = solution.signed_dual, []
    dual, primal, gradient = problem.objectives(b, solution.bias)
    lower, upper = problem.box()
    if not ((b >= lower) & (b <= upper)).all():
        words.append("outside the box")
    excess = abs(long(b).sum() - long(problem.total))
    if not excess <= solution.imbalance:
        words.append(f"sum off by {excess:.2e}, stated {solution.imbalance:.2e}")
    # what long double itself makes of sums that cancel
    own = 4 * problem.n * LONG * float(problem.size(b, solution.bias))
    if not solution.dual_objective <= dual + own:
        words.append(f"dual {solution.dual_objective!r} stated, {dual} true")
    if not solution.primal_objective >= primal - own:
        words.append(f"primal {solution.primal_objective!r} stated, {primal} true")
    if not solution.gap >= primal - dual - own:
        words.append(f"gap {solution.gap!r} stated, {primal - dual} true")
    rounding = problem.rounding(b)
    off = np.abs(long(solution.gradient) - gradient)
    if not (off <= rounding).all():
        words.append(f"gradient off by {float((off / rounding).max()):.1e} of rounding")
    # and the bounds are not merely loose
    room = float(rounding @ np.abs(b)) + float(rounding.max()) * float(np.abs(b).sum())
    shares = problem.C * rounding + np.abs(b) if problem.squared else problem.C
    most = float(rounding @ shares) + room + own
    if not dual - solution.dual_objective <= 10 * room + 10 * excess * np.abs(gradient).max() + 4 * EPS * abs(dual):
        words.append(
            f"dual {solution.dual_objective!r} far below {dual}, by {float(dual - solution.dual_objective):.1e}"
        )
    if not solution.gap - (primal - dual) <= 10 * most + 1e-12 * solution.gap:
        words.append(f"gap {solution.gap!r} far above {primal - dual}")
    if solution.status is SVMStatus.CONVERGED and not solution.relative_gap <= accuracy:
        words.append(f"CONVERGED at {solution.relative_gap}")
    if problem.within_reach():
        if solution.status is SVMStatus.STEP_LIMIT and not solution.relative_gap <= 1e-6:
            words.append(f"step limit at {solution.relative_gap:.1e}")
        elif solution.status is SVMStatus.ROUNDING_FLOOR and not solution.gap <= 100 * most + 1e-13 * abs(primal):
            words.append(f"ROUNDING_FLOOR at {solution.gap:.1e}, rounding {most:.1e}")
    tally.error(
        "dual below the exact one, over rounding", max(float(dual) - solution.dual_objective, 0) / (room + own + 1e-300)
    )
    if problem.kind != "one class" and not problem.squared and problem.C.max() <= 1e4:
        tally.error(
            "gap stated over true rounding, C <= 1e4", (solution.gap - float(primal - dual)) / max(most, 1e-300)
        )
    tally.count(solution.status.name)
    return words, dual, primal


def starts(rng, problem, answers):
    """Starting points for warm solves."""
    lower, upper = (np.clip(side, -1e9, 1e9) for side in problem.box())
    yield answers[-1].signed_dual * (1 + 10.0 ** rng.uniform(-12, 0) * rng.normal(size=problem.n))
    yield rng.uniform(lower, upper) * 10.0 ** rng.uniform(-3, 1)
    other = Problem(rng, kernel(rng, rng.normal(size=(problem.n, 2)))[0])
    other.kind, other.linear, other.epsilon, other.squared = (
        problem.kind,
        problem.linear,
        problem.epsilon,
        problem.squared,
    )
    other.C, other.total, other.nu = problem.C, problem.total, getattr(problem, "nu", None)
    yield other.solve(accuracy=1e-3).signed_dual


def peer(problem):
    """Dual variables of scikit-learn where it ends, or None."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC, SVR, OneClassSVM

    options = {"kernel": "precomputed", "tol": 1e-8, "max_iter": 50_000}
    K = problem.K.astype(float)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            if problem.kind == "hinge":
                model = SVC(C=1.0, **options).fit(K, problem.linear, sample_weight=problem.C)
            elif problem.kind == "regression":
                model = SVR(C=1.0, epsilon=problem.epsilon, **options).fit(K, problem.linear, sample_weight=problem.C)
            else:
                model = OneClassSVM(nu=problem.nu, **options).fit(K)
    except ValueError:  # not finite
        return None, 0.0
    if model.fit_status_ != 0 or np.max(model.n_iter_) >= options["max_iter"]:
        return None, 0.0
    b = np.zeros(problem.n)
    b[model.support_] = model.dual_coef_[0]
    return b, float(model.intercept_[0])


def machine(rng, where, tally):
    """All solves of one problem; returns how many."""
    K, family = kernel(rng)
    problem = Problem(rng, K)
    where = f"{where}, {problem.kind}, {family}, n {problem.n}, C {problem.C.max():.1e}"
    answers, found, lowest, highest = [], [], np.inf, -np.inf
    tried = [(accuracy, None) for accuracy in ACCURACIES]
    i = 0
    while i < len(tried):
        accuracy, start = tried[i]
        solution = problem.solve(accuracy=accuracy, start=start)
        words, dual, primal = wrong(problem, solution, accuracy, tally)
        lowest, highest = min(lowest, primal), max(highest, dual - abs(solution.bias) * solution.imbalance * 4)
        answers.append(solution)
        found.append((words, solution))
        i += 1
        if i == len(ACCURACIES):
            tried += [(float(rng.choice(ACCURACIES)), start) for start in starts(rng, problem, answers)]
    steps = np.array([one.n_steps for one in answers[: len(ACCURACIES)]])
    for i in range(len(ACCURACIES) - 1):
        if problem.within_reach() and steps[i] > 2 * steps[i + 1 :].min() + 10 * problem.n + 50:
            found[i][0].append(f"{steps[i]} steps, {steps[i + 1 :].min()} for a tighter accuracy")
    if problem.kind != "squared hinge" and rng.random() < SHARE_PEER:
        theirs, intercept = peer(problem)
        if theirs is not None:
            tally.count("compared with scikit-learn")
            dual, primal, _ = problem.objectives(theirs, intercept)
            slack = abs(long(theirs).sum() - long(problem.total)) * abs(intercept) * 4 + 1e-15 * abs(float(dual))
            inside = (np.abs(theirs) <= problem.C * (1 + 1e-15)).all()
            lowest, highest = min(lowest, primal), max(highest, dual - slack) if inside else highest
    b_size = 2 * max(float(np.linalg.norm(solution.signed_dual)) for solution in answers)
    for words, solution in found:
        if not solution.dual_objective <= lowest + (room := problem.indefinite(b_size)):
            words.append(f"dual {solution.dual_objective!r} above a primal value {lowest}")
        if not solution.primal_objective >= highest - room:
            words.append(f"primal {solution.primal_objective!r} below a dual value {highest}")
        tally.trial([f"{where}: {word}" for word in words])
    return len(found)


def mkl(rng, where, tally):
    """One problem of lp-MKL by both solvers; returns how many solves."""
    X = points(rng, 30)
    n, p, C, lam = (
        len(X),
        float(rng.choice([1.1, 1.33, 2.0, 3.0])),
        10.0 ** rng.uniform(-2, 4),
        10.0 ** rng.uniform(-2, 2),
    )
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    kernels = []
    while len(kernels) < rng.integers(1, 5):
        K = kernel(rng, X)[0].astype(float)
        if np.trace(K) > 1e-100:
            kernels.append(K * n / np.trace(K))
    bank, q = GramBank(kernels, check=False), p / (p - 1)
    where, results = f"{where}, lp-MKL, n {n}, {len(kernels)} kernels, p {p}, C {C:.1e}, lam {lam:.1e}", []
    for solver in (NewtonMKL(), SMOMKL(max_steps=50_000)):
        result = solve_lp_mkl(bank, y, C=C, p=p, lam=lam, rtol=1e-6, solver=solver, max_calls=300)
        words = []
        if result.status.name == "CONTRADICTION":
            words.append("CONTRADICTION")
        else:
            try:
                result.certificate().verify(GMKLOracle(bank, y, LpRegularizer(p, weight=lam), C=C))
            except Refuted as refused:
                words.append(f"refused: {refused!s:.200}")
        d, extras = long(result.point), result.cut.extras
        b, bias = long(extras["signed_dual"]), long(extras["bias"])
        S = np.maximum([b @ (long(K) @ b) for K in kernels], 0)
        f = sum((weight * (long(K) @ b) for weight, K in zip(d, kernels, strict=True)), long(np.zeros(n)))
        penalty = long(lam) / 2 * (d**p).sum() ** (2 / long(p)) if d.any() else 0
        value = np.abs(b).sum() - d @ S / 2 + penalty
        primal = d @ S / 2 + (C * np.maximum(0, 1 - y * (f + bias))).sum() + penalty
        norm = (S.max() * ((S / S.max()) ** q).sum() ** (1 / long(q))) if S.max() > 0 else long(0)
        dual = np.abs(b).sum() - norm**2 / (8 * long(lam))
        cut = result.cut
        if not cut.value <= value:
            words.append(f"value {cut.value!r} above {value}")
        if not cut.value + cut.error >= primal:
            words.append(f"upper value {cut.value + cut.error!r} below {primal}")
        results.append((result, words, dual, primal))
        tally.count(f"lp-MKL {result.status.name}")
    for result, words, _, _ in results:
        if not result.lower_bound <= min(primal for *_, primal in results):
            words.append(f"lower bound {result.lower_bound!r} above a primal value")
        if not result.upper_bound >= max(dual for *_, dual, _ in results) * (1 - 1e-15):
            words.append(f"upper bound {result.upper_bound!r} below a dual value")
        tally.trial([f"{where}: {word}" for word in words])
    return len(results)


def run(count, seed, tally):
    """Make `count` solves, or the few more that belong to the last problem."""
    done, number = 0, 0
    while done < count:
        rng = np.random.default_rng([seed, number])
        where = f"seed {seed}, problem {number}"
        done += mkl(rng, where, tally) if rng.random() < SHARE_MKL else machine(rng, where, tally)
        number += 1
