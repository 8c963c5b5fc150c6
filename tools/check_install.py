"""Check what a plain install holds: build the wheel, compare its files with the sources, type-check a program with it.

    python tools/check_install.py

takes a minute. It needs the environment of `make test`, and prints what is missing or too much; 0 is returned if
nothing is.
"""

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Folders of the sources, and where they are installed.
FOLDERS = {"oracle_opt": "oracle_opt", "oracles": "oracle_opt/oracles", "generators": "oracle_opt/generators"}
NOT_SHIPPED = re.compile(r"(^|/)papers/|\.jsonl\.gz$")  # what belongs to a clone alone
BUILT_FROM = {".pyx", ".pxd", ".build"}  # of what is compiled: not installed
PROGRAM = """
from oracle_opt import Result, minimize
from oracle_opt.generators import LevelSet
from oracle_opt.oracles import GramBank, MKLOracle

oracle = MKLOracle(GramBank([[[1.0, 0.0], [0.0, 1.0]]]), [1, -1], C=1.0)
result: Result = minimize(oracle, LevelSet())
calls: int = result.n_calls
wrong: str = result.n_calls
"""


def expected() -> set[str]:
    """Files that are in the sources and belong into the wheel."""
    listed = subprocess.check_output(["git", "ls-files", *FOLDERS], cwd=ROOT, text=True).split()
    files = set()
    for path in map(Path, listed):
        if path.suffix not in BUILT_FROM:
            files.add(f"{FOLDERS[path.parts[0]]}/{path.relative_to(path.parts[0])}")
    return files


def main() -> int:
    """Build, compare, type-check."""
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", folder]
        subprocess.run([*command, str(ROOT)], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            names = {name for name in archive.namelist() if not name.split("/")[0].endswith(".dist-info")}
            archive.extractall(Path(folder) / "site")
        compiled = {name for name in names if Path(name).suffix in (".so", ".pyd")}
        faults += [f"missing: {name}" for name in sorted(expected() - names)]
        faults += [f"too much: {name}" for name in sorted(names - compiled - expected())]
        faults += [f"of a clone alone: {name}" for name in sorted(names) if NOT_SHIPPED.search(name)]
        stubs = {name for name in names if name.endswith(".pyi")}
        built = {name.split(".")[0] for name in compiled}
        faults += [f"not compiled: {name}" for name in sorted(stubs) if name.removesuffix(".pyi") not in built]
        program = Path(folder) / "program.py"
        program.write_text(PROGRAM)
        checked = subprocess.run(
            [
                sys.executable,
                "-m",
                "mypy",
                "--strict",
                "--config-file=",
                "--cache-dir",
                f"{folder}/cache",
                str(program),
            ],
            env={"MYPYPATH": f"{folder}/site"},
            cwd=folder,
            capture_output=True,
            text=True,
        )
        errors = [line for line in checked.stdout.splitlines() if line.startswith("program.py") and ": error:" in line]
        wanted = len(PROGRAM.splitlines())
        if len(errors) != 1 or not errors[0].startswith(f"program.py:{wanted}:"):
            faults.append(f"the types of a program:\n{checked.stdout}{checked.stderr}")
    print(f"{wheel.name}: {len(names)} files, {len(compiled)} compiled, {len(stubs)} with declarations")
    print(*faults, sep="\n")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
