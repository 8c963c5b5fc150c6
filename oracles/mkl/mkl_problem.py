"""What an MKL problem with a smooth regularizer is made of, shared by its oracle and the methods made for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.arguments import instance
from oracle_opt.arrays import Matrix, Vector, digest, fingerprint
from oracle_opt.domains import NonnegativeOrthant
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracles.kernels.base import KernelBank
from oracle_opt.oracles.mkl.duals import SmoothDual
from oracle_opt.oracles.mkl.regularizers import Regularizer
from oracle_opt.oracles.svm.loss import Loss, checked_dual
from oracle_opt.oracles.svm.pieces import Pieces


class MKLProblem:
    """``min over d >= 0 of max over b of L(b) - 1/2 d @ S(b) + r(d)``, ``S_k(b) = b @ K_k @ b``.

    The concave L, a box and the sum of the signed dual variables b are those of the loss.

    Parameters
    ----------
    bank : KernelBank
        p kernels on n points.
    y : array_like of shape (n,) or None
        Labels or targets, as the loss takes them.
    regularizer : Regularizer
        r, of a smooth dual.
    loss : Loss
        What the support vector machine pays.

    Attributes
    ----------
    svm : BoxDual
        L, the box and the sum.
    pieces : Pieces
        The same, each variable on one side of the kink at 0 where there is one.
    dual : SmoothDual
        The regularizer through its conjugate rho.

    Raises
    ------
    InvalidArgument
        An argument cannot be used, or they do not go together.
    """

    def __init__(self, bank: KernelBank, y: ArrayLike | None, regularizer: Regularizer, loss: Loss) -> None:
        instance("bank", bank, KernelBank, "a KernelBank such as GramBank(kernels)")
        instance("regularizer", regularizer, Regularizer, "a Regularizer such as LpRegularizer(2)")
        dual = regularizer.smooth_dual(bank.n_kernels)
        if dual is None:
            raise InvalidArgument(
                "`regularizer` must have a smooth dual, as LpRegularizer of power 2 with p > 1, EntropyRegularizer and "
                f"ElasticNet have, got {regularizer!r}; minimize GMKLOracle with it, or MKLOracle, which is l1-MKL on "
                "the simplex"
            )
        self.bank = bank
        self.loss = loss
        self.svm = checked_dual(loss, y, bank.n_points)
        self.pieces = Pieces(self.svm)
        self.dual: SmoothDual = dual
        self._kernel: Matrix | None = None
        self._weights: Vector | None = None

    def __repr__(self) -> str:
        return f"MKLProblem({self.bank!r}, {self.dual.regularizer!r}, {self.loss!r})"

    def kernel(self, d: Vector) -> Matrix:
        """Combined kernel at the weights d with the ridge of the loss, (n, n); one buffer, made anew for other d."""
        if self._kernel is None:
            self._kernel = np.empty((self.bank.n_points, self.bank.n_points))
        if self._weights is None or not np.array_equal(self._weights, d):
            self._weights = None
            self.svm.add_ridge(self.bank.combine(d, out=self._kernel))
            self._weights = d.copy()
        return self._kernel

    def identity(self) -> str:
        """Words that tell this problem from others."""
        svm = self.svm
        box = digest(svm.linear, svm.lower, svm.upper, svm.total, svm.epsilon, svm.ridge, svm.offset)
        return f"kernels #{self.bank.digest()}, SVM #{box}, regularizer {fingerprint(self.dual.regularizer)}"


class KernelWeights(NonnegativeOrthant):
    """The kernel weights of an MKL problem: the orthant, through which `MKLSolver` objects know the problem.

    Parameters
    ----------
    problem : MKLProblem
        Whose weights these are.
    """

    def __init__(self, problem: MKLProblem) -> None:
        super().__init__(problem.bank.n_kernels)
        self.problem = problem

    def interior_point(self) -> Vector:
        """Weights that prefer no kernel."""
        return self.problem.dual.start()

    def entropic_metric(self, point: Vector) -> Vector | None:
        """Return the metric of the regularizer, if it has one."""
        return self.problem.dual.regularizer.metric(point)

    def identity(self) -> str:
        """The dimension: the oracle tells the problem."""
        return repr(self)
