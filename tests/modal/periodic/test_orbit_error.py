"""The error of Floquet exponents by a basis is measured at instants where no basis is trained."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from modal.periodic.orbit_error import orbit_error
from modal.reduction.space import SAMPLE
from modal.types import Array

PERIOD, OMEGA = 2.0, 3.0


class Oscillator:
    """One mass on a constant spring, whose basis is exact at the instants of its training."""

    def freeze_many(self, times: Array) -> Any:
        ones = np.ones((len(times), 1, 1))
        return SimpleNamespace(mass=ones, damping=0.0 * ones, stiffness=OMEGA**2 * ones)

    def missing(self, times: Array, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        part = times / PERIOD * SAMPLE
        trained = np.abs(part - np.round(part)) < 1e-9
        size = np.where(trained, 0.0, 0.01)[:, None] * np.ones(q.shape[2])
        return size, size

    def round_off(self, sizes: Array) -> Array:
        return 0.0 * sizes


@pytest.mark.parametrize("parts", [32, 64, 128, 512])
def test_no_instant_of_the_training_is_looked_at(parts: int) -> None:
    orbit = np.ones((parts, 1, 1), dtype=complex)
    model: Any = Oscillator()
    error = orbit_error(model, np.eye(1), orbit, np.array([1j * OMEGA]), (0.0, PERIOD))
    # SAFETY 4 times ρᴴK⁻¹ρ = 1e-4 over 2 ω qᴴMq, at every instant.
    assert error[0] == pytest.approx(4e-4 / (2.0 * OMEGA), rel=1e-6)
