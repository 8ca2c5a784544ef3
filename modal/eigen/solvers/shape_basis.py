"""A growing basis of displacement shapes, orthonormal in a symmetric stiffness, with projections.

The stiffness is that of the one factorization, K_ref (symmetric_stiffness.py). A new shape comes
from a solve, so K_ref q is known without a product and is stored with the shape.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from modal.eigen.quadratic import Quadratic, from_parts, in_parts
from modal.eigen.solvers.symmetric_stiffness import SymmetricStiffness
from modal.eigen.tolerances import HALF, ROUND_OFF, WEAK, ZERO
from modal.types import Array, Complex, Mask


@dataclass(frozen=True)
class Operator:
    """A symmetric (sign +1) or skew (−1) matrix that is in Q(λ) with the factor λ^power."""

    matrix: sp.csr_matrix
    sign: int
    power: int

    def weight(self, lam: Complex, transposed: Mask) -> Complex:
        """The factor in Q(λ), or in its transpose, for every λ."""
        return np.asarray(np.where(transposed, self.sign, 1) * lam**self.power)


def operators_of(quadratic: Quadratic, reference: SymmetricStiffness) -> dict[str, Operator]:
    """Q(λ) less the factorized A (symmetric_stiffness.py) as a sum, without what is zero."""
    damping, gyroscopic = quadratic.damping_parts
    every = {
        "mass": Operator(quadratic.M, 1, 2),
        "damping": Operator(damping, 1, 1),
        "gyroscopic": Operator(gyroscopic, -1, 1),
        "circulatory": Operator(quadratic.stiffness_parts[1], -1, 0),
    }
    if reference.softening is not None:
        every = {"softening": Operator(reference.softening, 1, 0), **every}
    return {name: A for name, A in every.items() if name == "mass" or A.matrix.nnz}


class ShapeBasis:
    """K_ref-orthonormal V (n, m) with K_ref V, and the projections of M, C and K.

    Images of the shapes and projections are computed when they are asked for, of many at once.
    """

    def __init__(self, quadratic: Quadratic, reference: SymmetricStiffness) -> None:
        self.quadratic, self.reference, self._verified = quadratic, reference, 0
        self.operators = operators_of(quadratic, reference)
        self.V = self.KV = np.empty((quadratic.n, 0), order="F")
        self._images = dict.fromkeys(self.operators, self.V)
        self._projected = dict.fromkeys(self.operators, np.zeros((0, 0)))

    @property
    def m(self) -> int:
        """The number of shapes."""
        return int(self.V.shape[1])

    @property
    def complete(self) -> bool:
        """The basis spans all displacements: the projected problem is the problem."""
        return bool(self.m == self.quadratic.n)

    def image(self, name: str) -> Array:
        """A matrix times V, (n, m)."""
        known = self._images[name]
        if known.shape[1] < self.m:
            new = self.operators[name].matrix @ np.ascontiguousarray(self.V[:, known.shape[1] :])
            self._images[name] = _joined(known, new)
        return self._images[name]

    def projected(self) -> tuple[Array, Array, Array]:
        """VᵀMV, VᵀCV and VᵀKV, (m, m)."""
        m = self.m
        totals = np.zeros((3, m, m))
        totals[0] = np.eye(m) - self.reference.added_energy(self.V)
        if self.reference.softening is not None:  # the first shapes are the rigid fields
            rigid = self.reference.null.shape[1]
            totals[0][:rigid] = totals[0][:, :rigid] = 0.0
        for name, operator in self.operators.items():
            A = self._projected[name]
            a = len(A)
            if a < m:
                block = self.V.T @ self.image(name)[:, a:]
                corner = 0.5 * (block[a:] + operator.sign * block[a:].T)
                A = np.block([[A, block[:a]], [operator.sign * block[:a].T, corner]])
                self._projected[name] = A
            totals[operator.power] += A
        return totals[2], totals[1], totals[0]

    def grow(self, load: Array) -> int:
        """Take in K_ref⁻¹ load, (n, p); returns how many shapes are new.

        What the basis has is removed from the load: a small shape next to it keeps all its digits.
        """
        load = load - lift(self.KV, self.V.T @ load)
        return self.add(*self.reference.solve(load))

    def add(self, q: Array, load: Array) -> int:
        """Take in the shapes q with K_ref q = load, (n, p); returns how many are new."""
        for _ in range(2):
            q, load, least = self._orthonormal(q, load)
            if least > WEAK:
                break
        self.V, self.KV = _joined(self.V, q), _joined(self.KV, load)
        return int(q.shape[1])

    def _orthonormal(self, q: Array, load: Array) -> tuple[Array, Array, float]:
        """K_ref-orthonormal combinations, orthogonal to V, and the least energy left of them.

        Directions with negligible energy are dropped. Solutions for residuals of a projection on V
        are orthogonal to it but for round-off.
        """
        gram, h = q.T @ load, self.V.T @ load
        energy = gram.diagonal()
        unit = 1.0 / np.sqrt(np.where(energy > np.finfo(float).tiny, energy, np.inf))
        gram, h = unit[:, None] * gram * unit, h * unit
        sizes, U = np.linalg.eigh(0.5 * (gram + gram.T) - h.T @ h)
        keep = sizes > HALF
        U = U[:, keep] / np.sqrt(sizes[keep])
        h, U, least = h @ U, unit[:, None] * U, float(sizes[keep].min(initial=1.0))
        q, load = lift(q, U), lift(load, U)
        if np.abs(h).max(initial=0.0) > ZERO:
            q, load = q - lift(self.V, h), load - lift(self.KV, h)
        return q, load, least

    def verify(self) -> bool:
        """Whether the stored K_ref q of the shapes since the last call is accurate.

        Where it is not, these shapes are recomputed.
        """
        a = self._verified
        drifted = a < self.m and self._drifted(self.V[:, a:], self.KV[:, a:])
        if drifted:
            q = self.V[:, a:]
            self.cut(a)
            self.add(q, self.reference.apply(q))
        self._verified = self.m
        return not drifted

    def restarted(self, first: int, *found: Complex) -> list[Complex]:
        """The vectors Y (m, k) in a basis of the first shapes and what V Y hold of the others.

        One after the other, so that what is large in shapes of next to no stiffness, the first
        modes, does not take the digits of others.
        """
        Q = np.eye(self.m, first)
        for y in (y for pair in zip(*(Y.T for Y in found), strict=True) for y in pair):
            for part in (y.real, y.imag):
                rest = part / np.linalg.norm(y)
                for _ in range(2):
                    rest = rest - Q @ (Q.T @ rest)
                size = np.linalg.norm(rest)
                if size > ZERO:
                    Q = np.column_stack([Q, rest / size])
        self._images = {name: lift(self.image(name), Q) for name in self._images}
        self._projected = {name: Q.T @ A @ Q for name, A in self._projected.items()}
        self.V, self.KV, self._verified = lift(self.V, Q), lift(self.KV, Q), first
        return [Q.T @ Y for Y in found]

    def cut(self, m: int) -> None:
        """Keep the first m shapes."""
        self.V, self.KV = self.V[:, :m], self.KV[:, :m]
        self._images = {name: image[:, :m] for name, image in self._images.items()}
        self._projected = {name: A[:m, :m] for name, A in self._projected.items()}
        self._verified = min(self._verified, m)

    def _drifted(self, q: Array, load: Array) -> bool:
        """Whether the stored K_ref q has become inaccurate, tested on one random combination."""
        w = np.random.default_rng(self.m).standard_normal(q.shape[1])
        combined, expected = q @ w, load @ w
        error = np.linalg.norm(self.reference.apply(combined[:, None])[:, 0] - expected)
        noise = ROUND_OFF * self.quadratic.norms[2] * np.linalg.norm(combined)
        return bool(error > max(ZERO * np.linalg.norm(expected), noise))

    def shapes(self, Y: Complex) -> Complex:
        """V Y, (n, k)."""
        return from_parts(lift(self.V, in_parts(Y)))

    def residual(self, lam: Complex, Y: Complex, transposed: Mask) -> tuple[Array, Array, Array]:
        """Q(λ)x of x = V Y, or Q(λ)ᵀx, in parts (n, 2k); ‖Sx‖ and ‖x‖, (k,)."""
        wide = in_parts(Y)
        shapes = lift(self.V, wide)
        total = lift(self.KV, wide) - self.reference.added(shapes)
        elastic = lengths(total)
        for name, operator in self.operators.items():
            total += lift(self.image(name), in_parts(Y * operator.weight(lam, transposed)))
            elastic = lengths(total) if name == "softening" else elastic
        return total, elastic, lengths(shapes)


def lift(V: Array, coordinates: Array) -> Array:
    """V × coordinates, (n, p) by columns as V is: BLAS takes twice as long to store rows."""
    return np.asarray((coordinates.T @ V.T).T)


def lengths(parts: Array) -> Array:
    """Norms of complex columns given as `in_parts`."""
    squares = np.einsum("ij,ij->j", parts, parts)
    k = len(squares) // 2
    return np.asarray(np.sqrt(squares[:k] + squares[k:]))


def _joined(known: Array, new: Array) -> Array:
    """The columns of both, stored by columns."""
    whole = np.empty((len(known), known.shape[1] + new.shape[1]), order="F")
    return np.concatenate([known, new], axis=1, out=whole)
