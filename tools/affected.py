"""Print the test files that the changes since the last commit on main can reach, by the imports of the sources.

All of them where compiled code, conftest.py, pyproject.toml or the lock file changed. Tests that read files of the
clone, which name its ROOT, are always among them. A name that a package passes on counts as imported from the file that
defines it.
"""

import ast
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ALL = (".pyx", ".pxd", ".h", "meson.build", "conftest.py", "pyproject.toml", "requirements.lock")
PLACES = {"oracle_opt.oracles": "oracles", "oracle_opt.generators": "generators"}


def changed():
    """Files that differ from the last commit of main that this branch has, and those that git does not know."""
    commands = (["diff", "--name-only", "--merge-base", "main"], ["ls-files", "--others", "--exclude-standard"])
    done = [subprocess.run(["git", *one], cwd=ROOT, capture_output=True, text=True, check=True) for one in commands]
    return {ROOT / line for one in done for line in one.stdout.splitlines()}


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


def sources(module, name, passed):
    """The files that a name is from, as far as packages pass it on; `passed` gets these packages."""
    path = file_of(f"{module}.{name}" if name else module) or file_of(module)
    if path is None:
        return []
    if path.name == "__init__.py" and name and path == file_of(module):
        further = [one for one in imports(path) if one[1] == name and one != (module, name)]
        if further:
            passed.add(path)
            return [file for one in further for file in sources(*one, passed)]
    return [path]


def reached(test):
    """All files that a test imports, and those that they import."""
    seen, passed, waiting = set(), set(), [test]
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen.add(path)
            waiting += [file for one in imports(path) for file in sources(*one, passed)]
    return seen | passed


def main():
    """Print the files, one a line."""
    new = changed()
    everything = any(str(path).endswith(ALL) for path in new)
    for test in sorted((ROOT / "tests").glob("test_*.py")):
        if everything or "ROOT" in test.read_text(encoding="utf-8") or new & reached(test):
            print(test.relative_to(ROOT))


if __name__ == "__main__":
    main()
