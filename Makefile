# make run | test | lint | format | clean. The first call makes .venv and installs everything; ARGS goes to the command.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
OLD := pFedGP needs Python 3.11 or newer: name one that is installed, for example: make PYTHON=python3.11

.PHONY: run test lint format clean

run: $(STAMP)
	$(BIN)/pfedgp simulate $(ARGS)

test: $(STAMP)
	$(BIN)/python -m pytest -n logical --maxprocesses 4 --dist loadfile $(ARGS)

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Leaves .venv (gigabytes to load again) and out/ (results) alone.
clean:
	rm -rf build dist *.egg-info *.fab .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

# The stamp is written last, so an installation that was cut off is done again.
$(STAMP): pyproject.toml
	@test -x $(BIN)/python || { $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
		|| { echo "$(OLD)" >&2; exit 1; }; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) \
		|| { rm -rf $(VENV); echo "Cannot make $(VENV): install the package python3-venv first." >&2; exit 1; }
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "$(VENV) holds an old Python, remove it: rm -r $(VENV)" >&2; exit 1; }
	@echo "Installing pFedGP and its dependencies in $(VENV) (once, a few GB because of torch) ..."
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@
