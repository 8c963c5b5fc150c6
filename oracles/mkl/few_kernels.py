"""Some of many kernels: a machine on these alone, and what the quadratic forms of the others are at most."""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from oracle_opt.arrays import EPS, Vector
from oracle_opt.oracles.kernels import GramBank, KernelBank
from oracle_opt.oracles.kernels.bank import stored_kernels
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.mkl.svm_machine import SVMMachine

# Share of the memory budget that all entries of the few kernels may take.
STORED = 0.25


class FewKernels:
    """The kernels in use, and all quadratic forms when last asked for: bounds are in docs/theory_kernels.md."""

    def __init__(self, bank: KernelBank, memory_budget: int) -> None:
        self._bank, self._memory = bank, STORED * memory_budget
        self.reset()

    def reset(self) -> None:
        """Forget the kernels in use and the forms."""
        # Which are in use, in increasing order; None, as the others, before the first.
        self.kernels: Indices | None = None
        self.bank: KernelBank | None = None  # these alone
        self.machine: SVMMachine | None = None  # solves on it
        # Dual variables, and at least the forms of all kernels there.
        self.last: tuple[Vector | float, Vector | float] = 0.0, 0.0

    def use(
        self, kernels: Indices, make: Callable[[KernelBank], SVMMachine], start: Vector | None
    ) -> tuple[SVMMachine, KernelBank]:
        """Return the machine on these kernels, and a bank of them: kept from the last time, or new."""
        if self.machine is None or self.kernels is None or not np.array_equal(self.kernels, kernels):
            start = start if self.machine is None else self.machine.signed
            self.machine = self.bank = None  # which need not be kept while new ones are stored
            self.bank = stored(self._bank.subset(kernels), self._memory)
            self.kernels, self.machine = kernels.copy(), make(self.bank)
            self.machine.signed = start
        assert self.bank is not None
        return self.machine, self.bank

    def are_all_of(self, weights: Vector) -> bool:
        """Whether no other kernel has a weight."""
        return self.kernels is not None and np.count_nonzero(weights[self.kernels]) == np.count_nonzero(weights)

    def bounds(self, b: Vector, imbalance: float) -> Vector:
        """At least the forms of all kernels at whatever differs from b as `proven` says: ndarray of shape (p,)."""
        before, forms = self.last
        D = b - before
        size = float(np.abs(D).sum())
        one, two = size, float(np.linalg.norm(D))
        if self._bank.nonnegative:
            one = float(np.hypot(size, abs(float(D.sum())) + EPS * D.size * size)) * np.sqrt(0.5)
        of_largest, of_trace = self._roots_of_sizes
        rounding, roots = 1.0 + EPS * (D.size + 16), np.sqrt(np.maximum(forms, 0.0))
        F = np.empty(self._bank.n_kernels)
        np.add(np.minimum(rounding * one * of_largest, rounding * two * of_trace), roots, out=F)
        F *= F
        F *= 1.0 + 16.0 * EPS
        if imbalance:
            F += (1.0 + 16.0 * EPS) * imbalance * (2.0 * float(np.abs(b).sum()) + imbalance) * of_largest**2
        return F

    @cached_property
    def _roots_of_sizes(self) -> tuple[Vector | float, Vector | float]:
        """Roots of the largest diagonal entries and of the traces, rounded up; one number where all are the same."""
        exact = 1.0 + 2.0 * self._bank.exactness + 8.0 * EPS
        largest, trace = (np.sqrt(exact * size) for size in self._bank.sizes)
        return (
            largest if np.ptp(largest) else float(largest[0]),
            trace if np.ptp(trace) else float(trace[0]),
        )


def stored(bank: KernelBank, most_bytes: float) -> KernelBank:
    """Return a bank of the same kernels with all entries kept, or itself if that takes more bytes."""
    n = bank.n_points
    if isinstance(bank, GramBank) or 8 * bank.n_kernels * n * (n + 1) > most_bytes:
        return bank
    return stored_kernels(bank)
