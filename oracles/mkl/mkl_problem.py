"""MKL problems with a smooth regularizer, shared by their oracle and the methods made for them."""

from dataclasses import dataclass
from functools import cached_property

from oracle_opt.arrays import Vector, fingerprint
from oracle_opt.domains import NonnegativeOrthant
from oracle_opt.oracles.kernels.base import KernelBank
from oracle_opt.oracles.mkl.duals import SmoothDual
from oracle_opt.oracles.mkl.regularizer import Regularizer
from oracle_opt.oracles.mkl.svm_machine import SVMMachine
from oracle_opt.oracles.svm.pieces import Pieces
from oracle_opt.oracles.svm.separable_dual import Separable


@dataclass(eq=False)
class MKLProblem:
    """``min over d >= 0 of max over b of L(b) - 1/2 d @ S(b) + r(d)``, ``S_k(b) = b @ K_k @ b``.

    The concave L, a box and the sum of the signed dual variables b are those of a loss.

    Parameters
    ----------
    bank : KernelBank
        p kernels on n points.
    svm : Separable
        L, the box and the sum.
    dual : SmoothDual
        The regularizer r through its conjugate.
    machine : SVMMachine
        What the oracle solves its support vector machines with; it knows the combined kernel on some points.
    """

    bank: KernelBank
    svm: Separable
    dual: SmoothDual
    machine: SVMMachine

    def __repr__(self) -> str:
        return f"MKLProblem({self.bank!r}, {self.dual.regularizer!r})"

    @cached_property
    def pieces(self) -> Pieces:
        """L and the box, each variable on one side of the kink at 0 where there is one."""
        return Pieces(self.svm)


class KernelWeights(NonnegativeOrthant):
    """The orthant of weights of kernels, in the metric of their regularizer; `MKLSolver` works on `problem`, if any."""

    def __init__(
        self, dimension: int, radius: float, regularizer: Regularizer, problem: MKLProblem | None = None
    ) -> None:
        super().__init__(dimension, radius)
        self.regularizer = regularizer
        self.problem = problem

    def entropic_metric(self, point: Vector) -> Vector | None:
        """Return the metric of the regularizer, if it has one."""
        return self.regularizer.metric(point)

    def identity(self) -> str:
        """Dimension, radius and regularizer; the oracle tells the rest of the problem."""
        return f"KernelWeights({self.dimension}, radius={float(self.radius)!r}), {fingerprint(self.regularizer)}"
