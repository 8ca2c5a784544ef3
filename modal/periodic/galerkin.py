"""A model on a fixed space of shapes: M, C, D, K and Q projected at every instant.

The space is spanned by frozen modes at several instants of a motion, so the low modes are exact
there. The error of the basis is estimated from a residual (modal/periodic/basis_error.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from assembly.errors import InputError
from assembly.system.frozen import PARTS, FrozenSystem
from modal.eigen.quadratic import in_parts
from modal.eigen.solve import solve
from modal.transient.equations import freezer
from modal.types import Array

EPS = float(np.finfo(float).eps)
INDEPENDENT = 1e-4  # of the largest singular value, in the energy norm


class GalerkinModel:
    """q = V r for a fixed V (n, r): `freeze(t)` returns the system of the coordinates r."""

    def __init__(self, model: Any, V: Array) -> None:
        self._freeze, self.V = freezer(model), np.asarray(V, dtype=float)
        if self.V.ndim != 2 or not np.all(np.isfinite(self.V)):
            raise InputError(f"basis: expected finite numbers (n, r), got shape {self.V.shape}")

    def freeze(self, t: float) -> FrozenSystem:
        """The projected system at t: every named part, and the load."""
        system, V = self._freeze(t), self.V
        if V.shape[0] != system.n:
            raise InputError(
                f"basis: the model has {system.n} degrees of freedom, the basis {V.shape[0]}"
            )
        parts = {
            name: V.T @ (system.parts[name] @ V) for name in PARTS if not system.parts[name].is_zero
        }
        return FrozenSystem(**parts, Q=V.T @ system.Q, parameters=system.parameters)

    def coordinates(self, x: NDArray[Any], t: float) -> NDArray[Any]:
        """r of a displacement or velocity q (n, ...), the M-orthogonal projection at t."""
        M = self._freeze(t).M
        return np.asarray(la.solve(self.V.T @ (M @ self.V), self.V.T @ (M @ x), assume_a="pos"))


def modal_basis(model: Any, times: Iterable[float], k: int) -> Array:
    """Shapes (n, r) that span the k lowest frozen modes at every one of `times`, s.

    Real and imaginary parts of the right and left vectors, the directions that carry a part above
    INDEPENDENT² of a mode's elastic energy; orthonormal in K + ω₁² M of the first instant.
    """
    freeze = freezer(model)
    shapes = []
    first: FrozenSystem | None = None
    lowest = 0.0
    for t in times:
        system = freeze(float(t))
        modes = solve(system, k=min(k, system.n))
        if first is None:
            first, sizes = system, np.abs(modes.eigenvalues[modes.kind == "elastic"])
            lowest = float(sizes.min(initial=np.inf))
            if not np.isfinite(lowest):
                raise InputError("basis: none of the modes is elastic; ask for more of them")
        shapes += [modes.right, modes.left]
    assert first is not None
    Z = np.hstack(shapes)
    norm = 0.5 * (first.K + first.K.T) + lowest**2 * first.M
    X = in_parts(Z)
    energy = (X * (norm @ X)).sum(axis=0)
    of_mode = np.tile(energy.reshape(2, -1).sum(axis=0), 2)
    there = energy > EPS * of_mode  # the imaginary parts of real vectors are round-off
    X = X[:, there] / np.sqrt(energy[there])
    gram = X.T @ (norm @ X)
    sizes, W = la.eigh(0.5 * (gram + gram.T))
    keep = sizes > INDEPENDENT**2 * sizes[-1]
    return np.asarray(X @ (W[:, keep] / np.sqrt(sizes[keep])))
