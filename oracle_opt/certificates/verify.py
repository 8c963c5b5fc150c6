"""Check a certificate file of oracle-opt with exact arithmetic: ``python verify.py FILE``.

This file is the whole program. It takes every float for the number that it is, and all its sums are exact.

A convex function f is to be minimized over a set Z of R^n. The file describes Z, gives a point, and some *cuts*: affine
functions ``a(z) = constant + slope @ z``, each with a multiplier. It claims that

    lower <= minimum of f over Z <= upper.

Either may be missing, -inf with the cuts or inf with the point. The upper bound is f at the point. The lower bound
follows from the cuts, each of which is one of four statements:

    minorant     f(z) >= a(z)      at all feasible z
    bound        f(z) >= a(z)      the same, with slope 0
    summand j    f_j(z) >= a(z)    the same, where f is the sum f_0 + f_1 + ... + f_(N-1)
    half-space   0 >= a(z)         at all feasible z

Let no multiplier be negative. Those of minorants and bounds add up to W, say, and those of each summand to B. Multiply
each statement by its multiplier, and add them all: at all feasible z

    (W + B) f(z) >= sum of multiplier * a(z) =: (W + B) m(z).

So f is nowhere below the affine function m, the *minorant*, and its minimum not below that of m over Z. For this there
is a formula, since m is affine, and Z is a ball or given by bounds and rows.

What is checked: that the file is whole, that no multiplier is negative, that the cuts make the minorant, that its
exact minimum is no less than the lower bound, that the point is feasible, and the gap. What is not: whether the cuts
and the value at the point are true of f, since f is not here. Hence "holds, given the cuts".
"""

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
ONE = 1 << 1074  # every float is a whole multiple of 2**-1074: counted in this unit it is an integer, and exact
PROMISE = ", if a minimizer lies in the part of the domain that is only promised"
SMALL = Fraction(1, 10**9)  # so far outside a constraint a point may be, as a share of its own norm or of 1
MISSING = {"lower": "-inf", "upper": "inf"}  # what stands where there is no such bound
Record = dict[str, Any]  # a line of the file


class DamagedFile(Exception):
    """The file is no certificate, of another version, or not as it was written."""


class FalseLine(Exception):
    """A line says what does not hold."""


class Checked(NamedTuple):
    """The facts that were verified of a certificate."""

    lower: float
    upper: float
    gap: float
    n_cuts: int
    outside: float  # by how much the point violates a constraint, at most
    promise: str  # what all rests upon besides, in words

    def __str__(self) -> str:
        given = [f"the {self.n_cuts} cuts"] * (self.lower > -inf) + ["the value at the point"] * (self.upper < inf)
        point = f", the point feasible up to {self.outside:.1g}" * (self.upper < inf)
        return f"holds, given {' and '.join(given)}{self.promise}: {in_words(self.lower, self.upper, self.gap)}{point}"


def in_words(lower: float, upper: float, gap: float) -> str:
    """The bounds of a certificate, one of which may be missing."""
    if upper == inf:
        return f"the minimum is at least {lower!r}, a lower bound, no point"
    if lower == -inf:
        return f"the minimum is at most {upper!r}, a point, no lower bound"
    return f"the minimum lies in [{lower!r}, {upper!r}], the gap is {gap:.3g}"


def check(content: bytes) -> Checked:
    """Check a file, given as bytes; `DamagedFile` or `FalseLine` names the first line that does not hold."""
    header, domain, *cuts, minorant, incumbent, _ = records_of(content)
    with line(1, "the header"):
        lower, upper = (None if header[k] == none else units(header[k]) for k, none in MISSING.items())
        if lower is None and (cuts or upper is None):
            raise FalseLine("`lower` is -inf, which only a point without cuts goes with")
    with line(2, "the domain"):
        place, promised = domain["set"], domain["promised" if "promised" in domain else "set"]
        (n,) = {len(place.get("lower", place.get("center")).split()), domain["n"]}
        promise = PROMISE * ("promised" in domain and lower is not None)
    weights, total = ([], 1) if lower is None else weights_of(cuts)
    constant, slope = combined(cuts, weights, n)
    scale = total * ONE  # both are sums of products of two numbers in units: divided by this they are those of m
    with line(len(cuts) + 3, "the minorant"):
        stated = {-1: minorant["constant"], **dict(entries(minorant, n))}
        for j, value in enumerate([constant, *slope], -1):
            if value / scale != units(stated.get(j, "0x0p+0")) / ONE:  # quotients of integers are the nearest floats
                raise FalseLine(f"the cuts make {f'slope {j}' if j >= 0 else 'the constant'} {value / scale!r}")
    with line(2, "the domain"):
        least = minimum(promised, slope, scale)
    with line(1, "the header"):
        if lower is not None and (least is None or lower * scale > (constant + least) * ONE):
            proven = "no minimum" if least is None else f"the minimum {float((constant + least) / scale)!r}"
            raise FalseLine(f"`lower` is {lower / ONE!r}, but the minorant has {proven} over the domain")
    with line(len(cuts) + 4, "the incumbent"):
        if incumbent["upper"] != "inf" if upper is None else units(incumbent["upper"]) != upper:
            raise FalseLine("`upper` is another than in the header")
        outside = {} if upper is None else violations(place, cuts, [*map(units, incumbent["point"].split())])
        for kind, amount in outside.items():
            if amount * ONE > units(incumbent["outside"][kind]):
                raise FalseLine(f"the point violates {kind} by {rounded_up(amount)!r}, which is more than stated")
    with line(1, "the header"):
        gap = inf
        if lower is not None and upper is not None:
            # where half-spaces are violated within their tolerance, f may be below m: by what they add to m there
            over = [units(cut.get("tolerance", "0x0p+0")) + outside.get("half-spaces", 0) * ONE for cut in cuts]
            room = SMALL * max(ONE, abs(lower), abs(upper))
            room += sum(weight * amount for weight, amount in zip(weights, over, strict=True)) * Fraction(1, total)
            if lower - upper > room:
                raise FalseLine("`lower` is above `upper`: the value at the point contradicts the cuts")
            gap = rounded_up(Fraction(max(0, upper - lower), ONE))
        if float.fromhex(header["gap"]) != gap:
            raise FalseLine(f"`gap` is another than {gap!r}, that of the bounds")
    farthest = max(map(rounded_up, outside.values()), default=0.0)
    return Checked(float.fromhex(header["lower"]), float.fromhex(header["upper"]), gap, len(cuts), farthest, promise)


def weights_of(cuts: Sequence[Record]) -> tuple[list[int], int]:
    """Multipliers in units, and W + B."""
    weights, W, n_summands, members = [], 0, 0, dict[int, list[int]]()  # the last: which cuts each summand has
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
        # sums of floats agree up to the last digit only: what is missing is added to its largest multiplier
        sums = {j: sum(weights[k] for k in own) for j, own in members.items()}
        B = max(sums.values(), default=0)
        for j, own in members.items():
            weights[max(own, key=weights.__getitem__)] += B - sums[j]
        if W + B == 0:
            raise FalseLine("no cut of f has a positive multiplier")
    return weights, W + B


def combined(cuts: Sequence[Record], weights: Sequence[int], n: int) -> tuple[int, list[int]]:
    """Constant and slope of the sum of ``weight * cut``."""
    sums = [0] * (n + 1)
    for k, (cut, weight) in enumerate(zip(cuts, weights, strict=True)):
        with line(k + 3, f"cut {k}"):
            zeros = max((weight & -weight).bit_length() - 1, 0)  # without these products take less time
            for j, word in [(n, cut["constant"]), *entries(cut, n)]:
                sums[j] += (weight >> zeros) * units(word) << zeros
    return sums[n], sums[:n]


def minimum(place: Record, slope: Sequence[int], scale: int) -> Fraction | None:
    """Least value of ``slope @ z``, or one that is proven to be no larger; None if there is none."""
    if "radius" in place:  # slope @ center - radius * norm(slope), by the inequality of Cauchy and Schwarz
        along = sum(s * c for s, c in zip(slope, map(units, place["center"].split()), strict=True))
        return Fraction(along - abs(units(place["radius"])) * root_above(sum(s * s for s in slope)), ONE)
    # For u >= 0, of an equation any u: slope @ z >= (slope + u * row) @ z - u * rhs, which is least at the bounds.
    reduced, total = [s * ONE * ONE if place["rows"] else s for s in slope], 0
    for i, row in enumerate(place["rows"]):
        u = scale * units(row["multiplier"])
        if u < 0 and row["equation"] is not True:
            raise FalseLine(f"the multiplier of row {i} is negative, and the row is no equation")
        if u:
            total -= u * units(row["rhs"]) * ONE
            for j, word in entries(row, len(slope)):
                reduced[j] += u * units(word)
    for s, low, high in zip(reduced, *bounds(place), strict=True):
        end = low if s > 0 else high
        if s and end is None:
            return None
        total += s * (end or 0)
    return Fraction(total, ONE * ONE * ONE if place["rows"] else ONE)


def violations(place: Record, cuts: Sequence[Record], point: Sequence[int]) -> dict[str, Fraction]:
    """By how much a point violates each kind of constraint, at most."""
    found, reach = dict[str, Fraction](), SMALL * max(ONE, root_above(sum(z * z for z in point)))

    def note(kind: str, over: int, norm: int, tolerance: int = 0) -> None:  # over / norm is the distance
        if over - tolerance * ONE > reach * norm:
            raise FalseLine(f"the point is not feasible: it violates {kind} by {float(Fraction(over, ONE * ONE))!r}")
        found[kind] = max(found.get(kind, Fraction(0)), Fraction(max(0, over), ONE * ONE))

    if "radius" in place:
        squares = ((z - c) ** 2 for z, c in zip(point, map(units, place["center"].split()), strict=True))
        note("the radius", (root_above(sum(squares)) - units(place["radius"])) * ONE, ONE)
    else:
        ends = zip(point, *bounds(place), strict=True)
        over = (max(0 if low is None else low - z, 0 if high is None else z - high) for z, low, high in ends)
        note("bounds", max(over, default=0) * ONE, ONE)
        for row in place["rows"]:
            value, norm = at({**row, "constant": "0x0p+0"}, point)
            value -= units(row["rhs"]) * ONE
            note("rows", abs(value) if row["equation"] else value, norm)
    for cut in cuts:
        if cut["kind"] == "half-space":
            value, norm = at(cut, point)
            note("half-spaces", value, norm, units(cut["tolerance"]))
    return found


def at(cut: Record, point: Sequence[int]) -> tuple[int, int]:
    """Value of an affine function at a point, and the norm of its slope."""
    slope = [(units(word), point[j]) for j, word in entries(cut, len(point))]
    return units(cut["constant"]) * ONE + sum(a * z for a, z in slope), root_above(sum(a * a for a, _ in slope))


def bounds(place: Record) -> tuple[list[int | None], list[int | None]]:
    """Lower and upper bounds of the variables; None where there is none."""
    low = [None if word == "-inf" else units(word) for word in place["lower"].split()]
    high = [None if word == "inf" else units(word) for word in place["upper"].split()]
    if any(a is not None and b is not None and a > b for a, b in zip(low, high, strict=True)):
        raise FalseLine("a lower bound is above the upper one")
    return low, high


def units(word: str) -> int:
    """A float that is written in hexadecimal, in units of 2**-1074."""
    numerator, denominator = float.fromhex(word).as_integer_ratio()  # raises where it is infinite or not a number
    return numerator << (1075 - denominator.bit_length())  # denominators are powers of 2


def entries(record: Record, n: int) -> Iterable[tuple[int, str]]:
    """The slope of a line: of all variables or, where `at` tells which, of some in increasing order."""
    places = record.get("at", range(n))
    if "at" in record and any(not i < j < n for i, j in zip([-1, *places], places, strict=False)):
        raise ValueError(f"`at` are no places of {n} variables in increasing order")
    return zip(places, record["slope"].split(), strict=True)


def root_above(square: int) -> int:
    """The square root, rounded up to an integer."""
    return isqrt(square - 1) + 1 if square else 0


def rounded_up(value: Fraction) -> float:
    """The smallest float that is no less."""
    return float(value) if Fraction(float(value)) >= value else nextafter(float(value), inf)


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
    lines = content.splitlines(keepends=True) or [b""]
    if f'"format": "{FORMAT}", "version": {VERSION},'.encode() not in lines[0]:
        raise DamagedFile(f"this is no {FORMAT} of version {VERSION}, or was edited: it begins with {lines[0][:90]!r}")
    if b'"sha256"' not in lines[-1] or not lines[-1].endswith(b"}\n"):
        raise DamagedFile(f"the file is cut off: line {len(lines)} is its last, and not the one with the checksum")
    names, records = ["header", "domain", *["cut"] * (len(lines) - 5), "minorant", "incumbent", "end"], []
    for count, (text, name) in enumerate(zip(lines, names, strict=False), 1):
        with line(count, f"which is to be the {name}"):
            records.append(json.loads(text))
            if records[-1]["line"] != name:
                raise ValueError(f"it is the {records[-1]['line']}")
    if records[-1]["sha256"] != hashlib.sha256(b"".join(lines[:-1])).hexdigest():
        raise DamagedFile("the file is damaged: its lines have another checksum than its last line says")
    return records


if __name__ == "__main__":
    try:
        with (gzip.open if sys.argv[-1].endswith(".gz") else open)(sys.argv[-1], "rb") as file:
            sys.stdout.write(f"{check(file.read())}\n")
    except (DamagedFile, EOFError, FalseLine, gzip.BadGzipFile, zlib.error) as problem:
        sys.exit(f"does not hold: {problem}")
    except OSError as problem:
        sys.exit(f"cannot be read: {problem}")
