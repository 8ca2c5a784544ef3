"""Frozen matrices of mechanisms against derivatives of their inverse dynamics.

Where no driver holds, the rigid motions δ = V(t) δs are among the small motions that an instant
describes, s the drivers' angles and displacements. What they ask of the drivers is known without
any frozen matrix: τ(s, ṡ, s̈), the inverse dynamics of the mechanism put in another position or
moved otherwise. So

    VᵀMV = ∂τ/∂s̈,   Vᵀ(C V + 2 M V̇) = ∂τ/∂ṡ,   Vᵀ(K V + C V̇ + M V̈) = ∂τ/∂s,

the second with gyroscopic and transport terms, the third with everything: Euler, centrifugal,
geometric stiffness of inertia, weight, reactions and loads, the joints' second derivatives.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import assembly
from assembly.motion.laws import FunctionLaw

Array = NDArray[np.float64]
Laws = list[FunctionLaw]

SOFT = assembly.Material(E=5e6, nu=0.25, rho=300.0)
SECTION = assembly.rectangle(0.05, 0.03)
POSITION, RATE, ACCELERATION = [0.35, -0.5, 0.4, 0.06], [7.0, -4, 5, 1.3], [20.0, 30, -25, 9]


def drive(joint: str, law: FunctionLaw, of: str | None = None) -> assembly.Driver:
    return assembly.driver(joint, law, held=False, of=of)  # type: ignore[arg-type]


def beam(length: float, planar: bool = False) -> assembly.Body:
    return assembly.beam(length, SECTION, SOFT, 2, planar=planar)


def block(mass: float = 1.3) -> assembly.Body:
    inertia = mass * (np.diag([0.016, 0.02, 0.018]) + 0.003 * (1.0 - np.eye(3)))
    return assembly.rigid_body(mass, inertia, centre=(0.05, -0.03, 0.02))


def double_pendulum(laws: Laws) -> assembly.Mechanism:
    """Two mobilities, weight, a dead force on the first arm and a follower on the second."""
    return assembly.Mechanism(
        {"a": beam(0.5, planar=True), "b": beam(0.4, planar=True)},
        [
            assembly.revolute("ground", (0, 0), "a", "start", name="A"),
            assembly.revolute("a", "end", "b", "start", name="B"),
        ],
        [drive("A", laws[0]), drive("B", laws[1])],
        gravity=(0, -9.81, 0),
        loads=[
            assembly.Load("a", "end", (3.0, 5.0)),
            assembly.Load("b", 1, (2.0, -7.0), follower=True),
        ],
        initial={"b": (0.5, 0, 0)},
    )


def pinned_at_the_middle(laws: Laws) -> assembly.Mechanism:
    """An arm that another carries at its middle node, held at its own, with a block welded on."""
    return assembly.Mechanism(
        {
            "a": beam(0.6, planar=True),
            "b": beam(0.4, planar=True),
            "tip": assembly.rigid_body(0.2, 1e-3, centre=(0.03, 0.01, 0), planar=True),
        },
        [
            assembly.revolute("ground", (0, 0), "a", "start", name="A"),
            assembly.revolute("a", 1, "b", 1, name="B"),
            assembly.fixed("b", "end", "tip", (0, 0), turned=0.6, name="W"),
        ],
        [drive("A", laws[0]), drive("B", laws[1])],
        gravity=(0, -9.81, 0),
        initial={"b": (0.1, 0, 0), "tip": (0.5, 0, 0.6)},
    )


def offset_slider_crank(laws: Laws) -> assembly.Mechanism:
    """A closed loop whose pin and slide are off the slider's origin, on an inclined line."""
    slider = assembly.rigid_body(0.7, 0.02, centre=(0.05, -0.03, 0), planar=True)
    return assembly.Mechanism(
        {"crank": beam(0.15, planar=True), "rod": beam(0.4, planar=True), "slider": slider},
        [
            assembly.revolute("ground", (0, 0), "crank", "start", name="A"),
            assembly.revolute("crank", "end", "rod", "start", name="B"),
            assembly.revolute("rod", "end", "slider", (0.01, 0.02), name="C"),
            assembly.prismatic(
                "ground", (0, 0.05), "slider", (-0.03, 0.04), axis=(1, 0.2), name="D"
            ),
        ],
        [drive("A", laws[0])],
        gravity=(0, -9.81, 0),
        initial={"rod": (0.15, 0, -0.1), "slider": (0.55, 0, 0)},
    )


def arm(laws: Laws) -> assembly.Mechanism:
    """An open chain in space: revolute, prismatic and cylindrical about skew axes, elastic links
    at both ends, four mobilities."""
    return assembly.Mechanism(
        {"a": beam(0.5), "b": block(), "c": beam(0.3)},
        [
            assembly.revolute("ground", (0.1, 0, 0), "a", "start", axis=(0.2, 0.1, 1), name="A"),
            assembly.prismatic(
                "a", "end", "b", (0.02, 0.03, -0.01), axis=(0.5, 0.5, 0.3),
                axis_second=(0.1, 1, 0.2), name="B",
            ),
            assembly.cylindrical(
                "b", (0.1, 0.05, 0), "c", "start", axis=(0.2, -1, 0.4), axis_second=(0.3, 0.2, 1),
                name="C",
            ),
        ],
        [
            drive("A", laws[0]),
            drive("B", laws[1]),
            drive("C", laws[2], "angle"),
            drive("C", laws[3], "displacement"),
        ],
        gravity=(1, -3, -9),
    )  # fmt: skip


def spatial_loop(laws: Laws) -> assembly.Mechanism:
    """A closed loop of skew axes with a universal and a spherical joint."""
    return assembly.Mechanism(
        {"crank": beam(0.1), "coupler": beam(0.5), "rocker": block()},
        [
            assembly.revolute("ground", (0, 0, 0), "crank", "start", name="A"),
            assembly.universal(
                "crank", "end", "coupler", "start", axis=(0, 0.3, 1), axis_second=(0, 1, -0.3),
                name="B",
            ),
            assembly.spherical("coupler", "end", "rocker", (0.3, 0, 0), name="C"),
            assembly.revolute(
                "ground", (0.4, 0.1, 0.2), "rocker", (0, 0, 0), axis=(0.1, 1, 0.2),
                axis_second=(0, 1, 0), name="D",
            ),
        ],
        [drive("A", laws[0])],
        initial={"coupler": (0.1, 0, 0, 0, -0.6, 0.2), "rocker": (0.4, 0.1, 0.2, 0, -1.2, 0)},
        gravity=(1, 2, -9.81),
    )  # fmt: skip


CASES = [
    (double_pendulum, 2),
    (pinned_at_the_middle, 2),
    (offset_slider_crank, 1),
    (arm, 4),
    (spatial_loop, 1),
]


def laws(motion: Array) -> Laws:
    """The laws that pass t = 0 with s, ṡ and s̈, the rows of `motion`."""

    def law(s: float, v: float, a: float) -> FunctionLaw:
        return FunctionLaw(lambda t: (s + v * t + 0.5 * a * t * t, v + a * t, a))

    return [law(*column) for column in motion.T]


def forces(make: Callable[[Laws], assembly.Mechanism], motion: Array) -> Array:
    return np.array(list(make(laws(motion)).driving(0.0).values()))


def rates(f: Callable[[float], Array], h: float) -> tuple[Array, Array]:
    """First and second derivatives at t = 0, of sixth order."""
    after, before = (np.array([f(sign * k * h) for k in (1, 2, 3)]) for sign in (1, -1))
    first = np.tensordot([45.0, -9.0, 1.0], after - before, 1) / (60.0 * h)
    second = np.tensordot([270.0, -27.0, 2.0], after + before, 1) - 490.0 * f(0.0)
    return first, second / (180.0 * h * h)


@pytest.mark.slow
@pytest.mark.parametrize(("make", "count"), CASES, ids=[make.__name__ for make, _ in CASES])
def test_frozen_matrices_are_derivatives_of_inverse_dynamics(
    make: Callable[[Laws], assembly.Mechanism], count: int
) -> None:
    motion = np.array([POSITION[:count], RATE[:count], ACCELERATION[:count]])
    expected = []
    for row, h in ((2, 1e-1), (1, 1e-2), (0, 2e-3)):
        columns = []
        for k in range(count):
            step = np.zeros_like(motion)
            step[row, k] = h
            near = [
                forces(make, motion + j * step) - forces(make, motion - j * step) for j in (1, 2)
            ]
            columns.append((8.0 * near[0] - near[1]) / (12.0 * h))
        expected.append(np.stack(columns, axis=1))
    mechanism = make(laws(motion))
    system = mechanism.freeze(0.0)
    V = system.rigid
    rate, second = rates(lambda t: mechanism.freeze(t).rigid, 1e-3)
    M, C, K = system.M.toarray(), system.damping.toarray(), system.stiffness.toarray()
    found = [V.T @ M @ V, V.T @ (C @ V + 2.0 * M @ rate), V.T @ (K @ V + C @ rate + M @ second)]
    # The parts cancel in the sum: those that no test could miss are far above the tolerance.
    for part in (system.K_omega2, system.K_G):
        assert np.abs(V.T @ part @ V).max() > 1e-3 * np.abs(found[2]).max()
    for got, due, name in zip(found, expected, ("M", "C", "K"), strict=True):
        size = max(np.abs(due).max(), 1e-3 * np.abs(found[0]).max())
        assert_allclose(got, due, rtol=0, atol=1e-8 * size, err_msg=name)
