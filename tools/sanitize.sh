#!/bin/sh
# The compiled modules under AddressSanitizer and UndefinedBehaviorSanitizer: sanitize.sh [VENV] [pytest arguments]
# Builds into build/sanitize, apart from the environment's own build, and runs the tests of the solvers and the kernels
# there, plainly and with AVX2. Any report ends the run. Needs gcc with libasan and libubsan.
set -eu
cd "$(dirname "$0")/.."
venv=${1:-.venv}
[ $# -eq 0 ] || shift
python=$(pwd)/$venv/bin/python
PATH=$(pwd)/$venv/bin:$PATH
site=$(pwd)/build/sanitize/site
report=$(pwd)/build/sanitize/report
flags="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g"

rm -rf build/sanitize
"$python" -m pip install --quiet --no-deps --no-build-isolation --target "$site" \
    -Cbuild-dir=build/sanitize/objects -Csetup-args=-Dc_args="$flags" -Csetup-args=-Dc_link_args="$flags" .

if [ $# -eq 0 ]; then
    set -- tests/test_svm.py tests/test_svm_active.py tests/test_svm_certificates.py tests/test_svm_kinds.py \
        tests/test_svm_newton.py tests/test_packed.py tests/test_kernels.py tests/test_rbf_bank.py tests/test_lp_mkl.py \
        tests/test_mkl_updates.py tests/test_multipliers.py tests/test_center_steps.py
fi
for baseline in "" 1; do
    echo "sanitized, ORACLE_OPT_BASELINE=$baseline"
    # The editable install of the environment must not answer for the library.
    status=0
    LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)" \
        ASAN_OPTIONS="detect_leaks=0:log_path=$report" UBSAN_OPTIONS="print_stacktrace=1:log_path=$report" \
        ORACLE_OPT_BASELINE=$baseline OPENBLAS_NUM_THREADS=1 "$python" -P - "$site" "$@" <<'PYTHON' || status=$?
import sys

sys.meta_path = [finder for finder in sys.meta_path if type(finder).__name__ != "MesonpyMetaFinder"]
sys.path.insert(0, sys.argv[1])
import oracle_opt.oracles.svm.separable_dual as box
import pytest

assert box.__file__.startswith(sys.argv[1]), box.__file__
print(box.solve_signed.__module__)
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[2:]]))
PYTHON
    # pytest keeps what tests write, so reports go to files.
    cat "$report".* 2>/dev/null || echo "no report"
    [ "$status" -eq 0 ] || exit "$status"
done
