# Every target sets up what it needs, once; `make` alone lists them.
.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all lint bench package clean distclean
SHELL := /bin/bash

BIN := .venv/bin
PYTEST = $(BIN)/python -m pytest --junit-xml=build/junit.xml

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

setup: ## Python environment, Horovod and Spark's jars; does nothing when they are there
	@tools/setup.sh

demo: setup ## raw flights to a scored table and a report
	$(BIN)/cauce demo-data --out data --mess 0.01 --seed 2013
	$(BIN)/cauce run --project flights

test: setup ## all tests but the slow ones and those that need a GPU
	@tools/browser.sh
	@mkdir -p build
	$(PYTEST) -m "not gpu and not slow"

test-all: setup ## every test this machine can run; Airflow gets an environment of its own
	@tools/browser.sh
	@tools/airflow.sh
	@mkdir -p build
	$(PYTEST)

lint: setup ## style, types, layers; all four, whatever the first ones say
	@failed=; for check in "ruff check ." "ruff format --check ." mypy lint-imports; do \
	  echo "$$check"; $(BIN)/$$check || failed="$$failed, $$check"; \
	done; test -z "$$failed" || { echo "lint failed: $${failed#, }" >&2; exit 1; }

bench: setup ## NAME=loader [QUICK=1]: ours and its peers in one run, JSON last
	@test -f "benchmarks/$(NAME).py" || { echo "No benchmark '$(NAME)'; there are:" benchmarks/*.py >&2; exit 2; }
	QUICK=$(QUICK) $(BIN)/python benchmarks/$(NAME).py

package: setup ## dist/: the wheel, and cauce.zip for `spark-submit --py-files`
	@rm -rf build/lib dist
	$(BIN)/python -m build --wheel --no-isolation
	@cp dist/cauce-*.whl dist/cauce.zip
	@ls -l dist

clean: ## remove data, lake and runs
	rm -rf data lake runs build dist spark-warehouse metastore_db derby.log

distclean: clean ## remove the set-up too (built wheels stay in the user's cache)
	rm -rf .venv .venv-airflow *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
