"""How the support vector machines of an oracle are solved: an oracle says which, and makes cuts of the solutions."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from oracle_opt.arrays import Matrix, Vector
from oracle_opt.oracles.kernels.base import Indices
from oracle_opt.oracles.svm import SVMSolution


class SVMMachine(ABC):
    """Solves one support vector machine after another on weighted kernels of a bank, each from where the last ended.

    `reset` forgets all that an answer may depend on; `resume` takes it from a cut.
    """

    # The signed dual variables from which the next machine starts; None: it starts anew.
    signed: Vector | None = None
    # Whether a rough solution is much cheaper than an exact one, so that nobody should ask for more than is needed.
    frugal: bool = False

    def reset(self) -> None:
        """Forget the last solution."""
        self.signed = None

    @abstractmethod
    def resume(self, extras: Mapping[str, Any]) -> None:
        """Take up what the machine remembered when it had made a cut of these extras."""

    @abstractmethod
    def solve(self, weights: Vector, accuracy: float | None) -> SVMSolution:
        """Solve at weights of the kernels, and remember the solution."""

    @abstractmethod
    def forms(self, b: Vector) -> tuple[Vector, tuple[float, float]]:
        """Forms of all kernels at the last solution b, shape (p,), and their error, as of `KernelBank.form_error`."""

    @abstractmethod
    def rows(self, points: Indices, b: Vector) -> Matrix:
        """Entries of all kernels times b: ndarray of shape (r, p), (i, k) being ``(K_k @ b)[points[i]]``."""

    @abstractmethod
    def block(self, weights: Vector, points: Indices) -> Matrix | None:
        """Weighted sum of the kernels on r points, with the ridge of the loss; None if memory does not allow it."""

    def identity(self) -> str:
        """Words on what changes the answers by more than rounding; empty for the usual way."""
        return ""

    def extras(self) -> dict[str, Any]:
        """What a cut of the last solution has to tell for `resume` besides `signed_dual` and `quadratic_forms`."""
        return {}
