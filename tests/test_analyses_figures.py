"""Curves as pictures: what is drawn, in which look, in which files."""

import re
import sys
from itertools import combinations
from math import inf
from pathlib import Path

import numpy as np
import pytest
from hand_results import hand_results
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from small_results import small_results

from oracle_opt import InvalidArgument, MissingPackage
from oracle_opt.line_styles import COLORS, DASHES, MARKERS, label_decades, look, marker
from oracle_opt.study import GENERATORS
from oracle_opt.study.analyses.curves import Curves, points, together
from oracle_opt.study.results import Results


@pytest.fixture(scope="module")
def results() -> Results:
    return small_results(max_calls=25)


def made(kind: str = "line", **changes: object) -> Curves:
    x = np.arange(1.0, 6.0)
    data = together([points("one", "a", x, 1 / x, 0.5 / x, 2 / x), points("two", "b", x, 0 * x)])
    return Curves(data, "Title", "x", "y", "Caption.", kind=kind, **changes)  # type: ignore[arg-type]


def test_curves_of_gaps_by_hand() -> None:
    """Seeds with gaps 1, 1e-2 and 1, 1e-1, 1e-4: means 1, 10^-1.5 and 10^-3, as the first keeps its last gap."""
    gaps = {("p", "a", 0): [1.0, 1e-2], ("p", "a", 1): [1.0, 1e-1, 1e-4], ("q", "b", 0): [inf, 0.5]}
    gaps |= {("q", "c", 0): [inf, inf], ("q", "d", 0): [0.5]}
    curves = hand_results(gaps, runs={("q", "d", 0): {"status": "FAILED"}}).curves()
    part = curves.data[curves.data["name"] == "a"]
    assert part["x"].tolist() == [1, 2, 3]
    assert part["y"].tolist() == pytest.approx([1.0, 10**-1.5, 1e-3])
    assert part["low"].iloc[2] == pytest.approx(np.quantile([1e-2, 1e-4], 0.1))
    assert part["high"].iloc[2] == pytest.approx(np.quantile([1e-2, 1e-4], 0.9))
    assert curves.data.loc[curves.data["name"] == "b", ["x", "y"]].to_numpy().tolist() == [[2.0, 0.5]]
    assert set(curves.data["name"]) == {"a", "b"}
    assert "1 run never had a finite gap" in curves.caption
    assert "1 run left out: refused or ended by an exception" in curves.caption
    assert curves.threshold == 1e-4


def test_curves_over_seconds_are_steps() -> None:
    """One run has its calls at 1 and 3 seconds, the other at 2 seconds: the mean begins where both have a gap."""
    gaps = {("p", "a", 0): [0.1, 1e-4], ("p", "a", 1): [1e-2]}
    results = hand_results(gaps, oracle={("p", "a", 0): [1.0, 2.0], ("p", "a", 1): [2.0]})
    curves = results.curves(cost="oracle seconds")
    assert curves.kind == "steps"
    assert curves.data["x"].tolist() == [2.0, 3.0]
    assert curves.data["y"].tolist() == pytest.approx([10**-1.5, 1e-3])


def test_long_runs_are_thinned_over_seconds() -> None:
    n = 5000
    gaps = np.geomspace(1.0, 1e-4, n)
    curves = hand_results({("p", "a", 0): gaps}).curves(cost="total seconds")
    assert 100 < len(curves.data) <= 300
    assert curves.data["x"].iloc[[0, -1]].tolist() == [1.5, 1.5 * n]
    assert curves.data["y"].tolist() == pytest.approx(gaps[np.round(curves.data["x"] / 1.5).astype(int) - 1].tolist())


def test_a_generator_keeps_its_look(results: Results) -> None:
    def colors(curves: Curves) -> dict[str, str]:
        handles, names = curves.plot().legends[0].legend_handles, curves.plot().legends[0].texts
        return {t.get_text(): to_hex(h.get_color()).upper() for h, t in zip(handles, names, strict=True)}

    whole = colors(results.profile())
    assert list(whole) == ["level-set", "analytic-center", "kelley", "proximal-bundle", "spectral-bundle"]
    assert len(set(whole.values())) == 5
    for part in (results.filter(generator=["kelley", "proximal-bundle"]), results.filter(seed=1, family="pieces")):
        for curves in (part.profile(), part.curves(), part.data_profile()):
            mine = {name: color for name, color in colors(curves).items() if not name.startswith("threshold")}
            assert mine == {name: whole[name] for name in mine}


def test_no_two_of_50_look_alike() -> None:
    """By color and dashes, by color and marker, and, where a reader sees no colors, by dashes and marker."""
    assert len(set(COLORS)) == len(set(DASHES)) == len(set(MARKERS)) == 10
    assert len({look(i) for i in range(50)}) == 50
    assert len({(look(i)[0], marker(i)) for i in range(50)}) == 50
    assert len({(look(i)[1], marker(i)) for i in range(50)}) == 50


AXES = [(1e-3, 1.0, False), (1e-4, 1.0, True), (1.0, 3e5, True), (1.9e-4, 9e-4, True)]


@pytest.mark.parametrize(("least", "most", "powers"), AXES)
def test_an_axis_has_one_notation(least: float, most: float, powers: bool) -> None:
    figure = Figure()
    ax = figure.add_subplot(xlim=(least, most), xscale="log")
    label_decades(ax.xaxis)
    FigureCanvasAgg(figure).draw()
    words = [label.get_text() for label in ax.get_xticklabels() if label.get_text() not in ("", "0")]
    assert len(words) >= 3
    assert {"10^" in word for word in words} == {powers}


def without_color(line: Line2D) -> tuple[object, ...]:
    """What a reader without colors sees of a line: dashes in widths of the line, and marker."""
    offset, dashes = line._unscaled_dash_pattern
    return offset, None if dashes is None else tuple(dashes), line.get_marker()


@pytest.mark.parametrize("n_points", [5, 200])
@pytest.mark.parametrize("kind", ["line", "steps"])
def test_all_generators_and_20_more_are_told_apart(kind: str, n_points: int) -> None:
    x = np.arange(1.0, n_points + 1)
    names = [*GENERATORS, *(f"variant {i}" for i in range(20))]
    data = together([points("", name, x, (place + 1) / x) for place, name in enumerate(names)])
    lines = Curves(data, "T", "x", "y", "", True, True, kind, order=tuple(names)).plot().axes[0].lines
    assert len(lines) == len({without_color(line) for line in lines}) == len(names)
    assert len({(line.get_color(), without_color(line)[1]) for line in lines}) == len(names)


def test_colors_are_told_apart_with_any_color_vision() -> None:
    """Red and green receptors missing, simulated in linear light after Viénot, Brettel and Mollon (1999)."""
    confusions = {
        "none missing": np.eye(3),
        "red missing": np.array([[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]]),
        "green missing": np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]]),
    }
    for words, matrix in confusions.items():
        seen = [np.clip(matrix @ np.array(to_rgb(color)) ** 2.2, 0, 1) ** (1 / 2.2) for color in COLORS]
        least = min(np.linalg.norm(a - b) for a, b in combinations(seen, 2))
        assert least > 0.1, words


@pytest.mark.parametrize("kind", ["line", "steps", "points"])
def test_what_is_drawn(kind: str) -> None:
    figure = made(kind, threshold=0.3).plot()
    assert isinstance(figure, Figure)
    first, second = figure.axes
    assert (first.get_title(), second.get_title()) == ("one", "two")
    line = first.lines[0]
    assert line.get_xdata().tolist() == [1, 2, 3, 4, 5]
    assert line.get_drawstyle() == ("steps-post" if kind == "steps" else "default")
    assert (line.get_linestyle() == "None") == (kind == "points")
    assert len(first.collections) == 1, "the band"
    assert len(second.collections) == 0
    assert [text.get_text() for text in figure.legends[0].texts] == ["a", "b", "threshold 0.3"]
    assert figure.get_suptitle() == "Title"


def test_logarithmic_axes_show_zero_at_the_bottom() -> None:
    figure = made(log_y=True, log_x=True).plot()
    assert figure.axes[1].lines[0].get_ydata().tolist() == [1e-16] * 5
    assert figure.axes[0].get_xscale() == "log"
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert {"1", "2", "5"} <= set(labels), "an axis of less than two decades has plain numbers"


def test_axes_of_the_user() -> None:
    figure = Figure()
    axes = figure.subplots(1, 2)
    assert made().plot(axes) is figure
    assert made().plot(list(axes)) is figure
    assert axes[0].get_xlabel() == "x"
    assert axes[1].get_legend() is not None
    with pytest.raises(InvalidArgument, match="`axes` must be as many as there are panels, 2, got 1"):
        made().plot(axes[0])


def test_names_stand_as_they_are() -> None:
    x = np.ones(1)
    curves = Curves(together([points("$p$_1", "k$ell$\x07ey", x, x)]), "a $b", "x", "y", "")
    figure = curves.plot()
    figure.canvas.draw()
    assert figure.axes[0].get_title() == r"\$p\$_1"
    assert figure.legends[0].texts[0].get_text() == r"k\$ell\$?ey"


@pytest.mark.parametrize(("width", "inches"), [("column", 3.3), ("page", 6.9), (5.0, 5.0)])
def test_files_for_print(tmp_path: Path, results: Results, width: str | float, inches: float) -> None:
    profile = results.profile(tau=(1e-2, 1e-4))
    for ending in ("pdf", "svg", "png"):
        profile.save(tmp_path / f"a.{ending}", width=width)
        profile.save(tmp_path / f"b.{ending}", width=width)
        assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()
    svg = (tmp_path / "a.svg").read_text()
    assert float(re.search(r'width="([\d.]+)pt"', svg)[1]) == pytest.approx(72 * inches)  # type: ignore[index]
    assert ">level-set</text>" in svg, "text stays text"
    sizes = {float(size) for size in re.findall(r"font(?:-size)?: ([\d.]+)px", svg)}
    assert min(sizes) >= 7.0
    pdf = (tmp_path / "a.pdf").read_bytes()
    assert b"/Type3" not in pdf
    assert b"/CIDFontType2" in pdf
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert len(list(tmp_path.iterdir())) == 6, "nothing else is left"


def test_notebooks_show_pictures_and_tables(results: Results) -> None:
    ranks = small_results(max_calls=8, instances=6, seeds=1).ranks(tau=1e-2)
    for figure in (results.profile(), ranks):
        picture = figure._repr_png_()
        assert picture is not None
        assert picture.startswith(b"\x89PNG")
    assert Curves(together([]), "T", "x", "y", "C")._repr_png_() is None
    assert results.table()._repr_markdown_() == results.table().to_markdown()


def test_panels_are_as_many_as_fit(tmp_path: Path, results: Results) -> None:
    pairs = results.pairs()
    assert len(pairs.panels) == 10
    pairs.save(tmp_path / "pairs.png", height=8.0)
    (tmp_path / "pairs.png").unlink()
    assert len({round(axes.get_position().x0, 2) for axes in pairs.plot().axes[:10]}) == 4


def test_refusals(tmp_path: Path, results: Results) -> None:
    profile = results.profile()
    with pytest.raises(FileNotFoundError, match=r"there is no such folder: .*none'$"):
        profile.save(tmp_path / "none" / "figure.pdf")
    with pytest.raises(InvalidArgument, match=r"`path` must end in \.pdf, \.svg or \.png, got .*figure\.gif"):
        profile.save(tmp_path / "figure.gif")
    with pytest.raises(InvalidArgument, match="`width` must be 'column', 'page' or a number of inches, got 'wide'"):
        profile.save(tmp_path / "figure.png", width="wide")
    with pytest.raises(InvalidArgument, match="`width` must be positive"):
        profile.save(tmp_path / "figure.png", width=-1.0)
    with pytest.raises(InvalidArgument, match="`backend` must be 'matplotlib' or 'plotly', got 'bokeh'"):
        profile.plot(backend="bokeh")
    with pytest.raises(InvalidArgument, match="`data` must have points to draw, got none for 'T'"):
        Curves(together([]), "T", "x", "y", "C").plot()
    assert list(tmp_path.iterdir()) == []


def test_plotly_is_asked_for_where_it_is_missing(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(MissingPackage, match=r"`plotly` is needed for figures .*pip install 'oracle-opt\[plotly\]'"):
        results.profile().plot(backend="plotly")
    with pytest.raises(InvalidArgument, match="`axes` must be left out"):
        results.profile().plot(Figure().subplots(), backend="plotly")


@pytest.mark.parametrize("kind", ["line", "steps", "points"])
def test_plotly_draws_the_same(kind: str) -> None:
    pytest.importorskip("plotly", reason="plotly is not installed: pip install plotly")
    figure = made(kind, threshold=0.3, log_y=True, diagonal=True).plot(backend="plotly")
    named = {trace.name: trace for trace in figure.data if trace.name}
    assert set(named) == {"a", "b"}
    assert list(named["a"].x) == [1, 2, 3, 4, 5]
    assert named["a"].line.color == COLORS[0]
    assert named["a"].line.shape == ("hv" if kind == "steps" else "linear")
    assert len([trace for trace in figure.data if trace.legendgroup == "a"]) == (1 if kind == "points" else 3)
    assert figure.layout.yaxis.type == "log"
    figure.to_json()


@pytest.mark.parametrize("log", [False, True])
def test_the_diagonal_joins_equal_values(log: bool) -> None:
    """For figures of ours against another's: x and y are on the same scale."""
    x = np.array([2.0, 30.0, 400.0])
    curves = Curves(
        together([points("calls", "a", x, 1.1 * x)]), "T", "x", "y", "C", log, log, kind="points", diagonal=True
    )
    (axes,) = curves.plot().axes
    axes.figure.canvas.draw()
    line = axes.lines[-1]
    ends = axes.transData.inverted().transform(line.get_transform().transform(np.array([[0.0, 0.0], [1.0, 1.0]])))
    assert ends[:, 0] == pytest.approx(ends[:, 1], rel=1e-6)
    assert ends[0, 0] < 400 < ends[1, 0] * 1.2
