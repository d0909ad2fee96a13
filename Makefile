# Everything runs in .venv, made on first use with nothing but Python 3.11 or later.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint check bench reproduce fuzz clean

demo: $(VENV)/core
	$(BIN)/rumflow demo

test: lint check

lint: $(VENV)/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

check: $(VENV)/test
	$(BIN)/python -m pytest

reproduce: $(VENV)/test
	$(BIN)/python -m experiments exp1 --out results
	$(BIN)/python -m experiments exp2 --out results

# Random files, command lines and problems; what breaks is printed. Not part of the tests: it takes as long as it is given.
MINUTES ?= 10
SEED ?= 0
fuzz: $(VENV)/test
	$(BIN)/python -m experiments.fuzz --minutes $(MINUTES) --seed $(SEED)

bench: $(VENV)/test
	$(BIN)/pip install -q -e ".[bench]"
	$(BIN)/python benchmarks/compare.py

$(VENV)/core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q -e .
	touch $@

$(VENV)/test: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q torch==2.13.0
	$(BIN)/pip install -q -e ".[test]"
	touch $@

clean:
	rm -rf $(VENV) .cache build dist results
