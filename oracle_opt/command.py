"""The entry point of the script oracle-opt: the command, or one sentence where its packages are missing."""

import sys

from oracle_opt.errors import MissingPackage
from oracle_opt.optional import require


def start() -> None:
    """Run the command oracle-opt; without the extra `cli` only ``--version`` and ``doctor`` answer, exit code 2."""
    try:
        require("typer", "cli", "the command oracle-opt")
        require("rich", "cli", "the command oracle-opt")
    except MissingPackage as problem:
        if sys.argv[1:] == ["--version"]:
            import oracle_opt

            sys.stdout.write(f"oracle-opt {oracle_opt.__version__}\n")
            return
        if sys.argv[1:] == ["doctor"]:
            from oracle_opt.doctor.__main__ import run

            run()
        sys.stderr.write(f"error: {problem}\n")
        sys.exit(2)
    from oracle_opt.cli import main

    main()
