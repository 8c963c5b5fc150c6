"""Forged certificates of every family of oracles, with their witnesses and without: none proves what is false.

Random small problems of each family run by random methods for random numbers of calls. The certificate of each run,
and of one that was told bare cuts, must hold. Then it is forged: constants and slopes that claim too much, values that
are too small, other points; and the witness of some or all claims is left as it is, taken away, in part or as a whole,
emptied, renamed, exchanged, scaled or made of other numbers, with a note that excuses it and without. What `verify`
then calls proven is held against the optimum of Clarabel or HiGHS. What it takes as given must say so by a note, or be
refused.
"""

import warnings
from dataclasses import replace

import numpy as np
from _families import FAMILIES
from liars import serves

from oracle_opt import Certificate, FeasibilityCut, InvalidArgument, InvalidCertificate, Refuted, minimize
from oracle_opt.generators import AnalyticCenter, Kelley, LevelSet, ProximalBundle, Subgradient
from oracle_opt.proof.claim import ClaimKind
from oracle_opt.proof.parts import combined
from oracle_opt.proof.run_proof import BARE

UNIT = "forged certificates"
FULL, SMALL = 4_000, 60
OF_EACH = 8  # forgeries of a run

GENERATORS = (LevelSet, Kelley, ProximalBundle, AnalyticCenter, Subgradient)


def run(count, seed, tally):
    """Forge `count` certificates, of the families in turn."""
    rng = np.random.default_rng([seed, 6])
    warnings.simplefilter("ignore")
    made = 0
    for k in range(100 * count):
        if made >= count:
            return
        name = list(FAMILIES)[k % len(FAMILIES)]
        known = FAMILIES[name](rng)
        if known is None:
            tally.count("unknown to the other solver")
            continue
        words, certificate = honest(known, rng, tally)
        where = f"{name}, {k} of seed {seed}"
        if words or certificate is None:
            tally.count("nothing to certify") if not words else tally.trial([f"{where}: {one}" for one in words])
            made += bool(words)
            continue
        for _ in range(min(OF_EACH, count - made)):
            made += 1
            tally.trial([f"{where}: {one}" for one in forge(certificate, known, rng, tally)])


def honest(known, rng, tally):
    """What is wrong with the certificates of honest runs, and one of them; None where nothing finite was proven."""
    oracle = known.make()
    serving = [one for one in GENERATORS if serves(one(), oracle.domain, FeasibilityCut in oracle.gives)]
    generator = serving[int(rng.integers(len(serving)))]
    limits = {"rtol": float(10.0 ** rng.uniform(-8, -1)), "max_calls": int(rng.integers(5, 60)), "max_seconds": 5.0}
    result = minimize(oracle, generator(), keep_cuts=True, **limits)
    if not np.isfinite(result.gap) or result.status.name in ("OUTSIDE", "CONTRADICTION"):
        return [], None
    certificate = result.certificate()
    words = []
    try:
        verdict = certificate.verify(known.make())
        words = [] if verdict.proven else [f"an honest certificate, not proven: {verdict}"]
        words += false(verdict, certificate, known, tally)
    except (Refuted, InvalidCertificate) as refusal:
        words = [f"an honest certificate, {result!r}, was refused: {refusal}"]
    if rng.random() < 0.2:
        bare = [stripped(one) for one in result.history.cuts]
        told = minimize(known.make(), generator(), cuts=bare, max_calls=1, max_seconds=5.0)
        if np.isfinite(told.gap) and told.status.name not in ("OUTSIDE", "CONTRADICTION"):
            try:
                words += false(told.certificate().verify(known.make()), certificate, known, tally)
                tally.count("honest, told cuts without a witness")
            except (Refuted, InvalidCertificate) as refusal:
                words.append(f"honest cuts that were told without a witness are refused: {refusal}")
    tally.count("honest")
    return words, certificate


def stripped(cut):
    """The cut, and all that came with it, without extras and answers."""
    parts = {"further": tuple(map(stripped, cut.further)), "extras": {}}
    if hasattr(cut, "summands"):
        parts |= {"summands": tuple(map(stripped, cut.summands)), "answers": ()}
    return replace(cut, **parts)


def false(verdict, certificate, known, tally):
    """What is false in a verdict, given what is known of the optimum."""
    words = []
    slack = known.slack + 1e-8 * max(abs(certificate.lower), abs(certificate.upper))
    low = known.optimum - slack - known.below(certificate.value.point)
    if verdict.lower > known.optimum + slack:
        words.append(f"the lower bound {verdict.lower!r} above the optimum {known.optimum!r} passes as {verdict}")
    if verdict.upper < low:
        words.append(f"the upper bound {verdict.upper!r} below the optimum {known.optimum!r} passes as {verdict}")
    if verdict.proven:
        size = max(1.0, abs(known.optimum), known.slack)
        tally.error("proven lower bound above the optimum", max(0.0, verdict.lower - known.optimum) / size)
    return words


def forge(certificate, known, rng, tally):
    """What is wrong with how one forgery is judged."""
    lie = LIES[int(rng.integers(len(LIES)))]
    treat = TREATMENTS[int(rng.integers(len(TREATMENTS)))]
    note = BARE if rng.random() < 0.25 else ""
    chosen = rng.random(len(certificate.cuts)) < (1.0 if rng.random() < 0.5 else 0.4)
    cuts = [lie(one, certificate, rng) if k else one for one, k in zip(certificate.cuts, chosen, strict=True)]
    others = [one.witness for one in certificate.cuts]
    cuts = [
        replace(one, witness=treat(dict(one.witness), others, rng), note=note or one.note) if k else one
        for one, k in zip(cuts, chosen, strict=True)
    ]
    value = certificate.value
    if rng.random() < 0.3:
        value = replace(value, witness=treat(dict(value.witness), others, rng), note=note)
    oracle = known.make()
    words = f"{lie.__name__}, witness {treat.__name__}{', with a note' if note else ''}"
    try:
        forged = closed(oracle.domain, cuts, certificate, value, rng)
        verdict = forged.verify(oracle)
    except (Refuted, InvalidCertificate, InvalidArgument) as refusal:
        tally.count(f"refused, witness {treat.__name__}")
        if not str(refusal):
            return [f"{words}: refused without a word"]
        return []
    except Exception as problem:  # what the campaign looks for
        return [f"{words}: {problem!r}"]
    if not verdict.proven:
        tally.count("given" if note else "given without a note")
        return [] if note else [f"{words}: is taken as given without a note: {verdict}"]
    tally.count("proven, and true")
    return [f"{words}: {one}" for one in false(verdict, forged, known, tally)]


def closed(domain, cuts, certificate, value, rng):
    """The certificate of forged claims with the bounds that follow from them, or a little more."""
    constant, slope = combined(list(zip(certificate.multipliers.tolist(), cuts, strict=True)))
    lower, upper = certificate.lower, certificate.upper
    if np.isfinite(constant) and np.isfinite(slope).all():
        least = constant + float(domain.minimize_linear(slope)[0])
        lower = least - 1e-12 * (abs(constant) + domain.extent(slope))
    if rng.random() < 0.3:  # a value that is too small
        upper = lower + max(0.0, upper - lower) * float(rng.uniform(0.0, 0.9))
    elif lower > upper:
        upper = lower + 1e-9 * abs(lower)
    facts = {"problem": certificate.problem}
    return Certificate.of(domain, cuts, certificate.multipliers, replace(value, upper=upper), lower, upper, facts)


def as_it_is(claim, certificate, rng):
    """No lie but what is done to the witness."""
    return claim


def raised(claim, certificate, rng):
    """Claims more everywhere."""
    size = max(1.0, abs(claim.constant), abs(certificate.upper))
    if claim.kind is ClaimKind.SUMMAND:
        size /= max(1, claim.n_summands)
    return replace(claim, constant=claim.constant + size * float(10.0 ** rng.uniform(-4, 1)))


def leveled(claim, certificate, rng):
    """Claims the best value, or more, at all points."""
    share = 1.0 / claim.n_summands if claim.kind is ClaimKind.SUMMAND else 1.0
    if claim.kind is ClaimKind.HALF_SPACE:
        return raised(claim, certificate, rng)
    height = certificate.upper + max(1.0, abs(certificate.upper)) * float(10.0 ** rng.uniform(-4, 0))
    return replace(claim, constant=share * height, slope=np.zeros(claim.slope.size))


def tilted(claim, certificate, rng):
    """Another slope."""
    moved = claim.slope + np.abs(claim.slope).max() * float(10.0 ** rng.uniform(-4, 0)) * rng.normal(
        size=claim.slope.size
    )
    return replace(claim, slope=moved)


LIES = (as_it_is, raised, raised, leveled, tilted)


def kept(witness, others, rng):
    """As it is."""
    return witness


def taken_away(witness, others, rng):
    """None."""
    return {}


def taken_in_part(witness, others, rng):
    """Without one of its entries."""
    if witness:
        witness.pop(str(rng.choice(sorted(witness))))
    return witness


def emptied(witness, others, rng):
    """Arrays of no entries."""
    return {name: np.zeros(0) for name in witness}


def renamed(witness, others, rng):
    """The same under another name."""
    return {f"{name}s": value for name, value in witness.items()}


def exchanged(witness, others, rng):
    """That of another claim."""
    return dict(others[int(rng.integers(len(others)))])


def scaled(witness, others, rng):
    """Times a number."""
    factor = float(rng.choice([-1.0, 0.0, 0.5, 1.0 + 1e-6, 2.0, 1e6]))
    return {name: np.asarray(value, dtype=float) * factor for name, value in witness.items()}


def drawn(witness, others, rng):
    """Other numbers of the same shape."""
    return {
        name: rng.normal(size=np.shape(value))
        if np.asarray(value).dtype.kind == "f"
        else rng.integers(0, 4, np.shape(value))
        for name, value in witness.items()
    }


def not_numbers(witness, others, rng):
    """NaN and infinities."""
    return {name: np.full(np.shape(value), rng.choice([np.nan, np.inf, -np.inf])) for name, value in witness.items()}


TREATMENTS = (
    kept, taken_away, taken_away, taken_in_part, taken_in_part, emptied, renamed, exchanged, scaled, drawn, not_numbers
)  # fmt: skip
