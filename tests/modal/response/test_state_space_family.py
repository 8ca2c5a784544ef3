"""State-space models over a parameter: transfer functions of each value, with the same states."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import assembly
import modal
from assembly.errors import ConvergenceError, InputError

TIP = [(8, "uz"), (8, "uy")]
BEAM = assembly.beam(
    1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 8, clamped="start", offset=0.1
).with_damping(a=1.0, b=1e-5)


def transfer(A, B, C, D, w):  # type: ignore[no-untyped-def]
    return C @ np.linalg.solve(1j * w * np.eye(len(A)) - A, B) + D


def family(count: int, k: int = 4, stop: float = 600.0):  # type: ignore[no-untyped-def]
    speeds = np.linspace(0.0, stop, count)
    return modal.state_space_family(BEAM, TIP, TIP, k, over={"omega": speeds}, axis=(0, 0, 1))


def test_each_value_is_the_model_of_its_frozen_state() -> None:
    """Poles are those of `solve`, the transfer matrix that of `state_space` with these modes."""
    models = family(13)
    crossed = False
    for omega in models.omega.values[[0, 6, 12]]:
        one = models.sel(omega=omega)
        system = BEAM.freeze(omega=omega, axis=(0, 0, 1))
        poles = np.linalg.eigvals(one["A"].values)
        lowest = modal.solve(system, 8).eigenvalues
        for lam in one["eigenvalue"].values:
            assert np.abs(lowest - lam).min() < 1e-9 * abs(lam)
            assert np.abs(poles - lam).min() < 1e-9 * abs(lam)
        crossed = crossed or bool(np.any(np.diff(one["eigenvalue"].values.imag) < 0.0))
        # Static gain is exact whatever the modes: D holds those that are left out.
        static = np.linalg.inv(system.stiffness.toarray())
        rows = [system.dofs.index(8, c) for c in (2, 1)]
        gain = transfer(*(one[key].values for key in "ABCD"), 0.0)
        assert_allclose(gain, static[np.ix_(rows, rows)], rtol=1e-8, atol=1e-16)
    assert crossed  # edge and flap modes change their order: the states stay with their mode


def test_between_the_values_the_error_falls_with_the_square_of_the_step() -> None:
    errors = []
    for count in (11, 21):
        models = family(count, stop=200.0)
        omega = 0.5 * float(models.omega[count // 2] + models.omega[count // 2 + 1])
        system = BEAM.freeze(omega=omega, axis=(0, 0, 1))
        exact = transfer(*modal.state_space(system, TIP, TIP, 4), 300.0)
        one = models.interp(omega=omega)
        found = transfer(*(one[key].values for key in "ABCD"), 300.0)
        errors.append(np.abs(found - exact).max() / np.abs(exact).max())
    assert errors[0] < 3e-3
    assert 3.0 < errors[0] / errors[1] < 5.5


def test_matrices_are_continuous_along_a_mechanism() -> None:
    from studies import slider_crank

    machine = slider_crank.model(crank=0.15, rod=0.30, speed_rpm=1500, elements=2)
    system = machine.freeze(0.0)
    assert system.dofs is not None
    number = system.n // 2
    jumps = []
    for count in (21, 41):
        times = np.linspace(0.0, 0.5 * machine.period, count)
        models = modal.state_space_family(machine, [number], [number], 2, times=times)
        assert float(models["certainty"].min()) > 0.8
        B = models["B"].values
        jumps.append(np.abs(np.diff(B, axis=0)).max() / np.abs(B).max())
    assert jumps[1] < 0.65 * jumps[0] < 0.3


def test_faults_are_named() -> None:
    with pytest.raises(InputError, match="give times"):
        modal.state_space_family(BEAM, TIP, TIP, 2)
    free = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 4)
    with pytest.raises(InputError, match="omega = 0: the model is free to move"):
        modal.state_space_family(free, [0], [0], 1, over={"omega": [0.0, 1.0]}, axis=(0, 0, 1))
    stiff = BEAM.with_damping(a=1e5)
    with pytest.raises(InputError, match="oscillatory modes were found"):
        modal.state_space_family(stiff, [0], [0], 4, over={"omega": [0.0, 1.0]}, axis=(0, 0, 1))


def test_a_step_that_is_too_long_is_refused() -> None:
    class Exchange:
        """Two oscillators whose axes turn by 45° from one value to the next."""

        def freeze(self, t: float) -> assembly.FrozenSystem:
            c, s = np.cos(t), np.sin(t)
            R = np.array([[c, -s], [s, c]])
            return assembly.FrozenSystem(
                M=np.eye(2), C=np.zeros((2, 2)), K=R @ np.diag([1.0, 1.2]) @ R.T
            )

    with pytest.raises(ConvergenceError, match="take smaller steps"):
        modal.state_space_family(Exchange(), [0], [0], 1, times=[0.0, 0.25 * np.pi])
