"""Problems with names: instances to compare generators on."""

from oracle_opt.problems.instance import Instance, Problem

__all__ = ["Instance", "Problem"]
