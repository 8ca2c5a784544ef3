"""From the matrices of the bodies to those of the mechanism: TᵀXT on a fixed pattern.

Joints touch few DOFs J; all others I are their own masters, and only their neighbours N ⊂ I
couple to J. With the touched masters m of T_J (J, m),

    TᵀXT = [[X_II, X_IJ T_J], [T_Jᵀ X_JI, T_Jᵀ X_JJ T_J]],

where X_II only changes its coefficients and the other blocks are small and dense. All eight
matrices of all instants are formed together, without a loop over DOFs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import zip_longest
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from assembly.bodies.body import Body
from assembly.elements.family import Displaced
from assembly.elements.taylor import Taylor
from assembly.linalg.combination import Pattern
from assembly.mechanisms.transformation import Partition
from assembly.system.frozen import PARTS
from assembly.types import Array, Index, Inexact

M, C, D, K, K_EPSILON, K_OMEGA2, K_G, K_D, K_TRANSPORT = range(len(PARTS))
# What deflections change of M, D and the tangent, and of which matrices.
M_CHANGE, D_CHANGE, K_CHANGE = CHANGES = range(len(PARTS), len(PARTS) + 3)
CHANGED = [M, D, K]


# What multiplies a fixed matrix at an instant, by its place in a row of numbers: one, the twist
# (v_O, ω), the coefficients of the motion (ω_iω_j, ε, a_O), those of the loading, forces and
# moments of joints.
ONE, TWIST, SPIN, PRODUCTS, SPIN_RATE, LOADING, JOINTS = 0, 1, 4, 7, 13, 19, 31


@dataclass(frozen=True)
class Term:
    """A fixed matrix times `factor`: a term of a part, and the place of what multiplies it."""

    part: int
    place: int
    matrix: Any
    factor: float = 1.0


def body_terms(
    body: Body, joint_loads: Array, stressed: bool, units: tuple[int, ...]
) -> list[Term]:
    """The fixed matrices of a body, and what multiplies each; see `BodyStack`."""
    ops = body.operators
    a, b = body.rayleigh
    terms = [Term(M, ONE, ops.M), Term(K, ONE, ops.K)]
    terms += [Term(D, ONE, ops.M, a), Term(D, ONE, ops.K, b)]
    terms += [Term(D, ONE, ops.D), Term(D, ONE, ops.d)]
    terms += [Term(C, SPIN + i, G, 2.0) for i, G in enumerate(ops.G)]
    terms += [Term(K_EPSILON, SPIN_RATE + i, G) for i, G in enumerate(ops.G)]
    terms += [Term(K_OMEGA2, PRODUCTS + i, S) for i, S in enumerate(ops.S)]
    terms += [Term(K_D, SPIN + i, A) for i, A in enumerate(ops.circulatory)]
    if stressed:
        terms += [Term(K_G, LOADING + i, ops.B[i]) for i in units]
        terms += [Term(K_G, TWIST + i, B) for i, B in enumerate(ops.B[12:])]
        stiffened = body.load_stiffness(joint_loads)
        terms += [Term(K_G, JOINTS + i, B) for i, B in enumerate(stiffened)]
    return [term for term in terms if term.factor != 0.0]


def change_terms(body: Body, joint_loads: Array, units: tuple[int, ...]) -> list[Term]:
    """What the deflections under unit loads, and rigid motions of the body, change to first order.

    The last places are those of the rigid motions `FirstOrder.mobile`.
    """
    first = body.first_order
    found = [(LOADING + i, first.change(i)) for i in units]
    found += [(TWIST + i, first.change(12 + i)) for i in range(len(body.operators.B) - 12)]
    by_load = [*first.load_changes(joint_loads), *first.mobile_changes]
    found += [(JOINTS + i, change) for i, change in enumerate(by_load)]
    parts = K_CHANGE, M_CHANGE, D_CHANGE
    terms = [
        Term(part, place, A)
        for place, change in found
        for part, A in zip(parts, change, strict=True)
        if A is not None
    ]
    # Room on the pattern for `BodyStack.placed`.
    squares = first.square_of(np.random.default_rng(0).standard_normal(body.size), np.ones(12))
    return terms + [
        Term(part, ONE, A, 0.0) for part, A in zip(parts, squares, strict=True) if A is not None
    ]


class BodyStack:
    """The fixed matrices of one body as rows of values, those of one pattern together.

    joint_loads (n, k): unit forces and moments of joints; each gets its geometric stiffness.
    stressed: whether the geometric matrices are needed. units: the unit kinematics that occur.
    deflected: whether what deflections change is needed.
    """

    def __init__(
        self,
        body: Body,
        joint_loads: Array,
        stressed: bool,
        units: tuple[int, ...],
        deflected: bool = False,
    ) -> None:
        terms = body_terms(body, joint_loads, stressed, units)
        if deflected:
            terms += change_terms(body, joint_loads, units)
        self.size = body.size
        # Matrices of a part and a sparsity pattern together: what multiplies each, and its values.
        stacks: list[tuple[int, NDArray[np.int64], list[int], list[Array]]] = []
        for term in terms:
            A = sp.csr_matrix(term.matrix.tocsr())
            own = _keys(A, self.size)
            same = (s for s in stacks if s[0] == term.part and np.array_equal(s[1], own))
            stack = next(same, None) or (term.part, own, [], [])
            if not stack[2]:
                stacks.append(stack)
            stack[2].append(term.place)
            stack[3].append(term.factor * A.data)
        union = reduce(_union, (keys for _, keys, *_ in stacks))
        self.rows, self.cols, self._union = union // self.size, union % self.size, union
        self._stacks = [
            (part, np.searchsorted(union, keys), np.array(places), np.array(rows))
            for part, keys, places, rows in stacks
            if len(keys)  # a carriage without mass has no matrix at all
        ]

    def parts(self, twist: Array, motion: Array, loading: Array, joint_loads: Array) -> Array:
        """Values (8, P, entries) of the named matrices at P instants.

        twist (P, 6): of the body's frame; motion (P, 12): coefficients of its motion; loading
        (P, 12): of what stresses it, gravity included. joint_loads (P, k): multiples of the unit
        loads.
        """
        ones = np.ones((len(twist), 1))
        numbers = np.concatenate([ones, twist, motion, loading, joint_loads], axis=1)
        return self._combined(range(K_TRANSPORT), numbers)

    def changes(self, twist: Array, loading: Array, joint_loads: Array, mobile: Array) -> Array:
        """What deflections change of M, D and the tangent, values (3, P, entries).

        mobile (P, m): coordinates of the rigid motions `FirstOrder.mobile`; the others as `parts`.
        """
        unused = np.zeros((len(twist), LOADING - PRODUCTS))
        ones = np.ones((len(twist), 1))
        numbers = [ones, twist, unused, loading, joint_loads, mobile]
        return self._combined(CHANGES, np.concatenate(numbers, axis=1))

    def placed(self, square: Displaced) -> Array:
        """Values (3, entries) of the M, D and K of one displaced state."""
        out = np.zeros((3, len(self._union)))
        for row, A in zip(out, (square.M, square.D, square.K), strict=True):
            if A is not None:
                values = sp.csr_matrix(A.tocsr())
                keys = _keys(values, self.size)
                row[np.searchsorted(self._union, keys)] = values.data
        return out

    def _combined(self, chosen: range, numbers: Array) -> Array:
        out = np.zeros((len(chosen), len(numbers), len(self._union)))
        for part, at, places, values in self._stacks:
            if part in chosen:
                out[part - chosen.start][:, at] += numbers[:, places] @ values
        return out


def _keys(A: sp.csr_matrix, size: int) -> NDArray[np.int64]:
    A.sum_duplicates()
    rows = np.repeat(np.arange(size, dtype=np.int64), np.diff(A.indptr))
    return np.asarray(rows * size + A.indices)


def _union(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    return a if np.array_equal(a, b) else np.union1d(a, b)


class ReducedPattern:
    """Where the values of all bodies, in a row, go in the matrices over the masters.

    size: number of all DOFs. rows, cols: of every value. touched (J,): numbers of the joint
    DOFs among all; partition: which of them are slaves. masters: the DOFs of the frozen
    system.
    """

    def __init__(
        self, size: int, rows: Index, cols: Index, touched: Index, partition: Partition
    ) -> None:
        self.size, self.touched, self.partition = size, touched, partition
        free = np.ones(size, dtype=bool)
        free[touched[partition.slaves]] = False
        self.masters = np.flatnonzero(free)
        # Of the constrained DOFs the masters come first, where T is the identity.
        self._order = np.concatenate([partition.masters, partition.slaves])
        place, reduced = _numbering(size, touched[self._order]), _numbering(size, self.masters)
        row_touched, col_touched = place[rows] >= 0, place[cols] >= 0
        self.inner = np.flatnonzero(~row_touched & ~col_touched)
        nj = np.flatnonzero(~row_touched & col_touched)
        jn = np.flatnonzero(row_touched & ~col_touched)
        jj = np.flatnonzero(row_touched & col_touched)
        self.neighbours = np.unique(np.concatenate([rows[nj], cols[jn]]))
        near = _numbering(size, self.neighbours)
        J, N = len(touched), len(self.neighbours)
        self._nj = (nj, near[rows[nj]] * J + place[cols[nj]])
        self._jn = (jn, place[rows[jn]] * N + near[cols[jn]])
        self._jj = (jj, place[rows[jj]] * J + place[cols[jj]])

        m, beside = reduced[touched[partition.masters]], reduced[self.neighbours]
        inner_pair = (reduced[rows[self.inner]], reduced[cols[self.inner]])
        pairs = (inner_pair, _grid(beside, m), _grid(m, beside), _grid(m, m))
        n = len(self.masters)
        keys = np.concatenate([r * n + c for r, c in pairs])
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        changed = len(rows) + np.arange(len(keys) - len(self.inner))
        self._source = np.concatenate([self.inner, changed])[order]
        self.sparsity = Pattern(n, ordered % n, np.searchsorted(ordered, np.arange(n + 1) * n))

    def reduce(
        self, values: Array, T: Taylor, joint_parts: Mapping[int, Array]
    ) -> dict[str, Array]:
        """The named matrices over the masters at P instants, as values (P, entries) of `sparsity`.

        values of all bodies (8, P, entries), or 9 with a K_transport; T (P, J, m) with rates;
        joint_parts: what joints, springs and loads add to a part over the constrained DOFs,
        (P, J, J). C gets 2TᵀMṪ, and the stiffness Tᵀ[(C + D)Ṫ + M T̈] (docs/theory.md,
        "Mechanisms") goes to K_transport, except
        TᵀDṪ, which has no potential and is part of K_D. Parts that are zero are left out.
        """
        _, S1, S2 = T.data[..., self.partition.slaves, :]
        moved = (K_TRANSPORT, C, S1), (K_TRANSPORT, M, S2), (K_D, D, S1), (C, M, 2.0 * S1)
        parts = zip(PARTS, self._reduced(values, T, joint_parts, moved), strict=True)
        return {name: data for name, data in parts if np.any(data)}

    def reduce_sums(
        self, values: Array, T: Taylor, joint_parts: Mapping[int, Array]
    ) -> list[Array]:
        """M, damping and stiffness over the masters: the sums of what `reduce` finds."""
        _, S1, S2 = T.data[..., self.partition.slaves, :]
        sums = np.stack([values[M], values[C] + values[D], values[K:].sum(axis=0)])
        joints = {1: joint_parts[D], 2: joint_parts[K] + joint_parts[K_G] + joint_parts[K_D]}
        return list(self._reduced(sums, T, joints, ((1, 0, 2.0 * S1), (2, 1, S1), (2, 0, S2))))

    def _reduced(
        self,
        values: Array,
        T: Taylor,
        joint_parts: Mapping[int, Array],
        moved: Sequence[tuple[int, int, Array]],
    ) -> Iterator[Array]:
        """TᵀXT of values (k, P, entries) as values of `sparsity`, k or, with parts that have
        values by `moved` alone, more.

        joint_parts: as of `reduce`. moved: parts to which others times rates of the slaves
        (P, s, m) are added, before Tᵀ.
        """
        k, m = len(values), len(self.partition.masters)
        count = max(k, 1 + max(to for to, _, _ in moved))
        S0 = T.value[..., self.partition.slaves, :]
        St, (XNJ, XJN, XJJ) = S0.swapaxes(-1, -2), self._blocks(values)
        for part, added in joint_parts.items():
            XJJ[part] += self._ordered(added)
        NJ, JJ = (np.zeros((count, *X.shape[1:-1], m)) for X in (XNJ, XJJ))
        JN = np.zeros((count, len(T.value), m, XJN.shape[-1]))
        for out, X in ((NJ, XNJ), (JJ, XJJ)):
            free, tied = X[..., :m], X[..., m:]
            np.add(free, tied @ S0, out=out[:k])
            for to, of, rate in moved:
                if np.any(rate):
                    out[to] += tied[of] @ rate
        np.add(XJN[..., :m, :], St @ XJN[..., m:, :], out=JN[:k])
        return self._placed(values, NJ, JN, JJ[..., :m, :] + St @ JJ[..., m:, :])

    def _blocks(self, values: Array) -> list[Array]:
        """NJ, JN and JJ of values of all bodies (k, P, entries), dense, the slaves last."""
        J, N = len(self.touched), len(self.neighbours)
        blocks = (self._nj, (N, J)), (self._jn, (J, N)), (self._jj, (J, J))
        return [_dense(values, block, shape) for block, shape in blocks]

    def _ordered(self, joints: Array) -> Array:
        """Matrices (..., J, J) over the constrained DOFs, the slaves last."""
        return joints[..., self._order[:, None], self._order]

    def reduce_changes(
        self, base: tuple[Array, Array], changes: tuple[Array, Array], T: Array, slope: Array
    ) -> Array:
        """(T + T′)ᵀ(X + X′)(T + T′) − TᵀXT of matrices X (base) and their changes X′.

        Values (k, P, entries).

        base, changes: values of all bodies (k, P, entries), and what joints add over the
        constrained DOFs, (k, P, J, J). T, slope T′ (P, J, m).
        """
        m = len(self.partition.masters)
        here, S = T[:, self.partition.slaves], slope[:, self.partition.slaves]
        Y, Yt, St = here + S, (here + S).swapaxes(-1, -2), S.swapaxes(-1, -2)
        (XNJ, XJN, XJJ), (CNJ, CJN, CJJ) = (self._blocks(own) for own, _ in (base, changes))
        XJJ, CJJ = XJJ + self._ordered(base[1]), CJJ + self._ordered(changes[1])
        NJ = CNJ[..., :m] + (CNJ[..., m:] @ Y + XNJ[..., m:] @ S)
        JN = CJN[..., :m, :] + Yt @ CJN[..., m:, :] + St @ XJN[..., m:, :]
        changed = CJJ[..., :m] + CJJ[..., m:] @ Y + XJJ[..., m:] @ S
        JJ = changed[..., :m, :] + Yt @ changed[..., m:, :]
        JJ = JJ + St @ (XJJ[..., m:, :m] + XJJ[..., m:, m:] @ here)
        return np.stack(list(self._placed(changes[0], NJ, JN, JJ)))

    def _placed(self, values: Array, NJ: Array, JN: Array, JJ: Array) -> Iterator[Array]:
        """For each of k parts values (P, entries) of `sparsity`, from those of all bodies,
        (k, P, ·) or of fewer parts, and of the blocks that T changes, (k, P, ·, ·)."""
        nothing = np.zeros(values.shape[1:])
        for own, *blocks in zip_longest(values, NJ, JN, JJ, fillvalue=nothing):
            wide = np.hstack([own, *(X.reshape(len(X), -1) for X in blocks)])
            yield np.take(wide, self._source, axis=1)

    def reduce_vector(self, vector: Array, T: Array) -> Array:
        """Tᵀ of vectors (P, size) over all DOFs, T (P, J, m)."""
        full = vector.copy()
        full[:, self.touched] = 0.0
        masters = self.touched[self.partition.masters]
        full[:, masters] = (vector[:, None, self.touched] @ T)[:, 0]
        return np.asarray(full[:, self.masters])

    def expand(self, vector: Inexact, T: Array) -> Inexact:
        """T of a vector (masters, ...): all DOFs of all bodies."""
        full = np.zeros((self.size, *vector.shape[1:]), dtype=vector.dtype)
        full[self.masters] = vector
        masters = self.touched[self.partition.masters]
        full[self.touched] = np.tensordot(T, full[masters], axes=(1, 0))
        return full

    def matrix(self, T: Array, rate: bool = False) -> sp.csr_matrix:
        """T (or one of its rates) as a sparse matrix (size, masters)."""
        place = np.searchsorted(self.masters, self.touched[self.partition.masters])
        rows, cols = np.repeat(self.touched, len(place)), np.tile(place, len(self.touched))
        values = T.ravel()
        if not rate:
            inner = np.setdiff1d(np.arange(self.size), self.touched)
            rows = np.concatenate([rows, inner])
            cols = np.concatenate([cols, np.searchsorted(self.masters, inner)])
            values = np.concatenate([values, np.ones(len(inner))])
        shape = (self.size, len(self.masters))
        out = sp.csr_matrix((values, (rows, cols)), shape=shape)
        out.eliminate_zeros()
        return out


def _dense(values: Array, block: tuple[Index, Index], shape: tuple[int, int]) -> Array:
    source, target = block
    out = np.zeros((*values.shape[:2], shape[0] * shape[1]))
    out[:, :, target] = values[:, :, source]
    return out.reshape(*values.shape[:2], *shape)


def _numbering(size: int, chosen: Index) -> Index:
    """The place of each number among the chosen ones, −1 for the others."""
    place = np.full(size, -1, dtype=np.intp)
    place[chosen] = np.arange(len(chosen))
    return place


def _grid(rows: Index, cols: Index) -> tuple[Index, Index]:
    return np.repeat(rows, len(cols)), np.tile(cols, len(rows))
