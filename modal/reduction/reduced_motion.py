"""A model on a reduced space, for what follows its motion in time.

The space is grown until the lowest frozen modes of instants all along the motion are certified. A
trajectory q(t) on it leaves the residual ρ = M q̈ + (C + D) q̇ + K q − f in the full equations. The
shapes outside the space respond to it nearly statically, so that its norm dual to K_ref is the size
of what is missing, in the energy norm.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from assembly.system.frozen import FrozenSystem
from assembly.system.frozen_series import FrozenSeries
from assembly.types import Inexact
from modal.reduction.basis import UNDERESTIMATE
from modal.reduction.instants import Instants
from modal.reduction.residuals import dual_squares
from modal.reduction.space import Space
from modal.types import Array

TRAINING = 24  # instants of the motion on which the space is grown


class ReducedMotion(ABC):
    """A model of r degrees of freedom, `freeze(t)`, and the way to the N of the full one.

    period: of the motion, s, or None. description: the space, in words.
    """

    space: Space
    period: float | None

    def __init__(self, space: Space, period: float | None) -> None:
        self.space, self.period, self.description = space, period, space.description

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
        """Coordinates (r, ...) of shapes (N, ...) of the full model that the space contains."""

    @abstractmethod
    def forces(self, f: Array) -> Array:
        """Generalised forces (r, ...) of those (N, ...) on the full model."""

    @abstractmethod
    def instants(self, times: Array) -> Instants:
        """The motion at times, s."""

    @abstractmethod
    def on_parts(self, f: Array) -> dict[str, Array]:
        """Forces (P, N, k) on the full model, on each part of the space, (P, n, k)."""

    def missing(
        self, times: Array, q: Inexact, v: Inexact, a: Inexact, f: Array | None = None
    ) -> tuple[Array, Array]:
        """The size of what the space misses, (P, k) each: in the energy norm, √J, and in the norm
        of the mass, √kg m. q, v, a: displacement, velocity and acceleration (P, r, k); f: forces
        on the full model (P, N, k)."""
        at = self.instants(times)
        square, weak = np.zeros((2, len(times), q.shape[2]))
        loads = {} if f is None else self.on_parts(f)
        for name in at.names:
            sketch = at.sketch(name, at.roles(name, q, v, a))
            if name in loads:
                sketch = np.asarray(sketch - self.space.parts[name].sketched_forces(loads[name]))
            square += dual_squares(sketch)
            weak += np.linalg.norm(sketch[:, 0], axis=1) ** 2
        return UNDERESTIMATE * np.sqrt(square), UNDERESTIMATE * np.sqrt(weak)

    def round_off(self, sizes: Array) -> Array:
        """Of eigenvalues of some sizes |λ|, rad/s, per unit condition."""
        return self.space.quotient_round_off(sizes)
