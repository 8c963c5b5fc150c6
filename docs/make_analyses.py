"""Draw the pictures of docs/analyses.md: of the objects that its listings make, which are run first.

python docs/make_analyses.py
"""

from make_curves import DPI, WIDTH, save
from make_task_pages import DOCS, names_of
from threadpoolctl import threadpool_limits

from oracle_opt.study.analyses.mean_ranks import draw_ranks
from oracle_opt.study.plots import draw_curves


def main() -> None:
    """Run the page, and draw."""
    names = names_of("analyses")
    pictures = {
        "analyses_profile": draw_curves(names["profile"], width=WIDTH),
        "analyses_ranks": draw_ranks(names["ranks"], width=WIDTH),
    }
    for name, figure in pictures.items():
        figure.set_dpi(DPI)
        save(figure, DOCS / "images" / f"{name}.png", colors=96)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
