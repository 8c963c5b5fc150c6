"""The two builds of the compiled loops: the same answers up to rounding, and a choice between them."""

import importlib
import os
import subprocess
import sys

import numpy as np
import pytest

from oracle_opt.oracles._processor import AVX2

MODULES = (
    "oracle_opt.oracles.svm._smo",
    "oracle_opt.oracles.mkl._lpmkl",
    "oracle_opt.oracles.kernels._packed",
    "oracle_opt.oracles.kernels._pair_rows",
)


def of_avx2(module):
    return f"oracle_opt.oracles.avx2.{module.rpartition('.')[2]}"


def both(module):
    if not AVX2:
        pytest.skip("one build only on this processor, or the plain one is forced")
    return importlib.import_module(module), importlib.import_module(of_avx2(module))


@pytest.mark.parametrize("C", [1.0, 100.0, 1e4])
@pytest.mark.parametrize("n", [3, 64, 131])
def test_solver_gives_the_same_answer(n, C):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 4))
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2)) / n
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    answers = []
    for module in both("oracle_opt.oracles.svm._smo"):
        b = np.zeros(n)
        lower, upper = np.minimum(C * y, 0.0), np.maximum(C * y, 0.0)
        exact = None, None, False, 0.0, 0.0, 0.0  # no kink, no ridge, ends that count; sum, offset, noise
        g, dual, primal, gap, bias, *_ = module.solve_signed(K, y, lower, upper, *exact, b, 1e-12, 1e-6, 1_000_000)
        assert 0 <= gap <= 1e-11 * dual  # the rounding of the sums included
        assert dual <= primal <= dual * (1 + 1e-10)
        answers.append((b, g, dual, bias))
    one, other = answers
    np.testing.assert_allclose(one[0], other[0], rtol=0, atol=1e-12 * n * C)
    np.testing.assert_allclose(one[1], other[1], rtol=0, atol=1e-10)
    assert one[2] == pytest.approx(other[2], rel=1e-12)
    assert one[3] == pytest.approx(other[3], rel=0, abs=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_stack_gives_the_same_sums(dtype):
    rng = np.random.default_rng(0)
    store, weights = rng.normal(size=(45, 33)).astype(dtype), rng.normal(size=8)
    v = rng.normal(size=9)
    halves = np.ascontiguousarray(store.T)
    support, kernels = np.arange(8), np.arange(33)
    K = np.zeros((9, 9))
    results = []
    packed, of_pairs = both("oracle_opt.oracles.kernels._packed"), both("oracle_opt.oracles.kernels._pair_rows")
    for module, pairs in zip(packed, of_pairs, strict=True):
        total, forms, products, others = np.empty((1, 33)), np.empty(33), np.empty((3, 33)), np.empty((2, 33))
        pairs.weighted_rows(store, support, weights, total, 1)
        pairs.pair_products(store, np.array([support, support + 9]), weights, others, 1)
        module.combine_halves(halves, support, weights, K, 1)
        module.packed_forms(halves, kernels, np.arange(9), v, forms, 1)
        module.row_products(halves, kernels, support[:3], support, weights, products, 1)
        results.append(np.r_[total.ravel(), K.ravel(), forms, products.ravel(), others.ravel()])
    np.testing.assert_allclose(*results, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("forced", [False, True])
def test_environment_forces_the_plain_build(forced):
    code = (
        "import sys, oracle_opt.oracles.mkl, oracle_opt.oracles._processor as processor;"
        "print(processor.AVX2, processor.AVX512, *(m for m in sys.modules if m.startswith('oracle_opt')))"
    )
    environment = {key: value for key, value in os.environ.items() if key != "ORACLE_OPT_BASELINE"}
    environment |= {"ORACLE_OPT_BASELINE": "1"} if forced else {}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    chosen, widest, *loaded = done.stdout.split()
    assert not (forced and chosen == "True")
    for module in MODULES:
        assert (of_avx2(module) in loaded) == (chosen == "True")
    wide = ("oracle_opt.oracles.avx2.", "oracle_opt.oracles.avx512.")
    assert chosen == "True" or not any(module.startswith(wide) for module in loaded)
    folder = "avx512" if widest == "True" else "avx2" if chosen == "True" else "kernels"
    for name in ("_rbf", "_feature_kernels"):
        on_the_fly = [m for m in loaded if f".{name}" in m and "_build" not in m]
        assert on_the_fly == [f"oracle_opt.oracles.{folder}.{name}"]


@pytest.mark.parametrize("baseline", ["", "1"])
@pytest.mark.parametrize("folder", ["avx2", "avx512"])
def test_loops_for_other_processors_are_refused_before_they_are_loaded(folder, baseline):
    """What is compiled for more instructions than a processor has would end its process by a signal."""
    environment = os.environ | {"ORACLE_OPT_BASELINE": baseline}
    for name in ("_feature_kernels", "_rbf"):
        module = f"oracle_opt.oracles.{folder}.{name}"
        code = f"import oracle_opt.oracles._processor as p; print(p.{folder.upper()}, flush=True); import {module}"
        done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, env=environment)
        if done.stdout == "True\n":
            assert not baseline
            assert done.returncode == 0, done.stderr
        else:
            assert done.returncode == 1
            assert "ImportError: this processor has no AVX" in done.stderr


def test_a_walk_over_the_package_imports_each_module():
    """As tools for documentation do, also where a processor lacks instructions."""
    code = "import pkgutil, oracle_opt as p; print(*(m.name for m in pkgutil.walk_packages(p.__path__, 'oracle_opt.')))"
    for environment in (os.environ, os.environ | {"ORACLE_OPT_BASELINE": "1"}):
        done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        assert "oracle_opt.oracles.kernels._rbf" in done.stdout.split()
