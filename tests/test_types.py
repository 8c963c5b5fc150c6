"""Types: what users' programs are told, and that declarations of compiled modules are true."""

import ast
import importlib
import importlib.util
import inspect
import subprocess
import sys

import pytest
from checkout import ROOT, needs_sources

FOLDERS = ("oracle_opt", "oracles", "generators")
COMPILED = sorted(path.relative_to(ROOT) for folder in FOLDERS for path in (ROOT / folder).rglob("*.pyx"))
PROGRAM = """
from oracle_opt import Result, minimize
from oracle_opt.generators import LevelSet
from oracle_opt.oracles import GramBank, MKLOracle
from oracle_opt.oracles.svm import solve_csvc

reveal_type(MKLOracle)
oracle = MKLOracle(GramBank([[[1.0, 0.0], [0.0, 1.0]]]), [1, -1], C=1.0)
result: Result = minimize(oracle, LevelSet())
reveal_type(result.n_calls)
minimize(LevelSet(), oracle)
minimize()
solve_csvc()
"""

pytestmark = needs_sources


def link(folder):
    """Package with the three folders in one namespace, made by the tool of the test command."""
    specification = importlib.util.spec_from_file_location("link_types", ROOT / "tools" / "link_types.py")
    tool = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(tool)
    return tool.link(folder)


def test_program_of_a_user_is_checked(tmp_path):
    package = link(ROOT / "build" / "types")
    assert (package / "py.typed").exists()
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--no-color-output", str(program)]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    said = {int(line.split(":")[1]): line for line in checked.stdout.splitlines() if "program.py:" in line}
    assert sorted(said) == [7, 10, 11, 12, 13], checked.stdout
    assert "bank: oracle_opt.oracles.kernels.base.KernelBank" in said[7]
    assert '"int"' in said[10] or '"builtins.int"' in said[10]
    assert "[arg-type]" in said[11]
    assert "[call-arg]" in said[12]
    assert "[call-arg]" in said[13]


@pytest.mark.parametrize("source", COMPILED, ids=str)
def test_compiled_module_is_declared(source):
    """The names a stub declares are those the module defines, and functions have the same parameters."""
    module = importlib.import_module("oracle_opt." + ".".join(source.with_suffix("").parts).removeprefix("oracle_opt."))
    declared = {}
    for node in ast.parse((ROOT / source.with_suffix(".pyi")).read_text()).body:
        if isinstance(node, ast.FunctionDef):
            declared[node.name] = [argument.arg for argument in node.args.args]
        elif isinstance(node, ast.ClassDef):
            declared[node.name] = None
        elif isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) != "TypeAlias":
            declared[node.target.id] = None
    defined = {
        name
        for name, value in vars(module).items()
        if not name.startswith("__") and str(getattr(value, "__module__", "")).endswith(source.stem)
    }
    assert defined <= set(declared)
    assert declared
    for name, parameters in declared.items():
        value = getattr(module, name)
        if parameters is not None:
            assert list(inspect.signature(value).parameters) == parameters
