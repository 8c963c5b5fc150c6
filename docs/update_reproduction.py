"""Put the tables of finished experiments into the page of reproductions.

    python docs/update_reproduction.py FOLDER

FOLDER is that of `oracle-opt reproduce NAME --out FOLDER`. Below the command of each experiment that was run there,
the page's tables are replaced by those of `FOLDER/NAME/table.md`; words stay as they are, to be read again.
"""

import re
import sys
from pathlib import Path

PAGE = Path(__file__).with_name("reproduction.md")
TABLES = r"^\|.*\n(?:\|.*\n|\n(?=\|))*"


def with_tables(page: str, name: str, report: str) -> str:
    """Return the page with the tables of one experiment exchanged for those of its report."""
    new = re.search(TABLES, report, re.M)
    place = re.compile(rf"(^### {re.escape(name)}\n(?:(?!^### |^\|).*\n)*)({TABLES})", re.M)
    if new is None or not place.search(page):
        raise SystemExit(f"{name}: no table in its report, or none below its heading in {PAGE.name}")
    return place.sub(lambda match: match[1] + new[0], page)


def main() -> None:
    """Rewrite the page."""
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    text = PAGE.read_text()
    for report in sorted(Path(sys.argv[1]).glob("*/table.md")):
        text = with_tables(text, report.parent.name, report.read_text())
        print(f"updated {report.parent.name}")
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
