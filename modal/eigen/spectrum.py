"""Eigenpairs: their order, one of each conjugate pair, and double real ones.

Modes are ordered by |λ|, overdamped ones by the frequency of their shape. With damping b K every
mode of a mesh beyond 2/b is overdamped and has an eigenvalue next to −1/b, the highest ones nearest
to it: the k smallest |λ| are then the shapes that a mesh resolves least. The frequency
√(xᴴKx/xᴴMx) of its shape orders such a mode as without damping. Of a mode that damping does not
couple to others it is √(λ₁λ₂), so that the order is continuous where two real eigenvalues become a
pair.

A double real eigenvalue comes out as r ± iδ, δ at round-off. Of a conjugate pair one is kept, of a
double real eigenvalue both. With x = a + ib the vector of r + iδ, a and b are orthogonal after a
turn of its phase, and (A − r)a = −δb, (A − r)b = δa: r is an eigenvalue with both vectors, to a
backward error δ‖a‖/‖b‖. Where that is no round-off they are a pair; it may be about to become real,
‖b‖ → 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modal.eigen.tolerances import GROUP, HALF, ROUND_OFF
from modal.types import Array, Complex, Index, Mask


def overdamped(eigenvalues: Complex, axial: float = 0.2) -> Mask:
    """Which eigenvalues decay so fast that |λ| says little about the frequency of their shape.

    axial: largest |Im λ|/|λ| of such a mode.
    """
    size = np.abs(eigenvalues)
    return np.asarray((eigenvalues.real < 0.0) & (np.abs(eigenvalues.imag) < axial * size))


def sizes(eigenvalues: Complex, stiffness: Array, mass: Array) -> Array:
    """|λ|, of overdamped modes √(xᴴKx/xᴴMx), rad/s; stiffness, mass: these two products."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shape = np.sqrt(np.abs(stiffness) / np.abs(mass))
    return np.where(overdamped(eigenvalues), shape, np.abs(eigenvalues))


def levels(values: Array) -> Array:
    """Places of values (k,) in ascending order, those equal to half of the digits the same."""
    order = np.argsort(values, kind="stable")
    with np.errstate(invalid="ignore"):
        steps = np.diff(values[order]) > HALF * values[order][1:]
    level = np.empty(len(order), dtype=int)
    level[order] = np.concatenate([[0], np.cumsum(steps)])[: len(order)]
    return level


def rotated(x: NDArray[np.inexact[Any]]) -> Complex:
    """Vectors (..., n, k) whose real and imaginary parts are orthogonal, the real one longer."""
    return np.asarray(x * np.exp(-0.5j * np.angle((x**2).sum(axis=-2, keepdims=True))))


def unevenness(x: Complex) -> Array:
    """‖a‖/‖b‖ (..., k) of vectors a + ib from `rotated`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.linalg.norm(x.real, axis=-2) / np.linalg.norm(x.imag, axis=-2))


def separated(
    lam: NDArray[Any], right: NDArray[Any], left: NDArray[Any], size: float | Array
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """The eigenpairs of real matrices with r twice in place of a double r ± iδ.

    Parameters
    ----------
    lam : ndarray, shape (..., k)
        Eigenvalues as LAPACK orders them, of a pair the one with Im λ > 0 first.
    right, left : ndarray, shape (..., n, k)
        Their vectors, left ones with yᴴA = λyᴴ.
    size : float or ndarray, shape (...)
        Norms of the matrices.

    Returns
    -------
    lam, right, left : ndarray
        The same where nothing is double.
    """
    if not np.iscomplexobj(lam):
        return lam, right, left
    near = (lam.imag > 0.0) & (lam.imag <= HALF * np.abs(lam))
    near[..., :-1] &= lam[..., 1:] == lam[..., :-1].conj()
    near[..., -1:] = False
    if not near.any():
        return lam, right, left
    pairs = np.nonzero(near)
    X, Y = (vectors.swapaxes(-1, -2)[pairs].T for vectors in (right, left))
    phase = np.exp(-0.5j * np.angle((X**2).sum(axis=0)))
    X, Y = X * phase, Y * phase
    with np.errstate(divide="ignore", invalid="ignore"):
        condition = np.linalg.norm(X, axis=0) * np.linalg.norm(Y, axis=0)
        condition = condition / np.abs((Y.conj() * X).sum(axis=0))
    allowed = ROUND_OFF * condition * np.broadcast_to(np.asarray(size)[..., None], lam.shape)[pairs]
    uneven = np.minimum(unevenness(X), 2.0 / GROUP)
    double = (uneven <= 1.0 / GROUP) & (lam.imag[pairs] * uneven <= allowed)
    first = tuple(index[double] for index in pairs)
    second = (*first[:-1], first[-1] + 1)
    lam, out = lam.copy(), []
    lam[first] = lam[second] = lam[first].real
    for vectors, whole in ((right, X[:, double]), (left, 2.0 * Y[:, double])):
        rows = vectors.swapaxes(-1, -2).copy()
        rows[first], rows[second] = whole.real.T, whole.imag.T
        out.append(rows.swapaxes(-1, -2))
    return lam, out[0], out[1]


@dataclass(frozen=True)
class Pairs:
    """Eigenpairs of one frozen system as a backend found them, all of them, best first.

    eigenvalues (k,) rad/s; right (n, k) displacement parts; factorization: the factor used
    ("Cholesky", "LDLᵀ", "LU", "none"); method: the algorithm; solves: systems with the stiffness
    solved; left (n, k): left vectors y, yᴴQ(λ) = 0, where the backend has them; accuracy: the
    backward error that the algorithm stops at, where that is not round-off.
    """

    eigenvalues: Complex
    right: Complex
    factorization: str
    method: str
    solves: int = 0
    left: Complex | None = None
    accuracy: float = 0.0

    @property
    def total(self) -> int:
        """Number of eigenvalues with the conjugates of those above the real axis."""
        return len(self.eigenvalues) + int((self.eigenvalues.imag > 0.0).sum())

    def take(self, index: NDArray[Any]) -> Pairs:
        """Those numbered, in that order; the same object when that is all of them as they are."""
        if index.dtype != bool and np.array_equal(index, np.arange(len(self.eigenvalues))):
            return self
        left = None if self.left is None else self.left[:, index]
        return replace(
            self, eigenvalues=self.eigenvalues[index], right=self.right[:, index], left=left
        )

    def upper(self) -> Pairs:
        """One of each conjugate pair, Im λ ≥ 0; real eigenvalues each once."""
        return self.take(np.flatnonzero(self.eigenvalues.imag >= 0.0))

    def doubled(self, double: Index) -> Pairs:
        """Replaces each numbered pair by two real eigenpairs: of x = a + ib, a and b."""
        index = np.sort(np.concatenate([np.arange(len(self.eigenvalues)), double]))
        second = np.diff(index, prepend=-1) == 0
        which = np.isin(index, double)
        made = self.take(index)

        def parts(X: Complex) -> Complex:
            whole = rotated(X)
            return np.where(which, np.where(second, whole.imag, whole.real), X)

        values = np.where(which, made.eigenvalues.real, made.eigenvalues)
        left = None if made.left is None else parts(made.left)
        return replace(made, eigenvalues=values, right=parts(made.right), left=left)

    def nearest(self, target: complex) -> Pairs:
        """Sorted by distance to the target."""
        return self.ascending(np.abs(self.eigenvalues - target))

    def ascending(self, sizes: Array) -> Pairs:
        """Sorted by sizes (k,); those equal to 1e-8 by |λ|, Re λ, then Im λ."""
        lam = self.eigenvalues
        return self.take(np.lexsort((lam.imag, lam.real, levels(np.abs(lam)), levels(sizes))))


def clusters(eigenvalues: Complex, distance: float = GROUP) -> list[list[int]]:
    """Groups of indices whose eigenvalues chain together within a relative distance."""
    order = np.argsort(np.abs(eigenvalues), kind="stable")
    sizes, groups = np.abs(eigenvalues)[order], list[list[int]]()
    # Eigenvalues that are near have sizes that are.
    cuts = np.flatnonzero(np.diff(sizes) > distance * sizes[1:]) + 1
    for start, end in pairwise([0, *cuts.tolist(), len(order)]):
        block = np.sort(order[start:end])
        if len(block) < 2:
            groups += [block.tolist()] * len(block)
            continue
        lam = eigenvalues[block]
        near = np.abs(lam[:, None] - lam) <= distance * np.abs(lam)[:, None]
        near = near | near.T | np.eye(len(lam), dtype=bool)
        label, first = np.arange(len(lam)), near.argmax(axis=1)
        while np.any(first < label):  # each takes the first of those near it, and theirs
            label = first[first]
            first = np.where(near, label, len(lam)).min(axis=1)
        groups += [block[label == i].tolist() for i in np.unique(label)]
    return sorted(groups)
