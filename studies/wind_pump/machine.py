"""The wind water pump of Vlase, Negrean, Marin & Năstac, Mathematics 2020, 8, 805: a mechanism with
two degrees of mobility.

Crank AB turns about A; lever BC' is pinned to it at B and to the swing DCC' at C'; the swing is
pinned at D to a slide that moves along x at height e. The independent coordinates are the crank's
angle φ₁ and the slide's place x_D, as in the paper.

The paper prints no dimension and takes the two motions from a recording that it does not print
either. All numbers below are assumptions: a bench of the size of the paper's photograph, a crank at
constant speed and a slide that swings with it. The loop closes at every instant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import assembly
from assembly.errors import MechanismError
from assembly.types import AnyArray
from studies.reporting.protocol import RPM


@dataclass(frozen=True)
class Pump:
    """Dimensions and motion of the pump; all are assumptions (the paper prints none).

    l1, l2, h: crank AB, lever BC', swing C'D, m; e: height of the slide, m. slide_mean,
    slide_swing, slide_phase: x_D = mean + swing sin(ω₁t + phase), m and rad. width, height: of the
    section of the lever, in and across the plane, m. m1, m3, m_slide: kg; J1, J3: about the mass
    centres, kg m². centre3: of the swing with its counterweight, from D along and across DC', m.
    speed_rpm: of the crank.
    """

    l1: float = 0.10
    l2: float = 0.60
    h: float = 0.35
    e: float = 0.08
    slide_mean: float = 0.55
    slide_swing: float = 0.04
    slide_phase: float = 0.6
    width: float = 0.008
    height: float = 0.020
    m1: float = 1.2
    J1: float = 2.0e-3
    m3: float = 3.0
    J3: float = 4.0e-2
    centre3: tuple[float, float] = (0.10, -0.06)
    m_slide: float = 1.5
    speed_rpm: float = 140.0
    gravity: ClassVar[float] = 9.81  # m/s²

    def __post_init__(self) -> None:
        far = np.hypot(self.slide_mean + self.slide_swing, self.e) + self.l1
        near = np.hypot(self.slide_mean - self.slide_swing, self.e) - self.l1
        if far >= self.l2 + self.h or near <= abs(self.l2 - self.h):
            raise MechanismError(
                f"wind pump: the distance BD comes between {near:.3g} and {far:.3g} m, the lever "
                f"and the swing reach from {abs(self.l2 - self.h):.3g} to {self.l2 + self.h:.3g} "
                "m: the loop does not close over the whole turn"
            )

    @property
    def omega(self) -> float:
        """Crank speed, rad/s."""
        return self.speed_rpm * RPM

    @property
    def section(self) -> assembly.Section:
        return assembly.rectangle(self.width, self.height)

    @property
    def lever_mass(self) -> float:
        return assembly.steel.rho * self.section.A * self.l2

    @property
    def lever_inertia(self) -> float:
        """About the mass centre, kg m²: a slender bar and the rotary inertia of its sections."""
        slender = self.lever_mass * self.l2**2 / 12.0
        return float(slender + assembly.steel.rho * self.section.Iz * self.l2)

    @property
    def slide(self) -> assembly.Harmonic:
        """The law of x_D."""
        return assembly.Harmonic(
            self.slide_swing, self.omega, self.slide_phase, mean=self.slide_mean
        )


def mechanism(pump: Pump, elements: int = 10, driven: bool = True) -> assembly.Mechanism:
    """The pump with an elastic lever of so many elements; the other bodies are rigid.

    driven: whether the motor and the slide's drive also hold the elastic DOFs; without, two
    degrees of mobility stay free.
    """
    lever = assembly.beam(
        pump.l2, pump.section, assembly.steel, elements, planar=True, name="lever"
    )
    D = np.array([pump.slide.at(0.0)[0], pump.e])
    crank_end = np.array([pump.l1, 0.0])
    beta, _ = closing_angles(pump, crank_end, D)
    joint = crank_end + pump.l2 * np.array([np.cos(beta), np.sin(beta)])
    return assembly.Mechanism(
        {
            "crank": assembly.rigid_body(
                pump.m1, pump.J1, centre=(0.5 * pump.l1, 0.0, 0.0), planar=True, name="crank"
            ),
            "lever": lever,
            "swing": assembly.rigid_body(
                pump.m3, pump.J3, centre=(*pump.centre3, 0.0), planar=True, name="swing"
            ),
            "slide": assembly.rigid_body(pump.m_slide, 1e-3, planar=True, name="slide"),
        },
        [
            assembly.revolute("ground", (0.0, 0.0), "crank", (0.0, 0.0), name="A"),
            assembly.revolute("crank", (pump.l1, 0.0), "lever", "start", name="B"),
            assembly.revolute("lever", "end", "swing", (pump.h, 0.0), name="C"),
            assembly.revolute("swing", (0.0, 0.0), "slide", (0.0, 0.0), name="D"),
            assembly.prismatic(
                "ground", (0.0, pump.e), "slide", (0.0, 0.0), axis=(1, 0), name="guide"
            ),
        ],
        [
            assembly.driver("A", pump.omega, held=driven),
            assembly.driver("guide", pump.slide, held=driven),
        ],
        initial={
            "lever": (*crank_end, beta),
            # The swing's x axis points from D to C', against the loop's last vector.
            "swing": (*D, np.arctan2(joint[1] - D[1], joint[0] - D[0])),
            "slide": (*D, 0.0),
        },
        gravity=(0.0, -pump.gravity, 0.0),
        name="wind pump",
    )


def closing_angles(pump: Pump, B: AnyArray, D: AnyArray) -> tuple[float, float]:
    """Angles β of BC' and χ of C'D that close the loop from B to D, the elbow C' above BD.

    From l₂ (cos β, sin β) + h (cos χ, sin χ) = D − B =: d (cos δ, sin δ) and the law of cosines in
    the triangle B C' D; the paper's (22)–(23) and (A6) use two sets of angles that disagree.
    """
    between = D - B
    d, delta = float(np.hypot(*between)), float(np.arctan2(between[1], between[0]))
    at_B = np.arccos((pump.l2**2 + d**2 - pump.h**2) / (2.0 * pump.l2 * d))
    at_D = np.arccos((pump.h**2 + d**2 - pump.l2**2) / (2.0 * pump.h * d))
    return float(delta + at_B), float(delta - at_D)
