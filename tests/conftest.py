"""Settings of the whole test run: one thread, no window, reproducible examples."""

import os

# Before anything loads BLAS, MPI or matplotlib.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT", "1")
os.environ.setdefault("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")

import pytest
from hypothesis import HealthCheck, settings

from tests.support.perturbation import VARIABLE, perturb

# A first example pays for imports and factorizations, so no deadline of milliseconds.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

if os.environ.get(VARIABLE):
    perturb(float(os.environ[VARIABLE]))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of a file into one group of pytest-xdist: they share caches and fixtures."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
