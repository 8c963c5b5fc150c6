"""Files that are no certificates, damaged or cut off, and runs of which there is nothing to certify."""

import gzip
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from test_certificates_tampered import LargestPiece, closed, edited, problem
from typer.testing import CliRunner

from oracle_opt import FeasibilityCut, FunctionOracle, InvalidArgument, InvalidCertificate, Refuted, minimize
from oracle_opt.certificates import verify
from oracle_opt.certificates.certificate import Certificate
from oracle_opt.certificates.certificate_file import hexadecimal
from oracle_opt.cli import main
from oracle_opt.domains import Box, Domain, FreeSpace, Simplex
from oracle_opt.generators import SPG, Kelley
from oracle_opt.proof.claim import ClaimKind, CutClaim, ValueClaim

ORACLE = problem(0, Simplex(4))
MADE = minimize(ORACLE, Kelley(), rtol=1e-9).certificate()


@pytest.fixture
def raw(tmp_path):
    return MADE.save(tmp_path / "honest.jsonl").read_bytes()


def refused(tmp_path, content, match, status=1):
    """By the class, by the command, and by the program that stands alone."""
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    with pytest.raises((InvalidCertificate, Refuted), match=match):
        Certificate.load(path).verify()
    done = CliRunner().invoke(main, ["verify", str(path)])
    assert done.exit_code == status
    assert done.output.startswith("error: cannot be read: ") == (status == 2)
    assert re.search(match, done.output)
    alone = subprocess.run([sys.executable, "-I", "-S", verify.__file__, path], capture_output=True, text=True)
    assert alone.returncode == 1
    assert re.search(match, alone.stderr)
    assert "Traceback" not in alone.stderr


def test_cut_off_anywhere(raw, tmp_path):
    lines = raw.splitlines(keepends=True)
    refused(tmp_path, b"".join(lines[:-1]), "cut off")
    refused(tmp_path, raw[: len(raw) // 2], "cut off")
    for end in range(0, len(raw) - 1, 97):
        with pytest.raises(verify.DamagedFile):
            verify.check(raw[:end])
    for foreign in (b"", b'instances = ["theta"]\n'):
        refused(tmp_path, foreign, "no oracle-opt certificate", status=2)


def test_no_certificates(tmp_path):
    for content in (b"\x00\xff" * 50, b"{}\n", b"[1, 2]\n", b"hello\n", b"\x1f\x8bnot gzip", b"null\n" * 7):
        path = tmp_path / "other"
        path.write_bytes(content)
        with pytest.raises(InvalidCertificate):
            Certificate.load(path)
    with pytest.raises(FileNotFoundError):
        Certificate.load(tmp_path / "missing")
    for unreadable in (tmp_path / "missing", tmp_path):  # nothing is said of what the file claims
        done = CliRunner().invoke(main, ["verify", str(unreadable)])
        assert done.exit_code == 2
        assert "cannot be read" in done.output
        assert "does not hold" not in done.output


def test_another_version(raw, tmp_path):
    newer = raw.replace(b'"version": 1,', b'"version": 2,', 1)
    refused(tmp_path, newer, "version 1, or was edited: it begins")
    refused(tmp_path, closed(newer.splitlines()[:-1]), "version 1, or was edited: it begins")


def change(*path, to):
    """An edit of the entry that this path leads to."""

    def edit(records):
        thing = records
        for name in path[:-1]:
            thing = thing[name]
        thing[path[-1]] = to

    return edit


@pytest.mark.campaign(2)
@pytest.mark.parametrize(
    ("edit", "match"),
    [
        pytest.param(change(0, "lower", to="nan"), "line 1, the header", id="nan"),
        pytest.param(change(0, "upper", to="inf"), "the incumbent: `upper` is another", id="inf"),
        pytest.param(change(0, "lower", to="-0x1p+9999"), "line 1, the header", id="overflow"),
        pytest.param(change(0, "lower", to=1.5), "line 1, the header", id="decimal"),
        pytest.param(change(0, "gap", to="0x0p+0"), "line 1, the header: `gap`", id="gap"),
        pytest.param(change(2, "constant", to="nan"), "line 3, cut 0", id="nan in a cut"),
        pytest.param(change(2, "slope", to="0x1p+0"), "line 3, cut 0", id="short slope"),
        pytest.param(change(2, "kind", to="guess"), "line 3, cut 0", id="kind"),
        pytest.param(change(2, "at", to=[0, 0, 1, 2]), "line 3, cut 0", id="twice the same place"),
        pytest.param(change(2, "at", to=[-1, 0, 1, 2]), "line 3, cut 0", id="negative place"),
        pytest.param(change(2, "at", to=[0, 1, 2, 4]), "line 3, cut 0", id="far place"),
        pytest.param(change(2, "at", to="0123"), "line 3, cut 0", id="no places"),
        pytest.param(change(2, "multiplier", to=None), "line 3, cut 0", id="no multiplier"),
        pytest.param(change(1, "n", to=5), "line", id="more variables"),
        pytest.param(change(1, "n", to=-4), "line", id="negative variables"),
        pytest.param(change(1, "set", to={}), "line 2, the domain", id="no set"),
        pytest.param(change(1, "set", to=[]), "line 2, the domain", id="a list"),
        pytest.param(change(1, "set", "lower", to="inf inf inf inf"), "line 2, the domain", id="bounds"),
        pytest.param(change(-1, "point", to="0x0p+0"), "the incumbent", id="short point"),
        pytest.param(change(-1, "outside", to={}), "the incumbent", id="outside"),
        pytest.param(change(-1, "upper", to="0x1p+9"), "the incumbent: `upper`", id="upper"),
        pytest.param(change(-2, "constant", to="0x1p+9"), "the minorant: the cuts make the constant", id="minorant"),
        pytest.param(lambda records: records.pop(), "which is to be the minorant", id="no incumbent"),
        pytest.param(lambda records: records.pop(1), "domain", id="no domain"),
        pytest.param(lambda records: records.__delitem__(slice(2, -2)), "no cut of f", id="no cuts"),
    ],
)
def test_lines_that_cannot_be(raw, tmp_path, edit, match):
    refused(tmp_path, edited(raw, edit), match)


def test_whatever_stands_in_a_file_no_other_error_gets_out(raw):
    """Every value of every line replaced by things of other types."""

    def places(thing, path=()):
        pairs = thing.items() if isinstance(thing, dict) else enumerate(thing) if isinstance(thing, list) else ()
        for name, inner in pairs:
            yield (*path, name)
            yield from places(inner, (*path, name))

    records = [json.loads(line) for line in raw.splitlines()[:-1]]
    for path in list(places(records)):
        for value in (None, True, -1, 2.5, "", "x", [], [[1]], {}, 10**400, float("nan")):
            try:
                verify.check(edited(raw, change(*path, to=value)))
            except (verify.DamagedFile, verify.FalseLine):
                continue


def test_nested_without_end():
    first = b'{"line": "header", "format": "oracle-opt certificate", "version": 1, "x": '
    with pytest.raises(verify.DamagedFile):
        verify.check(closed([first + b"[" * 100_000, b"{}", b"{}", b"{}"]))


def test_compressed_files(raw, tmp_path):
    path = MADE.save(tmp_path / "run.jsonl.gz")
    assert gzip.decompress(path.read_bytes()) == raw
    assert Certificate.load(path).records == MADE.records
    alone = [sys.executable, "-I", "-S", verify.__file__, path]
    assert subprocess.run(alone, capture_output=True, text=True, check=True).stdout.startswith("holds, given the")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InvalidCertificate, match="cut off"):
        Certificate.load(path)
    assert subprocess.run(alone, capture_output=True, text=True).returncode == 1


def test_what_is_read_is_what_was_written(tmp_path):
    """Numbers of all sizes, and witnesses of all types, to the last bit."""
    numbers = np.array([0.0, -0.0, 5e-324, -1e-310, 1.0 + 2.0**-52, -1e300, 0.1])
    for number in numbers.tolist():
        assert float.fromhex(hexadecimal(number)).hex() == number.hex()
    witness = {
        "floats": numbers,
        "single": numbers[4:5].astype(np.float32),
        "whole": np.array([[-3, 2**62]]),
        "small": np.array([250], dtype=np.uint8),
        "flags": np.array([True, False]),
        "none": np.zeros((0, 3)),
        "number": 0.1,
        "count": 7,
    }
    cut = CutClaim(ClaimKind.MINORANT, 0.1, np.array([0.0, 0.0, 1e-310]), witness=witness, note="by hand")
    box = Box(-np.ones(3), np.ones(3))
    made = Certificate.of(box, [cut], [0.3], ValueClaim(np.zeros(3), 0.2, {"number": 2.0}), 0.1 - 1e-12, 0.2, {"k": 1})
    (read,) = Certificate.load(made.save(tmp_path / "run.jsonl")).cuts
    assert (read.note, read.constant, read.slope.tolist()) == ("by hand", 0.1, [0.0, 0.0, 1e-310])
    for name, value in witness.items():
        assert type(read.witness[name]) is type(value)
        if isinstance(value, np.ndarray):
            assert read.witness[name].dtype == value.dtype
            assert read.witness[name].shape == value.shape
            assert read.witness[name].tobytes() == value.tobytes()
        else:
            assert read.witness[name] == value


def test_runs_of_which_there_is_nothing_to_certify():
    unbounded = FunctionOracle(lambda z: (z @ z, 2 * z), FreeSpace(2, radius=np.inf))
    with pytest.raises(InvalidCertificate, match="lower bound"):
        minimize(unbounded, SPG(), np.ones(2), max_calls=1).certificate()
    wells = FunctionOracle(lambda z: (float((z**4 - z**2).sum()), 4 * z**3 - 2 * z), Box([-2.0], [2.0]), convex=False)
    with pytest.raises(InvalidCertificate, match="not convex"):
        minimize(wells, SPG(), [1.0], gtol=1e-6).certificate()
    nowhere = FunctionOracle(
        lambda z: FeasibilityCut(z, 1.0 + z[0], np.ones(1)), Box([0.0], [1.0]), gives={FeasibilityCut}
    )
    with pytest.raises(InvalidCertificate, match="bound"):
        minimize(nowhere, Kelley(), max_calls=3).certificate()


CUT = CutClaim(ClaimKind.MINORANT, 0.0, np.array([1.0]))
VALUE = ValueClaim(np.array([0.5]), 0.5)
UNIT = Box([0.0], [1.0])


class Unknown(Domain):
    """A set without a description."""

    dimension = 1

    def project(self, point, metric=None):
        return np.clip(point, 0.0, 1.0)

    def minimize_linear(self, slope):
        return min(0.0, float(slope[0])), np.zeros(1)

    def interior_point(self):
        return np.full(1, 0.5)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        pytest.param((UNIT, [CUT], [1.0], VALUE, np.nan, 0.5), "no finite lower bound", id="nan"),
        pytest.param((UNIT, [CUT], [1.0], VALUE, 0.0, np.inf), "no upper bound", id="no upper bound"),
        pytest.param((UNIT, [CUT], [1.0], None, 0.0, np.nan), "no upper bound", id="nan without a point"),
        pytest.param((UNIT, [], [], None, -np.inf, np.inf), "no upper bound", id="neither"),
        pytest.param((UNIT, [CUT], [1.0], None, 0.0, 0.5), "no upper bound", id="no point"),
        pytest.param((UNIT, [CUT], [1.0], VALUE, 0.0, 0.5, {"convex": False}), "not convex", id="not convex"),
        pytest.param((UNIT, [CUT], [1.0], VALUE, 0.1, 0.5), "does not follow", id="too high"),
        pytest.param((UNIT, [CUT], [0.0], VALUE, 0.0, 0.5), "no cut of f", id="no multiplier"),
        pytest.param((UNIT, [CUT], [-1.0], VALUE, 0.0, 0.5), "`multipliers`", id="negative"),
        pytest.param((UNIT, [CUT], [1.0, 2.0], VALUE, 0.0, 0.5), "`multipliers`", id="too many"),
        pytest.param((UNIT, [CUT], [np.nan], VALUE, 0.0, 0.5), "`multipliers`", id="nan multiplier"),
        pytest.param((UNIT, [CUT], [1.0], ValueClaim(np.array([1.1]), 0.5), 0.0, 0.5), "not feasible", id="outside"),
        pytest.param((UNIT, [CUT], [1.0], VALUE, 0.0, 0.5, {"x": [1]}), "`facts`", id="facts"),
        pytest.param((Unknown(), [CUT], [1.0], VALUE, 0.0, 0.5), "`described`", id="domain"),
        pytest.param(
            (Box([0.0], [np.inf]), [CutClaim(ClaimKind.MINORANT, 0.0, np.array([-1.0]))], [1.0], VALUE, 0.0, 0.5),
            "no finite lower bound",
            id="no end",
        ),
        pytest.param(
            (UNIT, [CutClaim(ClaimKind.MINORANT, np.nan, np.ones(1))], [1.0], VALUE, 0.0, 0.5), "cut 0", id="nan cut"
        ),
        pytest.param(
            (UNIT, [CutClaim(ClaimKind.MINORANT, 1.0, np.zeros(1))], [1.0], VALUE, 1.0, 0.5),
            "`lower` is above `upper`",
            id="crossed",
        ),
    ],
)
def test_what_cannot_be_certified(arguments, match):
    with pytest.raises((InvalidCertificate, InvalidArgument), match=match):
        Certificate.of(*arguments)


def test_oracles_whose_proofs_are_no_numbers():
    class Vague(LargestPiece):
        def prove_cut(self, claim, exact=False):
            return float("nan")

    vague = Vague(ORACLE.slopes, ORACLE.heights, ORACLE.domain)
    made = minimize(vague, Kelley(), rtol=1e-9).certificate()
    with pytest.raises(Refuted, match="proves nothing"):
        made.verify(vague)


def test_the_command(tmp_path):
    path = MADE.save(tmp_path / "run.jsonl")
    done = CliRunner().invoke(main, ["verify", str(path)])
    assert done.exit_code == 0
    assert done.output.startswith("holds, given the")
    from oracle_opt import problems

    name = "max-affine(n=2, pieces=8)"
    (known,) = problems.find(name)
    own = problems.certify(known).certificate.save(tmp_path / "own.jsonl.gz")
    done = CliRunner().invoke(main, ["verify", str(own), "--problem", name, "--exact"])
    assert done.exit_code == 0
    assert done.output.startswith("holds")
    done = CliRunner().invoke(main, ["verify", str(path), "--problem", name])
    assert done.exit_code == 1
    assert "another problem" in done.output
    for name in ("nonsmooth", "nonsmooth/none"):
        assert CliRunner().invoke(main, ["verify", str(path), "--problem", name]).exit_code == 2
