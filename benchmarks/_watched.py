"""Processor seconds and peak memory of a command: ``python -S _watched.py SECONDS COMMAND``; "" is no limit.

What `wait4` tells of a child's memory is at least that of the process that started it, on Linux. So this one starts it:
a bare interpreter of some 10 MB, that prints what it saw as JSON.
"""

import json
import os
import signal
import subprocess
import sys
import time


def main():
    """Start the command, kill it if it takes longer, and tell how it ended."""
    limit, *command = sys.argv[1:]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        killed = False
        if limit:
            end = time.monotonic() + float(limit)
            while running := os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                if time.monotonic() > end:
                    break
                time.sleep(0.05)
            if killed := running:
                child.send_signal(signal.SIGKILL)
        printed = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    told = {"printed": printed, "killed": killed, "code": child.returncode}
    print(json.dumps(told | {"seconds": usage.ru_utime + usage.ru_stime, "peak": usage.ru_maxrss / 2**20}))


if __name__ == "__main__":
    main()
