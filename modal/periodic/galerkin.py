"""A model on a fixed space of shapes: M, C, D, K and Q projected at every instant.

The space is spanned by frozen modes at several instants of a motion, so the low modes are exact
there. A motion q(t) = V r(t) leaves the residual ρ = M q̈ + (C + D) q̇ + K q in the full equations,
orthogonal to V. The shapes outside the space respond to it nearly statically.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from assembly.errors import InputError
from assembly.linalg.factorization import Factorization
from assembly.system.frozen import PARTS, FrozenSystem
from modal.eigen.quadratic import in_parts
from modal.eigen.solve import solve
from modal.eigen.tolerances import EPS, ROUND_OFF
from modal.periodic.tolerances import INDEPENDENT
from modal.transient.equations import SecondOrderModel, freezer
from modal.types import Array, Complex


class Matrices(NamedTuple):
    """M, C + D and all stiffness at times, (P, r, r) each."""

    mass: Array
    damping: Array
    stiffness: Array


class GalerkinModel:
    """q = V r for a fixed V (n, r): `freeze(t)` returns the system of the coordinates r."""

    description = ""

    def __init__(self, model: Any, V: Array) -> None:
        self._freeze, self.V = freezer(model), np.asarray(V, dtype=float)
        self._equations = SecondOrderModel(model)
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

    def freeze_many(self, times: Array) -> Matrices:
        """The projected matrices at times (P,), s."""
        systems = [instant.system for instant in self._equations.several(times)]
        V = self.V
        sums = [[V.T @ (A @ V) for A in (s.M, s.damping, s.stiffness)] for s in systems]
        return Matrices(*(np.stack(part) for part in zip(*sums, strict=True)))

    def lift(self, r: Complex) -> Complex:
        """Degrees of freedom (n, ...) of coordinates (r, ...)."""
        return np.asarray(self.V @ r)

    def weights(self, t: float) -> Array:
        """The root of each degree of freedom's inertia at an instant, (n,)."""
        return np.asarray(np.sqrt(np.maximum(self._freeze(t).M.diagonal(), 0.0)))

    def missing(self, times: Array, q: Complex, v: Complex, a: Complex) -> tuple[Array, Array]:
        """The size √(ρᴴK⁻¹ρ) of what the space misses, (P, k), twice, as of a `ReducedMotion`; q,
        v, a: displacement, velocity and acceleration (P, r, k)."""
        out = np.empty((len(times), q.shape[2]))
        for n, instant in enumerate(self._equations.several(times)):
            system = instant.system
            x, rate, force = (self.V @ part[n] for part in (q, v, a))
            residual = system.M @ force + system.damping @ rate + system.stiffness @ x
            inertia, speed = ((y.conj() * (system.M @ y)).sum(axis=0).real for y in (x, rate))
            # K + ω₁²M is positive definite where K is singular, but for round-off of K.
            least = float((speed / np.maximum(inertia, np.finfo(float).tiny)).min())
            stiffest = float((system.K.diagonal() / system.M.diagonal()).max())
            least = max(least, ROUND_OFF * stiffest)
            shifted = sp.csr_matrix(0.5 * (system.K + system.K.T) + least * system.M)
            factor = Factorization(shifted, "spd")
            try:
                response = factor.solve(np.ascontiguousarray(residual))
            finally:
                factor.destroy()
            out[n] = np.sqrt(np.abs((residual.conj() * response).sum(axis=0)))
        return out, out

    def round_off(self, sizes: Array) -> Array:
        """Of eigenvalues of some sizes |λ|, rad/s, per unit condition."""
        return EPS * np.asarray(sizes)


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
