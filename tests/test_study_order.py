"""Names stand in the order in which a study was given them, in frames, tables, figures and what is read again."""

import json
from pathlib import Path

import pytest
from small_results import largest_of_pieces

from oracle_opt.study import Results, Study

GIVEN = ("subgradient", "kelley", "level-set")  # their table has level-set, kelley, subgradient
INSTANCES = {name: largest_of_pieces(2, 0) for name in ("z", "a")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    Study(INSTANCES, GIVEN, tau=1e-2).run(folder, jobs=1, progress=False)
    return folder


def test_tables_and_frames_are_in_the_order_given(folder: Path) -> None:
    for results in (Results.read(folder), Study(INSTANCES, GIVEN, tau=1e-2).run(folder, jobs=1, progress=False)):
        assert results.order == GIVEN
        table = results.table(tau=1e-2).data
        assert list(table.columns) == ["instance", *GIVEN]
        assert table["instance"].tolist() == ["z", "a"]
        assert results.means(tau=1e-2).data["generator"].tolist() == list(GIVEN)


def test_names_that_come_later_stand_after(folder: Path) -> None:
    Study({"m": INSTANCES["a"]}, ["analytic-center"], tau=1e-2).run(folder, jobs=1, progress=False)
    read = Results.read(folder)
    assert read.order == (*GIVEN, "analytic-center")
    assert list(dict.fromkeys(read.runs["instance"])) == ["z", "a", "m"]


def test_a_folder_without_an_order_is_read(folder: Path) -> None:
    path = folder / "study.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({name: value for name, value in content.items() if name != "order"}))
    assert set(Results.read(folder).order) >= set(GIVEN)


def test_one_is_no_plural(folder: Path) -> None:
    one = Results.read(folder).filter(instance="z", generator="kelley")
    assert repr(one) == "Results(1 run of 1 generator on 1 instance: 1 CONVERGED)"


def test_a_caption_names_its_test_once(folder: Path) -> None:
    table = Results.read(folder).table(tau=1e-2)
    assert f"{table.title} {table.caption}".count("certified") == 1
