"""The oracle of multiple kernel learning: machines that share the weights of their kernels, and where these are."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from oracle_opt.answers.analytic_update import AnalyticUpdate
from oracle_opt.answers.answer import Answer
from oracle_opt.answers.curvature import Curvature
from oracle_opt.arguments import flag, floats, instance, instances, real, whole
from oracle_opt.arrays import EPS, Matrix, Vector
from oracle_opt.cuts import Cut, ObjectiveCut, Query
from oracle_opt.errors import InvalidArgument
from oracle_opt.optional import require
from oracle_opt.oracle import Oracle
from oracle_opt.oracles.kernels import KernelBank
from oracle_opt.oracles.mkl.dense_machine import CombinedKernel, DenseMachine
from oracle_opt.oracles.mkl.form_proof import made_feasible
from oracle_opt.oracles.mkl.formula import Proven, forms_near, least, proven, value_at
from oracle_opt.oracles.mkl.group_rounds import GroupRounds, Part, Round, round_of_groups, sharper, started
from oracle_opt.oracles.mkl.kernel_machine import KernelMachine, factor_of
from oracle_opt.oracles.mkl.kernel_model import KernelModel, some_of
from oracle_opt.oracles.mkl.kernel_weights_proof import KernelWeightsProof
from oracle_opt.oracles.mkl.matrix_free_machine import MatrixFreeMachine
from oracle_opt.oracles.mkl.svm_machine import SVMMachine
from oracle_opt.oracles.mkl.weights import Groups, Regularized, WeightSet, checked_query_point, lowered
from oracle_opt.oracles.svm import SVMSolution
from oracle_opt.oracles.svm.svm_solution import decision_values
from oracle_opt.proof.claim import ClaimKind, CutClaim, ValueClaim
from oracle_opt.proof.floats import Floats
from oracle_opt.words import shown

if TYPE_CHECKING:
    import pandas as pd

    from oracle_opt.result import Result


class KernelWeightsOracle(Oracle):
    """``f(w) = r(w) + max over c, b of sum_m L_m(b_m) - 1/2 sum_j (1 / c_j) sum of w_k S_k(b) over k in group j``.

    ``S_k(b) = sum_m b_m @ K_mk @ b_m``; b_m are the signed dual variables of machine m, whose loss gives the concave
    L_m, their box and their sum. The set of the weights w is one simplex, a simplex for each of several groups, or an
    orthant with a regularizer r. c is in the simplex of the groups; with one group it is 1. `MKLOracle`, `GMKLOracle`,
    `MixedNormOracle` and `SharedWeightsOracle` are this oracle with arguments of their own.

    A query solves all machines at the same weights, each from where it ended. For any feasible dual variables and any c
    the function of w inside the maximum lies below f: that is the cut, and a loose solve costs only `error`. Its least
    value over all weights, or that of a better common multiple of the b_m, is the cut's lower bound.

    Parameters
    ----------
    machines : sequence of KernelMachine
        M of them, with the same number p of kernels. Those that stand on the same `KernelBank` object share their
        combined kernel, too.
    weights : Groups or Regularized
        Where w is, and r.
    accuracy : float, optional
        Relative gap where a query wishes for none. Default: that of each machine, and with several groups, where it is
        that of f, the least of these.
    max_solves : int, optional
        As for `MixedNormOracle`: at most so many rounds of all machines per query. Default: as many as are needed.

    Attributes
    ----------
    machines : tuple of KernelMachine
    weights_set : Groups or Regularized
        The second argument.
    domain : Domain
        Where w is.
    gives : frozenset of kinds of answers
        `Curvature` over one simplex; `AnalyticUpdate` over several, and with a regularizer that has a `block_update`.

    Raises
    ------
    InvalidArgument
        There is no machine, their numbers of kernels are not that of the weights, or the regularizer is homogeneous and
        a machine has no labels: then T(c w) = c T(w) is least at 0, or not bounded below.

    Examples
    --------
    >>> import numpy as np
    >>> from oracle_opt import minimize
    >>> from oracle_opt.oracles import GramBank, Groups, KernelMachine, KernelWeightsOracle
    >>> bank = GramBank([np.eye(4), np.ones((4, 4)), np.diag([1.0, 2.0, 1.0, 2.0])])
    >>> machines = [KernelMachine(bank, y, C=10.0) for y in ([1, -1, 1, -1], [1, 1, -1, -1])]
    >>> result = minimize(KernelWeightsOracle(machines, Groups(3, [[0, 1], [2]])))
    >>> result.success, result.point.round(3).tolist()
    (True, [1.0, 0.0, 1.0])
    """

    witness: tuple[str, ...] = ("signed_dual", "bias", "group_weights", "machine_weights")
    machines: Sequence[Any]  # a `KernelMachine` each, or an oracle of one
    single = False  # whether cuts are laid out for the one machine there is, `machine`
    machine: KernelMachine
    bank: Any
    of_products = False  # whether the machines are on products of kernels, of which nothing is proven

    def __init__(
        self,
        machines: Sequence[KernelMachine],
        weights: WeightSet,
        *,
        accuracy: float | None = None,
        max_solves: int | None = None,
    ) -> None:
        self._of = instances(
            "machines", machines, KernelMachine, "a KernelMachine such as KernelMachine(bank, y, C=1.0)"
        )
        self.machines = self._of
        self.weights_set = instance("weights", weights, WeightSet, "Groups(n_kernels) or Regularized(n_kernels, r)")
        if not self._of:
            raise InvalidArgument("`machines` must hold at least one machine, got none")
        sizes = sorted({one.bank.n_kernels for one in self._of} | {weights.n_kernels})
        if len(sizes) > 1:
            raise InvalidArgument(f"`machines` must have the same number of kernels, that of the weights, got {sizes}")
        self._check_growth()
        given = min(one.accuracy for one in self._of) if weights.several and accuracy is None else accuracy
        self.accuracy: Any = None if given is None else real("accuracy", given, least=0.0)
        self.max_solves = None if max_solves is None else whole("max_solves", max_solves)
        self.domain: Any = weights.domain
        self.convex = weights.convex and not self.of_products
        if not self.of_products:
            for one in self._of:
                instance("bank", one.bank, KernelBank, "a KernelBank of a machine; a ProductBank goes to GMKLOracle")
            one_simplex = isinstance(weights, Groups) and not weights.several
            self.gives = weights.gives | (frozenset({Curvature}) if one_simplex else frozenset())
        if self.single:
            (one,) = self._of
            self.machine, self.bank, self.y, self.loss, self.dual = one, one.bank, one.y, one.loss, one.dual
            self.max_steps, self.memory_budget = one.max_steps, one.memory_budget
        self._start: Vector | None = None
        banks: tuple[Any, ...] = tuple(one.bank for one in self._of)
        # 1 / c multiplies what a store has rounded
        self._banks = tuple(bank.before_rounding() for bank in banks) if weights.several else banks
        self._rounds = (
            GroupRounds(weights, self.max_solves) if isinstance(weights, Groups) and weights.several else None
        )
        self._proof = KernelWeightsProof(self._of, self._banks, weights, self.single)
        rooms: dict[int, CombinedKernel] = {}
        self._solvers = tuple(map(partial(self._solver, rooms), self._of, self._banks))
        self._machine = self._solvers[0]
        if any(isinstance(one, MatrixFreeMachine) for one in self._solvers):
            self.manner = "machines on working sets of points, without a combined kernel"

    def _check_growth(self) -> None:
        weights = self.weights_set
        if not isinstance(weights, Regularized) or not weights.regularizer.homogeneous:
            return
        for one in self._of:
            if one.dual.total != 0 and not one.dual.linear.any():
                raise InvalidArgument(
                    f"`regularizer` must grow faster than linearly with the loss {one.loss!r}, without labels, got "
                    f"{weights.regularizer!r}: then T(c d) = c T(d) is least at d = 0 or not bounded below; take "
                    "LpRegularizer(p, power=2)"
                )

    @staticmethod
    def _solver(rooms: dict[int, CombinedKernel], of: KernelMachine, bank: KernelBank) -> SVMMachine:
        """The solver of a machine; solvers that combine the kernels of one bank share the room for it."""
        solver = of.solver(bank)
        if isinstance(solver, DenseMachine):
            solver.room = rooms.setdefault(id(of.bank), solver.room)
        return solver

    def reset(self) -> None:
        """Forget the last solutions, and the last weights of the groups."""
        for m, solver in enumerate(self._solvers):
            solver.reset()
            if self._start is not None:
                ends = self._proof.ends
                solver.signed = self._start[ends[m] : ends[m + 1]].copy()
        if self._rounds is not None:
            self._rounds.reset()

    def start_from(self, signed_dual: ArrayLike | None) -> None:
        """Let the first machines of every run start here, as at the end of a run with similar losses.

        `signed_dual` are those of all machines one after the other, which need not be feasible; None, the default:
        anew.
        """
        self._start = checked_start_of(signed_dual, int(self._proof.ends[-1]))
        self.reset()

    def resume(self, cut: Cut) -> None:
        """Take the solutions of a cut, and its weights of the groups, as the next starting points."""
        for m, solver in enumerate(self._solvers):
            solver.resume(self.extras_of(cut, m))
        if self._rounds is not None:
            self._rounds.c = started(cut.extras["group_weights"], cut.extras["machine_weights"])

    def query(self, query: Query) -> ObjectiveCut:
        """Solve all machines at the weights asked about, a point of the domain where the regularizer is finite.

        The `accuracy` of the `query`, if any, is the relative gap asked of each machine, with several groups that of f;
        its `wishes` tell whether answers of the kinds in `gives` are wanted.

        Returns
        -------
        ObjectiveCut
            With one group its `summands` are the cuts of the machines, each with its own `signed_dual` in its `extras`,
            and last that of the regularizer if there is one. Its `extras`: `signed_dual`, the dual variables of all
            machines one after the other, shape (sum of the numbers of points,); `alpha`, their absolute values; `bias`,
            shape (M,); `quadratic_forms`, S, shape (M, p), with several groups in the order of the point; `n_steps`,
            all steps together; and what a machine remembers, under its name with the number of the machine. With
            several groups also `kernel_weights`, those of the kernels in the machines; `group_weights`, c, of the cut;
            `machine_weights`, those by which the point was divided; `n_solves`, rounds of machines. `extras_of` tells
            the machines apart.
        """
        point = checked_query_point(query.point, self.domain)
        w = self.weights_set.clean(point)
        wanted = self.accuracy if query.accuracy is None else query.accuracy
        if self._rounds is None:
            return self._cut(query, point, self._round(w, self._parts(w, wanted)))
        weights = self.weights_set
        best, last = self._rounds.best(
            lambda c: round_of_groups(weights, w, c, self._parts(weights.lifted(w, c), 0.5 * wanted)),
            lambda found: round_of_groups(weights, w, found.solved, sharper(weights, self._of, self._banks, found)),
            wanted,
        )
        if best is not last:
            for solver, one in zip(self._solvers, best.parts, strict=True):
                solver.resume({"signed_dual": one.svm.signed_dual, "quadratic_forms": one.S})
        return self._cut(query, point, best)

    def _parts(self, d: Vector, wanted: float | None) -> list[Part]:
        """Solve all machines at weights d of the kernels."""
        each = zip(self._of, self._solvers, self._banks, strict=True)
        return [solved(of, solver, bank, d, wanted) for of, solver, bank in each]

    def _round(self, w: Vector, parts: list[Part]) -> Round:
        """What solutions prove together where there is one group, and an upper bound."""
        proof, upper = parts[0].proof, Floats(parts[0].svm.primal_objective)
        for one in parts[1:]:
            proof, upper = proof + one.proof, upper + one.svm.primal_objective
        value, fixed = value_at(proof, w), self.weights_set.regularized(w, Floats)
        if fixed is not None:
            value, upper = value + fixed, upper + fixed
        return Round(parts, proof, w, None, None, float(value.below()), float(upper.above()))

    def _cut(self, query: Query, point: Vector, best: Round, answers: tuple[Answer, ...] = ()) -> ObjectiveCut:
        """The cut of a round, with the answers that are wished for."""
        weights, F = self.weights_set, best.proof.forms
        slope, value, upper = -0.5 * F, best.value, best.upper
        summands: tuple[ObjectiveCut, ...] = ()
        if best.c is not None:
            assert isinstance(weights, Groups)
            slope = slope / best.c[weights.group_of]
        elif not self.single:
            summands = self._summands(point, best)
            value = sum_below([one.value for one in summands])
            slope = np.sum([one.subgradient for one in summands], axis=0)
            upper = -sum_below([-one.upper for one in summands])
        elif (gradient := weights.slope(best.w)) is not None:
            value, slope = lowered(best.w, value, gradient + slope, np.abs(gradient) + 0.5 * np.abs(F))
        if Curvature in query.wishes and Curvature in self.gives and not answers:
            answers = self._curvature(best)
        if AnalyticUpdate in query.wishes and AnalyticUpdate in self.gives:
            S = np.sum([np.maximum(one.S, 0.0) for one in best.parts], axis=0)[weights.order]
            update = weights.update(best.w, S)
            answers += () if update is None else (AnalyticUpdate(update),)
        bound = least(best.proof, self.weights_set) if self.convex else None
        return ObjectiveCut(
            point=point,
            value=value,
            subgradient=slope,
            error=error_above(value, upper),
            lower_bound=-np.inf if bound is None else bound,
            summands=summands,
            answers=answers,
            extras=self._extras(best),
        )

    def _summands(self, point: Vector, best: Round) -> tuple[ObjectiveCut, ...]:
        """The cuts of the machines, and the regularizer's."""
        made = []
        for one in best.parts:
            value = float(value_at(one.proof, best.w).below())
            error, own = error_above(value, one.svm.primal_objective), {"signed_dual": one.svm.signed_dual}
            made.append(ObjectiveCut(point, value, -0.5 * one.proof.forms, error, extras=own))
        slope, fixed = self.weights_set.slope(best.w), self.weights_set.regularized(best.w, Floats)
        if slope is not None and fixed is not None:
            # a sum of slopes rounds as its largest terms do
            sizes = np.abs(slope) + 0.5 * np.abs(best.proof.forms)
            below, flatter = lowered(best.w, float(fixed.below()), slope, sizes)
            made.append(ObjectiveCut(point, below, flatter, error_above(below, float(fixed.above()))))
        return tuple(made)

    def _curvature(self, best: Round) -> tuple[Curvature, ...]:
        """Second derivatives, the machines' factors one below the other; none if one is not known or all are 0."""
        each = zip(self._of, self._solvers, best.parts, strict=True)
        factors = [factor_of(of, solver, best.w, one.svm.signed_dual) for of, solver, one in each]
        known = [one for one in factors if one is not None]
        if len(known) < len(factors) or not any(one.size for one in known):
            return ()
        return (Curvature(known[0] if len(known) == 1 else np.ascontiguousarray(np.concatenate(known))),)

    def _extras(self, best: Round) -> dict[str, Any]:
        """The extras of a cut, of all machines or of the only one."""
        parts, order = best.parts, self.weights_set.order if best.c is not None else slice(None)
        b: Vector
        bias: float | Vector
        if self.single:
            one = parts[0]
            b, bias, told = one.svm.signed_dual, one.svm.bias, one.told
            S = self.weights_set.clean(one.S) if best.c is None else one.S[order]
        else:
            b = np.concatenate([one.svm.signed_dual for one in parts])
            bias, S = np.array([one.svm.bias for one in parts]), np.array([one.S[order] for one in parts])
            told = {f"{name} of machine {m}": what for m, one in enumerate(parts) for name, what in one.told.items()}
        n_steps = sum([one.svm.n_steps for one in parts])
        own = {"signed_dual": b, "alpha": np.abs(b), "bias": bias, "n_steps": n_steps, "quadratic_forms": S, **told}
        return own | self._of_groups(best)

    def _of_groups(self, best: Round) -> dict[str, Any]:
        """The extras of a cut on several groups."""
        if self._rounds is None or best.c is None or best.solved is None:
            return {}
        return {
            "n_steps": self._rounds.n_steps,
            "kernel_weights": self.weights_set.lifted(best.w, best.solved),
            "group_weights": best.c.copy(),
            "machine_weights": best.solved,
            "n_solves": self._rounds.n_solves,
        }

    def extras_of(self, cut: Cut, m: int) -> dict[str, Any]:
        """What a `cut` of this oracle tells of machine number `m`, as the extras of an `MKLOracle`.

        These are `signed_dual`, shape (n_m,), `alpha`, `bias`, `quadratic_forms`, shape (p,), and what the machine
        remembers.
        """
        extras, ends = cut.extras, self._proof.ends
        if self.single:
            return dict(extras)
        b = np.asarray(extras["signed_dual"], dtype=float)[ends[m] : ends[m + 1]]
        suffix = f" of machine {m}"
        own = {name.removesuffix(suffix): extras[name] for name in extras if name.endswith(suffix)}
        bias, S = float(np.asarray(extras["bias"])[m]), np.asarray(extras["quadratic_forms"])[m]
        return {"signed_dual": b, "alpha": np.abs(b), "bias": bias, "quadratic_forms": S, **own}

    def decision_function(self, cut: ObjectiveCut, new: Any) -> Vector | Matrix:
        """Decision values of new points for the machine that answered a `cut` of this oracle: ndarray of shape (m,).

        With several machines the shape is (m, M), a column a machine, and all banks are asked. Values are positive for
        the class +1, or for points like those of the bank; of a regression they are the prediction. `new` is as the
        bank's `cross` takes it: m raw points, or p cross-kernels of shape (m, n).
        """
        _checked_cut(cut, "cut")
        crosses: dict[int, Matrix] = {}
        values: list[Vector] = []
        for m, of in enumerate(self._of):
            if id(of.bank) not in crosses:
                crosses[id(of.bank)] = of.bank.cross(new, self._kernel_weights(cut))
            told = self.extras_of(cut, m)
            values.append(decision_values(crosses[id(of.bank)], told["signed_dual"], told["bias"]))
        return values[0] if self.single else np.stack(values, axis=1)

    def predict(self, cut: ObjectiveCut, new: Any) -> Vector | Matrix:
        """Labels -1 or +1 of `new` points, 0 counting as +1, or their targets, by the loss, for a `cut` of this oracle.

        Shapes are those of `decision_function`.
        """
        values = self.decision_function(cut, new)
        if self.single:
            return self.loss.predict(values)
        return np.stack([of.loss.predict(own) for of, own in zip(self._of, values.T, strict=True)], axis=1)

    def models(self, result: Result | ObjectiveCut) -> list[KernelModel]:
        """Return what a `result` holds, alone: a list with a `model` for each machine."""
        cut = self._cut_of(result)
        return [self._model(cut, of, self.extras_of(cut, m)) for m, of in enumerate(self._of)]

    def model(self, result: Result | ObjectiveCut) -> KernelModel:
        """What a run found, alone: for decisions on new points without this oracle and its bank.

        The `result` is that of a run on this oracle, or one of its cuts. The model holds support vectors and kernels of
        non-zero weight only. An oracle of several machines has `models`.
        """
        found = self.models(result)
        if len(found) > 1:
            raise InvalidArgument(f"this oracle has {len(found)} machines: ask for its `models`")
        return found[0]

    def _model(self, cut: ObjectiveCut, of: KernelMachine, told: dict[str, Any]) -> KernelModel:
        """The model of one machine of a cut."""
        weights, b = self._kernel_weights(cut), told["signed_dual"]
        kernels, support = some_of(weights), some_of(b)
        used, bias = weights[kernels], float(told["bias"])
        if not used.any() and isinstance(of.bank, KernelBank):
            used, b = np.ones(1), np.zeros_like(b)  # all decisions are the bias, as if there were no support vector
        labels = [of.bank.label(k) for k in kernels.tolist()]
        kept = of.bank.kept(kernels, support)
        return KernelModel(kept, used, b[support], bias, of.loss, kernels, support, labels)

    def weights(self, result: Result | ObjectiveCut, *, largest_first: bool = False) -> pd.DataFrame:
        """Weights of the kernels that a run found, as a DataFrame.

        The `result` is that of a run on this oracle, or one of its cuts. The columns are name, group and weight, with a
        row for each kernel, in the order of the bank or with `largest_first` by weight. These are the weights in the
        decision function: with `MKLOracle` they add up to 1; in a product of kernels they multiply the distances in the
        exponent.
        """
        frame = require("pandas", "study", "tables of weights").DataFrame
        weights, bank = np.array(self._kernel_weights(self._cut_of(result)), dtype=float), self._of[0].bank
        table = frame({"name": list(bank.names), "group": list(bank.groups), "weight": weights})
        if flag("largest_first", largest_first):
            table = table.sort_values("weight", ascending=False, kind="stable")
        return table

    def _cut_of(self, result: Result | ObjectiveCut) -> ObjectiveCut:
        """The cut of a result, or the cut itself; it is one of this oracle."""
        cut, n = _checked_cut(getattr(result, "cut", result), "result"), self._proof.ends[-1]
        if cut.extras["signed_dual"].shape != (n,) or cut.point.shape != (self.domain.dimension,):
            raise InvalidArgument(
                f"`result` must be one of this oracle, of {self.domain.dimension} weights and {n} points, got "
                f"{cut.point.size} weights and {cut.extras['signed_dual'].size} points"
            )
        return cut

    @staticmethod
    def _kernel_weights(cut: ObjectiveCut) -> Vector:
        """Weights of the bank's kernels in the machine that answered a cut, ndarray of shape (p,)."""
        weights: Vector = cut.extras.get("kernel_weights", cut.point)
        return weights

    def missing_witness(self, claim: CutClaim | ValueClaim) -> tuple[str, ...]:
        """The dual variables, any bias will do; with several groups their weights, of the cut or of the machines."""
        return self._proof.missing(claim)

    def prove_cut(self, claim: CutClaim, exact: bool = False) -> float | Fraction | None:
        """Count what dual variables prove, of all machines or of one, by the entries; see `Oracle.prove_cut`."""
        return self._proof.cut(claim, exact) if self.convex else None

    def prove_cuts(self, claims: Sequence[CutClaim]) -> list[float | None]:
        """The same of many cuts in floats, the entries read once for all; see `Oracle.prove_cuts`."""
        return self._proof.cuts(claims) if self.convex else [None] * len(claims)

    def merged(self, claims: Sequence[CutClaim], weights: Vector) -> CutClaim | None:
        """The bound that the mean of the dual variables proves, for weights of simplices; see `Oracle.merged`.

        ``L(b) - 1/2 w @ S(b)`` is concave in b, at all w.
        """
        witnesses = [claim.witness.get("signed_dual") for claim in claims]
        if not isinstance(self.weights_set, Groups) or self._rounds is not None or any(b is None for b in witnesses):
            return None
        b = np.average(np.array(witnesses, dtype=float), axis=0, weights=weights)
        proofs = []
        for of, bank, own in zip(self._of, self._banks, np.split(b, self._proof.ends[1:-1]), strict=True):
            mean = made_feasible(of.dual, own)
            if mean is None:
                return None
            proofs.append(proof_of(of, bank, mean, 0.0, bank.quadratic_forms(mean), bank.form_error(mean, mean)))
            own[:] = mean
        bound: float | None = least(reduce(add, proofs), self.weights_set)
        if bound is None:
            return None
        return CutClaim(ClaimKind.BOUND, bound, np.zeros(self.domain.dimension), witness={"signed_dual": b})

    def prove_value(self, claim: ValueClaim, exact: bool = False) -> float | Fraction | None:
        """Count the primal objective of the hyperplanes of a cut at its point; see `Oracle.prove_value`."""
        return self._proof.value(claim, exact)

    def identity(self) -> str:
        """Kernels, losses, labels or targets, accuracies, and the weights."""
        weights, machines = self.weights_set.identity(), [one.identity() for one in self._of]
        if self.single:
            return f"{super().identity()}, {machines[0]}{self._machine.identity()}{weights}"
        words = f", accuracy {self.accuracy!r}, solves {self.max_solves}"
        return f"{super().identity()}{weights}{words}, machines: {'; '.join(machines)}"

    def problem_identity(self) -> str:
        """The same without how exactly, and with how much memory, machines are solved."""
        weights, machines = self.weights_set.identity(), "; ".join(one.problem_identity() for one in self._of)
        own = Oracle.identity(self)
        return f"{own}, {machines}{weights}" if self.single else f"{own}{weights}, machines: {machines}"


def solved(of: KernelMachine, solver: SVMMachine, bank: KernelBank, d: Vector, wanted: float | None) -> Part:
    """Solve a machine at weights d of the kernels of a bank."""
    svm = solver.solve(d, wanted)
    S, error = solver.forms(svm.signed_dual)
    return part_of(of, bank, svm, S, error, solver.extras())


def part_of(
    of: KernelMachine, bank: KernelBank, svm: SVMSolution, S: Vector, error: tuple[float, float], told: dict[str, Any]
) -> Part:
    """The proof of a solution whose forms are wrong by an error as of `KernelBank.form_error`."""
    return Part(svm, S, proof_of(of, bank, svm.signed_dual, svm.imbalance, S, error), told)


def proof_of(
    of: KernelMachine, bank: KernelBank, b: Vector, moved: float, S: Vector, error: tuple[float, float]
) -> Proven:
    """The proof of dual variables that differ from feasible ones by entries which add up to `moved` at most."""
    forms = forms_near(bank, b, moved, S, error)
    return proven(of.dual, b, moved, forms, partial(of.dual.longest_multiple, b), Floats)


def error_above(value: float, upper: float) -> float:
    """The least number, rounded up and not negative, for which value + error is at least upper also when rounded."""
    return float(max(upper - value + 2.0 * EPS * max(abs(upper), abs(value)), 0.0))


def sum_below(numbers: Sequence[float]) -> float:
    """The sum of some numbers, rounded down."""
    return float(np.sum(numbers)) - EPS * len(numbers) * float(np.sum(np.abs(numbers)))


def checked_start_of(signed_dual: ArrayLike | None, n_points: int) -> Vector | None:
    """Return dual variables to start from, or raise `InvalidArgument` unless they are so many finite numbers."""
    if signed_dual is None:
        return None
    start = np.array(floats("signed_dual", signed_dual))
    if start.shape != (n_points,) or not np.isfinite(start).all():
        raise InvalidArgument(f"`signed_dual` must be {n_points} finite numbers, got {shown(start)}")
    return start


def _checked_cut(cut: object, name: str) -> ObjectiveCut:
    """Return a cut, or refuse what is none of an oracle of support vector machines."""
    checked = instance(name, cut, ObjectiveCut, "a cut of this oracle such as result.cut")
    if not {"signed_dual", "bias"} <= checked.extras.keys():
        raise InvalidArgument(f"`{name}` must be one of this oracle, with `signed_dual` and `bias` in its `extras`")
    return checked
