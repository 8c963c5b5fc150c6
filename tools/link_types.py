"""Restore the namespace for type checkers: a tree of symbolic links, made anew in build/types.

The folders oracles and generators are installed as oracle_opt.oracles and oracle_opt.generators. A type checker reads
sources, not what is installed, and finds them under these names in the tree. Folders are linked whole: the tree has to
be made again only after a file or folder was added to, or taken from, oracle_opt itself.

    python tools/link_types.py && mypy
"""

import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def link(folder: Path) -> Path:
    """Make the tree in a folder, which is emptied first; return the package in it."""
    shutil.rmtree(folder, ignore_errors=True)
    package = folder / "oracle_opt"
    package.mkdir(parents=True)
    for source in [*(ROOT / "oracle_opt").iterdir(), ROOT / "oracles", ROOT / "generators"]:
        if source.name != "__pycache__":
            (package / source.name).symlink_to(source, target_is_directory=source.is_dir())
    (folder / "papers").symlink_to(ROOT / "papers", target_is_directory=True)
    return package


if __name__ == "__main__":
    link(ROOT / "build" / "types")
