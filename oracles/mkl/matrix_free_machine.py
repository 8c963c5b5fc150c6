"""Support vector machines solved without a matrix of all points: the products of the kernels are kept instead."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.base import Indices, KernelBank
from oracle_opt.oracles.mkl.formula import forms_near, proven, value_at, wrong_forms
from oracle_opt.oracles.mkl.set_ascent import SetAscent
from oracle_opt.oracles.mkl.svm_machine import SVMMachine
from oracle_opt.oracles.mkl.weighted_kernel import WeightedKernel, products, row_pieces, rows_at_once
from oracle_opt.oracles.svm import SVMSolution
from oracle_opt.oracles.svm.pieces import Pieces, imbalance
from oracle_opt.oracles.svm.separable_dual import Separable
from oracle_opt.oracles.svm.svm_solution import SVMStatus
from oracle_opt.proof.floats import Floats

# Share of the points, and at least how many, on which a machine is solved first; seed of their choice.
SHARE, LEAST_SAMPLE, SEED = 0.1, 1_000, 0
# Relative gap of that machine.
ROUGH = 1e-4
# Share of the sum of its dual variables that is at bounds from which its decision values tell the others.
BOUNDED = 0.5


def cold_start(dual: Separable, pieces: Pieces, kernel: WeightedKernel, most_points: int, max_steps: int) -> Vector:
    """Feasible signed dual variables, ndarray of shape (n,): see docs/theory_machines.md, "The start"."""
    n = pieces.n_points
    m = min(max(LEAST_SAMPLE, int(SHARE * n)), most_points)
    if n < 2 * m:
        return pieces.start()
    chosen = np.sort(np.random.default_rng(SEED).permutation(n)[:m])
    K, b = kernel.block(chosen), np.zeros(n)
    if dual.ridge is None:
        part = dual.part(chosen, n / m)
        found = part.solve(K, start=Pieces(part).start(), accuracy=ROUGH, max_steps=max_steps).signed_dual
        free = part.free(found)
        if np.abs(found[free]).sum() <= (1.0 - BOUNDED) * np.abs(found).sum():
            b[chosen] = found
            return pieces.best_response(kernel.product(b))
    if dual.total != 0.0:
        return pieces.start()
    part = dual.part(chosen)
    b[chosen] = part.solve(part.add_ridge(K), accuracy=ROUGH, max_steps=max_steps).signed_dual
    return b


# Vectors of n points that a solve takes, at most.
VECTORS = 32
# Matrices of the size of a working set that solving it takes: the kernel, what it is made of, and a factorization.
MATRICES = 3
# Least points of a working set.
LEAST_POINTS = 64
# Share of the weight, counted by quadratic forms, over the accuracy, of kernels that are left out between two updates.
LEFT_OUT = 0.1
# Gap that sets are to end at, over the one that is wanted.
INSIDE = 0.8
# Rounds of sets, each of which ends with the products of all kernels.
ROUNDS = 4
# The error of the products over that of products computed anew, from which they are.
STALE = 16.0


def least_budget(bank: KernelBank) -> int:
    """Bytes that a machine without a combined kernel needs at least."""
    n, p = bank.n_points, bank.n_kernels
    return 8 * p * (n + rows_at_once(bank)) + 8 * VECTORS * n + 8 * MATRICES * min(n, LEAST_POINTS) ** 2


@dataclass(frozen=True, eq=False)
class ProductsProof:
    """What products ``K_k @ b`` prove of dual variables b at weights of the kernels: see `proof_of_products`."""

    gap: float
    bias: float
    upper: float
    error: tuple[float, float]


def proof_of_products(
    bank: KernelBank,
    pieces: Pieces,
    b: Vector,
    S: Vector,
    decision: Vector,
    weights: Vector,
    slack: float,
    slack_of_trace: float = np.inf,
) -> ProductsProof:
    """The bounds that products of the kernels with b prove, none of which is computed here."""
    dual, largest = pieces.dual, bank.sizes[0]
    size = float(np.abs(b).sum())
    wrong = (slack + 0.5 * EPS * (weights.size + 16) * size) * float(weights @ largest)
    gap, bias = pieces.gap(b, decision, wrong)
    error = error_of_forms(b, slack, slack_of_trace)
    forms = float(weights @ (S - (1 + 4 * EPS) * wrong_forms(bank, error)))
    return ProductsProof(gap, bias, dual.value(b) + dual.rounding(b) - 0.5 * forms + gap, error)


def error_of_forms(b: Vector, slack: float, slack_of_trace: float) -> tuple[float, float]:
    """How wrong ``b @ M`` may be for products M that are, as of `KernelBank.form_error`: its sum is rounded, too."""
    size, length, relative = float(np.abs(b).sum()), float(np.linalg.norm(b)), EPS * (b.size + 16)
    return (slack + relative * size) * size, (slack_of_trace + relative * length) * length


class MatrixFreeMachine(SVMMachine):
    """Keeps ``M = (K_k @ b)_k``, ``8 n p`` bytes, and solves on sets of points: see docs/theory_machines.md."""

    frugal = True

    def __init__(
        self, bank: KernelBank, dual: Separable, accuracy: float, max_steps: int, memory_budget: int, beside: int = 0
    ) -> None:
        n, p = bank.n_points, bank.n_kernels
        self.bank, self.dual = bank, dual
        self.accuracy, self.max_steps = accuracy, max_steps
        self._pieces = Pieces(dual)
        least = least_budget(bank) + beside
        if memory_budget < least:
            dense = 8 * n * n
            ways = (
                "the combined kernel"
                if dense <= least
                else f"the products of {p} kernel{'s' * (p > 1)} with the dual variables"
            )
            raise InvalidArgument(
                f"`memory_budget` must be at least {min(dense, least)} bytes, for {ways} on {n} points, got "
                f"{memory_budget}"
            )
        state = least - 8 * MATRICES * min(n, LEAST_POINTS) ** 2
        self.most_points = min(n, int(((memory_budget - state) / (8 * MATRICES)) ** 0.5))
        self.n_sets = 0
        self._M: Matrix | None = None
        # The dual variables of M, whose entries (i, k) are wrong by the first number times the largest diagonal entry
        # of K_k at most, and by the second times the roots of its trace and of its i-th diagonal entry.
        self._b: Vector | None = None
        self._error = (0.0, 0.0)

    def reset(self) -> None:
        """Forget the last solution and the products."""
        super().reset()
        self._b = None

    def resume(self, extras: Mapping[str, Any]) -> None:
        """Take the solution of a cut; its products are computed when they are needed."""
        self.signed = np.array(extras["signed_dual"], dtype=float)
        self._b = None

    def identity(self) -> str:
        """The size of the working sets, on which it depends which of all solutions an accuracy leads to."""
        return f", sets of up to {self.most_points} points"

    def extras(self) -> dict[str, Any]:
        """How many working sets the last solve took."""
        return {"n_sets": self.n_sets}

    def solve(self, weights: Vector, accuracy: float | None) -> SVMSolution:
        """Solve on working sets, see `SVMMachine.solve`; the gap is of the point asked, with all kernels."""
        wanted = self.accuracy if accuracy is None else accuracy
        if self._b is None or self._error[0] > STALE * self._fresh(self._b)[0]:
            self._restart()
        n_sets = n_steps = n_newton = 0
        start = self._cold_start(weights) if self.signed is None else self.signed
        for attempt in range(ROUNDS):
            ascent = self._ascent(weights, wanted, self.max_steps - n_steps)
            if attempt == 0 and not np.array_equal(start, ascent.b):
                ascent.go_to(start)
            status = ascent.run(INSIDE * wanted)
            self._add(ascent.b)
            n_sets += ascent.n_sets
            n_steps += ascent.n_steps
            n_newton += ascent.n_newton
            solution = self._solution(weights, wanted, status, n_steps, n_newton)
            if solution.status is not SVMStatus.CONVERGED or solution.relative_gap <= wanted or ascent.n_sets == 0:
                break
        self.n_sets, self.signed = n_sets, solution.signed_dual
        return solution

    def forms(self, b: Vector) -> tuple[Vector, tuple[float, float]]:
        """Quadratic forms at b, see `SVMMachine.forms`, from the products."""
        if self._b is None or self._M is None or not np.array_equal(b, self._b):
            return self.bank.quadratic_forms(b), self.bank.form_error(b, b)
        return b @ self._M, error_of_forms(b, *self._error)

    def rows(self, points: Indices, b: Vector) -> Matrix:
        """Rows of the products, see `SVMMachine.rows`."""
        if self._b is None or self._M is None or not np.array_equal(b, self._b):
            return self.bank.row_products(points, b)
        rows: Matrix = self._M[points]
        return rows

    def block(self, weights: Vector, points: Indices) -> Matrix | None:
        """Combined kernel on some points, see `SVMMachine.block`; None if it does not fit into the budget."""
        if points.size > self.most_points:
            return None
        K = WeightedKernel(self.bank, weights).block(points)
        if self.dual.ridge is not None:
            K.flat[:: points.size + 1] += self.dual.ridge[points]
        return K

    def _cold_start(self, weights: Vector) -> Vector:
        """Dual variables to start from, see `cold_start`."""
        active = np.flatnonzero(weights)
        if not active.size:  # the kernel is 0, and any of them says so
            active = np.zeros(1, dtype=np.intp)
        kernel = WeightedKernel(self.bank.subset(active), weights[active])
        return cold_start(self.dual, self._pieces, kernel, self.most_points, self.max_steps)

    def _ascent(self, weights: Vector, wanted: float, limit: int) -> SetAscent:
        """An ascent from the dual variables of the products, by the kernels that matter at these weights."""
        M, b, p = self._M, self._b, self.bank.n_kernels
        assert M is not None
        assert b is not None
        share = weights * (np.maximum(b @ M, 0.0) if b.any() else self.bank.sizes[1])
        order = np.argsort(share, kind="stable")
        left_out = np.cumsum(share[order]) <= LEFT_OUT * wanted * share.sum()
        left_out[-1] = False  # where none has a weight
        active = np.sort(order[~left_out])
        kernel = WeightedKernel(self.bank.subset(active), weights[active])
        largest = float(weights @ self.bank.sizes[0])

        def move(before: Vector, after: Vector) -> Vector:
            if 2 * active.size <= p or self._b is None or not np.array_equal(before, self._b):
                return kernel.product(after - before)
            # all kernels are needed in the end, and it is not much more now
            old = M @ weights
            self._add(after)
            change: Vector = M @ weights - old
            return change

        return SetAscent(
            self.dual,
            self._pieces,
            kernel,
            move,
            lambda b: self._fresh(b)[0] * largest,
            b.copy(),
            M @ weights,
            self.most_points,
            limit,
        )

    def _solution(self, weights: Vector, wanted: float, status: SVMStatus, n_steps: int, n_newton: int) -> SVMSolution:
        """The solution with the dual variables of the products, at these weights, by all kernels."""
        b, M, dual, bank = self._b, self._M, self.dual, self.bank
        assert b is not None
        assert M is not None
        S, error = self.forms(b)
        decision = M @ weights
        proof = proof_of_products(bank, self._pieces, b, S, decision, weights, *self._error)
        moved = imbalance(b, dual.total)
        minorant = proven(dual, b, moved, forms_near(bank, b, moved, S, error), lambda: 1.0, Floats)
        x = self._pieces.split(b)
        gradient = dual.linear - decision + dual.offset
        if dual.ridge is not None:
            gradient -= dual.ridge * b
        signed = b.copy()
        signed.flags.writeable = gradient.flags.writeable = False
        return SVMSolution(
            signed,
            float(value_at(minorant, weights).below()),
            proof.upper,
            proof.gap,
            proof.bias,
            self._pieces.violation(x, decision),
            n_steps,
            n_newton,
            status,
            gradient,
            moved,
        )

    def _add(self, b: Vector) -> None:
        """Make the products those of b; if this is interrupted they are forgotten."""
        M, before, error = self._M, self._b, self._error
        assert M is not None
        assert before is not None
        if np.array_equal(b, before):
            return
        delta = b - before
        self._b = None
        for rows in row_pieces(self.bank):
            M[rows] += products(self.bank, rows, delta)
        # The products with delta are rounded, and so are delta and the sum. An entry of M is at most ``norm(b, 1)``
        # times the largest diagonal entry; entry i is ``norm(b)`` times the roots of the trace and of the i-th one.
        added, of_delta, of_sum = self._fresh(delta), _sizes(delta), _sizes(b)
        of_largest, of_trace = (
            error[i] + added[i] + 0.5 * EPS * (1 + 2 * self.bank.exactness) * (of_delta[i] + of_sum[i]) for i in (0, 1)
        )
        self._error, self._b = (of_largest, of_trace), b.copy()

    def _restart(self) -> None:
        """Products of no dual variables."""
        if self._M is None:
            self._M = np.zeros((self.bank.n_points, self.bank.n_kernels))
        self._M[:] = 0.0
        self._b, self._error = np.zeros(self.bank.n_points), (0.0, 0.0)

    def _fresh(self, b: Vector) -> tuple[float, float]:
        """Error of products with b, as that of M."""
        relative = self.bank.charge + 0.5 * EPS * (self.bank.n_points + 32)
        of_largest, of_trace = _sizes(b)
        return relative * of_largest, relative * of_trace


def _sizes(b: Vector) -> tuple[float, float]:
    """Both norms of b with which products go, rounded up."""
    return (1 + 1e-9) * float(np.abs(b).sum()), (1 + 1e-9) * float(np.linalg.norm(b))
