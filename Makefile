# Attention, Executed. `make` says what there is to make.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
PORT ?= 8000
PY := .venv/bin/python
BOOK := .venv/.book
PDF := .venv/.pdf
READY := .venv/.ready
COLAB := .venv-colab/.ready
SITE := _build/html
SOURCES := attnlib tools tests experiments benchmarks book/_ext
# One thread per process: the tests run in two processes, and small matrices are fastest so.
export OMP_NUM_THREADS ?= 1
export PYTHONHASHSEED ?= 0
# A process that is killed by its own fault says in which line.
export PYTHONFAULTHANDLER ?= 1
# Kernels that another installation of PyTorch has compiled would load its libraries beside ours.
export TORCHINDUCTOR_CACHE_DIR ?= $(CURDIR)/.venv/inductor
# Compiled modules and tests are kept, also for those who ask Python not to: collecting takes a quarter less time.
unexport PYTHONDONTWRITEBYTECODE
SINCE ?= main
PYTEST := $(PY) -m pytest
IN_TWO := -n 2 --dist loadscope

.PHONY: help setup book chapter contents serve test check shards shard walks pictures lint types unit doctests notebooks arithmetic portable nudge pages colab sample gpu cell shots run proofs budget scripts experiments bench speed mutants kills steady lighthouse address clean pdf zip site links

help: ## say what there is to make
	@echo "Attention, Executed"
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1|/' | column -t -s '|'

setup: $(READY) ## set up .venv with everything pinned in requirements.txt

# .venv is filled in three steps, each with what is asked for: building the book, printing it, testing it.
$(BOOK): requirements-book.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "setup: Python 3.11 or newer is needed; got $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(PY) || $(PYTHON) -m venv .venv
	@$(PY) tools/install.py requirements-book.txt
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(PDF): requirements-pdf.txt $(BOOK)
	@$(PY) tools/install.py requirements-pdf.txt
	@touch $@

$(READY): requirements.txt requirements-pdf.txt $(BOOK)
	@$(PY) tools/install.py requirements.txt
	@touch $@

book: $(BOOK) ## build the whole book, warnings as errors; ends with the path to open
	@$(PY) tools/build_book.py

serve: book ## build the book and serve it on http://localhost:8000 (another port: make serve PORT=8001)
	@$(PY) tools/serve.py --port $(PORT) $(SITE)

chapter: $(BOOK) ## make an empty chapter that builds and passes: make chapter NAME=06-efficient-attention
	@$(PY) tools/new_chapter.py $(NAME)

contents: $(BOOK) ## write what follows from the chapters' folders: _toc.yml, the introduction's plan, the README's list, solutions
	@$(PY) tools/contents.py

pdf: $(PDF) book ## the whole book as one PDF, in _build/downloads (needs Chromium)
	@$(PY) tools/make_pdf.py

zip: $(BOOK) book ## the whole book for reading offline, in _build/downloads
	@$(PY) tools/make_zip.py

site: pdf zip ## what is published, in _build/site: the book with both downloads
	@$(PY) tools/make_site.py

# Left out: what has not changed since it passed here, what trains, and what lies farther from the change than half a minute.
check: export LEAVE_OUT := and not training
check: export CHANGED := --changed --within 30
check: $(READY) ## the everyday loop: lint, types, doctests, the unit tests of what changed (a minute); or one notebook, NB=...
	+@if [ -n "$(NB)" ]; then $(PY) tools/check_notebook.py $(NB); else MAKE="$(MAKE)" $(PY) tools/parts.py lint types+doctests unit; fi

# The parts in their order: what is quick first; those with a plus between them use one core each, side by side.
PARTS := lint types+doctests unit notebooks arithmetic+book sample pages
test: $(READY) ## everything: check, notebooks, other arithmetics, book, pages, a sample on Colab's packages
	+@MAKE="$(MAKE)" $(PY) tools/parts.py $(PARTS)

shards: # the jobs of continuous integration, as GitHub's matrix
	@$(PYTHON) tools/shards.py

shard: $(READY) # one of them: make shard SHARD=code
	+@MAKE="$(MAKE)" $(PY) tools/shards.py --run $(SHARD)

walks: $(READY) ## what somebody reads who follows the code in five places: the table of ARCHITECTURE.md
	@$(PY) tools/walks.py --write

pictures: $(READY) book ## pictures of the pages that differ from main (another commit: SINCE=...), at 390 and 1280 pixels
	@$(PY) tools/page_pictures.py --since $(SINCE)

lint: $(READY)
	@echo "== lint"; $(PY) -m ruff check $(SOURCES) book && $(PY) -m ruff format --check $(SOURCES)

types: $(READY)
	@echo "== types"; $(PY) -m pyright --pythonpath $(PY)

# Results and inner calls keep their annotations too (tests/conftest.py), but where times are compared.
FAST := not browser and not built and not colab
unit: $(READY)
	@echo "== unit tests"; $(PYTEST) $(IN_TWO) $(CHANGED) -m "$(FAST) $(LEAVE_OUT)" tests

doctests: $(READY)
	@echo "== doctests"; $(PYTEST) --doctest-modules attnlib

NOTEBOOKS ?= book
notebooks: $(READY) # only those with a changed source, but on a machine of continuous integration all
	@echo "== notebooks against their stored outputs"
	@$(PYTEST) $(IN_TWO) --changed --nbval --nbval-current-env --nbval-sanitize-with=tests/nbval_sanitize.cfg --nbval-cell-timeout=300 $(NOTEBOOKS)

arithmetic: $(READY)
	@echo "== three notebooks under other arithmetics, one nudged"; $(PY) tools/portable.py --sample

portable: $(READY) ## run every notebook under other arithmetics: older instruction sets, one and two threads (half an hour)
	@$(PY) tools/portable.py

nudge: $(READY) ## run every notebook that trains, three times, from parameters a millionth away: do its results hold?
	@$(PY) tools/portable.py --nudge

# ONLY chooses tests by words in their names, as pytest's -k does.
pages: $(READY) book
	@echo "== the built book: ledger links and pages in a browser"
	@$(PYTEST) $(IN_TWO) -m "built and not browser" $(if $(ONLY),-k "$(ONLY)") -rs $$(grep -lw built tests/test_*.py)
	@$(PYTEST) -n 3 --dist load -m browser $(if $(ONLY),-k "$(ONLY)") -rs $$(grep -lw browser tests/test_*.py)

$(COLAB): tests/colab-requirements.txt tools/colab.py $(READY)
	@echo "== Colab's packages at Colab's versions, in .venv-colab"; $(PY) tools/colab.py
	@mkdir -p $(@D) && touch $@

colab: $(COLAB) ## run each notebook alone, as on a fresh Colab machine (stand-in: Colab's packages and versions)
	@EVERY_NOTEBOOK=1 $(PYTEST) -n 2 --dist load -m colab tests/test_colab.py

sample: $(COLAB)
	@echo "== notebooks on Colab's packages: three, and those that changed"
	@$(PYTEST) -n 2 --dist load -m colab tests/test_colab.py

gpu: $(READY) ## measure on a GPU and store gpu.json and gpu-tiles.json in attnlib/data/results; without one it says so and stores nothing
	@$(PY) benchmarks/gpu.py
	@$(PY) -m benchmarks.gpu_tiles

shots: book ## take the pictures of the page how-to-use again, where the pages have changed
	@$(PY) tools/shots.py

cell: $(READY) ## give every notebook the setup cell of book/setup-cell.py
	@$(PY) tools/setup_cell.py

run: $(READY) ## re-execute notebooks and store their outputs (one: make run NB=book/.../x.ipynb)
	@$(PY) tools/run_notebooks.py $(NB)

proofs: $(READY) ## does each row of the ledger fail when its proof is broken? (one chapter or row: make proofs ROWS="04 C011"; three edits by rule for each: GENERATED=3)
	@$(PY) tools/proofs.py $(if $(GENERATED),--generated $(GENERATED)) $(ROWS)

budget: $(READY) ## what each notebook asks of its reader: words, lines of code, minutes, tasks (one chapter: make budget CHAPTER=04)
	@$(PY) tools/budget.py $(CHAPTER)

scripts: $(READY) ## put the present scripts of the pictures to move into the notebooks, without running these
	@$(PY) tools/refresh_explorables.py

experiments: $(READY) ## run what is missing of the longer experiments (hours; each goes on where it was stopped)
	@for script in experiments/[a-z]*.py; do echo "== $$script"; $(PY) $$script; done

mutants: $(READY) ## edit the mathematics in a few hundred places, one at a time: the tests must notice (half an hour)
	@$(PY) tools/mutants.py --sample 300

speed: $(READY) book ## measure every page of the built book as a first visitor meets it (a few minutes)
	@$(PY) tools/page_speed.py

kills: $(READY) ## kill a training at twenty moments: it must end as if it never was (two minutes; five are in make test)
	@EVERY_KILL=1 $(PYTEST) -k killed tests/test_fit.py tests/test_elastic.py

steady: $(READY) book ## open every page on a slow machine with late fonts: nothing may move (some minutes; a sample is in make test)
	@EVERY_PAGE=1 $(PYTEST) -n 2 --dist load -rs tests/test_late_fonts.py

lighthouse: $(READY) book ## let Lighthouse judge every page; it is fetched by npm when first asked for
	@$(PY) tools/lighthouse.py

bench: $(READY) ## measure time and memory beside the peers and store the results (some minutes, on a quiet machine)
	@for script in benchmarks/multihead_*.py benchmarks/tokenizer.py benchmarks/generation.py benchmarks/training_step.py benchmarks/guess_and_check.py benchmarks/block_sparse.py; do \
	  echo "== $$script"; module=$${script%.py}; $(PY) -m "$${module//\//.}"; done

address: $(BOOK) ## after editing publish.toml: set the book's address and repository everywhere
	@$(PY) tools/set_address.py

links: $(BOOK) ## ask every outside address that the book names whether it still answers (needs the network)
	@.venv/bin/jupyter-book build -q -W --keep-going --path-output _build/links --builder linkcheck .

clean: ## remove the built book and the environment
	rm -rf _build .venv .venv-colab
