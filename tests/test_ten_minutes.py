"""The page "Kernel learning in ten minutes" is a stranger's notebook: it runs as written, and what it says is so."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.svm import SVC
from test_docs import ROOT, examples

PAGE = ROOT / "docs" / "ten_minutes.md"
PREDICT = """
import pickle, sys
import pandas as pd
with open("wines.model", "rb") as file:
    model = pickle.load(file)
print(*model.predict(pd.read_csv("new.csv")), sep="\\n")
"""


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """What the page leaves behind: its names, and the folder it ran in."""
    folder = tmp_path_factory.mktemp("notebook")
    mpl.use("Agg")
    names = {"__name__": "notebook"}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line, source in examples(PAGE):
            exec(compile("\n" * (line - 1) + source, str(PAGE), "exec"), names)
    return names, folder


def test_the_file_has_labels_as_text_and_three_classes(notebook):
    names, folder = notebook
    table = pd.read_csv(folder / "wines.csv")
    assert len(table) == 178
    assert sorted(table["cultivar"].unique()) == ["cultivar 0", "cultivar 1", "cultivar 2"]
    assert names["best"].classes_.tolist() == sorted(table["cultivar"].unique())


def test_new_rows_are_told_apart(notebook):
    names, _ = notebook
    assert names["search"].score(names["X_test"], names["y_test"]) >= 0.9
    assert names["by_norm"].score(names["X_test"], names["y_test"]) >= 0.9


def test_the_gap_is_that_of_machines_solved_elsewhere(notebook):
    """At the weights found no machine's objective is further above the proven bound than the gap says."""
    names, _ = notebook
    best, scaler = names["best"], names["search"].best_estimator_[0]
    X, y = scaler.transform(names["X_train"]), names["y_train"].to_numpy()
    assert 0 <= best.gap_ <= 1e-4
    bank = names["kernels"].fit(X)
    for label, weights, history in zip(best.classes_, best.weights_, best.history_, strict=True):
        K, sign = bank.combine(weights), np.where(y == label, 1.0, -1.0)
        b = np.zeros(len(y))
        machine = SVC(C=best.C, kernel="precomputed", tol=1e-8).fit(K, sign)
        b[machine.support_] = machine.dual_coef_[0]
        objective = np.abs(b).sum() - 0.5 * b @ K @ b
        least = history.lower_bound[-1]
        assert least <= objective * (1 + 1e-6)
        assert objective - least <= (best.gap_ + 1e-6) * objective


def test_weights_stand_in_a_table_with_groups(notebook):
    names, folder = notebook
    weights, best = names["weights"], names["best"]
    assert set(weights["group"]) == set(names["groups"])
    assert len(weights) == 7 * len(names["groups"])
    assert np.allclose(names["by_group"].sum(), 1.0, atol=1e-6)
    assert weights["kernel"].is_unique
    assert all(name.endswith(group) for name, group in zip(weights["kernel"], weights["group"], strict=True))
    assert (best.weights_ >= 0).all()
    assert names["by_group"].loc["minerals"].max() < 0.01  # as the page says
    assert (best.weights_ > 1e-3).any(axis=0).sum() <= 10
    assert (folder / "weights.png").read_bytes().startswith(b"\x89PNG")


def test_the_stored_model_predicts_the_same_in_another_process(notebook):
    names, folder = notebook
    names["X_test"].to_csv(folder / "new.csv", index=False)
    done = subprocess.run([sys.executable, "-c", PREDICT], capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:-1] == names["search"].predict(names["X_test"]).tolist()
    assert (folder / "wines.model").stat().st_size < 100_000


def test_every_way_to_name_a_kernel_gets_a_name(notebook):
    names, _ = notebook
    bank = names["bank"]
    assert bank.groups == ("all columns", "phenols", "phenols", "amounts", *bank.groups[4:])
    assert len(bank.groups) == 4 + 9
    assert len(set(bank.names)) == bank.n_kernels
