# Charter: what people type. `make help` lists it.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# further arguments of `charter serve`, such as SERVE="--listen 127.0.0.1:8080"
SERVE ?=
# what `make run` keeps its data in: sqlite or postgres
STORE ?= sqlite
# what it publishes on: none or nats
BUS ?= none
# how many compilers at once; cargo decides when it is empty
JOBS ?=
# the tests' profile in .config/nextest.toml
PROFILE ?= default
# sizes `make bench` measures
SIZES ?= S,M

CARGO := cargo
FLAGS := --locked $(if $(JOBS),-j$(JOBS))
TOOLS := tests/tools
SPECTRAL := $(TOOLS)/node_modules/.bin/spectral
PRODUCT := --workspace --exclude charter-bench
# PostgreSQL and NATS on loopback, around a command or by themselves
SERVICES := $(CARGO) run --quiet $(FLAGS) --bin charter-services --
# where `make run` keeps the data of those it starts
SERVICES_FOLDER := target/services
PYTHON := .venv/bin/python3
PIP := .venv/bin/pip install --quiet --disable-pip-version-check --requirement
NATS := .venv/bin/nats-server
# says that what the tests check the API with is there
CHECKS := .venv/checks
CHARTER := $(CARGO) run $(FLAGS) --release --package charter-cli --

.PHONY: help run run-sqlite-none run-with-services services test check fmt schemas bench lint-api \
  need-cargo need-nextest need-cc need-npm need-postgres need-nats need-checks need-provider need-none need-sqlite

help: ## what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

ifeq ($(filter sqlite postgres,$(STORE)),)
$(error STORE is sqlite or postgres, not `$(STORE)`)
endif
ifeq ($(filter none nats,$(BUS)),)
$(error BUS is none or nats, not `$(BUS)`)
endif

run: need-cargo need-cc need-$(STORE) need-$(BUS) ## build and start the server (STORE=postgres BUS=nats: with both)
	@$(MAKE) --no-print-directory $(if $(filter sqlite-none,$(STORE)-$(BUS)),run-sqlite-none,run-with-services)

run-sqlite-none:
	$(CHARTER) serve $(SERVE)

# Both are started on loopback, keep their data in $(SERVICES_FOLDER), and end with the server.
run-with-services:
	@echo "The data is kept in $(SERVICES_FOLDER): delete that folder to begin anew."
	$(if $(filter postgres,$(STORE)),CHARTER_DATA=$${CHARTER_DATA:-$(SERVICES_FOLDER)/charter}) \
	$(SERVICES) --folder $(SERVICES_FOLDER) $(if $(filter sqlite,$(STORE)),--without-postgres) \
	  $(if $(filter none,$(BUS)),--without-nats) run -- \
	  bash -c '$(if $(filter postgres,$(STORE)),$(CHARTER) migrate && )exec $(CHARTER) serve $(SERVE)'

services: need-cargo need-cc need-postgres need-nats ## start a throw-away PostgreSQL and NATS; prints their URLs
	@$(SERVICES)

test: need-cargo need-cc need-nextest need-postgres need-nats need-checks need-provider ## everything CI runs
	$(CARGO) fmt --all --check
	$(CARGO) clippy $(FLAGS) --workspace --all-targets -- -D warnings
	$(CARGO) build $(FLAGS) $(PRODUCT) --bins
	@# each guard taken out once: some case has to fail without it
	$(CARGO) nextest run $(FLAGS) --package charter-commands --features mutants --profile $(PROFILE) removed
	$(SERVICES) run -- $(CARGO) nextest run $(FLAGS) $(PRODUCT) --profile $(PROFILE)
	$(CARGO) test $(FLAGS) $(PRODUCT) --doc --quiet
	@$(MAKE) --no-print-directory lint-api

check: need-cargo ## the quick half of `test`: format, lints, layers, tidiness, schemas
	$(CARGO) fmt --all --check
	$(CARGO) clippy $(FLAGS) $(PRODUCT) --all-targets -- -D warnings
	$(CARGO) xtask layers
	$(CARGO) xtask tidy
	$(CARGO) xtask schemas --check
	$(CARGO) xtask openapi --check
	$(CARGO) xtask asyncapi --check

fmt: ## format the sources
	$(CARGO) fmt --all

schemas: ## write the event schemas and the documents of the API and the stream again
	$(CARGO) xtask schemas
	$(CARGO) xtask openapi
	$(CARGO) xtask asyncapi

bench: need-cargo need-cc ## measure against the goals and the peers; writes target/bench/report.md
	$(CARGO) run $(FLAGS) --release --package charter-bench -- --sizes $(SIZES)

lint-api: $(SPECTRAL)
	$(SPECTRAL) lint --fail-severity=warn --ruleset $(TOOLS)/spectral.yaml crates/http/openapi.json
	$(SPECTRAL) lint --fail-severity=warn --ruleset $(TOOLS)/spectral-asyncapi.yaml event-schemas/asyncapi.yaml

$(SPECTRAL): $(TOOLS)/package.json $(TOOLS)/package-lock.json
	@$(MAKE) --no-print-directory need-npm
	cd $(TOOLS) && npm ci --silent
	@touch $@

need-cargo:
	@command -v cargo >/dev/null || { \
	  echo "cargo is missing: install Rust 1.94 or newer with rustup (its page says how), then try again" >&2; exit 1; }

need-cc:
	@command -v cc >/dev/null || $(call debian,build-essential)

need-nextest:
	@cargo nextest --version >/dev/null 2>&1 || { \
	  echo "cargo-nextest is missing: install it with 'cargo install --locked cargo-nextest', then try again" >&2; \
	  exit 1; }

need-npm:
	@command -v npm >/dev/null || $(call debian,nodejs npm)

need-sqlite need-none:

need-postgres:
	@[ -n "$${CHARTER_PG_BIN:-}" ] || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || \
	  [ -x "$$(pg_config --bindir 2>/dev/null)/initdb" ] || command -v initdb >/dev/null || $(call debian,postgresql)

need-nats:
	@[ -n "$${CHARTER_NATS_SERVER:-}" ] || $(MAKE) --no-print-directory $(NATS)

need-checks:
	@[ -n "$${CHARTER_TEST_PYTHON:-}" ] || $(MAKE) --no-print-directory $(CHECKS)

# the identity provider of the tests is installed with the linter
need-provider: $(SPECTRAL)

$(NATS): $(TOOLS)/requirements.txt | $(PYTHON)
	$(PIP) $<
	@touch $@

$(CHECKS): $(TOOLS)/checks.txt | $(PYTHON)
	$(PIP) $<
	@touch $@

$(PYTHON):
	@python3 -c 'import ensurepip' 2>/dev/null || $(call debian,python3-venv)
	python3 -m venv .venv

# Debian packages are installed by themselves only where CI runs as root; people are told the command.
define debian
{ if [ "$${CI:-}" = true ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
    apt-get update -q && apt-get install -qy --no-install-recommends $(1); \
  else \
    echo "$(1) is missing: install it with 'sudo apt-get install $(1)', then try again" >&2; exit 1; \
  fi; }
endef
