# Two commands do everything on a fresh machine: `make demo` and `make test`.
# Each sets up .venv with what it needs, once; nothing outside this folder is touched.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
ONE    := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: help demo test check bench format clean

help:            ## list the targets
	@grep -E '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

demo: $(VENV)/.base  ## the whole way on the built-in synthetic corpus, from rendered frames to a report
	$(ONE) $(BIN)/epir demo --out demo

test: $(VENV)/.dev   ## the tests
	$(ONE) $(BIN)/python -m pytest -n 2

check: $(VENV)/.dev  ## lint, types, and the rule that imports go one way
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_architecture.py

bench: $(VENV)/.base ## speed of this machine, as ratios
	$(ONE) $(BIN)/epir bench

format: $(VENV)/.dev ## put the source in shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:           ## remove the environment and what the targets wrote
	rm -rf $(VENV) demo .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "epir needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e .
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[dev,ray,onnx]'
	@touch $@ $(VENV)/.base
