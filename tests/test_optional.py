"""Packages of the extras: named with the way to install them where they are missing."""

import pickle

import pytest

from oracle_opt import MissingPackage, OracleOptError
from oracle_opt.optional import require


def test_a_package_that_is_here_is_imported():
    assert require("json.decoder", "study", "nothing").__name__ == "json.decoder"


@pytest.mark.parametrize("module", ["no_such_package", "no_such_package.part"])
def test_a_missing_package_is_named_with_its_extra(module):
    with pytest.raises(
        MissingPackage, match=r"^`no_such_package` is needed for tables: pip install 'oracle-opt\[study\]'$"
    ):
        require(module, "study", "tables")


def test_a_missing_package_is_an_import_error_of_the_library_and_is_sent_between_processes():
    with pytest.raises(ImportError) as caught:
        require("no_such_package", "study", "tables")
    assert isinstance(caught.value, OracleOptError)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (type(copy), str(copy), copy.name) == (MissingPackage, str(caught.value), "no_such_package")


def test_the_name_to_install_is_said_where_it_is_another(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sklearn", None)
    with pytest.raises(MissingPackage, match="`scikit-learn` is needed for splits"):
        require("sklearn", "learn", "splits")


def test_what_a_package_itself_lacks_is_not_hidden(tmp_path, monkeypatch):
    (tmp_path / "half_installed.py").write_text("import no_such_part\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_part") as caught:
        require("half_installed", "study", "tables")
    assert not isinstance(caught.value, MissingPackage)
