"""Running what is missing of a grid: in this process, in processes of our own, or by an executor of the user's."""

from collections import deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait

from oracle_opt.executors import sendable
from oracle_opt.study.execute import InstanceGone, Task, execute, forget
from oracle_opt.study.lanes import ForeignLane, Group, Lane, Ledger, OwnProcess, new_generator
from oracle_opt.study.machine import cores
from oracle_opt.study.records import FinishedRun, Settings

INSTEAD = (
    "Give a function of a seed that makes the oracle in its place, or pass `jobs=1`, and everything is done in this "
    "process"
)
WINDOW = 32  # runs that a user's executor is given at a time, as it does not say how many it can do


def run_groups(
    groups: Sequence[Group], settings: Settings, executor: Executor | None, jobs: int | None, ledger: Ledger
) -> None:
    """Do the runs of all groups, each with one thread of linear algebra."""
    if executor is None:
        jobs = min(cores() if jobs is None else jobs, max(1, len(groups)))
        if jobs == 1:
            _run_here(groups, settings, ledger)
            return
    for group in groups:
        sendable(f"instances[{group.instance.name!r}]", group.instance, INSTEAD)
        for name, generator in group.generators.items():
            sendable(f"generators[{name!r}]", new_generator(generator), INSTEAD)
    if executor is None:
        assert jobs is not None
        lanes: list[Lane] = [OwnProcess(settings, jobs) for _ in range(jobs)]
    else:
        jobs = WINDOW if jobs is None else jobs
        lanes = [ForeignLane(settings, min(jobs, cores()), executor) for _ in range(min(jobs, max(1, len(groups))))]
    _run_in_lanes(deque(groups), lanes, ledger)


def _run_here(groups: Sequence[Group], settings: Settings, ledger: Ledger) -> None:
    try:
        for group in groups:
            forget()
            for name, row in group.rows.items():
                if not ledger.found(row):
                    task = Task(row, group.instance, group.generators[name], settings, group.expected, 1)
                    ledger.done(execute(task))
    finally:
        forget()


def _run_in_lanes(waiting: deque[Group], lanes: Sequence[Lane], ledger: Ledger) -> None:
    busy: dict[Future[FinishedRun], Lane] = {}

    def go_on(lane: Lane) -> None:
        future = lane.next(waiting, ledger)
        if future is not None:
            busy[future] = lane

    try:
        for lane in lanes:
            go_on(lane)
        while busy:
            for future in wait(busy, return_when=FIRST_COMPLETED).done:
                lane = busy.pop(future)
                try:
                    run = future.result()
                except InstanceGone:
                    busy[lane.again()] = lane
                    continue
                except Exception as problem:
                    run = lane.failed(problem)
                ledger.done(run)
                go_on(lane)
    finally:
        for lane in lanes:
            lane.end()
