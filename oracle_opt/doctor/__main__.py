"""``python -m oracle_opt.doctor`` is ``oracle-opt doctor`` without the packages that the command needs."""

import sys
from typing import NoReturn

from oracle_opt.doctor import examine


def run() -> NoReturn:
    """Print the diagnosis, and end the program: with exit status 1 if something is broken."""
    diagnosis = examine()
    sys.stdout.write(f"{diagnosis}\n")
    sys.exit(0 if diagnosis.healthy else 1)


if __name__ == "__main__":
    run()
