# What a person types. Each target installs what it needs first (scripts/setup) and does its work in scripts/.

PREFIX ?= /usr/local
N ?= 10000
SECONDS ?= 600
CARGO_TARGET_DIR ?= target

export PATH := $(PATH):$(HOME)/.cargo/bin

.PHONY: help demo test quick build install lint bench bench-update bench-wire fuzz soak kernels

help: ## say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

demo: ## filter real HTTPS traffic between two network namespaces, then clean up
	@scripts/demo

test: ## run every test; the last lines say what could not run here
	@scripts/setup test
	@scripts/test

quick: ## run the tests that take no time by themselves, in under 90 seconds once they are built
	@scripts/setup test
	@scripts/quick

build: ## compile the moonhook command into target/release
	@scripts/setup build
	cargo build --release -p moonhook-cli

install: build ## copy the command to $(PREFIX)/bin (PREFIX=/usr/local)
	install -D -m 755 $(CARGO_TARGET_DIR)/release/moonhook $(DESTDIR)$(PREFIX)/bin/moonhook

lint: ## check formatting and lints, warnings are errors
	@scripts/setup test
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

bench: ## measure against hand-written C, Lua and LuaJIT; writes bench/results
	@scripts/setup bench
	@scripts/bench

bench-update: ## measure how soon functions of flows take effect, and what they cost; writes bench/results
	@scripts/setup bench
	@scripts/bench --update

bench-wire: ## measure DoS mitigation, router and load balancer with frames that travel, next to C, nft and the kernel
	@scripts/setup bench
	@scripts/bench --wire --rounds 21

kernels: ## run the tests on other kernels, in a machine in software (KERNELS="6.12 6.16 newest"); at most 40 minutes
	@scripts/setup kernels
	@scripts/kernels $(KERNELS)

soak: ## run a script for SECONDS=600 with reloads, lists and events at once, and count exactly; nothing may be lost or stay
	@scripts/setup test
	@scripts/soak $(SECONDS)

fuzz: ## random programs and packets through both tiers (N=10000 cases, SEED=…)
	@scripts/setup test
	@scripts/fuzz $(N) $(SEED)
