"""Certificates of a lower bound without a point, and of a point without a bound: both verifiers, and forged ones."""

import json
import subprocess
import sys

import numpy as np
import pytest
from test_certificates_tampered import N, closed, edited, problem
from typer.testing import CliRunner

from oracle_opt import Box, InvalidCertificate, Refuted, minimize
from oracle_opt.certificates import verify
from oracle_opt.certificates.certificate import Certificate
from oracle_opt.cli import main
from oracle_opt.generators import Kelley

INF = np.inf
ORACLE = problem(3, Box(-np.ones(N), np.ones(N)))
RUN = minimize(ORACLE, Kelley(), rtol=1e-9)
WHOLE = RUN.certificate()
FACTS = {"problem": WHOLE.problem}
SIDES = {
    "a lower bound, no point": Certificate.of(
        ORACLE.domain, WHOLE.cuts, WHOLE.multipliers, None, WHOLE.lower, INF, FACTS
    ),
    "a point, no lower bound": Certificate.of(ORACLE.domain, [], [], WHOLE.value, -INF, WHOLE.upper, FACTS),
}


@pytest.mark.parametrize("words", SIDES)
def test_both_verifiers_take_one_side_and_say_which(words, tmp_path):
    made = SIDES[words]
    path = made.save(tmp_path / "run.jsonl.gz")
    read = Certificate.load(path)
    assert read.records == made.records
    assert (read.lower, read.upper, read.gap) == (made.lower, made.upper, INF)
    for verdict in (read.verify(), read.verify(ORACLE), read.verify(ORACLE, exact=True)):
        assert words in str(verdict)
        assert verdict.lower <= RUN.upper_bound
        assert verdict.upper >= RUN.lower_bound
        assert verdict.gap == INF
    assert not read.verify().proven
    assert read.verify(ORACLE).proven
    assert read.verify(ORACLE, exact=True).proven
    alone = subprocess.run([sys.executable, "-I", "-S", verify.__file__, path], capture_output=True, text=True)
    assert alone.returncode == 0
    assert words in alone.stdout
    done = CliRunner().invoke(main, ["verify", str(path)])
    assert done.exit_code == 0
    assert words in done.output


def change(records, name, value, line=0):
    records[line][name] = value


FORGED = {
    "a higher bound": (0, lambda r: change(r, "lower", (WHOLE.lower + 1e-9).hex())),
    "a bound and a gap": (0, lambda r: change(r, "gap", "0x1p+0")),
    "an upper bound without a point": (0, lambda r: change(r, "upper", "0x1p+9")),
    "that on both lines": (0, lambda r: [change(r, "upper", "0x1p+9", line) for line in (0, -1)]),
    "no bound at all": (0, lambda r: change(r, "lower", "-inf")),
    "a bound of +inf": (0, lambda r: change(r, "lower", "inf")),
    "a lower value": (1, lambda r: change(r, "upper", (WHOLE.upper - 1e-9).hex())),
    "a bound without cuts": (1, lambda r: change(r, "lower", "-0x1p+9")),
    "a minorant without cuts": (1, lambda r: change(r, "constant", "-0x1p+9", -2)),
    "a point outside": (1, lambda r: change(r, "point", "0x1p+9 0x0p+0 0x0p+0 0x0p+0", -1)),
    "a point too short": (1, lambda r: change(r, "point", "0x0p+0", -1)),
    "not a number": (1, lambda r: [change(r, "upper", "nan", line) for line in (0, -1)]),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_ones_are_refused(name, tmp_path):
    side, edit = FORGED[name]
    raw = list(SIDES.values())[side].save(tmp_path / "run.jsonl").read_bytes()
    forged = edited(raw, edit)
    with pytest.raises((verify.DamagedFile, verify.FalseLine), match=r"line \d+"):
        verify.check(forged)
    with pytest.raises(verify.DamagedFile, match="checksum"):
        verify.check(b"\n".join([*forged.split(b"\n")[:-2], *raw.split(b"\n")[-2:]]))
    (tmp_path / "run.jsonl").write_bytes(forged)
    with pytest.raises((InvalidCertificate, Refuted)):
        Certificate.load(tmp_path / "run.jsonl").verify(ORACLE)


def test_the_data_refute_what_a_consistent_file_claims():
    cuts = [type(cut)(cut.kind, cut.constant + 1e-6, cut.slope, witness=cut.witness) for cut in WHOLE.cuts]
    high = Certificate.of(ORACLE.domain, cuts, WHOLE.multipliers, None, WHOLE.lower + 1e-6 - 1e-15, INF, FACTS)
    low = Certificate.of(
        ORACLE.domain, [], [], type(WHOLE.value)(WHOLE.value.point, WHOLE.upper - 1e-3), -INF, WHOLE.upper - 1e-3, FACTS
    )
    inner = Certificate.of(
        Box(-np.ones(N) / 8, np.ones(N) / 8), WHOLE.cuts, WHOLE.multipliers, None, WHOLE.lower, INF, FACTS
    )
    far = Certificate.of(
        Box(-2 * np.ones(N), 2 * np.ones(N)), [], [], type(WHOLE.value)(np.full(N, 2.0), 9.0), -INF, 9.0, FACTS
    )
    assert inner.verify(ORACLE).lower <= RUN.upper_bound
    for made, words in ((high, "below the claimed"), (low, "the value is"), (far, "line 2, the domain")):
        assert made.verify().holds
        with pytest.raises(Refuted, match=words):
            made.verify(ORACLE)


def test_a_file_cut_down_to_a_side_of_its_own_is_true():
    """Whoever takes the point away, or all cuts, is left with less, and not with a higher bound."""

    records = [*WHOLE.records[:-1], {"line": "incumbent", "upper": "inf"}]
    records[0] = {**records[0], "upper": "inf", "gap": "inf"}
    found = verify.check(closed([json.dumps(record).encode() for record in records]))
    assert (found.lower, found.upper) == (WHOLE.lower, INF)
