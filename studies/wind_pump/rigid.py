"""The pump's rigid motion and joint forces by the paper's own route: the loop closure, its two
derivatives, and the reduced equations (A43)–(A46), each derived again (see the notes).

Independent of `assembly.Mechanism`, which the study compares it with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from assembly.types import Array
from studies.wind_pump.machine import Pump, closing_angles

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
    return Motion(
        q=q,
        rate=rate,
        acceleration=np.array([0.0, acceleration]),
        angles=np.array([beta, chi]),
        angle_rates=w,
        angle_accelerations=S @ np.array([0.0, acceleration]) + s,
        **_centres(pump, q, rate, np.array([beta, chi]), w, S, s),
    )


def _centres(
    pump: Pump, q: Array, rate: Array, angles: Array, w: Array, S: Array, s: Array
) -> dict[str, Array]:
    """Places of the mass centres, and the A and b of their accelerations."""
    phi, x = q
    beta, chi = angles
    along, across = pump.centre3
    # The swing's centre from D; its own x axis is −u(χ).
    arm = -along * _u(chi) - across * _n(chi)
    turned = np.array([-arm[1], arm[0]])
    half1, half2 = 0.5 * pump.l1, 0.5 * pump.l2
    places = [half1 * _u(phi), pump.l1 * _u(phi) + half2 * _u(beta), np.array([x, pump.e]) + arm]
    A, b = np.zeros((10, 2)), np.zeros(10)
    A[0:2, 0], b[0:2] = half1 * _n(phi), -half1 * _u(phi) * rate[0] ** 2
    A[2, 0] = 1.0
    A[3:5] = half2 * np.outer(_n(beta), S[0])
    A[3:5, 0] += pump.l1 * _n(phi)
    b[3:5] = half2 * (_n(beta) * s[0] - _u(beta) * w[0] ** 2) - pump.l1 * _u(phi) * rate[0] ** 2
    A[5], b[5] = S[0], s[0]
    A[6:8] = np.outer(turned, S[1])
    A[6, 1] += 1.0
    b[6:8] = turned * s[1] - arm * w[1] ** 2
    A[8], b[8] = S[1], s[1]
    A[9, 1] = 1.0
    centres = np.array([*places[0], phi, *places[1], beta, *places[2], chi, x])
    return {"centres": centres, "A": A, "b": b}


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
