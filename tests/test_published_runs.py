"""What is published comes from runs whose certificate holds: studies, and tables of benchmarks."""

import runpy
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from oracle_opt import Box, FunctionOracle, ObjectiveCut, Oracle, Query, minimize
from oracle_opt.certificates.certificate import Certificate
from oracle_opt.certificates.proof_level import Standing, standing_of
from oracle_opt.cli import main
from oracle_opt.errors import InvalidCertificate, Refuted, StudyWarning
from oracle_opt.generators import Kelley, Subgradient
from oracle_opt.proof.claim import CutClaim, ValueClaim
from oracle_opt.study import Results, Study, summary_table
from oracle_opt.study.summary import certificates

ROOT = Path(__file__).resolve().parents[1]


class Sizes(Oracle):
    """The sum of absolute values; its cuts are proven by their signs, unless it lies about them."""

    witness = ("signs",)
    stateless = True

    def __init__(self, n: int = 3, lie: float = 0.0) -> None:
        self.domain, self.lie = Box(-np.ones(n), 2 * np.ones(n)), lie

    def identity(self) -> str:
        return f"sizes of {self.domain.dimension}"

    def query(self, query: Query) -> ObjectiveCut:
        z = query.point
        signs = np.sign(z)
        return ObjectiveCut(z, float(np.abs(z).sum()) + self.lie, signs, extras={"signs": signs})

    def prove_cut(self, claim: CutClaim, exact: bool = False) -> float:
        if np.abs(claim.witness["signs"]).max() > 1:
            raise Refuted("no signs")
        return max(0.0, claim.constant - 1e-12)

    def prove_value(self, claim: ValueClaim, exact: bool = False) -> float:
        return float(np.abs(claim.point).sum()) + self.lie


def of_both(seed: int) -> Oracle:
    return Sizes(lie=0.1 * seed)


def test_a_study_says_what_each_certificate_proves(tmp_path: Path) -> None:
    function = FunctionOracle(lambda z: (float(abs(z).sum()), np.sign(z)), Sizes().domain, name="sizes")
    curved = FunctionOracle(lambda z: (-float(z @ z), -2 * z), Sizes().domain, convex=False, name="hills")
    instances = {"witness": Sizes(), "function": function, "not convex": curved}
    study = Study(instances, ["level-set", "subgradient"], tau=1e-3, limits=None)
    runs = study.run(tmp_path / "runs", jobs=1, progress=False).runs.set_index(["instance", "generator"])
    assert runs.loc[("witness", "level-set"), "certificate"] == "proven"
    assert runs.loc[("function", "level-set"), "certificate"] == "given the cuts"
    assert runs.loc[("not convex", "subgradient"), "certificate"] == "none"
    assert runs.loc[("not convex", "level-set"), ["status", "certificate"]].tolist() == ["REFUSED", ""]
    assert certificates(runs.loc["witness"]) == "2 proven"
    # what is stored is read back, and verifying decides nothing: the same runs are found by a study that does not
    again = Study(instances, ["level-set"], tau=1e-3, verify=False).run(tmp_path / "runs", jobs=1, progress=False)
    assert again.runs["certificate"].tolist() == ["proven", "given the cuts", ""]
    assert set(Results.read(tmp_path / "runs").runs["certificate"]) == {"proven", "given the cuts", "none", ""}
    bare = Study(instances, ["level-set"], tau=1e-3, verify=False).run(tmp_path / "bare", jobs=1, progress=False)
    assert set(bare.runs["certificate"]) == {""}
    assert bare.runs["n_calls"].tolist() == again.runs["n_calls"].tolist()


def test_a_refused_certificate_is_a_failed_run(tmp_path: Path) -> None:
    """Its bounds stand nowhere, and it says why; the other runs of the study are as they are."""
    study = Study({"one": of_both}, ["level-set", "kelley"], seeds=2, tau=1e-3)
    with pytest.warns(StudyWarning, match="Refuted: the certificate of this run is refused"):
        results = study.run(tmp_path, jobs=1, progress=False)
    for row in results.runs.itertuples():
        if row.seed == 0:
            assert (row.status, row.certificate) == ("CONVERGED", "proven")
            continue
        assert (row.status, row.certificate, row.n_calls) == ("FAILED", "refused", 0)
        assert (row.upper_bound, row.lower_bound) == (inf, -inf)
        assert row.message.startswith("Refuted: the certificate of this run is refused")
        assert "Refuted" in row.traceback
    calls = results.table(tau=1e-3, seeds="each").data
    assert np.isinf(calls[calls["seed"] == 1][["level-set", "kelley"]].to_numpy(dtype=float)).all()
    measured = results.runs.assign(accuracy=nan, n_kernels=nan)
    table = summary_table(Results(measured, results.history, results.tau))
    assert table["certificates"].tolist() == ["1 proven", "1 proven"]


def test_what_a_run_is_worth() -> None:
    assert standing_of(minimize(Sizes(), Kelley()), Sizes()) is Standing.PROVEN
    with pytest.raises(Refuted):
        standing_of(minimize(Sizes(lie=0.1), Kelley()), Sizes())
    with pytest.raises(InvalidCertificate, match="another problem"):
        standing_of(minimize(Sizes(), Kelley()), Sizes(4))
    box = Sizes().domain
    hill = FunctionOracle(lambda z: (-float(z @ z), -2 * z), box, convex=False)
    assert standing_of(minimize(hill, Subgradient(), max_calls=3), hill) is Standing.NONE
    wrong = FunctionOracle(lambda z: (-float(z @ z), -2 * z), box)
    assert standing_of(minimize(wrong, Kelley(), [0.5, 0.25, 0.0]), wrong) is Standing.NONE  # its bounds contradict


@pytest.fixture
def verified_tables(monkeypatch: pytest.MonkeyPatch) -> dict:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return runpy.run_path(str(ROOT / "benchmarks" / "_verified.py"))


def test_no_figure_of_a_refused_run_is_written(verified_tables: dict, capsys: pytest.CaptureFixture[str]) -> None:
    verified = verified_tables["verified"]
    assert verified(minimize(Sizes(), Kelley()), Sizes()) == "proven"
    with pytest.raises(Refuted):
        verified(minimize(Sizes(lie=0.1), Kelley()), Sizes())
    given = FunctionOracle(lambda z: (float(abs(z).sum()), np.sign(z)), Sizes().domain, name="sizes")
    assert verified(minimize(given, Kelley()), given) == "given"
    verified_tables["print_certificates"]()
    said = "Certificates of these 2 runs: 1 proven from the data, 1 hold given the cuts."
    assert capsys.readouterr().out.strip() == said
    verified_tables["print_certificates"]()
    assert capsys.readouterr().out == ""


def test_one_table_of_a_page_is_renewed(verified_tables: dict, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    one, two = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |", "| c |\n|---|\n| 5 |"
    before = f"# P\n\n### One\n\n{one}\n\n### Two, to 1e-6\n\n{two}\n\n<!-- end -->\n"
    page.write_text(before)
    verified_tables["renew"](page, "One", ("a", "b"), [(1, 2), (3, 4)])
    assert page.read_text() == before
    verified_tables["renew"](page, "Two, to 1e-6", ("c", "d"), [(6, "x")])
    assert page.read_text() == before.replace(two, "| c | d |\n|---|---|\n| 6 | x |")
    with pytest.raises(ValueError, match="title"):
        verified_tables["renew"](page, "Three", ("a",), [])
    path = tmp_path / "data" / "rows.csv"
    assert verified_tables["kept_rows"](path) == []
    verified_tables["keep_rows"](path, ("a", "b"), [(1, "x, y")])
    assert path.read_text() == 'a,b\n1,"x, y"\n'
    assert verified_tables["kept_rows"](path) == [["1", "x, y"]]


def test_certificates_are_written_by_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(main, ["certify", *words, "--out", str(tmp_path)], env={"COLUMNS": "300"})
        return done.exit_code, done.output

    code, said = run("nonsmooth/CB2", "one-tree(n=5, seed=0)")
    assert code == 0
    assert "nonsmooth/CB2: " in said
    (path,) = (tmp_path / "nonsmooth").iterdir()
    assert Certificate.load(path).verify().holds
    assert run("nonsmoth")[0] == 2

    def refused(*_: object) -> Standing:
        raise Refuted("not at all")

    monkeypatch.setattr("oracle_opt.problems.certification.standing_of", refused)
    code, said = run("nonsmooth/CB3")
    assert code == 1
    assert "nonsmooth/CB3: refused, not at all" in said
    assert not (tmp_path / "nonsmooth" / "CB3.jsonl.gz").exists()
