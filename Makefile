# Frozen Motion. Every target first makes the environment it needs: nothing to install by hand
# on Debian or Ubuntu, as root or with sudo. VENV=path uses an environment of your own instead.

VENV ?= .venv
OUT ?= outputs
PYTEST ?=
WORKERS ?= 2
python := $(VENV)/bin/python

export OMP_NUM_THREADS ?= 1
export MPLBACKEND ?= Agg
export PYTHONNOUSERSITE := 1
export OMPI_ALLOW_RUN_AS_ROOT := 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM := 1
unexport PYTHONPATH PYTHONHOME

# Tests of what touches PETSc and SLEPc.
SOLVING := assembly/linalg/test_factorization.py assembly/bodies/test_matrices.py \
	assembly/elements/test_large_beams.py \
	$(foreach name,conjugate_subspaces reference_spectra solve clusters windows certify two_zeros \
	ordinary_models extreme_spectra,modal/eigen/test_$(name).py) \
	modal/reduction/test_reduction.py modal/reduction/test_spot_check.py \
	modal/maps/test_stability_map.py modal/tracking/test_tracking.py

# What depends on the last bits of dense and sparse kernels most.
NUMERICS := modal/proofs modal/eigen modal/reduction modal/maps assembly/mechanisms
# Of these the decisions: verdicts, bounds, counts, ranks. CI runs them.
DECISIONS := modal/proofs modal/eigen modal/reduction modal/maps/test_stability_map.py \
	$(foreach name,closure_parts first_order_mechanisms joint_sets \
	planar_mechanisms trim trim_of_elastic_links,assembly/mechanisms/test_$(name).py)

# The studies of the demo, the longest first.
DEMO := slider-crank rotating-blade solid-rod

# $(call needs,MODULES,EXTRA): install an extra of pyproject.toml unless its modules are there
needs = $(python) -c 'import $(subst $(space),$(comma),$(1))' 2>/dev/null \
	|| $(python) -m pip install -q -c constraints.txt -e '.[$(2)]'
# A debugger needs PYTEST='-n 0 --pdb'
in_workers = -n $(WORKERS) --dist loadgroup
comma := ,
space := $(subst ,, )

.PHONY: help setup demo test slow complex wheel kernels mutants lint types docs bench bench-large clean $(DEMO:%=study-%)
.DEFAULT_GOAL := help

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /make \1	/p' $(MAKEFILE_LIST) | expand -t 18

setup:  ## make the environment in .venv (done once)
	@tools/set-up $(VENV)

demo: setup  ## run the slider-crank, solid-rod and rotating-blade studies into outputs/
	@echo "running $(DEMO), $(WORKERS) at a time; each is shown when it has finished"
	@$(MAKE) --no-print-directory -j $(WORKERS) --output-sync=target $(DEMO:%=study-%)

$(DEMO:%=study-%): study-%:
	$(VENV)/bin/frozen-motion run $* --out $(OUT)/$*

test: setup  ## run the tests but the slow ones in WORKERS processes (2); PYTEST='-k name' chooses some
	@tools/browser
	@$(call needs,playwright,browser)
	$(python) -m pytest $(in_workers) -m "not slow" $(PYTEST)

slow: setup  ## run the slow tests
	$(python) -m pytest $(in_workers) -m slow $(PYTEST)

complex: ## run the tests of solving and sweeping on a complex PETSc build, in .venv-complex
	@tools/set-up .venv-complex complex
	.venv-complex/bin/python -m pytest $(in_workers) -m "not slow" $(SOLVING:%=tests/%)

wheel: setup  ## build sdist and wheel, check them, and try the wheel where PETSc is not installed
	@$(call needs,twine,publish)
	$(python) tools/try_wheel.py

kernels: setup  ## run the numerical tests under four kinds of BLAS kernels and with perturbed model data
	tools/kernels $(python) -m pytest -q $(in_workers) -m "not slow" $(NUMERICS:%=tests/%) $(PYTEST)

lint: setup  ## check the style with ruff
	$(python) -m ruff check

mutants: setup  ## break every bound once and show which test notices
	$(python) -m tools.mutants

types: setup  ## check the types with mypy
	$(python) -m mypy

docs: setup  ## build the manual into docs/_build
	@$(call needs,sphinx myst_parser furo sphinx_gallery,docs)
	$(python) -m sphinx -q -W --keep-going docs docs/_build
	@tools/browser
	@$(call needs,playwright,browser)
	$(python) tools/figure_pictures.py docs/_build/_images
	$(python) tools/explorer_pictures.py docs/_build/_images

bench: setup  ## measure what the README claims
	@$(call needs,ross,bench)
	$(python) -m benchmarks

LARGE ?= --shape slender thick --dofs 100000 300000 1000000 --limit 12
bench-large: setup  ## measure memory against size, to a million DOFs; LARGE='…' chooses others
	$(python) -m benchmarks.large $(LARGE)

clean:  ## remove outputs and caches; .venv stays
	find outputs -mindepth 1 ! -name README.md -delete
	rm -rf build dist docs/_api docs/_build docs/_gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	find . -path './.venv*' -prune -o -name __pycache__ -prune -exec rm -rf {} +
