# The front door of tidemark: `make help` says what there is. Meson and Ninja do the work.
PREFIX = /usr/local
DESTDIR =
FUZZ_SECONDS = 60

.DEFAULT_GOAL := build
.PHONY: build page check test test-all demo bench score score-causes fuzz lint format dist wheel install uninstall clean help

build: ## build build/tidemark (the default)
	@tools/install-packages --check build
	@tools/build build
	@echo build/tidemark

page: ## web/built from web/src: only after a change of the page; needs Node
	@tools/install-packages --check test
	@cd web && npm ci --ignore-scripts && npx prettier --log-level warn --write src bench *.mjs && npx tsc --noEmit && node build.mjs

check: ## before every commit: unit tests, command line, recordings, verdicts, layout (2 minutes)
	@tools/install-packages --check build check
	@tools/test check

test: ## what CI runs, every part of the program; installs what is missing (12 minutes)
	@tools/install-packages build test
	@tools/test test

test-all: ## that, long repetitions and every CPython; begins with what is only here, and why (hours)
	@tools/install-packages build test
	@tools/test all

demo: ## training with and without a leak (SCENARIO=correct|leak, FULL=1: three epochs), and more
	@tools/install-packages build demo
	@tools/build build
	@tools/demo build $(or $(SCENARIO),both) $(if $(FULL),full)

bench: build ## what the engine and watching cost, beside psutil and psrecord (15 minutes, 10 GB)
	@tools/install-packages --check bench
	@bench/run build

score: build ## the verdicts against known truth, beside today's methods (BASELINES=0: without)
	@tools/install-packages --check score
	@python3 tests/score/run.py build/tidemark

score-causes: build ## who holds what grows, and why, told of programs whose truth is known (WORKLOADS=DIR: of those too)
	@tools/install-packages --check score
	@python3 tests/causes/score.py --replay build/tidemark
	@python3 tests/causes/score.py build/tidemark
	@[ -z "$(WORKLOADS)" ] || python3 tests/causes/score.py build/tidemark --workloads "$(WORKLOADS)"

fuzz: ## fuzz every parser for FUZZ_SECONDS each; what it finds joins the corpus
	@tools/install-packages --check build fuzz
	@tools/build-clang
	@tools/fuzz build-clang $(FUZZ_SECONDS)

lint: ## clang-format, include directions, clang-tidy, cppcheck
	@tools/install-packages --check build lint fuzz
	@tools/build-clang
	@tools/lint format includes tidy cppcheck

format: ## lay out the source with clang-format
	@tools/install-packages --check lint
	@tools/lint reformat

dist: ## dist/tidemark-VERSION-linux-ARCH.tar.gz: runs where nothing can be installed
	@tools/install-packages --check build
	@tools/dist

wheel: ## dist/tidemark-VERSION-cp39-abi3-PLATFORM.whl: for every CPython from 3.9 on
	@tools/install-packages --check build wheel
	@tools/wheel

install: build ## install under $(DESTDIR)$(PREFIX)
	@meson configure build -Dprefix=$(abspath $(PREFIX))
	@meson install -C build --quiet $(if $(DESTDIR),--destdir $(abspath $(DESTDIR)))

uninstall: build ## remove what `make install` put under $(DESTDIR)$(PREFIX)
	@meson configure build -Dprefix=$(abspath $(PREFIX))
	@tools/uninstall build "$(if $(DESTDIR),$(abspath $(DESTDIR)))"

clean: ## remove everything that was built
	rm -rf build build-asan build-tsan build-clang build-dist dist

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 18
