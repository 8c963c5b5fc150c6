"""Print what lies in a folder, at any depth, under one of some names: list_files.py FOLDER PATTERN...

meson.build asks for what an install leaves out, as Meson wants exact names.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    folder, *patterns = sys.argv[1:]
    for path in sorted({path for pattern in patterns for path in Path(folder).rglob(pattern)}):
        print(path.relative_to(folder).as_posix())
