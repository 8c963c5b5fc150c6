"""Mixed-norm multiple kernel learning: every group of kernels is kept, within a group few are chosen."""

from collections.abc import Sequence

from numpy.typing import ArrayLike

from oracle_opt.domains import ProductOfSimplices
from oracle_opt.oracles.kernels import KernelBank
from oracle_opt.oracles.mkl.kernel_machine import MEMORY_BUDGET, KernelMachine, checked_bank
from oracle_opt.oracles.mkl.kernel_weights_oracle import KernelWeightsOracle
from oracle_opt.oracles.mkl.weights import Groups, checked_groups
from oracle_opt.oracles.svm import Loss


class MixedNormOracle(KernelWeightsOracle):
    """``h(l) = max over b, c of L(b) - 1/2 sum_j (1/c_j) sum_k l_jk S_jk(b)``, l in a product of simplices.

    b are the signed dual variables of a loss, which gives L, their box and their sum: with the hinge ``b = y*a`` and
    ``L(b) = sum(a)``. c is in the simplex of the n groups; ``S_jk(b) = b @ K_jk @ b``. The primal has the largest group
    norm, and within a group the sum of the norms: l-infinity over groups, l1 inside. The bracket is concave in (b, c)
    together and affine in l: any (b, c) gives a cut, so h is convex and every generator applies.

    A query alternates: a support vector machine on ``sum_j (1/c_j) sum_k l_jk K_jk``, then ``c_j`` proportional to
    ``sqrt(W_j)`` with ``W_j = sum_k l_jk S_jk``, (6), from where the last query ended; further rounds extrapolate. The
    machine's hyperplane, feasible for the primal whatever c, gives the upper estimate: `error` is what it is above the
    cut.

    Parameters
    ----------
    bank : KernelBank
        p kernels on n points.
    y, loss
        As for `MKLOracle`.
    groups : sequence of sequences of int
        Indices of the kernels of each group; together they are 0 .. p - 1, each once. The weights of a query point
        are in this order, group after group.
    C : float or array_like of shape (n,), optional
        As for `MKLOracle`.
    max_solves : int, optional
        At most so many SVMs per query, however large the error that is left. With 1 the run is the paper's alternation,
        Algorithm 1: steps in l, the generator's, alternate with steps in c, after every one of them. That suits
        methods which keep moving (`MirrorDescent`, `FixedPoint`); those that compare values, or may ask the same point
        again, stall on such errors. Default: as many as the accuracy needs.
    accuracy, max_steps, memory_budget
        As for `MKLOracle`; the accuracy is that of h.

    Attributes
    ----------
    domain : ProductOfSimplices
        One simplex a group.

    Raises
    ------
    InvalidArgument
        Labels, targets or a loss that cannot be used, or groups that do not partition the kernels.

    References
    ----------
    .. [1] Nath, Dinesh, Raman, Bhattacharyya, Ben-Tal, Ramakrishnan (2009), "On the algorithmics and applications of a
       mixed-norm based kernel learning formulation", equations 1 and 4 to 6.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import Query
    >>> from oracle_opt.oracles import GramBank, MixedNormOracle
    >>> oracle = MixedNormOracle(GramBank([np.eye(2), np.eye(2)]), [1, -1], 100.0, groups=[[0], [1]])
    >>> cut = oracle.query(Query(np.array([1.0, 1.0])))
    >>> round(cut.value, 6), cut.extras["group_weights"].tolist()
    (0.25, [0.5, 0.5])
    """

    single = True
    bank: KernelBank
    domain: ProductOfSimplices

    def __init__(
        self,
        bank: KernelBank,
        y: ArrayLike | None = None,
        loss: Loss | float | ArrayLike | None = None,
        *,
        groups: Sequence[Sequence[int]],
        C: float | ArrayLike | None = None,
        max_solves: int | None = None,
        accuracy: float = 1e-8,
        max_steps: int = 10_000_000,
        memory_budget: int = MEMORY_BUDGET,
    ) -> None:
        weights = Groups(checked_bank(bank).n_kernels, checked_groups(groups, bank.n_kernels))
        machine = KernelMachine(
            bank, y, loss, C=C, accuracy=accuracy, max_steps=max_steps, memory_budget=memory_budget, most_updates=0
        )
        super().__init__([machine], weights, accuracy=machine.accuracy, max_solves=max_solves)
        self.groups = weights.groups

    def identity(self) -> str:
        """Kernels, loss, labels or targets, accuracy and groups."""
        return f"{super().identity()}, solves {self.max_solves}"
