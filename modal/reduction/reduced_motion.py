"""What a model on a reduced basis offers to that which follows its motion in time.

The basis is grown until the lowest frozen modes of instants all along the motion are certified. A
trajectory q(t) on it leaves the residual ρ = M q̈ + (C + D) q̇ + K q − f in the full equations. The
shapes outside the basis respond to it nearly statically, so that its norm dual to K_ref is the size
of what is missing, in the energy norm.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from assembly.system.frozen import FrozenSystem
from assembly.system.frozen_series import FrozenSeries
from assembly.types import Inexact
from modal.types import Array, Complex

TRAINING = 24  # instants of the motion on which the basis is grown


class ReducedMotion(ABC):
    """A model of r degrees of freedom, `freeze(t)`, and the way to the N of the full one."""

    @property
    @abstractmethod
    def period(self) -> float | None:
        """Period of the motion, s."""

    @property
    @abstractmethod
    def description(self) -> str:
        """The basis, in words."""

    def freeze(self, t: float) -> FrozenSystem:
        """The frozen system of the reduced model at time t, s."""
        return self.freeze_many(np.array([t]))[0]

    @abstractmethod
    def freeze_many(self, times: ArrayLike) -> FrozenSeries:
        """Those of several times."""

    @abstractmethod
    def lift(self, q: Inexact) -> Inexact:
        """DOFs (N, ...) of the full model."""

    @abstractmethod
    def coordinates(self, q: Array) -> Array:
        """Coordinates (r, ...) of shapes (N, ...) of the full model that the basis contains."""

    @abstractmethod
    def forces(self, f: Array) -> Array:
        """Generalised forces (r, ...) of those (N, ...) on the full model."""

    @abstractmethod
    def missing(
        self, times: Array, q: Inexact, v: Inexact, a: Inexact, f: Array | None = None
    ) -> tuple[Array, Array]:
        """The size of what the basis misses, (P, k) each: in the energy norm, √J, and in the norm
        of the mass, √kg m. q, v, a: displacement, velocity and acceleration (P, r, k); f: forces
        on the full model (P, N, k)."""

    @abstractmethod
    def round_off(self, sizes: Array) -> Array:
        """Of eigenvalues of some sizes |λ|, rad/s, per unit condition."""

    def exponent_error(self, t: float, vectors: Complex) -> Array:
        """Estimated error (m,), 1/s, of Floquet exponents with vectors (2r, m) of (q, q̇) at t.

        As in modal/periodic/basis_error.py: ρᴴ(K − ω²M)⁻¹ρ / (2ω qᴴMq), and round-off.
        """
        r = len(vectors) // 2
        q, v = vectors[:r], vectors[r:]
        system = self.freeze(t)
        M = system.M.toarray()
        a = -np.linalg.solve(M, system.damping @ v + system.stiffness @ q)
        missing = self.missing(np.array([t]), q[None], v[None], a[None])[0][0]
        tiny = np.finfo(float).tiny
        inertia = np.maximum((q.conj() * (M @ q)).sum(axis=0).real, tiny)
        speed = np.maximum((v.conj() * (M @ v)).sum(axis=0).real, tiny)
        by_basis = missing**2 / (2.0 * np.sqrt(speed * inertia))
        return np.asarray(by_basis + self.round_off(np.sqrt(speed / inertia)))
