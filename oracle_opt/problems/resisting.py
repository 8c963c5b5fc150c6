"""An adversary: whatever a method asks, N answers leave it a gap of at least ``L R / sqrt(N)``."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from oracle_opt.arrays import EPS, Vector, digest
from oracle_opt.domains import Domain, FreeSpace
from oracle_opt.function_oracle import FunctionOracle
from oracle_opt.guarantee import Regularity
from oracle_opt.problems.function_proof import FunctionProof, ProvenTangent, largest, oracle_of
from oracle_opt.problems.instance import Instance
from oracle_opt.problems.problem_family import Generated
from oracle_opt.proof.claim import CutClaim
from oracle_opt.proof.enclosure import Enclosure

INSIDE = 1.0 - 2.0**-40  # of a unit vector: so long is certainly less than 1


@dataclass(frozen=True, eq=False)
class SignedLargest:
    """``L max(max_i s_i z_i, norm(z) - reach)`` over the coordinates i whose sign is not 0."""

    signs: Vector
    steepness: float
    reach: float

    def __call__(self, z: Vector) -> tuple[float, Vector]:
        """Value and subgradient."""
        heights = np.where(self.signs == 0, -np.inf, self.signs * z)
        k, length = int(heights.argmax()), float(np.linalg.norm(z))
        if length - self.reach > heights[k]:
            return self.steepness * (length - self.reach), self.steepness / length * z
        slope = np.zeros(len(z))
        slope[k] = self.steepness * self.signs[k]
        return self.steepness * float(heights[k]), slope


class SignedProof(FunctionProof):
    """Tangents of `SignedLargest`: the slope of a cut tells which one it is."""

    def __init__(self, domain: Domain, function: SignedLargest) -> None:
        super().__init__(domain)
        self.function = function

    def tangents(self, claim: CutClaim, exact: bool) -> Iterable[ProvenTangent]:
        """The piece of the steepest coordinate, and the far one in the direction of the slope."""
        it, k = self.function, int(np.abs(claim.slope).argmax())
        unit = np.zeros(len(claim.slope))
        unit[k] = it.signs[k]
        length = float(np.linalg.norm(claim.slope)) or 1.0
        far = Enclosure.of(INSIDE * (claim.slope / length), exact)
        reach = Enclosure.of(np.array(it.reach), exact)
        return [
            ProvenTangent(reach * 0, Enclosure.of(unit, exact) * it.steepness),
            ProvenTangent(reach * -it.steepness, far * it.steepness),
        ]

    def value(self, point: Vector, exact: bool) -> Enclosure:
        """The largest."""
        it, z = self.function, Enclosure.of(point, exact)
        far = (z * z).sum().sqrt() - it.reach
        pieces = [Enclosure.of(np.array(one), exact) for one in it.signs * point]
        return largest([one * it.steepness for one in (*pieces, far)])


class ResistingOracle(FunctionOracle):
    """``L max(max_i s_i z_i, norm(z) - R (1 + 1 / sqrt(n)))``, with signs that are chosen as late as possible.

    See docs/theory_methods.md, "An adversary". `dimension` is n, `steepness` L, `radius` R. Nemirovski & Yudin (1983),
    "Problem complexity and method efficiency in optimization"; Drori & Teboulle (2016), "An optimal variant of Kelley's
    cutting-plane method", section 3.
    """

    adaptive = True
    stateless = False

    def __init__(self, dimension: int, steepness: float = 1.0, radius: float = 1.0) -> None:
        self.steepness, self.radius = steepness, radius
        self._signs = np.zeros(dimension)
        name = f"resisting({dimension}, {steepness!r}, {radius!r})"
        super().__init__(self._answer, FreeSpace(dimension, radius=radius), name=name)

    def reset(self) -> None:
        """Forget all signs."""
        super().reset()
        self._signs = np.zeros(self.domain.dimension)

    def frozen(self) -> FunctionOracle:
        """Return the function answered, coordinates without a sign having +1, as an oracle that proves its cuts."""
        signs = np.where(self._signs == 0, 1.0, self._signs)
        function = self._function(signs)
        return oracle_of(function, SignedProof(self.domain, function), f"{self.name} #{digest(signs)}")

    def _function(self, signs: Vector) -> SignedLargest:
        return SignedLargest(signs, self.steepness, self.radius * (1.0 + 1.0 / sqrt(len(signs))))

    def _answer(self, z: Vector) -> tuple[float, Vector]:
        function = self._function(self._signs)
        sizes = np.where(self._signs == 0, np.abs(z), -np.inf)
        j, highest = int(sizes.argmax()), float(np.where(self._signs == 0, -np.inf, self._signs * z).max())
        # a tie gives a new sign
        if sizes[j] >= max(highest, float(np.linalg.norm(z)) - function.reach):
            self._signs[j] = -1.0 if z[j] < 0 else 1.0
        return function(z)


def draw(n: int = 20, steepness: float = 1.0, radius: float = 1.0) -> Instance:
    """Make the adversary in n variables; nothing is random."""
    oracle, least = ResistingOracle(n, steepness, radius), -steepness * radius / sqrt(n)
    error, known = 8.0 * EPS * steepness * radius, Regularity(steepness, radius)
    return Instance(oracle, np.zeros(n), least, error, regularity=known)


FAMILY = Generated(
    "resisting",
    "an adversary that leaves every method a gap of at least L R / sqrt(N) after N <= n calls",
    draw,
    tuple({"n": n} for n in (5, 10, 20, 50)),
    source="Nemirovski & Yudin (1983); Drori & Teboulle (2016)",
)
