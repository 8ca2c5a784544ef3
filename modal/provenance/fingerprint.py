"""Fingerprints: numbers by which the matrices of two models are distinguished.

A matrix A is represented by yᵀ(SAS)x for seeded random vectors x, y of entries ±1. The diagonal S
scales the mass, damping and stiffness of the first point to entries of order one, so that a soft
spring on a stiff solid counts. A fingerprint has rows (value, size). Two fingerprints agree where
every pair of values differs by at most EQUAL × size. This allows for the round-off of other
machines and BLAS libraries.

Two models whose fingerprints of a matrix agree differ in it by less than about EQUAL of its
scaled Frobenius norm, except by a coincidence of random numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from assembly.magnitudes import EQUAL
from assembly.system.frozen import DAMPING_PARTS, PARTS, STIFFNESS_PARTS, FrozenSystem
from modal.eigen.tolerances import WEAK
from modal.reduction.affine import ROLES, AffineFamily, Coefficients, Point
from modal.types import Array

Slices = tuple[slice, ...]

TIMES = 8  # values at which a model that is solved value by value, or a motion, is sampled
GROUPS = {"M": 0} | dict.fromkeys(DAMPING_PARTS, 1) | dict.fromkeys(STIFFNESS_PARTS, 2)


def agree(one: Array, other: Array) -> bool:
    """Whether two fingerprints are of the same matrices, to EQUAL."""
    if one.shape != other.shape:
        return False
    allowed = EQUAL * np.maximum(one[..., 1], other[..., 1])
    return bool(np.all(np.abs(one[..., 0] - other[..., 0]) <= allowed))


def vector_rows(values: Array) -> Array:
    """Rows (2, 2) of a vector: its products with two seeded random ones, and its length."""
    signs = np.random.default_rng(29).choice([-1.0, 1.0], (2, len(values)))
    return np.column_stack([signs @ values, np.full(2, np.linalg.norm(values))])


def summed(rows: Array) -> Array:
    """One fingerprint (N, 2) of several (P, N, 2): values with seeded random weights, sizes as a
    root mean square.
    """
    rng = np.random.default_rng(31)
    weights = rng.uniform(0.5, 1.5, len(rows)) * rng.choice([-1.0, 1.0], len(rows))
    values = np.tensordot(weights, rows[..., 0], axes=1)
    return np.stack([values, np.sqrt((rows[..., 1] ** 2).sum(axis=0))], axis=-1)


class Probe:
    """The random vectors and scales for systems of n degrees of freedom.

    first: the system whose diagonals of M and K give the scales.
    """

    def __init__(self, first: FrozenSystem) -> None:
        self.n = first.n
        mass, stiffness = (np.abs(first.parts[name].tocsr().diagonal()) for name in ("M", "K"))
        mass = _filled(mass, np.ones(self.n))
        stiffness = _filled(stiffness, mass)
        self.scales = (mass**-0.5, (mass * stiffness) ** -0.25, stiffness**-0.5)
        signs = np.random.default_rng(29).choice([-1.0, 1.0], (3, self.n))
        self.x, self.y = signs[0], signs[1:]

    def matrix(self, operator: Any, group: int) -> Array:
        """Rows (2, 2) of an operator that acts as mass (0), damping (1) or stiffness (2)."""
        scale = self.scales[group]
        image = scale * np.asarray(operator @ (scale * self.x)[:, None])[:, 0]
        return np.column_stack([self.y @ image, np.full(2, np.linalg.norm(image))])

    def rigid(self, fields: Array) -> Array:
        """The row (1, 2) of the space that the rigid fields span."""
        share = np.linalg.norm(la.qr(fields, mode="economic")[0].T @ self.x) if fields.size else 0.0
        return np.array([[share / np.sqrt(self.n), 1.0]])

    def system(self, system: FrozenSystem) -> Array:
        """Rows (·, 2) of a frozen system: its size, its rigid fields, and every part."""
        if system.n != self.n:
            return Probe(system).system(system)
        rows = np.array([self.matrix(system.parts[name], GROUPS[name]) for name in PARTS])
        total = np.zeros(3)
        np.maximum.at(total, [GROUPS[name] for name in PARTS], rows[:, 0, 1])
        total[1] = max(total[1], float(np.sqrt(total[0] * total[2])))
        rows[:, :, 1] += WEAK * total[[GROUPS[name] for name in PARTS]][:, None]
        head = np.array([[self.n, 1.0]])
        return np.vstack([head, self.rigid(system.rigid), rows.reshape(-1, 2)])


class FamilyPrints:
    """Fingerprints of a map from an affine family: each operator, and the coefficients of points.

    first: a frozen system of the family. span: the coefficients of the points that the basis is
    made for; the operators these have are the known ones. coefficients: those of a tile, with the
    family that has all of the tile's operators.
    """

    def __init__(
        self,
        family: AffineFamily,
        first: FrozenSystem,
        span: Coefficients,
        coefficients: Callable[[Slices], tuple[AffineFamily, Coefficients]],
    ) -> None:
        self.coefficients = coefficients
        self.probe = Probe(first)
        tables = _tables(span)
        self.known = tables.shape[-1]
        self.largest = np.abs(tables).max(axis=0)
        operators = np.zeros((len(ROLES), self.known, 2, 2))
        for group, j in np.argwhere(self.largest > 0.0):
            operators[group, j] = self.probe.matrix(family.terms[j].operator, int(group))
        head = np.array([[first.n, 1.0]])
        rigid, operators = self.probe.rigid(family.rigid), operators.reshape(-1, 2)
        self.model = np.vstack([head, rigid, operators, self._known(tables)])

    def tile(self, tile: Slices) -> Array:
        """The fingerprint (rows, 2) of the points of a tile together."""
        family, at = self.coefficients(tile)
        tables = _tables(at)
        others = np.zeros((len(tables), len(ROLES), 2, 2))  # of operators that are not known ones
        for group, j in np.argwhere(tables[:, :, self.known :].any(axis=0)):
            rows = self.probe.matrix(family.terms[self.known + j].operator, int(group))
            c = tables[:, group, self.known + j, None]
            others[:, group, :, 0] += c * rows[:, 0]
            others[:, group, :, 1] += np.abs(c) * rows[:, 1]
        others = others.reshape(len(tables), -1, 2)
        return np.vstack([self._known(tables[:, :, : self.known]), summed(others)])

    def _known(self, tables: Array) -> Array:
        size = np.abs(tables) + WEAK * self.largest
        return summed(np.stack([tables, size], axis=-1).reshape(len(tables), -1, 2))


class PointPrints:
    """Fingerprints of a map that is solved point by point.

    points: those of a tile. drawn: points that represent the model as a whole. of: the fingerprint
    (rows, 2) of one point.
    """

    def __init__(
        self,
        points: Callable[[Slices], Sequence[Point]],
        drawn: Sequence[Point],
        of: Callable[[Point], Array],
    ) -> None:
        self.points, self.of = points, of
        self.model = np.vstack([of(point) for point in drawn])

    def tile(self, tile: Slices) -> Array:
        """The fingerprint (rows, 2) of the points of a tile together."""
        return summed(np.array([self.of(point) for point in self.points(tile)]))


class MotionProbe:
    """Fingerprints of motions by the matrices of a few instants: frozen systems, or A of x' = A x.

    The first instant gives the scales of all.
    """

    def __init__(self) -> None:
        self._probe: Probe | None = None
        self._balance: Array | None = None

    def of(self, instants: Sequence[FrozenSystem | Array], length: float) -> Array:
        """Rows of the length of the motion, s, and of the instants together."""
        samples = [
            self._system(one) if isinstance(one, FrozenSystem) else self._matrix(one)
            for one in instants
        ]
        return np.vstack([[[length, abs(length)]], summed(np.array(samples))])

    def _system(self, system: FrozenSystem) -> Array:
        self._probe = self._probe or Probe(system)
        return self._probe.system(system)

    def _matrix(self, A: NDArray[Any]) -> Array:
        """Rows of the dense matrix of a first-order system, scaled by balancing the first one."""
        n = len(A)
        if self._balance is None or len(self._balance) != n:
            scaling = la.matrix_balance(np.abs(A), permute=False, separate=True)[1][0]
            self._balance = np.asarray(scaling, dtype=float)
        x, *y = np.random.default_rng(29).choice([-1.0, 1.0], (3, n))
        image = (A @ (self._balance * x)) / self._balance
        products = [part for s in y for part in (np.real(s @ image), np.imag(s @ image))]
        return np.array([[n, 1.0], *([part, np.linalg.norm(image)] for part in products)])


def family_prints(
    family: AffineFamily, first: FrozenSystem, span: Coefficients, at: Coefficients, size: int
) -> Array:
    """Of an affine family at all values of a sweep, by blocks of some size, (rows, 2)."""

    def block(where: Any) -> tuple[AffineFamily, Coefficients]:
        return family, at.take(where[0])

    prints = FamilyPrints(family, first, span, block)
    starts = range(0, len(at), size)
    return np.vstack([prints.model, *(prints.tile((slice(n, n + size),)) for n in starts)])


def drawn_prints(freeze: Callable[[float], FrozenSystem], at: Array) -> Array:
    """Of the first and last value and a seeded draw of others, (rows, 2).

    Rows of a value where the model cannot be frozen are zero.
    """
    probe = Probe(freeze(float(at[0])))
    numbers = np.random.default_rng(41).permutation(len(at))[:TIMES]
    rows = []
    for value in at[np.unique([0, *numbers, len(at) - 1])].tolist():
        try:
            rows.append(probe.system(freeze(value)))
        except Exception:  # raised again, and named, when the sweep comes there
            rows.append(np.zeros_like(rows[0]))
    return np.vstack(rows)


def _tables(at: Coefficients) -> Array:
    """(P, role, J)."""
    return at.table.swapaxes(0, 1)


def _filled(values: Array, pattern: Array) -> Array:
    """Positive values everywhere: zeros are replaced by multiples of the pattern."""
    there = values > 0.0
    ratio = float(np.mean(values[there] / pattern[there])) if there.any() else 1.0
    return np.where(there, values, ratio * pattern)
