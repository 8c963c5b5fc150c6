"""What each extra of oracle-opt takes on disk: fresh environments, and the size of what pip put into each.

    python tools/measure_extras.py dist/oracle_opt-*.whl

takes some minutes, and prints the table of docs/install.md. It wants a wheel of this Python and a package index.
"""

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def megabytes(folder: Path) -> float:
    """Return what the files of a folder take, in millions of bytes."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files) / 1e6


def installed(wheel: Path, extra: str) -> tuple[float, int]:
    """Install a wheel with an extra into a fresh environment; return megabytes and the number of packages."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
        words = f"oracle-opt[{extra}] @ {wheel.resolve().as_uri()}" if extra else str(wheel)
        python = Path(place) / "bin" / "python"
        command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", words]
        subprocess.run(command, check=True)
        (site,) = Path(place).glob("lib/python*/site-packages")
        return megabytes(site), len(list(site.glob("*.dist-info")))


def main() -> None:
    """Print the table."""
    wheel = Path(sys.argv[1])
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    bare, packages = installed(wheel, "")
    print("| installed | MB | more than without | packages |\n|---|---|---|---|")
    print(f"| `oracle-opt` | {bare:.0f} | | {packages} |", flush=True)
    for extra in extras:
        size, packages = installed(wheel, extra)
        print(f"| `oracle-opt[{extra}]` | {size:.0f} | {size - bare:.0f} | {packages} |", flush=True)


if __name__ == "__main__":
    main()
