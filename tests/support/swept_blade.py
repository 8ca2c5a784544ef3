"""Vibration of a rotating beam of straight parts about its bent equilibrium, by collocation.

Written apart from the elements. In axes that turn by Ω about z, with position r, section axes R,
force n and moment m of the geometrically exact beam (Simo, Comput. Methods Appl. Mech. Eng. 49,
1985), equilibrium is
    n' = ρA Ω×(Ω×r),   m' = −r'×n + Ω×(JΩ),   J = R diag(J) Rᵀ,
and a small motion e^{λt} with the displacement u and the rotation (1 + θ̃)R
    θ' = R C_M Rᵀ(δm − θ×m),   u' = θ×r' + R C_F Rᵀ(δn − θ×n),
    δn' = ρA (λ² u + 2λ Ω×u + Ω×(Ω×u)),
    δm' = −u'×n − r'×δn + λ²Jθ + λ(θ̃J − Jθ̃)Ω + Ω×(λJθ + (θ̃J − Jθ̃)Ω)
with u = θ = 0 at the root and δn = δm = 0 at the tip.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as la
import scipy.sparse.linalg as spla
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

from assembly.kinematics import skew

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RotatingBeam:
    """root: distance of the clamp from the axis z of the rotation, along x.

    parts: length and direction, an angle about z from x, of each straight part. line: mass per
    length. inertia (3,): of the section, per length, about its own axes.
    """

    root: float
    parts: tuple[tuple[float, float], ...]
    force_stiffness: Array
    moment_stiffness: Array
    line: float
    inertia: Array
    spin: float

    @property
    def omega(self) -> Array:
        return np.array([0.0, 0.0, self.spin])

    def _rates(self, y: Array) -> Array:
        """Of x, y, the angle of the section, n_x, n_y and m_z: the motion stays in the plane."""
        c, s = np.cos(y[2]), np.sin(y[2])
        N, V = c * y[3] + s * y[4], c * y[4] - s * y[3]
        along, across = 1.0 + N / self.force_stiffness[0], V / self.force_stiffness[1]
        dx, dy = c * along - s * across, s * along + c * across
        pull = -self.line * self.spin**2
        bend = y[5] / self.moment_stiffness[2]
        return np.array([dx, dy, bend, pull * y[0], pull * y[1], dy * y[3] - dx * y[4]])

    def _states(self, load: Array, nodes: list[Array]) -> list[Array]:
        """States (6, N) at the nodes of each part, of n_x, n_y, m_z at the clamp."""
        state, before, found = np.concatenate([[self.root, 0.0, 0.0], load]), 0.0, []
        for (length, direction), at in zip(self.parts, nodes, strict=True):
            state[2] += direction - before
            path = solve_ivp(
                lambda _, y: self._rates(y), (0.0, length), state, "DOP853", at, rtol=1e-12,
                atol=1e-12,
            )  # fmt: skip
            found.append(path.y)
            state, before = path.y[:, -1].copy(), direction
        return found

    def equilibrium(self, nodes: list[Array]) -> list[Array]:
        """The states at the nodes, where the last has neither force nor moment."""
        pull = self.line * self.spin**2 * self.root * sum(length for length, _ in self.parts)
        scale = np.array([1.0, 1.0, self.root]) * (pull + 1e-9)

        def left(x: Array) -> Array:
            return np.asarray(self._states(x * scale, nodes)[-1][3:, -1] / scale)

        x, _, _, words = fsolve(left, np.zeros(3), xtol=1e-14, full_output=True)
        assert np.abs(left(x)).max() < 1e-9, words
        return self._states(x * scale, nodes)

    def _operator(self, state: Array, axes: float) -> tuple[Array, Array, Array]:
        """d/ds of (u, θ, δn, δm): factors (12, 12) of 1, λ and λ²; axes: angle of the section."""
        c, s = np.cos(axes), np.sin(axes)
        R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        n, m = np.array([state[3], state[4], 0.0]), np.array([0.0, 0.0, state[5]])
        dr = np.append(self._rates(state)[:2], 0.0)
        J, W = R @ np.diag(self.inertia) @ R.T, skew(self.omega)
        C_F = R @ np.diag(1.0 / self.force_stiffness) @ R.T
        C_M = R @ np.diag(1.0 / self.moment_stiffness) @ R.T
        A = np.zeros((3, 12, 12))
        u, turn, force, moment = (slice(3 * k, 3 * k + 3) for k in range(4))
        A[0, turn, turn], A[0, turn, moment] = C_M @ skew(m), C_M
        A[0, u, turn], A[0, u, force] = -skew(dr) + C_F @ skew(n), C_F
        A[0, force, u], A[1, force, u], A[2, force, u] = (
            self.line * X for X in (W @ W, 2.0 * W, np.eye(3))
        )
        # (θ̃J − Jθ̃)Ω = (JΩ̃ − (JΩ)~) θ.
        change = J @ W - skew(J @ self.omega)
        A[0, moment] = skew(n) @ A[0, u]
        A[0, moment, force] -= skew(dr)
        A[0, moment, turn] += W @ change
        A[1, moment, turn], A[2, moment, turn] = change + W @ J, J
        return A[0], A[1], A[2]

    def frequencies(self, count: int, points: int = 44) -> Array:
        """The lowest frequencies, rad/s, from Chebyshev polynomials on each part."""
        nodes, slopes = [], []
        for length, _ in self.parts:
            n = max(20, round(points * length / max(part[0] for part in self.parts)))
            x = -np.cos(np.pi * np.arange(n) / (n - 1))
            V = chebyshev.chebvander(x, n - 1)
            dV = np.stack([chebyshev.chebval(x, chebyshev.chebder(e)) for e in np.eye(n)], axis=1)
            nodes.append(0.5 * length * (x + 1.0))
            slopes.append(2.0 / length * dV @ la.inv(V))
        states = self.equilibrium(nodes)
        sizes = [len(at) for at in nodes]
        start = np.cumsum([0, *sizes])
        B = np.zeros((3, 12 * start[-1], 12 * start[-1]))
        for first, n, D, state in zip(start, sizes, slopes, states, strict=False):
            B[0][np.ix_(*[np.arange(12 * first, 12 * (first + n))] * 2)] = np.kron(D, np.eye(12))
            for k in range(n):
                own = slice(12 * (first + k), 12 * (first + k + 1))
                for power, A in enumerate(self._operator(state[:, k], float(state[2, k]))):
                    B[power][own, own] -= A
            # The equations at the first point of a part give way to what joins it.
            own = slice(12 * first, 12 * first + 12)
            B[:, own] = 0.0
            if first:
                B[0][own, own] = np.eye(12)
                B[0][own, 12 * first - 12 : 12 * first] = -np.eye(12)
        B[0][:6, :6] = np.eye(6)
        B[0][6:12, -6:] = np.eye(6)
        # Rows and columns of one size; then (1/λ)² + (1/λ) B₀⁻¹B₁ + B₀⁻¹B₂.
        B /= np.abs(B[0]).max(axis=1)[None, :, None]
        factor, size = la.lu_factor(B[0]), len(B[0])
        P, Q = (la.lu_solve(factor, X) for X in (B[1], B[2]))
        step = spla.LinearOperator(
            (2 * size, 2 * size),
            lambda z: np.concatenate([-P @ z[:size] - Q @ z[size:], z[:size]]),
            dtype=float,
        )
        inverse = spla.eigs(step, 4 * count, tol=1e-12, return_eigenvectors=False)
        values = 1.0 / inverse
        rising = np.sort(values.imag[values.imag > 0.0])
        assert np.abs(values.real).max() < 1e-6 * np.abs(values).max()
        return np.asarray(rising[:count])
