# Everything sets itself up: Python 3.11 or newer, git and make are enough.
.DEFAULT_GOAL := help
.PHONY: help env run test drills check bench up down lock audit bom

PYTHON ?= python3
BIN := .venv/bin
DRILLS ?= slow
export DO_NOT_TRACK := 1
export DVC_NO_ANALYTICS := 1
export MLFLOW_DISABLE_TELEMETRY := true
# As pip does: certificates of the system, among which a company's own authority may be.
export UV_SYSTEM_CERTS := 1

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-7s %s\n", $$1, $$2}'

env: .venv/.ready ## make .venv from requirements-dev.lock

# Nothing is installed whose content is not what the lock says. uv installs in a fraction of pip's time; where it can't
# reach an index that pip is configured for, pip does it. The lock is complete, so that pip need not look for more: before
# 23.1 it takes `sqlalchemy[asyncio]` for a package that has no hash.
.venv/.ready: requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "mediarank needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	$(PYTHON) -m venv .venv
	@sed -n '/^uv==/,/[^\\]$$/p' requirements-dev.lock > .venv/uv.lock
	$(BIN)/python -m pip install --quiet --require-hashes -r .venv/uv.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --compile-bytecode --require-hashes -r requirements-dev.lock \
		|| $(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

run: env ## generate the demo collection, run the pipeline, record it, print the results
	$(BIN)/mediarank init
	$(BIN)/mediarank wire
	$(BIN)/mediarank run

test: env ## the tests without the drills, shuffled; the seed is printed at the end
	$(BIN)/python -m pytest -n auto -m "not slow"

drills: env ## the tests that take minutes: real servers, killed processes, whole runs
	$(BIN)/python -m pytest -m "$(DRILLS)"

check: env ## ruff, mypy, and whether dvc.yaml is up to date
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mediarank wire --check

bench: env ## every benchmark but that of the tests, on what it generates itself
	@for script in $$(grep -l '^if __name__' benchmarks/*.py | grep -v /suite.py); do echo "== $$script"; $(BIN)/python $$script || exit 1; done

up: env ## start the explorer, the Prefect server with its schedule and the MLflow UI, on loopback
	$(BIN)/mediarank up

down: ## stop what `make up` started
	$(BIN)/mediarank down

RESOLVE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header

lock: env ## resolve requirements.lock and requirements-dev.lock anew
	$(RESOLVE) --extra cluster --extra raw --extra s3 --extra servers --upgrade pyproject.toml \
		--output-file requirements.lock
	$(RESOLVE) --all-extras --constraint requirements.lock --upgrade pyproject.toml --output-file requirements-dev.lock

audit: env ## look for known weaknesses of what is installed; says so if no list of them can be reached
	$(BIN)/python .ci/supply_chain.py audit requirements.lock

bom: env ## write bom.json, the bill of materials (CycloneDX) of requirements.lock
	$(BIN)/python .ci/supply_chain.py bom requirements.lock bom.json
