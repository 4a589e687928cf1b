# hopcast: build, test, demonstrate. Everything that is built goes into target/ (Rust) and .venv/ (Python).
#
#   make demo      build everything, quickly, and predict a real workload
#   make fast      build everything for speed: runs take some 10 % less time, and the build twice as long
#   make test      build everything and pass all tests: exactly what CI runs
#   make check     the same, in two parts: check-fast (about a minute) and check-full
#   make fuzz      feed damaged traces to the readers for a minute
#   make bench     measure the speed of the simulation, as `make fast` builds it
#   make wheel     a wheel that holds everything, in dist/
#   make validate  compare with published measurements and closed forms
#   make valgrind  all programs of tests/programs in valgrind (needs some minutes, and valgrind)
#   make docs      write the reference pages, and the outputs of the guide's commands, anew; then make site
#   make site      the guide as a site, in out/site
#   make clean     remove what was built

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

RUST_SOURCES := $(shell find crates data -type f 2>/dev/null) Cargo.toml Cargo.lock

# The profile of Cargo that `make build` takes: `release`, or `fast` with link-time optimisation.
PROFILE ?= release

.PHONY: demo test check check-fast check-full fuzz bench validate valgrind docs site clean build fast native wheel lint types tidy

demo: build
	examples/demo.sh $(BIN)

test: check

check: check-fast check-full
	@echo "make check: all passed"

check-fast: lint tidy

check-full: build $(VENV)/.tools
	@./.ci/packages
	$(MAKE) types
	cargo test --workspace
	$(MAKE) fuzz
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile --durations 20

# Formatting and lints, of Rust and of Python.
lint: $(VENV)/.tools
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- --deny warnings
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .

# Types of the Python package, beside the libraries that it uses.
types: build $(VENV)/.tools
	$(BIN)/python -m mypy

# The repository's own rules: lengths, leftovers, machine paths.
tidy: $(VENV)/.tools
	$(BIN)/python -m pytest --quiet --confcutdir=tests/tidy tests/tidy

# Damaged traces must give errors, never a panic: with the overflow checks of the test profile.
fuzz:
	HOPCAST_FUZZ_SECONDS=15 cargo test --workspace --test all damaged -- --nocapture

bench: fast
	bench/run.sh $(BIN)

# Needs some minutes; what lacks its recordings ($HOPCAST_DATA) is skipped with one line.
validate: fast $(VENV)/.tools
	$(BIN)/python validation/all.py

valgrind: build $(VENV)/.tools
	HOPCAST_VALGRIND=all $(BIN)/python -m pytest --quiet tests/programs/test_valgrind.py

docs: build $(VENV)/.tools
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/outputs.py
	$(MAKE) --no-print-directory site

# Strictly: a dead link is an error.
site: build $(VENV)/.tools
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build
	@echo "The guide is in out/site: open out/site/index.html"

build: $(VENV)/.hopcast

fast:
	@[ $(VENV)/.fast -nt $(VENV)/.hopcast ] || touch -c -d @0 $(VENV)/.hopcast
	$(MAKE) --no-print-directory PROFILE=fast build
	@touch $(VENV)/.fast

# The package with its Rust core, editable: Python files count at once, Rust files are built again.
$(VENV)/.hopcast: $(VENV)/.build-tools pyproject.toml $(RUST_SOURCES)
	VIRTUAL_ENV=$(CURDIR)/$(VENV) .ci/uv $(BIN)/python $(BIN)/uv pip install --quiet --requirement pyproject.toml
	@echo "Compiling hopcast: about three minutes on two cores, more on a busy machine ..."
	VIRTUAL_ENV=$(CURDIR)/$(VENV) HOPCAST_PROFILE=$(PROFILE) \
	  .ci/uv $(BIN)/python $(BIN)/maturin develop --uv --profile $(PROFILE) --quiet
	$(MAKE) --no-print-directory native
	@touch $@
	@[ $(PROFILE) != release ] || echo "Built quickly. 'make fast' builds for speed: runs take some 10 % less time."

# The MPI library of compiled programs, its header, the launcher, and the recorder, beside the package's Python.
native:
	cargo build --profile $(PROFILE) --quiet --package libmpi --package recorder
	crates/libmpi/install.sh $${CARGO_TARGET_DIR:-target}/$(PROFILE) python/hopcast

# Everything in one file, for machines without Rust.
wheel: fast
	HOPCAST_PROFILE=fast $(BIN)/maturin build --profile fast --quiet --out dist

$(VENV)/.build-tools: requirements-build.txt
	@./.ci/requirements $(PYTHON)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --requirement requirements-build.txt
	@touch $@

$(VENV)/.tools: $(VENV)/.build-tools requirements-dev.txt requirements-docs.txt
	VIRTUAL_ENV=$(CURDIR)/$(VENV) .ci/uv $(BIN)/python $(BIN)/uv pip install --quiet --requirement requirements-dev.txt
	@touch $@

clean:
	cargo clean --quiet
	rm -rf $(VENV) out dist python/hopcast/*.so python/hopcast/lib python/hopcast/include .pytest_cache .ruff_cache .mypy_cache
	find python tests examples -name __pycache__ -type d -prune -exec rm -rf {} +
