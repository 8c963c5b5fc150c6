"""Small wrong changes of a Python file: where each can be made, and the text with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

COMPARED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
TURNED = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt}
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult}
CALLED = {
    name: other
    for pair in (
        ("max", "min"),
        ("maximum", "minimum"),
        ("argmax", "argmin"),
        ("any", "all"),
        ("ceil", "floor"),
        ("ones", "zeros"),
        ("ones_like", "zeros_like"),
        ("vstack", "hstack"),
    )
    for name, other in (pair, pair[::-1])
}
NOT_SWAPPED = {"isinstance", "getattr", "setattr", "range", "issubclass"}


@dataclass(frozen=True)
class Mutant:
    """A change of one place of a file.

    Attributes
    ----------
    path : str
        Of the file, relative to the repository.
    function : str
        The function it lies in, dotted; empty for code that runs on import.
    line : int
    kind : str
    place : tuple of int
        First and last character of the text that is replaced.
    old, new : str
        That text, and what stands there instead.
    context : str
        The line before the change, by which a mutant is found again when the file has changed elsewhere.
    """

    path: str
    function: str
    line: int
    kind: str
    place: tuple[int, int]
    old: str
    new: str
    context: str

    def applied(self, text: str) -> str:
        """Return the file with the change."""
        return text[: self.place[0]] + self.new + text[self.place[1] :]

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """What stays the same while lines move."""
        return self.path, self.function, self.context, self.old, self.new


def mutants_of(path: str, text: str) -> list[Mutant]:
    """All changes of a file, in order, none twice; a few may not parse.

    Docstrings, annotations, words of errors and notes, f-strings and `__repr__` are left alone: nothing that is
    computed rests on them.
    """
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = text.splitlines()
    found: dict[tuple[int, int, str], Mutant] = {}
    for node, kind, new, function in _changes(ast.parse(text)):
        begin, end = (
            starts[number - 1] + len(lines[number - 1].encode()[:column].decode())
            for number, column in ((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset))
        )
        old = text[begin:end]
        if isinstance(node, ast.expr) and not isinstance(node, ast.Constant):
            new = f"({new})"
        mutant = Mutant(path, function, node.lineno, kind, (begin, end), old, new, lines[node.lineno - 1].strip())
        found.setdefault((begin, end, new), mutant)
    return list(found.values())


Change = tuple[ast.AST, str, str, str]


def _changes(tree: ast.Module) -> Iterator[Change]:
    """Node, kind, text that takes its place, and function."""
    yield from _inside(tree, "", [])


def _inside(node: ast.AST, function: str, names: list[str]) -> Iterator[Change]:
    for child in _children(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            if child.name != "__repr__":
                yield from _inside(child, f"{function}.{child.name}".lstrip("."), [])
            continue
        for kind, new in _of(child, names):
            yield child, kind, new, function
        if isinstance(child, ast.Assign):
            names += [target.id for target in child.targets if isinstance(target, ast.Name)]
        yield from _inside(child, function, names)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Children that something computed rests on."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):
        return
    left_out: list[ast.AST] = []
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        left_out = [node.args, *node.decorator_list]
        left_out += [node.returns] if node.returns else []
    elif isinstance(node, ast.AnnAssign):
        left_out = [node.annotation]
    elif isinstance(node, ast.ClassDef):
        left_out = [*node.bases, *node.decorator_list]
    for child in ast.iter_child_nodes(node):
        text = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        checking = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        if not (any(child is one for one in left_out) or text or checking):
            yield child


def _of(node: ast.AST, names: list[str]) -> Iterator[tuple[str, str]]:
    """Kinds of change of a node itself, and the text that takes its place."""
    match node:
        case ast.Compare(ops=[op], left=left, comparators=[right]):
            for kind, table in (("comparison at its edge", COMPARED), ("comparison turned round", TURNED)):
                if type(op) in table:
                    yield kind, ast.unparse(ast.Compare(left, [table[type(op)]()], [right]))
        case ast.BinOp(left=left, op=op, right=right):
            if type(op) in ARITHMETIC:
                yield "arithmetic", ast.unparse(ast.BinOp(left, ARITHMETIC[type(op)](), right))
            if isinstance(op, ast.Add | ast.Sub):
                yield "term dropped", ast.unparse(left)
        case ast.BoolOp(op=op, values=values):
            yield "and, or", ast.unparse(ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values))
            yield "condition dropped", ast.unparse(values[0])
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield "sign or not dropped", ast.unparse(operand)
        case ast.Constant(value=bool() as value):
            yield "flag", str(not value)
        case ast.Constant(value=int() as value):
            yield "off by one", str(value + 1)
        case ast.Constant(value=float() as value) if value:
            yield "constant", repr(value * 10 if len(repr(value)) % 2 else value * 0.1)
        case ast.Call():
            yield from _of_call(node)
        case ast.AugAssign(value=ast.List(elts=words)) if any(
            isinstance(w, ast.Constant | ast.JoinedStr) for w in words
        ):
            return  # notes for the reader
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break():
            yield "statement dropped", "pass"
        case ast.Assign(targets=[ast.Subscript()]):
            yield "statement dropped", "pass"
        case ast.Return(value=ast.Tuple(elts=[first, second, *rest])):
            swapped = ast.Tuple([second, first, *rest], ast.Load())
            yield "return swapped", f"return {ast.unparse(swapped)}"
        case ast.Return(value=ast.Name(id=name)):
            others = [one for one in names if one != name]
            if others:
                yield "another value returned", f"return {others[-1]}"


def _of_call(node: ast.Call) -> Iterator[tuple[str, str]]:
    func = node.func
    name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""

    def text(func: ast.expr, args: list[ast.expr], keywords: list[ast.keyword]) -> str:
        return ast.unparse(ast.Call(func, args, keywords))

    if name in CALLED:
        other: ast.expr = (
            ast.Attribute(func.value, CALLED[name], ast.Load())
            if isinstance(func, ast.Attribute)
            else ast.Name(CALLED[name], ast.Load())
        )
        yield "extremum or kind of call", text(other, node.args, node.keywords)
    if name in ("max", "maximum", "min", "minimum", "abs", "sqrt") and node.args:
        yield "term dropped", ast.unparse(node.args[0])
    if name in ("copy", "astype") and isinstance(func, ast.Attribute):
        yield "copy dropped", ast.unparse(func.value)
    plain = len(node.args) >= 2 and not any(isinstance(arg, ast.Starred) for arg in node.args[:2])
    if plain and name not in NOT_SWAPPED:
        first, second, *rest = node.args
        yield "arguments swapped", text(func, [second, first, *rest], node.keywords)
    for k, keyword in enumerate(node.keywords):
        if keyword.arg is not None:
            rest_of = node.keywords[:k] + node.keywords[k + 1 :]
            yield "keyword dropped", text(func, node.args, rest_of)
