"""Support vector machines solved on the combined kernel of all points."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.oracles.kernels import KernelBank, ProductBank
from oracle_opt.oracles.kernels.bank_checks import lack_of
from oracle_opt.oracles.kernels.base import COARSE, Indices
from oracle_opt.oracles.mkl.rounded_kernel import for_exact_kernel, is_classification
from oracle_opt.oracles.mkl.svm_machine import SVMMachine
from oracle_opt.oracles.svm import SVMSolution
from oracle_opt.oracles.svm.loss_dual import LossDual

# Quadratic forms are updated from the last ones where that reads at most this share of the pairs of points.
UPDATE_SHARE = 0.75


class CombinedKernel:
    """Room for the combined kernel of all points, ``8 n**2`` bytes, for machines that differ by their ridges."""

    def __init__(self, bank: KernelBank | ProductBank) -> None:
        self.bank = bank
        self._weights: Vector | None = None
        self._ridge: Vector | None = None

    def at(self, weights: Vector, ridge: Vector | None) -> Matrix:
        """Combined kernel at these weights with a ridge, which is valid until another one is asked for."""
        if self._weights is None or not (self._weights == weights).all():
            self._weights = None
            self.bank.combine(weights, out=self._kernel)
            self._ridge, self._weights = None, weights.copy()
        if ridge is not self._ridge:
            if self._ridge is None:
                self._diagonal = self._kernel.diagonal().copy()
            self._kernel.flat[:: len(self._kernel) + 1] = self._diagonal if ridge is None else self._diagonal + ridge
            self._ridge = ridge
        return self._kernel

    def take(self) -> Matrix:
        """Return the last kernel, for the caller to change: another will be made."""
        self._weights = None
        return self._kernel

    @cached_property
    def _kernel(self) -> Matrix:
        """Room for a combined kernel, which some queries do not need."""
        return np.empty((self.bank.n_points, self.bank.n_points))


class DenseMachine(SVMMachine):
    """Combines the kernels of all points, ``8 n**2`` bytes, in a `room` that others may share, and solves there.

    Forms are updated by ``S_k(b) = S_k(b') + (b - b') @ K_k @ (b + b')`` where that reads at most 3/4 of the pairs of
    support vectors, at most `most_updates` times in a row, so that rounding does not pile up.
    """

    def __init__(
        self,
        bank: KernelBank | ProductBank,
        dual: LossDual,
        accuracy: float,
        max_steps: int,
        most_updates: int = 0,
        room: CombinedKernel | None = None,
    ) -> None:
        self.bank, self.dual = bank, dual
        self.accuracy, self.max_steps, self.most_updates = accuracy, max_steps, most_updates
        self.room = CombinedKernel(bank) if room is None else room
        self.reset()

    def reset(self) -> None:
        """Forget the last solution and its quadratic forms."""
        super().reset()
        self._formed: Vector | None = None  # the dual variables of the forms
        self._S = np.empty(0)
        self._S_error = (0.0, 0.0)
        self._n_updates = 0

    def resume(self, extras: Mapping[str, Any]) -> None:
        """Take the solution of a cut and, if they are updated here, its quadratic forms."""
        self.signed = np.array(extras["signed_dual"], dtype=float)
        if self.most_updates:
            self._formed, self._S = self.signed, np.array(extras["quadratic_forms"], dtype=float)
            of_largest, of_trace = np.asarray(extras.get("forms_error", (0.0, 0.0)), dtype=float).tolist()
            self._S_error = of_largest, of_trace
            # Where a cut does not tell how exact its forms are, the next S is summed in full.
            told = "forms_error" in extras
            self._n_updates = int(extras.get("n_updates", self.most_updates)) if told else self.most_updates

    def extras(self) -> dict[str, Any]:
        """How exact the forms are, and how many times in a row they were updated."""
        return {"forms_error": np.array(self._S_error), "n_updates": self._n_updates} if self.most_updates else {}

    def solve(self, weights: Vector, accuracy: float | None) -> SVMSolution:
        """Solve on the combined kernel, see `SVMMachine.solve`; what it lacks costs ``1/2 lack norm(x - b)**2``."""
        K = self.room.at(weights, self.dual.ridge)
        noise = lack = 0.0
        if isinstance(self.bank, KernelBank):
            noise = self.bank.noise(int(np.count_nonzero(weights)))
            if self.bank.rounding:
                lack = lack_of(K, self.bank.rounding / 4.0) * float(np.diagonal(K).max())
        coarse = noise > COARSE and is_classification(self.dual)
        svm = self.dual.solve(
            K,
            start=self.signed,
            accuracy=self.accuracy if accuracy is None else accuracy,
            max_steps=self.max_steps,
            noise=0.0 if coarse else noise,
        )
        if coarse:
            svm = for_exact_kernel(svm, self.dual, noise * (1.0 + 1e-6) * float(self._sum().sizes[0] @ weights))
        self.signed = b = svm.signed_dual
        if lack:
            dual = self.dual.piecewise
            lower, upper = (self.dual.lower, self.dual.upper) if dual is None else dual.box
            ends, slope = np.array([lower - b, upper - b]), 0.0 if dual is None else svm.gradient - svm.bias
            gains = np.maximum(slope * ends + 0.5 * lack * ends**2, 0.0).max(axis=0)
            more = float((gains - np.maximum(slope * ends, 0.0).max(axis=0)).sum())
            svm = replace(svm, primal_objective=svm.primal_objective + more, gap=svm.gap + more)
        return svm

    def forms(self, b: Vector) -> tuple[Vector, tuple[float, float]]:
        """Quadratic forms at b, see `SVMMachine.forms`, from those remembered where that reads less."""
        bank, last = self._sum(), self._formed
        S, error, updates = None, bank.form_error(b, b), self._n_updates + 1
        if last is not None and updates <= self.most_updates:
            added = b + last
            changed = np.flatnonzero(b != last)
            n_support = np.count_nonzero(b)
            if changed.size * np.count_nonzero(added) <= UPDATE_SHARE * n_support * (n_support + 1) / 2:
                difference = (b - last)[changed]
                S = self._S + difference @ bank.row_products(changed, added)
                # The error of the last S, the rounding of the update, and that of adding the two.
                of_largest, of_trace = bank.form_error(b - last, added)
                error = (
                    self._S_error[0] + of_largest + error[0] / 64,
                    self._S_error[1] + of_trace + error[1] / 64,
                )
        if S is None:
            S, updates = bank.quadratic_forms(b), 0
        if self.most_updates:
            self._formed, self._S, self._S_error, self._n_updates = b, S.copy(), error, updates
        return S, error

    def rows(self, points: Indices, b: Vector) -> Matrix:
        """Entries of the kernels times b, see `SVMMachine.rows`."""
        return self._sum().row_products(points, b)

    def block(self, weights: Vector, points: Indices) -> Matrix:
        """Some entries of the combined kernel, which is made anew for other weights than the last."""
        K = self.room.at(weights, self.dual.ridge)[np.ix_(points, points)]
        if self.signed is not None:
            K.flat[:: points.size + 1] += self.dual.bend(points, self.signed)
        return K

    def take_kernel(self) -> Matrix:
        """Return the combined kernel of the last solve for the caller to change: another will be made."""
        return self.room.take()

    def _sum(self) -> KernelBank:
        """The bank, of kernels that are added up."""
        assert isinstance(self.bank, KernelBank)
        return self.bank
