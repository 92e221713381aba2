# Everything a checkout is asked to do. Each target first brings the environment in .venv up to date.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help setup demo test lint check bench bench-rivals lock clean

help:
	@sed -n 's/^## //p' Makefile

## make setup         make .venv, with federage and its pinned development environment in it
setup: .venv/.ready

.venv/.ready: requirements-dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: Python >= 3.11 is needed, but $(PYTHON) is older; try: make setup PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

## make demo          six methods on embedded data, a table and a report
demo: setup
	$(BIN)/federage demo

## make test          the tests (arguments in ARGS, such as ARGS="tests/core -x")
test: setup
	$(BIN)/python -m pytest $(ARGS)

## make lint          formatter, linter and type checker
lint: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright

## make check         what CI runs: lint and test
check: lint test

## make bench         speed and memory, side by side with the rivals that are installed (make bench-rivals)
bench: setup
	$(BIN)/python benchmarks/bench.py $(ARGS)

## make bench-rivals  give PyTorch, FedJAX and fluke environments of their own below benchmarks/
bench-rivals:
	$(PYTHON) benchmarks/setup_rivals.py

## make lock          resolve the development environment anew (needs uv)
lock:
	uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --no-annotate --no-header \
	  --upgrade --output-file requirements-dev.txt

clean:
	rm -rf .venv build dist runs
