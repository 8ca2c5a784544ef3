"""Mechanisms of one to four elastic links: errors of reduced bases against what is stated.

`python -m benchmarks.link_accuracy` does the same, with finer meshes for frozen modes and
transients.
"""

from __future__ import annotations

import pytest

from assembly.mechanisms import mechanism as mechanisms
from tests.support import link_errors
from tests.support.link_machines import COARSE, COARSEST, MACHINES

QUICK = ("damped solid rod", "loaded beam", "elastic crank", "bushing")
EXPONENTS = ("rotating beam", "bushing")
SLOW = pytest.mark.slow


@pytest.fixture(autouse=True)
def small_bodies_have_bases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanisms, "LARGE_BODY", 60)


def cases(quick: tuple[str, ...]) -> list[object]:
    """All machines; those that are not quick are marked slow."""
    return [name if name in quick else pytest.param(name, marks=SLOW) for name in MACHINES]


@pytest.mark.parametrize("name", cases(QUICK))
def test_bounds_cover_the_errors_of_eigenvalues_at_random_instants(name: str) -> None:
    assert link_errors.of_eigenvalues(MACHINES[name](COARSE)).covered


@pytest.mark.parametrize("name", cases(QUICK))
def test_transients_agree_with_full_order_to_what_they_state(name: str) -> None:
    assert link_errors.of_transient(MACHINES[name](COARSE)).covered


@pytest.mark.parametrize("name", cases(EXPONENTS))
def test_exponents_agree_with_full_order_to_what_they_state(name: str) -> None:
    found = link_errors.of_exponents(MACHINES[name](COARSEST))
    assert found.covered
    assert found.stated <= 1e-5
