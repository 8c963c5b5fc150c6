"""The oldest versions that pyproject.toml admits, as constraints of pip: `python tools/oldest.py` writes a file.

`make oldest` builds with them, installs them, and runs the tests of a wheel.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "tools" / "oldest.txt"
LEFT_OUT = {"dev", "peers", "site", "test"}  # extras that no user of the library needs; what tests of wheels take is in
TESTING = ("pytest", "pytest-timeout", "hypothesis")
REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[\w,]+\])?>=([\d.]+)")


def constraints() -> str:
    """Return a line `name==version` for each requirement, sorted by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    words = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    words += [word for extra, content in extras.items() if extra not in LEFT_OUT for word in content]
    words += [word for word in extras["test"] if word.split(">=")[0] in TESTING]
    bounds: dict[str, set[str]] = {}
    for word in words:
        if not word.startswith("oracle-opt["):
            found = REQUIREMENT.fullmatch(word)
            if found is None:
                raise SystemExit(f"{word!r} in pyproject.toml states no lower bound")
            bounds.setdefault(found[1].lower(), set()).add(found[2])
    different = {name: versions for name, versions in bounds.items() if len(versions) > 1}
    if different:
        raise SystemExit(f"pyproject.toml has several lower bounds: {different}")
    return "".join(f"{name}=={version}\n" for name, (version,) in sorted(bounds.items()))


if __name__ == "__main__":
    FILE.write_text(constraints())
