# make demo   the main job on real data, in a virtual environment of its own
# make test   lint, types and all tests, campaigns by a sample; what wants packages of EXTRA=dev is skipped without them
# make newest the same with the newest packages on the newest Python at hand, whatever the lock file says
# make lock   requirements.lock anew: the newest packages that pip finds for $(PYTHON), which all installs then take
# make affected  the tests that the changes since the last commit on main can reach, by the import graph
# make rounding  tests of ends, calls, statuses and level sets, every answer moved by one unit in the last place
# make campaigns  all cases of the campaigns: many random problems in search of a false statement
# make bench  all benchmarks, hours; rewrites docs/performance.md (BENCH="--only footprint" or --quick for less)
# make figures  the measured tables of the documentation, the stalest first
# make site   the documentation as a site, in build/site
# make sanitize  tests of the compiled modules under AddressSanitizer and UndefinedBehaviorSanitizer, some ten minutes
# make wheel  a release on this machine, and its tests as users get it; make oldest  the same with the oldest packages
# make release  all of these in order; their outcomes go to docs/reliability.md
# make clean  remove the environment and what was built

VENV ?= .venv
PYTHON ?= python3
# What of pyproject.toml is installed to test: `test`, or `dev`, which has the packages of all tests and of the site.
EXTRA ?= test
LOCK ?= requirements.lock
BIN := $(VENV)/bin
# The build finds meson and ninja, and an editable install its own ninja later, in the environment.
export PATH := $(CURDIR)/$(BIN):$(PATH)
PIP := $(BIN)/python -m pip install --quiet $(if $(LOCK),--constraint $(LOCK))
# What an installed environment depends on; the sources themselves are rebuilt on import (editable install).
BUILD_FILES := pyproject.toml meson.options meson.build $(wildcard */meson.build */*/meson.build)

.PHONY: demo test newest lock affected rounding campaigns bench figures site sanitize wheel oldest release clean

demo: $(VENV)/.installed
	$(BIN)/oracle-opt compare wdbc --splits 2 --jobs 2 --max-calls 100 --out demo-report

test: $(VENV)/.installed-$(EXTRA)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/cython-lint oracle_opt oracles generators
	$(BIN)/python tools/link_types.py
	$(BIN)/mypy
	# an editable install builds what changed when it is imported: once, before two processes do; and it keeps no bytecode
	$(BIN)/python -P -c "import oracle_opt.oracles"
	$(BIN)/python -m compileall -q oracle_opt oracles generators
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2 --dist loadfile --durations 40

# The first that runs: a name may be there that stands for no version of pyenv.
NEWEST ?= $(firstword $(foreach python,$(foreach minor,14 13 12 11,python3.$(minor) \
	$(wildcard $(HOME)/.pyenv/versions/3.$(minor).*/bin/python)) python3,$(shell $(python) -c "" 2>/dev/null && echo $(python))))
newest:
	rm -rf .venv-newest
	$(MAKE) VENV=.venv-newest LOCK= PYTHON=$(NEWEST) test
	@.venv-newest/bin/python -P -c "import platform as p, numpy as n, scipy as s; \
		print('tried with', ', '.join([p.python_version(), n.__version__, s.__version__]))"

# Lines of other Pythons stay.
lock:
	rm -rf build/lock
	$(MAKE) VENV=build/lock LOCK= build/lock/.installed-dev
	build/lock/bin/python -m pip freeze --exclude-editable > build/lock/frozen
	python=$$(build/lock/bin/python -c "import sys; print('%d.%d' % sys.version_info[:2])"); \
	grep -v "python_version == \"$$python\"" requirements.lock > build/lock/all; \
	sed "s/\$$/; python_version == \"$$python\"/" build/lock/frozen >> build/lock/all
	cp build/lock/all requirements.lock
	rm -rf build/lock

affected: $(VENV)/.installed-$(EXTRA)
	$(BIN)/python -P -c "import oracle_opt.oracles"
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2 --dist loadfile $$($(BIN)/python tools/affected.py)

# What another processor would round otherwise; of all tests: `pytest --ulp SEED`.
SEED ?= 1
ROUNDED := $(wildcard $(addprefix tests/test_,ends.py driver*.py level_set.py guarantees.py frank_wolfe.py trust_region.py \
	calls*.py call_counts.py conformance*.py choose.py statuses*.py infinite*.py benders.py conic_first.py unbounded*.py))
rounding: $(VENV)/.installed-$(EXTRA)
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest --ulp $(SEED) --numprocesses 2 --dist loadfile $(ROUNDED)

campaigns: $(VENV)/.installed-$(EXTRA)
	$(BIN)/python -P -c "import oracle_opt.oracles"
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest --campaigns -m campaign --numprocesses 2 --dist loadfile

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/run.py $(BENCH)

figures: $(VENV)/.installed-dev
	$(BIN)/python docs/list_figures.py

$(VENV)/.ready: tools/make_venv.sh $(LOCK)
	@echo "making the environment $(VENV), with what builds the library"
	sh tools/make_venv.sh $(PYTHON) $(VENV)
	$(PIP) "meson-python>=0.18" "meson>=1.3" ninja "Cython>=3.1"
	$(PIP) --no-compile "numpy>=2.0" "scipy>=1.14"
	touch $@

# For one run of the demo modules of Python are compiled when they are first imported: most never are. But an editable
# install keeps no bytecode of its own. The loops are compiled once, for the processor at hand, in a folder of their own:
# the other install keeps all builds.
$(VENV)/.installed: $(VENV)/.ready $(BUILD_FILES)
	@echo "compiling and installing the library and its command (some two minutes)"
	$(PIP) --no-compile --no-build-isolation --editable ".[cli,learn]" \
		--config-settings=setup-args=-Dbuilds=here --config-settings=build-dir=$(VENV)/build
	$(BIN)/python -m compileall -q oracle_opt oracles generators
	touch $@

# The newest and the locked packages may be on one Python: each environment has its own builds.
EDITABLE = $(PIP) --no-build-isolation --config-settings=build-dir=$(VENV)/build-all --editable
$(VENV)/.installed-test: $(VENV)/.ready $(BUILD_FILES)
	@echo "compiling and installing the library and the tools of its tests (some minutes)"
	$(EDITABLE) ".[test]"
	touch $@ $(VENV)/.installed

$(VENV)/.installed-dev: $(VENV)/.ready $(BUILD_FILES)
	@echo "compiling and installing the library, the tools of its tests and what pages and comparisons take (some minutes)"
	$(EDITABLE) ".[dev]"
	touch $@ $(VENV)/.installed-test $(VENV)/.installed

site: $(VENV)/.installed-dev
	$(BIN)/python -P -m sphinx -q -W --keep-going -d build/site-trees docs build/site
	@echo "open build/site/index.html"

sanitize: $(VENV)/.installed-dev
	sh tools/sanitize.sh $(VENV)

PYTHONS ?= $(BIN)/python
wheel: $(VENV)/.installed
	for python in $(PYTHONS); do $(BIN)/python tools/check_wheel.py $$python || exit 1; done

oldest: $(VENV)/.installed
	$(BIN)/python tools/check_wheel.py --oldest

release: $(VENV)/.installed-dev
	$(BIN)/python tools/release.py

clean:
	rm -rf $(VENV) .venv-newest build dist demo-report .pytest_cache .mypy_cache .ruff_cache .hypothesis
