"""Figures come from runs whose certificate was verified; the tables of a page are renewed one at a time."""

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


def tables_of(text):
    """Tables of a page by their titles of the third level: each as its lines, the headings first."""
    found = {}
    for part in text.split("\n### ")[1:]:
        title, _, rest = part.partition("\n")
        lines = [line for line in rest.partition("<!-- end")[0].split("\n") if line.startswith("|")]
        found[title] = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return found


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
