"""Forced response by one factorization of the dynamic stiffness at each frequency."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from assembly.errors import InputError
from assembly.system.frozen import FrozenSystem
from modal.eigen.solvers.determinant import ON_DIAGONAL
from modal.types import Array, Complex

DENSE = 40  # DOFs up to which full matrices are faster than SuperLU


class DirectSolver:
    """q of (K + iω(C + D) − ω²M) q = f, with all stiffness in K.

    The matrices share one sparsity pattern, which is ordered once.
    """

    def __init__(self, system: FrozenSystem) -> None:
        self.system, n = system, system.n
        parts = (system.stiffness, system.damping, system.M)
        if n <= DENSE:
            self.order, self.diagonal = np.arange(n), np.arange(n) * (n + 1)
            self.entries = [A.toarray().ravel() for A in parts]
            return
        pattern = sum(map(abs, parts)) + sp.identity(n)
        dominant = sp.csc_matrix(pattern + sp.diags(pattern @ np.ones(n)))
        factor = spla.splu(dominant, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
        self.order = np.argsort(factor.perm_c)
        # The imaginary part makes room for all entries of the pattern.
        aligned = [sp.csc_matrix(A + 1j * pattern)[self.order][:, self.order] for A in parts]
        for A in aligned:
            A.sort_indices()
        self.matrix, self.entries = aligned[0], [A.data.real for A in aligned]
        columns = np.repeat(np.arange(n), np.diff(self.matrix.indptr))
        self.diagonal = np.flatnonzero(self.matrix.indices == columns)

    def __call__(self, angular_frequencies: Array, force: Complex) -> Complex:
        """q (F, n). Raises InputError where the dynamic stiffness is singular."""
        K, C, M = self.entries
        out, load = np.empty((len(angular_frequencies), len(force)), complex), force[self.order]
        for row, w in zip(out, angular_frequencies.tolist(), strict=True):
            H = K + 1j * w * C - w**2 * M
            try:
                q = self._solved(H, load)
            except (np.linalg.LinAlgError, RuntimeError):
                raise singular(w) from None
            # The work |f|ᵀ|q| ≥ |qᴴHq| below round-off of the terms that qᴴHq sums: H is singular.
            terms = np.abs(H[self.diagonal]) @ np.abs(q) ** 2
            if not np.finfo(float).eps * terms < np.abs(q) @ np.abs(load):
                raise singular(w)
            row[self.order] = q
        return out

    def _solved(self, H: Complex, load: Complex) -> Complex:
        """From the entries of H and the load, in the order of the pattern."""
        if self.system.n <= DENSE:
            return np.linalg.solve(H.reshape(len(load), -1), load)
        self.matrix.data = H
        factor = spla.splu(self.matrix, "NATURAL", **ON_DIAGONAL)
        return np.asarray(factor.solve(load))


def singular(angular_frequency: float) -> InputError:
    """The error of a frequency without a response."""
    return InputError(
        "frequencies: the dynamic stiffness is singular at "
        f"{angular_frequency / (2 * np.pi):.6g} Hz (a free body at 0 Hz, or an undamped resonance)"
    )
