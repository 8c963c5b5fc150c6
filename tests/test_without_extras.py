"""The library without the packages of its extras: the core works, the rest names what to install."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hidden_packages import HIDDEN
from without_extras import NEEDS, WORKS

HIDING = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); from hidden_packages import hide; hide()"


def without(code, **options):
    """Run code in a process where the packages are hidden."""
    program = [sys.executable, "-W", "error", "-c", f"{HIDING}\n{code}"]
    return subprocess.run(program, capture_output=True, text=True, **options)


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bare")
    known = {"ORACLE_OPT_DATA", "ORACLE_OPT_CACHE", "ORACLE_OPT_PROBLEMS"}
    environment = {name: value for name, value in os.environ.items() if name not in known}
    environment["ORACLE_OPT_CACHE"] = str(folder / "cache")
    done = without(f"from without_extras import main; main({str(folder)!r})", env=environment, cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_packages_were_hidden(answers):
    assert answers["loaded"] == []


@pytest.mark.parametrize("name", WORKS)
def test_the_core_needs_no_extra(answers, name):
    assert answers["works"][name] <= 1e-3


@pytest.mark.parametrize("name", NEEDS)
def test_what_needs_a_package_names_it_and_its_extra(answers, name):
    package, extra, _ = NEEDS[name]
    words = answers["needs"][name]
    assert words.startswith(f"`{package}` is needed for ")
    assert words.endswith(f": pip install 'oracle-opt[{extra}]'")


def command(*arguments):
    return without(
        f"import sys; sys.argv = {['oracle-opt', *arguments]}; from oracle_opt.command import start; start()"
    )


def test_the_command_says_in_one_sentence_what_it_lacks():
    done = command("compare", "wdbc")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "error: `typer` is needed for the command oracle-opt: pip install 'oracle-opt[cli]'\n"


def test_the_doctor_answers_without_any():
    """It sees that packages are installed and cannot be imported, as the test hides them."""
    done = command("doctor")
    assert done.returncode == 1
    assert done.stderr == ""
    assert re.search(r"pandas +BROKEN: ModuleNotFoundError: ", done.stdout)
    assert "gap" in done.stdout.partition("Self-test")[2]
    broken = re.findall(r"^  ([\w-]+) .*BROKEN", done.stdout, re.M)
    assert set(broken) <= {"scikit-learn", *HIDDEN}


def test_the_command_tells_its_version_without_any():
    import oracle_opt

    done = command("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"oracle-opt {oracle_opt.__version__}\n", "")
