"""The benchmark folder for benchopt: what is refused, and what benchopt itself makes of it."""

import ast
import importlib.util
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from failing_generators import Broken

from oracle_opt import InvalidArgument, minimize
from oracle_opt.generators import ForeignSolver, Kelley, LevelSet
from oracle_opt.problems import Instance, Problem, find
from oracle_opt.study import export_benchopt
from oracle_opt.study.methods import generator_of

PROBLEMS = ["nonsmooth/CB2", "max-affine(n=5, seed=1)"]
GENERATORS = {"kelley": "kelley", "central/ball": Kelley(chebyshev=True), "mirror": "mirror-descent"}
needs_benchopt = pytest.mark.skipif(
    importlib.util.find_spec("benchopt") is None, reason="benchopt is not installed: pip install 'oracle-opt[peers]'"
)


def test_the_files(tmp_path):
    folder = export_benchopt(tmp_path / "new" / "bench", PROBLEMS, GENERATORS, name="Kinks", rtol=1e-4, max_calls=77)
    files = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}
    assert set(files) == {
        *("objective.py", "README.md", "datasets/nonsmooth.py", "datasets/max_affine.py"),
        *("solvers/kelley.py", "solvers/central_ball.py", "solvers/mirror.py"),
    }
    for path, text in files.items():
        if path.endswith(".py"):
            ast.parse(text)
            assert max(map(len, text.splitlines())) < 130
            assert "$" not in text
    assert "name = 'Kinks'" in files["objective.py"]
    assert "'CB2': 'nonsmooth/CB2'" in files["datasets/nonsmooth.py"]
    assert "Kelley(chebyshev=True, max_cuts=5000, tune_accuracy=False)" in files["solvers/central_ball.py"]
    assert "name = 'central ball'" in files["solvers/central_ball.py"]  # benchopt takes no slash in names
    assert "rtol=0.0001, max_calls=77" in files["solvers/kelley.py"]


@pytest.mark.to_the_bit
@needs_benchopt
def test_benchopt_runs_it_and_gets_our_values(tmp_path):
    """Every point of every curve is what a run of ours had after as many calls; a solver added by the README runs."""
    folder = export_benchopt(tmp_path / "bench", PROBLEMS, GENERATORS)
    (listing,) = re.findall(r"^```python\n(.*?)^```$", (folder / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    (folder / "solvers" / "added.py").write_text(listing)
    output = tmp_path / "out.parquet"
    command = [
        sys.executable,
        "-m",
        "benchopt",
        "run",
        str(folder),
        "--no-plot",
        "--no-display",
        "--output",
        str(output),
    ]
    environment = os.environ | {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment, cwd=tmp_path)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "Traceback" not in said
    assert said.count("it needs a domain made of simplices") == 2  # mirror descent is skipped, with its reason
    curves = pd.read_parquet(output)
    assert set(curves["solver_name"]) == {"kelley", "central ball", "scipy L-BFGS-B"}
    for text in PROBLEMS:
        problem = find(text)[0]()
        of_problem = curves[curves["dataset_name"].str.contains(text.partition("/")[2] or text, regex=False)]
        for name, words in (("kelley", "kelley"), ("central ball", "kelley(chebyshev=True)")):
            history = minimize(problem.oracle, generator_of(words), problem.start).history
            curve = of_problem[of_problem["solver_name"] == name]
            after = curve[curve["objective_calls"] > 0]
            calls = after["objective_calls"].to_numpy().astype(int)
            assert calls[-1] == len(history)
            assert len(calls) >= 8
            assert (np.diff(calls) > 0).all()
            np.testing.assert_array_equal(after["objective_value"], history.upper_bound[calls - 1])
            np.testing.assert_array_equal(after["objective_lower_bound"], history.lower_bound[calls - 1])
            np.testing.assert_allclose(after["objective_relative_gap"], history.relative_gap[calls - 1], rtol=1e-9)
            np.testing.assert_allclose(
                after["objective_above_optimum"], after["objective_value"] - problem.optimum, atol=1e-12
            )
            first = curve.iloc[0]
            assert (first["stop_val"], first["objective_calls"]) == (0, 0)
            assert np.isnan(first["objective_lower_bound"])
        added = of_problem[of_problem["solver_name"] == "scipy L-BFGS-B"]
        assert added["objective_value"].min() >= problem.optimum - problem.optimum_error
        assert added["objective_value"].iloc[-1] < added["objective_value"].iloc[0]
        assert added["objective_lower_bound"].isna().all()
        assert added["objective_calls"].iloc[-1] > 1


def make(seed):
    return Instance(find("nonsmooth/CB2")[0]().oracle)


def test_what_cannot_be_exported(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    own = Problem("mine/own", "mine", 2, make, "drawn by hand")
    posed = Problem("nonsmooth/CB2", "nonsmooth", 2, make, "another CB2")

    def solve(function, start, domain):
        return None

    new = tmp_path / "new"
    for match, folder, problems, generators, further in [
        ("`folder` must be new or empty", tmp_path / "full", PROBLEMS, GENERATORS, {}),
        ("`folder` must be new or empty", tmp_path / "full" / "file", PROBLEMS, GENERATORS, {}),
        ("`problems` must hold at least one", new, [], GENERATORS, {}),
        ("`problems` must be a list", new, "nonsmooth/CB2", GENERATORS, {}),
        ("`problems` must hold words", new, [3], GENERATORS, {}),
        ("no family of problems", new, [own], GENERATORS, {}),
        ("finds by their names", new, [posed], GENERATORS, {}),
        ("`generators` must be at least one", new, PROBLEMS, {}, {}),
        ("written down, got solve=", new, PROBLEMS, {"own": ForeignSolver(solve)}, {}),
        ("differ in letters and digits, got 'a.b'", new, PROBLEMS, {"a b": LevelSet(), "a.b": LevelSet()}, {}),
        ("`rtol`", new, PROBLEMS, GENERATORS, {"rtol": -1}),
        ("`max_calls`", new, PROBLEMS, GENERATORS, {"max_calls": 0}),
    ]:
        with pytest.raises(InvalidArgument, match=re.escape(match) if "`" in match else match):
            export_benchopt(folder, problems, generators, **further)
    assert not new.exists()


def test_an_own_class_is_imported_from_its_module(tmp_path):
    folder = export_benchopt(tmp_path / "bench", PROBLEMS, {"own": Broken()})
    assert "from failing_generators import Broken" in (folder / "solvers" / "own.py").read_text()

    class Inner(LevelSet):
        pass

    with pytest.raises(InvalidArgument, match="at the top of a module"):
        export_benchopt(tmp_path / "other", PROBLEMS, {"own": Inner()})
