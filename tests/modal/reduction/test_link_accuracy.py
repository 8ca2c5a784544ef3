"""Mechanisms of one to four elastic links: errors of reduced bases against what is stated.

`python -m benchmarks.link_accuracy` does the same for exponents of all of them, and with finer
meshes for frozen modes and transients.
"""

from __future__ import annotations

import pytest

from assembly.mechanisms import mechanism as mechanisms
from tests.support import link_errors
from tests.support.link_machines import COARSE, MACHINES

QUICK = ("elastic crank",)
EXPONENTS = ("rotating beam",)
# Minutes of exponents; the tetrahedra are the solid rod again. The arm is there with its drive.
LONG = ("chain", "arm", "four-bar", "two solids", "arm, elastic drive", "tetrahedra")
SLOW = pytest.mark.slow


@pytest.fixture(autouse=True)
def small_bodies_have_bases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanisms, "LARGE_BODY", 40)


def cases(quick: tuple[str, ...], without: tuple[str, ...] = ()) -> list[object]:
    """All machines but some; those that are not quick are marked slow."""
    names = [name for name in MACHINES if name not in without]
    return [name if name in quick else pytest.param(name, marks=SLOW) for name in names]


@pytest.mark.slow
@pytest.mark.parametrize("name", cases(QUICK, ("chain", "arm")))
def test_bounds_cover_the_errors_of_eigenvalues_at_random_instants(name: str) -> None:
    assert link_errors.of_eigenvalues(MACHINES[name](COARSE)).covered


@pytest.mark.slow
@pytest.mark.parametrize("name", cases(QUICK, ("arm",)))
def test_transients_agree_with_full_order_to_what_they_state(name: str) -> None:
    assert link_errors.of_transient(MACHINES[name](COARSE)).covered


@pytest.mark.slow
@pytest.mark.parametrize("name", cases(EXPONENTS, LONG))
def test_exponents_agree_with_full_order_to_what_they_state(name: str) -> None:
    found = link_errors.of_exponents(MACHINES[name](COARSE))
    assert found.covered
    assert found.stated <= 1e-5
