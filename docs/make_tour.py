"""Draw the picture of docs/tour.md from the imports, and write its counts.

    python docs/make_tour.py

Imports are followed to the file that defines a name: `from oracle_opt.domains import Domain` leads to the file of
`Domain`. Counts of what a module loads are those of a process that imports it and nothing else.
"""

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from make_curves import save
from make_gallery import splice
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

DOCS = Path(__file__).parent
ROOT = DOCS.parent
FOLDERS = ("oracle_opt", "oracles", "generators")
SUFFIXES = (".py", ".pyi", ".pyx", ".pxd", ".h")
LOADED = ("oracle_opt.driver", "oracle_opt.generators.level_set", "oracle_opt.oracles.mkl.mkl_oracle")
WINGS = ("study", "problems", "datasets", "learn", "doctor")  # of oracle_opt: the core knows none of them
# Where a room stands in the picture: its left edge, its floor, and how wide it is.
ROOMS = {
    "core": (3.3, 0.0, 3.4),
    "domains": (0.2, 0.0, 2.4),
    "proof": (7.4, 0.0, 2.4),
    "answers": (0.2, -1.3, 2.4),
    "certificates": (7.4, -1.3, 2.4),
    "masters": (0.2, 1.6, 2.4),
    "generators": (0.2, 2.9, 2.4),
    "kernels": (3.3, 1.6, 1.6),
    "svm": (5.1, 1.6, 1.6),
    "mkl": (4.2, 2.9, 1.6),
    "oracles": (7.4, 1.6, 2.4),
    "testing": (7.4, 2.9, 2.4),
    "learn": (3.3, 4.4, 1.5),
    "study": (0.2, 4.4, 2.4),
    "problems": (5.2, 4.4, 1.5),
    "datasets": (7.4, 4.4, 1.1),
    "doctor": (8.7, 4.4, 1.1),
}
HEIGHT = 0.8
FEW = 3  # imports: an arrow of fewer is left out


def sources(suffixes: tuple[str, ...] = SUFFIXES) -> list[Path]:
    """Files of the library."""
    return [p for folder in FOLDERS for p in sorted((ROOT / folder).rglob("*")) if p.suffix in suffixes]


def module_of(path: Path) -> str:
    """The name a file is imported by."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts if parts[0] == "oracle_opt" else ("oracle_opt", *parts)
    return ".".join(parts).removesuffix(".__init__")


@cache
def modules() -> dict[str, Path]:
    """Python files by their names."""
    return {module_of(path): path for path in sources((".py",))}


def statements(tree: ast.AST, loaded: bool) -> Iterator[ast.ImportFrom]:
    """Import statements; `loaded` leaves out those inside functions and for types alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node
        elif not loaded or not (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
        ):
            yield from statements(node, loaded)


def defining(module: str, name: str) -> str | None:
    """The module that defines a name: a package's `__init__` only hands it on."""
    if (inner := f"{module}.{name}") in modules():
        return inner if modules()[inner].name != "__init__.py" else None
    if module not in modules():
        return None
    if modules()[module].name == "__init__.py":
        for node in statements(ast.parse(modules()[module].read_text()), loaded=False):
            for alias in node.names:
                if name == (alias.asname or alias.name) and node.module:
                    return defining(node.module, alias.name)
    return module


@cache
def imported(module: str, loaded: bool) -> frozenset[str]:
    """The modules of the library that one names, or loads."""
    tree = ast.parse(modules()[module].read_text())
    found = {
        defining(node.module, alias.name) for node in statements(tree, loaded) if node.module for alias in node.names
    }
    return frozenset(name for name in found if name is not None and name != module)


def closure(module: str) -> set[str]:
    """What has to be loaded for a module, itself included."""
    seen, waiting = {module}, [module]
    while waiting:
        new = imported(waiting.pop(), True) - seen
        seen |= new
        waiting += new
    return seen


def loaded_by(module: str) -> list[str]:
    """Modules of the library in a process that imports one of them."""
    code = f"import sys, {module}; print(*(name for name in sys.modules if name.partition('.')[0] == 'oracle_opt'))"
    run = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.split()


def circles() -> list[list[str]]:
    """Groups of files that name each other in a circle, for types alone and inside functions too."""
    names = sorted(modules())
    place = {name: i for i, name in enumerate(names)}
    pairs = [(place[a], place[b]) for a in names for b in imported(a, False) if modules()[a].name != "__init__.py"]
    rows, columns = zip(*pairs, strict=True)
    graph = coo_array(([1] * len(pairs), (rows, columns)), shape=(len(names), len(names)))
    _, group = connected_components(graph, connection="strong")
    members = Counter(group.tolist())
    return [[n for n in names if group[place[n]] == k] for k, size in members.items() if size > 1]


def room_of(path: Path) -> str:
    """The room of the picture that a file stands in."""
    folder, *inner = path.relative_to(ROOT).parts
    if folder == "oracle_opt":
        return inner[0] if len(inner) > 1 else "core"
    return inner[0] if inner[0] in ROOMS else folder


def lines_of(paths: list[Path]) -> int:
    """Lines of some files."""
    return sum(len(path.read_text().splitlines()) for path in paths)


def counts() -> str:
    """The table of counts."""
    paths, found = sources(), circles()
    wings = {wing: [p for p in paths if room_of(p) == wing] for wing in WINGS}
    crossing = [group for group in found if len({room_of(modules()[name]) for name in group}) > 1]
    rows = [
        ("files of the library, and their lines", f"{len(paths)}, {lines_of(paths):,}"),
        *((f"of these in the wing `{wing}`", f"{len(own)}, {lines_of(own):,}") for wing, own in wings.items()),
    ]
    of_module = {module_of(path): path for path in paths if path.suffix in (".py", ".pyx")}
    for name in LOADED:
        loaded = loaded_by(name)
        own = [of_module[module] for module in loaded if module in of_module]
        rows.append((f"a process that imports `{name}` loads", f"{len(loaded)}, {lines_of(own):,}"))
    rows.append(("circles of imports, those inside functions and for types alone included", str(len(found))))
    rows.append(("of these across two rooms of the picture", str(len(crossing))))
    by_hand = {path: path.read_text(encoding="utf-8").count("EPS * (") for path in paths if "proof" not in path.parts}
    files = sum(count > 0 for count in by_hand.values())
    rows.append(
        ("roundings that are counted by hand, `EPS * (..)` outside of `proof/`", f"{files}, {sum(by_hand.values())}")
    )
    return "\n".join(["| what | files, lines |", "|---|---|", *(f"| {what} | {figure} |" for what, figure in rows)])


def draw(path: Path) -> None:
    """One box a room, one arrow a pair of rooms with some imports, as thick as there are."""
    figure = Figure(figsize=(10, 6.6), layout="constrained")
    ax = figure.subplots()
    ax.set_axis_off()
    ax.set(xlim=(0, 10), ylim=(-1.5, 5.4))
    arrows = Counter(
        (room_of(modules()[a]), room_of(modules()[b]))
        for a in modules()
        for b in imported(a, True)
        if modules()[a].name != "__init__.py"
    )
    for (user, used), count in sorted(arrows.items()):
        if user == used or count < FEW:
            continue
        (x0, y0, w0), (x1, y1, w1) = ROOMS[user], ROOMS[used]
        ends = (x0 + w0 / 2, y0 + HEIGHT / 2), (x1 + w1 / 2, y1 + HEIGHT / 2)
        width = 0.4 + 0.06 * min(count, 50)
        look = {"arrowstyle": "-|>", "mutation_scale": 9, "linewidth": width, "color": "#7a8aa0", "alpha": 0.55}
        ax.add_patch(FancyArrowPatch(*ends, shrinkA=26, shrinkB=30, connectionstyle="arc3,rad=0.12", **look))
    for room, (x, y, w) in ROOMS.items():
        own = [p for p in sources() if room_of(p) == room]
        color = "#ffd27a" if room == "core" else "#bcd3f5" if room in WINGS else "#cfe8bd"
        ax.add_patch(FancyBboxPatch((x, y), w, HEIGHT, "round,pad=0.02", facecolor=color, edgecolor="#45546a"))
        ax.text(x + w / 2, y + 0.52, room, ha="center", va="center", fontsize=11, weight="bold")
        ax.text(x + w / 2, y + 0.2, f"{len(own)} files, {lines_of(own):,}", ha="center", va="center", fontsize=8)
    save(figure, path, 96)


def main() -> None:
    """Make both."""
    draw(DOCS / "images" / "tour.png")
    splice(DOCS / "tour.md", "counts", counts())
    for group in circles():
        print("circle:", ", ".join(group))


if __name__ == "__main__":
    main()
