"""Whirl of rotors against closed forms: through rest, backwards, at standstill."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import assembly
import modal
from assembly import DofMap, FrozenSystem
from assembly.bodies.rotor_parts import Bearing, Disc
from assembly.bodies.rotors import rotor
from modal.tracking.sweep import Sweep

J = np.array([[0.0, -1.0], [1.0, 0.0]])
POINT = DofMap.regular(np.zeros((1, 3)), (0, 1))


@dataclass(frozen=True)
class Gyroscope:
    """z̈ − iγΩż + ω²z = 0 in the plane z = x + iy of a frame that does not spin.

    z = exp(iwt): w = γΩ/2 ± √(ω² + (γΩ/2)²); w > 0 turns with +Ω. reports: whether a frozen system
    says how fast it turns.
    """

    reports: bool = False
    natural: float = 100.0
    gamma: float = 0.5

    def freeze(self, omega: float, load: float = 0.0) -> FrozenSystem:
        K = (self.natural**2 + load) * np.eye(2)
        parameters = dict(omega=(0.0, 0.0, omega)) if self.reports else None
        C = -self.gamma * omega * J
        return FrozenSystem(M=np.eye(2), C=C, K=K, dofs=POINT, parameters=parameters)

    def frequency(self, omega: np.ndarray, turns: float) -> np.ndarray:
        """Of the whirl in the sense `turns`, ±1, of the axis."""
        half = 0.5 * self.gamma * omega
        return np.asarray(np.sqrt(self.natural**2 + half**2) + turns * half)


@pytest.mark.parametrize("reports", [False, True])
@pytest.mark.parametrize(
    "omega",
    [
        np.linspace(-400.0, 400.0, 9),
        np.linspace(-400.0, 400.0, 8),
        np.linspace(0.0, 400.0, 5),
        np.linspace(0.0, -400.0, 5),
    ],
)
def test_whirl_through_rest_and_backwards(omega: np.ndarray, reports: bool) -> None:
    """One track turns one way for good; which of them is forward changes with the rotation."""
    model = Gyroscope(reports)
    tracks = modal.track(model, omega=omega, k=2, whirl_axis=(0, 0, 1))
    number = tracks["whirl_number"].values
    np.testing.assert_allclose(number, np.sign(number[[1]]).repeat(len(omega), axis=0))
    assert sorted(number[0]) == pytest.approx([-1.0, 1.0])
    turning = omega if omega[0] != 0.0 else np.where(omega == 0.0, omega[1], omega)
    turning = np.where(turning == 0.0, 1.0, turning)  # at rest inside the sweep: what comes next
    for row in range(2):
        exact = model.frequency(omega, number[0, row])
        np.testing.assert_allclose(2 * np.pi * tracks["frequency"].values[:, row], exact)
        forward = number[0, row] * turning > 0.0
        found = tracks["whirl"].values[:, row].tolist()
        assert found == np.where(forward, "forward", "backward").tolist()


@pytest.mark.parametrize("omega", [400.0, -400.0])
def test_sense_of_a_rotation_that_is_not_swept(omega: float) -> None:
    load = np.linspace(0.0, 10.0, 4)
    tracks = modal.track(Gyroscope(), load=load, omega=omega, k=2, whirl_axis=(0, 0, 1))
    order = np.argsort(tracks["frequency"].values[0])
    assert tracks["whirl"].values[0, order].tolist() == ["backward", "forward"]


def test_sense_of_a_rotation_over_time() -> None:
    """A blade that turns in the negative sense, as motion or as parameter: the same whirl."""
    blade = assembly.beam(
        length=1.0,
        section=assembly.rectangle(0.03, 0.03),
        material=assembly.steel,
        elements=6,
        clamped="start",
    )
    steady = modal.track(blade, omega=np.array([-100.0, -90.0]), axis=(1, 0, 0), k=2)
    moving = assembly.moving(blade, assembly.spin(-100.0, (1, 0, 0)))
    over_time = modal.track(moving, times=[0.0, 0.01], k=2, whirl_axis=(1, 0, 0))
    assert set(steady["whirl"].values[0]) == {"forward", "backward"}
    np.testing.assert_array_equal(over_time["whirl"].values[0], steady["whirl"].values[0])


@pytest.mark.parametrize("speeds", [5, 15])
def test_rotor_with_a_disc_splits_from_rest(speeds: int) -> None:
    """A round rotor on isotropic bearings: pairs that are double at rest part with the speed, the
    forward one upwards (Genta, Dynamics of Rotating Systems, 2005)."""
    model = rotor(
        [(1.0, assembly.circle(0.05))],
        assembly.steel,
        4,
        discs=[Disc(0.3, 20.0, 0.5, 0.3)],
        bearings=[Bearing(0.0, 1e8), Bearing(1.0, 1e8)],
    )
    omega = np.linspace(0.0, 1000.0, speeds)
    tracks = modal.track(model, omega=omega, axis=(1, 0, 0), k=4)
    kinds = tracks["whirl"].values
    frequency = tracks["frequency"].values
    whirling = [r for r in range(4) if set(kinds[:, r]) <= {"forward", "backward"}]
    assert len(whirling) == 4
    for r in whirling:
        assert len(set(kinds[:, r])) == 1
        rises = np.diff(frequency[:, r]) > 0.0
        assert np.all(rises == (kinds[0, r] == "forward"))


@pytest.mark.parametrize("fixed", ["omega", "velocity"])
def test_the_spin_is_known_of_values_that_are_read_together(fixed: str) -> None:
    """Of a body whose speed is swept or constant, and of one in motion, as `freeze` records it."""
    section = assembly.rectangle(0.02, 0.01)
    blade = assembly.beam(1.0, section, assembly.steel, 2, clamped="start")
    swing, at = assembly.moving(blade, assembly.swing(0.3, 5.0)), np.linspace(-3.0, 4.0, 5)
    speeds = dict(axis=(0.0, 3.0, 4.0))
    constant = speeds if fixed == "omega" else speeds | dict(omega=7.0)
    over = {fixed: at}
    for model, times, options, over_ in ((blade, None, constant, over), (swing, at, {}, None)):
        apart, together = (
            Sweep.of(model, times, options, (0.0, 0.0, 1.0), over_) for _ in range(2)
        )
        assert together.terms is not None
        together.terms([{together.name: value} for value in at.tolist()])
        for value in at.tolist():
            apart.freeze(value)
            assert together.spin(value) == pytest.approx(apart.spin(value), rel=1e-15)
            assert np.isfinite(apart.spin(value))
