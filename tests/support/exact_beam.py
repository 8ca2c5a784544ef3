"""Static equilibrium of the geometrically exact beam by shooting, written apart from the elements.

With the position r(s), the section's axes R(s) = [t, y, z], force n and moment m in fixed axes,
    r' = R (e₁ + Γ),  R' = R κ̃,  n' = 0,  m' = −r' × n,
Γ = Rᵀn/(EA, GA, GA), κ = κ₀ + Rᵀm/(GJ, EI, EI) (Simo, Comput. Methods Appl. Mech. Eng. 49, 1985).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve
from scipy.spatial.transform import Rotation

from assembly.kinematics import skew

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """A part of constant initial curvature. length: m. curvature (3,): in section axes, 1/m. kink
    (3,): rotation vector, in section axes, from the end of the part before to its start.
    """

    length: float
    curvature: tuple[float, float, float] = (0.0, 0.0, 0.0)
    kink: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class ExactBeam:
    """A uniform beam, clamped at the origin where its section's axes are those of the frame.

    parts: one after the other, rigidly joined. force_stiffness (EA, GA_y, GA_z), N.
    moment_stiffness (GJ, EI_y, EI_z), N·m².
    """

    parts: tuple[Part, ...]
    force_stiffness: Array
    moment_stiffness: Array

    @property
    def length(self) -> float:
        return sum(part.length for part in self.parts)

    def end(
        self, force: Array, moment: Array, tolerance: float = 1e-12
    ) -> tuple[Array, Array, Array]:
        """Position, axes and moment at the end, of n and m at the clamp."""
        state = np.concatenate([np.zeros(3), np.eye(3).ravel(), moment])
        for part in self.parts:
            kink = Rotation.from_rotvec(part.kink).as_matrix()
            state[3:12] = (state[3:12].reshape(3, 3) @ kink).ravel()
            state = self._along(part, state, force, tolerance)
        return state[:3], state[3:12].reshape(3, 3), state[12:]

    def _along(self, part: Part, state: Array, force: Array, tolerance: float) -> Array:
        def rates(_: float, state: Array) -> Array:
            R, m = state[3:12].reshape(3, 3), state[12:]
            gamma = R.T @ force / self.force_stiffness
            kappa = np.array(part.curvature) + R.T @ m / self.moment_stiffness
            dr = R @ (np.array([1.0, 0.0, 0.0]) + gamma)
            return np.concatenate([dr, (R @ skew(kappa)).ravel(), across @ dr])

        across = skew(force)
        found = solve_ivp(
            rates, (0.0, part.length), state, method="DOP853", rtol=tolerance, atol=tolerance
        )
        return np.asarray(found.y[:, -1])

    def tip(self, load: Array, follower: bool = False, steps: int = 6) -> tuple[Array, Array]:
        """Displacement and rotation vector of the end under a force there.

        follower: the force keeps its components in the section's axes of the end. The load grows in
        steps; the first are only starts of the next.
        """
        X, axes, _ = self.end(np.zeros(3), np.zeros(3))
        own = axes.T @ load
        scale = np.linalg.norm(load) * np.array([1.0] * 3 + [self.length] * 3)

        def defect(x: Array, share: float, tolerance: float) -> Array:
            n, m = np.split(x * scale, 2)
            _, R, left = self.end(n, m, tolerance)
            expected = share * (R @ own if follower else load)
            return np.concatenate([n - expected, left]) / scale

        x = np.zeros(6)
        for share in np.linspace(0.0, 1.0, steps + 1)[1:]:
            settings = (share, 1e-12 if share == 1.0 else 1e-6)
            x, _, success, words = fsolve(
                defect, x, args=settings, xtol=0.1 * settings[1], full_output=True
            )
            assert success == 1 or np.abs(defect(x, *settings)).max() < 10.0 * settings[1], words
        r, R, _ = self.end(*np.split(x * scale, 2))
        return r - X, Rotation.from_matrix(R @ axes.T).as_rotvec()
