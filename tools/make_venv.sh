#!/bin/sh
# Make a virtual environment: make_venv.sh PYTHON FOLDER
# Debian splits Python: `venv` needs python3-venv, the compiled modules need the headers of python3-dev.
set -eu
python=$1
folder=$2

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "oracle_opt needs Python 3.11 or newer, got $("$python" --version)" >&2
    exit 1
fi

missing=""
"$python" -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"
"$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))' ||
    missing="$missing python3-dev"
if [ -n "$missing" ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "installing$missing"
        apt-get update -qq
        # shellcheck disable=SC2086
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
    else
        echo "Python lacks parts that Debian packages apart; run: sudo apt-get install$missing" >&2
        exit 1
    fi
fi
"$python" -m venv "$folder"
