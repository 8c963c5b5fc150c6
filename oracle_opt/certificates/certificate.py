"""A certificate of a run: bounds on the minimum that others can check, with a file or the data of the problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, lru_cache
from math import inf, isfinite
from os import PathLike
from pathlib import Path
from platform import python_version
from typing import TYPE_CHECKING, Any

import numpy as np

from oracle_opt.arguments import instance, instances
from oracle_opt.arrays import Vector, digest
from oracle_opt.certificates import certificate_file, verify
from oracle_opt.certificates.examination import ROUNDING, CertificateVerdict, prove, same_but_for_names, size_of
from oracle_opt.certificates.verify import Checked, DamagedFile, FalseLine, Record
from oracle_opt.domains import Domain
from oracle_opt.errors import InvalidArgument, InvalidCertificate, Refuted
from oracle_opt.proof.claim import ClaimKind, CutClaim, ValueClaim
from oracle_opt.words import one_line

if TYPE_CHECKING:
    from oracle_opt.oracle import Oracle


PACKAGES = ("oracle-opt", "numpy", "scipy", "highspy")


@dataclass(frozen=True, eq=False)
class Certificate:
    """Cuts, multipliers and a point that prove ``lower <= minimum <= upper``, or one of both alone.

    A certificate of a lower bound has no point, and `upper` is inf. One of a point has no cuts, and `lower` is -inf.
    Made by `Result.certificate` or `Certificate.load`; `verify` checks it.

    Parameters
    ----------
    lower, upper : float
        The minimum lies between them.
    gap : float
        ``upper - lower``, rounded up, and 0 where that is negative; inf where one of both is.
    cuts : tuple of CutClaim
        The cuts with a multiplier above 0.
    multipliers : ndarray of shape (len(cuts),)
        Of each cut.
    value : ValueClaim or None
        The best point and the value there; `None` without a point.
    problem : str
        `Oracle.problem_identity` of the oracle.
    facts : mapping
        What else is known of the run: names to words and numbers.
    versions : mapping
        Of the packages that it was made with.
    records : tuple of dict
        The lines of its file, but for the last.
    """

    __repr__ = one_line

    lower: float
    upper: float
    gap: float
    cuts: tuple[CutClaim, ...]
    multipliers: Vector
    value: ValueClaim | None
    problem: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    records: tuple[Record, ...] = field(default=(), repr=False)

    @classmethod
    def of(
        cls,
        domain: Domain,
        cuts: Sequence[CutClaim],
        multipliers: Sequence[float] | Vector,
        value: ValueClaim | None,
        lower: float,
        upper: float,
        facts: Mapping[str, Any] | None = None,
    ) -> Certificate:
        """Make a certificate of claims, and see that it holds, given the claims.

        The `cuts` are what is claimed of a function on a `domain`. The `multipliers` are not negative, one a cut: those
        of each summand are scaled to the largest sum of a summand, and cuts with the multiplier 0 are left out. `value`
        is the claim of the best point. A run claims the bounds `lower` and `upper`; the lower one of the certificate is
        the same, or the exact minimum of the minorant where rounding made that smaller. No value and an `upper` of inf
        make a certificate of the bound alone, a `lower` of -inf one of the point, without cuts. `facts` are names to
        words and numbers: "problem" is `Oracle.problem_identity`; "convex", if it is false, refuses.

        Raises
        ------
        InvalidCertificate
            There is nothing to certify: neither a bound nor a point, no convexity. Or the bounds do not follow from the
            claims.
        """
        instance("domain", domain, Domain, "a Domain such as Box(lower, upper)")
        facts = dict(facts or {})
        if not facts.pop("convex", True):
            raise InvalidCertificate("the function is not convex: nothing was proven, and there is nothing to certify")
        bounded, cuts = lower != -inf, instances("cuts", cuts, CutClaim, "a CutClaim")
        if not (isfinite(upper) if value is not None else upper == inf and bounded):
            raise InvalidCertificate(
                "there is no upper bound to certify: no feasible point with a finite value was seen"
            )
        if bounded and not isfinite(lower):
            raise InvalidCertificate("there is no finite lower bound to certify: none was proven")
        kept, weights = _kept(cuts, np.asarray(multipliers, dtype=float)) if bounded else ((), np.zeros(0))
        n, lines = domain.dimension, [certificate_file.cut_words(*pair) for pair in zip(kept, weights, strict=True)]
        try:
            whole, total = verify.weights_of(lines) if bounded else ([], 1)
            constant, slope = verify.combined(lines, whole, n)
            scale = total * verify.ONE
            minorant = np.array([entry / scale for entry in (constant, *slope)])
            described = {name: certificate_file.set_words(one) for name, one in domain.described(minorant[1:]).items()}
            least = verify.minimum(described.get("promised", described["set"]), slope, scale)
            outside: dict[str, Fraction] = {}
            if value is not None:
                point = [verify.units(certificate_file.hexadecimal(z)) for z in value.point.tolist()]
                outside = verify.violations(described["set"], lines, point)
        except (DamagedFile, FalseLine, OverflowError, ValueError) as false:
            raise InvalidCertificate(f"what the run claims does not hold: {false}") from false
        if bounded:
            if least is None:
                raise InvalidCertificate(
                    "there is no finite lower bound to certify: in exact arithmetic the minorant has no minimum over "
                    f"{domain!r}"
                )
            exact = (constant + least) / scale
            size = size_of(domain, kept, [Fraction(weight, total) for weight in whole], lower, upper)
            if lower - exact > ROUNDING * size:
                raise InvalidCertificate(
                    f"the lower bound {lower!r} does not follow from the cuts: the exact minimum is {float(exact)!r}"
                )
            lower = min(float(lower), -verify.rounded_up(-exact))
        both = bounded and value is not None
        gap = verify.rounded_up(max(Fraction(0), Fraction(upper) - Fraction(lower))) if both else inf
        problem, versions = str(facts.pop("problem", "")), dict(_versions())
        run = {name: certificate_file.plain(name, fact) for name, fact in facts.items()}
        header = {
            "line": "header",
            "format": verify.FORMAT,
            "version": verify.VERSION,
            "lower": certificate_file.hexadecimal(lower),
            "upper": certificate_file.hexadecimal(upper),
            "gap": certificate_file.hexadecimal(gap),
            "problem": problem,
            "problem_digest": digest(problem),
            "run": run,
            "versions": versions,
        }
        constant_and_slope = {
            "constant": certificate_file.hexadecimal(minorant[0]),
            **certificate_file.slope_words(minorant[1:]),
        }
        farthest = {kind: verify.rounded_up(amount) for kind, amount in outside.items()}
        records = (
            header,
            {"line": "domain", "n": n, **described},
            *lines,
            {"line": "minorant", **constant_and_slope},
            certificate_file.value_words(value, farthest),
        )
        made = cls(lower, float(upper), gap, kept, weights, value, problem, run, versions, records)
        try:
            made._checked()  # what does not hold is never written
        except Refuted as false:
            raise InvalidCertificate(f"what the run claims does not hold: {false}") from false
        return made

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the file to a `path`, which is returned: in place of one of this name, compressed if it ends in .gz."""
        target = Path(path)
        certificate_file.write(target, certificate_file.content_of(self.records))
        return target

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Certificate:
        """Read a certificate that `save` wrote to `path`, without checking what it claims: that is what `verify` does.

        `InvalidCertificate` says that it is none, of another version, cut off or damaged; an OSError, that it cannot be
        read.
        """
        try:
            content = certificate_file.content_at(Path(path))
            header, domain, *lines, minorant, incumbent, _ = verify.records_of(content)
            with verify.line(2, "the domain"):
                n = int(domain["n"])
            pairs = []
            for k, words in enumerate(lines):
                with verify.line(k + 3, f"cut {k}"):
                    pairs.append(certificate_file.cut_of(words, n))
            with verify.line(len(lines) + 4, "the incumbent"):
                value = certificate_file.value_of(incumbent)
            with verify.line(1, "the header"):
                lower, upper, gap = (float.fromhex(header[name]) for name in ("lower", "upper", "gap"))
                facts, versions, problem = dict(header["run"]), dict(header["versions"]), str(header["problem"])
        except DamagedFile as problem_of_file:
            raise InvalidCertificate(f"{path}: {problem_of_file}") from problem_of_file
        records = (header, domain, *lines, minorant, incumbent)
        cuts, multipliers = tuple(claim for claim, _ in pairs), np.array([weight for _, weight in pairs])
        return cls(lower, upper, gap, cuts, multipliers, value, problem, facts, versions, records)

    def verify(self, oracle: Oracle | None = None, exact: bool = False, ask: bool = True) -> CertificateVerdict:
        """Check the certificate: by itself or, with an oracle that was made of the data anew, each of its cuts, too.

        Without an `oracle` the cuts and the value at the point are taken as given. With `exact` it examines the
        witnesses in fractions, else in floats with a bound on their rounding. With `ask` it is asked at the best point,
        and where cuts with a known point were taken, if something has no witness: a value above the claimed one, or
        below what a cut claims there, refutes the certificate. The verdict has the bounds that are proven.

        Raises
        ------
        Refuted
            Something does not hold; the message names the line of the file.
        InvalidCertificate
            The certificate is of another problem, or its lines cannot be read.
        """
        checked = self._checked()
        if oracle is None:
            given = len(self.cuts)
            return CertificateVerdict(
                checked.lower,
                checked.upper,
                given,
                0,
                given,
                self.value is None,
                checked.outside,
                checked.promise,
            )
        oracle = oracle.as_certified(self.problem)
        if not same_but_for_names(oracle, self.problem):
            named = oracle.problem_identity()
            raise InvalidCertificate(f"this is a certificate of another problem: of {self.problem!r}, not of {named!r}")
        return prove(self.records, self.cuts, self.value, (self.lower, self.upper), checked, oracle, exact, ask)

    def _checked(self) -> Checked:
        try:
            return _check(certificate_file.content_of(self.records))
        except FalseLine as problem:
            raise Refuted(str(problem)) from problem
        except DamagedFile as problem:
            raise InvalidCertificate(str(problem)) from problem


@lru_cache(maxsize=2)
def _check(content: bytes) -> Checked:
    """`verify.check`: of the same bytes the same holds."""
    return verify.check(content)


def _kept(cuts: Sequence[CutClaim], multipliers: Vector) -> tuple[tuple[CutClaim, ...], Vector]:
    """Cuts with a multiplier above 0, and these, of all summands with the same sum."""
    if multipliers.shape != (len(cuts),):
        raise InvalidArgument(f"`multipliers` must have shape ({len(cuts)},), one a cut, got {multipliers.shape}")
    if not (np.isfinite(multipliers).all() and (multipliers >= 0).all()):
        raise InvalidArgument("`multipliers` must be finite and not negative")
    weights = multipliers.copy()
    members: dict[int, list[int]] = {}
    for k, cut in enumerate(cuts):
        if cut.kind is ClaimKind.SUMMAND:
            members.setdefault(cut.summand, []).append(k)
    sums = {j: float(weights[own].sum()) for j, own in members.items()}
    for j, own in members.items():
        if sums[j] > 0:
            weights[own] *= max(sums.values()) / sums[j]
    positive = np.flatnonzero(weights)
    return tuple(cuts[int(k)] for k in positive), weights[positive]


@cache
def _versions() -> Mapping[str, str]:
    from importlib import metadata  # only here: the import takes time

    found = {"python": python_version()}
    for name in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found
