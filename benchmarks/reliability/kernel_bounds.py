"""Random kernel learning: every bank, oracle, loss, regularizer and precision, against kernels in long double.

A trial is one run, and ends with its certificate, which is verified. Both bounds are held against the problem of the
kernels in long double: the lower one against primal objectives, the upper one against dual objectives, at all points
that any run of the problem found; both are written here from their definitions. Runs on a store in single precision are
held against the kernels as the store has them, but for mixed norms, which promise the kernels that were passed in.
"""

import warnings

import numpy as np
from _kernel_banks import kernels

from oracle_opt import CapabilityMismatch, Refuted, Status, minimize
from oracle_opt.generators import SPG, AnalyticCenter, LevelSet
from oracle_opt.oracles import GramBank, SharedWeightsOracle
from oracle_opt.oracles.mkl import ElasticNet, EntropyRegularizer, GMKLOracle, LpRegularizer, MixedNormOracle, MKLOracle
from oracle_opt.oracles.svm import EpsilonInsensitive, Hinge, OneClass, SquaredHinge

UNIT = "runs of kernel learning, each with its certificate"
FULL = 2_400
SMALL = 30

METHODS = {"default": lambda: None, "LevelSet": LevelSet, "AnalyticCenter": AnalyticCenter, "SPG": SPG}
ROUNDING = 1e-11  # of the sizes of the terms: what the formulas here lose
LONG = np.longdouble


class Machine:
    """A loss on given targets: its two objectives in long double, by their definitions."""

    def __init__(self, rng, n):
        self.kind = str(rng.choice(["hinge", "squared", "regression", "tiny regression", "one class"]))
        self.C, self.epsilon = 10.0 ** rng.uniform(-2, 5), 0.0
        self.y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        self.y[:2] = 1.0, -1.0
        if "regression" in self.kind:
            self.y = 10.0 ** rng.uniform(-3, 3) * (rng.normal(size=n) + rng.choice([0.0, 1e4]))
            share = 0.5 * rng.choice([1.0, 1.0 + 1e-15, 1.0 - 1e-13]) if "tiny" in self.kind else rng.uniform(0, 0.5)
            self.epsilon = float(share * np.ptp(self.y))
        self.nu = float(rng.uniform(0.1, 1.0))
        self.loss = {
            "hinge": lambda: Hinge(self.C),
            "squared": lambda: SquaredHinge(self.C),
            "regression": lambda: EpsilonInsensitive(self.C, self.epsilon),
            "tiny regression": lambda: EpsilonInsensitive(self.C, self.epsilon),
            "one class": lambda: OneClass(self.nu),
        }[self.kind]()
        self.targets = None if self.kind == "one class" else self.y
        self.total = self.nu * n if self.kind == "one class" else 0.0

    def losses(self, f, bias):
        """What decision values cost, and the sizes of what is added up."""
        g, y = f + LONG(bias), self.y.astype(LONG)
        if self.kind == "one class":
            terms = np.maximum(0, -g)
            return LONG(self.total) * LONG(bias) + terms.sum(), abs(LONG(self.total) * LONG(bias)) + terms.sum()
        if "regression" in self.kind:
            terms = self.C * np.maximum(0, np.abs(y - g) - LONG(self.epsilon))
        else:
            terms = np.maximum(0, 1 - y * g)
            terms = self.C * (terms**2 if self.kind == "squared" else terms)
        return terms.sum(), terms.sum() + (1e-16 * self.C * np.abs(g)).sum()

    def linear(self, b):
        """L(b), and the sizes of its terms."""
        if self.kind == "one class":
            return LONG(0), LONG(0)
        size = np.abs(self.y * b).sum() + LONG(self.epsilon) * np.abs(b).sum()
        value = self.y.astype(LONG) @ b - LONG(self.epsilon) * np.abs(b).sum()
        if self.kind == "squared":
            value, size = value - (b * b).sum() / (4 * LONG(self.C)), size + (b * b).sum() / (4 * LONG(self.C))
        return value, size + LONG(1e-16) * abs(self.y).max() * np.abs(b).sum()


def norm(values, p):
    """An lp norm of numbers that are not negative."""
    largest = values.max()
    return largest * ((values / largest) ** LONG(p)).sum() ** (1 / LONG(p)) if largest > 0 else LONG(0)


class Penalty:
    """A regularizer and its conjugate over the orthant, by their definitions."""

    def __init__(self, rng, machines):
        # without labels the best weights under the entropy are exponentials of the kernels, beyond all numbers
        kinds = ["lp", "net"] if any(one.total for one in machines) else ["lp", "entropy", "net"]
        self.kind = str(rng.choice(kinds))
        self.weight, self.p = 10.0 ** rng.uniform(-3, 2), float(rng.choice([1.1, 1.5, 2.0, 4.0]))
        self.weight = 1e-12 if rng.random() < 0.1 else self.weight
        self.of = {
            "lp": lambda: LpRegularizer(self.p, weight=self.weight),
            "entropy": lambda: EntropyRegularizer(self.weight),
            "net": lambda: ElasticNet(self.weight, 0.5 * self.weight),
        }[self.kind]()

    def value(self, d):
        """r(d)."""
        weight = LONG(self.weight)
        if self.kind == "lp":
            return weight / 2 * norm(d, self.p) ** 2
        if self.kind == "net":
            return weight * d.sum() + weight / 4 * (d * d).sum()
        return weight * (d * (np.log(np.where(d > 0, d, 1)) - 1) + 1).sum()

    def conjugate(self, s):
        """r*(s), for s that may be negative."""
        s, weight = np.maximum(s, 0), LONG(self.weight)
        if self.kind == "lp":
            return norm(s, self.p / (self.p - 1)) ** 2 / (2 * weight)
        if self.kind == "net":
            return (np.maximum(s - weight, 0) ** 2).sum() / weight
        with np.errstate(over="ignore"):
            return weight * np.expm1(s / weight).sum()


class Problem:
    """Kernels, machines, and how their weights are held: an oracle on each bank, and its two objectives."""

    def __init__(self, rng):
        self.kernels, self.words = kernels(rng)
        n, p = self.kernels.bank.n_points, self.kernels.bank.n_kernels
        self.kind = str(rng.choice(["l1", "regularized", "mixed", "mixed", "shared", "shared, regularized"]))
        self.machines = [Machine(rng, n) for _ in range(2 if "shared" in self.kind else 1)]
        self.penalty = Penalty(rng, self.machines) if "regularized" in self.kind else None
        parts = int(rng.integers(1, p + 1))
        order = rng.permutation(p)
        self.groups = [part.tolist() for part in np.array_split(order, parts)]
        loss = ", ".join(f"{type(one.loss).__name__} C {one.C:.1e}" for one in self.machines)
        self.words += f", n {n}, p {p}, {self.kind}, {loss}"
        if self.penalty is not None:
            self.words += f", {self.penalty.of!r}"
        self.truth = self.kernels.meant if self.kind == "mixed" else self.kernels.stored

    def oracle(self, bank):
        """The oracle on a bank of these kernels."""
        one = self.machines[0]
        if self.kind == "mixed":
            return MixedNormOracle(bank, one.targets, one.loss, groups=self.groups)
        if self.kind == "regularized":
            return GMKLOracle(bank, one.targets, self.penalty.of, loss=one.loss)
        made = [MKLOracle(bank, machine.targets, machine.loss) for machine in self.machines]
        if self.kind == "l1":
            return made[0]
        return SharedWeightsOracle(made, None if self.penalty is None else self.penalty.of)

    def parts(self, cut):
        """Dual variables and bias of each machine."""
        n = self.kernels.bank.n_points
        b = np.asarray(cut.extras["signed_dual"]).astype(LONG).reshape(-1, n)
        return [
            (one, x, bias) for one, x, bias in zip(self.machines, b, np.atleast_1d(cut.extras["bias"]), strict=True)
        ]

    def forms(self, b):
        """Quadratic forms."""
        return np.array([b @ K @ b for K in self.truth])

    def indefinite(self, cut):
        """What a store in single precision, which need not be semidefinite, may take from the duality of two points.

        Two dual variables as long as those of a cut: ``max_k -eigenvalue (2 norm(b))**2``, times the weights.
        """
        least = np.array([min(np.linalg.eigvalsh(K.astype(float))[0], 0.0) for K in self.truth])
        length = sum(4 * float(b @ b) for _, b, _ in self.parts(cut))
        return -float(least @ np.maximum(cut.point, 0.0)) * length

    def primal(self, cut):
        """At least the minimum: the objective of the hyperplane of a cut, and the size of its terms."""
        w = np.maximum(cut.point, 0.0).astype(LONG)
        w = w if self.penalty is not None else w / (w.sum() if self.kind != "mixed" else 1)
        m = w if self.kind != "mixed" else np.asarray(cut.extras["kernel_weights"]).astype(LONG)
        value = LONG(0) if self.penalty is None else self.penalty.value(w)
        size = abs(value)
        for machine, b, bias in self.parts(cut):
            products = np.array([K @ b for K in self.truth])
            S = np.maximum(products @ b, 0)
            f = m @ products
            if self.kind == "mixed":
                of_groups, start = [], 0
                for group in self.groups:
                    own = w[start : start + len(group)]
                    start += len(group)
                    used = own > 0
                    of_groups.append(
                        own.sum() * (m[group][used] ** 2 * S[group][used] / own[used]).sum() if used.any() else LONG(0)
                    )
                norms = max(of_groups) / 2
            else:
                norms = m @ S / 2
            losses, around = machine.losses(f, bias)
            value, size = value + norms + losses, size + norms + around
        return value, size

    def dual(self, cut):
        """At most the minimum: the dual objective of the dual variables of a cut, and the size of its terms."""
        value, size, S = LONG(0), LONG(0), LONG(0)
        for machine, b, bias in self.parts(cut):
            linear, around = machine.linear(b)
            off = abs(b.sum() - LONG(machine.total))
            value, size, S = value + linear, size + around + 4 * off * (abs(LONG(bias)) + 1), S + self.forms(b)
            lengths = np.array([(np.abs(b) @ np.sqrt(np.maximum(np.diagonal(K), 0))) ** 2 for K in self.truth])
            size += LONG(1e-8) * lengths.max() if self.kind != "mixed" else LONG(0)
        S = np.maximum(S, 0)
        if self.penalty is not None:
            cost = self.penalty.conjugate(S / 2)
        elif self.kind == "mixed":
            cost = sum((np.sqrt(S[group].max()) for group in self.groups), LONG(0)) ** 2 / 2
        else:
            cost = S.max() / 2
        return value - cost, size + cost


def problem_runs(rng, where, tally):
    """Runs of one problem: on its bank by some methods, and on the kernels in double precision."""
    problem = Problem(rng)
    exact = GramBank(problem.truth.astype(float), check=False)
    asked = [("exact", exact, "default")]
    asked += [("bank", problem.kernels.bank, str(name)) for name in rng.choice(list(METHODS), 2, replace=False)]
    found, lowest, highest = [], np.inf, -np.inf
    for name, bank, method in asked:
        words = [f"{where}, {problem.words}, {name} by {method}"]
        options = {"rtol": float(rng.choice([1e-3, 1e-6, 1e-8])), "max_calls": int(rng.choice([5, 30, 60]))}
        oracle = problem.oracle(bank)
        try:
            result = minimize(oracle, METHODS[method](), **options)
        except CapabilityMismatch:
            continue
        if result.cut is None:
            tally.trial([*words, "no cut"])
            continue
        coarse = problem.kind != "mixed" and problem.kernels.bank.rounding > 0
        if coarse and problem.indefinite(result.cut) > 1e-9 * abs(result.upper_bound):
            tally.count("store too coarse for the losses")
            continue
        if result.status in (Status.CONTRADICTION, Status.EMPTY, Status.FAILED):
            words.append(f"{result.status.name}: {result.message:.200}")
        elif np.isfinite(result.lower_bound):
            try:
                result.certificate().verify(oracle)
            except Refuted as refused:
                words.append(f"refused: {refused!s:.200}")
        else:
            tally.count("no lower bound")
        tally.count(f"{problem.kind}: {result.status.name}")
        (primal, above), (dual, below) = problem.primal(result.cut), problem.dual(result.cut)
        lowest, highest = min(lowest, primal + ROUNDING * above), max(highest, dual - ROUNDING * below)
        found.append((words, result))
    for words, result in found:
        size = LONG(max(abs(result.upper_bound), abs(result.lower_bound), 1e-300))
        tally.error("lower bound above a primal value", max(0, (result.lower_bound - lowest) / size))
        tally.error("upper bound below a dual value", max(0, (highest - result.upper_bound) / size))
        if not result.lower_bound <= lowest:
            words.append(f"lower bound {result.lower_bound!r} above the primal value {lowest}")
        if not result.upper_bound >= highest:
            words.append(f"upper bound {result.upper_bound!r} below the dual value {highest}")
        tally.trial([": ".join([words[0], "; ".join(words[1:])])] if len(words) > 1 else [])
    return len(found)


def run(count, seed, tally):
    """Make `count` runs, or the few more that belong to the last problem."""
    done, number = 0, 0
    while done < count:
        rng = np.random.default_rng([seed, number])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            done += problem_runs(rng, f"seed {seed}, problem {number}", tally)
        number += 1
