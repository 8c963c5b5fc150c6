"""Work in a process of its own: what never returns, or kills the process, is counted and not waited for."""

import multiprocessing
import os
import sys
import traceback
import warnings

CONTEXT = multiprocessing.get_context("spawn")  # a fork would copy locks of threads that it does not copy


def fork():
    """`os.fork` for a child that is killed at once, without the warning of this process's threads, which are idle."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return os.fork()


def guarded(work, items, limit):
    """Yield ``(item, message)`` for every message of ``work(item)``, a generator of things that can be pickled.

    Where the next message takes more than `limit` seconds, or the process dies, the message is an `Abandoned`; the
    work goes on with the next item in a new process.
    """
    items = list(items)
    at = 0
    while at < len(items):
        ours, theirs = CONTEXT.Pipe(duplex=False)
        worker = CONTEXT.Process(target=_serve, args=(work, items[at:], theirs, list(sys.path)), daemon=True)
        worker.start()
        theirs.close()
        last = None
        try:
            while at < len(items):
                # the first message waits for imports, too
                if not ours.poll(limit + 60.0 * (last is None)):
                    yield items[at], Abandoned(f"no answer within {limit:g} s", last)
                    at += 1
                    break
                kind, last_message = ours.recv()
                if kind == "end":
                    at += 1
                elif kind == "error":
                    yield items[at], Abandoned(last_message, last)
                    at += 1
                else:
                    last = last_message
                    yield items[at], last
        except EOFError:
            yield items[at], Abandoned("the process died", last)
            at += 1
        finally:
            worker.kill()
            worker.join()
            ours.close()


class Abandoned:
    """What went wrong, and the last message before it."""

    def __init__(self, words, last):
        self.words = words
        self.last = last


def _serve(work, items, pipe, path):
    """In the other process: send all messages."""
    sys.path[:] = path
    for item in items:
        try:
            for message in work(item):
                pipe.send(("message", message))
            pipe.send(("end", None))
        except Exception:
            pipe.send(("error", traceback.format_exc(limit=-3)))
