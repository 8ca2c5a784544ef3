"""Arrays with their first two time derivatives: every rate of a constraint comes from its own
formula.

A jet carries (f, ḟ, f̈) and products follow Leibniz, so the rates of a constraint's Jacobian are
analytic to round-off and are written nowhere twice. A jet of f alone passes through the same
formulas: that is how positions are found. Arrays may have leading axes, of instants.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assembly.types import Array, Index


@dataclass(frozen=True)
class Jet:
    """A time-dependent array: `data[0]`, `data[1]`, `data[2]` are f, ḟ, f̈.

    `data` (1, ...) is f without its rates; the jets of one formula have them all or have none.
    """

    data: Array

    @classmethod
    def constant(cls, value: ArrayLike) -> Jet:
        value = np.asarray(value, dtype=float)
        return cls(np.stack([value, np.zeros_like(value), np.zeros_like(value)]))

    @property
    def value(self) -> Array:
        return np.asarray(self.data[0])

    @property
    def rate(self) -> Array:
        return np.asarray(self.data[1])

    @property
    def second(self) -> Array:
        return np.asarray(self.data[2])

    @property
    def transposed(self) -> Jet:
        """Of jets of matrices."""
        return Jet(self.data.swapaxes(-1, -2))

    def __add__(self, other: Jet) -> Jet:
        return Jet(self.data + other.data)

    def __sub__(self, other: Jet) -> Jet:
        return Jet(self.data - other.data)

    def __neg__(self) -> Jet:
        return Jet(-self.data)

    def along(self, index: Index, axis: int) -> Jet:
        """The jet of the arrays indexed along an axis, counted from the last one."""
        return Jet(self.data.take(index, axis=axis))


def dot(a: Jet, b: Jet) -> Jet:
    """a·b of jets of vectors (..., 3)."""
    return _leibniz((a.data[:, None] * b.data).sum(axis=-1))


def matrix_vector(A: Jet, v: Jet) -> Jet:
    """A v of jets of matrices (..., i, k) and vectors (..., k)."""
    return _leibniz((A.data[:, None] @ v.data[..., None])[..., 0])


def matrix_product(a: Jet, b: Jet) -> Jet:
    """AB of jets of small matrices (..., i, k), (..., k, j)."""
    return _leibniz(a.data[:, None] @ b.data)


def _leibniz(terms: Array) -> Jet:
    """The jet of a product from the products of all pairs of derivatives, (3, 3, ...) or (1, 1,
    ...)."""
    out = terms[0].copy()
    if len(terms) == 1:
        return Jet(out)
    out[1] += terms[1, 0]
    out[2] += 2.0 * terms[1, 1] + terms[2, 0]
    return Jet(out)


def cross(a: Jet, b: Jet) -> Jet:
    """a × b of jets of vectors (..., 3)."""
    return matrix_vector(Jet(skews(a.data)), b)


def skews(w: Array) -> Array:
    """The matrices w̃ (..., 3, 3) of vectors (..., 3)."""
    out = np.zeros((*w.shape, 3))
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -w[..., 2], w[..., 1], -w[..., 0]
    out[..., 1, 0], out[..., 2, 0], out[..., 2, 1] = w[..., 2], -w[..., 1], w[..., 0]
    return out


def rotation_jet(R: Array, omega: Array, epsilon: Array) -> Jet:
    """R, Ṙ = Rω̃, R̈ = R(ω̃ω̃ + ε̃) for rotations (..., 3, 3) and body-axes ω, ε (..., 3)."""
    spin = skews(omega)
    return Jet(np.stack([R, R @ spin, R @ (spin @ spin + skews(epsilon))]))
