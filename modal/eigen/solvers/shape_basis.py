"""A growing basis of displacement shapes, orthonormal in a symmetric stiffness, with projections.

The stiffness is that of the one factorization, K_ref = ½(K + Kᵀ). A new shape is q = K_ref⁻¹ ×
load, so K_ref q is known without a product and is stored with the shape.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from assembly.linalg.factorization import Factorization
from modal.eigen.quadratic import Quadratic, from_parts, in_parts
from modal.types import Array, Complex

DRIFT = 1e-11  # relative error of K_ref q above which the product is recomputed
TWICE = 1e-4  # overlap with V beyond which one pass of orthogonalisation is not enough
DEPENDENT = (
    1e-8  # energy of a combination of unit shapes that counts as none: its K q − load is noise
)


class SymmetricStiffness:
    """K_ref = ½(K + Kᵀ), factorized by Cholesky. `solves` counts right-hand sides.

    Raises SingularSystemError when it is not positive definite. Owns its factor: call `destroy()`.
    """

    def __init__(self, quadratic: Quadratic) -> None:
        self.solves = 0
        symmetric = quadratic.stiffness_parts.symmetric
        empty = sp.csr_matrix((quadratic.n, quadratic.n))
        self.matrix = empty if symmetric is None else symmetric.matrix
        self.factor = Factorization(self.matrix, "spd")

    def solve(self, load: Array) -> Array:
        """K_ref⁻¹ load, (n, p)."""
        self.solves += load.shape[1]
        return np.asarray(self.factor.solve(load))

    def destroy(self) -> None:
        self.factor.destroy()


class ShapeBasis:
    """K_ref-orthonormal V (n, m) with K_ref V, and the projections of M, C and K."""

    def __init__(self, quadratic: Quadratic, reference: SymmetricStiffness, room: int) -> None:
        self.quadratic, self.reference, self.m = quadratic, reference, 0
        self._present, self.shared = _operators(quadratic)
        self._projected = {name: np.zeros((room, room)) for name in self._present}
        names = ("shapes", "stiffness", *self._present)
        self._stored = {name: np.empty((quadratic.n, room), order="F") for name in names}

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

    def projected(self) -> tuple[Array, Array, Array]:
        """VᵀMV, VᵀCV and VᵀKV, (m, m)."""
        m = self.m
        parts = {name: A[:m, :m] for name, A in self._projected.items()}
        parts["stiffness"], zero = np.eye(m), np.zeros((m, m))
        parts |= {name: self._sum(name, parts, zero) for name in self.shared}
        C = parts.get("damping", zero) + parts.get("gyroscopic", zero)
        return parts["mass"], C, parts["stiffness"] + parts.get("circulatory", zero)

    def _sum(self, name: str, parts: dict[str, Array], zero: Array) -> Array:
        """An operator from its own part and the share of another."""
        factor, other = self.shared[name]
        return np.asarray(parts.get(name, zero) + factor * parts.get(other, zero))

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
        q, load = self._against(*_orthonormal(*_unit(q, load)))
        if self._drifted(q, load):
            q, load = self._against(q, self.reference.matrix @ q)
        a, b = self.m, self.m + q.shape[1]
        self._grow(b - a)
        self._stored["shapes"][:, a:b], self._stored["stiffness"][:, a:b] = q, load
        V, q = self._stored["shapes"][:, :b], np.ascontiguousarray(q)
        for name, (A, sign) in self._present.items():
            image = self._stored[name][:, a:b]
            image[:] = A @ q
            block = V.T @ image
            block[a:] = 0.5 * (block[a:] + sign * block[a:].T)
            self._projected[name][:b, a:b] = block
            self._projected[name][a:b, :a] = sign * block[:a].T
        self.m = b
        return b - a

    def _against(self, q: Array, load: Array) -> tuple[Array, Array]:
        """Made K_ref-orthogonal to V, and K_ref-orthonormal."""
        for _ in range(2):
            h = self.V.T @ load
            q, load = _orthonormal(q - self.V @ h, load - self.KV @ h)
            if np.abs(h).max(initial=0.0) < TWICE:  # residuals are orthogonal to V already
                break
        return q, load

    def _drifted(self, q: Array, load: Array) -> bool:
        """Whether the stored K_ref q has become inaccurate, tested on one random combination."""
        w = np.random.default_rng(self.m).standard_normal(q.shape[1])
        expected = load @ w
        error = np.linalg.norm(self.reference.matrix @ (q @ w) - expected)
        return bool(error > DRIFT * np.linalg.norm(expected))

    def coordinates(self, shapes: Array) -> Array:
        """Vᵀ K_ref q, (m, p): of shapes in the span of V."""
        return np.asarray(self.KV.T @ shapes)

    def shapes(self, Y: Complex) -> Complex:
        """V Y, (n, k)."""
        return from_parts(self.V @ in_parts(Y))

    def residual(self, lam: Complex, Y: Complex, transposed: bool) -> tuple[Array, Array, Array]:
        """Q(λ)x of x = V Y, or Q(λ)ᵀx, in parts (n, 2k); ‖K_ref x‖ and ‖x‖, (k,)."""
        powers = {"stiffness": np.ones_like(lam), "mass": lam**2, "damping": lam}
        powers |= {"gyroscopic": lam, "circulatory": np.ones_like(lam)}
        if transposed:
            powers |= {"gyroscopic": -lam, "circulatory": -np.ones_like(lam)}
        elastic = self.image("stiffness", Y)
        for name, (factor, other) in self.shared.items():
            powers[other] = powers[other] + factor * powers[name]
        residual = in_parts(from_parts(elastic) * powers["stiffness"])
        for name in self._present:
            residual += self.image(name, Y * powers[name])
        return residual, lengths(elastic), lengths(self.V @ in_parts(Y))

    def image(self, name: str, Y: Complex) -> Array:
        """A V Y in parts, (n, 2k), of one of the operators."""
        return np.asarray(self._stored[name][:, : self.m] @ in_parts(Y))

    def inertia(self, a: Array, b: Array) -> Array:
        """C V a + M V b, (n, p), of real coordinates."""
        load = self._stored["mass"][:, : self.m] @ b
        for name in ("damping", "gyroscopic"):
            if name in self._present:
                load += self._stored[name][:, : self.m] @ a
            factor, other = self.shared.get(name, (0.0, ""))
            if factor:
                load += self._stored[other][:, : self.m] @ (factor * a)
        return np.asarray(load)


def _operators(
    quadratic: Quadratic,
) -> tuple[dict[str, tuple[sp.csr_matrix, int]], dict[str, tuple[float, str]]]:
    """The matrices that are applied to shapes, with their symmetry, and the shares of others.

    An operator is its matrix, if it has one, plus a factor times another operator, if it has one:
    proportional damping has the images of the stiffness and the mass, and the circulatory matrix
    of an acceleration along the angular velocity that of the Coriolis matrix.
    """
    damping, stiffness = quadratic.damping_parts, quadratic.stiffness_parts
    candidates = (
        ("damping", damping.symmetric, 1, "stiffness", stiffness.symmetric),
        ("gyroscopic", damping.skew, -1, "", None),
        ("circulatory", stiffness.skew, -1, "gyroscopic", damping.skew),
    )
    matrices, shared = {"mass": (quadratic.M, 1)}, {}
    for name, part, sign, other_name, other in candidates:
        rest = part
        if part is not None and other is not None:
            factor, rest = part.without_multiple(other)
            if factor:
                shared[name] = (factor, other_name)
        if rest is not None and rest.matrix.nnz:
            matrices[name] = (rest.matrix, sign)
    return matrices, shared


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


def _orthonormal(q: Array, load: Array) -> tuple[Array, Array]:
    """Orthonormal combinations of unit shapes; directions with negligible energy are dropped."""
    gram = q.T @ load
    sizes, U = la.eigh(0.5 * (gram + gram.T))
    keep = sizes > DEPENDENT
    U = U[:, keep] / np.sqrt(sizes[keep])
    return q @ U, load @ U
