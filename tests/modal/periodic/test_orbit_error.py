"""The error of Floquet exponents by a basis is measured at instants where no basis is trained."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la

from modal.periodic.galerkin import orbit_error, residual_error
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
    error = orbit_error(model, orbit, np.array([1j * OMEGA]), (0.0, PERIOD))
    # SAFETY 4 times ρᴴK⁻¹ρ = 1e-4 over 2 ω qᴴMq, at every instant.
    assert error[0] == pytest.approx(4e-4 / (2.0 * OMEGA), rel=1e-6)


class TwoModes:
    """Two masses on springs of their own, joined by a damper, a gyroscope or a circulation."""

    def __init__(self, joint: str) -> None:
        turned = np.array([[0.0, 1.0], [-1.0, 0.0]])
        self.C, self.K = np.diag([0.02, 0.3]), np.diag([1.0, 100.0])
        if joint == "damper":
            self.C = self.C + 0.4 * (np.ones((2, 2)) - np.eye(2))
        elif joint == "gyroscope":
            self.C = self.C + 0.4 * turned
        else:
            self.K = self.K + 3.0 * turned

    def freeze_many(self, times: Array) -> Any:
        return SimpleNamespace(mass=np.eye(2)[None], damping=self.C[None], stiffness=self.K[None])

    def missing(self, times: Array, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
        return np.zeros((1, 1)), np.zeros((1, 1))

    def round_off(self, sizes: Array) -> Array:
        return 0.0 * sizes


@pytest.mark.parametrize("joint", ["damper", "gyroscope", "circulation"])
def test_the_adjoint_mode_counts(joint: str) -> None:
    """A mode that errs in the fast shape, its λ that of pᴴQ(λ)p = 0: what is wrong of it is of the
    first order with dampers and circulation, of the second with gyroscopes."""
    model: Any = TwoModes(joint)
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-model.K, -model.C]])
    values, vectors = la.eig(A)
    slow = int(np.argmin(np.abs(values - 1j)))
    p = vectors[:2, slow] / vectors[0, slow] + 1e-4 * np.array([0.0, 1.0 + 0.5j])
    roots = np.roots([p.conj() @ p, p.conj() @ model.C @ p, p.conj() @ model.K @ p])
    found = roots[np.argmin(np.abs(roots - 1j))]
    true = abs(found - values[slow])
    states = (power[None, :, None] for power in (p, found * p, found**2 * p))
    stated = residual_error(model, np.zeros(1), *states)[0][0]
    assert true <= stated
    if joint != "gyroscope":
        assert 1e-6 < true
        assert stated <= 6.0 * true


def test_a_rigid_motion_at_rest_does_not_spoil_the_errors_of_others() -> None:
    """Three free masses in a row, one with a damper outside: K is singular, and the slowest mode
    has no frequency that would make it definite."""
    K = 100.0 * np.array([[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]])
    C = np.diag([0.3, 0.0, 0.0])
    row = SimpleNamespace(mass=np.eye(3)[None], damping=C[None], stiffness=K[None])
    zeros = np.zeros((1, 2))
    model: Any = SimpleNamespace(
        freeze_many=lambda times: row,
        missing=lambda *states: (zeros, zeros),
        round_off=lambda sizes: 0.0 * sizes,
    )
    values, vectors = la.eig(np.block([[np.zeros((3, 3)), np.eye(3)], [-K, -C]]))
    slow = int(np.argmin(np.abs(values - 10j)))
    p = vectors[:3, slow] / vectors[0, slow] + 1e-4 * np.array([1.0, -2.0 + 1.0j, 1.0])
    roots = np.roots([p.conj() @ p, p.conj() @ C @ p, p.conj() @ K @ p])
    found = roots[np.argmin(np.abs(roots - values[slow]))]
    q, v, a = (np.stack([np.ones(3) * (n == 0), found**n * p], axis=1)[None] for n in range(3))
    stated = residual_error(model, np.zeros(1), q, v, a)[0][1]
    assert 1e-7 < abs(found - values[slow]) <= stated <= 20.0 * abs(found - values[slow])
