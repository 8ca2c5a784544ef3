"""The modes of one instant, scaled for comparison with those of another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from modal.data.growth import grows, growth_floor
from modal.eigen import spectrum
from modal.eigen.tolerances import GROUP, HALF
from modal.tracking.variation import Variation, adjoint, diagonal, transposed
from modal.tracking.whirl import WhirlForms
from modal.types import Array, Complex, Index, Mask

Matrix: TypeAlias = NDArray[np.float64] | sp.spmatrix


class ModesLike(Protocol):
    """The attributes of `modal.Modes` that tracking reads."""

    @property
    def eigenvalues(self) -> Complex: ...
    @property
    def right(self) -> Complex: ...
    @property
    def left(self) -> Complex: ...
    @property
    def backward_error(self) -> Array: ...
    @property
    def condition_number(self) -> Array: ...
    @property
    def kind(self) -> NDArray[np.str_]: ...


@dataclass(frozen=True)
class Snapshot:
    """The modes of one instant, scaled for comparison with those of another.

    at: time (s) or parameter. eigenvalues (K,) rad/s, Im ≥ 0. right (n, K): q with qᴴMq = 1. left
    (n, K): u, scaled so that yᴴBx = 1. dual (n, 2K): Mᵀu and (C + D)ᵀu. inertia (n, K): Mq of the
    defective modes, zero elsewhere, or None. mass_gram, energy_gram (K, K): q_iᴴMq_j and λ̄_iλ_j
    q_iᴴMq_j + q_iᴴ sym(K) q_j, whose diagonal is twice the energy. whirling: forms of the whirl
    number, or None. variation: change with the swept value, or None. stack: the instants among
    which this one is, and its place there, or None.

    Of a stack of P instants with as many modes each, every array has one more axis, the first.
    """

    at: Any
    eigenvalues: Complex
    right: Complex
    left: Complex
    dual: Complex
    defective: Mask
    inertia: Complex | None
    mass_gram: Complex
    energy_gram: Complex
    backward_error: Array
    condition_number: Array
    kind: NDArray[np.str_]
    whirling: WhirlForms | None = None
    variation: Variation | None = None
    stack: tuple[Snapshot, int] | None = None

    @property
    def size(self) -> int:
        """Number of modes K."""
        return self.eigenvalues.shape[-1]

    def taken(self, index: int | slice, stack: tuple[Snapshot, int] | None = None) -> Snapshot:
        """One instant of a stack, or some."""
        fields: Any = (getattr(self, name) for name in self.__match_args__[:-1])
        parts: Any = [
            x[index] if isinstance(x, np.ndarray) else x and x.taken(index) for x in fields
        ]
        return Snapshot(*[*parts, stack])

    def instants(self) -> list[Snapshot]:
        """Those of a stack."""
        return [self.taken(n, (self, n)) for n in range(len(self.at))]

    @cached_property
    def frequency(self) -> Array:
        """By which modes are ordered, rad/s: |λ|, of overdamped ones that of the shape, (K,)."""
        strain = diagonal(self.energy_gram).real - np.abs(self.eigenvalues) ** 2
        return spectrum.sizes(self.eigenvalues, strain, np.ones_like(strain))

    @cached_property
    def near(self) -> Mask:
        """Which modes of a stack are in clusters, (P, K, K) by pair."""
        lam = self.eigenvalues
        near = np.abs(lam[:, :, None] - lam[:, None, :]) <= HALF * np.abs(lam)[:, :, None]
        return np.asarray(near & ~np.eye(self.size, dtype=bool))

    @cached_property
    def clusters(self) -> list[Index]:
        """Groups of two or more eigenvalues closer than HALF |λ|."""
        if self.stack is not None and not self.stack[0].near[self.stack[1]].any():
            return []
        groups = spectrum.clusters(self.eigenvalues, HALF)
        return [np.array(group) for group in groups if len(group) > 1]

    @cached_property
    def steady(self) -> tuple[Complex, Array]:
        """Eigenvalues that decide on stability, and their error, rad/s."""
        size, v = np.abs(self.eigenvalues), self.variation
        with np.errstate(invalid="ignore"):  # a defective value: infinite × 0
            bound = self.condition_number * self.backward_error * size
        error: Array = np.where(self.backward_error > 0.0, bound, 0.0)
        if v is None:
            return self.eigenvalues, error
        return v.steady, error + np.nan_to_num(v.stencil_error)

    @cached_property
    def regimes(self) -> Mask:
        """Whether each mode oscillates, and whether it grows, (2, K)."""
        lam, error = self.steady
        return np.stack([np.abs(lam.imag) > growth_floor(lam), grows(lam, error)])

    @cached_property
    def growing(self) -> Mask:
        """The modes that grow, but for what the frame prescribes, (K,)."""
        return np.asarray(self.regimes[1] & (self.kind != "prescribed"))

    def mode(self, i: int) -> Snapshot:
        """The same instant with one of its modes only, for the overlap with others."""
        K, only = self.size, slice(i, i + 1)
        rows = ("eigenvalues", "defective", "backward_error", "condition_number", "kind")
        return replace(
            self,
            **{name: getattr(self, name)[only] for name in rows},
            **{name: getattr(self, name)[only, only] for name in ("mass_gram", "energy_gram")},
            **{name: getattr(self, name)[:, only].copy() for name in ("right", "left")},
            dual=self.dual[:, [i, K + i]],
            inertia=None if self.inertia is None else self.inertia[:, only].copy(),
            whirling=None,
            variation=None,
            stack=None,
        )

    def carried(self, embedding: Array, M: Array, C: Array) -> Snapshot:
        """The same modes in the coordinates of a larger basis.

        embedding (m, n): the vectors of the old basis in the new one. M, C (m, m): mass and
        velocity matrix of the instant in the new basis.
        """
        right, left = embedding @ self.right, embedding @ self.left
        dual = np.concatenate([M.T @ left, C.T @ left], axis=1)
        inertia = None if self.inertia is None else np.where(self.defective, M @ right, 0.0)
        return replace(self, right=right, left=left, dual=dual, inertia=inertia, stack=None)

    @classmethod
    def of(
        cls, at: Any, M: Matrix, C: Matrix, pairs: tuple[Complex, Complex, Complex],
        backward_error: Array, condition_number: Array, kind: NDArray[np.str_],
    ) -> Snapshot:  # fmt: skip
        """From mass M and velocity matrix C + D (n, n) and the modes of the instant: pairs
        (eigenvalues, right and left vectors of any scaling)."""
        lam, Q, U = (np.asarray(part, dtype=complex) for part in pairs)
        MQ, CQ, MU, CU = M @ Q, C @ Q, transposed(M) @ U, transposed(C) @ U
        square = np.abs((Q.conj() * MQ).sum(axis=-2, keepdims=True))
        size = np.sqrt(np.where(square > 0.0, square, 1.0))
        Q, MQ, CQ = Q / size, MQ / size, CQ / size
        pairing = 2.0 * lam * (MU.conj() * Q).sum(axis=-2) + (CU.conj() * Q).sum(axis=-2)
        bulk = 2.0 * np.abs(lam) * np.linalg.norm(MU, axis=-2) + np.linalg.norm(CU, axis=-2)
        # A defective eigenvalue (rigid chains): its vectors cannot be normalised.
        defective = np.abs(pairing) <= GROUP * bulk * np.linalg.norm(Q, axis=-2)
        scale = np.where(defective, 1.0, pairing.conj())[..., None, :]
        # Kq = −(λ²M + λ(C + D))q, so the energy needs no product with the stiffness.
        mass_gram: Complex = adjoint(Q) @ MQ
        row = lam[..., None, :]
        strain = -(mass_gram * row**2 + (adjoint(Q) @ CQ) * row)
        return cls(
            at=at,
            eigenvalues=lam,
            right=np.ascontiguousarray(Q),
            left=np.ascontiguousarray(U / scale),
            dual=np.concatenate([MU / scale, CU / scale], axis=-1),
            defective=defective,
            inertia=np.where(defective[..., None, :], MQ, 0.0) if defective.any() else None,
            mass_gram=mass_gram,
            energy_gram=lam.conj()[..., None] * row * mass_gram + 0.5 * (strain + adjoint(strain)),
            backward_error=np.asarray(backward_error, dtype=float),
            condition_number=np.asarray(condition_number, dtype=float),
            kind=np.asarray(kind).astype(str),
        )
