"""Several support vector machines that share the weights of their kernels: one convex problem for all of them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from oracle_opt.arguments import instance, instances, real
from oracle_opt.arrays import fingerprint
from oracle_opt.cuts import ObjectiveCut
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracle import Oracle
from oracle_opt.oracles.mkl.kernel_weights_oracle import KernelWeightsOracle
from oracle_opt.oracles.mkl.mkl_oracle import MKLOracle
from oracle_opt.oracles.mkl.regularizer import Regularizer
from oracle_opt.oracles.mkl.weights import Groups, Regularized


class SharedWeightsOracle(KernelWeightsOracle):
    """``f(w) = r(w) + sum over m of f_m(w)``, ``f_m(w) = max over b of L_m(b) - 1/2 sum_k w_k S_mk(b)``.

    Each summand f_m is the function of an `MKLOracle`: the machine of a class against the rest, of a pair of classes,
    of a task. Without a regularizer w is in the simplex and r is 0; with one w is any vector that is not negative. One
    vector of weights serves all machines, so that the kernels chosen are those of the problem and not of a class [1]_.

    A query solves all machines at the same weights, each from where it ended, and adds their cuts. For any feasible
    dual variables ``b_m`` the sum of ``L_m(b_m) - 1/2 sum_k w_k S_mk(b_m)`` lies below the sum of the f_m, so its
    least value is a lower bound: over the simplex ``sum_m L_m - 1/2 max_k sum_m S_mk``, or that of a better common
    multiple of all b_m; with a regularizer ``sum_m L_m - r*(sum_m S_m / 2)``, r* the conjugate of r over the orthant.

    Parameters
    ----------
    machines : sequence of MKLOracle
        M of them, with the same number p of kernels: bank, labels or targets, loss, accuracy and memory budget of each.
        They are read, and solved in machines of this oracle's own. Those that stand on the same `KernelBank` object
        share their combined kernel, too.
    regularizer : Regularizer, optional
        r, as for `GMKLOracle`. Default: none, and weights in the simplex, as of `MKLOracle`.
    radius : float
        As for `GMKLOracle`; without a regularizer it is not used.

    Attributes
    ----------
    domain : Simplex or KernelWeights
        Of dimension p.
    gives : frozenset of kinds of answers
        `Curvature` over the simplex, that of a machine below that of the other; with a regularizer that has a
        `block_update`, `AnalyticUpdate`.

    Raises
    ------
    InvalidArgument
        There is no machine, their numbers of kernels differ, or the regularizer is homogeneous and a machine is of one
        class: see `GMKLOracle`.

    References
    ----------
    .. [1] Rakotomamonjy, Bach, Canu, Grandvalet (2008), "SimpleMKL", JMLR 9, section 4.3: the sum over pairs of
       classes.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import minimize
    >>> from oracle_opt.oracles import GramBank, MKLOracle, SharedWeightsOracle
    >>> kinds, x = np.array([0, 0, 1, 1, 2, 2]), np.array([0.0, 0.1, 2.0, 2.1, 5.0, 5.1])
    >>> near = np.exp(-((x[:, None] - x) ** 2))
    >>> bank = GramBank([near, np.eye(6)])
    >>> oracle = SharedWeightsOracle([MKLOracle(bank, np.where(kinds == c, 1, -1), C=10.0) for c in range(3)])
    >>> result = minimize(oracle)
    >>> result.point.round(3).tolist(), result.success
    ([1.0, 0.0], True)
    """

    witness = ("signed_dual", "bias")

    def __init__(
        self, machines: Sequence[MKLOracle], regularizer: Regularizer | None = None, *, radius: float = np.inf
    ) -> None:
        machines = instances("machines", machines, MKLOracle, "an MKLOracle such as MKLOracle(bank, y, C=1.0)")
        if not machines:
            raise InvalidArgument("`machines` must hold at least one MKLOracle, got none")
        n_kernels = machines[0].bank.n_kernels
        real("radius", radius, above=0.0, infinite=True)
        if regularizer is None:
            weights: Groups | Regularized = Groups(n_kernels)
        else:
            instance("regularizer", regularizer, Regularizer, "a Regularizer such as LpRegularizer(2), or None")
            weights = Regularized(n_kernels, regularizer, radius)
        super().__init__([one.machine for one in machines], weights)
        self.machines: tuple[MKLOracle, ...] = machines
        self.regularizer = regularizer

    def cut_of(self, cut: ObjectiveCut, m: int) -> ObjectiveCut:
        """Return the cut of machine number m, as its own oracle would have given it."""
        return replace(cut.summands[m], extras=self.extras_of(cut, m))

    def identity(self) -> str:
        """Identities of the machines and of the regularizer."""
        machines = "; ".join(one.identity() for one in self.machines)
        regularizer = "none" if self.regularizer is None else fingerprint(self.regularizer)
        return f"{Oracle.identity(self)}, regularizer {regularizer}, machines: {machines}"

    def problem_identity(self) -> str:
        """Identities of the machines and of the regularizer."""
        machines = "; ".join(one.problem_identity() for one in self.machines)
        regularizer = "none" if self.regularizer is None else fingerprint(self.regularizer)
        return f"{Oracle.identity(self)}, regularizer {regularizer}, machines: {machines}"
