"""A mechanism of rigid bodies on elastic drives and bushings, and its full nonlinear equations.

A driven arm carries a tool on a bushing, a wrist on an elastic hinge of the tool, and a sleeve that
slides and turns on the arm; a second bushing ties the wrist to the ground, which the mean motion
stretches and turns. Every deflection has mean forces, every joint's axis is skew.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import assembly
from assembly.kinematics import unit_axis
from tests.support.sprung_bodies import Spring, SprungBodies

Array = NDArray[np.float64]
Any = NDArray[np.inexact]

T, STEP = 0.21, 0.004
BASE = unit_axis((0.15, -0.2, 1.0))
HINGE, HINGE_OF_WRIST = unit_axis((0.3, 0.8, -0.2)), unit_axis((0.5, 0.6, 0.1))
ROD = unit_axis((1.0, 0.2, 0.3))
MOUNT, MOUNTED = np.array([0.8, 0.1, -0.05]), np.array([-0.1, 0.04, 0.02])
ELBOW, WRISTED = np.array([0.25, -0.03, 0.06]), np.array([-0.2, 0.01, 0.03])
SLEEVE, BORED = np.array([0.3, 0.02, 0.0]), np.array([0.02, -0.03, 0.01])
ANCHOR, TIED = np.array([1.1, 0.35, 0.2]), np.array([0.15, 0.05, -0.02])
TURNED, TURN_AXIS = 0.4, unit_axis((0.2, -0.1, 1.0))
DRIVE = assembly.Uniform(rate=3.0, start=0.2, acceleration=-4.0)
WRIST = assembly.Harmonic(0.3, 6.0, 0.4, 0.1)
SPIN, SLIDE = assembly.Uniform(2.0, 0.3, 1.5), assembly.Harmonic(0.05, 9.0, 0.2, 0.1)
STIFF, DAMP, SLIDE_STIFF, SLIDE_DAMP, SPIN_DAMP = 40.0, 0.7, 300.0, 4.0, 0.2


def gear(t: float) -> float:
    """A stiffness that varies in time, N·m/rad."""
    return STIFF * (1.0 + t - T)


def spread(seed: int, scale: float) -> tuple[Array, Array]:
    """Five material points that are not in a plane, and their masses."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-scale, scale, (5, 3)), rng.uniform(0.2, 0.6, 5)


SHAPES = {
    name: spread(k, scale)
    for k, (name, scale) in enumerate(
        {"arm": 0.4, "tool": 0.2, "wrist": 0.15, "sleeve": 0.1}.items()
    )
}


def positive(seed: int, scales: Array) -> Array:
    """A full symmetric positive definite matrix with diagonal entries of these sizes."""
    A = np.random.default_rng(seed).normal(size=(6, 12))
    A = A @ A.T / 12.0
    return np.asarray(np.sqrt(np.outer(scales, scales)) * A)


SIZES = np.array([500.0, 800.0, 600.0, 60.0, 40.0, 50.0])
K_MOUNT, C_MOUNT = positive(1, SIZES), positive(2, 0.01 * SIZES)
K_STRUT, C_STRUT = positive(3, 0.1 * SIZES), positive(4, 0.02 * SIZES)
PRELOAD = np.array([3.0, -2.0, 4.0, 0.3, -0.2, 0.5])


def body(name: str) -> assembly.Body:
    points, masses = SHAPES[name]
    centre = masses @ points / masses.sum()
    s = points - centre
    spread = np.einsum("p,pi,pj->ij", masses, s, s)
    inertia = np.trace(spread) * np.eye(3) - spread
    return assembly.rigid_body(masses.sum(), inertia, centre=centre)


def mechanism() -> assembly.Mechanism:
    return assembly.Mechanism(
        {name: body(name) for name in SHAPES},
        [
            assembly.revolute("ground", (0, 0, 0), "arm", (0, 0, 0), axis=BASE, name="base"),
            assembly.revolute(
                "tool", ELBOW, "wrist", WRISTED,
                axis=HINGE, axis_second=HINGE_OF_WRIST, name="wrist",
            ),
            assembly.cylindrical("arm", SLEEVE, "sleeve", BORED, axis=ROD, name="sleeve"),
        ],
        [
            assembly.driver("base", DRIVE),
            assembly.driver("wrist", WRIST, stiffness=gear, damping=DAMP),
            assembly.driver("sleeve", SPIN, of="angle", stiffness=0.0, damping=SPIN_DAMP),
            assembly.driver(
                "sleeve", SLIDE, of="displacement", stiffness=SLIDE_STIFF, damping=SLIDE_DAMP
            ),
        ],
        bushings=[
            assembly.bushing(
                "arm", MOUNT, "tool", MOUNTED, stiffness=K_MOUNT, damping=C_MOUNT,
                preload=PRELOAD, turned=TURNED, axis=TURN_AXIS, name="mount",
            ),
            assembly.bushing(
                "ground", ANCHOR, "wrist", TIED, stiffness=K_STRUT, damping=lambda t: C_STRUT,
                preload=0.5 * PRELOAD, turned=TURNED, axis=(0, 0, 1), name="strut",
            ),
        ],
        initial={"wrist": (1.0, 0.0, 0.0, 0, 0, 0.2), "tool": (0.8, 0.1, 0.0, 0, 0, 0.2)},
        gravity=(0.5, -1.0, -9.81),
    )  # fmt: skip


class Exact(SprungBodies):
    def __init__(self) -> None:
        super().__init__(mechanism(), SHAPES, T, STEP)

    def make_springs(self) -> list[Spring]:
        N = Rotation.from_rotvec(TURNED * TURN_AXIS).as_matrix()
        N_z = Rotation.from_rotvec([0.0, 0.0, TURNED]).as_matrix()
        everywhere, one = np.ones(6, dtype=bool), np.ones(1, dtype=bool)
        zero = np.zeros(1)

        def matrix(value: float) -> Array:
            return np.array([[value]])

        return [
            Spring(
                self.deflection("arm", MOUNT, "tool", MOUNTED, N),
                K_MOUNT, C_MOUNT, PRELOAD, everywhere, unknown=True,
            ),
            Spring(
                self.deflection("ground", ANCHOR, "wrist", TIED, N_z),
                K_STRUT, C_STRUT, 0.5 * PRELOAD, everywhere, unknown=False,
            ),
            Spring(self._wrist, matrix(STIFF), matrix(DAMP), zero, one, unknown=True),
            Spring(self._spin, matrix(0.0), matrix(SPIN_DAMP), zero, ~one, unknown=True),
            Spring(self._slide, matrix(SLIDE_STIFF), matrix(SLIDE_DAMP), zero, one, unknown=True),
        ]  # fmt: skip

    def _hinges(self, d: Any, t: float) -> tuple[Any, Any, Any, Any]:
        elbow, tool = self.place(d, t, "tool", ELBOW)
        wristed, wrist = self.place(d, t, "wrist", WRISTED)
        return wristed - elbow, tool, wrist, tool @ HINGE

    def gaps(self, d: Any, t: float) -> Any:
        root, arm = self.place(d, t, "arm", np.zeros(3))
        apart, _, wrist, hinge = self._hinges(d, t)
        bored, sleeve = self.place(d, t, "sleeve", BORED)
        guide, _ = self.place(d, t, "arm", SLEEVE)
        rod = arm @ ROD
        out = [root, apart]
        for other, own in ((wrist @ HINGE_OF_WRIST, hinge), (sleeve @ ROD, rod)):
            out.append(np.cross(own, other) @ across(own[0].real))
        out.append(np.cross(rod, bored - guide) @ across(rod[0].real))
        # The arm's rotation is the drive's.
        steady = self.frames[t]["arm"][1]
        turn = np.einsum("ij,kjl->kil", steady.T, arm)
        out.append(np.stack([turn[:, 2, 1], turn[:, 0, 2], turn[:, 1, 0]], axis=-1))
        return np.concatenate(out, axis=1)

    def _wrist(self, d: Any, t: float) -> Any:
        """Rotation of the wrist about its hinge beyond the law's."""
        _, tool, wrist, _ = self._hinges(d, t)
        return self._angle(tool, wrist, HINGE, HINGE_OF_WRIST, "tool", "wrist", WRIST, t)

    def _spin(self, d: Any, t: float) -> Any:
        _, arm = self.place(d, t, "arm", np.zeros(3))
        _, sleeve = self.place(d, t, "sleeve", BORED)
        return self._angle(arm, sleeve, ROD, ROD, "arm", "sleeve", SPIN, t)

    def _angle(
        self, A: Any, B: Any, a: Array, b: Array, first: str, second: str, law: Any, t: float
    ) -> Any:
        """The law, and the angle about the axis a, b away from the mean position at t."""
        mean = self.frames[t][first][1].T @ self.frames[t][second][1]
        e = unit_axis(np.cross(a, [0.3, 0.5, -0.7]))
        marked = mean.T @ e  # fixed in B; at e of A in the mean position
        seen = np.einsum("kji,kj->ki", A, B @ marked)
        side, along = seen @ np.cross(a, e), seen @ e
        return law.at(t)[0] + (side / along)[:, None]

    def _slide(self, d: Any, t: float) -> Any:
        bored, _ = self.place(d, t, "sleeve", BORED)
        guide, arm = self.place(d, t, "arm", SLEEVE)
        return ((bored - guide) * (arm @ ROD)).sum(axis=1)[:, None]


def across(axis: Array) -> Array:
    """Two directions across an axis, columns (3, 2)."""
    first = unit_axis(np.cross(axis, [0.3, 0.5, -0.7]))
    return np.asarray(np.stack([first, np.cross(axis, first)], axis=1))
