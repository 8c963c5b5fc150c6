"""Arguments of the wrong kind are refused by name, with what to pass and what was got, in a short sentence."""

import numpy as np
import pytest

from oracle_opt import Box, FreeSpace, FunctionOracle, InvalidArgument, minimize
from oracle_opt.arguments import flag, floats, instance, instances, real, text, whole
from oracle_opt.generators import LevelSet
from oracle_opt.learn import MKLClassifier
from oracle_opt.oracles.svm import Huber
from oracle_opt.study import Limits
from oracle_opt.words import shown

NO_NUMBERS = [None, "1", True, [1.0], np.ones(2), {}, 1j, float, np.bool_(True)]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_what_is_no_number_is_refused(value):
    for check in (real, whole):
        with pytest.raises(InvalidArgument, match=r"^`C` must be .*number"):
            check("C", value)


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.int64(2), np.array(2), np.array(2.0)], ids=repr)
def test_numbers_of_any_kind_are_taken(value):
    assert type(real("C", value)) is float
    assert real("C", value) == 2.0
    assert type(whole("n", value)) is int
    assert whole("n", value) == 2


@pytest.mark.parametrize(
    ("bounds", "good", "bad", "words"),
    [
        ({"above": 0.0}, 1e-300, 0.0, "be positive"),
        ({"least": 0.0}, 0.0, -1e-300, "be at least 0"),
        ({"above": 0.0, "below": 1.0}, 0.5, 1.0, "lie strictly between 0 and 1"),
        ({"above": 0.0, "most": 1.0}, 1.0, 1.5, "be positive and at most 1"),
        ({"least": 1.0, "infinite": True}, np.inf, np.nan, "be at least 1"),
        ({"least": 1.0}, 1.0, np.inf, "be at least 1 and finite"),
        ({"least": 0.0, "most": 1.0}, 1.0, 1.5, "lie between 0 and 1"),
        ({"least": 0.0, "below": 1.0}, 0.0, 1.0, "be at least 0 and below 1"),
        ({}, -1e300, np.inf, "be finite"),
        ({"above": 2.0}, 3.0, 2.0, "be above 2"),
    ],
)
def test_bounds_of_numbers(bounds, good, bad, words):
    assert real("t", good, **bounds) == good
    with pytest.raises(InvalidArgument, match=f"`t` must {words}, got"):
        real("t", bad, **bounds)


def test_whole_numbers_have_a_least_one():
    assert whole("n", 0, 0) == 0
    for value in (0, -1, 1.5, np.nan, np.inf):
        with pytest.raises(InvalidArgument, match="`n` must be a whole number of at least 1, got"):
            whole("n", value)


def test_flags_and_texts():
    assert flag("split", np.bool_(True)) is True
    for value in (None, 1, 0.0, "yes", np.ones(1)):
        with pytest.raises(InvalidArgument, match="`split` must be True or False"):
            flag("split", value)
    assert text("name", "a") == "a"
    with pytest.raises(InvalidArgument, match="`name` must be a text, got 3"):
        text("name", 3)


def test_instances():
    assert instance("x", 3, int, "an int") == 3
    with pytest.raises(InvalidArgument, match=r"`x` must be an int, got the class int; call it: int\(\.\.\.\)"):
        instance("x", int, int, "an int")
    assert instances("xs", iter([1, 2]), int, "an int") == (1, 2)
    with pytest.raises(InvalidArgument, match=r"`xs\[1\]` must be an int, got 'a'"):
        instances("xs", [1, "a"], int, "an int")
    for value in (3, "ab", None):
        with pytest.raises(InvalidArgument, match="`xs` must be a sequence, each an int, got"):
            instances("xs", value, int, "an int")


def test_arrays():
    values = np.arange(3)
    assert floats("c", values).dtype == float
    assert not np.shares_memory(floats("c", values.astype(float)), values)
    for value in ("abc", None, [[1.0], [1.0, 2.0]], [1j], {"a": 1}, ["x"], object()):
        with pytest.raises(InvalidArgument, match=r"`c` must be an array of real numbers, got"):
            floats("c", value)


@pytest.mark.parametrize("value", [np.ones((40, 40)), list(range(1000)), "x" * 1000, {i: i for i in range(99)}])
def test_what_was_got_is_shown_in_short(value):
    assert len(shown(value)) <= 80
    assert "\n" not in shown(value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: LevelSet(levl=0.3), r"LevelSet\(\) has no argument `levl`: did you mean `level`\?"),
        (lambda: Limits(max_calls=3), "`max_calls`: did you mean `calls`"),
        (lambda: minimize(None, max_cals=3), r"minimize\(\) has no argument `max_cals`: did you mean `max_calls`"),
        (lambda: FreeSpace(3, radios=1.0), "did you mean `radius`"),
        (lambda: FunctionOracle(abs, Box([0], [1]), constrains=[]), "did you mean `constraints`"),
        (lambda: FunctionOracle(abs), r"needs `domain`: a Domain such as .* FreeSpace\(n\), where it is minimized"),
        (lambda: minimize(None, constraints=[abs]), r"`constraints`: pass `FunctionOracle\(.*constraints=...\)`"),
        (lambda: FunctionOracle(abs, Box([0], [1]), equalities=[]), r"pass `domain=Polyhedron\(equality_matrix="),
        (
            lambda: MKLClassifier(kernal=["linear"]),
            r"MKLClassifier\(\) has no argument `kernal`: did you mean `kernels`",
        ),
        (lambda: Huber(zzz=3), r"Huber\(\) has no argument `zzz`: it has C, delta$"),
    ],
)
def test_a_wrong_name_is_answered_by_the_nearest(call, words):
    with pytest.raises(TypeError, match=words):
        call()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: minimize(FunctionOracle(abs, Box([0], [1])), [0, 0]), r"got \[0, 0\]; a start is passed as `point=`"),
        (lambda: Box([0], [1, 2]), r"must have one shape, got \(1,\), \(2,\)"),
        (lambda: Box([0, 1], [1]), r"must have one shape, got \(2,\), \(1,\)"),
    ],
)
def test_what_is_in_the_wrong_place_is_refused(call, words):
    with pytest.raises(InvalidArgument, match=words):
        call()
    assert Box(0, [1, 2]).lower.tolist() == [0, 0]


def test_errors_within_a_call_and_own_classes_are_left_alone():
    class Mine(LevelSet):
        def __init__(self, **options):
            super().__init__(**options)

    assert Mine(entropic=False).entropic is False
    with pytest.raises(TypeError, match=r"LevelSet\(\) has no argument `entropik`: did you mean `entropic`"):
        Mine(entropik=False)
    with pytest.raises(TypeError, match="object is not callable"):
        minimize(FunctionOracle(lambda z: z(), Box([0], [1])), max_calls=2)
