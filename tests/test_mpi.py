"""Scenarios of a two-stage program, solved by the processes of MPI."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

import pytest
from test_benders_random import VARY, random_program

from oracle_opt import minimize
from oracle_opt.generators import LevelSet
from oracle_opt.oracles import BendersOracle

SCRIPT = """
import os
from mpi4py.futures import MPIPoolExecutor
from test_mpi import found

if __name__ == "__main__":
    with MPIPoolExecutor() as executor:
        assert executor.submit(os.getpid).result() != os.getpid()
        print(found(executor))
"""
# Open MPI refuses these without being told; other kinds of MPI do not read it.
MORE_PROCESSES_THAN_CORES_AND_ROOT = {
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}


def found(executor: Executor) -> str:
    """Statuses, bounds to the last bit, and calls of runs on random programs."""
    oracles = [BendersOracle(random_program(seed, vary), executor=executor) for seed, vary in enumerate(VARY)]
    runs = [minimize(oracle, LevelSet(), rtol=1e-6) for oracle in oracles]
    return str([(run.status.name, run.upper_bound.hex(), run.lower_bound.hex(), run.n_calls) for run in runs])


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="mpirun is not installed")
def test_processes_of_mpi_find_what_threads_find(tmp_path) -> None:
    pytest.importorskip("mpi4py", reason="mpi4py is not installed: pip install mpi4py")
    (tmp_path / "script.py").write_text(SCRIPT)
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = os.environ | MORE_PROCESSES_THAN_CORES_AND_ROOT | {"PYTHONPATH": paths}
    command = ["mpirun", "-n", "3", sys.executable, "-m", "mpi4py.futures", str(tmp_path / "script.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with ThreadPoolExecutor(2) as executor:
        assert done.stdout.strip() == found(executor)
