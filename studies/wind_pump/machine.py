"""The wind water pump of Vlase, Negrean, Marin & Năstac, Mathematics 2020, 8, 805: a mechanism with
two degrees of mobility.

Crank AB turns about A; lever BC' is pinned to it at B and to the swing DCC' at C'; the swing is
pinned at D to a slide that moves along x at height e. The independent coordinates are the crank's
angle φ₁ and the slide's place x_D, as in the paper.

The paper prints no dimension and takes the two motions from a recording that it does not print
either. All numbers below are assumptions: a bench of the size of the paper's photograph, a crank at
constant speed and a slide that swings with it. The loop closes at every instant.

The rigid motion and the joint forces are computed by the paper's own route too: the loop closure,
its two derivatives, and the reduced equations (A43)–(A46), each derived again (see the notes). They
are independent of `assembly.Mechanism`, which the study compares them with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import assembly
from assembly.errors import MechanismError
from assembly.types import AnyArray, Array
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


FORCES = ("X_A", "Y_A", "X_B", "Y_B", "X_C", "Y_C", "X_D", "Y_D", "M_motor", "F_slide")


@dataclass(frozen=True)
class Motion:
    """The pump at one instant. q, rate, acceleration: (2,) of (φ₁, x_D). angles, angle_rates,
    angle_accelerations: (2,) of (β, χ). centres: (10,) in the order of the paper's {a},
    (24): x, y and angle of crank, lever and swing, then the slide; a: (10,) their accelerations =
    A q̈ + b, with A (10, 2) and b (10,) quadratic in q̇ (the paper's A and B).
    """

    q: Array
    rate: Array
    acceleration: Array
    angles: Array
    angle_rates: Array
    angle_accelerations: Array
    centres: Array
    A: Array
    b: Array

    @property
    def a(self) -> Array:
        return np.asarray(self.A @ self.acceleration + self.b)


def motion(pump: Pump, t: float) -> Motion:
    """Position, velocities and accelerations at t (s).

    Closure F(φ₁, x_D, β, χ) = l₁u(φ₁) + l₂u(β) + h u(χ) − (x_D, e) = 0 with u(θ) = (cos θ, sin θ).
    Its derivative gives J (β̇, χ̇) = −l₁n(φ₁)φ̇₁ + (ẋ_D, 0) with J = [l₂n(β), h n(χ)] and n = u';
    the paper's (A17) has ẋ_D with the other sign, against its own (A6).
    """
    x, v, acceleration = pump.slide.at(t)
    q, rate = np.array([pump.omega * t, x]), np.array([pump.omega, v])
    B = pump.l1 * _u(q[0])
    beta, chi = closing_angles(pump, B, np.array([x, pump.e]))
    J = np.column_stack([pump.l2 * _n(beta), pump.h * _n(chi)])
    drive = np.column_stack([-pump.l1 * _n(q[0]), [1.0, 0.0]])
    S = np.linalg.solve(J, drive)  # (β̇, χ̇) = S q̇
    w = S @ rate
    # Second derivative: J(β̈, χ̈) = drive q̈ + l₁u φ̇₁² + l₂u(β)β̇² + h u(χ)χ̇².
    inward = pump.l1 * _u(q[0]) * rate[0] ** 2
    inward = inward + pump.l2 * _u(beta) * w[0] ** 2 + pump.h * _u(chi) * w[1] ** 2
    s = np.linalg.solve(J, inward)
    angles = np.array([q[0], beta, chi])
    # Of all three angles: rates by q̇, and accelerations at q̈ = 0.
    by_rate, second = np.vstack([[1.0, 0.0], S]), np.array([0.0, *s])
    along, across = pump.centre3
    # From the joints to the centres of crank, lever and swing: vectors that turn with each angle.
    # The swing's centre is from D; its own x axis is −u(χ).
    arms = np.zeros((3, 3, 2))
    arms[0, 0], arms[1, 0] = 0.5 * pump.l1 * _u(q[0]), pump.l1 * _u(q[0])
    arms[1, 1], arms[2, 2] = 0.5 * pump.l2 * _u(beta), -along * _u(chi) - across * _n(chi)
    turned = np.stack([-arms[..., 1], arms[..., 0]], axis=-1)
    of_points = np.einsum("bax,aj->bxj", turned, by_rate)
    of_points[2, 0, 1] += 1.0  # the swing moves with the slide
    inward = np.einsum("bax,a->bx", arms, np.array([rate[0], *w]) ** 2)
    places = arms.sum(axis=1) + np.array([[0.0, 0.0], [0.0, 0.0], [x, pump.e]])
    b = np.column_stack([np.einsum("bax,a->bx", turned, second) - inward, second])
    A = np.concatenate([of_points, by_rate[:, None]], axis=1)
    return Motion(
        q=q,
        rate=rate,
        acceleration=np.array([0.0, acceleration]),
        angles=angles[1:],
        angle_rates=w,
        angle_accelerations=S @ np.array([0.0, acceleration]) + s,
        centres=np.append(np.column_stack([places, angles]), x),
        A=np.vstack([A.reshape(9, 2), [0.0, 1.0]]),
        b=np.append(b, 0.0),
    )


def joint_forces(pump: Pump, t: float) -> tuple[Array, Array]:
    """All joint forces and the two drives, (10,) in the order FORCES, N and N·m, from (A43); and
    the two drives alone, (2,), from (A45)–(A46).

    X_A, Y_A act on the crank, X_B, Y_B on the lever, X_C, Y_C on the swing, X_D, Y_D on the slide,
    each from the body before it. (A43) is [m]{a} = {Q_ext} + {Q_liaison}; (A46) is its projection
    on A, to which the joints contribute nothing.
    """
    now = motion(pump, t)
    mass = masses(pump)
    weight = np.zeros(10)
    weight[[1, 4, 7]] = -pump.gravity * mass[[1, 4, 7]]
    inertia = mass * now.a - weight
    forces = np.linalg.solve(_liaisons(pump, now), inertia)
    return forces, now.A.T @ inertia


def masses(pump: Pump) -> Array:
    """The diagonal (10,) of the paper's [m]."""
    lever = (pump.lever_mass, pump.lever_mass, pump.lever_inertia)
    return np.array([*(pump.m1,) * 2, pump.J1, *lever, *(pump.m3,) * 2, pump.J3, pump.m_slide])


def _liaisons(pump: Pump, now: Motion) -> Array:
    """(10, 10): the generalised forces of a unit of each of FORCES."""
    B = pump.l1 * _u(now.q[0])
    C = B + pump.l2 * _u(now.angles[0])
    D = np.array([now.q[1], pump.e])
    first, second, third = now.centres[0:2], now.centres[3:5], now.centres[6:8]
    out = np.zeros((10, 10))
    centres, places = (first, second, third), (np.zeros(2), B, C, D)
    # Joint j acts on body j with one sign and on the body before it with the other.
    for joint, place in enumerate(places):
        x, y = 2 * joint, 2 * joint + 1
        for sign, body in ((1.0, joint), (-1.0, joint - 1)):
            if 0 <= body < len(centres):
                arm, row = place - centres[body], 3 * body
                out[row, x] = out[row + 1, y] = sign
                out[row + 2, [x, y]] = -sign * arm[1], sign * arm[0]
    out[9, 6] = 1.0  # X_D on the slide; Y_D goes into the guide
    out[2, 8] = 1.0  # the motor's torque on the crank
    out[9, 9] = 1.0  # the drive's force on the slide
    return out


def _u(angle: float) -> Array:
    return np.array([np.cos(angle), np.sin(angle)])


def _n(angle: float) -> Array:
    return np.array([-np.sin(angle), np.cos(angle)])


def central_differences(
    function: Callable[[float], Array], t: float, h: float
) -> tuple[Array, Array]:
    """First and second derivative of a function by central differences of sixth order, step h."""
    sides = [(function(t + j * h), function(t - j * h)) for j in (1, 2, 3)]
    odd, even = (3.0 / 4.0, -3.0 / 20.0, 1.0 / 60.0), (3.0 / 2.0, -3.0 / 20.0, 1.0 / 90.0)
    first = np.sum([c * (a - b) for c, (a, b) in zip(odd, sides, strict=True)], axis=0)
    second = np.sum([c * (a + b) for c, (a, b) in zip(even, sides, strict=True)], axis=0)
    return first / h, (second - 49.0 / 18.0 * function(t)) / h**2
