"""A body in motion relative to its frame: what the forces beyond the linear ones depend on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from assembly.kinematics import skew
from assembly.types import Array


@dataclass(frozen=True)
class Passage:
    """Displacements u, velocities v and accelerations a (size,) of all DOFs relative to the frame.

    omega (3,): of the frame, rad/s. coefficients (12,): of what the inertia load comes from.
    rayleigh (a, b): internal damping in proportion to mass (1/s) and to stiffness (s). Of elements
    of several bodies, each of these has a first axis of elements.
    """

    u: Array
    v: Array
    a: Array
    omega: Array
    coefficients: Array
    rayleigh: tuple[Any, Any] = (0.0, 0.0)

    @property
    def drag(self) -> Array:
        """2ω̃ + a I (..., 3, 3): the acceleration by the velocity relative to the frame."""
        share = np.asarray(self.rayleigh[0])[..., None, None]
        return np.asarray(2.0 * skew(self.omega) + share * np.eye(3))

    @property
    def rests(self) -> bool:
        """Whether nothing moves relative to the frame."""
        return not (np.any(self.v) or np.any(self.a))

    def of_part(
        self, B: sp.csr_matrix, R: Array, P: Array, rayleigh: tuple[float, float]
    ) -> Passage:
        """That of a part whose DOFs are B u in axes R, with its own damping on top."""
        a, b = (x + y for x, y in zip(self.rayleigh, rayleigh, strict=True))
        return replace(
            self,
            u=B @ self.u,
            v=B @ self.v,
            a=B @ self.a,
            omega=R.T @ self.omega,
            coefficients=P @ self.coefficients,
            rayleigh=(a, b),
        )


class Beyond(NamedTuple):
    """What a family adds to the linear matrices (size, size) about a displaced state in motion.

    M, C (Coriolis), D (damping) by a, v and v; K by u, of the forces that v and a cause.
    """

    M: sp.csr_matrix
    C: sp.csr_matrix
    D: sp.csr_matrix
    K: sp.csr_matrix


class Displaced(NamedTuple):
    """The derivatives (size, size), by a displacement and its load, of a family's matrices at rest.

    K: of the tangent, beyond what `geometric` has of the stress. M, D: of mass and damping. Each is
    None where it does not change.
    """

    K: Any = None
    M: Any = None
    D: Any = None
