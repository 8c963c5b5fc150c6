"""Print the tests that the changes since the last commit on main can reach, by the imports of the sources.

All of them where compiled code, conftest.py, pyproject.toml or the lock file changed. Tests that read files of the
clone, which name its ROOT, are always among them. A name that a package passes on counts as imported from the file that
defines it. A Python file of which comments alone changed reaches none. Two tables hold every generator by name: a test
that reaches a changed one through these alone is run if it names it; of those made of the tests' table, its cases are.
"""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ALL = (".pyx", ".pxd", ".h", "meson.build", "conftest.py", "pyproject.toml", "requirements.lock")
TABLES = {ROOT / "tests" / "table.py", ROOT / "oracle_opt" / "study" / "methods.py"}
PLACES = {"oracle_opt.oracles": "oracles", "oracle_opt.generators": "generators"}


def changed():
    """Files that differ from the last commit of main that this branch has, and those that git does not know."""
    differing = git("diff", "--name-only", "--merge-base", "main").splitlines()
    new = git("ls-files", "--others", "--exclude-standard").splitlines()
    base = git("merge-base", "main", "HEAD").strip()
    return {ROOT / name for name in [name for name in differing if not same_program(base, name)] + new}


def git(*words):
    """What a command of git prints."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def same_program(base, name):
    """Whether a file of Python differs from that of a commit in comments alone."""
    path = ROOT / name
    if path.suffix != ".py" or not path.exists() or not git("ls-tree", base, name):
        return False
    return ast.dump(ast.parse(git("show", f"{base}:{name}"))) == ast.dump(ast.parse(path.read_text(encoding="utf-8")))


@cache
def file_of(name):
    """The file of a module or package, as tests find it; None of one that is not ours."""
    for package, folder in PLACES.items():
        if name == package or name.startswith(f"{package}."):
            name = folder + name.removeprefix(package)
    stem = name.replace(".", "/")
    found = (ROOT / place / end for place in (".", "tests") for end in (f"{stem}.py", f"{stem}/__init__.py"))
    return next((path for path in found if path.is_file()), None)


@cache
def imports(path):
    """Pairs of a module and a name of it that a file imports, anywhere; no name where it takes the whole module."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    pairs = [(alias.name, "") for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return pairs + [(node.module, a.name) for node in nodes if isinstance(node, ast.ImportFrom) for a in node.names]


def passes_on(package, name):
    """Whether a package that is imported with all its names has this one."""
    return any(one == name for _, one in imports(file_of(package)))


def sources(module, name, passed):
    """The files that a name is from, as far as packages pass it on; `passed` gets these packages."""
    path = file_of(f"{module}.{name}" if name else module) or file_of(module)
    if path is None:
        return []
    if path.name == "__init__.py" and name and path == file_of(module):
        further = [(of, name) for of, one in imports(path) if one == name or (one == "*" and passes_on(of, name))]
        further = [one for one in further if one != (module, name)]
        if further:
            passed.add(path)
            return [file for one in further for file in sources(*one, passed)]
    return [path]


def reached(test, closed=frozenset()):
    """All files that a test imports, and those that they import; what `closed` files import is not followed."""
    seen, passed, waiting = set(), set(), [test]
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen.add(path)
            if path not in closed:
                waiting += [file for one in imports(path) for file in sources(*one, passed)]
    return seen | passed


def names_of(paths):
    """The names under which tables hold the classes of generators: of classes, commands, the tests' entries."""
    text = " ".join(path.read_text(encoding="utf-8") for path in paths if path.parent == ROOT / "generators")
    kinds = re.findall(r"^class ([A-Z]\w*)", text, re.M)
    words = [re.sub("(?<=[a-z])(?=[A-Z])", "-", kind).lower() for kind in kinds]
    table = (ROOT / "tests" / "table.py").read_text(encoding="utf-8")
    entries = [re.findall(rf'Entry\(\s*"([^"]+)",\s*(?:partial\()?{kind}\b', table) for kind in kinds]
    return {*kinds, *words, *(name for some in entries for name in some)}


def cases(tests, names):
    """The ids of the cases of some test files that have one of these names."""
    if not (tests and names):
        return []
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *tests]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in lines if "[" in line and any(name in line.split("[", 1)[1] for name in names)]


def main():
    """Print the files, then single cases, one a line."""
    new = changed()
    everything, names, by_case = any(str(path).endswith(ALL) for path in new), names_of(new), []
    for test in sorted((ROOT / "tests").glob("test_*.py")):
        text, place = test.read_text(encoding="utf-8"), str(test.relative_to(ROOT))
        named = re.search("|".join(rf"\b{re.escape(name)}\b" for name in names), text) if names else None
        if everything or "ROOT" in text or new & reached(test, TABLES) or (named and new & reached(test)):
            print(place)
        elif new & reached(test, TABLES - {ROOT / "tests" / "table.py"}):
            by_case.append(place)
    print(*cases(by_case, names), sep="\n", end="")


if __name__ == "__main__":
    main()
