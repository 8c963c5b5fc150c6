"""Proofs of cuts and parts of minorants that are wrong: `check_oracle` and `check_generator` say so."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from oracle_opt import Box, FeasibilityCut, ObjectiveCut, Oracle, Query, Refuted, Simplex
from oracle_opt.generators import Kelley
from oracle_opt.proof.claim import ClaimKind, CutClaim, ValueClaim
from oracle_opt.proof.exact_sums import exact
from oracle_opt.proof.parts import Combination, combined
from oracle_opt.testing import ConformanceError, check_generator, check_oracle, small_problems
from oracle_opt.testing.generator_protocol import check_protocol


class Pieces(Oracle):
    """The sum of three maxima of affine functions where two half-spaces meet; the numbers of pieces prove all cuts."""

    stateless = True
    witness = ("pieces",)
    gives = frozenset({FeasibilityCut})

    def __init__(self) -> None:
        rng = np.random.default_rng(4)
        self.domain = Box(-np.ones(3), np.ones(3))
        self.slopes, self.heights = rng.normal(size=(3, 5, 3)), rng.normal(size=(3, 5))
        self.normals, self.sides = rng.normal(size=(2, 3)), np.array([0.6, 0.7])

    def query(self, query: Query) -> ObjectiveCut | FeasibilityCut:
        z = query.point
        over = self.normals @ z - self.sides
        if over.max() > 1e-9:
            i = int(over.argmax())
            return FeasibilityCut(z, float(over[i]), self.normals[i].copy(), extras={"pieces": i}, error=1e-9)
        chosen = (self.slopes @ z + self.heights).argmax(axis=1)
        summands = tuple(self._piece(z, j, int(i)) for j, i in enumerate(chosen))
        value, slope = sum(one.value for one in summands), sum(one.subgradient for one in summands)
        least = -float(np.abs(self.heights).sum() + np.abs(self.slopes).sum())
        told = {"pieces": chosen.astype(float), "others": 3.0}
        return ObjectiveCut(z, value, slope, 1e-14, least, summands, extras=told)

    def _piece(self, z: np.ndarray, j: int, i: int) -> ObjectiveCut:
        slope = self.slopes[j, i].copy()
        return ObjectiveCut(z, float(slope @ z + self.heights[j, i]), slope, extras={"pieces": float(i)})

    def prove_cut(self, claim: CutClaim, exact: bool = False) -> float | Fraction | None:
        if "pieces" not in claim.witness:
            return None
        constant, slope = self.proven(claim, np.asarray(claim.witness["pieces"], dtype=float))
        reach = sum(abs(Fraction(a) - Fraction(b)) for a, b in zip(claim.slope, slope, strict=True))
        return max(Fraction(0), Fraction(claim.constant) - constant + reach)

    def proven(self, claim: CutClaim, told: np.ndarray) -> tuple[Fraction, list[Fraction]]:
        """Constant and slope of what the pieces say, exactly."""
        if claim.kind is ClaimKind.BOUND:
            sizes = np.abs(self.heights).sum() + np.abs(self.slopes).sum()
            return -exact(float(sizes)), [Fraction(0)] * 3
        summands = range(3) if claim.kind is ClaimKind.MINORANT else [claim.summand]
        if told.shape != ((3,) if claim.kind is ClaimKind.MINORANT else ()) or not np.isfinite(told).all():
            raise Refuted("these are no numbers of pieces")
        if claim.kind is ClaimKind.HALF_SPACE:
            return exact(-self.sides[int(told)]), [exact(entry) for entry in self.normals[int(told)]]
        pieces = list(zip(summands, np.atleast_1d(told).astype(int).tolist(), strict=True))
        slopes = [[exact(self.slopes[j, i, k]) for k in range(3)] for j, i in pieces]
        return sum(exact(self.heights[j, i]) for j, i in pieces), [sum(column) for column in zip(*slopes, strict=True)]

    def prove_value(self, claim: ValueClaim, exact: bool = False) -> float | Fraction | None:
        z = claim.point
        return float((self.slopes @ z + self.heights).max(axis=1).sum()) + 1e-12


def test_an_oracle_that_proves_its_cuts_is_sound() -> None:
    check_oracle(Pieces(), feasible=[np.zeros(3)])


class Trusting(Pieces):
    def prove_cut(self, claim, exact=False):
        return 0.0


class Unsure(Pieces):
    def prove_cut(self, claim, exact=False):
        return 1e-3


class Unfinite(Pieces):
    def prove_cut(self, claim, exact=False):
        honest = super().prove_cut(claim)
        return honest if honest is None or honest < 1e-9 else np.nan


class Crashing(Pieces):
    def prove_cut(self, claim, exact=False):
        claim.witness["pieces"]
        return super().prove_cut(claim)


class Strict(Pieces):
    def prove_cut(self, claim, exact=False):
        excess = super().prove_cut(claim)
        if excess:
            raise Refuted("it claims more than is proven")
        return excess


class Believing(Pieces):
    """Takes the constant from the claim, and proves no more than its slope."""

    def proven(self, claim, told):
        return Fraction(claim.constant), super().proven(claim, told)[1]


class Summing(Pieces):
    """Takes for proven of a summand what is proven of all."""

    def prove_cut(self, claim, exact=False):
        return 0.0 if claim.kind is ClaimKind.SUMMAND else super().prove_cut(claim)


class Outside(Pieces):
    """Believes all half-spaces."""

    def prove_cut(self, claim, exact=False):
        return 0.0 if claim.kind is ClaimKind.HALF_SPACE else super().prove_cut(claim)


class Repeating(Pieces):
    def prove_value(self, claim, exact=False):
        return claim.upper


class Refusing(Pieces):
    def prove_value(self, claim, exact=False):
        raise Refuted("whatever it is")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Trusting, "refutes the cut if it is raised above what is true, or proves no more"),
        (Unsure, "proves the cut as it was answered, but for rounding"),
        (Unfinite, "says by no more than nan"),
        (Crashing, "`pieces` of it spoiled.*\n.*KeyError"),
        (Believing, "refutes the cut if it is raised"),
        (Summing, r"refutes `summands\[0\]` if it is raised"),
        (Outside, "refutes the feasibility cut if it is raised"),
        (Repeating, "`prove_value` computes an upper bound of the value, whatever is claimed"),
        (Refusing, "`prove_value` computes an upper bound.*\n.*Refuted was raised"),
    ],
)
def test_proofs_that_let_false_claims_pass_or_honest_ones_not_are_found(kind: type[Pieces], words: str) -> None:
    with pytest.raises(ConformanceError, match=words):
        check_oracle(kind(), feasible=[np.zeros(3)])


def test_a_proof_that_refutes_all_that_is_raised_is_sound() -> None:
    """Where rounding made no cut claim too much."""
    oracle = Strict()
    oracle.slopes, oracle.heights = np.round(oracle.slopes * 8) / 8, np.round(oracle.heights * 8) / 8
    oracle.normals, oracle.sides = np.round(oracle.normals * 8) / 8, np.array([0.5, 0.75])
    grid = [np.array(z) / 4.0 for z in ([0, 0, 0], [1, 2, -1], [-3, 1, 2], [4, -4, 2], [-1, -1, 3])]
    check_oracle(oracle, grid, feasible=[np.zeros(3)], step=2.0**-12)


class Parted(Kelley):
    """Minorants whose parts are changed."""

    def minorant(self):
        known = super().minorant()
        if known is None:
            return None
        terms = [term for part in known.parts for term in part.weighted()]
        return replace(known, parts=(Combination(self.changed(terms)),))

    def changed(self, terms):
        return terms


class Halved(Parted):
    """The same claims, with half of the weights: only their shares count."""

    def changed(self, terms):
        return [(0.5 * weight, claim) for weight, claim in terms]


class OneLess(Parted):
    def changed(self, terms):
        return terms[:-1] if len(terms) > 1 else terms


class Higher(Parted):
    def changed(self, terms):
        return [(weight, replace(claim, constant=claim.constant + 0.1)) for weight, claim in terms]


class Nothing(Parted):
    def changed(self, terms):
        return [(weight, claim) for weight, claim in terms if claim.kind is ClaimKind.HALF_SPACE]


def test_parts_count_by_their_shares() -> None:
    assert check_generator(Halved(), domains=[Simplex(3)], calls=6)


@pytest.mark.parametrize("kind", [OneLess, Higher, Nothing])
def test_parts_that_do_not_make_up_the_minorant_are_found(kind: type[Parted]) -> None:
    with pytest.raises(ConformanceError, match=r"claims that a lower bound is said to be made of prove it|add up to"):
        check_generator(kind(), domains=[Simplex(3)], calls=6)
    problem = small_problems(Simplex(3))[1]
    with pytest.raises(ConformanceError, match="what `parts` of a minorant add up to is the minorant, or more"):
        check_protocol(kind(), problem, seed=0)


def test_claims_are_combined_as_certificates_do() -> None:
    rng = np.random.default_rng(0)
    slopes = rng.normal(size=(5, 2))
    kinds = [ClaimKind.MINORANT, ClaimKind.SUMMAND, ClaimKind.SUMMAND, ClaimKind.SUMMAND, ClaimKind.HALF_SPACE]
    j, N = (0, 0, 1, 1, 0), (0, 2, 2, 2, 0)
    claims = [CutClaim(kind, float(i), slopes[i], j[i], N[i]) for i, kind in enumerate(kinds)]
    constant, slope = combined(list(zip([0.5, 1.0, 0.25, 0.5, 2.0], claims, strict=True)))
    weights = np.array([0.5, 1.0, 1 / 3, 2 / 3, 2.0]) / 1.5
    assert constant == pytest.approx(weights @ np.arange(5.0))
    np.testing.assert_allclose(slope, weights @ slopes)
    for terms in ([], [(1.0, claims[4])], [(1.0, claims[1])], [(-1.0, claims[0])], [(np.nan, claims[0])]):
        with pytest.raises(ValueError, match="weights"):
            combined(terms)
