# Needs Python 3.11 or newer and make; everything else goes into .venv.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip -qq --disable-pip-version-check
PINNED := $(PIP) install --constraint constraints.txt --editable
CODE   := $(wildcard src tests benchmarks tools)

# A stamp says that the environment holds what pyproject.toml and constraints.txt ask for.
MADE    := $(VENV)/.made
RUNTIME := $(VENV)/.runtime
DEV     := $(VENV)/.dev
ORACLES := $(VENV)/.oracles
PEERS   := $(VENV)/peers/.made

# What the guarantee of a session rests on. It stays small enough to be read whole. Mechanisms of the
# laboratory and other accounting for plans answer each for themselves: nothing here goes through
# them. Batches are charged by loss distributions.
MEASURES := mechanism laplace gaussian saturation bag bisection cut ranking quantiles \
              occurrence group threshold partition stability buckets spectrum \
              rectangles privtree kd_splits
CHARGES  := pure zcdp curve convert composition filter gaussian grid price sums tail
DISTRIBUTIONS := __init__ compose distribution gaussian leaf pairs rounding search solve
TRUSTED  := $(wildcard $(addprefix src/sfumato/,core/*.py noise/*.py relation/*.py backends/*.py \
              ledger/*.py $(addprefix session/,kernel.py access.py part.py exact.py scan.py reader.py \
              shortlist.py sequel.py) \
              $(MEASURES:%=mechanisms/%.py) $(CHARGES:%=accounting/%.py) release/key.py \
              $(DISTRIBUTIONS:%=accounting/pld/%.py)))
TRUSTED_LIMIT := 15285

# Tests start hundreds of processes; each would compile the whole package again.
unexport PYTHONDONTWRITEBYTECODE

# Never with --quiet, which hides from --strict the warnings that it counts.
MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

.DEFAULT_GOAL := help
.PHONY: help demo test test-deep check fix docs bench bench-peers mutate clean

help:
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(RUNTIME) ## see the whole story on generated data, offline
	@$(BIN)/sfumato demo

test: $(DEV) ## run the tests of every push
	@$(BIN)/pytest -q -n 2 -m "not deep"

# The other tests of a push do the same here as there, and those that draw noise once may fail by
# chance where it is fresh. What is searched at random is searched as deep as EXAMPLES= says.
test-deep: $(ORACLES) ## run the heavy tests, and properties at length, with fresh randomness
	@$(BIN)/pytest -q -n 2 --dist worksteal -m "deep or hypothesis" --hypothesis-profile deep

check: $(DEV) ## lint, types, layers, spelling, documentation, size of the trusted base
	@$(BIN)/ruff check --quiet $(CODE)
	@$(BIN)/ruff format --quiet --check $(CODE)
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/codespell
	@$(MKDOCS)
	@$(BIN)/python tools/trusted_base.py $(TRUSTED_LIMIT) $(TRUSTED)

fix: $(DEV) ## format, sort imports, apply safe fixes, rewrite generated pages
	@$(BIN)/ruff check --quiet --fix $(CODE) || true
	@$(BIN)/ruff format --quiet $(CODE)
	@$(BIN)/python tools/bibliography.py
	@$(BIN)/python tools/planted_bugs.py

docs: $(DEV) ## build the documentation into site/
	@$(MKDOCS)
	@echo "open site/index.html (with search: python3 -m http.server -d site)"

bench: $(DEV) ## measure speed and accuracy
	@$(BIN)/python -m benchmarks

bench-peers: $(DEV) $(PEERS) ## measure speed next to OpenDP, in an environment of its own
	@$(BIN)/python -m benchmarks speed.peers

mutate: $(DEV) ## change the source in small places and see which tests notice; hours, goes on
	@$(BIN)/python -m tools.mutation calls
	@$(BIN)/python -m tools.mutation run
	@$(BIN)/python -m tools.mutation page

clean: ## remove the environment and everything built
	rm -rf $(VENV) site build dist .benchmarks .hypothesis .import_linter_cache .mypy_cache \
	  .pytest_cache .ruff_cache
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

$(MADE):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "sfumato needs Python 3.11 or newer, and '$(PYTHON)' is not." >&2; \
	  echo "Name one that is: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(RUNTIME): $(MADE) pyproject.toml constraints.txt
	@echo "installing sfumato"
	@$(PINNED) '.[pandas]'
	@touch $@

$(DEV): $(MADE) pyproject.toml constraints.txt
	@echo "installing sfumato and the tools that test it"
	@$(PINNED) '.[dev]'
	@touch $(RUNTIME) $@

$(ORACLES): $(MADE) pyproject.toml constraints.txt
	@echo "installing sfumato, the tools that test it and the libraries it is compared with"
	@$(PINNED) '.[dev,oracles]'
	@touch $(RUNTIME) $(DEV) $@

# Apart from the others: it needs another version of Polars than the one that is tested with.
$(PEERS): $(MADE)
	@echo "installing OpenDP"
	@$(BIN)/python -m venv $(VENV)/peers
	@$(VENV)/peers/bin/python -m pip -qq --disable-pip-version-check install 'opendp[polars]==0.16.0' pyarrow
	@touch $@
