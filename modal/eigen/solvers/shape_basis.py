"""A growing basis of displacement shapes, orthonormal in a symmetric stiffness, with projections.

The stiffness is that of the one factorization, K_ref = S + Z diag(d) Zᵀ (symmetric_stiffness.py). A
new shape comes from a solve, so K_ref q is known without a product and is stored with the shape.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from modal.eigen.quadratic import Quadratic, from_parts, in_parts
from modal.eigen.solvers.operators import Operators
from modal.eigen.solvers.symmetric_stiffness import SymmetricStiffness
from modal.types import Array, Complex

DRIFT = 1e-11  # error of K_ref q, of its norm, below which it is not recomputed
NOISE = 1e-14  # and its backward error, ‖δ‖/(‖K_ref‖‖q‖), where that is larger
CLOSE = 1e-6  # energy left of a unit shape below which it is orthogonalised once more
DEPENDENT = (
    1e-8  # energy of a combination of unit shapes that counts as none: its K q − load is noise
)


class ShapeBasis:
    """K_ref-orthonormal V (n, m) with K_ref V, and the projections of M, C and K.

    Images of the shapes and projections are computed when they are asked for, of many at once; the
    stored K_ref V is verified before it is projected.
    """

    def __init__(self, quadratic: Quadratic, reference: SymmetricStiffness, room: int) -> None:
        self.quadratic, self.reference, self.m = quadratic, reference, 0
        self.operators = Operators(quadratic)
        self._with_image = dict.fromkeys(self.operators.matrices, 0)
        self._in_projection = self._verified = 0
        names = ("shapes", "stiffness", *self.operators.matrices)
        self._stored = {name: np.empty((quadratic.n, room), order="F") for name in names}
        self._projected = {name: np.zeros((room, room)) for name in self.operators.units}

    @property
    def V(self) -> Array:
        """The shapes, (n, m)."""
        return self._stored["shapes"][:, : self.m]

    @property
    def KV(self) -> Array:
        """K_ref V, (n, m)."""
        return self._stored["stiffness"][:, : self.m]

    @property
    def complete(self) -> bool:
        """The basis spans all displacements: the projected problem is the problem."""
        return bool(self.m == self.quadratic.n)

    def image(self, name: str) -> Array:
        """A stored matrix times V, (n, m)."""
        first = self._with_image.get(name, self.m)
        if first < self.m:
            new = np.ascontiguousarray(self.V[:, first:])
            self._stored[name][:, first : self.m] = self.operators.matrices[name] @ new
            self._with_image[name] = self.m
        return self._stored[name][:, : self.m]

    def projected(self) -> tuple[Array, Array, Array]:
        """VᵀMV, VᵀCV and VᵀKV, (m, m)."""
        self._verify()
        m, a = self.m, self._in_projection
        totals = np.zeros((3, m, m))
        for name, unit in self.operators.units.items():
            A = self._projected[name]
            if name == "stiffness":
                A = np.eye(m) - self.reference.added_energy(self.V)
            elif a < m:
                block = self.V.T @ unit.rotated(self.image(unit.stored)[:, a:])
                block[a:] = 0.5 * (block[a:] + unit.sign * block[a:].T)
                A[:m, a:m], A[a:m, :a] = block, unit.sign * block[:a].T
            for total, coefficient in zip(totals, unit.polynomial, strict=True):
                if coefficient:
                    total += coefficient * A[:m, :m]
        self._in_projection = m
        return totals[2], totals[1], totals[0]

    def _grow(self, extra: int) -> None:
        room = self._stored["shapes"].shape[1]
        if self.m + extra <= room:
            return
        wide = max(2 * room, self.m + extra)
        for name, old in self._stored.items():
            self._stored[name] = np.empty((len(old), wide), order="F")
            self._stored[name][:, : self.m] = old[:, : self.m]
        self._projected = {name: np.pad(A, (0, wide - room)) for name, A in self._projected.items()}

    def add(self, q: Array, load: Array) -> int:
        """Take in the shapes q with K_ref q = load, (n, p); returns how many are new."""
        q, load, _ = _orthonormal(*_unit(q, load))
        q, load = self._against(q, load)
        self._store(q, load)
        return int(q.shape[1])

    def _store(self, q: Array, load: Array) -> None:
        a, b = self.m, self.m + q.shape[1]
        self._grow(b - a)
        self._stored["shapes"][:, a:b], self._stored["stiffness"][:, a:b] = q, load
        self.m = b

    def _verify(self) -> None:
        """Recomputes the shapes since the last call if their stored K_ref q is inaccurate."""
        a = self._verified
        if a < self.m and self._drifted(self.V[:, a:], self.KV[:, a:]):
            q = self.V[:, a:].copy()
            self.m = a
            self._with_image = {name: min(b, a) for name, b in self._with_image.items()}
            self._store(*self._against(q, self.reference.apply(q)))
        self._verified = self.m

    def _against(self, q: Array, load: Array) -> tuple[Array, Array]:
        """Made K_ref-orthogonal to V, and K_ref-orthonormal."""
        for _ in range(2):
            h = self.V.T @ load
            q, load, least = _orthonormal(q - lift(self.V, h), load - lift(self.KV, h))
            if least > CLOSE:
                break
        return q, load

    def _drifted(self, q: Array, load: Array) -> bool:
        """Whether the stored K_ref q has become inaccurate, tested on one random combination."""
        w = np.random.default_rng(self.m).standard_normal(q.shape[1])
        combined, expected = q @ w, load @ w
        error = np.linalg.norm(self.reference.apply(combined[:, None])[:, 0] - expected)
        noise = NOISE * self.quadratic.norms[2] * np.linalg.norm(combined)
        return bool(error > max(DRIFT * np.linalg.norm(expected), noise))

    def coordinates(self, shapes: Array) -> Array:
        """Vᵀ K_ref q, (m, p): of shapes in the span of V."""
        return np.asarray(self.KV.T @ shapes)

    def shapes(self, Y: Complex) -> Complex:
        """V Y, (n, k)."""
        return from_parts(lift(self.V, in_parts(Y)))

    def residual(self, lam: Complex, Y: Complex, transposed: bool) -> tuple[Array, Array, Array]:
        """Q(λ)x of x = V Y, or Q(λ)ᵀx, in parts (n, 2k); ‖Sx‖ and ‖x‖, (k,)."""
        wide, total = in_parts(Y), np.zeros((len(self.V), len(lam)), dtype=complex, order="F")
        shapes = lift(self.V, wide)
        elastic = lift(self.KV, wide) - self.reference.added(shapes)
        for stored in ("stiffness", *self.operators.matrices):
            image = from_parts(elastic if stored == "stiffness" else lift(self.image(stored), wide))
            for unit in self.operators.units.values():
                if unit.stored == stored:
                    total += unit.rotated(image) * unit.weight(lam, transposed)
        return in_parts(total), lengths(elastic), lengths(shapes)

    def inertia(self, a: Array, b: Array) -> Array:
        """C V a + M V b, (n, p), of real coordinates."""
        load = np.zeros((len(self.V), a.shape[1]), order="F")
        for unit in self.operators.units.values():
            _, c1, c2 = unit.polynomial
            if c1 or c2:
                load += unit.rotated(lift(self.image(unit.stored), c1 * a + c2 * b))
        return load


def lift(V: Array, coordinates: Array) -> Array:
    """V × coordinates, (n, p) by columns as V is: BLAS takes twice as long to store rows."""
    return np.asarray((coordinates.T @ V.T).T)


def lengths(parts: Array) -> Array:
    """Norms of complex columns given as `in_parts`."""
    squares = np.einsum("ij,ij->j", parts, parts)
    k = len(squares) // 2
    return np.asarray(np.sqrt(squares[:k] + squares[k:]))


def _unit(q: Array, load: Array) -> tuple[Array, Array]:
    """The columns of q with K_ref q = load, each of unit energy; those without are dropped."""
    energy = np.einsum("ij,ij->j", q, load)
    keep = energy > np.finfo(float).tiny
    d = 1.0 / np.sqrt(energy[keep])
    return q[:, keep] * d, load[:, keep] * d


def _orthonormal(q: Array, load: Array) -> tuple[Array, Array, float]:
    """Orthonormal combinations of unit shapes, and the least of their energies before.

    Directions with negligible energy are dropped.
    """
    gram = q.T @ load
    sizes, U = la.eigh(0.5 * (gram + gram.T))
    keep = sizes > DEPENDENT
    U = U[:, keep] / np.sqrt(sizes[keep])
    return lift(q, U), lift(load, U), float(sizes[keep].min(initial=1.0))
