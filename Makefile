# Two commands matter: `make book` and `make test`. Each sets up .venv by itself.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
PROFILE ?= quick
JOBS ?= 2
BIN := .venv/bin
READY := .venv/.ready
# the paper's picture: layer integrated gradients over 300 noisy baselines, six references
ALBATROSS := --network b0 --label albatross --maps layer --references blurred mean white black noise farthest \
  --baselines 300 --steps 20 --masks 2000 --step 224 --seed 0

.PHONY: help setup book test bench paper course serve notebooks lock clean

help:  ## what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | sort

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
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup

bench: $(READY)  ## side by side with shap, shapiq and captum, as ratios
	$(BIN)/python benchmarks/bench.py

paper: $(READY)  ## record the full-size runs anew, then build the book at full size (hours; resumable)
	$(BIN)/python -m insdel.paper.records.runs all
	for what in data accuracy; do $(BIN)/python -m insdel.paper.studies.data_facts $$what || exit; done
	$(BIN)/python -m insdel.paper.studies.best_order bangalore
	for policy in counterfactual one_to_one average; do $(BIN)/python -m insdel.paper.studies.best_order cern $$policy || exit; done
	$(BIN)/python -m insdel.paper.studies.binary_ig
	for part in cern extreme bangalore; do $(BIN)/python -m insdel.paper.studies.manifold $$part || exit; done
	$(BIN)/python -m insdel.paper.studies.cost
	$(BIN)/python -m insdel.paper.records.roar all
	$(BIN)/python -m insdel.paper.studies.images.study images_albatross Black_Footed_Albatross_0040_796066.jpg $(ALBATROSS)
	$(BIN)/insdel book --profile paper
	$(BIN)/insdel claims

course: $(READY)  ## exercise notebooks for students and teachers, into build/course
	$(BIN)/insdel course

serve: book  ## build the book and serve it on localhost:8000
	$(BIN)/python -m http.server 8000 --bind 127.0.0.1 --directory build/book

notebooks: $(READY)  ## bring the .ipynb of each chapter in step with its .md
	$(BIN)/insdel sync

lock: $(READY)  ## write the installed versions to requirements.lock
	$(BIN)/python -m pip freeze --exclude-editable | sed -E 's/^(torch==[0-9.]+)\+cpu$$/\1/' > requirements.lock

clean:  ## remove what was built, keep .venv
	rm -rf build runs
