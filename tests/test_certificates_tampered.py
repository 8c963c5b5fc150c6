"""Certificates in which something was changed: refused, or what is still accepted is true."""

import hashlib
import json
import re
from contextlib import suppress

import numpy as np
import pytest
from affine_pieces import least_of_pieces

from oracle_opt import Box, FreeSpace, FunctionOracle, InvalidCertificate, Refuted, Simplex, minimize
from oracle_opt.certificates import verify
from oracle_opt.certificates.certificate import Certificate
from oracle_opt.generators import Kelley, LevelSet
from oracle_opt.proof.claim import ClaimKind, CutClaim, ValueClaim

N = 4
WORD = re.compile(r"-?0x[0-9a-f.]+p[+-][0-9]+")


class LargestPiece(FunctionOracle):
    """``max(slopes @ z + heights)``, whose cuts prove themselves: each is one of the pieces."""

    def __init__(self, slopes, heights, domain):
        self.slopes, self.heights = slopes, heights
        super().__init__(self.answer, domain, name=f"pieces {slopes.tobytes().hex()}", witness=["piece"])

    def answer(self, z):
        from oracle_opt import ObjectiveCut

        values = self.slopes @ z + self.heights
        best = int(values.argmax())
        return ObjectiveCut(z, float(values[best]), self.slopes[best], extras={"piece": best})

    def prove_cut(self, claim, exact=False):
        from fractions import Fraction

        piece = claim.witness["piece"]
        if not isinstance(piece, int) or not 0 <= piece < len(self.slopes):
            raise Refuted(f"there is no piece {piece!r}")
        over = Fraction(claim.constant) - Fraction(self.heights[piece])
        ends = self.domain.bounding_box()
        for j, (claimed, true) in enumerate(zip(claim.slope.tolist(), self.slopes[piece].tolist(), strict=True)):
            differs = Fraction(claimed) - Fraction(true)
            over += max(differs * Fraction(float(end[j])) for end in ends)
        return max(over, Fraction(0))

    def prove_value(self, claim, exact=False):
        return float((self.slopes @ claim.point + self.heights).max()) + 1e-13


def problem(seed, domain):
    rng = np.random.default_rng(seed)
    return LargestPiece(rng.normal(size=(8, N)), rng.normal(size=8), domain)


def optimum(oracle):
    return least_of_pieces(oracle.domain, oracle.slopes, oracle.heights)


def content(certificate, path):
    return certificate.save(path).read_bytes()


def closed(lines):
    """The bytes of these lines, with a checksum that is right."""
    body = b"".join(line + b"\n" for line in lines)
    end = {"line": "end", "lines": len(lines) + 1, "sha256": hashlib.sha256(body).hexdigest()}
    return body + json.dumps(end).encode() + b"\n"


DOMAINS = {"simplex": lambda: Simplex(N), "box": lambda: Box(-np.ones(N), np.ones(N))}


@pytest.fixture(scope="module", params=list(DOMAINS))
def runs(request, tmp_path_factory):
    """Ten problems: oracle, optimum, certificate, bytes of its file."""
    found = []
    for seed in range(10):
        oracle = problem(seed, DOMAINS[request.param]())
        made = minimize(oracle, (Kelley() if seed % 2 else LevelSet()), rtol=1e-9, max_calls=200).certificate()
        found.append((oracle, optimum(oracle), made, content(made, tmp_path_factory.mktemp("run") / "run.jsonl")))
    return found


def test_honest_ones_hold_on_both_levels(runs, tmp_path):
    for oracle, least, made, _ in runs:
        given, proven, exact = made.verify(), made.verify(oracle), made.verify(oracle, exact=True)
        assert given.n_given == len(made.cuts)
        assert proven.proven
        assert exact.proven
        for verdict in (given, proven, exact):
            assert verdict.lower - 1e-9 <= least <= verdict.upper + 1e-9
        assert proven.upper - proven.lower <= made.gap + 1e-9
        assert "all" in str(proven)
        assert "given" in str(given)


def changed_word(rng, word):
    """A float that differs beyond rounding."""
    old = float.fromhex(word)
    factor = rng.choice([-1.0, 0.5, 1.0 + 1e-6, 1.5, 1000.0])
    return float(old * factor if old else rng.choice([1e-6, -1.0, 3.0])).hex()


def test_one_number_changed(runs, tmp_path):
    """500 files a domain, each with one number changed: without a new checksum all are refused, and with one, too.

    Unless what it says is still true, as of a larger box, or of another point whose value is given.
    """
    rng = np.random.default_rng(0)
    accepted = named = 0
    for oracle, least, _, raw in runs:
        lines = raw.split(b"\n")[:-2]
        for _ in range(50):
            k = int(rng.integers(len(lines)))
            words = list(WORD.finditer(lines[k].decode()))
            if not words:
                continue
            at = words[int(rng.integers(len(words)))]
            text = lines[k].decode()
            other = text[: at.start()] + changed_word(rng, at.group()) + text[at.end() :]
            if float.fromhex(at.group()) == float.fromhex(WORD.search(other, at.start()).group()):
                continue
            tampered = [*lines[:k], other.encode(), *lines[k + 1 :]]
            with pytest.raises(verify.DamagedFile, match="checksum"):
                verify.check(b"\n".join([*tampered, *raw.split(b"\n")[-2:]]))
            try:
                found = verify.check(closed(tampered))
            except (verify.DamagedFile, verify.FalseLine) as refused:
                named += bool(re.search(r"line \d+", str(refused)))
                continue
            accepted += 1
            assert found.lower - 1e-9 <= least <= found.upper + 1e-9
            path = tmp_path / "run.jsonl"
            path.write_bytes(closed(tampered))
            with suppress(Refuted):
                proven = Certificate.load(path).verify(oracle)
                assert proven.lower - 1e-9 <= least <= proven.upper + 1e-9
    assert accepted < 100  # an entry of the point, say, or a bound of the domain at which the minorant is not least
    assert named > 400


def edited(raw, edit):
    """The file after an edit of its records, with a right checksum."""
    records = [json.loads(line) for line in raw.split(b"\n")[:-2]]
    edit(records)
    return closed([json.dumps(record).encode() for record in records])


def cuts_of(records):
    return [record for record in records if record["line"] == "cut"]


def test_a_negative_multiplier(runs):
    for _, _, made, raw in runs:
        for k in range(len(made.cuts)):

            def negate(records, k=k):
                cuts_of(records)[k]["multiplier"] = "-" + cuts_of(records)[k]["multiplier"]

            with pytest.raises(verify.FalseLine, match=rf"line {k + 3}, cut {k}: the multiplier .* is negative"):
                verify.check(edited(raw, negate))


def test_a_cut_missing(runs):
    for _, _, made, raw in runs:
        for k in range(len(made.cuts)):
            with pytest.raises((verify.FalseLine, verify.DamagedFile)):
                verify.check(edited(raw, lambda records, k=k: records.remove(cuts_of(records)[k])))


def test_claims_above_f_are_refuted_by_the_data(runs, tmp_path):
    """A file that is consistent in itself, with cuts higher than f: level 1 takes them as given, the data refute."""
    for oracle, least, made, _ in runs:
        for raised in (1e-6, 1e-2, 1.0):
            cuts = [CutClaim(cut.kind, cut.constant + raised, cut.slope, witness=cut.witness) for cut in made.cuts]
            value = ValueClaim(made.value.point, made.upper + raised)
            facts = {"problem": made.problem}
            lower = made.lower + raised - 1e-15
            forged = Certificate.of(oracle.domain, cuts, made.multipliers, value, lower, value.upper, facts)
            assert forged.verify().lower > least
            with pytest.raises(Refuted, match=r"below the claimed|line \d+"):
                forged.verify(oracle)
        low = ValueClaim(made.value.point, made.upper - 1e-3)
        cheap = Certificate.of(oracle.domain, made.cuts, made.multipliers, low, made.lower - 1, low.upper, facts)
        with pytest.raises(Refuted, match="the value is"):
            cheap.verify(oracle)


def test_a_smaller_domain_is_refuted_by_that_of_the_oracle():
    oracle = problem(0, Box(-np.ones(N), np.ones(N)))
    inner = LargestPiece(oracle.slopes, oracle.heights, Box(-np.ones(N) / 8, np.ones(N) / 8))
    made = minimize(inner, Kelley(), rtol=1e-9).certificate()
    facts = {"problem": oracle.problem_identity()}
    forged = Certificate.of(inner.domain, made.cuts, made.multipliers, made.value, made.lower, made.upper, facts)
    assert forged.verify().lower > optimum(oracle)
    with pytest.raises(Refuted, match="line 2, the domain"):
        forged.verify(oracle)


def test_what_is_only_promised_is_said_whatever_the_file_says(tmp_path):
    rng = np.random.default_rng(3)
    oracle = LargestPiece(rng.normal(size=(8, N)), rng.normal(size=8), FreeSpace(N, 200.0))
    made = minimize(oracle, Kelley(), rtol=1e-6).certificate()
    assert made.verify(oracle).proven
    assert "only promised" in str(made.verify())
    raw = content(made, tmp_path / "run.jsonl")

    def hide(records):
        records[1]["set"] = records[1].pop("promised")

    (tmp_path / "run.jsonl").write_bytes(edited(raw, hide))
    hidden = Certificate.load(tmp_path / "run.jsonl")
    with suppress(Refuted):  # the point may be outside
        assert "only promised" in str(hidden.verify(oracle))


def test_another_data_set(runs):
    (first, _, made, _), (second, _, _, _) = runs[:2]
    with pytest.raises(InvalidCertificate, match="another problem"):
        made.verify(second)
    assert made.verify(first).proven


def test_witnesses_changed(runs, tmp_path):
    """Another piece named for a cut: refuted, or it proves the cut as well."""
    for oracle, least, made, raw in runs:
        for k in range(len(made.cuts)):
            for piece in (-1, 3, 8, 10**18):

                def name(records, k=k, piece=piece):
                    cuts_of(records)[k]["witness"]["piece"]["values"] = str(piece)

                path = tmp_path / "run.jsonl"
                path.write_bytes(edited(raw, name))
                try:
                    found = Certificate.load(path).verify(oracle)
                except Refuted:
                    continue
                assert found.lower - 1e-9 <= least


def test_summands():
    """f = |z| + |z - 1|: one cut of each, with multipliers of other sums than 1; without one of them it is refused."""
    cuts = [
        CutClaim(ClaimKind.SUMMAND, 0.0, np.array([1.0]), summand=0, n_summands=2),
        CutClaim(ClaimKind.SUMMAND, 1.0, np.array([-1.0]), summand=1, n_summands=2),
    ]
    box, value = Box([-3.0], [3.0]), ValueClaim(np.array([0.25]), 1.0)
    for weights in ([1.0, 1.0], [0.1, 0.3], [3.0, 1e-3]):
        made = Certificate.of(box, cuts, weights, value, 1.0 - 1e-15, 1.0)
        assert made.verify().lower == 1.0 - 1e-15
    with pytest.raises(InvalidCertificate, match="1 of 2 summands have no cut"):
        Certificate.of(box, cuts[:1], [1.0], value, 1.0, 1.0)


def test_half_spaces():
    """``min -z`` with ``z <= 1/4``: multipliers 1 and 1 make the constant -1/4."""
    cuts = [
        CutClaim(ClaimKind.MINORANT, 0.0, np.array([-1.0])),
        CutClaim(ClaimKind.HALF_SPACE, -0.25, np.array([1.0]), tolerance=1e-6),
    ]
    box = Box([-3.0], [3.0])
    for z in (0.25, 0.25 + 9e-7):
        made = Certificate.of(box, cuts, [1.0, 1.0], ValueClaim(np.array([z]), -z), -0.25, -z)
        assert made.verify().lower == -0.25
        assert z - 0.25 <= made.verify().outside <= z - 0.25 + 1e-15
    with pytest.raises(InvalidCertificate, match="violates half-spaces"):
        Certificate.of(box, cuts, [1.0, 1.0], ValueClaim(np.array([0.3]), -0.3), -0.25, -0.3)
    with pytest.raises(InvalidCertificate, match="no cut of f"):
        Certificate.of(box, cuts[1:], [1.0], ValueClaim(np.array([0.25]), -0.25), -0.25, -0.25)
