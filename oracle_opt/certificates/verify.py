"""Check a certificate file of oracle-opt with exact arithmetic: ``python verify.py FILE``.

This file is the whole program: it needs Python and its standard library alone. Every float is taken for the number it
is, and all sums are exact.

A convex function f is to be minimized over a set Z of R^n. The file describes Z, gives a point, and some *cuts*: affine
functions ``a(z) = constant + slope @ z``, each with a multiplier. It claims that

    lower <= minimum of f over Z <= upper.

The upper bound is f at the point. The lower bound follows from the cuts, each of which is one of four statements:

    minorant     f(z) >= a(z)      at all feasible z
    bound        f(z) >= a(z)      the same, with slope 0
    summand j    f_j(z) >= a(z)    the same, where f is the sum f_0 + f_1 + ... + f_(N-1)
    half-space   0 >= a(z)         at all feasible z

Let no multiplier be negative. Those of minorants and bounds add up to W, say, and those of each summand to B. Multiply
each statement by its multiplier, and add them all: at all feasible z

    (W + B) f(z) >= sum of multiplier * a(z) =: (W + B) m(z).

So f is nowhere below the affine function m, the *minorant*, and the minimum of f not below that of m over Z. This is
easy to compute: m is affine, and Z is a ball or given by bounds and rows.

What is checked: that the file is whole, that no multiplier is negative, that the cuts make the minorant, that its
exact minimum is no less than the lower bound, that the point is feasible, and the gap. What is not: whether the cuts
and the value at the point are true of f, since f is not here. Hence "holds, given the cuts".
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from math import inf, isqrt, nextafter
from typing import Any, NamedTuple

FORMAT, VERSION = "oracle-opt certificate", 1
SHIFT = 1074
ONE = 1 << SHIFT  # every float is a whole multiple of 2**-1074: counted in this unit it is an integer, and exact
SMALL = Fraction(1, 10**9)  # so far a point may be outside, relative to the terms of a constraint or to 1

Record = dict[str, Any]  # a line of the file


class DamagedFile(Exception):
    """The file is no certificate, of another version, or not as it was written."""


class FalseLine(Exception):
    """A line says what does not hold."""


class Checked(NamedTuple):
    """What holds of a certificate."""

    lower: float
    upper: float
    gap: float
    n_cuts: int
    outside: float  # by how much the point violates a constraint, at most
    promise: str  # what it rests upon besides cuts and value, in words

    def __str__(self) -> str:
        feasible = f"up to {self.outside:.1g}" if self.outside else "exactly"
        return (
            f"holds, given the {self.n_cuts} cuts and the value at the point{self.promise}: the minimum lies in "
            f"[{self.lower!r}, {self.upper!r}], the gap is {self.gap:.3g}, and the point is feasible {feasible}"
        )


def main(arguments: Sequence[str]) -> int:
    """Check a file; print what holds, or the first line that does not."""
    if len(arguments) != 1:
        sys.stdout.write("usage: python verify.py FILE\n")
        return 2
    try:
        with open(arguments[0], "rb") as file:
            sys.stdout.write(f"{check(file.read())}\n")
    except (OSError, DamagedFile, FalseLine) as problem:
        sys.stdout.write(f"does not hold: {problem}\n")
        return 1
    return 0


def check(content: bytes) -> Checked:
    """Check a file, given as bytes; `DamagedFile` or `FalseLine` names the first line that does not hold."""
    header, domain, *cuts, minorant, incumbent, _ = records_of(content)
    with line(2, "the domain"):
        n, promised = domain["n"], domain["promised"] if "promised" in domain else domain["set"]
        promise = ", if a minimizer lies in the part of the domain that is only promised" * ("promised" in domain)
    weights, total = weights_of(cuts)
    constant, slope = combined(cuts, weights, n)
    scale = total * ONE  # constant and slope count in the unit of products, and are to be divided by the total
    with line(len(cuts) + 3, "the minorant"):
        stated = {-1: minorant["constant"], **dict(entries(minorant, n))}
        for j, value in enumerate([constant, *slope], -1):
            if value / scale != units(stated.get(j, "0x0p+0")) / ONE:  # quotients of integers are the nearest floats
                name = "constant" if j < 0 else f"slope in variable {j}"
                raise FalseLine(f"the cuts and their multipliers make the {name} {value / scale!r}")
    with line(2, "the domain"):
        least = minimum(promised, slope, scale)
    with line(1, "the header"):
        lower, upper = units(header["lower"]), units(header["upper"])
        if least is None:
            raise FalseLine("there is no lower bound: the minorant has no minimum over the domain")
        if lower * scale > (constant + least) * ONE:
            proven = rounded((constant + least) / scale)
            raise FalseLine(f"`lower` is {lower / ONE!r}, but the minorant has the minimum {proven!r}")
    with line(len(cuts) + 4, "the incumbent"):
        if units(incumbent["upper"]) != upper:
            raise FalseLine("`upper` is another than in the header")
        point = numbers(incumbent["point"], n)
        outside = violations(domain["set"], cuts, point)
        for kind, amount in outside.items():
            if amount * ONE > units(incumbent["outside"][kind]):
                raise FalseLine(f"the point violates {kind} by {rounded(amount, up=True)!r}, which is more than stated")
    with line(1, "the header"):
        # where the point violates half-spaces, its value may be below the minorant: by what they add to this
        added = sum(
            w * max(0, at(cut, point)[0]) for w, cut in zip(weights, cuts, strict=True) if cut["kind"] == "half-space"
        )
        if lower - upper > Fraction(added, scale) + SMALL * max(ONE, abs(lower), abs(upper)):
            raise FalseLine("`lower` is above `upper`, so that some cut or the value contradicts the others")
        gap = rounded(Fraction(max(0, upper - lower), ONE), up=True)
        if units(header["gap"]) / ONE != gap:
            raise FalseLine(f"`gap` is another than {gap!r}, that of the bounds")
    farthest = rounded(max(outside.values(), default=Fraction(0)), up=True)
    return Checked(lower / ONE, upper / ONE, gap, len(cuts), farthest, promise)


# ---------------------------------------------------------------- the sum of the cuts


def weights_of(cuts: Sequence[Record]) -> tuple[list[int], int]:
    """Multipliers in units, and W + B.

    Sums of floats agree up to the last digit only. So B is the largest sum of a summand's multipliers, and what is
    missing to it is added to the largest multiplier of each summand.
    """
    weights, W, n_summands = [], 0, 0
    members: dict[int, list[int]] = {}  # of each summand: which cuts
    for k, cut in enumerate(cuts):
        with line(k + 3, f"cut {k}"):
            weights.append(units(cut["multiplier"]))
            if weights[k] < 0:
                raise FalseLine(f"the multiplier {weights[k] / ONE!r} is negative")
            if cut["kind"] in ("minorant", "bound"):
                W += weights[k]
                if cut["kind"] == "bound" and any(map(units, cut["slope"].split())):
                    raise FalseLine("the slope of a bound is not 0")
            elif cut["kind"] == "summand":
                n_summands = n_summands or cut["n_summands"]
                if cut["summand"] not in range(n_summands) or cut["n_summands"] != n_summands:
                    raise FalseLine(f"summand {cut['summand']} of {cut['n_summands']} is none of {n_summands}")
                members.setdefault(cut["summand"], []).append(k)
            elif cut["kind"] != "half-space":
                raise FalseLine(f"there is no kind {cut['kind']!r} of cuts")
    with line(len(cuts) + 2, "the last cut"):
        if len(members) != n_summands:
            raise FalseLine(f"{n_summands - len(members)} of {n_summands} summands have no cut")
        B = max((sum(weights[k] for k in own) for own in members.values()), default=0)
        for own in members.values():
            weights[max(own, key=weights.__getitem__)] += B - sum(weights[k] for k in own)
        if W + B == 0:
            raise FalseLine("no cut of f has a positive multiplier")
    return weights, W + B


def combined(cuts: Sequence[Record], weights: Sequence[int], n: int) -> tuple[int, list[int]]:
    """Constant and slope of the sum of ``weight * cut``."""
    constant, slope = 0, [0] * n
    for k, (cut, weight) in enumerate(zip(cuts, weights, strict=True)):
        with line(k + 3, f"cut {k}"):
            constant += weight * units(cut["constant"])
            for j, word in entries(cut, n):
                slope[j] += weight * units(word)
    return constant, slope


# ---------------------------------------------------------------- the domain: a ball, or bounds and rows


def minimum(place: Record, slope: Sequence[int], scale: int) -> Fraction | None:
    """Least value of ``slope @ z``, or one that is proven to be no larger; None if there is none."""
    if "radius" in place:  # slope @ center - radius * norm(slope), by the inequality of Cauchy and Schwarz
        center, radius = ball(place, len(slope))
        along = sum(s * c for s, c in zip(slope, center, strict=True))
        return Fraction(along - radius * root_above(sum(s * s for s in slope)), ONE)
    # Where row @ z <= rhs, and u >= 0: slope @ z >= (slope + u * row) @ z - u * rhs, which is least at the bounds. Each
    # row has its u, for a slope of 1; where row @ z == rhs it may be negative.
    reduced, total = [s * ONE * ONE for s in slope], 0
    for i, row in enumerate(place["rows"]):
        u = scale * units(row["multiplier"])
        if u < 0 and not row["equation"]:
            raise FalseLine(f"the multiplier of row {i} is negative, and the row is no equation")
        if u:
            total -= u * units(row["rhs"]) * ONE
            for j, word in entries(row, len(slope)):
                reduced[j] += u * units(word)
    for s, (low, high) in zip(reduced, bounds(place, len(slope)), strict=True):
        end = low if s > 0 else high
        if s and end is None:
            return None
        total += s * (end or 0)
    return Fraction(total, ONE * ONE * ONE)


def violations(place: Record, cuts: Sequence[Record], point: Sequence[int]) -> dict[str, Fraction]:
    """By how much a point violates each kind of constraint, at most."""
    found: dict[str, Fraction] = {}

    def note(kind: str, over: int, size: int, one: int) -> None:
        if over > SMALL * max(one, size):
            raise FalseLine(f"the point is not feasible: it violates {kind} by {rounded(Fraction(over, one))!r}")
        found[kind] = max(found.get(kind, Fraction(0)), Fraction(over, one) if over > 0 else Fraction(0))

    if "radius" in place:
        center, radius = ball(place, len(point))
        distance = root_above(sum((z - c) ** 2 for z, c in zip(point, center, strict=True)))
        note("the radius", distance - radius, distance, ONE)
    else:
        for z, (low, high) in zip(point, bounds(place, len(point)), strict=True):
            note("bounds", max(0 if low is None else low - z, 0 if high is None else z - high), abs(z), ONE)
        for row in place["rows"]:
            value, size = at({**row, "constant": "0x0p+0"}, point)
            over, size = value - units(row["rhs"]) * ONE, size + abs(units(row["rhs"])) * ONE
            note("rows", abs(over) if row["equation"] else over, size, ONE * ONE)
    for cut in cuts:
        if cut["kind"] == "half-space":
            value, size = at(cut, point)
            note("half-spaces", value - units(cut["tolerance"]) * ONE, size, ONE * ONE)
    return found


def at(cut: Record, point: Sequence[int]) -> tuple[int, int]:
    """Value of an affine function at a point, and the sum of the sizes of its terms, both in the unit of products."""
    terms = [units(cut["constant"]) * ONE, *(units(word) * point[j] for j, word in entries(cut, len(point)))]
    return sum(terms), sum(map(abs, terms))


def ball(place: Record, n: int) -> tuple[list[int], int]:
    """Center and radius."""
    if units(place["radius"]) < 0:
        raise FalseLine("the radius is negative")
    return numbers(place["center"], n), units(place["radius"])


def bounds(place: Record, n: int) -> list[tuple[int | None, int | None]]:
    """Lower and upper bound of each variable; None where there is none."""
    lows = [None if word == "-inf" else units(word) for _, word in entries({"slope": place["lower"]}, n)]
    highs = [None if word == "inf" else units(word) for _, word in entries({"slope": place["upper"]}, n)]
    if any(low is not None and high is not None and low > high for low, high in zip(lows, highs, strict=True)):
        raise FalseLine("a lower bound is above the upper one")
    return list(zip(lows, highs, strict=True))


# ---------------------------------------------------------------- numbers


def units(word: str) -> int:
    """A float that is written in hexadecimal, in units of 2**-1074."""
    numerator, denominator = float.fromhex(word).as_integer_ratio()  # raises where it is infinite or not a number
    return numerator << (SHIFT + 1 - denominator.bit_length())


def numbers(words: str, n: int) -> list[int]:
    """So many floats, in units."""
    return [units(word) for _, word in entries({"slope": words}, n)]


def entries(record: Record, n: int) -> Iterable[tuple[int, str]]:
    """The slope of a line: of all variables or, where `at` tells which, of some in increasing order."""
    places = record.get("at", range(n))
    if "at" in record and any(not i < j < n for i, j in zip([-1, *places], places, strict=False)):
        raise ValueError(f"`at` are no places of {n} variables in increasing order")
    return zip(places, record["slope"].split(), strict=True)


def root_above(square: int) -> int:
    """The square root, rounded up to an integer."""
    return isqrt(square - 1) + 1 if square else 0


def rounded(value: Fraction, *, up: bool = False) -> float:
    """The nearest float or, of those that are no less, the smallest."""
    near = float(value)
    return nextafter(near, inf) if up and Fraction(near) < value else near


# ---------------------------------------------------------------- the file


@contextmanager
def line(count: int, what: str) -> Iterator[None]:
    """Name the line of whatever does not hold, or cannot be read."""
    try:
        yield
    except FalseLine as problem:
        raise FalseLine(f"line {count}, {what}: {problem}") from None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as problem:
        raise DamagedFile(f"line {count}, {what}, cannot be read: {type(problem).__name__}, {problem}") from None


def records_of(content: bytes) -> list[Record]:
    """The lines of a file, if it is whole and as it was written."""
    try:
        lines = (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).splitlines(keepends=True)
    except (EOFError, OSError, zlib.error) as problem:
        raise DamagedFile(f"the compressed file is damaged or cut off: {problem}") from None
    if not lines or FORMAT.encode() not in lines[0]:
        raise DamagedFile(f"this is no file of the format {FORMAT!r}: its first line does not say so")
    with line(1, "the header"):
        if parsed(lines[0])["version"] != VERSION:
            raise DamagedFile(f"the file has version {parsed(lines[0])['version']}, and version {VERSION} is read here")
    if b'"sha256"' not in lines[-1] or not lines[-1].endswith(b"}\n"):
        raise DamagedFile(f"the file is cut off: line {len(lines)} is its last, and not the one with the checksum")
    if parsed(lines[-1])["sha256"] != hashlib.sha256(b"".join(lines[:-1])).hexdigest():
        raise DamagedFile("the file is damaged: its lines have another checksum than its last line says")
    records, wanted = [], ["header", "domain", *["cut"] * (len(lines) - 5), "minorant", "incumbent", "end"]
    for count, (text, name) in enumerate(zip(lines, wanted, strict=False), 1):
        with line(count, f"which should be the {name}"):
            records.append(parsed(text))
            if records[-1]["line"] != name:
                raise ValueError(f"it is the {records[-1]['line']}")
    return records


def parsed(text: bytes) -> Record:
    """The object that is a line; refused where a name stands twice, or a number is none."""

    def unique(pairs: list[tuple[str, Any]]) -> Record:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a name stands twice")
        return dict(pairs)

    record: Record = json.loads(text, object_pairs_hook=unique, parse_constant=units)
    return record


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
