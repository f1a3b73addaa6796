# Two commands matter: `make book` and `make test`. Each sets up .venv by itself.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
PROFILE ?= quick
JOBS ?= 2
BIN := .venv/bin
READY := .venv/.ready

.PHONY: help setup book test test-all mutants bench race paper course pdf serve notebooks lock clean

help:  ## what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | sort

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "insdel needs Python 3.11 or newer; $(PYTHON) is older. Run: make PYTHON=/path/to/python3.11 ..."; exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

setup: $(READY)  ## create .venv with the locked versions

book: $(READY)  ## build the book (PROFILE=smoke|quick|paper)
	$(BIN)/insdel book --profile $(PROFILE)

test: $(READY)  ## style, types and tests
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/deptry src
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

test-all: $(READY)  ## the same, and every parameter of every chapter at its ends and an odd value (hours)
	INSDEL_ALL=1 $(MAKE) test

mutants: $(READY)  ## change one operator or number at a time: do the tests notice? (PACKAGE=insdel; an hour)
	$(BIN)/python tools/mutants.py --package $(or $(PACKAGE),insdel)

bench: $(READY)  ## side by side with shap, shapiq and captum, as ratios
	$(BIN)/python benchmarks/bench.py
	$(BIN)/python benchmarks/trees.py

race: $(READY)  ## errors of sampled Shapley values: this package, shap and shapiq at equal budgets (resumable)
	$(BIN)/python benchmarks/estimators.py

paper: $(READY)  ## record the full-size runs anew, then build the book at full size (hours; resumable)
	$(BIN)/insdel record all
	$(BIN)/insdel book --profile paper && $(BIN)/insdel claims

course: $(READY)  ## exercise notebooks for students and teachers, slides for lectures, into build/course
	$(BIN)/insdel course

pdf: book  ## the whole book as one PDF, build/book.pdf (needs Chromium)
	$(BIN)/python tools/pdf.py

serve: book  ## build the book and serve it on localhost:8000
	$(BIN)/python -m http.server 8000 --bind 127.0.0.1 --directory build/book

notebooks: $(READY)  ## bring the .ipynb of each chapter in step with its .md
	$(BIN)/insdel sync

lock: $(READY)  ## write the installed versions to requirements.lock
	$(BIN)/python -m pip freeze --exclude-editable | sed -E 's/^(torch==[0-9.]+)\+cpu$$/\1/' > requirements.lock

clean:  ## remove what was built, keep .venv
	rm -rf build runs
