# `make` alone lists the targets. Each one sets up .venv first if it has to;
# PYTHON=... chooses another interpreter than the first that fits.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTHON ?=
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
COMPILE := env -u PIP_FIND_LINKS CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/python -m piptools compile --quiet \
  --generate-hashes --allow-unsafe --all-build-deps --strip-extras --no-annotate \
  --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options
N ?= 2000
SEED ?= 7
ARGS ?=

.PHONY: help setup render test check e2e image containerfiles schemas goldens fuzz fuzz-apiserver fuzz-coverage mutants bench lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s  %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(READY) ## create .venv with trainc and its development tools

render: $(READY) ## compile jobs/ to out/
	$(BIN)/trainc render $(ARGS)

test: $(READY) ## run the tests (those of Go and browsers in CI only, or with ARGS='-m go')
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --dist worksteal $(ARGS) # else each process of a test would compile trainc

check: $(READY) ## check lint, format and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/mypy --explicit-package-bases compiler/tools compiler/trainc/data/scripts

e2e: $(READY) ## run rendered jobs as real pods (needs Linux, root, mmdebstrap, Go; names what is missing)
	$(BIN)/python tests/e2e/suite.py $(ARGS)

image: $(READY) ## build images/ as OCI layouts in build/images/ and print their digests (needs mmdebstrap, root)
	$(BIN)/trainc image build $(ARGS)
	$(BIN)/trainc image verify

containerfiles: $(READY) ## build the Containerfiles of images/ with buildah and run the results (needs mmdebstrap, buildah, root)
	$(BIN)/python -m pytest -m containerfile -rs $(ARGS) tests/images

schemas: $(READY) ## regenerate data and pages: runtimes, codes, commands, fixes, CRD schemas, CEL functions, Go types (needs Go)
	$(BIN)/python compiler/tools/builtins.py
	$(BIN)/python compiler/tools/codes.py
	$(BIN)/python compiler/tools/commands.py
	$(BIN)/python compiler/tools/fileschemas.py
	$(BIN)/python compiler/tools/configuration.py
	$(BIN)/python compiler/tools/fixes.py
	$(BIN)/python compiler/tools/grammar.py
	$(BIN)/python compiler/tools/schemas.py
	$(BIN)/python compiler/tools/celfunctions.py
	$(BIN)/python compiler/tools/rules.py
	types=$$(cd tests/oracle && go run ./gotypes); printf '%s\n' "$$types" > compiler/trainc/data/gotypes.json
	$(BIN)/trainc schema --all -o docs/schemas

goldens: $(READY) ## run the real Trainer, JobSet and CEL on the cases and write the goldens (needs Go)
	$(BIN)/python tests/oracle/goldens.py $(ARGS)
	$(BIN)/python tests/oracle/celgoldens.py $(ARGS)
	$(BIN)/python tests/oracle/policygoldens.py
	$(BIN)/python tests/oracle/childgoldens.py
	$(BIN)/python tests/oracle/serverforms.py
	$(BIN)/python tests/oracle/operatorgoldens.py

fuzz: $(READY) ## compare trainc with the real Trainer and JobSet on N generated cases from SEED (needs Go)
	$(BIN)/python tests/oracle/fuzz.py --n $(N) --seed $(SEED) $(ARGS)

fuzz-apiserver: $(READY) ## compare trainc with Kubernetes' API server on N generated cases of each part from SEED (needs Go)
	$(BIN)/python tests/oracle/apiserver.py --n $(N) --seed $(SEED) $(ARGS)

fuzz-coverage: $(READY) ## fuzz parts of trainc, guided by coverage, against Go (needs Go; tests/fuzz/README.md says more)
	$(PIP) install --require-hashes --no-deps -r tests/fuzz/requirements.txt
	$(BIN)/python tests/fuzz/driver.py $(ARGS)

mutants: $(READY) ## test mutants of the rooms that decide what a cluster gets; ARGS="--rooms merge --count 40"
	$(BIN)/python tests/mutation $(ARGS)

bench: $(READY) ## measure trainc on fleets of jobs; with ARGS="--peers all" also other tools
	$(BIN)/python tests/bench $(ARGS)

lock: $(READY) ## resolve the dependencies of pyproject.toml again (use the oldest supported Python)
	$(COMPILE) --all-extras --output-file requirements.lock $(ARGS) pyproject.toml
	$(COMPILE) --constraint requirements.lock --output-file runtime.lock pyproject.toml # only what trainc needs

clean: ## remove .venv, caches and build products, but not out/
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .hypothesis compiler/*.egg-info tests/oracle/oracle tests/oracle/{argocd/argocd,cel/cel,cel/policies/policies,created/created,gotypes/gotypes,kinds/kinds,kube/kube,pods/pods,pods/{made/made,references/references,stored/stored},printable/printable,schema/schema,yamlread/yamlread} tests/oracle/operators/*/{mpi,training,volcano,trainerv2.*}
	find compiler tests -name __pycache__ -type d -prune -exec rm -rf {} +

# The lock holds the build backend too, so the package itself needs no index.
$(READY): requirements.lock runtime.lock pyproject.toml
	@fits() { "$$1" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }; \
	for python in $(PYTHON) python3.13 python3.12 python3.11 python3; do \
	  if fits "$$python"; then found=$$python; break; fi; \
	  if [ -n "$(PYTHON)" ]; then break; fi; \
	done; \
	if [ -z "$${found-}" ]; then \
	  echo "no Python 3.11 or later (with venv and ensurepip) found; name one: make setup PYTHON=/path/to/python3" >&2; exit 1; \
	fi; \
	echo "setting up $(VENV) with $$("$$found" --version)"; \
	"$$found" -m venv --clear $(VENV)
	$(PIP) install --no-deps --require-hashes -r runtime.lock
	$(PIP) install --no-deps --no-compile --require-hashes -r requirements.lock # Python compiles what is used
	$(PIP) install --no-build-isolation --no-deps -e .
	@$(BIN)/python -m compileall -q compiler/trainc # where Python may not write bytecode, every run would compile
	@touch $@

# Without rules of their own, make may write these files anew, from a Makefile.sh that a pull request brings.
Makefile requirements.lock runtime.lock pyproject.toml: ;
