"""Packages that only a part of the library needs: imported on first use, or named with the way to install them."""

from importlib import import_module
from types import ModuleType

from oracle_opt.errors import MissingPackage


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """Import a module of a package that comes with an extra of oracle-opt."""
    package = module.split(".")[0]
    try:
        import_module(package)
        return import_module(module)
    except ModuleNotFoundError as problem:
        if problem.name is None or problem.name.split(".")[0] != package:
            raise  # it is here, and lacks something itself
        name = DISTRIBUTIONS.get(package, package)
        raise MissingPackage(
            f"`{name}` is needed for {purpose}: pip install 'oracle-opt[{extra}]'", name=module
        ) from problem


DISTRIBUTIONS = {"sklearn": "scikit-learn"}  # where a package is installed under another name than it is imported by
