# Two commands do all the set-up themselves: `make demo` and `make test`. `make help` lists the rest.
# PYTHON=python3.12 chooses the interpreter (>= 3.11). pip takes its settings from its own configuration.

VENV     := .venv
BIN      := $(VENV)/bin
WHEELENV := .venv-wheel
WHEELRUN := .wheel-test
LOWENV   := .venv-lowest
LOWEST   := langchain llama-index mcp demo notebook
NEWENV   := .venv-newest
PIP      := -m pip install --quiet --disable-pip-version-check
ARGS     ?=

# What the tests need beside the installed packages. The sources of the packages are left out on purpose.
TEST_TREE := tests docs benchmarks notebooks README.md CHANGELOG.md pyproject.toml

export PYTHON

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo test servers test-source test-wheel check format bench chaos frameworks lowest newest docs wheel clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# --- environments: one stamp per set of packages -----------------------------------------------------------------

$(VENV)/.made: tools/venv.sh
	@tools/venv.sh $(VENV)
	@touch $@

$(VENV)/.demo: $(VENV)/.made pyproject.toml
	@echo "installing AX and what the demo needs into $(VENV)"
	@$(BIN)/python $(PIP) --editable '.[demo]'
	@touch $@

$(VENV)/.dev: $(VENV)/.made pyproject.toml
	@echo "installing AX and what its tests need into $(VENV)"
	@$(BIN)/python $(PIP) --editable '.[test,dev]'
	@touch $@ $(VENV)/.demo

# Two steps: with the oldest versions in place, the tools that run the tests must take what fits them.
$(LOWENV)/.made: tools/venv.sh tools/lowest.py pyproject.toml
	@tools/venv.sh $(LOWENV)
	@echo "installing the oldest allowed versions into $(LOWENV)"
	@$(LOWENV)/bin/python tools/lowest.py $(LOWEST) > $(LOWENV)/lowest.txt
	@extras=$$(echo $(LOWEST) | tr ' ' ,) && $(LOWENV)/bin/python $(PIP) --constraint $(LOWENV)/lowest.txt --editable ".[$$extras]"
	@$(LOWENV)/bin/python -m pip list --format freeze --exclude-editable --disable-pip-version-check > $(LOWENV)/there.txt
	@$(LOWENV)/bin/python $(PIP) --constraint $(LOWENV)/there.txt $$($(LOWENV)/bin/python tools/lowest.py --tools)
	@touch $@

$(NEWENV)/.made: tools/venv.sh
	@tools/venv.sh $(NEWENV)
	@touch $@

$(VENV)/.frameworks: $(VENV)/.dev
	@echo "installing what the frameworks' own tests need into $(VENV)"
	@$(BIN)/python $(PIP) --editable '.[frameworks]'
	@touch $@

$(VENV)/.bench: $(VENV)/.dev
	@echo "installing what the comparisons of the benchmark need into $(VENV)"
	@$(BIN)/python $(PIP) --editable '.[bench]'
	@touch $@

# --- the main job ------------------------------------------------------------------------------------------------

demo: $(VENV)/.demo ## the same agent bare and under AX, side by side, on the embedded default
	@$(BIN)/axd demo $(ARGS)

# --- tests -------------------------------------------------------------------------------------------------------

test: check servers $(if $(filter true,$(CI)),test-wheel,test-source) ## check, then all tests (CI=true: against the built wheel)

servers: ## install Redis, PostgreSQL, MariaDB and PgBouncer where they are missing; the tests start their own
	@tools/servers.sh

test-source: $(VENV)/.dev
	$(BIN)/pytest -n auto $(ARGS)

test-wheel: wheel ## the tests against the built wheel, out of reach of the sources
	@rm -rf $(WHEELRUN) && mkdir $(WHEELRUN)
	@for part in $(TEST_TREE); do if [ -e $$part ]; then cp -R $$part $(WHEELRUN)/; fi; done
	@test -e $(WHEELENV)/.made || { tools/venv.sh $(WHEELENV) && touch $(WHEELENV)/.made; }
	@echo "installing the wheel and what its tests need into $(WHEELENV)"
	@wheel=$$(echo dist/*.whl) && $(WHEELENV)/bin/python $(PIP) "$$wheel[test]" \
		&& $(WHEELENV)/bin/python $(PIP) --force-reinstall --no-deps "$$wheel"
	cd $(WHEELRUN) && AX_TEST_INSTALLED=1 ../$(WHEELENV)/bin/pytest -n auto -p no:cacheprovider $(ARGS)

wheel: $(VENV)/.dev ## build the wheel into dist/
	@rm -rf dist
	@$(BIN)/python -m build --wheel --no-isolation --outdir dist . >/dev/null
	@ls dist

check: $(VENV)/.dev ## lint, format, types, layers, generated docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python docs/generate.py --check

format: $(VENV)/.dev ## let ruff mend and format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

chaos: $(VENV)/.dev ## 300 seeded random kills, storms over workers, queue and databases, crowds; effects counted from outside
	@seed=$${AX_CHAOS_SEED:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')} && echo "AX_CHAOS_SEED=$$seed plays this again" \
		&& AX_CHAOS_SEED=$$seed $(BIN)/pytest -n auto -m chaos --thorough --timeout 3600 $(ARGS)

lowest: $(LOWENV)/.made ## the adapters' tests on the oldest versions that pyproject.toml allows
	$(LOWENV)/bin/pytest -n auto -p no:cacheprovider tests/adapters $(ARGS)

newest: $(NEWENV)/.made ## the adapters' tests on the newest versions that pyproject.toml allows, as of today
	@echo "bringing $(NEWENV) up to date"
	@$(NEWENV)/bin/python $(PIP) --upgrade --upgrade-strategy eager --editable '.[test]'
	$(NEWENV)/bin/pytest -n auto -p no:cacheprovider tests/adapters $(ARGS)

frameworks: $(VENV)/.frameworks ## the frameworks' own tool tests, bare and with every tool under AX
	@PYTHONPATH=. $(BIN)/python -m tools.frameworks $(ARGS)

bench: $(VENV)/.bench ## what a call costs, beside a raw loop, LangGraph and DBOS
	@$(BIN)/python -m benchmarks $(ARGS)

# --- the rest ----------------------------------------------------------------------------------------------------

docs: $(VENV)/.dev ## write the generated parts of docs/ anew
	@$(BIN)/python docs/generate.py

clean: ## remove environments, builds and caches
	rm -rf $(VENV) $(LOWENV) $(NEWENV) $(WHEELENV) $(WHEELRUN) .frameworks dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
