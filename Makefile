# Two commands do everything on a fresh machine: `make demo` and `make test`.
# Each sets up .venv with what it needs, once; nothing outside this folder is touched.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
ONE    := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

,      := ,

.PHONY: help demo test slow check docs results bench weights format clean

help:            ## list the targets
	@grep -E '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

demo: $(VENV)/.demo  ## the whole way on the built-in synthetic corpus, from rendered frames to a report
	$(ONE) $(BIN)/epir demo --out demo

test: $(VENV)/.dev   ## the tests, but for the slow ones
	$(ONE) $(BIN)/python -m pytest -n 2 -m 'not slow'

slow: $(VENV)/.dev   ## the slow tests: browsers, clusters, examples, kills in the middle
	$(ONE) $(BIN)/python -m pytest -n 2 -m slow

check: $(VENV)/.dev  ## lint, types, and the rule that imports go one way
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -m 'not slow' tests/test_architecture.py

docs: $(VENV)/.docs  ## the documentation as a site that works from disk: build/site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

results: $(VENV)/.base ## fill the tables of README and docs from results/
	$(BIN)/python -m epir.reports.leaderboard

bench: $(VENV)/.base ## speed of this machine, as ratios
	$(ONE) $(BIN)/epir bench

# Weights from synthetic faces only, seen through several flow recipes, emotions as often as in the composite.
PEOPLE  := --shares 250,109,83 --set tables=textbook --workers 2 $(foreach recipe,direct epir:flow.size=112$(,)flow.context=0 \
             direct:strain=tensor epir:flow.size=112$(,)flow.window=9 epir direct:strain=magnitude \
             epir:flow.method=dis htnet-like:flow.size=112,--recipe $(recipe))
# NumPy's matrix products differ in bits between processors; where there is AVX-512, this names the kernel of the shipped maps.
SAME    := $(ONE) $(if $(shell grep -s -m 1 -o avx512f /proc/cpuinfo),OPENBLAS_CORETYPE=SKYLAKEX)
TRAIN   := $(SAME) $(BIN)/epir train build/weights/maps --protocol sde --training scratch --half --force \
             --calibrate-on build/weights/calibration --set model.normalise=squash \
             $(foreach setting,lr=4e-4 warmup=0.05 turn=3 zoom=0.05 blur=0.3 noise=0.1 smoothing=0.05 decay=0.995 \
             action_units=2 shift_at_prediction=1 batch=64 epochs=5,--set training.$(setting))
SEEDS   := $(foreach seed,0 1 2,build/weights/seed-$(seed)/config.json)
MAPS    := build/weights/maps/meta.json build/weights/calibration/meta.json

# `make -j 2 weights` trains two seeds at once; a second call goes on. With REAL=MAPS, the maps of docs/rerun.md, the
# temperature is fitted on real people.
weights: $(SEEDS) ## train the shipped weights again, into build/weights/model (65 minutes of one core)
	best=$$($(BIN)/python -m epir.final.best_seed $(^D)) && rm -rf build/weights/model && cp -r "$$best" build/weights/model
	$(if $(REAL),$(SAME) $(BIN)/epir calibrate build/weights/model --on $(REAL) --protocol cde)
	@cmp -s build/weights/model/model.safetensors src/epir/weights/model.safetensors && echo "the shipped weights, bit for bit" || \
	  echo "not the bits of the shipped weights: docs/weights.md names the processors that give them"

build/weights/seed-%/config.json: $(MAPS)
	$(TRAIN) --seed $* --out $(@D)

build/weights/maps/meta.json: | $(VENV)/.base
	$(SAME) $(BIN)/epir synth $(@D) --maps 20000 --seed 11 $(PEOPLE)

build/weights/calibration/meta.json: | $(VENV)/.base
	$(SAME) $(BIN)/epir synth $(@D) --maps 2400 --seed 12 $(PEOPLE)

format: $(VENV)/.dev ## put the source in shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:           ## remove the environment and what the targets wrote
	rm -rf $(VENV) demo build .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "epir needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e .
	@touch $@

$(VENV)/.demo: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[web,annotate]'
	@touch $@ $(VENV)/.base

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[dev,ray,onnx,web,annotate]'
	@touch $@ $(VENV)/.base $(VENV)/.demo

$(VENV)/.docs: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[docs]'
	@touch $@
