import gzip
import hashlib
import os
import re
import subprocess
import sys
from dataclasses import replace
from http.client import IncompleteRead
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, issparse

from oracle_opt import DataUnavailable, InvalidArgument, InvalidData
from oracle_opt.datasets import Dataset, available, load, names
from oracle_opt.datasets.catalog import CATALOG, CatalogEntry, OpenMLRecipe
from oracle_opt.datasets.load import rows_checksum


@pytest.fixture
def empty_machine(monkeypatch, tmp_path):
    """A machine without data; gives the folder and the cache it would look into."""
    folder, cache = tmp_path / "folder", tmp_path / "cache"
    monkeypatch.setenv("ORACLE_OPT_DATA", str(folder))
    monkeypatch.setenv("ORACLE_OPT_CACHE", str(cache))
    folder.mkdir()
    return folder, cache


def write(path, text):
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.campaign(3)
@pytest.mark.parametrize("name", names())
def test_known_sets_have_the_size_stated(name):
    entry = CATALOG[name]
    if entry.file is not None and not os.environ.get("ORACLE_OPT_DATA"):
        pytest.skip("ORACLE_OPT_DATA names no folder with the data sets")
    if not {row.name: row.here for row in available()}[name]:
        pytest.skip(f"{entry.file} is not there")
    dataset = load(name, download=False)
    assert (*dataset.shape, entry.n_positive) in {(entry.n, entry.d, known) for known in (dataset.n_positive, None)}
    assert set(dataset.y) == {-1.0, 1.0}
    assert dataset.name == name
    assert len(dataset.feature_names) == entry.d
    assert issparse(dataset.X) == (".svm" in dataset.source or bool(entry.stems and name != "kddcup04"))
    assert dataset.dense().dtype == float
    if entry.openml is not None:
        assert rows_checksum(dataset.X, dataset.y) == entry.openml.rows_sha256


def test_wdbc_and_digits_need_no_file(empty_machine):
    wdbc, digits = load("wdbc"), load("digits")
    assert wdbc.X[0, 0] == 17.99
    assert wdbc.y[0] == 1.0  # the first patient's is malignant
    assert digits.y[:10].tolist() == [1.0] * 5 + [-1.0] * 5  # the first ten are 0, 1, ..., 9
    assert wdbc.source == digits.source == "scikit-learn"


def test_digest_tells_data_apart():
    one, other = load("wdbc"), load("digits")
    assert one.digest() == load("wdbc").digest() != other.digest()


def test_unknown_name_has_near_ones():
    with pytest.raises(InvalidArgument, match="did you mean ionosphere"):
        load("ionosfere")
    with pytest.raises(InvalidArgument, match="known are wpbc, ionosphere"):
        load("qqqqqq")


def test_file_under_a_known_name_is_verified(empty_machine):
    folder, _ = empty_machine
    (folder / "pima.csv").write_text("a,label\n1,1\n2,-1\n")
    with pytest.raises(InvalidData, match=r"not the file known as 'pima': its SHA-256 is"):
        load("pima")


def test_folder_goes_before_cache(empty_machine, monkeypatch):
    folder, cache = empty_machine
    cache.mkdir()
    text = b"a,label\n1,1\n2,-1\n"
    entry = CatalogEntry("tiny.csv", hashlib.sha256(text).hexdigest(), 2, 1, 1, "made up for a test")
    monkeypatch.setitem(CATALOG, "tiny", entry)
    (cache / "tiny.csv").write_bytes(text)
    assert load("tiny").source == str(cache / "tiny.csv")
    (folder / "tiny.csv").write_bytes(text)
    assert load("tiny").source == str(folder / "tiny.csv")
    assert {row.name: row.place for row in available()}["tiny"] == str(folder / "tiny.csv")


def test_offline_error_says_what_was_tried_and_what_to_do(empty_machine, monkeypatch):
    folder, cache = empty_machine

    def unreachable(**arguments):
        raise URLError("no route to host")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", unreachable)
    with pytest.raises(DataUnavailable) as caught:
        load("sonar")
    message = str(caught.value)
    for part in (folder / "sonar.csv", cache / "sonar.csv", "OpenML data 40: URLError", "Put sonar.csv", "683d0bb547"):
        assert str(part) in message
    monkeypatch.delenv("ORACLE_OPT_DATA")
    with pytest.raises(DataUnavailable, match="ORACLE_OPT_DATA is not set"):
        load("sonar")


@pytest.mark.parametrize("problem", [IncompleteRead(b""), ValueError("Dataset with data_id 40 not found.")])
def test_any_trouble_with_openml_is_reported(empty_machine, monkeypatch, problem):
    def fails(**arguments):
        raise problem

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fails)
    with pytest.raises(DataUnavailable, match=type(problem).__name__):
        load("sonar")


def test_sets_openml_does_not_have_are_not_asked_for(empty_machine):
    with pytest.raises(DataUnavailable, match=r"Put wpbc\.csv"):
        load("wpbc")
    with pytest.raises(DataUnavailable, match="not asked"):
        load("sonar", download=False)


VOTES = pd.DataFrame({"first": ["y", "n", None, "y"], "second": ["n", "n", "y", None]}, dtype="category")
PARTIES = pd.Series(["democrat", "republican", "democrat", "republican"], dtype="category")
CODED = np.array([[1.0, -1.0], [-1.0, -1.0], [0.0, 1.0], [1.0, 0.0]])


@pytest.fixture
def small_openml(empty_machine, monkeypatch):
    """OpenML with one small set; gives the list of questions it was asked, and the cache."""
    asked = []

    def fetch_openml(**arguments):
        asked.append(arguments)
        return SimpleNamespace(data=VOTES, target=PARTIES)

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    checksum = rows_checksum(CODED, np.array([1.0, -1.0, 1.0, -1.0]))
    recipe = OpenMLRecipe(7, frozenset({"democrat"}), checksum, {"y": 1.0, "n": -1.0, "?": 0.0})
    monkeypatch.setitem(CATALOG, "tiny", CatalogEntry("tiny.csv", "0" * 64, 4, 2, 2, "made up for a test", recipe))
    return asked, empty_machine[1]


def test_openml_is_asked_once(small_openml):
    asked, cache = small_openml
    first = load("tiny")
    np.testing.assert_array_equal(first.X, CODED)
    assert first.y.tolist() == [1.0, -1.0, 1.0, -1.0]
    assert first.source == "OpenML data 7"
    second = load("tiny")
    assert len(asked) == 1
    assert asked[0]["data_id"] == 7
    assert second.digest() == first.digest()
    assert second.source == str(cache / "tiny.openml.csv")
    assert sorted(path.name for path in cache.iterdir()) == ["tiny.openml.csv"]


@pytest.mark.parametrize(
    ("change", "message"),
    [({"n": 5}, "4 points, 2 features and 2 positive"), ({"openml": "other rows"}, "right size, but other values")],
)
def test_what_openml_serves_is_checked(small_openml, monkeypatch, change, message):
    entry = CATALOG["tiny"]
    if "openml" in change:
        change = {"openml": replace(entry.openml, rows_sha256="0" * 64)}
    monkeypatch.setitem(CATALOG, "tiny", replace(entry, **change))
    with pytest.raises(InvalidData, match=message):
        load("tiny")
    assert not small_openml[1].exists()


def test_a_cache_that_cannot_be_written_costs_the_copy_alone(small_openml):
    _, cache = small_openml
    cache.write_text("a file in the way")
    with pytest.warns(UserWarning, match="not kept for the next time"):
        assert load("tiny").shape == (4, 2)


def test_spoiled_cache_is_refused(small_openml):
    _, cache = small_openml
    load("tiny")
    path = cache / "tiny.openml.csv"
    path.write_text(path.read_text().replace("0.0", "0.5", 1))
    with pytest.raises(InvalidData, match="other values"):
        load("tiny")


def test_words_openml_should_not_have(small_openml, monkeypatch):
    entry = CATALOG["tiny"]
    monkeypatch.setitem(CATALOG, "tiny", replace(entry, openml=replace(entry.openml, codes={"y": 1.0, "?": 0.0})))
    with pytest.raises(InvalidData, match="the value 'n' is none of"):
        load("tiny")


def test_checksum_of_rows_minds_neither_order_nor_far_digits():
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.repeat([1.0, -1.0], 10)
    order = np.random.default_rng(1).permutation(20)
    assert rows_checksum(X[order], y[order]) == rows_checksum(X, y)
    assert rows_checksum(X[:, [1, 0, 2]], y) != rows_checksum(X, y)
    assert rows_checksum(X, y[order]) != rows_checksum(X, y)
    assert rows_checksum(np.array([[-0.0]]), np.array([1.0])) == rows_checksum(np.array([[0.0]]), np.array([1.0]))


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_csv(tmp_path, ending):
    path = write(tmp_path / f"mine{ending}", "a,b,outcome\n1,0.1,no\n2,1e-3,yes\n3,-4,no\n")
    dataset = load(path)
    assert dataset.name == "mine"
    assert dataset.feature_names == ("a", "b")
    assert dataset.X.tolist() == [[1.0, 0.1], [2.0, 1e-3], [3.0, -4.0]]
    assert dataset.y.tolist() == [-1.0, 1.0, -1.0]
    assert dataset.description == "1 = yes, -1 = no"


@pytest.mark.parametrize("mark", [";", "\t"])
def test_csv_with_another_separator_is_told(tmp_path, mark):
    with pytest.raises(InvalidData, match=re.escape(repr(mark))):
        load(write(tmp_path / "mine.csv", f"a{mark}b{mark}y\n1{mark}2{mark}0\n3{mark}4{mark}1\n"))


def test_csv_reads_back_exactly(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 4)) * 10.0 ** np.arange(-8, 8, 4)
    frame = pd.DataFrame(X).add_prefix("x").assign(label=[0, 1] * 25)
    frame.to_csv(tmp_path / "random.csv", index=False)
    np.testing.assert_array_equal(load(tmp_path / "random.csv").X, X)


@pytest.mark.parametrize("label", ["Label", "class", "target", "y"])
def test_label_column_by_name(tmp_path, label):
    dataset = load(write(tmp_path / "mine.csv", f"{label},a\n10,1\n9,2\n"))
    assert dataset.y.tolist() == [1.0, -1.0]  # as numbers 9 < 10
    assert dataset.feature_names == ("a",)


@pytest.mark.parametrize("ending", [".svm", ".svm.gz", ".libsvm", ".txt"])
def test_libsvm(tmp_path, ending):
    dataset = load(write(tmp_path / f"mine{ending}", "2 1:0.5 3:1\n1 2:4\n"))
    assert dataset.name == "mine"
    assert dataset.dense().tolist() == [[0.5, 0.0, 1.0], [0.0, 4.0, 0.0]]
    assert dataset.y.tolist() == [1.0, -1.0]
    assert dataset.description == "1 = 2, -1 = 1"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "is empty"),
        ("a.csv", "a,label\n", "at least one row"),
        ("a.csv", "label\n1\n2\n", "one feature column"),
        ("a.csv", "1,2\n3,4\n", "no header line"),
        ("a.csv", "a,label\n1,1\n2,1\n", "exactly two values, got 1: 1"),
        ("a.csv", "a,label\n1,1\n2,2\n3,3\n", "exactly two values, got 3: 1, 2, 3"),
        ("a.csv", "a,label\n1,1\nword,2\n", "line 3: the value of column 'a' is 'word', not a finite number"),
        ("a.csv", "a,label\n,1\n1,2\n", "line 2: the value of column 'a' is missing"),
        ("a.csv", "a,label\ninf,1\n1,2\n", "line 2: the value of column 'a' is 'inf'"),
        ("a.csv", "a,label\n1,\n1,2\n", "line 2: column 'label': the label is missing"),
        ("a.csv", "a,label,class\n1,1,1\n1,2,2\n", "line 1: 2 columns could be the label"),
        ("a.csv", "a,label\n1,2\n1,2,3\n", "line 3: there are 3 values for 2 columns"),
        ("a.csv", "a,label\n9,1,2\n9,1,1\n", "line 2: there are 3 values for 2 columns"),
        ("a.csv", "a,label\n1,2\n1\n", "line 3: there are 1 values for 2 columns"),
        ("a.csv", "a,a,label\n1,2,1\n1,2,2\n", "line 1: the column 'a' stands twice"),
        ("a.csv", "a,label\n1_0,1\n1,2\n", "line 2: the value of column 'a' is '1_0'"),
        ("a.csv", "a,label\n٣,1\n1,2\n", "line 2: the value of column 'a' is '٣'"),
        ("a.csv", "a,label\n1e400,1\n1,2\n", "line 2: the value of column 'a' is '1e400'"),
        ("a.csv", "a,label\n1,inf\n1,2\n", "line 2: column 'label': the label is 'inf'"),
        ("a.csv", "a,label\n1,\0\n1,2\n", "line 2: the character"),
        ("a.csv", 'a,label\n1,"2\n1,2\n', "line 3: it cannot be read as CSV"),
        ("a.csv.gz", None, "cannot be unpacked by gzip"),
        ("a.svm", "words and words\n", "line 1: the label 'words' is not a finite number"),
        ("a.svm", "", "is empty"),
        ("a.svm", "1 1:1\n2 1\n", "line 2: '1' is not of the form index:value"),
        ("a.svm", "1 1:1\n2 1:1_0\n", "line 2: the value '1_0' of index '1'"),
        ("a.svm", "1 1:1\n2 1:nan\n", "line 2: the value 'nan' of index '1'"),
        ("a.svm", "1 1:1\n2 1:1e400\n", "line 2: the value '1e400' of index '1'"),
        ("a.svm", "1 1:1\n2 0:1\n", "line 2: the index 0 cannot be used: indices count from 1"),
        ("a.svm", "1 1:1\n2 2:1 2:3\n", "line 2: the index 2 cannot be used: it follows 2"),
        ("a.svm", "1 1:1\n2 300000000:1\n", "line 2: the index 300000000 is too large"),
        ("a.svm", "1 1:1\n2 99999999999999999999:1\n", "line 2: '99999999999999999999:1' is not of the form"),
        ("a.svm", "1 1:1\n2 1:1\n3 1:1\n", "exactly two values, got 3"),
        ("a.parquet", "x", "cannot tell its format"),
    ],
)
def test_files_that_cannot_be_used(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_text("not gzip" if text is None else text)
    with pytest.raises(InvalidData, match=message):
        load(path)


def test_missing_file(tmp_path):
    with pytest.raises(InvalidData, match="does not exist"):
        load(tmp_path / "nothing.csv")
    with pytest.raises(InvalidData, match="does not exist"):
        load("nothing.csv")


def test_importing_the_core_stays_light():
    code = "import sys, oracle_opt; print([m for m in ('pandas', 'sklearn', 'matplotlib', 'rich') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
    code = code.replace("oracle_opt;", "oracle_opt.datasets;")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


@pytest.mark.parametrize("kind", [np.int32, np.float32, bool, float])
@pytest.mark.parametrize("packed", [False, True])
def test_points_of_any_kind_of_number_become_floats(kind, packed):
    X = np.array([[0, 1, 1], [1, 0, 0]], dtype=kind)
    dataset = Dataset("own", csr_array(X) if packed else X, np.array([1.0, -1.0]), ("a", "b", "c"), "drawn", "here")
    assert dataset.dense().dtype == float
    assert dataset.dense().tolist() == X.astype(float).tolist()
