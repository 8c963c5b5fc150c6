"""Notary: the certificate of a bound that the multipliers of any other solver prove."""

from math import inf, isfinite
from typing import Any

from oracle_opt.arrays import Vector
from oracle_opt.certificates.certificate import Certificate
from oracle_opt.checks import check_oracle
from oracle_opt.cuts import Cut, FeasibilityCut, ObjectiveCut
from oracle_opt.domains import Domain
from oracle_opt.driver import minimize
from oracle_opt.errors import Exhausted, InvalidArgument, InvalidCertificate
from oracle_opt.generator import Minorant, QueryPointGenerator, Step
from oracle_opt.oracle import Oracle
from oracle_opt.proof.run_proof import RunProof
from oracle_opt.proposal import Proposal


def notarize(model: Any, multipliers: Any = None, point: Any = None, *, signs: str | None = None) -> Certificate:
    """Certify the bound that multipliers prove, whoever found them and however exact they are.

    Nothing of the other solver is believed: the bound is counted from the data of the problem, as are the value of a
    `point` and whether that is feasible. Where multipliers can be mended, the better of both bounds is taken.

    Parameters
    ----------
    model : Oracle, path or model of another package
        An MPS or LP file, or a model of highspy, linopy, Pyomo or cvxpy, as `ConicOracle.from_model` takes; a
        `TwoStageProblem`; a `ConicOracle`, `BendersOracle` or `LagrangianOracle`, or another one with a `proposed_by`.
        The certificate of a model is verified on the oracle that `from_model`, or `BendersOracle`, makes of it.
    multipliers : array_like or mapping, optional
        Of a `ConicOracle` one a row of A, or of a model by the names of its rows; by default those that the model has
        of its own solver. Of a `BendersOracle` a line a scenario with one a row of the second stage, of a
        `LagrangianOracle` one a relaxed constraint.
    point : array_like of shape (n,) or mapping, optional
        The other solver's point, brought into the domain.
    signs : {'highs', 'gurobi', 'negated'}, optional
        Of the multipliers of a model, as `ConicOracle.from_model` says; by default as they tell.

    Returns
    -------
    Certificate
        Of the lower bound alone if there is no `point`, or it is not feasible, which the fact "point" then says. Of a
        `LagrangianOracle` it is of a point alone: the value there bounds the primal optimum.

    Raises
    ------
    InvalidArgument
        The multipliers have another shape, are not finite, or prove nothing; then the message names the columns.

    Examples
    --------
    The least x + y with x + 2 y >= 3, both between 0 and 9, by a multiplier that is a bit off:

    >>> from oracle_opt import Box, notarize
    >>> from oracle_opt.oracles import ConicOracle, Nonnegative
    >>> oracle = ConicOracle([1, 1], [[-1, -2]], [-3], [Nonnegative(1)], domain=Box([0, 0], [9, 9]))
    >>> certificate = notarize(oracle, [0.501])
    >>> round(certificate.lower, 9), certificate.verify(oracle).proven
    (1.5, True)
    """
    if not isinstance(model, Oracle):
        model = _oracle_of(model, signs)
    elif signs is not None:
        raise InvalidArgument("`signs` are of a file or a model of another package; an oracle knows those of its own")
    check_oracle(model)
    proposal = model.proposed_by(multipliers, point)
    oracle, minorant = proposal.oracle or model, proposal.minorant
    facts: dict[str, object] = {"generator": proposal.words}
    if oracle.relaxation:
        facts["relaxation"] = oracle.relaxation
    if oracle.maximizes:
        facts["sense"] = "a maximization turned round: bounds are of minus its objective"
    lower, proof = -inf, None
    if minorant is not None:  # rounding of the least value is counted by the certificate, exactly
        lower, proof = minorant.minimum(oracle.domain) - minorant.error, RunProof(oracle, minorant.proof(), "model")
    if proposal.point is not None:
        run = minimize(oracle, _GivenPoint(proposal), proposal.point, max_calls=1, probes=0, first=False)
        if run.status.disproved or run.proof is None:
            raise InvalidCertificate(f"there is nothing to certify: {run.message}")
        if isfinite(run.upper_bound):
            facts |= {"status": run.status.name, "calls": run.n_calls}
            return (proof or run.proof).certificate(run.cut, lower, run.upper_bound, facts)
        facts["point"] = "the given point is not feasible"
    if proof is None:
        raise InvalidCertificate("there is nothing to certify: the value at the given multipliers is infinite")
    return proof.certificate(None, lower, inf, facts)


def _oracle_of(model: Any, signs: str | None) -> Oracle:
    """The oracle of a model that is none."""
    from oracle_opt.oracles import BendersOracle, ConicOracle, TwoStageProblem  # only here: the core knows no oracle

    if not isinstance(model, TwoStageProblem):
        return ConicOracle.from_model(model, signs)
    if signs is not None:
        raise InvalidArgument("`signs` must be left out for a TwoStageProblem: duals are what a side adds to its cost")
    return BendersOracle(model)


class _GivenPoint(QueryPointGenerator):
    """Asks the point of a proposal alone, and proves by the minorant that comes with it."""

    takes = frozenset({FeasibilityCut})
    understands_infinity = True

    def __init__(self, proposal: Proposal) -> None:
        self.proposal = proposal

    def reset(self, domain: Domain, point: Vector) -> None:
        self._asked = False

    def ask(self) -> Vector:
        if self._asked or self.proposal.point is None:
            raise Exhausted("nothing else was given")
        return self.proposal.point

    def tell(self, cut: Cut) -> Step:
        self._asked = True
        return Step.SERIOUS if isinstance(cut, ObjectiveCut) else Step.FEASIBILITY

    def minorant(self) -> Minorant | None:
        return self.proposal.minorant
