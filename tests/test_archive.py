"""Archives of runs: analyses say the same, damage and false rows are refused, methods of one's own are compared."""

import io
import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from oracle_opt import Box, FunctionOracle
from oracle_opt.cli import main
from oracle_opt.errors import InvalidArgument, StoreMismatch
from oracle_opt.problems import find
from oracle_opt.study import Limits, Results, Study, archive, check_archive, compare_with, to_iohinspector
from oracle_opt.study.analyses import Table
from oracle_opt.study.archive import _rounded

TAU = (1e-2, 1e-4, 1e-6)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Three methods on seven functions: one that refuses some, and one that is stopped."""

    def norm(z):
        return np.abs(z - 0.3).sum() + z @ z, np.sign(z - 0.3) + 2 * z

    functions = {f"norm {n}": FunctionOracle(norm, Box(-np.ones(n), np.ones(n))) for n in range(1, 8)}
    made = Study(functions, ["level-set", "kelley", "newton-bundle"], limits=Limits(calls=40), tau=TAU)
    return made.run(tmp_path_factory.mktemp("study"), jobs=1, progress=False)


@pytest.mark.parametrize("seconds", [True, False])
def test_analyses_of_an_archive_say_the_same(study, tmp_path, seconds):
    back = Results.load(study.save(tmp_path / "mine.runs", seconds=seconds))
    assert back.tau == study.tau
    assert back.order == study.order
    for tau in TAU:
        for name in ("table", "means"):
            pd.testing.assert_frame_equal(getattr(back, name)(tau=tau).data, getattr(study, name)(tau=tau).data)
        assert back.ranks(tau=tau).data.equals(study.ranks(tau=tau).data)
    for name in ("profile", "area"):
        near, data = getattr(back, name)().data, getattr(study, name)().data
        pd.testing.assert_frame_equal(near, data, rtol=0 if seconds else 1e-6)
    if seconds:
        spent, of_study = (one.profile(cost="total seconds").data for one in (back, study))
        pd.testing.assert_frame_equal(spent, of_study, rtol=1e-4)
    assert study.save(tmp_path / "again.runs", seconds=seconds).read_bytes() == (tmp_path / "mine.runs").read_bytes()


def test_single_precision_keeps_the_side_of_each_accuracy():
    gaps = np.sort(np.concatenate([np.nextafter(t, side) * np.ones(1) for t in TAU for side in (0, t, 1)]))
    for tau in TAU:
        assert ((_rounded(gaps, TAU) <= tau) == (gaps <= tau)).all()


def test_fifty_damaged_files_are_refused(study, tmp_path):
    whole = study.save(tmp_path / "mine.runs").read_bytes()
    rng, n_refused = np.random.default_rng(0), 0
    for k in range(50):
        damaged = bytearray(whole)
        if k % 3 == 0:
            del damaged[int(rng.integers(1, len(damaged))) :]
        else:  # bytes of the tables or of the directory; those of a header that nobody reads may change nothing
            at = int(rng.integers(60, len(damaged) - 60))
            damaged[at : at + 8] = rng.bytes(8)
        (tmp_path / "damaged.runs").write_bytes(damaged)
        try:
            assert Results.load(tmp_path / "damaged.runs").runs.equals(Results.load(tmp_path / "mine.runs").runs)
        except StoreMismatch:
            n_refused += 1
    assert n_refused >= 48
    for missing in ("nothing.runs", "."):
        with pytest.raises(StoreMismatch):
            Results.load(tmp_path / missing)


def test_runs_that_were_all_refused_are_kept(study, tmp_path):
    refused = study.filter(generator="newton-bundle", where=lambda runs: runs["status"] == "REFUSED")
    for seconds in (True, False):
        back = Results.load(refused.save(tmp_path / "refused.runs", seconds=seconds))
        assert set(back.runs["status"]) == {"REFUSED"}
        assert len(back) == len(refused) > 0


def rewritten(path, change):
    """An archive with another table of runs, its digests made right."""
    import hashlib

    with zipfile.ZipFile(path) as file:
        content = {name: file.read(name) for name in file.namelist()}
    runs = change(pd.read_parquet(io.BytesIO(content["runs"])))
    out = io.BytesIO()
    runs.to_parquet(out)
    content["runs"] = out.getvalue()
    head = json.loads(content["archive.json"])
    head["sha256"]["runs"] = hashlib.sha256(content["runs"]).hexdigest()
    content["archive.json"] = json.dumps(head).encode()
    with zipfile.ZipFile(path, "w") as file:
        for name, data in content.items():
            file.writestr(name, data)
    return path


def test_a_false_row_exposes_itself(study, tmp_path):
    def better(runs):
        runs.loc[runs["generator"] == "kelley", "lower_bound"] += 0.1
        return runs

    with pytest.raises(StoreMismatch, match=r"contradicts itself on norm 1: kelley states"):
        Results.load(rewritten(study.save(tmp_path / "mine.runs"), better))


def test_the_archive_that_ships_is_compared_with_at_its_limits(tmp_path):
    stored = archive("2026.1")
    assert len(stored) == 2496
    name = "two-stage(n=3, rows=4, scenarios=10, seed=0)"
    part = stored.filter(instance=name, generator=("kelley", "level-set"))
    both = compare_with(part, {"mine": "kelley"}, folder=tmp_path / "runs", jobs=1, progress=False)
    calls = both.table(tau=1e-4).data.iloc[0]
    assert calls["mine"] == pytest.approx(calls["kelley"], rel=0.1)
    with pytest.raises(InvalidArgument, match="rename"):
        compare_with(part, ["kelley"], folder=tmp_path / "other")
    other = Results(part.runs.assign(oracle="another", recipe="another"), part.history, part.tau)
    with pytest.raises(InvalidArgument, match=r"another problem called two-stage"):
        compare_with(other, {"mine": "kelley"}, folder=tmp_path / "third")
    mixed = part.runs.assign(max_calls=np.arange(len(part)) + 10)
    with pytest.raises(InvalidArgument, match="different limits"):
        compare_with(Results(mixed, part.history, part.tau), {"mine": "kelley"}, folder=tmp_path / "fourth")
    with pytest.raises(InvalidArgument, match=r"2026\.1"):
        archive("1999.1")
    with pytest.raises(InvalidArgument, match="seconds"):
        both.profile(cost="total seconds")


def test_a_sample_is_done_again(tmp_path):
    part = archive("2026.1").filter(family="two-stage", generator="kelley")
    checked = check_archive(part, 2)
    assert checked.near == 1.0
    assert not checked.wrong
    assert "within 1.1 x" in str(checked)
    worse = Results(part.runs.assign(lower_bound=part.runs["upper_bound"] + 1.0), part.history, part.tau)
    assert any("above a value" in words for words in check_archive(worse, 1).wrong)


@pytest.mark.campaign(8)
@pytest.mark.parametrize("name", sorted({one for one in archive("2026.1").runs["instance"] if "(" in one}))
def test_instances_of_the_archive_are_those_of_this_version(name):
    (problem,) = find(name)
    row = archive("2026.1").filter(instance=name).runs.iloc[0]
    assert problem.identity() == row["recipe"]  # its numbers may differ by the rounding of another machine


def test_events_become_a_table_of_iohinspector(study, tmp_path):
    table = pd.read_csv(to_iohinspector(study, tmp_path / "events.csv"))
    assert (table.groupby("data_id")["raw_y"].diff().dropna() < 0).all()
    assert set(table["algorithm_name"]) == {"level-set", "kelley"}
    assert table["dimension"].max() == 7


def test_the_command_packs_checks_and_exports(study, tmp_path):
    runner, file = CliRunner(), tmp_path / "mine.runs"
    study.filter(generator="kelley").save(file)
    done = runner.invoke(main, ["archive", "export", str(file), "--to", str(tmp_path / "events.csv")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "events.csv").read_text().startswith("data_id,algorithm_name")
    part = archive("2026.1").filter(family="one-tree", generator="kelley")
    part.save(file)
    done = runner.invoke(main, ["archive", "check", str(file), "--sample", "1"])
    assert done.exit_code == 0, done.output
    assert "100% of 1 run within 1.1 x" in done.output
    assert runner.invoke(main, ["archive", "check", "1999.1"]).exit_code == 2
    assert runner.invoke(main, ["archive", "pack", str(tmp_path), "--out", str(file)]).exit_code == 2
    assert "--help" in runner.invoke(main, ["archive", "check", "-h"]).output
    assert "oracle-opt" in runner.invoke(main, ["-V"]).output


def test_what_is_refused_everywhere_has_no_rank_and_is_named(study):
    mine = study.filter(where=lambda runs: (runs["generator"] != "newton-bundle") | (runs["status"] == "REFUSED"))
    refused = set(mine.runs["instance"][mine.runs["status"] == "REFUSED"])
    ranks = mine.filter(instance=refused).ranks(tau=1e-2)
    assert set(ranks.data["generator"]) == {"level-set", "kelley"}
    assert "Left out, as refused everywhere: newton-bundle." in ranks.caption
    without = mine.filter(instance=refused, generator=("level-set", "kelley")).ranks(tau=1e-2)
    assert ranks.data.equals(without.data)


def test_a_table_for_papers_has_the_best_in_bold(study):
    text = study.table(tau=1e-6).to_latex()
    rows = [line for line in text.splitlines() if line.startswith("norm")]
    assert len(rows) == 7
    assert all(r"\textbf{" in row for row in rows)
    assert any("--" in row for row in rows)
    assert r"runs solved & " in text
    assert text.count(r"\begin") == text.count(r"\end") == 2
    escaped = Table(pd.DataFrame({"a_b": ["50 %"], "c": [1.5e-7]}), "T", "x < 1", compared=("c",)).to_latex()
    assert r"a\_b & c \\" in escaped
    assert r"50 \% & \textbf{$1.5 \cdot 10^{-7}$} \\" in escaped


def test_curves_end_a_decade_below_the_accuracy(study):
    assert study.curves().y_limits[0] == min(TAU) / 10


def test_the_virtual_best_is_the_best_of_each_problem_at_each_accuracy(study):
    both = study.with_virtual_best()
    for tau in TAU:
        table = both.table(tau=tau).data
        best = table[list(study.order)].min(axis=1)
        assert (table["virtual best"] == best).all()
    assert both.ranks(tau=1e-2).data["generator"].iloc[0] == "virtual best"
    assert both.means(tau=1e-2).data.set_index("generator").loc["virtual best", "over the best"] == 1.0
    with pytest.raises(InvalidArgument, match="seconds"):
        both.profile(cost="total seconds")
    with pytest.raises(InvalidArgument, match="virtual best"):
        both.with_virtual_best()


def test_intervals_of_means_hold_the_ratio(study):
    means = study.means(tau=1e-2).data
    assert (means["from"] <= means["over the best"] + 1e-12).all()
    assert (means["over the best"] <= means["to"] + 1e-12).all()
    assert (means[["from", "to"]].to_numpy()[means["over the best"] == 1.0] == 1.0).all()
