"""How much of the machine's memory an instance may take that is made here."""

from __future__ import annotations

from contextvars import ContextVar

# How many processes of a study make instances on this machine at the same time.
processes: ContextVar[int] = ContextVar("processes", default=1)


def share_of_memory() -> int | None:
    """Bytes that the kernels of one instance may take: most of the memory, shared by the processes of a study.

    Returns
    -------
    int or None
        None where the machine does not tell how much it has.
    """
    from oracle_opt.oracles.kernels.bank_checks import most_of_memory

    memory = most_of_memory()
    return None if memory is None else memory // processes.get()
