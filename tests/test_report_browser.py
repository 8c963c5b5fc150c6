"""The report in a real browser: figures are drawn, filters and legends work, numbers are Python's."""

import json
from collections.abc import Iterator
from math import inf
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import study_parts
from big_results import big_results
from headless import PROGRAM, Browser
from small_results import small_results

from oracle_opt.study import Limits, Study
from oracle_opt.study.records import FAILED
from oracle_opt.study.results import Results

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="needs Chromium: apt-get install chromium")
HOSTILE = "</script><img src=x onerror=\"document.title='broken'\"> \u2028 ü"
COUNT = "document.querySelectorAll({!r}).length"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture(scope="module")
def results() -> Results:
    """A small study; one run failed, one generator and one instance have names that try to be markup."""
    small = small_results()
    names = {"instance": {"pieces/4": HOSTILE}, "generator": {"kelley": HOSTILE}}
    runs, history = small.runs.replace(names), small.history.replace(names)
    failed = (runs["generator"] == "level-set") & (runs["instance"] == "pieces/6") & (runs["seed"] == 1)
    runs.loc[failed, ["status", "message", "traceback"]] = [FAILED, "ValueError: <b>bad</b>", f"Traceback\n{HOSTILE}"]
    return Results(runs, history, small.tau)


@pytest.fixture(scope="module")
def page(results: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return results.report(tmp_path_factory.mktemp("report") / "study.html", title=f"A study {HOSTILE}")


@pytest.fixture(autouse=True)
def quiet(browser: Browser) -> Iterator[None]:
    """Whatever a test does, the page neither complains nor asks for anything but itself."""
    browser.console.clear()
    browser.requests.clear()
    browser.opened.clear()
    yield
    assert browser.console == []
    assert {url.split("#")[0] for url in browser.requests} <= browser.opened


def series(browser: Browser, section: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Curves of the first panel of a section's figure, by name."""
    found = browser.run(
        f"document.querySelector('#{section} figure').figure.spec.panels[0].series.map((s) => [s.name, s.x, s.y])"
    )
    return {name: (np.array(x), np.array(y)) for name, x, y in found}


def choose(browser: Browser, filter_: str, name: str) -> None:
    """Tick a name of a filter on or off."""
    browser.run(
        f"(() => {{ const menu = document.querySelector('.menu[data-filter={filter_}]'); menu.open = true;"
        "const line = [...menu.querySelectorAll('.names label')].find((one) => one.textContent === "
        f"{json.dumps(name)}); line.querySelector('input').click(); menu.open = false; }})()"
    )
    browser.settle()


def select(browser: Browser, label: str, value: str) -> None:
    browser.run(
        "(() => { const box = [...document.querySelectorAll('.bar .choice')].find((one) => "
        f"one.firstChild.textContent === {json.dumps(label)}).querySelector('select'); box.value = {json.dumps(value)};"
        "box.dispatchEvent(new Event('change')); })()"
    )
    browser.settle()


def test_everything_is_drawn(browser: Browser, page: Path, results: Results) -> None:
    browser.open(page)
    assert browser.run("document.title").startswith("A study </script><img src=x")
    assert browser.run("document.querySelector('h1').textContent").startswith("A study </script>")
    assert browser.run(COUNT.format("img")) == 0
    assert browser.run(COUNT.format("section h2")) >= 7
    assert browser.run(COUNT.format("#gaps .panel svg")) == 3
    paths = browser.run("[...document.querySelectorAll('path')].map((path) => path.getAttribute('d'))")
    assert len(paths) > 50
    assert not [path for path in paths if "NaN" in path or "undefined" in path or "Infinity" in path]
    curves = browser.run(
        "[...document.querySelectorAll('#gaps .curve')].map((path) => path.getAttribute('d').split('L').length)"
    )
    assert len(curves) == 12
    assert min(curves) >= 8
    assert browser.run(COUNT.format("#profile .curve")) == 5
    rows = browser.run("document.querySelectorAll('#runs tbody tr').length")
    assert rows == len(results) == 25
    text = browser.run("document.querySelector('#runs tbody').textContent")
    for name in {*results.runs["instance"], *results.runs["generator"]}:
        assert name in text


def test_curves_come_first_and_the_listing_is_of_this_study(browser: Browser, page: Path, results: Results) -> None:
    browser.open(page)
    order = browser.run("[...document.querySelectorAll('main section')].map((one) => one.id)")
    assert order[:3] == ["gaps", "costs", "cite"]
    listing = browser.run("document.querySelector('#cite pre').textContent")
    code = compile(listing, "listing", "exec")
    assert "Study" in code.co_names
    for method in results.runs["method"].unique():
        assert repr(method)[1:-1] in listing.replace('\\"', '"')


@pytest.mark.campaign(9)
@pytest.mark.parametrize("test", ["certified", "more-wild"])
@pytest.mark.parametrize("cost", ["calls", "oracle seconds", "total seconds"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_profiles_are_those_of_python(
    browser: Browser, page: Path, results: Results, place: int, cost: str, test: str
) -> None:
    browser.open(page)
    for label, value in (("Cost", cost), ("Accuracy", str(place)), ("Test", test)):
        select(browser, label, value)
    everything = results.profile(cost=cost, tau=results.tau[place], test=test)
    slack = 0.0 if cost == "calls" else 1.1e-3
    same_curves(series(browser, "profile"), everything.data, slack)
    choose(browser, "seed", "1")
    one = results.filter(seed=0)
    if test != "more-wild":  # whose best value stays that of all generators on the page
        choose(browser, "generator", "analytic-center")
        one = one.filter(where=lambda runs: runs["generator"] != "analytic-center")
    same_curves(series(browser, "profile"), one.profile(cost=cost, tau=results.tau[place], test=test).data, slack)
    scale = "seconds" if cost == "total seconds" else cost
    solved = one.data_profile(scale=scale, tau=results.tau[place], test=test)
    same_curves(series(browser, "solved"), solved.data, slack)


def same_curves(found: dict[str, tuple[np.ndarray, np.ndarray]], wanted: pd.DataFrame, slack: float) -> None:
    """Equal but for the digits that the page keeps of seconds, by which close steps may meet."""
    assert set(found) == set(wanted["name"])
    for name, rows in wanted.groupby("name"):
        x, y = found[name]
        assert np.all(np.diff(x) > 0)
        low = [rows["y"][rows["x"] <= value * (1 - slack + 1e-12)].max() for value in x]
        high = [rows["y"][rows["x"] <= value * (1 + slack + 1e-12)].max() for value in x]
        assert np.all(y >= np.nan_to_num(low) - 1e-12), name
        assert np.all(y <= np.array(high) + 1e-12), name
        assert x[-1] == pytest.approx(rows["x"].max(), rel=1e-3)


def cells(browser: Browser, section: str) -> dict[str, list[str]]:
    """Rows of a section's first table, by their first cell."""
    rows = browser.run(
        f"[...document.querySelector('#{section} table').tBodies[0].rows].map((row) => "
        "[...row.cells].map((cell) => cell.textContent))"
    )
    return {first: rest for first, *rest in rows}


def test_means_are_those_of_python(browser: Browser, page: Path, results: Results) -> None:
    browser.open(page)
    choose(browser, "instance", "pieces/2")
    kept = results.filter(instance=["pieces/6", HOSTILE])
    for place, tau in enumerate(results.tau):
        select(browser, "Accuracy", str(place))
        found = cells(browser, "means")
        wanted = kept.means(tau=tau).data
        # a generator without any run among the chosen is compared all the same, as the filter for generators has it
        assert set(found) == {*wanted["generator"], "spectral-bundle"}
        for _, row in wanted.iterrows():
            mean, ratio, *counts = found[row["generator"]]
            assert float(mean) == pytest.approx(row["mean"], rel=5e-3)
            if place == 2:  # where the one without runs is not the best
                assert float(ratio) == pytest.approx(row["over the best"], rel=5e-3)
            assert list(map(int, counts)) == [
                row[end] for end in ("solved", "unsolved", "failed", "refused", "missing")
            ]


def test_targets_are_nearly_those_of_python(browser: Browser, page: Path, results: Results) -> None:
    """Nearly, as points of the histories are left out."""
    browser.open(page)
    for cost in ("calls", "total seconds"):
        select(browser, "Cost", cost)
        wanted = results.ecdf(cost=cost).data
        for name, (x, y) in series(browser, "targets").items():
            rows = wanted[wanted["name"] == name]
            low, high = (
                np.append(rows["y"], 0.0)[np.searchsorted(rows["x"], x * factor, side="right") - 1]
                for factor in (0.985, 1.015)
            )
            assert np.all(low - 0.02 <= y)
            assert np.all(y <= high + 0.02)


def test_areas_are_those_of_python(browser: Browser, page: Path, results: Results) -> None:
    browser.open(page)
    for cost in ("calls", "oracle seconds"):
        select(browser, "Cost", cost)
        wanted = results.area(cost=cost).data
        found = cells(browser, "areas")
        names = [name for name in wanted.columns if name not in ("instance", "seed")]
        assert list(map(float, found["all problems"])) == pytest.approx(wanted[names].mean().to_list(), abs=6e-4)
        for instance, rows in wanted.groupby("instance"):
            assert list(map(float, found[instance])) == pytest.approx(rows[names].mean().to_list(), abs=6e-4)


def test_ranks_are_shown_or_refused(browser: Browser, page: Path, tmp_path: Path) -> None:
    browser.open(page)
    assert "at least 6 problems" in browser.run("document.querySelector('#ranks .text').textContent")
    study = big_results(instances=12, seeds=1, generators=5, calls=60)
    browser.open(study.report(tmp_path / "study.html"))
    ranks = study.ranks()
    assert browser.run("document.querySelector('#ranks .text').textContent").startswith(ranks.title)
    found = cells(browser, "ranks")
    assert {name: float(rank) for name, (rank, _) in found.items()} == pytest.approx(
        dict(zip(ranks.data["generator"], ranks.data["mean_rank"], strict=True)), abs=5e-3
    )
    assert browser.run(COUNT.format("#ranks svg.ranks .lead")) == 5
    assert browser.run(COUNT.format("#ranks svg.ranks .clique")) == len(ranks.cliques)
    select(browser, "Accuracy", "0")
    assert "to 0.01" in browser.run("document.querySelector('#ranks .text').textContent")


def test_figures_that_the_author_adds(browser: Browser, results: Results, tmp_path: Path) -> None:
    extra = {"Pairs": results.pairs(), HOSTILE: results.table()}
    path = results.report(tmp_path / "extra.html", extra=extra)
    for width in (1280, 390):
        browser.open(path, width)
        assert browser.run("document.documentElement.scrollWidth") == width
        assert browser.run("document.querySelector('#extra-4 h2').textContent") == HOSTILE
        assert browser.run(COUNT.format("#extra-3 .panel svg")) == len(extra["Pairs"].panels)
        assert browser.run(COUNT.format("#extra-4 tbody tr")) == 3


def test_known_minima_are_a_test_where_they_are_exact_enough(browser: Browser, tmp_path: Path) -> None:
    study = big_results(instances=4, seeds=2, generators=3, calls=60)
    runs = study.runs.copy()
    runs.loc[runs["instance"] == runs["instance"][0], "optimum_error"] = 1e-2  # too inexact but for 0.01
    browser.open(Results(runs, study.history, study.tau).report(tmp_path / "study.html"))
    select(browser, "Test", "reference")
    for place, problems in ((0, 8), (1, 6), (2, 6)):
        select(browser, "Accuracy", str(place))
        words = browser.run("document.querySelector('#profile .text').textContent")
        assert f"share of {problems} problems" in words
        assert ("2 problems are left out" in words) == (problems == 6)
        kept = study.filter(where=lambda rows, n=problems: (rows["instance"] != rows["instance"][0]) | (n == 8))
        wanted = kept.profile(cost="calls", tau=study.tau[place], test="reference")
        same_curves(series(browser, "profile"), wanted.data, 0.0)


def test_filters_change_what_is_counted(browser: Browser, page: Path, results: Results) -> None:
    browser.open(page)
    count = "document.querySelector('.bar .count').textContent"
    assert browser.run(count) == "25 of 25 runs"
    choose(browser, "instance", HOSTILE)
    assert browser.run(count) == "17 of 25 runs"
    assert browser.run(COUNT.format("#gaps .panel svg")) == 2
    choose(browser, "generator", HOSTILE)
    assert browser.run(count) == "13 of 25 runs"
    assert browser.run(COUNT.format("#profile .curve")) == 4
    assert browser.run(COUNT.format("#runs tbody tr")) == 13
    browser.click(".bar > .plain")
    assert browser.run(count) == "25 of 25 runs"
    for generator in results.runs["generator"].unique():
        choose(browser, "generator", generator)
    assert browser.run(count) == "0 of 25 runs"
    assert browser.run("document.querySelector('#runs tbody').textContent") == "no rows"
    assert browser.run(COUNT.format(".curve")) == 0


def test_a_legend_hides_a_generator_everywhere(browser: Browser, page: Path) -> None:
    browser.open(page)
    name = "[data-name=level-set]"
    curves = f"document.querySelectorAll('.curve{name}').length"
    before = browser.run(curves)
    assert before >= 5
    shares = series(browser, "profile")["analytic-center"][1].tolist()
    browser.click(f"#profile .legend button{name}")
    assert browser.run(curves) == 0
    assert browser.run(f"document.querySelector('#gaps .legend button{name}').getAttribute('aria-pressed')") == "false"
    assert series(browser, "profile")["analytic-center"][1].tolist() == shares  # it stays in the comparison
    # and by keys: the focus stays on the button
    assert browser.run("document.activeElement.dataset.name") == "level-set"
    browser.run("document.activeElement.click()")
    assert browser.run(curves) == before


def test_axes_change_between_logarithmic_and_linear(browser: Browser, page: Path) -> None:
    browser.open(page)
    ticks = "[...document.querySelectorAll('#gaps .panel:first-child .tick')].map((tick) => tick.textContent)"
    assert "10⁻⁶" in browser.run(ticks)
    path = "document.querySelector('#gaps .curve').getAttribute('d')"
    before = browser.run(path)
    browser.click("#gaps .scale[data-axis=y]")
    assert "10⁻⁶" not in browser.run(ticks)
    assert browser.run(path) != before
    browser.click("#gaps .scale[data-axis=y]")
    assert browser.run(path) == before


def test_hover_and_arrow_keys_show_numbers(browser: Browser, page: Path) -> None:
    browser.open(page)
    tip = "document.querySelector('#profile .tip')"
    assert browser.run(f"{tip}.hidden")
    x, y = browser.run(
        "(() => { const svg = document.querySelector('#profile .panel svg'); svg.scrollIntoView({block: 'center'});"
        "const r = svg.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
    )
    browser.mouse("mouseMoved", x, y)
    browser.settle()
    assert not browser.run(f"{tip}.hidden")
    text = browser.run(f"{tip}.textContent")
    assert text.startswith("calls relative to the best: ")
    order = browser.run(f"[...{tip}.querySelectorAll('b')].map((number) => number.textContent)")
    assert len(order) == 5
    assert sorted(order, key=float, reverse=True) == order
    assert len(set(order)) > 1
    browser.mouse("mouseMoved", 5, 5)
    browser.settle()
    assert browser.run(f"{tip}.hidden")
    browser.run("document.querySelector('#profile .panel svg').focus()")
    browser.key("ArrowRight")
    assert browser.run(f"{tip}.textContent").startswith("calls relative to the best: 1")
    browser.key("Escape")
    assert browser.run(f"{tip}.hidden")


def test_tables_sort_with_the_unknown_last(browser: Browser, page: Path) -> None:
    browser.open(page)
    cells = "[...document.querySelectorAll('#runs tbody tr')].map((row) => row.cells[7].textContent)"
    for way in ("ascending", "descending"):
        browser.click("#runs thead th:nth-child(8) button")
        assert browser.run("document.querySelector('#runs thead th:nth-child(8)').getAttribute('aria-sort')") == way
        gaps = browser.run(cells)
        assert gaps[-1] == "\u2013"
        numbers = [float(gap.replace("\u2212", "-")) for gap in gaps[:-1]]
        assert numbers == sorted(numbers, reverse=way == "descending")
    browser.run(
        "(() => { const box = document.querySelector('#runs input'); box.value = 'refused'; "
        "box.dispatchEvent(new Event('input')); })()"
    )
    assert browser.run(COUNT.format("#runs tbody tr")) == 1


def test_every_run_opens(browser: Browser, page: Path, results: Results) -> None:
    browser.open(page)
    browser.click("#runs tbody tr:nth-child(2) a")
    assert browser.run("document.getElementById('run').open")
    assert browser.run("document.querySelector('#run h2').textContent") == "analytic-center on pieces/2, seed 0"
    assert browser.run(COUNT.format("#run .curve")) == 3  # the gap and two bounds
    browser.key("Escape")
    browser.until("!document.getElementById('run').open && location.hash === ''")
    for i in range(len(results)):
        browser.run(f"location.hash = 'run-{i}'")
        browser.until("document.getElementById('run').open")
        browser.run("document.getElementById('run').close()")
        browser.until("location.hash === ''")
    failed = int(np.flatnonzero(results.runs["status"] == FAILED)[0])
    browser.open(page, tail=f"#run-{failed}")  # an address that was sent to somebody
    assert HOSTILE in browser.run("document.querySelector('#run pre').textContent")
    assert "ValueError: <b>bad</b>" in browser.run("document.querySelector('#run').textContent")


def test_curves_of_a_run_are_those_of_its_history(browser: Browser, page: Path, results: Results) -> None:
    browser.open(page)
    for i in (0, 3, 10, 22):
        run = results.runs.iloc[i]
        key = (run["instance"], run["generator"], run["seed"])
        rows = results.history.groupby(["instance", "generator", "seed"]).get_group(key).set_index("call")
        browser.run(f"location.hash = 'run-{i}'")
        browser.until("document.querySelectorAll('#run figure').length === 2")
        gap, bounds = browser.run(
            "[...document.querySelectorAll('#run figure')].map((one) => one.figure.spec.panels[0].series)"
        )
        kept = rows.loc[gap[0]["x"]]
        assert gap[0]["y"] == pytest.approx(kept["relative_gap"].to_list(), rel=2.4e-3)
        assert kept.index[-1] == rows.index[-1]
        for one, column in zip(bounds, ("upper_bound", "lower_bound"), strict=True):
            assert one["name"] == column.replace("_", " ")
            wanted = rows.loc[one["x"], column].to_numpy()
            error = np.abs(np.array(one["y"]) - wanted)
            assert np.all(error <= 0.012 * np.abs(wanted - wanted[-1]) + 1e-8 * np.abs(wanted)), (key, column)
        browser.run("document.getElementById('run').close()")
        browser.until("location.hash === ''")


def test_numbers_of_a_figure(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.run("document.querySelector('#profile .numbers').open = true")
    browser.until("document.querySelector('#profile .numbers table') !== null")
    head = browser.run("[...document.querySelectorAll('#profile .numbers thead th')].map((cell) => cell.textContent)")
    assert head == ["curve", "calls relative to the best", "share of problems"]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_window(browser: Browser, page: Path, tmp_path: Path, width: int, dark: bool) -> None:
    browser.open(page, width, dark=dark)
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    browser.settle()
    assert browser.run("document.documentElement.scrollWidth") == width
    outside = browser.run(
        "[...document.querySelectorAll('main svg, main button, main input, h1, h2, p')].filter((one) => "
        "!one.closest('.scroll') && one.getBoundingClientRect().right > innerWidth + 1).map((one) => one.outerHTML)"
    )
    assert outside == []
    browser.run("location.hash = 'run-1'")
    browser.until("document.getElementById('run').open")
    browser.settle()
    assert browser.run("document.getElementById('run').scrollWidth <= document.getElementById('run').clientWidth")
    browser.picture(tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 5000


def test_figures_follow_the_window(browser: Browser, page: Path) -> None:
    browser.open(page)
    wide = browser.run("document.querySelector('#profile .panel svg').clientWidth")
    browser.resize(390)
    browser.until("document.querySelector('#profile .panel svg').clientWidth < 390")
    assert wide > 600


@pytest.mark.campaign(inf)
def test_a_big_study_opens(browser: Browser, tmp_path: Path) -> None:
    study = big_results(instances=50, seeds=5, generators=8, calls=200)
    browser.open(study.report(tmp_path / "big.html"))
    assert browser.run("document.querySelector('.bar .count').textContent") == "2,000 of 2,000 runs"
    assert browser.run(COUNT.format("#gaps .panel svg")) == 6
    assert browser.run(COUNT.format("#runs tbody tr")) == 25
    milliseconds = browser.run("(() => { const t = performance.now(); document.querySelector('.bar select')"
                               ".dispatchEvent(new Event('change')); return performance.now() - t; })()")  # fmt: skip
    assert milliseconds < 5000


def test_the_listing_runs_with_functions_and_methods_of_ones_own(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    methods = {"mine": study_parts.Forgetful(), "kelley": "kelley"}
    instances = {"own": study_parts.pieces, "two": "two-stage(n=3, rows=4, scenarios=10, seed=0)"}
    limits = Limits(calls=8)
    first = Study(instances, methods, limits=limits, tau=0.5).run(tmp_path / "first", jobs=1, progress=False)
    browser.open(first.report(tmp_path / "page.html"))
    listing = browser.run("document.querySelector('#cite pre').textContent")
    assert '"mine": "study_parts:Forgetful(' in listing
    monkeypatch.chdir(tmp_path)
    found: dict[str, Results] = {}
    exec(listing.replace('run("folder")', 'run("folder", jobs=1, progress=False)'), found)
    again = found["results"]
    assert again.runs["n_calls"].tolist() == first.runs["n_calls"].tolist()
    assert again.runs["instance"].tolist() == first.runs["instance"].tolist()
