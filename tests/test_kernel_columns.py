"""Columns of kernels are said as in a ColumnTransformer; what holds no numbers is refused by the names of columns."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer, make_column_selector

from oracle_opt import InvalidArgument
from oracle_opt.oracles import KernelList
from oracle_opt.words import shown

NAMES = ["petal length", "petal width", "sepal", "height"]
FRAME = pd.DataFrame(np.random.default_rng(0).random((9, 4)), columns=NAMES)


def chosen(columns, X=FRAME):
    """The points that a linear kernel of these columns sees: its matrix tells the columns apart."""
    return KernelList([("some", "linear", columns)], normalize=None).fit(X).combine([1.0])


@pytest.mark.parametrize(
    "columns",
    [
        "sepal",
        ["sepal"],
        ["height", "petal width"],
        [0, 2],
        -1,
        2,
        [-1, 0],
        slice(1, 3),
        slice(None, -1),
        slice("petal width", "height"),
        slice(None, "petal width"),
        [True, False, False, True],
        np.array([False, True, True, False]),
        pd.Series([False, True, True, False]),
        pd.Index(["sepal", "height"]),
        lambda X: [name for name in X.columns if "petal" in name],
        make_column_selector(pattern="al"),
    ],
    ids=shown,
)
def test_columns_are_those_of_a_column_transformer(columns):
    wanted = [columns] if isinstance(columns, str | int) else columns  # there they make a vector
    Z = ColumnTransformer([("some", "passthrough", wanted)]).fit_transform(FRAME)
    assert np.allclose(chosen(columns), Z @ Z.T, atol=1e-14)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.coo_matrix])
@pytest.mark.parametrize("columns", [[0, 2], slice(1, 3), [True, False, False, True], lambda X: [X.shape[1] - 1]])
def test_columns_of_other_points(make, columns):
    Z = np.asarray(FRAME)[:, columns(FRAME) if callable(columns) else columns]
    assert np.allclose(chosen(columns, make(np.asarray(FRAME))), Z @ Z.T, atol=1e-14)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("petal witdh", "`columns` of 'some' name 'petal witdh', which `X` does not have; did you mean 'petal width'?"),
        (["SEPAL"], "did you mean 'sepal'?"),
        (["zzz"], "there are 'petal length', 'petal width', 'sepal', 'height'"),
        ([0, 0], "must name no column twice, got column 'petal length' twice"),
        ([4], "must be from 0 to 3, got 4"),
        ([-5], "must be from 0 to 3, got -5"),
        ([True, False], "are a mask of 2 columns, and `X` has 4"),
        ([False] * 4, "must choose a column at least"),
        (lambda X: [], "must choose a column at least"),
        ([0, "sepal"], "must be names, numbers, a slice or a mask"),
        ([1.5], "must be names, numbers, a slice or a mask"),
        (1.5, "must be names, numbers, a slice or a mask"),
        (None, "must be names, numbers, a slice or a mask"),
        ({"sepal": 1}, "must be names, numbers, a slice or a mask"),
        (slice("sepal", "z"), "name 'z', which `X` does not have"),
    ],
    ids=shown,
)
def test_columns_that_are_not_there(columns, words):
    with pytest.raises(InvalidArgument, match=re.escape(words)):
        chosen(columns)


def test_names_want_a_frame_of_different_names():
    with pytest.raises(InvalidArgument, match=r"name the column 'sepal', and `X` has no names; pass a DataFrame"):
        chosen("sepal", FRAME.to_numpy())
    twice = pd.DataFrame(np.random.default_rng(0).random((5, 2)), columns=["a", "a"])
    with pytest.raises(InvalidArgument, match=r"name 'a', and 2 columns have that name"):
        chosen("a", twice)
    assert chosen([1], twice).shape == (5, 5)


def test_new_points_have_their_columns_found_by_name():
    bank = KernelList([("some", "linear", ["sepal", "petal width"])], normalize=None).fit(FRAME)
    truth = FRAME[["sepal", "petal width"]].to_numpy() @ FRAME[["sepal", "petal width"]].to_numpy().T
    for new in (FRAME[NAMES[::-1]], FRAME[["sepal", "petal width"]], FRAME.to_numpy(), FRAME.assign(more="text")):
        assert np.allclose(bank.cross(new, [1.0]), truth, atol=1e-14)
    with pytest.raises(InvalidArgument, match=r"`new` has no column 'sepal'; did you mean 'sepals'\?"):
        bank.cross(FRAME.rename(columns={"sepal": "sepals"}), [1.0])
    with pytest.raises(InvalidArgument, match=r"`new` must have 4 columns.*got shape \(9, 3\)"):
        bank.cross(FRAME.to_numpy()[:, :3], [1.0])
    by_number = KernelList(["linear"]).fit(FRAME.to_numpy())
    assert by_number.cross(FRAME, [1.0]).shape == (9, 9)


def frame(**columns):
    return pd.DataFrame({"number": np.arange(4.0), **columns})


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (
            frame(species=["a", "b", "a", "b"]),
            "column 'species' holds text such as 'a'; make numbers of them first, with ",
        ),
        (frame(species=["a", "b", "a", "b"]), "ColumnTransformer([('coded', OneHotEncoder(), ['species'])]"),
        (frame(s=pd.Series(list("abab"), dtype="category")), "column 's' holds categories such as 'a'; make numbers"),
        (frame(s=pd.Series([1, 2, 1, 2], dtype="category")), "column 's' holds categories such as 1; make numbers"),
        (frame(s=pd.Series(list("abab"), dtype="string")), "column 's' holds text such as 'a'"),
        (frame(s=pd.Series([None, "b", None, 1], dtype=object)), "column 's' holds "),
        (frame(t=pd.date_range("2026-01-01", periods=4)), "column 't' holds dates; make numbers of dates"),
        (frame(t=pd.to_timedelta([1, 2, 3, 4], unit="D")), "column 't' holds dates; make numbers of dates"),
        (frame(t=pd.period_range("2026-01", periods=4, freq="M")), "column 't' holds dates; make numbers of dates"),
        (frame(z=[1j, 2, 3, 4]), "column 'z' holds complex numbers; pass real and imaginary parts"),
        (frame(d=[{}, 1, 2, 3]), "column 'd' holds the dict {}"),
        (frame(a=[1, np.nan, 3, np.nan]), "column 'a' of `X` must be finite, got NaN in row 1, and 1 more such number"),
        (frame(a=[1, np.nan, 3, 4]), "fill them in by SimpleImputer() before, in a pipeline"),
        (frame(a=pd.array([1, None, 3, 4], dtype="Int64")), "column 'a' of `X` must be finite, got NaN in row 1"),
        (frame(a=pd.array([True, None, False, True], dtype="boolean")), "column 'a' of `X` must be finite, got NaN"),
        (frame(a=[1, None, 3, 4]).astype(object), "column 'a' of `X` must be finite, got NaN in row 1"),
        (frame(a=[1, 2, np.inf, 4]), "column 'a' of `X` must be finite, got inf in row 2"),
        (frame(a=[1, 2, np.nan, 4]).set_index(pd.Index(list("wxyz"))), "in row 2 (label 'y')"),
        (np.array([["a", "b"], ["c", "d"]]), "column 0 holds text such as 'a', column 1 holds text such as 'b'; make"),
        (
            np.array([[1, "b"], [2, "d"]], dtype=object),
            "`X` must be a table of numbers: column 1 holds text such as 'b'",
        ),
        (np.array([[1.0, 2.0], [np.nan, 3.0]]), "column 0 of `X` must be finite, got NaN in row 1"),
        (np.array([[1.0, 2.0], [1j, 3.0]]), "`X` must hold real numbers, got complex ones"),
        (sparse.csr_array([[1.0, 2.0], [np.nan, 3.0]]), "column 0 of `X` must be finite, got nan in row 1"),
        (sparse.csr_array([[1.0, 2.0], [1j, 3.0]]), "`X` must hold real numbers, got a sparse array of complex128"),
        (np.arange(4.0), "reshape(-1, 1) makes a column of it"),
        (np.zeros((3, 4, 4)), "KernelList([PrecomputedKernels(stack)]), and `X` is then a column of row indices"),
        (np.zeros((0, 2)), "must have a point and a column at least"),
        (np.zeros((2, 0)), "must have a point and a column at least"),
        ([[1.0, 2.0], [3.0]], "all with as many columns"),
        (3.0, "must have shape (n, columns)"),
    ],
    ids=lambda one: one[:40] if isinstance(one, str) else "",
)
def test_what_holds_no_numbers_is_named(X, words):
    with pytest.raises(InvalidArgument, match=re.escape(words)):
        KernelList(["linear"]).fit(X)


def test_many_columns_of_text_are_counted():
    X = pd.DataFrame({f"c{j}": list("ab") for j in range(9)})
    with pytest.raises(InvalidArgument, match=r"column 'c4' holds text such as 'a', and 4 columns more; make"):
        KernelList(["linear"]).fit(X)


def test_columns_that_no_kernel_looks_at_may_hold_anything():
    X = frame(species=list("abab"), when=pd.date_range("2026-01-01", periods=4), missing=[np.nan] * 4)
    bank = KernelList([("n", "linear", ["number"])], normalize=None).fit(X)
    assert np.allclose(bank.combine([1.0]), np.outer(range(4), range(4)))


@pytest.mark.parametrize(
    "X",
    [
        frame(a=[True, False, True, True]),
        frame(a=pd.array([1, 0, 3, 4], dtype="Int64")),
        frame(a=pd.array([1, 0, 3, 4], dtype="Float32")),
        frame(a=pd.arrays.SparseArray([1.0, 0.0, 3.0, 4.0])),
        frame(a=np.array([1, 0, 3, 4], dtype=np.uint8)).astype(object),
        frame(a=[1.5, 0, 3, 4]).to_numpy().astype(np.float32),
        np.asfortranarray(frame(a=[1.5, 0, 3, 4]).to_numpy()),
        frame(a=[1.5, 0, 3, 4]).to_numpy().tolist(),
    ],
    ids=lambda X: str(getattr(X, "dtypes", [type(X)])),
)
def test_numbers_of_all_kinds_are_taken(X):
    Z = np.asarray(X, dtype=float)
    assert np.allclose(KernelList(["linear"], normalize=None).fit(X).combine([1.0]), Z @ Z.T, atol=1e-12)
