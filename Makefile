# What a person types. Each target does its own set-up; README.md says more.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
BUNDLE := policies/compiled/builtin.tar.gz
REGO := $(shell find policies/rego -name '*.rego' ! -name '*_test.rego')

# Tests start hundreds of processes: let the first of them keep what it compiles for the others.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup run test check bench proof fuzz docs docs-site image release image-lock lock tools clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

$(VENV)/.installed: requirements/uv.txt requirements/dev.txt pyproject.toml
	@echo "setup: making $(VENV)"
	python3 -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements/uv.txt requirements/dev.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	touch $@

$(BUNDLE): $(VENV)/.installed $(REGO) policies/build/builder.py policies/bundle/format.py
	@opa="$$(python3 tests/tools/provide.py opa)"
	$(BIN)/sallyport policy build --opa "$$opa" --output $@

setup: $(VENV)/.installed $(BUNDLE) ## Make .venv and .venv/bin/sallyport, compile the policies

run: setup ## Start the gate on this machine and send it the example reviews
	@exec $(BIN)/sallyport run

check: setup ## Lint, types, import contracts, licences, documentation, Rego
	@$(BIN)/python tests/check.py

tools: setup ## Build and fetch the programs that the tests start, each once
	@$(BIN)/python -m tests.tools.everything

test: setup ## Everything that CI runs; with SINCE=REV what was changed since reaches, for the inner loop
	@$(BIN)/python -m tests.run $(if $(SINCE),--since $(SINCE))

bench: setup ## What a review costs, against Kubernetes' own check, OPA's server and a null handler; WHAT=help lists more
	@$(BIN)/python -m bench $(WHAT) $(BENCH)

proof: setup ## The tests at full size; writes dated results to docs/evidence
	@SALLYPORT_PROOF=1 $(BIN)/python -m pytest tests/proof
	SALLYPORT_PROOF=1 $(BIN)/python -m pytest -m proof tests/unit tests/api tests/node tests/compat

docs: setup ## Make the generated pages anew
	@$(BIN)/python -m docs.generate.names
	$(BIN)/python -m docs.generate.rules
	$(BIN)/python -m docs.generate.library
	$(BIN)/python -m docs.generate.schemas
	$(BIN)/python -m docs.generate.backstop
	$(BIN)/python -m docs.generate.chart
	$(BIN)/python -m docs.generate.dashboard
	$(BIN)/python -m docs.generate.azure_rules
	$(BIN)/python -m docs.generate.risk_table
	$(BIN)/python -m docs.generate.egress_networks
	$(BIN)/python -m docs.generate.builtins
	$(BIN)/python -m docs.generate.detections
	$(BIN)/python -m docs.generate.siem
	$(BIN)/python -m docs.generate.adr_index

fuzz: setup ## Fuzz each parser of what strangers send for SECONDS (1800)
	@for target in http review yaml bundle registry logs claims dnslog; do \
		$(BIN)/python -m tests.fuzz $$target --seconds $${SECONDS:-1800} --corpus dist/fuzz/$$target || exit 1; \
	done

docs-site: setup ## Build the documentation site in dist/site
	@$(BIN)/python -m docs.generate.site

image: setup ## Make the container image and its bill of materials in dist/
	@$(BIN)/python -m deploy.image

release: setup ## Make a release in dist/release/VERSION: image, charts, command line; KEY=FILE signs it
	@$(BIN)/python -m deploy.release $${KEY:+--key "$$KEY"}

image-lock: $(VENV)/.installed ## Pin the newest of Debian's packages for the image
	@$(BIN)/python -m deploy.image --lock

lock: $(VENV)/.installed ## Look up newer dependencies and lock them with hashes
	@lock="$(BIN)/uv pip compile --quiet --upgrade --generate-hashes --no-emit-index-url --no-header --python-version 3.11"
	$$lock requirements/uv.in -o requirements/uv.txt
	$$lock pyproject.toml -o requirements/runtime.txt
	$$lock pyproject.toml --group dev -o requirements/dev.txt

clean: ## Remove what the targets made here
	rm -rf $(VENV) policies/compiled .mypy_cache .ruff_cache .pytest_cache .hypothesis
