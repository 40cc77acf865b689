# clew: `make demo` runs the main job, `make test` the tests before a commit; each sets up what it needs. `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Any interpreter from 3.11 on; the environment is made in .venv and never touches it.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
CLIENT := vscode-client
SAY = @printf '\n\033[1m== %s\033[0m\n'

# A folder of tests for each of them, and `make test-FOLDER`.
PACKAGES := api cli compare esl graph instrument query records server
# Failed and skipped tests are listed at the end.
TOLD := -rfEs
# `loadfile` keeps what a file of tests shares in one process.
PYTEST := $(BIN)/pytest -n 2 --dist loadfile $(TOLD)
MINUTES ?= 10

.PHONY: help setup demo test test-all test-long test-client $(PACKAGES:%=test-%) lint types imports unit journey slow sanitize sanitize-all sanitize-threads fuzz soak mutants cpython cpython-all package packages client panel vsix sdist wheels compile-commands e2e pictures bench clean

help: ## list the targets
	@awk -F':.*## ' '/^#[+] /{printf "\n%s\n", substr($$0, 4)} /^#help /{print "  make " substr($$0, 7)} \
	  /^[a-z0-9-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

#+ Set up and try
# --- set-up ---------------------------------------------------------------------------------------------------------
$(VENV)/.installed: pyproject.toml setup.py $(shell find graph records compare instrument -path "*/csrc/*" -name "*.[ch]" 2>/dev/null)
	$(SAY) "Python environment in $(VENV) (with $(PYTHON))"
	@test -n "$(PYTHON)" || { echo "clew needs Python 3.11 or later: apt-get install python3 python3-venv"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "this Python cannot make virtual environments: apt-get install python3-venv"; exit 1; }
	@echo "downloading and building; the log is $(VENV)/install.log"
	@{ $(BIN)/pip install --disable-pip-version-check --upgrade pip setuptools wheel && \
	   $(BIN)/pip install --disable-pip-version-check -e '.[test,bench]'; } > $(VENV)/install.log 2>&1 \
	 || { tail -n 30 $(VENV)/install.log; echo "the Python environment could not be made"; exit 1; }
	@$(BIN)/python -c 'import sys; from clew.records.extensions import missing; sys.exit(missing() or 0)'
	@touch $@

$(CLIENT)/node_modules/.installed: $(CLIENT)/package.json $(CLIENT)/package-lock.json
	$(SAY) "Node packages of the VS Code client"
	@cd $(CLIENT) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

server/static/index.html: $(CLIENT)/node_modules/.installed $(shell find $(CLIENT)/src -type f 2>/dev/null)
	$(SAY) "The panel"
	@cd $(CLIENT) && npm run --silent build

setup: $(VENV)/.installed server/static/index.html ## set everything up (Python environment, C core, panel)

# --- the main job ---------------------------------------------------------------------------------------------------
demo: setup ## record a small distributed system, ask why a write failed and which function got slower
	@PATH="$(abspath $(BIN)):$$PATH" bash examples/chunkstore/demo.sh

# --- tests ----------------------------------------------------------------------------------------------------------
#+ Test: three tiers, and their parts
test: setup lint imports ## before a commit, about 6 minutes: all but what is slow, and one way through VS Code
	@# The others use the time in which tests wait. Their output is printed when they end, that of the tests as they run.
	+@.ci/parts unit types client journey
	$(SAY) "All tests passed"

test-all: setup ## what `make test` leaves out, within an hour: slow tests, all editor tests, sanitizers, samples, fuzzing
	@# The editor waits more than it works: the others run at the same time.
	+@.ci/parts slow e2e sanitize cpython package fuzz
	$(SAY) "All slow tests passed"

test-long: setup ## several hours: all of CPython's tests, every package, all sanitizers, long soaks and fuzzing
	@$(MAKE) --no-print-directory cpython-all packages sanitize-all sanitize-threads soak fuzz MINUTES=60

#help test-PACKAGE     the quick tests of one package, in seconds to a minute: api, cli, compare, esl, graph, instrument, query, ...
$(PACKAGES:%=test-%): test-%: setup
	@$(PYTEST) -m 'not slow' tests/$*

test-client: client ## the checks of the VS Code client and the panel

lint: $(VENV)/.installed ## ruff (lint and format), clang-format, prose and spelling
	$(SAY) "ruff"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	$(SAY) "clang-format"
	@git ls-files -z '*.c' '*.h' | xargs -0 $(BIN)/clang-format --dry-run -Werror
	$(SAY) "prose"
	@$(BIN)/python tests/support/prose.py
	@git ls-files -z '*.md' '*.py' '*.ts' '*.c' '*.h' '*.toml' | xargs -0 $(BIN)/codespell

# What libraries say of their types is written for the interpreter that they are installed for.
MYPY = $(abspath $(BIN))/mypy --python-version $$($(abspath $(BIN))/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
types: $(VENV)/.installed ## mypy strict
	$(SAY) "mypy --strict"
	@$(MYPY) -p clew
	@cd examples/chunkstore && $(MYPY) --config-file ../../pyproject.toml -p chunkstore
	@cd examples/bookshop && $(MYPY) --config-file ../../pyproject.toml -p bookshop
	@cd examples/topologies && $(MYPY) --config-file ../../pyproject.toml *.py

imports: $(VENV)/.installed ## the import rule: arrows go downward only
	$(SAY) "import rule"
	@PYTHONPATH=.typecheck $(BIN)/lint-imports --no-logo 2>/dev/null || PYTHONPATH=.typecheck $(BIN)/lint-imports
	@$(BIN)/python -m clew.server.protocol.generate_typescript --check
	@$(BIN)/python -m clew.records.format.generate_c --check

unit: setup ## unit, property and golden tests, and the examples, without the slow ones
	$(SAY) "pytest"
	@# With "+" make does not hold the output back.
	+@$(PYTEST) -m 'not e2e and not slow' --durations 12 --durations-min 3

slow: setup ## the slow tests, and every property with all its examples
	$(SAY) "pytest: slow tests, and properties with all examples"
	@$(PYTEST) -m 'not e2e and (slow or hypothesis)' --hypothesis-profile full --durations 12 --durations-min 30

journey: setup ## one way through a real VS Code: a recorded error, why it happened, the panel, back to the code
	$(SAY) "One way through a real VS Code"
	@bash tests/e2e/install.sh
	@$(BIN)/pytest -m journey tests/e2e $(TOLD)

sanitize: $(VENV)/.installed ## the C extensions under AddressSanitizer and UBSan: the tests that reach furthest into them
	$(SAY) "AddressSanitizer and UBSan"
	@$(BIN)/python -m tests.faults.sanitize --quick
	@$(BIN)/python -m tests.faults.sanitize --alone

sanitize-all: $(VENV)/.installed ## every test of recorder, probes, adapters and faults under AddressSanitizer and UBSan, about ten minutes
	@$(BIN)/python -m tests.faults.sanitize
	@$(BIN)/python -m tests.faults.sanitize --alone

sanitize-threads: $(VENV)/.installed ## tests of threads, the recorder's and the graph's, under ThreadSanitizer
	@$(BIN)/python -m tests.faults.sanitize --thread

fuzz: $(VENV)/.installed ## damaged traces for the reader, for MINUTES (10)
	@$(BIN)/python tests/instrument/recorder/fuzz.py --minutes $(MINUTES)

soak: $(VENV)/.installed ## ten minutes of threads, tasks, executors and forks under recording
	@$(BIN)/python benchmarks/soak.py

mutants: setup ## change the product in 200 random places, and count the changes that the quick tests notice: an hour or two, in a clone
	@$(BIN)/python tests/mutants/run.py

cpython: $(VENV)/.installed ## CPython's own tests, plain and with every function recorded (all of them: make cpython-all)
	$(SAY) "A sample of CPython's own tests, plain and recorded"
	@$(BIN)/python tests/cpython/run.py --jobs 2 test_asyncio test_generators test_coroutines test_contextlib \
	  test_exceptions test_traceback test_inspect test_functools test_pickle test_descr
	$(SAY) "The same, with writes recorded"
	@$(BIN)/python tests/cpython/run.py --jobs 2 --writes test_dataclasses test_generators test_descr test_scope test_contextlib \
	  test_list test_dict test_functools

cpython-all: $(VENV)/.installed ## every module of CPython's that the script knows, about an hour (ALSO=FOLDER: for those not installed)
	@$(BIN)/python tests/cpython/run.py $(if $(ALSO),--also $(ALSO))

package: $(VENV)/.installed ## the tests of one package from PyPI under pytest --clew (of five: make packages)
	$(SAY) "pyflakes' own tests, plain and recorded"
	@$(BIN)/python tests/packages/run.py pyflakes

packages: $(VENV)/.installed ## the tests of five packages from PyPI, plain and under pytest --clew, about five minutes
	@$(BIN)/python tests/packages/run.py

client: $(CLIENT)/node_modules/.installed ## TypeScript: types, eslint, unit tests
	$(SAY) "TypeScript"
	@cd $(CLIENT) && npm run --silent check

e2e: setup ## a real VS Code and a real browser (installed into .cache/ on first use)
	$(SAY) "A real VS Code"
	@bash tests/e2e/install.sh
	@# Two editors, each with a browser, for they wait more than they work.
	@$(PYTEST) -m 'e2e and not pictures' tests/e2e

#+ Build, measure and clean
# --- the rest -------------------------------------------------------------------------------------------------------
panel: server/static/index.html ## build the panel

vsix: panel ## build the VS Code extension's package
	$(SAY) "vscode-client/*.vsix"
	@cd $(CLIENT) && npm run --silent vsix

sdist: panel ## build the source distribution into dist/, with the panel
	@.ci/wheels none

wheels: panel ## build a manylinux wheel for each CPython 3.11 to 3.13 on this machine into dist/, and try each
	@.ci/wheels

compile-commands: $(VENV)/.installed ## write compile_commands.json, by which editors understand the C sources
	@$(BIN)/python .ci/compile_commands.py

pictures: setup ## pictures of each view in both themes: small ones in docs/images, all in artifacts/
	$(SAY) "Pictures of the panel"
	@bash tests/e2e/install.sh
	@$(BIN)/pip install --quiet pillow
	@CLEW_PICTURES=docs/images $(BIN)/pytest -m pictures tests/e2e

bench: setup ## the benchmarks, each beside a peer where there is one
	$(SAY) "Recording"
	@$(BIN)/python benchmarks/record.py
	$(SAY) "Slices and process graphs beside other libraries"
	@$(BIN)/python benchmarks/graph.py
	$(SAY) "Building and storing beside DuckDB"
	@$(BIN)/python benchmarks/ingest.py
	@$(BIN)/python benchmarks/store.py
	@$(BIN)/python benchmarks/growing.py
	$(SAY) "A million requests compared, beside pandas"
	@$(BIN)/python benchmarks/compare.py
	$(SAY) "Patterns of 11 million events"
	@$(BIN)/python benchmarks/patterns.py
	$(SAY) "Entities at any of 10 million moments, beside a fold from the start, and their layouts beside the paper's"
	@$(BIN)/python benchmarks/entities.py
	@$(BIN)/python benchmarks/layout.py
	$(SAY) "The source index of 5,000 files, beside ast.parse"
	@$(BIN)/python benchmarks/esl.py
	$(SAY) "The language server on 20 million events, and on a log of 100 MB"
	@$(BIN)/python benchmarks/server.py
	@$(BIN)/python benchmarks/logs.py
	$(SAY) "A web service under load: its errors explained, and what recording costs beside OpenTelemetry and VizTracer"
	@$(BIN)/python benchmarks/web.py
	$(SAY) "The panel in Chromium"
	@bash tests/e2e/install.sh
	@$(BIN)/python benchmarks/panel.py

clean: ## remove what was built (not recorded runs)
	@rm -rf $(VENV) build *.egg-info $(CLIENT)/node_modules $(CLIENT)/dist $(CLIENT)/*.vsix server/static .mypy_cache .ruff_cache
	@find . -name '*.so' -not -path './.cache/*' -delete -o -name __pycache__ -type d -prune -exec rm -rf {} +
