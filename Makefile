# One command per task, the same here and in continuous integration. `make help` lists them.
# `make test` and `make demo` prepare all that they need; only Python 3.11 and make have to be there.

PYTHON ?= $(shell command -v python3.11 || command -v python3 || echo python3)
NODES  ?= 1
SEED   ?= 1
STEPS  ?= 80
FIRST  ?= 1
N      ?= 200
VENV   := .venv
PY     := $(VENV)/bin/python

# pyright comes whole with its wheel; asking the network for a newer one is not this file's business.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

# What is installed is known by what it was installed from, so that a second run does nothing and needs no network.
DIGEST := $(shell { echo "$(CURDIR)"; cat requirements.lock pyproject.toml; } | { sha256sum 2>/dev/null || shasum -a 256; } | cut -c1-16)
STAMP  := $(VENV)/.installed-$(DIGEST)
# Two makes at once must not install over each other; where there is no flock, one may have to be run again.
ALONE  := $(if $(shell command -v flock),flock .venv.lock,)

PYTEST := $(PY) -m pytest

.DEFAULT_GOAL := help
.PHONY: help setup install test test-fast soak simulate simulate-many simulate-shrink check lint format types kafka demo bench lock clean

help: ## list the tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## install everything into .venv, from the locked versions
$(STAMP):
	@$(ALONE) $(MAKE) --no-print-directory install

install:
	@if [ ! -e $(STAMP) ]; then set -e; \
	  $(PYTHON) -c 'import sys; sys.exit("Interlock needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Say make PYTHON=...") if sys.version_info < (3, 11) else None'; \
	  echo "setup: installing the locked versions into $(VENV)"; \
	  [ -x $(PY) ] && $(PY) -c '' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV); \
	  $(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock; \
	  $(PY) -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .; \
	  rm -f $(VENV)/.installed-*; touch $(STAMP); \
	fi

lint: setup ## ruff and import-linter
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/lint-imports --no-logo

format: setup ## let ruff put the code into its form
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

types: setup ## mypy and pyright, both strict
	$(VENV)/bin/mypy
	$(VENV)/bin/pyright

check: lint types

# Where no broker can be had the script ends with 3. make says "Error 3" then and ends with 2, as with any recipe that
# fails; `.ci/run` ends with 3 itself.
test: ## all that continuous integration runs: lint, types, every test but soak
	@MAKE="$(MAKE)" bash ops/test.sh

test-fast: setup ## the tests that need no broker
	$(PYTEST) -m "not soak and not kafka" --durations=10

soak: setup ## the tests that take longer than make test may
	$(PYTEST) -m soak --timeout=0 --durations=10

simulate: setup ## the whole engine through its faults from a seed: SEED=7 STEPS=80 ONLY=3,8-20 WHOLE=1
	@$(PY) -m tests.simulation one --seed $(SEED) --steps $(STEPS) --only "$(ONLY)" $(if $(WHOLE),--whole)

simulate-many: setup ## the same for many seeds, on all cores: N=1000 FIRST=1 STEPS=80
	@$(PY) -m tests.simulation many --first $(FIRST) --count $(N) --steps $(STEPS)

simulate-shrink: setup ## the shortest run of a seed that still breaks the same rule: SEED=7 STEPS=80
	@$(PY) -m tests.simulation shrink --seed $(SEED) --steps $(STEPS) --only "$(ONLY)"

kafka: setup ## a broker on 127.0.0.1:9092 until stopped with Ctrl-C; NODES=3 for a cluster
	@exec $(PY) -m ops.kafka start --nodes $(NODES) --port 9092

demo: setup ## the main job on the embedded log, from start to end
	@$(PY) -m examples.demo

bench: setup ## measure the journal, the engine and publishing beside the bare store
	@$(PY) -m ops.bench

lock: setup ## resolve requirements.lock again (needs uv)
	uv pip compile pyproject.toml --all-extras --generate-hashes --universal --python-version 3.11 -o requirements.lock

clean: ## remove what the tasks made, the environment and the fetched broker too
	rm -rf $(VENV) .venv.lock .kafka build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
