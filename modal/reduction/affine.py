"""A model as an affine family: fixed operators and, for every point of a sweep, their coefficients.

    M(p) = Σ_j m_j(p) A_j,   C(p) + D(p) = Σ_j c_j(p) A_j,   K_total(p) = Σ_j k_j(p) A_j

The A_j are recognised by identity: a `Combination` of one body holds the same Python objects at
every instant, because nothing is reassembled along a motion (docs/theory.md, "One body in a moving
frame"). One G_i serves both the Coriolis and the Euler terms. A sparse matrix that a model forms
anew at each instant, a damper of its own say, is recognised by its entries.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from assembly.bodies.body import Body
from assembly.bodies.rotors import Rotor
from assembly.dofs import DofMap
from assembly.errors import InputError
from assembly.kinematics import Kinematics, as_vector, unit_coefficients
from assembly.linalg.combination import Combination, Kronecker, transpose_of, within_range
from assembly.linalg.symmetric import Symmetric, symmetry_of, upper_triangle
from assembly.motion.moving import MovingBody
from assembly.system.frozen import DAMPING_PARTS, STIFFNESS_PARTS, FrozenSystem
from modal.eigen.prescribed import frame_rate
from modal.eigen.tolerances import HALF
from modal.types import Array, Mask

Point = Mapping[str, Any]
Freeze = Callable[[Point], FrozenSystem]
Terms = Mapping[str, Sequence[tuple[Sequence[float], Any]]]
TermsOf = Callable[[Sequence[Point]], tuple[Terms, Array]]

ROLES: tuple[tuple[str, ...], ...] = (("M",), DAMPING_PARTS, STIFFNESS_PARTS)


class Term:
    """One fixed operator A_j: products with A and Aᵀ; symmetry +1, −1, or 0 for neither."""

    def __init__(self, operator: Any) -> None:
        self.operator = operator
        self.symmetry = symmetry_of(operator)
        self._transposed: Any = None

    def apply(self, X: Array, transposed: bool = False) -> Array:
        if not transposed or self.symmetry == 1:
            return np.asarray(self.operator @ X)
        if self.symmetry == -1:
            return -np.asarray(self.operator @ X)
        if self._transposed is None:
            self._transposed = transpose_of(self.operator)
        return np.asarray(self._transposed @ X)

    def local_range(self, most: int) -> Array | None:
        """Orthonormal columns (n, r) that span the ranges of A and Aᵀ; None where more than `most`
        degrees of freedom are in them."""
        A = sp.csr_matrix(self.operator.tocsr())
        both = abs(A) + abs(A.T)
        rows = np.flatnonzero(both.sum(axis=1))
        if not 0 < len(rows) <= most:
            return None
        block = A[rows][:, rows].toarray()
        columns = la.orth(np.hstack([block, block.T]))
        out = np.zeros((A.shape[0], columns.shape[1]))
        out[rows] = columns
        return out


@dataclass(frozen=True)
class Coefficients:
    """The multipliers of every operator at P points.

    table (3, P, J): of the mass, the damping and the stiffness. rate (P,): of the frame, rad/s;
    None where it is not known.
    """

    table: Array
    rate: Array | None = None

    @property
    def mass(self) -> Array:
        """(P, J)."""
        return np.asarray(self.table[0])

    @property
    def damping(self) -> Array:
        """(P, J)."""
        return np.asarray(self.table[1])

    @property
    def stiffness(self) -> Array:
        """(P, J)."""
        return np.asarray(self.table[2])

    def __len__(self) -> int:
        return int(self.table.shape[1])

    def take(self, index: Any) -> Coefficients:
        """Some of the points."""
        return Coefficients(self.table[:, index], None if self.rate is None else self.rate[index])

    @classmethod
    def joined(cls, parts: Sequence[Coefficients]) -> Coefficients:
        """The points of several tables; their rates are not known."""
        count = max(part.table.shape[2] for part in parts)
        return cls(np.concatenate([part.padded(count).table for part in parts], axis=1))

    def padded(self, count: int) -> Coefficients:
        """With zero columns up to `count` operators: later ones do not act at earlier points."""
        missing = count - self.table.shape[2]
        if not missing:
            return self
        return Coefficients(np.pad(self.table, ((0, 0), (0, 0), (0, missing))), self.rate)


class AffineFamily:
    """The operators a model's instants share, and the coefficients of any of its points.

    freeze: a point (parameters by name) → FrozenSystem. `coefficients` may meet operators it has
    not seen (an operator whose coefficient was zero so far); they are appended to `terms`. rigid
    (n, m): the motions that are rigid at every point met so far. terms_of: points → the operators
    of every part with their multipliers at all of them, and ω (P, 3), rad/s.
    """

    def __init__(self, freeze: Freeze, sample: Point, terms_of: TermsOf | None = None) -> None:
        self.freeze, self._terms_of = freeze, terms_of
        self.terms: list[Term] = []
        self._number: dict[int, int] = {}
        self._parts: list[set[str]] = []
        first = freeze(sample)
        self.n, self.rigid, self.dofs = first.n, first.rigid, first.dofs
        self.register(first)

    @classmethod
    def of_operators(
        cls, operators: Sequence[Any], rigid: Array, dofs: DofMap | None = None
    ) -> AffineFamily:
        """The family of the combinations of some operators (n, n) that nothing freezes."""
        made = cls.__new__(cls)
        made._terms_of = None
        made.n, made.rigid, made.dofs = operators[0].shape[0], rigid, dofs
        made.terms = [Term(operator) for operator in operators]
        made._number = {id(operator): j for j, operator in enumerate(operators)}
        made._parts = [set() for _ in operators]
        return made

    def register(self, system: FrozenSystem) -> None:
        """Take up the operators of a system that are new."""
        for name, part in system.parts.items():
            for _, operator in part.terms:
                self._take_up(operator, name)
        if system.rigid is not self.rigid:
            self.rigid = common_motions(self.rigid, system.rigid)

    def _take_up(self, operator: Any, name: str) -> int:
        """The number of an operator of a part, which may be new."""
        number = self._number_of(operator)
        if number == len(self.terms):
            self._number[id(operator)] = number
            self.terms.append(Term(operator))
            self._parts.append(set())
        self._parts[number].add(name)
        return number

    def _number_of(self, operator: Any) -> int:
        """That of an operator, or of one with the same entries; the next one of a new operator."""
        known = self._number.get(id(operator))
        if known is not None:
            return known
        same = (j for j, term in enumerate(self.terms) if same_entries(term.operator, operator))
        return next(same, len(self.terms))

    def coefficients(self, points: Sequence[Point]) -> Coefficients:
        """The multipliers at the points. Raises InputError when the model changes its size."""
        if self._terms_of is None:
            return self.of_systems((point, self.freeze(point)) for point in points)
        found = self._terms_of(points)
        terms = [(np.asarray(c), A, name) for name, part in found[0].items() for c, A in part]
        # New operators are counted as they appear from point to point.
        acting = sorted((t for t in terms if t[0].any()), key=lambda t: np.argmax(t[0] != 0.0))
        numbers = [self._take_up(A, name) for _, A, name in acting]
        table = np.zeros((len(ROLES), len(points), len(self.terms)))
        for (c, _, name), j in zip(acting, numbers, strict=True):
            table[[name in names for names in ROLES].index(True), :, j] += c
        # Spins alone are not of the frame.
        rates = np.zeros(len(points)) if found[1].ndim == 1 else np.linalg.norm(found[1], axis=1)
        return Coefficients(table, rates)

    def of_systems(self, systems: Iterable[tuple[Point, FrozenSystem]]) -> Coefficients:
        """The same from points and their frozen systems."""
        rows: list[list[dict[int, float]]] = []
        rates = []
        for point, system in systems:
            if system.n != self.n:
                raise InputError(
                    f"model: has {system.n} degrees of freedom at {dict(point)}, {self.n} elsewhere"
                )
            self.register(system)
            rows.append([self.row(system, names) for names in ROLES])
            rates.append(frame_rate(system))
        table = [multipliers(role, len(self.terms)) for role in zip(*rows, strict=True)]
        return Coefficients(np.array(table), np.array(rates))

    def extended(self, points: Sequence[Point]) -> tuple[AffineFamily, Coefficients]:
        """The multipliers at the points, and the family with the operators that are new there.

        This family stays as it is: what was projected for it stays all of it.
        """
        other = copy.copy(self)
        other.terms, other._number = list(self.terms), dict(self._number)
        other._parts = [set(names) for names in self._parts]
        return other, other.coefficients(points)

    @property
    def is_euler(self) -> Mask:
        """Operators (J,) whose part in the stiffness is that of K(ε) alone."""
        others = set(STIFFNESS_PARTS) - {"K_epsilon"}
        return np.array(["K_epsilon" in names and not names & others for names in self._parts])

    def row(self, system: FrozenSystem, names: tuple[str, ...]) -> dict[int, float]:
        """The multipliers of the operators in the sum of some named parts, by their numbers."""
        row: dict[int, float] = {}
        for name in names:
            for c, operator in system.parts[name].terms:
                j = self._number_of(operator)
                row[j] = row.get(j, 0.0) + c
        return row

    def symmetric_part(self, weights: Array) -> sp.csr_matrix:
        """The symmetric part of Σ_j w_j A_j, formed."""
        return self.symmetric_upper(weights).tocsr()

    def symmetric_upper(self, weights: Array) -> Symmetric:
        """The symmetric part of Σ_j w_j A_j by its upper triangle: half the memory."""
        kept = [j for j, term in enumerate(self.terms) if term.symmetry != -1 and weights[j] != 0.0]
        plain = [j for j in kept if self.terms[j].symmetry == 1]
        total = Combination.of(
            self.n, [weights[j] for j in plain], [self.terms[j].operator for j in plain]
        ).upper_triangle()
        for j in kept:
            if self.terms[j].symmetry == 0:
                A = self.terms[j].operator.tocsr()
                total = total + 0.5 * weights[j] * upper_triangle(sp.csr_matrix(A + A.T))
        return Symmetric(within_range(sp.csr_matrix(total), "M or K"))

    def diagonal(self, weights: Array) -> Array:
        """The diagonal of Σ_j w_j A_j."""
        operators = [term.operator for term in self.terms[: len(weights)]]
        return Combination.of(self.n, weights, operators).diagonal()

    def mass_operator(self, weights: Array) -> Any:
        """Σ_j w_j A_j of the mass: as m ⊗ a where it is that, else formed."""
        chosen = np.flatnonzero(weights)
        if len(chosen) == 1:
            operator = self.terms[chosen[0]].operator
            if isinstance(operator, Kronecker) and self.terms[chosen[0]].symmetry == 1:
                within_range(operator.m, "M")
                return Kronecker(operator.m, weights[chosen[0]] * operator.a)
        return self.symmetric_part(weights)

    def conservative(self, at: Coefficients) -> Mask:
        """Points (P,) where M and K are made of symmetric operators and C + D of skew ones."""
        symmetry = np.array([term.symmetry for term in self.terms])[: at.table.shape[2]]
        expected = np.array([1, -1, 1])[:, None, None]
        return np.asarray(~((at.table != 0.0) & (symmetry != expected)).any(axis=(0, 2)))


def terms_together(
    model: Any, constants: Mapping[str, Any], swept: Sequence[str]
) -> TermsOf | None:
    """How the terms of a body, or of one in motion, are read at all points together; None where
    `freeze` is to say them."""
    names, law = [f.name for f in fields(Kinematics)], getattr(model.freeze, "__func__", None)
    body, axis = getattr(model, "body", model), constants.get("axis")

    def of_motion(points: Sequence[Point]) -> list[Array]:
        each = [model.motion.at(float(point[swept[0]])) for point in points]
        return [np.array([getattr(motion, name) for motion in each]) for name in names]

    def of_arguments(points: Sequence[Point]) -> list[Array]:
        out = []
        for name in names:
            value = as_vector(1.0 if name in swept else constants.get(name, 0.0), name, axis)
            out.append(np.array([[point.get(name, 1.0)] for point in points]) * value)
        Kinematics(*(np.abs(v).max(axis=0) for v in out))  # as large as freeze takes them
        return out

    def of_rotor(points: Sequence[Point]) -> tuple[Terms, Array]:
        omega, epsilon = (
            np.array([float(point.get(name, constants.get(name, 0.0))) for point in points])
            for name in ("omega", "epsilon")
        )
        model.freeze(np.abs(omega).max(), axis, np.abs(epsilon).max())  # what it refuses
        return model.terms(omega, epsilon), omega

    if law is Body.freeze and axis is not None and {"axis", *names} >= {*constants, *swept}:
        vectors = of_arguments
    elif law is MovingBody.freeze and model.prestress == "linear" and not constants:
        vectors = of_motion
    elif law is Rotor.freeze and not model.varies:
        return of_rotor
    else:
        return None

    def terms(points: Sequence[Point]) -> tuple[Terms, Array]:
        omega, epsilon, acceleration, velocity = vectors(points)
        loads = [unit_coefficients(omega, epsilon, acceleration), velocity, omega]
        return body.supported.terms(omega, epsilon, np.hstack(loads)), omega

    return terms


def multipliers(rows: Sequence[Mapping[int, float]], count: int) -> Array:
    """A table (P, count) of multipliers from those of every row, by the numbers of operators."""
    table = np.zeros((len(rows), count))
    for p, row in enumerate(rows):
        for j, c in row.items():
            table[p, j] = c
    return table


def common_motions(first: Array, second: Array) -> Array:
    """A basis (n, k) of the motions that both spans (n, m) contain; `first` when it is contained.

    A film without cross-coupled stiffness at rest resists at speed what it leaves free at rest.
    """
    if np.array_equal(first, second) or first.shape[1] == 0:
        return first
    A, B = la.orth(first), la.orth(second)
    outside = A - B @ (B.T @ A)
    _, sizes, Zt = la.svd(outside, full_matrices=False)
    inside = sizes <= HALF
    return first if inside.all() else np.asarray(A @ Zt[inside].T)


def shares_operators(freeze: Freeze, points: Sequence[Point]) -> bool:
    """True when freezing the same points again brings no operators but known objects, or such as
    have the entries of one of another point: the model is affine.

    A mechanism's matrices T(t)ᵀ(·)T(t) are recomputed at each instant; it is not affine.
    """
    found = [_operators(freeze(point)) for point in points]
    known = {key for operators in found for key in operators}
    for i, point in enumerate(points):
        others = [A for operators in (*found[:i], *found[i + 1 :]) for A in operators.values()]
        for key, A in _operators(freeze(point)).items():
            if key not in known and not any(same_entries(A, B) for B in others):
                return False
    return True


def same_entries(A: Any, B: Any) -> bool:
    """Whether two operators are sparse matrices of the same entries."""
    if not (sp.isspmatrix_csr(A) and sp.isspmatrix_csr(B) and A.nnz == B.nnz):
        return False
    return all(np.array_equal(getattr(A, x), getattr(B, x)) for x in ("data", "indices", "indptr"))


def _operators(system: FrozenSystem) -> dict[int, Any]:
    """The operators of a system by identity."""
    return {id(A): A for part in system.parts.values() for _, A in part.terms}
