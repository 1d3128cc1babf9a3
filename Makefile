# make train   sets up .venv and trains the two-player game, about five minutes on two cores
# make test    sets up .venv and runs all checks and tests
# make bench   sets up .venv, measures speed and memory against the yardsticks, and draws docs/speed.svg
PYTHON ?= python3
BIN := .venv/bin
# Numba does not see changes in files that a cached kernel calls into: tests start with an empty cache.
TEST_CACHE := NUMBA_CACHE_DIR=.numba_cache

.PHONY: train test check bench clean

train: .venv/installed
	$(BIN)/python train.py

test: check
	rm -rf .numba_cache
	$(TEST_CACHE) $(BIN)/python -m pytest
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -m nojit tests

check: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/installed
	$(BIN)/python -m benchmarks.bench --json benchmarks/results.json --plot docs/speed.svg

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt setuptools
	$(BIN)/pip install --quiet --constraint constraints.txt --no-build-isolation --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv .numba_cache .pytest_cache .mypy_cache .ruff_cache *.egg-info
