# Charter: what people type. `make help` lists it.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# further arguments of `charter serve`, such as SERVE="--listen 127.0.0.1:8080"
SERVE ?=
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

.PHONY: help run test check fmt schemas bench need-cargo need-nextest need-cc need-npm lint-api

help: ## what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

run: need-cargo need-cc ## build and start the server; it prints where it listens and, once, the setup code
	$(CARGO) run $(FLAGS) --release --package charter-cli -- serve $(SERVE)

test: need-cargo need-cc need-nextest ## everything CI runs
	$(CARGO) fmt --all --check
	$(CARGO) clippy $(FLAGS) --workspace --all-targets -- -D warnings
	$(CARGO) build $(FLAGS) $(PRODUCT) --bins
	@# each guard taken out once: some case has to fail without it
	$(CARGO) nextest run $(FLAGS) --package charter-commands --features mutants --profile $(PROFILE) removed
	$(CARGO) nextest run $(FLAGS) $(PRODUCT) --profile $(PROFILE)
	$(CARGO) test $(FLAGS) $(PRODUCT) --doc --quiet
	@$(MAKE) --no-print-directory lint-api

check: need-cargo ## the quick half of `test`: format, lints, layers, tidiness, schemas
	$(CARGO) fmt --all --check
	$(CARGO) clippy $(FLAGS) $(PRODUCT) --all-targets -- -D warnings
	$(CARGO) xtask layers
	$(CARGO) xtask tidy
	$(CARGO) xtask schemas --check
	$(CARGO) xtask openapi --check

fmt: ## format the sources
	$(CARGO) fmt --all

schemas: ## write the event schemas and the API's document again
	$(CARGO) xtask schemas
	$(CARGO) xtask openapi

bench: need-cargo need-cc ## measure against the goals and the peers; writes target/bench/report.md
	$(CARGO) run $(FLAGS) --release --package charter-bench -- --sizes $(SIZES)

lint-api: $(SPECTRAL)
	$(SPECTRAL) lint --fail-severity=warn --ruleset $(TOOLS)/spectral.yaml crates/http/openapi.json

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

# Debian packages are installed by themselves only where CI runs as root; people are told the command.
define debian
{ if [ "$${CI:-}" = true ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
    apt-get update -q && apt-get install -qy --no-install-recommends $(1); \
  else \
    echo "$(1) is missing: install it with 'sudo apt-get install $(1)', then try again" >&2; exit 1; \
  fi; }
endef
