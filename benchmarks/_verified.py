"""Figures come from runs whose certificate was verified; the tables of a page are renewed one at a time."""

import csv
import io

from _shared import ROOT, table

from oracle_opt.certificates.proof_level import Standing, standing_of
from oracle_opt.files import atomic_text

WORDS = {Standing.PROVEN: "proven", Standing.GIVEN: "given", Standing.NONE: "-"}


_words = []  # of the runs since the last sentence


def verified(result, oracle):
    """The word for a table: 'proven' from the data, 'given' the cuts, or '-' where there is no bound to certify.

    Raises
    ------
    InvalidCertificate, Refuted
        The run claims more than it proves; nobody catches this, so that the script ends without its table.
    """
    return counted(WORDS[standing_of(result, oracle)])


def counted(word):
    """Count the word of a run that was verified elsewhere, in another process or by a study."""
    _words.append(word)
    return word


def print_certificates():
    """Say below the tables what the certificates of the runs behind them came to."""
    said = {"proven": "proven from the data", "given": "hold given the cuts", "-": "have no bound to certify"}
    counts = [f"{_words.count(word)} {said[word]}" for word in said if word in _words]
    if counts:
        print(f"Certificates of these {len(_words)} runs: {', '.join(counts)}.\n", flush=True)
    _words.clear()


def kept_rows(path):
    """The rows of a table that was kept, without its headings; none if there is no file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def keep_rows(path, headings, rows):
    """Write a table that is too long for a page as comma-separated values."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([headings, *rows])
    path.parent.mkdir(exist_ok=True)
    atomic_text(path, text.getvalue())


def print_rows(name, headings, rows, quick):
    """Keep a table that is too long for a page in docs/data, and print where; a `quick` run prints the table."""
    if quick:
        table(headings, rows)
        return
    keep_rows(ROOT / "docs" / "data" / f"{name}.csv", headings, rows)
    print(f"[All {len(rows)} rows](data/{name}.csv)\n")


def renew(page, title, headings, rows):
    """Replace the table under a title of the third level in a page.

    Raises
    ------
    ValueError
        The page does not have the title once, with a table below it.
    """
    text = page.read_text(encoding="utf-8")
    mark = f"\n### {title}\n\n|"
    if text.count(mark) != 1:
        raise ValueError(f"{page} must have the title {title!r} once, with a table below it")
    before, _, after = text.partition(mark)
    rest = after.partition("\n\n")[2]
    lines = [headings, ["---"] * len(headings), *rows]
    written = "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
    written = written.replace("| " + " | ".join(["---"] * len(headings)) + " |", "|" + "---|" * len(headings), 1)
    atomic_text(page, f"{before}{mark[:-1]}{written}\n\n{rest}")
