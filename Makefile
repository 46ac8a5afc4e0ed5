# Everything happens in .venv, which the targets make on demand. Nothing is installed again
# until pyproject.toml changes: the package is installed editable, so code changes need nothing.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
PIP_INSTALL := $(RUN) -m pip install --disable-pip-version-check --no-input --quiet

# Plots in tests and in the demo need no display.
export MPLBACKEND ?= Agg

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

.PHONY: demo
demo: $(VENV)/.installed ## Install the package and run the example of the paper
	$(VENV)/bin/ewp demo

.PHONY: test
test: lint mypy pytest rpkg ## Check the code and run all tests, doctests and the R package included

.PHONY: lint
lint: $(VENV)/.installed-dev ## Check style and format (ruff), and that imports go down only
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(VENV)/bin/lint-imports --no-cache

.PHONY: mypy
mypy: $(VENV)/.installed-dev ## Check types
	$(RUN) -m mypy $(wildcard ewp r_bridge)

.PHONY: pytest
pytest: $(VENV)/.installed-dev $(VENV)/.installed-r $(VENV)/.installed-browser ## Run the tests alone
	$(RUN) -m pytest

.PHONY: rpkg
rpkg: $(VENV)/.installed-r ## Build and check the R package, where R can be had
	PYTHON='$(PYTHON)' .ci/check-rpkg .venv-r

.PHONY: bench
bench: $(VENV)/.installed-bench $(VENV)/.installed-r ## Measure speeds, as ratios, into validation/benchmarks/results.md
	$(RUN) validation/benchmarks/run.py

.PHONY: vignettes
vignettes: $(VENV)/.installed-dev ## Run the notebooks and keep them with their outputs, vignettes/*.ipynb
	$(RUN) vignettes/execute.py

.PHONY: docs
docs: $(VENV)/.installed-dev ## Build the documentation, build/docs/index.html
	$(RUN) -m sphinx -W --keep-going -q -b html -d build/doctrees vignettes/site build/docs
	@echo 'The documentation is in build/docs/index.html'

.PHONY: validate
validate: $(VENV)/.installed-dev $(VENV)/.installed-r $(VENV)/.installed-validation ## Make the paper's evidence again (FULL=1: hours, can be resumed)
	$(RUN) -m validation.run $(if $(FULL),--full) $(if $(RESUME),--resume) $(if $(DATA),--data '$(DATA)') \
		$(if $(MINUTES),--minutes $(MINUTES)) $(if $(JOBS),--jobs $(JOBS)) \
		$(if $(ONLY),--only $(ONLY)) $(if $(KEPT),--kept) \
		$(if $(ADOPT),--adopt $(ADOPT)) $(if $(BEFORE),--before '$(BEFORE)')

.PHONY: format
format: $(VENV)/.installed-dev ## Format the code and fix what can be fixed
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

.PHONY: clean
clean: ## Remove the environment, caches and build products
	rm -rf $(VENV) .venv-r build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

$(VENV)/.created: .ci/setup-venv
	PYTHON='$(PYTHON)' .ci/setup-venv $(VENV)
	@touch $@

$(VENV)/.installed: pyproject.toml $(VENV)/.created
	@echo 'Installing ewp into $(VENV); the first time this takes a few minutes'
	$(PIP_INSTALL) --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml $(VENV)/.created
	@echo 'Installing ewp and its development tools into $(VENV); the first time this takes a few minutes'
	$(PIP_INSTALL) --editable '.[dev]'
	@touch $@ $(VENV)/.installed

# Peers to be measured beside, and needed for nothing else: without them their columns are empty.
$(VENV)/.installed-bench: pyproject.toml $(VENV)/.installed-dev
	$(PIP_INSTALL) --editable '.[bench]' || echo 'Not all peers can be installed here: see above'
	@touch $@

# Data sets of the contest, and needed for nothing else: without them it has fewer sets.
$(VENV)/.installed-validation: pyproject.toml $(VENV)/.installed-dev
	$(PIP_INSTALL) --editable '.[validation]' && touch $@ || echo 'Not all data sets of the contest can be had here'

# The script makes the file itself, once R can be called: without R it is asked again every time.
$(VENV)/.installed-r: pyproject.toml .ci/setup-r $(VENV)/.installed-dev
	.ci/setup-r $(VENV)

# So does this one, once a browser is there.
$(VENV)/.installed-browser: .ci/setup-browser $(VENV)/.installed-dev
	.ci/setup-browser $(VENV)
