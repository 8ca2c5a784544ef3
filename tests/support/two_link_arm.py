"""A planar arm of two rigid links on elastic gears: Lagrange's equations and their derivatives.

Angles a of link 1 from the horizontal and b of link 2 from link 1. The kinetic energy is that of
two links with masses m, centres at c and inertias J about these, link 1 of length l; each gear
has a stiffness and a damper between its links.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import assembly

Array = NDArray[np.float64]

LENGTH = 0.9
MASSES, CENTRES, INERTIAS = (8.0, 5.0), (0.4, 0.35), (0.6, 0.3)
STIFFNESS, DAMPING = (2500.0, 900.0), (6.0, 2.0)
LAWS = (assembly.Harmonic(0.8, 2.0, 0.3, 0.5), assembly.Harmonic(0.6, 3.0, -0.2, 0.4))


@dataclass(frozen=True)
class Arm:
    gravity: float

    def mechanism(self, moving: bool = True) -> assembly.Mechanism:
        laws = LAWS if moving else [assembly.Uniform(0.0, start=w.at(0.0)[0]) for w in LAWS]
        links = [
            assembly.rigid_body(m, J, centre=(c, 0, 0), planar=True)
            for m, c, J in zip(MASSES, CENTRES, INERTIAS, strict=True)
        ]
        return assembly.Mechanism(
            {"upper": links[0], "fore": links[1]},
            [
                assembly.revolute("ground", (0, 0), "upper", "origin", name="shoulder"),
                assembly.revolute("upper", (LENGTH, 0), "fore", "origin", name="elbow"),
            ],
            [
                assembly.driver(joint, law, stiffness=k, damping=c if moving else 0.0)
                for joint, law, k, c in zip(
                    ("shoulder", "elbow"), laws, STIFFNESS, DAMPING, strict=True
                )
            ],
            initial={"fore": (LENGTH, 0, 0)},
            gravity=(0, -self.gravity, 0),
        )

    @property
    def _constants(self) -> tuple[float, float, float]:
        """α, β, γ of the mass matrix."""
        (m1, m2), (c1, c2), (J1, J2) = MASSES, CENTRES, INERTIAS
        alpha = J1 + J2 + m1 * c1**2 + m2 * (LENGTH**2 + c2**2)
        return alpha, m2 * LENGTH * c2, J2 + m2 * c2**2

    def torques(self, x: NDArray[np.inexact]) -> NDArray[np.inexact]:
        """Lagrange's equations: torques (2,) of q, q̇, q̈ in a row (6,) (Craig, Introduction to
        Robotics, 1986), complex as well."""
        a, b, da, db, dda, ddb = x
        alpha, beta, gamma = self._constants
        c, s = np.cos(b), np.sin(b)
        fore = self.gravity * MASSES[1] * CENTRES[1] * np.cos(a + b)
        upper = self.gravity * (MASSES[0] * CENTRES[0] + MASSES[1] * LENGTH) * np.cos(a)
        shoulder = (alpha + 2.0 * beta * c) * dda + (gamma + beta * c) * ddb
        shoulder += -beta * s * (2.0 * da * db + db**2) + upper + fore
        elbow = (gamma + beta * c) * dda + gamma * ddb + beta * s * da**2 + fore
        return np.array([shoulder, elbow])

    def _at(self, t: float) -> Array:
        return np.array([law.at(t) for law in LAWS]).T.ravel()

    def inverse_dynamics(self, t: float) -> Array:
        """Torques (2,) of the drives, the dampers' steady work included."""
        state = self._at(t)
        return np.asarray(self.torques(state) + np.array(DAMPING) * state[2:4])

    def weight_torques(self, t: float) -> Array:
        """Torques (2,) of the drives at rest."""
        return np.asarray(self.torques(np.array([*self._at(t)[:2], 0, 0, 0, 0])))

    def linearized(self, t: float) -> tuple[Array, Array, Array]:
        """M, C + D, K by the absolute rotations of the links, which the frozen system has."""
        varied = self._at(t) + 1e-30j * np.eye(6)
        J = np.array([self.torques(x).imag for x in varied]).T / 1e-30
        # Absolute rotations φ: a = φ₁, b = φ₂ − φ₁; the torques of φ are Pᵀ those of a, b.
        P = np.array([[1.0, 0.0], [-1.0, 1.0]])
        joints = (np.diag(STIFFNESS), np.diag(DAMPING), np.zeros((2, 2)))
        K, C, M = (P.T @ (J[:, 2 * k : 2 * k + 2] + joint) @ P for k, joint in enumerate(joints))
        return M, C, K

    def frequencies_at_rest(self) -> Array:
        """ω (2,) of det(K − ω² M) = 0 with the undamped gears and the weight, rad/s.

        M has entries α + 2 β cos b, γ + β cos b and γ, K those of the gears less the moments of
        the weights about both joints.
        """
        (a, b), g = self._at(0.0)[:2], self.gravity
        (m1, m2), (c1, c2) = MASSES, CENTRES
        alpha, beta, gamma = self._constants
        M = np.array(
            [
                [alpha + 2 * beta * np.cos(b), gamma + beta * np.cos(b)],
                [gamma + beta * np.cos(b), gamma],
            ]
        )
        second = m2 * g * c2 * np.sin(a + b)
        first = (m1 * c1 + m2 * LENGTH) * g * np.sin(a) + second
        K = np.diag(STIFFNESS) - np.array([[first, second], [second, second]])
        trace, D = M[0, 0] * K[1, 1] + M[1, 1] * K[0, 0] - 2 * M[0, 1] * K[0, 1], np.linalg.det(M)
        root = np.sqrt(trace**2 - 4.0 * D * np.linalg.det(K))
        return np.sqrt((trace + np.array([-root, root])) / (2.0 * D))
