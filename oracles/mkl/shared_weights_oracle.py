"""Several support vector machines that share the weights of their kernels: one convex problem for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracle_opt.answers.analytic_update import AnalyticUpdate
from oracle_opt.answers.answer import Answer
from oracle_opt.answers.curvature import Curvature
from oracle_opt.arguments import instance, instances, real
from oracle_opt.arrays import EPS, Matrix, Vector, fingerprint
from oracle_opt.cuts import Cut, ObjectiveCut, Query
from oracle_opt.domains import Simplex
from oracle_opt.errors import InvalidArgument
from oracle_opt.oracle import Oracle
from oracle_opt.oracles.kernels import KernelBank
from oracle_opt.oracles.mkl.combined_kernel import CombinedKernel
from oracle_opt.oracles.mkl.dense_machine import DenseMachine
from oracle_opt.oracles.mkl.kernel_model import KernelModel
from oracle_opt.oracles.mkl.minorant import error_above, least_over_simplex, minorant_at, proven
from oracle_opt.oracles.mkl.mkl_oracle import MKLOracle
from oracle_opt.oracles.mkl.mkl_problem import KernelWeights
from oracle_opt.oracles.mkl.regularized import ROUNDING, least_of_multiples, lowered, regularize
from oracle_opt.oracles.mkl.regularizers import Regularizer
from oracle_opt.oracles.mkl.shared_proof import excess_of_shared, value_of_shared
from oracle_opt.oracles.mkl.svm_machine import SVMMachine
from oracle_opt.oracles.mkl.svm_oracle import checked_query_point, checked_start_of
from oracle_opt.oracles.svm import SVMSolution
from oracle_opt.oracles.svm.curvature_factor import curvature_factor
from oracle_opt.oracles.svm.separable_dual import Separable
from oracle_opt.oracles.svm.svm_solution import decision_values
from oracle_opt.proof.claim import CutClaim, ValueClaim, missing
from oracle_opt.result import Result

if TYPE_CHECKING:
    import pandas as pd


class SharedWeightsOracle(Oracle):
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
        self.machines = instances("machines", machines, MKLOracle, "an MKLOracle such as MKLOracle(bank, y, C=1.0)")
        if not self.machines:
            raise InvalidArgument("`machines` must hold at least one MKLOracle, got none")
        sizes = [one.bank.n_kernels for one in self.machines]
        if len(set(sizes)) > 1:
            raise InvalidArgument(f"`machines` must have the same number of kernels, got {sorted(set(sizes))}")
        self.regularizer = regularizer
        real("radius", radius, above=0.0, infinite=True)
        duals = [one.dual for one in self.machines]
        self._scalable = all(dual.total == 0.0 for dual in duals)
        self.domain: Simplex | KernelWeights
        if regularizer is None:
            self.domain, self.gives = Simplex(sizes[0]), frozenset({Curvature})
        else:
            instance("regularizer", regularizer, Regularizer, "a Regularizer such as LpRegularizer(2), or None")
            if regularizer.homogeneous and any(dual.total != 0 and not dual.linear.any() for dual in duals):
                raise InvalidArgument(
                    f"`regularizer` must grow faster than linearly where a machine has no labels, got {regularizer!r}; "
                    "take LpRegularizer(p, power=2)"
                )
            self.domain = KernelWeights(sizes[0], radius, regularizer)
            self.convex = bool(regularizer.convex)
            regularize(regularizer, self.domain.interior_point())
            if regularizer.block_update(np.ones(sizes[0])) is not None:
                self.gives = frozenset({AnalyticUpdate})
        self._start: Vector | None = None
        rooms: dict[int, CombinedKernel] = {}
        self._solvers = tuple(self._solver(one, rooms) for one in self.machines)

    def _solver(self, of: MKLOracle, rooms: dict[int, CombinedKernel]) -> SVMMachine:
        """A machine of this oracle's own; one that combines the kernels does so where others of its bank do."""
        machine = of.new_machine()
        if isinstance(machine, DenseMachine):
            machine.room = rooms.setdefault(id(of.bank), machine.room)
        return machine

    def reset(self) -> None:
        """Forget the last solutions."""
        for m, machine in enumerate(self._solvers):
            machine.reset()
            if self._start is not None:
                ends = self._ends()
                machine.signed = self._start[ends[m] : ends[m + 1]].copy()

    def start_from(self, signed_dual: ArrayLike | None) -> None:
        """As `SVMOracle.start_from`, `signed_dual` being those of all machines one after the other."""
        self._start = checked_start_of(signed_dual, int(self._ends()[-1]))
        self.reset()

    def resume(self, cut: Cut) -> None:
        """Take the solutions of a cut as the next starting points."""
        for m, machine in enumerate(self._solvers):
            machine.resume(self.extras_of(cut, m))

    def query(self, query: Query) -> ObjectiveCut:
        """Solve all machines at the weights asked about.

        Parameters
        ----------
        query : Query
            A point of the domain; its `accuracy`, if any, is the relative gap asked of each machine; its `wishes`,
            whether the `Curvature` or the `AnalyticUpdate` is wanted.

        Returns
        -------
        ObjectiveCut
            Its `summands` are the cuts of the machines, each with its own `signed_dual` in its `extras`, and last that
            of the regularizer if there is one. Its `extras`:
            `signed_dual`, the dual variables of all machines one after the other, shape (sum of the numbers of
            points,); `bias`, shape (M,); `quadratic_forms`, S, shape (M, p); `n_steps`, all steps together; and what a
            machine remembers, under its name with the number of the machine. `extras_of` tells them apart.

        Raises
        ------
        InvalidArgument
            The point is not in the domain, or the regularizer is not finite there.
        """
        w = checked_query_point(query.point, self.domain)
        if self.regularizer is not None:
            w = np.maximum(w, 0.0)
        wanted = Curvature in query.wishes and Curvature in self.gives
        answers = [self._answer(m, w, query.accuracy, wanted) for m in range(len(self._solvers))]
        point = np.array(query.point, dtype=float)
        b, ends = np.concatenate([one.svm.signed_dual for one in answers]), self._ends()
        summands = [one.cut(point, w, b[ends[m] : ends[m + 1]]) for m, one in enumerate(answers)]
        answers_given: tuple[Answer, ...] = ()
        if self.regularizer is not None:
            value, slope = regularize(self.regularizer, w)
            wrong = ROUNDING * abs(value)
            S = np.sum([one.F for one in answers], axis=0)  # a sum of slopes rounds as its largest terms do
            below, flatter = lowered(w, value - wrong, slope, np.abs(slope) + 0.5 * np.abs(S))
            summands.append(ObjectiveCut(point, below, flatter, error_above(below, value + wrong)))
            if AnalyticUpdate in query.wishes:
                update = self.regularizer.block_update(w * w * np.sum([one.S for one in answers], axis=0))
                answers_given += () if update is None else (AnalyticUpdate(np.asarray(update, dtype=float)),)
        if wanted and (factor := _stacked([one.factor for one in answers])) is not None:
            answers_given += (Curvature(factor),)
        value = _sum_below([one.value for one in summands])
        return ObjectiveCut(
            point=point,
            value=value,
            subgradient=np.sum([one.subgradient for one in summands], axis=0),
            error=error_above(value, -_sum_below([-one.upper for one in summands])),
            lower_bound=self._lower_bound(answers),
            summands=tuple(summands),
            answers=answers_given,
            extras=_extras(answers, b),
        )

    def extras_of(self, cut: Cut, m: int) -> dict[str, Any]:
        """What a cut tells of one machine, as the extras of an `MKLOracle`.

        Parameters
        ----------
        cut : ObjectiveCut
            One of this oracle, for example ``result.cut``.
        m : int
            Number of the machine.

        Returns
        -------
        dict
            `signed_dual`, shape (n_m,), `alpha`, `bias`, `quadratic_forms`, shape (p,), and what the machine remembers.
        """
        extras = cut.extras
        ends = self._ends()
        b = np.asarray(extras["signed_dual"], dtype=float)[ends[m] : ends[m + 1]]
        suffix = f" of machine {m}"
        own = {name.removesuffix(suffix): extras[name] for name in extras if name.endswith(suffix)}
        bias, S = float(np.asarray(extras["bias"])[m]), np.asarray(extras["quadratic_forms"])[m]
        return {"signed_dual": b, "alpha": np.abs(b), "bias": bias, "quadratic_forms": S, **own}

    def cut_of(self, cut: ObjectiveCut, m: int) -> ObjectiveCut:
        """Return the cut of machine number m, as its own oracle would have given it."""
        return replace(cut.summands[m], extras=self.extras_of(cut, m))

    def models(self, result: Result | ObjectiveCut) -> list[KernelModel]:
        """Return what a `result` holds, alone, as `SVMOracle.model`: a list with a model for each machine."""
        cut = result.cut if isinstance(result, Result) else result
        checked = instance("result", cut, ObjectiveCut, "a result of a run on this oracle, or one of its cuts")
        return [one.model(self.cut_of(checked, m)) for m, one in enumerate(self.machines)]

    def weights(self, result: Result | ObjectiveCut, *, largest_first: bool = False) -> pd.DataFrame:
        """Return the weights of a `result` as a table, perhaps the `largest_first`: see `SVMOracle.weights`."""
        cut = result.cut if isinstance(result, Result) else result
        checked = instance("result", cut, ObjectiveCut, "a result of a run on this oracle, or one of its cuts")
        return self.machines[0].weights(self.cut_of(checked, 0), largest_first=largest_first)

    def decision_function(self, cut: ObjectiveCut, new: Any) -> Matrix:
        """Decision values of new points, for the machines that answered a cut of this oracle.

        Parameters
        ----------
        cut : ObjectiveCut
            For example the best one of a run, ``result.cut``.
        new : array_like
            New points as the banks' `cross` takes them; all banks are asked.

        Returns
        -------
        ndarray of shape (number of new points, M)
        """
        instance("cut", cut, ObjectiveCut, "a cut of this oracle such as result.cut")
        values: list[Vector] = []
        crosses: dict[int, Matrix] = {}
        for m, one in enumerate(self.machines):
            if id(one.bank) not in crosses:
                crosses[id(one.bank)] = one.bank.cross(new, cut.point)
            of = self.extras_of(cut, m)
            values.append(decision_values(crosses[id(one.bank)], of["signed_dual"], of["bias"]))
        return np.stack(values, axis=1)

    def _ends(self) -> NDArray[np.intp]:
        """Where the dual variables of each machine begin, and where the last end."""
        return np.cumsum([0, *(one.bank.n_points for one in self.machines)])

    def missing_witness(self, claim: CutClaim | ValueClaim) -> tuple[str, ...]:
        """The dual variables: any bias will do."""
        return missing(claim, "signed_dual")

    def prove_cut(self, claim: CutClaim, exact: bool = False) -> float | Fraction | None:
        """Count what the dual variables of the machines prove, or of one of them; see `Oracle.prove_cut`."""
        if not self.convex:
            return None
        return excess_of_shared(claim, self._kernel_machines, self.regularizer, self.domain.radius, exact)

    def prove_value(self, claim: ValueClaim, exact: bool = False) -> float | Fraction | None:
        """Count the primal objectives of the hyperplanes of a cut at its point; see `Oracle.prove_value`."""
        return value_of_shared(claim, self._kernel_machines, self.regularizer, self.domain.radius, exact)

    @property
    def _kernel_machines(self) -> list[tuple[KernelBank, Separable]]:
        """Kernels and dual of each machine: the data of the problem."""
        return [(one.bank, one.dual) for one in self.machines]

    def identity(self) -> str:
        """Those of the machines, and the regularizer."""
        machines = "; ".join(one.identity() for one in self.machines)
        regularizer = "none" if self.regularizer is None else fingerprint(self.regularizer)
        return f"{super().identity()}, regularizer {regularizer}, machines: {machines}"

    def problem_identity(self) -> str:
        """Those of the machines, and the regularizer."""
        machines = "; ".join(one.problem_identity() for one in self.machines)
        regularizer = "none" if self.regularizer is None else fingerprint(self.regularizer)
        return f"{super().identity()}, regularizer {regularizer}, machines: {machines}"

    def _answer(self, m: int, w: Vector, accuracy: float | None, curvature: bool) -> _OfMachine:
        """Solve one machine at weights w."""
        machine, of = self._solvers[m], self.machines[m]
        svm = machine.solve(w, accuracy)
        b = svm.signed_dual
        S, error = machine.forms(b)
        constant, F = proven(of.bank, of.dual, b, svm.imbalance, S, error)
        factor: Matrix | None = np.empty((0, w.size))
        if curvature and (free := of.dual.free(b)).size:
            block = machine.block(w, free)
            factor = None if block is None else curvature_factor(block, machine.rows(free, b))
        return _OfMachine(of, svm, S, constant, F, factor, machine.extras())

    def _lower_bound(self, answers: Sequence[_OfMachine]) -> float:
        """The least value of the sum of what the machines prove, rounded down."""
        constant = _sum_below([one.constant for one in answers])
        F = np.sum([one.F for one in answers], axis=0) * (1.0 + EPS * len(answers))
        if self.regularizer is None:
            return least_over_simplex(constant, float(F.max()), self._scalable)
        if not self.convex:
            return -np.inf
        pairs = [(one.of.dual, one.svm.signed_dual) for one in answers]
        quadratic = sum(dual.quadratic(b) for dual, b in pairs) * (1.0 + EPS * len(answers))
        longest = min(dual.longest_multiple(b) for dual, b in pairs) if self._scalable else None
        return least_of_multiples(self.regularizer, constant, F, quadratic, longest)


@dataclass(frozen=True, eq=False)
class _OfMachine:
    """The solution of one machine at the weights of a query, and what it proves: as of `proven`."""

    of: MKLOracle
    svm: SVMSolution
    S: Vector
    constant: float
    F: Vector
    factor: Matrix | None
    remembered: dict[str, Any]

    def cut(self, point: Vector, w: Vector, b: Vector) -> ObjectiveCut:
        """The cut of this summand, b being its dual variables."""
        value = minorant_at(w, self.constant, self.F)
        error = error_above(value, self.svm.primal_objective)
        return ObjectiveCut(point, value, -0.5 * self.F, error, extras={"signed_dual": b})


def _sum_below(numbers: Sequence[float]) -> float:
    """The sum of some numbers, rounded down."""
    return float(np.sum(numbers)) - EPS * len(numbers) * float(np.sum(np.abs(numbers)))


def _extras(answers: Sequence[_OfMachine], b: Vector) -> dict[str, Any]:
    remembered = {
        f"{name} of machine {m}": value for m, one in enumerate(answers) for name, value in one.remembered.items()
    }
    return {
        "signed_dual": b,
        "alpha": np.abs(b),
        "bias": np.array([one.svm.bias for one in answers]),
        "quadratic_forms": np.array([one.S for one in answers]),
        "n_steps": sum(one.svm.n_steps for one in answers),
        **remembered,
    }


def _stacked(factors: Sequence[Matrix | None]) -> Matrix | None:
    """Factor of a sum of Hessians; None if one is not known, or if all of them are 0."""
    known = [one for one in factors if one is not None]
    if len(known) < len(factors) or not any(one.size for one in known):
        return None
    return np.ascontiguousarray(np.concatenate(known))
