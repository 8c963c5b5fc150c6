"""What a release is made of agrees with itself: requirements, extras, versions, the conda recipe, the citation."""

import ast
import re
import runpy
import shlex
import tomllib

import pytest
from checkout import ROOT, needs_sources

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
VERSION = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]
IMPORTED_AS = {"scikit-learn": "sklearn"}


def closure(extra):
    """Requirements of an extra, those of the extras within included."""
    found = set()
    for word in EXTRAS[extra]:
        inner = re.fullmatch(r"oracle-opt\[([\w,]+)\]", word)
        found |= {word} if inner is None else set().union(*map(closure, inner[1].split(",")))
    return found


def package(word):
    return re.match(r"[\w.-]+", word)[0]


def loaded(path):
    return pytest.importorskip("yaml").safe_load((ROOT / path).read_text())


def test_six_packages_are_required():
    assert {package(word) for word in PROJECT["project"]["dependencies"]} == {
        *("numpy", "scipy", "highspy", "osqp", "cvxpy", "python-flint"),
    }


def test_all_is_every_extra_of_a_user():
    of_users = set(EXTRAS) - {"all", "dev", "jax", "peers", "site", "test", "torch"}  # torch takes gigabytes
    assert closure("all") == set().union(*map(closure, of_users))
    assert closure("dev") >= set().union(*map(closure, set(EXTRAS) - {"torch"}))


def required_calls():
    """File, module and extra of each call of `require` in the sources."""
    for path in sorted(ROOT.glob("or*/**/*.py")):
        tree = ast.parse(path.read_text())
        constants = {
            target.id: [part.value for part in node.value.elts]
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)
            for target in node.targets
            if isinstance(target, ast.Name) and all(isinstance(part, ast.Constant) for part in node.value.elts)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "require":
                module, second = node.args[0].value, node.args[1]
                extra = constants[second.value.id][0] if isinstance(second, ast.Starred) else second.value
                yield path.relative_to(ROOT).as_posix(), module, extra


@needs_sources
def test_what_is_required_is_in_the_extra_that_is_named():
    calls = list(required_calls())
    assert len(calls) > 30
    for path, module, extra in calls:
        names = {IMPORTED_AS.get(package(word), package(word)) for word in closure(extra)}
        assert module.split(".")[0] in names, f"{path}: {module} is not in the extra {extra}"


@needs_sources
def test_no_loop_is_compiled_for_one_machine_only():
    """Unless the Makefile asks for that, for an install that stays on its machine."""
    assert re.search(r"option\(\s*'builds',.*value: 'all'", (ROOT / "meson.options").read_text(), re.S)
    assert "-Dbuilds" not in (ROOT / "pyproject.toml").read_text()
    for path in ROOT.glob("*/meson.build"):
        released = re.sub(r"if get_option\('builds'\) == 'here'.*?\nelif", "if", path.read_text(), flags=re.S)
        assert not re.search(r"-march|-mtune|-mcpu|native", released), path


def test_the_oldest_versions_are_those_of_the_project_file():
    tool = runpy.run_path(str(ROOT / "tools" / "oldest.py"))
    assert (ROOT / "tools" / "oldest.txt").read_text() == tool["constraints"](), "run: python tools/oldest.py"


def test_tests_of_wheels_exist():
    wheels = PROJECT["tool"]["cibuildwheel"]
    command, *arguments = shlex.split(wheels["test-command"])
    files = [word for word in arguments if not word.startswith("-")]
    assert command == "pytest"
    assert len(files) == len(set(files)) > 10
    assert all((ROOT / file).is_file() for file in files)
    assert set(wheels["test-requires"]) <= set(EXTRAS["test"])
    assert set(wheels["test-extras"]) <= set(EXTRAS)


def test_pythons_of_wheels_are_those_that_are_stated():
    builds = {f"3.{word[3:-2]}" for word in PROJECT["tool"]["cibuildwheel"]["build"]}
    classifiers = PROJECT["project"]["classifiers"]
    stated = {word.split(" :: ")[-1] for word in classifiers if re.search(r"Python :: 3\.\d+$", word)}
    assert builds == stated
    assert f">={min(stated, key=lambda word: int(word[2:]))}" == PROJECT["project"]["requires-python"]


def conda(words):
    """Words of pyproject.toml as conda has them."""
    return {package(word).lower() + " " + word[len(package(word)) :] for word in words}


def test_conda_recipe_agrees():
    recipe = loaded("recipe/recipe.yaml")
    needs = recipe["requirements"]
    python = f"python {PROJECT['project']['requires-python']}"
    users = {word.replace("dask[distributed]", "dask") for word in closure("all")}
    assert str(recipe["context"]["version"]) == VERSION
    assert set(needs["run"]) == conda(PROJECT["project"]["dependencies"]) | {python}
    assert set(needs["run_constraints"]) == conda(users)
    assert set(needs["host"]) == conda(PROJECT["build-system"]["requires"]) | {"python", "pip"}
    scripts = [f"{name} = {place}" for name, place in PROJECT["project"]["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == scripts


def test_citation_agrees():
    citation = loaded("CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert str(citation["version"]) == VERSION
    assert citation["license"] == PROJECT["project"]["license"]
    assert [author["name"] for author in citation["authors"]] == [a["name"] for a in PROJECT["project"]["authors"]]


@needs_sources
def test_what_is_of_a_clone_alone_is_not_installed():
    """Whole folders are installed: neither the experiments of the papers nor certificates lie in one of them."""
    installed = [path for folder in ("oracle_opt", "oracles", "generators") for path in (ROOT / folder).rglob("*")]
    assert not [path for path in installed if "papers" in path.parts[len(ROOT.parts) :] or path.suffix == ".gz"]
    data = sum(p.stat().st_size for p in installed if p.suffix not in (".py", ".pyi", ".pyx", ".pxd", ".pyc", ".so"))
    assert data < 1_500_000


@needs_sources
def test_outcomes_of_commands_are_kept_and_a_failure_is_the_exit_code(monkeypatch, tmp_path, capsys):
    """Commands that are not run: their last words are given."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    tool = runpy.run_path(str(ROOT / "tools" / "release.py"))
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- begin release -->\n<!-- end release -->\nb\n")
    ends = {
        "make wheel": (2, "tried with 3.12.1, 2.0.0, 1.14.0\n=== 1 failed, 97 passed in 61.20s (0:01:01) ===\n"),
        "make site": (0, "open build/site/index.html\n"),
        "make test": (0, "3 passed in 1.00s\n16746 passed, 1 xfailed in 330.51s (0:05:30)\n"),
    }
    ran = []
    monkeypatch.setitem(tool["main"].__globals__, "PAGE", page)
    answer = {"followed": lambda command: ran.append(" ".join(command)) or ends[ran[-1]]}
    monkeypatch.setitem(tool["main"].__globals__, "followed", answer["followed"])
    for words, code in (("site wheel", 1), ("test", 0)):
        monkeypatch.setattr("sys.argv", ["release.py", "--only", *words.split()])
        assert tool["main"]() == code
    assert ran == ["make wheel", "make site", "make test"]
    cells = [line.split(" | ") for line in page.read_text().splitlines() if line.startswith("| `")]
    assert [(line[0], line[1]) for line in cells] == [
        ("| `make test`", "16746 passed, 1 xfailed"),
        ("| `make wheel`", "**exit code 2**; 1 failed, 97 passed"),
        ("| `make site`", "exit code 0"),
    ]
    assert cells[1][-1] == "3.12.1, 2.0.0, 1.14.0 |"
    assert page.read_text().startswith("a\n")
    assert page.read_text().endswith("\nb\n")
    assert capsys.readouterr().out.count("| `make site` |") == 1
