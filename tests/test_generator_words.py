"""Words of generators: read as written, and nothing in them is ever evaluated."""

import sys
from math import inf

import pytest
from typer.testing import CliRunner

from oracle_opt.cli import main
from oracle_opt.errors import InvalidArgument
from oracle_opt.files import folder_name
from oracle_opt.generators import SPG, ActiveSet, Kelley, LevelSet, NewtonBundle
from oracle_opt.study import GENERATORS, Results, generator_of
from oracle_opt.study.generator_words import split_words

OWN = """
from oracle_opt.generators import Kelley

CALLED = []

class MyMethod(Kelley):
    def __init__(self, depth=1, chebyshev=False):
        super().__init__(chebyshev)
        self.depth = depth

READY = MyMethod(7)

def make(*arguments):
    CALLED.append(arguments)
    return READY
"""


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    """A module of one's own in the current folder, as the command finds it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "methods_of_mine.py").write_text(OWN)
    (tmp_path / "methods_with_a_flaw.py").write_text("1 / 0\n")
    yield "methods_of_mine"
    sys.modules.pop("methods_of_mine", None)


@pytest.mark.parametrize("name", GENERATORS)
def test_names_classes_and_representations_mean_the_same(name):
    kind = GENERATORS[name]
    for words in (name, f"{name}()", kind.__name__, f" {kind.__name__} ( ) ", repr(kind())):
        made = generator_of(words)
        assert type(made) is kind
        assert repr(made) == repr(kind())


@pytest.mark.parametrize(
    "generator",
    [
        LevelSet(entropic=False, level=0.5),
        SPG(max_length=inf, length_limits=(1e-3, 1e3)),
        ActiveSet(NewtonBundle(switch=0.1), start=50),
        Kelley(chebyshev=True, max_cuts=12),
    ],
)
def test_what_a_generator_prints_makes_it_again(generator):
    assert repr(generator_of(repr(generator))) == repr(generator)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("kelley,level-set", ["kelley", "level-set"]),
        (" kelley , , level-set,", ["kelley", "level-set"]),
        ("a(b=(1, 2), c=[3, 4]),d(e={'f': (5, 6)})", ["a(b=(1, 2), c=[3, 4])", "d(e={'f': (5, 6)})"]),
        ("m:a('(', ','),b", ["m:a('(', ',')", "b"]),
        ('m:a("\'),("),b', ['m:a("\'),(")', "b"]),
        ("", []),
        (" ,, ", []),
    ],
)
def test_commas_between_names_are_told_from_others(text, parts):
    assert split_words(text) == parts


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("kelly", "did you mean kelley"),
        ("Kelly(chebyshev=True)", "did you mean Kelley"),
        ("ActivSet(NewtonBundle())", "did you mean ActiveSet"),
        ("ActiveSet(NewtonBndle())", "there is no generator 'NewtonBndle': did you mean NewtonBundle"),
        ("???", "no name with parameters"),
        ("LevelSet(entropi=False)", "LevelSet() has no argument `entropi`: did you mean `entropic`?"),
        ("LevelSet(zzz=1)", "no argument `zzz`: it has level,"),
        ("LevelSet(0.1, level=0.2)", "multiple values for argument 'level'"),
        ("ActiveSet()", "missing 1 required positional argument"),
        ("LevelSet(level=2)", "`level` must lie strictly between 0 and 1"),
        ("QueryPointGenerator()", "there is no generator 'QueryPointGenerator'"),
        ("choose_generator", "there is no generator 'choose_generator'"),
    ],
)
def test_wrong_names_and_parameters_are_said(words, message):
    with pytest.raises(InvalidArgument) as caught:
        generator_of(words)
    assert message in str(caught.value)


CANARY = "__import__('pathlib').Path('canary').touch()"


@pytest.mark.parametrize(
    "words",
    [
        CANARY,
        f"kelley({CANARY})",
        f"kelley(chebyshev={CANARY})",
        f"kelley(chebyshev=[{CANARY}])",
        f"kelley(chebyshev={{{CANARY}: 1}})",
        f"kelley(chebyshev=[x for x in [{CANARY}]])",
        f"kelley(chebyshev=(lambda: {CANARY})())",
        f"kelley(chebyshev=f'{{{CANARY}}}')",
        f"kelley(chebyshev=True if {CANARY} else False)",
        f"kelley(chebyshev=(x := {CANARY}))",
        f"kelley(*{CANARY})",
        f"kelley(**{CANARY})",
        f"kelley() or {CANARY}",
        f"kelley(), {CANARY}",
        f"kelley()({CANARY})",
        f"kelley(chebyshev=True)[{CANARY}]",
        f"kelley)+({CANARY}",
        "kelley().__class__",
        "kelley().reset()",
        "kelley(chebyshev=Kelley.__init__)",
        "kelley(chebyshev=Kelley)",
        "kelley(chebyshev=__builtins__)",
        "kelley(chebyshev=2**10**10)",
        "kelley(chebyshev='a'*10**9)",
        "kelley(chebyshev=True, chebyshev=True)",
        "kelley(**{'chebyshev': True})",
        "kelley(chebyshev=" + "9" * 5000 + ")",
        "kelley(chebyshev=" + "(" * 900 + ")" * 900 + ")",
        "kelley(chebyshev=" + "-" * 900 + "1)",
        "kelley(chebyshev=True\n)\nimport os",
        "kelley(\0)",
        "ActiveSet(print())",
        "ActiveSet(generator_of('kelley'))",
        "os:system('touch canary')",
        "os:abort()",
        'builtins:exec(\'open("canary", "w")\')',
        "builtins:eval",
        "oracle_opt.study:generator_of('kelley')",
        "subprocess:Popen(['touch', 'canary'])",
        "os.path:join('a')",
        ":kelley",
        "os:",
        "os:sys:exit()",
        "../os:system()",
        "oracle_opt.generators:Kelley.__init__()",
        "",
        "()",
        "1()",
    ],
)
def test_nothing_is_evaluated(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(InvalidArgument):
        generator_of(words)
    assert not list(tmp_path.iterdir())


def test_a_module_of_the_current_folder(own_module):
    made = generator_of(f"{own_module}:MyMethod(3, chebyshev=True)")
    assert (type(made).__name__, made.depth, made.chebyshev) == ("MyMethod", 3, True)
    assert generator_of(f"{own_module}:READY").depth == 7


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (":MyMethd", "did you mean MyMethod?"),
        (":READY()", "must name a class of generators or a generator, got MyMethod(depth=7"),
        (":make", "must name a class of generators or a generator"),
        (":make(1)", "must name a class of generators or a generator"),
        (":CALLED", "must name a class of generators or a generator"),
        (".py:MyMethod", "must name the module without its ending: methods_of_mine:MyMethod"),
        ("_gone:MyMethod", "No module named 'methods_of_mine_gone'; the current folder is"),
    ],
)
def test_refused_of_a_module(own_module, words, message):
    with pytest.raises(InvalidArgument) as caught:
        generator_of(own_module + words)
    assert message in str(caught.value)
    if own_module in sys.modules:
        assert not sys.modules[own_module].CALLED


def test_a_module_that_raises_is_said(own_module):
    with pytest.raises(InvalidArgument, match="cannot be imported: ZeroDivisionError: division by zero"):
        generator_of("methods_with_a_flaw:Anything")


def test_names_of_runs_are_names_of_folders(own_module, tmp_path):
    """Whatever the words hold, a run stands two folders below `runs`, and is read again under its words."""
    (tmp_path / "line.csv").write_text("a,label\n" + "".join(f"{x},{int(x > 4)}\n" for x in range(10)))
    names = ["LevelSet(entropic=False)", f"{own_module}:MyMethod(depth='../../up')", "SPG(length_limits=(1e-3, 1e3))"]
    words = [*("--generators", names[0]), *("--generators", f"{names[1]},{names[2]}")]
    done = CliRunner().invoke(main, ["compare", "line.csv", "--splits", "1", "--C", "1", *words, "--out", "out"])
    assert done.exit_code == 0, done.output
    runs = tmp_path / "out" / "runs"
    assert sorted(str(path.relative_to(runs).parts[1]) for path in runs.rglob("*.parquet")) == sorted(
        map(folder_name, names)
    )
    assert set(Results.read(tmp_path / "out").runs["generator"]) == set(names)
