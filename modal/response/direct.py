"""Forced response by one factorization of the dynamic stiffness at each frequency."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from assembly.errors import InputError
from assembly.system.frozen import FrozenSystem
from modal.types import Array, Complex

DENSE = 60  # DOFs up to which LAPACK on full matrices is faster than SuperLU
PIVOT = 0.1  # of a column: least size of a diagonal entry that stays the pivot, against fill


class DirectSolver:
    """q of (K + iω(C + D) − ω²M) q = f, with all stiffness in K.

    The matrices share one sparsity pattern, which is ordered once. Without damping and gyroscopic
    terms the dynamic stiffness is real.
    """

    def __init__(self, system: FrozenSystem) -> None:
        self.system, self.n = system, system.n
        self.matrices = [sp.csc_matrix(A) for A in (system.stiffness, system.damping, system.M)]
        self.order = np.arange(self.n)
        self.real = not np.any(system.damping.data)
        self.ordered = False
        self._align()

    def _align(self) -> None:
        """The entries of the three matrices, (3, nnz) or (3, n, n), in the order of the DOFs."""
        if self.n <= DENSE:
            self.entries = np.array([A.toarray() for A in self.matrices])
            self.diagonal: Any = np.diag_indices(self.n)
            return
        keys, values = [], []
        for A in self.matrices:
            A = sp.csc_matrix(A[self.order][:, self.order])
            A.sum_duplicates()
            columns = np.repeat(np.arange(self.n), np.diff(A.indptr))
            keys.append(columns * self.n + A.indices)
            values.append(A.data)
        union = np.unique(np.concatenate(keys))
        self.entries = np.zeros((3, len(union)))
        for row, key, data in zip(self.entries, keys, values, strict=True):
            row[np.searchsorted(union, key)] = data
        self.diagonal = np.searchsorted(union, (self.n + 1) * np.arange(self.n))
        self.rows = (union % self.n).astype(np.intc)
        starts = np.searchsorted(union, self.n * np.arange(self.n + 1))
        self.starts = starts.astype(np.intc)

    def __call__(self, angular_frequency: float, force: Complex) -> Complex:
        """q (n,). Raises InputError where the dynamic stiffness is singular."""
        w = angular_frequency
        K, C, M = self.entries
        H = K - w**2 * M if self.real else K + 1j * w * C - w**2 * M
        loads = np.column_stack([force.real, force.imag]) if self.real else force
        if w == 0.0 and self.system.null_chain is not None:
            singular(w)
        q = self._solved(H, loads[self.order], w)
        q = q[:, 0] + 1j * q[:, 1] if self.real else q
        # The work |f|ᵀ|q| ≥ |qᴴHq| below round-off of the terms that qᴴHq sums: H is singular.
        terms = np.abs(H[self.diagonal]) @ np.abs(q) ** 2
        if not np.finfo(float).eps * terms < np.abs(force[self.order]) @ np.abs(q):
            singular(w)
        out = np.empty(self.n, dtype=complex)
        out[self.order] = q
        return out

    def _solved(self, H: Any, loads: Any, w: float) -> Any:
        if self.n <= DENSE:
            solver = la.lapack.dgesv if self.real else la.lapack.zgesv
            _, _, q, fault = solver(H, loads)
            return q if fault == 0 else singular(w)
        try:
            factor = spla.splu(
                sp.csc_matrix((H, self.rows, self.starts), shape=(self.n, self.n)),
                permc_spec="NATURAL" if self.ordered else "MMD_AT_PLUS_A",
                diag_pivot_thresh=PIVOT,
                options={"SymmetricMode": True},
            )
        except RuntimeError:
            singular(w)
        q = factor.solve(loads)
        if not self.ordered:
            self.order, self.ordered = np.argsort(factor.perm_c), True
            q = q[self.order]
            self._align()
        return q


def singular(angular_frequency: float) -> NoReturn:
    """Raises InputError."""
    raise InputError(
        "frequencies: the dynamic stiffness is singular at "
        f"{angular_frequency / (2 * np.pi):.6g} Hz (a free body at 0 Hz, or an undamped resonance)"
    )
