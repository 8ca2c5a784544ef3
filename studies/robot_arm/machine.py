"""The arm of the study: two links in a vertical plane, a gear in each joint, a payload."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Polynomial

import assembly
from assembly.types import Array

JOINTS = ("shoulder", "elbow")
STILL = Polynomial([0, 0, 0, 10, -15, 6])  # from 0 to 1 of the path, at rest at both ends


@dataclass(frozen=True)
class Arm:
    """Dimensions of the arm; all are assumptions. Of the upper link or the shoulder first."""

    lengths: tuple[float, float] = (0.7, 0.5)  # m
    sections: tuple[assembly.Section, ...] = (assembly.tube(0.10, 0.088), assembly.tube(0.08, 0.07))
    elbow_motor: float = 6.0  # kg, at the elbow
    gravity: float = 9.81  # m/s²
    folded: tuple[float, float] = (1.9, -2.2)  # rad
    reaching: tuple[float, float] = (0.3, -0.3)  # rad
    damping: float = 2e-5  # s: b of the links' damping D = b K


ARM = Arm()


@dataclass(frozen=True)
class Path:
    """A joint's angle from one position of rest to another in `duration` (s)."""

    first: float
    last: float
    duration: float

    def at(self, t: float) -> tuple[float, float, float]:
        """Angle, rate and acceleration at time t (s)."""
        s = min(max(t / self.duration, 0.0), 1.0)
        span = self.last - self.first
        rate = span * float(STILL.deriv(1)(s)) / self.duration
        second = span * float(STILL.deriv(2)(s)) / self.duration**2
        return self.first + span * float(STILL(s)), rate, second


def model(
    payload: float = 5.0,
    *,
    gears: tuple[float, float] | None = (4e4, 1.5e4),
    damping: tuple[float, float] = (20.0, 6.0),
    duration: float = 1.2,
    elements: int = 6,
    material: assembly.Material = assembly.aluminium,
) -> assembly.Mechanism:
    """The arm on its path from folded to reaching out.

    Parameters
    ----------
    payload : float
        Mass at the tip, kg.
    gears : tuple of two float, optional
        Stiffness of the shoulder's and of the elbow's gear, N·m/rad; None for rigid drives.
    damping : tuple of two float
        Damping in both joints, N·m·s/rad.
    duration : float
        Time of the path, s.
    elements : int
        Beam elements of each link.
    material : Material
        Of the links.

    Returns
    -------
    Mechanism
        With the bodies "upper" and "fore" and the joints "shoulder" and "elbow".
    """

    def link(number: int, name: str, mass: float) -> assembly.Body:
        length, section = ARM.lengths[number], ARM.sections[number]
        beam = assembly.beam(length, section, material, elements, planar=True, name=name)
        return assembly.attach_mass(beam.with_damping(b=ARM.damping), "end", mass)

    paths = [Path(a, b, duration) for a, b in zip(ARM.folded, ARM.reaching, strict=True)]
    stiffness: tuple[float | None, ...] = (None, None) if gears is None else gears
    drivers = [
        assembly.driver(joint, path.at, stiffness=k, damping=c)
        for joint, path, k, c in zip(JOINTS, paths, stiffness, damping, strict=True)
    ]
    first, second = ARM.folded
    elbow = ARM.lengths[0] * np.array([np.cos(first), np.sin(first)])
    return assembly.Mechanism(
        {"upper": link(0, "upper", ARM.elbow_motor), "fore": link(1, "fore", payload)},
        [
            assembly.revolute("ground", (0, 0), "upper", "start", name="shoulder"),
            assembly.revolute("upper", "end", "fore", "start", name="elbow"),
        ],
        drivers,
        initial={"upper": (0, 0, first), "fore": (*elbow, first + second)},
        gravity=(0, -ARM.gravity, 0),
        name="robot arm",
    )


def rigid_links(payload: float, gears: tuple[float, float], angles: tuple[float, float]) -> Array:
    """Frequencies (2,), Hz, of rigid links on elastic gears at rest, in closed form.

    Parameters
    ----------
    payload : float
        Mass at the tip, kg.
    gears : tuple of two float
        Stiffness of the gears, N·m/rad.
    angles : tuple of two float
        Angles of the shoulder and of the elbow, rad.

    Notes
    -----
    M = [[α + 2β cos b, γ + β cos b], [γ + β cos b, γ]] (Craig, Introduction to Robotics, 1986), and
    the stiffness is that of the gears less the moments of the weights about both joints.
    """
    upper, fore = ARM.lengths
    lines = [assembly.aluminium.rho * section.A for section in ARM.sections]
    upper_mass, fore_mass = lines[0] * upper, lines[1] * fore
    turning = [
        line * length**3 / 3.0 + assembly.aluminium.rho * section.Iz * length
        for line, length, section in zip(lines, ARM.lengths, ARM.sections, strict=True)
    ]
    gamma = turning[1] + payload * fore**2
    moment = fore_mass * fore / 2.0 + payload * fore  # of the fore link about the elbow
    beyond = ARM.elbow_motor + fore_mass + payload  # at the elbow
    alpha = turning[0] + beyond * upper**2 + gamma
    a, b = angles
    cross = gamma + upper * moment * np.cos(b)
    M = np.array([[alpha + 2.0 * upper * moment * np.cos(b), cross], [cross, gamma]])
    K = np.diag(gears) - ARM.gravity * moment * np.sin(a + b)
    K[0, 0] -= ARM.gravity * (upper_mass * upper / 2.0 + beyond * upper) * np.sin(a)
    squares = np.linalg.eigvals(np.linalg.solve(M, K))
    return np.asarray(np.sqrt(np.sort(squares.real)) / (2.0 * np.pi))
