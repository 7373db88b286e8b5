# dpfast: the commands of a working day. Each makes .venv when it is missing; `make` alone lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed
STAGE := tests/tools/stage
PARTS := unit exact property parity statistical api fuzz leaks
# Tests of processes measure memory and start times, and so run alone.
WORKERS := -n auto
# What the sanitizers meet: the tests that run kernels. Exact tests that reckon in Python alone have nothing for them.
KERNEL_TESTS := tests/parity $(patsubst %,tests/exact/test_%.py,kernels matrix_kernels permanent_noise histogram unknown_row \
	duff_weights duff_privacy duff_statistics quantile_words joint_quantiles graph_law graph_extension_exact)
BUILT_FROM := $(shell find csrc dpfast -name '*.[ch]' ! -path 'dpfast/_core/*' -o -name '*.py' -o -name '*.pyx' -o -name '*.pxd') setup.py

C_FLAGS := -std=c11 -ffp-contract=off -Icsrc $(patsubst %,-I%,$(wildcard csrc/*/)) -Wall -Wextra -Werror -Wpedantic -Wshadow \
	-Wconversion -Wsign-conversion -Wstrict-prototypes -Wmissing-prototypes -Wvla

# A sanitised module is loaded by a Python that is not: the sanitizer's own library has to come first. Buffers of numpy come
# from malloc as they are; PYTHONMALLOC=malloc would only make the tests five times slower.
library = $(shell $(CC) -print-file-name=$(1))
ASAN := LD_PRELOAD="$(call library,libasan.so) $(call library,libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	PYTHONPATH=build/asan DPFAST_TESTED_BUILD=build/asan DPFAST_TESTED_CALLS=__asan_report,__ubsan_handle
TSAN := LD_PRELOAD="$(call library,libtsan.so)" TSAN_OPTIONS=halt_on_error=1:die_after_fork=0 \
	PYTHONPATH=build/tsan DPFAST_TESTED_BUILD=build/tsan DPFAST_TESTED_CALLS=__tsan_read
build/asan/built: SANITIZE := address,undefined
build/tsan/built: SANITIZE := thread

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test check mutants soak bench docs lint clean
help:
	@echo "make demo    sanitise a real Parquet file and look at the result"
	@echo "make test    lint, types, all tests, then the core under ASan and UBSan"
	@echo "make check   thread sanitizer, C driver, mutants, source and binary distributions"
	@echo "make mutants breaks the code on purpose, fault by fault: a test must find each (a part of check)"
	@echo "make soak    the long tests, under a key of today; each fuzz target for DPFAST_FUZZ_SECONDS (600)"
	@echo "make bench   speed against copying and against numpy"
	@echo "make docs    the guide, in build/docs; warnings are errors"
	@echo "make lint    style, types, C warnings"
	@echo "make clean   remove what was built"

demo: $(INSTALLED)
	@$(BIN)/python examples/flights.py

test: lint build/asan/built
	@for part in $(PARTS); do \
		$(STAGE) "$$part tests" $(BIN)/pytest -q $(WORKERS) -m "not slow and not package" tests/$$part || exit 1; \
	done
	@$(STAGE) "process tests" $(BIN)/pytest -q -m "not slow and not package" tests/process
	@$(STAGE) "tests of the test tools" $(BIN)/pytest -q tests/test_stats.py
	@$(STAGE) "address and undefined-behaviour sanitizers" \
		env $(ASAN) $(BIN)/pytest -q $(WORKERS) -m "not slow and not package" $(KERNEL_TESTS)

# The thread sanitizer meets the tests of our own threads; it cannot judge those inside Arrow, which is not built for it.
check: $(INSTALLED) build/tsan/built build/c/asan
	@$(STAGE) "thread sanitizer" env $(TSAN) $(BIN)/pytest -q -m "not slow and not package" \
		tests/parity tests/process/test_fork.py tests/unit/test_threads.py tests/unit/test_randomness.py
	@$(STAGE) "C driver" env ASAN_OPTIONS=detect_leaks=1 build/c/asan
	@$(STAGE) "C driver notices an overrun" sh -c "! build/c/asan overrun 2>build/c/overrun && grep -q heap-buffer-overflow build/c/overrun"
	@$(MAKE) --no-print-directory mutants
	@$(MAKE) --no-print-directory docs
	@$(STAGE) "distributions" $(BIN)/pytest -q -m package tests/process

mutants: $(INSTALLED)
	@$(STAGE) "mutants" $(BIN)/python tests/tools/mutants.py

soak: $(INSTALLED) $(VENV)/fuzz-installed
	@$(STAGE) "long tests" $(BIN)/pytest -q -s -m slow tests; status=$$?; \
		$(BIN)/python tests/tools/assurance.py && exit $$status

bench: $(INSTALLED)
	@$(BIN)/python bench/report.py

docs: $(INSTALLED) $(VENV)/docs-installed
	@$(STAGE) "guide" $(BIN)/sphinx-build -q -W --keep-going -b html docs build/docs

lint: $(INSTALLED)
	@$(STAGE) "style" $(BIN)/ruff check .
	@$(STAGE) "format" $(BIN)/ruff format --check .
	@$(STAGE) "types" $(BIN)/mypy --strict dpfast
	@$(STAGE) "C warnings" sh -c 'for file in csrc/*/*.c; do $(CC) -O3 $(C_FLAGS) -c $$file -o /dev/null || exit 1; done'

clean:
	rm -rf build dist demo .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info dpfast/_core/*.c dpfast/_core/*.so $(INSTALLED) $(VENV)/*-installed

# The environment. Python files are used where they are; what is compiled or declared asks for a new installation.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "dpfast needs Python 3.11 or newer; this is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(INSTALLED): pyproject.toml setup.py $(wildcard csrc/* csrc/*/*) $(wildcard dpfast/_core/*.pyx dpfast/_core/*.pxd) | $(BIN)/python
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' \
		> $(VENV)/build-requires
	$(BIN)/pip install --quiet -r $(VENV)/build-requires
	$(BIN)/pip install --quiet --no-build-isolation --use-pep517 --editable '.[test]'
	@touch $@

$(VENV)/%-installed: pyproject.toml | $(INSTALLED)
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["$*"], sep="\n")' \
		> $(VENV)/$*-requires
	$(BIN)/pip install --quiet -r $(VENV)/$*-requires
	@touch $@

# A sanitised build is a tree of its own, so that no object or generated file of it reaches an ordinary build.
build/%/built: $(BUILT_FROM) $(INSTALLED)
	rm -rf build/$*
	mkdir -p build/$*
	cp -r csrc dpfast pyproject.toml setup.py README.md LICENSE build/$*
	rm -f build/$*/dpfast/_core/*.c build/$*/dpfast/_core/*.so
	cd build/$* && DPFAST_SANITIZE=$(SANITIZE) DPFAST_WERROR=1 $(CURDIR)/$(BIN)/python setup.py -q build_ext --inplace
	@touch $@

build/c/asan: $(wildcard tests/c/* csrc/* csrc/*/*)
	mkdir -p build/c
	$(CC) -g -O1 $(C_FLAGS) -fsanitize=address,undefined -fno-sanitize-recover=undefined tests/c/*.c csrc/*/*.c -o $@
