"""The packages of the extras, hidden as if they were not installed; what they depend on is not."""

import sys

HIDDEN = {
    *("pandas", "pyarrow", "matplotlib", "sklearn", "typer", "rich", "loky", "cloudpickle", "threadpoolctl"),
    *("dask", "distributed", "plotly", "PIL", "linopy", "pyomo"),
}


class Hidden:
    """Finds nothing, and lets nobody else look for what is hidden."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def hide():
    """Hide them in this process, from now on."""
    sys.meta_path.insert(0, Hidden())


def loaded():
    """Those of them that were imported all the same."""
    return sorted(HIDDEN & {name.split(".")[0] for name in sys.modules})
