"""Make small wrong changes of the library, one at a time in a copy, and see whether a test fails on each.

    python tools/mutants.py --reach [TESTS]                    once: which tests reach which lines (minutes); or of
                                                               some tests that are new, beside those that are known
    python tools/mutants.py --count 150 --seed 1               a random sample; what survived is printed as a diff
    python tools/mutants.py --only bounds.py consistency.py    all changes of some files, or --count of them
    python tools/mutants.py --again                            those that survived last, after tests were added

A mutant first meets those of the tests that reach its line which are the nearest - they reach the fewest lines - and
take a few seconds together; if it survives, all of them up to `--limit` seconds. Recording needs `coverage`. The copy
lies in `--folder`, with the tests reached (reach.json) and the outcomes (outcomes.jsonl): killed, survived, timeout
(which counts as killed: a run that never ends is noticed) or unreached. A person tells which survivors are equivalent.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import fnmatch
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import asdict
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from _mutations import Mutant, mutants_of

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("oracle_opt", "oracles", "generators")
BESIDE = ("tests", "docs", "benchmarks", "tools", "papers", "recipe")  # what tests import or read besides
LEFT_OUT = {  # patterns of files that are not changed, and why
    "*/__init__.py": "names that are offered, and no rules",
    "oracle_opt/study/plots.py": "looks, which a person judges",
    "oracle_opt/study/plot_style.py": "looks",
    "oracle_opt/study/methods.py": "a table of names",
    "oracle_opt/doctor/__main__.py": "one call, made in a process of its own",
}
NEAREST = 6.0  # seconds of tests, as measured without tracing, that a mutant meets first
# Without it a mutated file might be taken from the cache of compiled files: same size, same second
CUSTOMIZE = """import sys
sys.dont_write_bytecode = True
sys.meta_path[:] = [one for one in sys.meta_path if "mesonpy" not in type(one).__name__.lower()]
"""


def make_copy(folder: Path) -> Path:
    """Copy the sources, with the modules built for the editable install, as the one namespace they are."""
    # an editable install compiles what has changed when it is imported
    subprocess.run([sys.executable, "-P", "-c", "import oracle_opt.oracles"], check=True)
    tree = folder / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    clean = shutil.ignore_patterns("__pycache__", "*.pyx", "*.pxd")
    for part in BESIDE:
        shutil.copytree(ROOT / part, tree / part, ignore=clean)
    shutil.copytree(ROOT / "oracle_opt", tree / "oracle_opt", ignore=clean)
    for part in ("oracles", "generators"):
        shutil.copytree(ROOT / part, tree / "oracle_opt" / part, ignore=shutil.ignore_patterns("__pycache__"))
        (tree / part).symlink_to(tree / "oracle_opt" / part)
    parts = ("oracle_opt", "oracles", "generators")
    sources = {path.stem: path.relative_to(ROOT).parent for part in parts for path in (ROOT / part).rglob("*.pyx")}
    # where the editable install of this environment compiles: by the Makefile, or by hand
    compiled = next(path for path in (Path(sys.prefix) / "build-all", *(ROOT / "build").glob("cp*")) if path.is_dir())
    for built in (one for part in parts for one in compiled.glob(f"{part}/**/*.so")):
        folder = built.parent.relative_to(compiled)
        plain = built.parent.name in parts
        shutil.copy(built, tree / (sources[built.name.split(".")[0]] if plain else folder) / built.name)
    for built in compiled.glob("*.so"):  # what the compiled modules share
        shutil.copy(built, tree / "oracle_opt" / built.name)
    for path in ROOT.iterdir():
        if path.is_file() and path.name != ".git":
            shutil.copy(path, tree / path.name)
    (tree / "sitecustomize.py").write_text(CUSTOMIZE)
    return tree


def enter(tree: Path) -> None:
    """Make this process, and those it starts, import the copy; load what the tests share, once for all mutants."""
    sys.dont_write_bytecode = True
    os.environ["PYTHONPATH"], os.environ["OPENBLAS_NUM_THREADS"] = str(tree), "1"
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.meta_path[:] = [one for one in sys.meta_path if "mesonpy" not in type(one).__name__.lower()]
    sys.path.insert(0, str(tree))
    os.chdir(tree)
    import cvxpy  # noqa: F401
    import highspy  # noqa: F401
    import matplotlib  # noqa: F401
    import pandas  # noqa: F401
    import pytest  # noqa: F401
    import scipy.optimize  # noqa: F401
    import sklearn.model_selection
    import sklearn.svm  # noqa: F401


def run_tests(arguments: list[str], seconds: float, out: Path, plugin: object = None) -> str:
    """Run pytest in a fork of this process: "passed", "failed" or "timeout"."""
    child = os.fork()
    if child == 0:
        code = 3
        try:
            os.setsid()
            with out.open("w") as file:
                os.dup2(file.fileno(), 1)
                os.dup2(file.fileno(), 2)
            import pytest

            options = ["-q", "-p", "no:cacheprovider", "--tb=line", *arguments]
            code = int(pytest.main(options, plugins=[plugin] if plugin else []))
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "passed" if status == 0 else "failed"
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout"


class Tracer:
    """Pytest plugin: which lines of the sources each test runs, and its seconds."""

    def __init__(self, tree: Path, out: Path) -> None:
        from coverage import Coverage  # not needed but here

        self.sources, self.out = tree / "oracle_opt", out
        self.coverage = Coverage(data_file=None, include=[f"{self.sources}/*"], config_file=False, messages=False)
        self.coverage.set_option("run:disable_warnings", ["no-data-collected"])
        self.seconds: dict[str, float] = {}
        self.useless: set[str] = set()

    def pytest_sessionstart(self) -> None:
        """Begin before the library is imported."""
        self.coverage.start()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Begin a test, its fixtures included."""
        self.coverage.switch_context(nodeid)
        self.began = time.perf_counter()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """End it."""
        self.seconds[nodeid] = time.perf_counter() - self.began
        self.coverage.switch_context("")

    def pytest_runtest_logreport(self, report) -> None:
        """Note a test that fails as it is, in the copy, or is skipped: it can tell nothing."""
        if not report.passed:
            self.useless.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Keep what was found, if anything: the tests, by number, of each line of each file."""
        self.coverage.stop()
        data = self.coverage.get_data()
        known = {test: seconds for test, seconds in self.seconds.items() if test not in self.useless}
        if not known:
            return
        numbers = {test: k for k, test in enumerate(known)}
        lines = {
            Path(file).relative_to(self.sources).as_posix(): {
                line: sorted(numbers[test] for test in tests if test in numbers)
                for line, tests in data.contexts_by_lineno(file).items()
            }
            for file in data.measured_files()
        }
        sources = {file: (self.sources / file).read_text(encoding="utf-8").splitlines() for file in lines}
        before = json.loads(self.out.read_text()) if self.out.exists() else []
        recording = {"tests": list(known.items()), "lines": lines, "sources": sources}
        self.out.write_text(json.dumps([*before, recording]))


def record(tests: list[str], tree: Path, path: Path) -> None:
    """Run all tests, or some beside those that are known, and keep what they reach; a file that cannot be is left."""
    if not tests:
        path.unlink(missing_ok=True)
    before, out = path.read_bytes() if path.exists() else b"", path.with_name("output.txt")
    outcome = run_tests(["--continue-on-collection-errors", *tests], 7200, out, Tracer(tree, path))
    if not path.exists() or path.read_bytes() == before:
        raise SystemExit(f"no test ran and passed, so that nothing was recorded: see {out}")
    print(outcome)


def targets(only: list[str]) -> list[str]:
    """Paths of the files that are changed: all of the library less those that are left out, or those that are named.

    A name or a pattern that fits no file is a mistake, as of a file that has moved: it ends the program.
    """
    paths = sorted(path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    unused = [pattern for pattern in LEFT_OUT if not fnmatch.filter(paths, pattern)]
    unused += [name for name in only if not any(path.endswith(name) for path in paths)]
    if unused:
        raise SystemExit(f"no file of {', '.join(FOLDERS)} fits {', '.join(unused)}")
    kept = [path for path in paths if not any(fnmatch.fnmatch(path, pattern) for pattern in LEFT_OUT)]
    return [path for path in paths if any(path.endswith(name) for name in only)] if only else kept


def wing(path: str) -> str:
    """The folder that a file belongs to, of `oracle_opt` the one inside it; "core" where there is none."""
    folder, *inside = path.split("/")
    return folder if folder != "oracle_opt" else inside[0] if len(inside) > 1 else "core"


def parses(mutant: Mutant) -> bool:
    """Whether the change is one of Python."""
    try:
        ast.parse(mutant.applied(read(mutant.path)))
    except SyntaxError:
        return False
    return True


def read(path: str) -> str:
    """Text of a file of the repository, as it was copied: this process works in the copy."""
    return Path("oracle_opt", place_of(path)).read_text(encoding="utf-8")


def place_of(path: str) -> str:
    """Where a file of the repository lies in the namespace."""
    return path.removeprefix("oracle_opt/")


class Reach:
    """The tests that reach a place, the nearest first: of all recordings, each with the sources as they were then."""

    def __init__(self, path: Path) -> None:
        self.recordings = json.loads(path.read_text())
        self.seconds: dict[str, float] = {}
        self.breadth: Counter[str] = Counter()
        self.tried: set[str] = set()
        self.useless: set[str] = set()
        for one in self.recordings:
            self.seconds |= dict(one["tests"])
            for lines in one["lines"].values():
                for numbers in lines.values():
                    self.breadth.update(one["tests"][number][0] for number in numbers)

    def tests(self, mutant: Mutant) -> list[str]:
        """All, in order: those that ran its line or, where it is the second of a statement, one of the lines above it.

        What runs on import, or was seen in no test of this process, may be reached by all that run something of the
        file.
        """
        file, found = place_of(mutant.path), set()
        for one in self.recordings:
            lines = {int(line): numbers for line, numbers in one["lines"].get(file, {}).items()}
            source = one["sources"].get(file, [])
            numbers, line = [], self._then(mutant, source)
            while mutant.function and not numbers and 0 < line <= len(source):
                numbers = lines.get(line, [])
                if source[line - 1].lstrip().startswith(("def ", "class ")):
                    break
                line -= 1
            if not numbers:
                numbers = sorted({number for some in lines.values() for number in some})
            found |= {one["tests"][number][0] for number in numbers} - self.useless
        return sorted(found, key=lambda test: (self.breadth[test] * (0.05 + self.seconds[test]), test))

    def forget_missing(self, folder: Path) -> None:
        """Leave out tests that are no longer there: pytest would run none at all."""
        run_tests(["--collect-only"], 300.0, folder / "collected.txt")
        there = set((folder / "collected.txt").read_text(encoding="utf-8").splitlines())
        self.useless = set(self.seconds) - there
        if not there & set(self.seconds):
            raise SystemExit(f"no known test could be collected: see {folder / 'collected.txt'}")

    def sound(self, test: str, folder: Path) -> bool:
        """Whether a test passes without a change, which is tried once; one that does not is forgotten."""
        if test and test not in self.tried:
            (folder / "tests.txt").write_text(test)
            self.tried.add(test)
            if run_tests([f"@{folder / 'tests.txt'}"], 120.0, folder / "sound.txt") != "passed":
                self.useless.add(test)
        return test not in self.useless

    def _then(self, mutant: Mutant, recorded: list[str]) -> int:
        """Number of the mutant's line at the time of a recording."""
        now = read(mutant.path).splitlines()
        for _, begin, end, first, last in difflib.SequenceMatcher(None, now, recorded, False).get_opcodes():
            if begin < mutant.line <= end:
                return min(mutant.line + first - begin, max(last, first + 1))
        return mutant.line


def judge(mutant: Mutant, tree: Path, reach: Reach, limit: float, folder: Path) -> tuple[str, str]:
    """Outcome of one mutant, and the test that failed."""
    tests = reach.tests(mutant)
    if not tests:
        return "unreached", ""
    nearest, spent = [], 0.0
    for test in tests:
        if nearest and spent + reach.seconds[test] > NEAREST:
            break
        nearest.append(test)
        spent += reach.seconds[test]
    path, out, arguments = tree / "oracle_opt" / place_of(mutant.path), folder / "output.txt", folder / "tests.txt"
    text, outcome = read(mutant.path), ""
    path.write_text(mutant.applied(text), encoding="utf-8")
    try:
        known = set(nearest)
        rounds = [(nearest, 4 * NEAREST + 15), ([test for test in tests if test not in known], limit)]
        for chosen, seconds in rounds:
            if chosen:
                arguments.write_text("\n".join(chosen))
                outcome = run_tests(["-x", f"@{arguments}"], seconds, out)
                if outcome == "failed":
                    lines = [line.split(" - ")[0] for line in out.read_text().splitlines()]
                    failed = next((test for test in chosen if f"FAILED {test}".split(" - ")[0] in lines), "")
                    path.write_text(text, encoding="utf-8")
                    if reach.sound(failed, folder):
                        return "killed", failed or "no test could be collected"
                    return judge(mutant, tree, reach, limit, folder)
                if outcome == "timeout" and chosen is nearest:
                    return "timeout", ""
    finally:
        path.write_text(text, encoding="utf-8")
    return "survived", f"{len(tests)} tests reach it{', not all were run' if outcome == 'timeout' else ''}"


def diff(mutant: Mutant) -> str:
    """The change as a diff without context."""
    text = read(mutant.path)
    lines = difflib.unified_diff(text.splitlines(), mutant.applied(text).splitlines(), lineterm="", n=0)
    return "\n".join([f"{mutant.path}:{mutant.line} {mutant.function} ({mutant.kind})", *list(lines)[3:]])


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "oracle_opt_mutants")
    parser.add_argument("--reach", nargs="*", metavar="TESTS")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=[], metavar="FILE")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of the second round, default 60")
    options = parser.parse_args()
    folder = options.folder.resolve()
    outcomes = folder / "outcomes.jsonl"
    before = [json.loads(line) for line in outcomes.read_text().splitlines()] if outcomes.exists() else []
    tree = make_copy(folder)
    enter(tree)
    recorded = folder / "reach.json"
    if options.reach is not None:
        record(options.reach, tree, recorded)
        return 0
    if not recorded.exists():
        raise SystemExit(f"{recorded} is not there: record first which tests reach which lines, by --reach")
    everything = [m for path in targets(options.only) for m in mutants_of(path, read(path))]
    if options.again:
        open_ones = {tuple(one["key"]) for one in before if one["outcome"] in ("survived", "unreached")}
        chosen = [mutant for mutant in everything if mutant.key in open_ones]
    else:
        random.Random(options.seed).shuffle(everything)
        chosen = list(islice(filter(parses, everything), options.count))
    print(f"{len(chosen)} of {len(everything)} mutants of {len(targets(options.only))} files", flush=True)
    reach, tally, areas = Reach(recorded), Counter(), Counter()
    reach.forget_missing(folder)
    print(f"{len(reach.useless)} of {len(reach.seconds)} recorded tests are gone", flush=True)
    with outcomes.open("w" if not options.again else "a") as file:
        for k, mutant in enumerate(chosen, 1):
            began = time.monotonic()
            outcome, words = judge(mutant, tree, reach, options.limit, folder)
            tally[outcome] += 1
            areas[wing(mutant.path), outcome] += 1
            seconds = round(time.monotonic() - began, 1)
            kept = asdict(mutant) | {"key": mutant.key, "outcome": outcome, "words": words, "seconds": seconds}
            file.write(json.dumps(kept) + "\n")
            file.flush()
            if outcome in ("survived", "unreached"):
                print(f"[{k}] {outcome}, {words}\n{diff(mutant)}\n", flush=True)
    print(dict(tally), {f"{area} {outcome}": n for (area, outcome), n in sorted(areas.items())})
    return 0


if __name__ == "__main__":
    sys.exit(main())
