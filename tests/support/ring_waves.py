"""Exact travelling waves of a spinning ring about its stretched shape: a Fourier solution.

A free ring of geometrically exact beam theory spins at Ω about its axis. Its stretched shape is a
circle of radius r, E A (r/R − 1)/R = ρ A Ω² r. In the turning basis e_r, e_t, e_z of each material
point the ring has constant coefficients, so that its vibrations are q = q̂ exp(i(n s/R + λ t)) with
the six components q = (u, ψ) of displacement and rotation of the section, one small Hermitian
problem for each n. The Lagrangian is written in full, with Λ = exp(ψ̃) to second order, and its
second derivatives are taken by complex steps and differences: no element, no frozen matrix.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

import assembly

Array = NDArray[np.float64]
Any = NDArray[np.inexact]

UP = np.array([0.0, 0.0, 1.0])
T = np.array([0.0, 1.0, 0.0])


class RingWaves:
    """A ring of radius R (m), its width radial, spinning at omega (rad/s)."""

    def __init__(
        self, R: float, section: assembly.Section, material: assembly.Material, omega: float
    ) -> None:
        self.R, self.omega = R, omega
        E, G, rho, A = material.E, material.G, material.rho, section.A
        radial, across = section.shear_y * G * A, section.shear_z * G * A
        # Axes r, t, z: the section's width y is radial, its height z along the axis.
        self.stretch = np.array([radial, E * A, across])
        self.bend = np.array([E * section.Iy, G * section.J, E * section.Iz])
        self.radius2 = (section.Iy + section.Iz) / A
        self.line_mass, self.J = rho * A, rho * np.array([section.Iz, 0.0, section.Iy])
        self.radius = R / (1.0 - rho * omega**2 * R**2 / E)

    def energy(self, q: Any, slope: Any) -> Any:
        """Strain energy per length of components (6,) and their derivatives by s."""
        u, psi = q[:3], q[3:]
        p = self.radius * np.array([1.0, 0.0, 0.0]) + u
        r = slope[:3] + np.cross(UP, p) / self.R
        inverse = rotated(-psi)
        gamma = inverse @ r - T
        kappa = slope[3:] - 0.5 * np.cross(psi, slope[3:]) + (inverse @ UP - UP) / self.R
        strain = gamma.copy()
        strain[1] = np.sqrt(r @ r) - 1.0 + 0.5 * self.radius2 * kappa[1] ** 2
        return 0.5 * (self.stretch @ strain**2 + self.bend @ kappa**2)

    def kinetic(self, q: Any, rate: Any) -> Any:
        """Kinetic energy per length."""
        spin = self.omega * UP
        p = self.radius * np.array([1.0, 0.0, 0.0]) + q[:3]
        v = rate[:3] + np.cross(spin, p)
        total = 0.5 * self.line_mass * (v @ v)
        psi, turn = q[3:], rate[3:]
        for J, e in zip(self.J, np.eye(3), strict=True):
            arm = rotated(psi) @ e
            moved = np.cross(turn, e) + 0.5 * (
                np.cross(turn, np.cross(psi, e)) + np.cross(psi, np.cross(turn, e))
            )
            w = moved + np.cross(spin, arm)
            total = total + 0.5 * J * (w @ w)
        return total

    def matrices(self, n: int) -> tuple[Any, Any, Any]:
        """M, C, K (6, 6) of q̂ with n waves around the ring; M and K Hermitian, C skew."""
        W, D = hessian(self.energy), hessian(self.kinetic)
        k = n / self.R
        K = W[:6, :6] + 1j * k * (W[:6, 6:] - W[6:, :6]) + k**2 * W[6:, 6:] - D[:6, :6]
        return D[6:, 6:], D[6:, :6] - D[:6, 6:], K

    def frequencies(self, n: int, axes: tuple[int, ...]) -> Array:
        """All λ (rad/s) of some components: (0, 1, 5) in the plane, (2, 3, 4) across it."""
        M, C, K = (A[np.ix_(axes, axes)] for A in self.matrices(n))
        zero, one = np.zeros_like(M), np.eye(len(axes))
        pencil = la.eigvals(np.block([[zero, one], [-la.solve(M, K), -la.solve(M, C)]]))
        assert np.all(abs(pencil.real) < 1e-5 * abs(pencil).max())
        return np.sort(pencil.imag)


def rotated(psi: Any) -> Any:
    """exp(ψ̃) to second order."""
    x, y, z = psi
    S = np.array([[0.0 * x, -z, y], [z, 0.0 * x, -x], [-y, x, 0.0 * x]])
    return np.eye(3) + S + 0.5 * S @ S


def hessian(f: Callable[[Any, Any], Any], h: float = 1e-3) -> Array:
    """Second derivatives (12, 12) at zero of f(q, rate): complex steps, then differences."""

    def gradient(x: Array) -> Array:
        steps = x + 1e-30j * np.eye(12)
        return np.array([f(row[:6], row[6:]).imag for row in steps]) / 1e-30

    columns = []
    for e in np.eye(12):
        near = {k: gradient(k * h * e) for k in (-2, -1, 1, 2)}
        columns.append((8.0 * (near[1] - near[-1]) - (near[2] - near[-2])) / (12.0 * h))
    H = np.stack(columns, axis=1)
    return np.asarray(0.5 * (H + H.T))
