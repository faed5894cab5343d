# make run | test | test-all | coverage | guarded | chaos | lint | format | settings | clean | lock | compose-test |
# test-flower-next. The first call makes .venv and installs everything; ARGS goes to the command.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
FITS := import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))
OLD := pFedGP needs Python 3.11, 3.12 or 3.13: name one that is installed, for example: make PYTHON=python3.11

# Files stay whole, so that fixtures of a file are made once; their order is random, but for those that hold slow tests,
# which come first. A run says its seed in its first lines; ARGS=--randomly-seed=SEED gives the same order once more.
PYTEST := $(BIN)/python -m pytest -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder

.PHONY: run test test-all coverage guarded chaos lint format settings clean lock compose-test test-flower-next

run: $(STAMP)
	$(BIN)/pfedgp simulate $(ARGS)

# All but tests of more than a second: a few minutes.
test: $(STAMP)
	$(PYTEST) -m "not slow" $(ARGS)

# Also deployments whose processes are killed: half an hour on two cores. The containers have a target of their own.
test-all: $(STAMP)
	$(PYTEST) $(ARGS)

# Which lines the fast tests run: most whole federations are slow ones, and what tests start as processes does not count.
coverage: $(STAMP)
	$(PYTEST) -m "not slow" --cov --cov-report=term:skip-covered $(ARGS)

# Random kills over a deployment, half an hour on two cores; ARGS gives their number and seed: --kills 3 --seed 7.
chaos: $(STAMP)
	$(BIN)/python scripts/chaos.py $(ARGS)

# Attacks and bad days, a script a section and a line a case; ARGS chooses cases by words of their names, and --jobs 2
# runs two at a time.
guarded: $(STAMP)
	$(BIN)/python scripts/guarded $(ARGS)

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Flower reads the settings' defaults from pyproject.toml: written there from pfedgp_core/config.py.
settings: $(STAMP)
	$(BIN)/python scripts/write_settings.py

# The versions in the image: the newest that pyproject.toml allows, with their hashes.
lock: $(STAMP)
	$(BIN)/uv pip compile pyproject.toml docker/requirements.in --extra privacy --overrides docker/not-locked.txt \
		--universal --python-version 3.11 --generate-hashes --upgrade --quiet \
		--custom-compile-command "make lock" --output-file docker/requirements.lock

# Starts an engine where there is none (root on Debian); "docker/ci_engine.sh down" stops that one again.
compose-test: $(STAMP)
	docker/ci_engine.sh up
	PFEDGP_COMPOSE_TEST=1 $(BIN)/python -m pytest -n 0 -s tests/deploy/containers tests/deploy/test_containers_doc.py $(ARGS)

# Whether the newest Flower, which pyproject.toml does not allow yet, would do: in .venv-next, which shares torch with .venv.
test-flower-next: $(STAMP)
	$(BIN)/python scripts/flower_next.py $(ARGS)

# Leaves .venv (gigabytes to load again) and out/ (results) alone.
clean:
	rm -rf .venv-next build dist *.egg-info *.fab .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

# The stamp is written last, so an installation that was cut off is done again.
$(STAMP): pyproject.toml
	@test -x $(BIN)/python || { $(PYTHON) -c '$(FITS)' 2>/dev/null \
		|| { echo "$(OLD)" >&2; exit 1; }; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) \
		|| { rm -rf $(VENV); echo "Cannot make $(VENV): install the package python3-venv first." >&2; exit 1; }
	@$(BIN)/python -c '$(FITS)' \
		|| { echo "$(VENV) holds another Python, remove it: rm -r $(VENV)" >&2; exit 1; }
	@echo "Installing pFedGP and its dependencies in $(VENV) (once, a few GB because of torch) ..."
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@
