"""Eigenpairs made accurate: by a Newton step in the span of all, and left vectors kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import assembly
import modal
from assembly import FrozenSystem
from modal.eigen import inverse_iteration
from modal.eigen.checked_modes import left_vectors
from modal.eigen.quadratic import Quadratic
from modal.eigen.spectrum import Pairs

Z = (0.0, 0.0, 1.0)


def spun(b: float = 0.0) -> FrozenSystem:
    """A free beam, whose lowest eigenvalues are a 1,500th of the twentieth."""
    section = assembly.rectangle(0.01, 0.02)
    body = assembly.beam(
        1.0, section, assembly.steel, 32, clamped=None, planar=True, start=(-0.5, 0.0, 0.0)
    ).with_damping(b=b)
    return body.freeze(omega=20.0, axis=Z)


@pytest.mark.parametrize("b", [0.0, 1e-6])
def test_all_modes_are_refined_in_one_step(b: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their zeros, which are deflated, included; nothing is factorized for one mode."""
    system, poor = spun(b), list[Any]()
    above = inverse_iteration._above

    def counted(goal: float, quadratic: Quadratic, pairs: Pairs, index: Any) -> Any:
        poor.append(above(goal, quadratic, pairs, index))
        return poor[-1]

    monkeypatch.setattr(inverse_iteration, "_above", counted)
    modes = modal.solve(system, k=20, backend="dense")
    assert len(poor[0]) > 5  # that LAPACK leaves above 1e-12
    assert len(poor[1]) == 0
    quadratic = Quadratic(system)
    opposite = quadratic.transposed.backward_error(modes.eigenvalues, modes.left.conj())
    for error in (modes.backward_error, opposite):
        assert error[poor[0]].max() < 1e-13


def test_known_left_vectors_need_no_transposed_problem() -> None:
    """Nor does a missing one where most are known."""
    system = spun(1e-6)
    modes, quadratic = modal.solve(system, k=8, backend="dense"), Quadratic(system)
    left = np.array(modes.left)
    left[:, 5] = np.nan
    pairs = Pairs(modes.eigenvalues, modes.right, "LU", "a method", left=left)

    def adjoint() -> Pairs:
        raise AssertionError("solved the transposed problem")

    found = left_vectors(quadratic, pairs, adjoint)
    np.testing.assert_allclose(found, modes.left, atol=1e-9 * np.abs(modes.left).max())
    left[:, :5] = np.nan
    with pytest.raises(AssertionError, match="transposed"):
        left_vectors(quadratic, pairs, adjoint)
