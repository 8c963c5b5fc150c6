"""Methods that make minorants themselves, or hand cuts to others: each of their claims is an answer of the oracle."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from signed_cuts import Signed
from table_problems import PROBLEMS

from oracle_opt import Domain, ExactSlopes, Minorant, Oracle, QueryPointGenerator, Result, Simplex, minimize
from oracle_opt.certificates.certificate import Certificate
from oracle_opt.cuts import ObjectiveCut, PartialQuery, Query
from oracle_opt.generators import ActiveSet, Ellipsoid, ForeignSolver, Kelley, LevelSet, NewtonBundle, ProximalBundle
from oracle_opt.generators import active_set as module
from oracle_opt.proof.claim import ClaimKind, ValueClaim


def problem(name: str) -> Oracle:
    return next(one for one in PROBLEMS if one.name == name).make()


def certified(result: Result, oracle: Signed) -> Certificate:
    """Every claim is an answer of the oracle, and all together prove the bound in exact arithmetic."""
    assert result.proof is not None
    assert result.point is not None
    terms = result.proof.terms
    for weight, claim in terms:
        assert weight > 0
        assert oracle.difference(claim) == ""
    value = ValueClaim(result.point, result.upper_bound)
    claims, weights = [claim for _, claim in terms], [weight for weight, _ in terms]
    made = Certificate.of(oracle.domain, claims, weights, value, result.lower_bound, result.upper_bound)
    assert result.lower_bound - made.lower <= 1e-12 * max(abs(result.lower_bound), abs(result.upper_bound))
    return made


@pytest.mark.parametrize("deep", [True, False], ids=["deep", "central"])
@pytest.mark.parametrize(
    "name",
    ["sum of maxima on simplex", "disc by cuts", "caps by cuts", "max affine on polyhedron", "max-cut of a cycle"],
)
def test_the_ellipsoid_method_names_the_cuts_of_its_proof(name: str, deep: bool) -> None:
    oracle = Signed(problem(name))
    result = minimize(oracle, Ellipsoid(deep), rtol=1e-6, max_calls=300)
    assert result.history.bound_source[-1] == "model"
    made = certified(result, oracle)
    kinds = {claim.kind for claim in made.cuts}
    assert kinds == ({ClaimKind.MINORANT, ClaimKind.HALF_SPACE} if "by cuts" in name else {ClaimKind.MINORANT})


class Pieces(Oracle):
    """A maximum of affine functions whose slopes are told too low where they were not asked for."""

    gives = frozenset({ExactSlopes})

    def __init__(self, n: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.domain = Simplex(n)
        self.slopes, self.heights = rng.normal(size=(4 * n, n)), 0.1 * rng.normal(size=4 * n)

    def query(self, query: Query) -> ObjectiveCut:
        values = self.slopes @ query.point + self.heights
        i = int(values.argmax())
        slope, answers = self.slopes[i].copy(), ()
        if isinstance(query, PartialQuery):
            told = slope[query.coordinates]
            slope, answers = slope - 0.5, (ExactSlopes(query.coordinates),)
            slope[query.coordinates] = told
        return ObjectiveCut(query.point, float(values[i]), slope, answers=answers)


@pytest.mark.parametrize("inner", [LevelSet(), ProximalBundle(max_cuts=20), NewtonBundle()], ids=repr)
@pytest.mark.parametrize("start", [1, 4, 50])
def test_faces_that_grow_to_the_whole_keep_what_proves_their_cuts(inner: QueryPointGenerator, start: int) -> None:
    """With all variables active the inner method's minorant is handed out: of cuts told when they were few, too."""
    oracle = Signed(Pieces(8, 3))
    result = minimize(oracle, ActiveSet(inner, start=start, most=3), rtol=1e-7, max_calls=200)
    assert result.success
    certified(result, oracle)


def test_cuts_for_a_new_start_hold_no_more_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the oldest lose their witness, and what they prove is a claim without one: no less is claimed."""
    monkeypatch.setattr(module, "ROOM", 8 * 4 * 1010)
    seen, n_bare = 0, 0

    def count(_: object) -> None:
        nonlocal seen
        seen = max(seen, sum("number" in cut.extras for cut in generator._exact))

    for seed in range(3, 9):
        oracle, generator = Signed(Pieces(8, seed), n_numbers=1000), ActiveSet(LevelSet(), start=1, most=1)
        full = minimize(oracle, generator, rtol=1e-8, max_calls=200, callback=count)
        assert full.success
        assert 0 < seen <= 4
        terms = full.proof.terms
        n_bare += sum(not claim.witness for _, claim in terms)
        weights = [weight for weight, _ in terms]
        value = ValueClaim(full.point, full.upper_bound)
        Certificate.of(oracle.domain, [one for _, one in terms], weights, value, full.lower_bound, full.upper_bound)
    assert n_bare > 0


@pytest.mark.parametrize("name", ["sum of maxima on box", "caps by cuts", "tiny mkl"])
@pytest.mark.parametrize("generator", [Kelley(max_cuts=12), Ellipsoid()], ids=repr)
def test_replayed_and_earlier_cuts_keep_their_witness(
    name: str, generator: QueryPointGenerator, tmp_path: Path
) -> None:
    path, inner = tmp_path / "run.journal", problem(name)
    oracle = Signed(inner)
    first = minimize(oracle, generator, rtol=1e-9, max_calls=40, journal=path, keep_cuts=True)
    again = minimize(oracle, generator, rtol=1e-9, max_calls=40, journal=path, journal_check=False)
    assert again.n_replayed == again.n_calls
    made, other = certified(first, oracle), certified(again, oracle)
    assert made.records == other.records
    told = minimize(oracle, Kelley(), rtol=1e-9, max_calls=3, cuts=first.history.cuts)
    known = certified(told, oracle)
    assert known.lower >= made.lower - 1e-9 * abs(made.lower)


def test_users_minorants_of_unknown_parts_stay_claims_of_their_own() -> None:
    oracle = problem("max affine on box")

    class Own(Kelley):
        def minorant(self) -> Minorant | None:
            known = super().minorant()
            return None if known is None else Minorant(known.constant, known.slope, known.error)

    one, other = (minimize(oracle, generator, rtol=1e-6) for generator in (Kelley(), Own()))
    assert one.lower_bound == other.lower_bound
    ((weight, claim),) = other.proof.terms
    assert (weight, claim.kind, claim.witness) == (1.0, ClaimKind.MINORANT, {})
    assert "generator's model" in claim.note


def follow(function: Callable[[np.ndarray], tuple[float, np.ndarray]], start: np.ndarray, domain: Domain) -> None:
    """A solver that knows nothing of the library."""
    z = start
    for k in range(40):
        z = domain.project(z - function(z)[1] / (1.0 + k))


@pytest.mark.parametrize("prove", [True, False], ids=["by the model", "by the average"])
def test_the_cuts_of_a_solver_from_elsewhere_are_named(prove: bool) -> None:
    oracle = Signed(problem("absolute values on simplex"))
    result = minimize(oracle, ForeignSolver(follow, prove=prove), rtol=1e-12)
    assert result.n_calls > 10
    certified(result, oracle)
