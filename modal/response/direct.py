"""Forced response by one factorization of the dynamic stiffness at each frequency."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from assembly.errors import InputError
from assembly.system.frozen import FrozenSystem
from modal.types import Complex

PIVOT = 0.1  # of a column: least size of a diagonal entry that stays the pivot, against fill


class DirectSolver:
    """q of (K + iω(C + D) − ω²M) q = f, with all stiffness in K.

    The matrices share one sparsity pattern, which is ordered once.
    """

    def __init__(self, system: FrozenSystem) -> None:
        self.system = system
        parts = (system.stiffness, system.damping, system.M)
        pattern = sum(map(abs, parts)) + sp.identity(system.n)
        dominant = sp.csc_matrix(pattern + sp.diags(pattern @ np.ones(system.n)))
        order = spla.splu(dominant, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
        self.order = np.argsort(order.perm_c)
        # The imaginary part makes room for all entries of the pattern.
        aligned = [sp.csc_matrix(A + 1j * pattern)[self.order][:, self.order] for A in parts]
        for A in aligned:
            A.sort_indices()
        self.pattern, self.entries = aligned[0], [A.data.real for A in aligned]
        self.diagonal = self.pattern.indices == np.repeat(
            np.arange(system.n), np.diff(self.pattern.indptr)
        )

    def __call__(self, angular_frequency: float, force: Complex) -> Complex:
        """q (n,). Raises InputError where the dynamic stiffness is singular."""
        w, (K, C, M) = angular_frequency, self.entries
        if w == 0.0 and self.system.null_chain is not None:
            raise singular(w)
        H, load = K + 1j * w * C - w**2 * M, force[self.order]
        matrix = sp.csc_matrix((H, self.pattern.indices, self.pattern.indptr))
        try:
            q = spla.splu(
                matrix, "NATURAL", diag_pivot_thresh=PIVOT, options={"SymmetricMode": True}
            ).solve(load)
        except RuntimeError:
            raise singular(w) from None
        # The work |f|ᵀ|q| ≥ |qᴴHq| below round-off of the terms that qᴴHq sums: H is singular.
        terms = np.abs(H[self.diagonal]) @ np.abs(q) ** 2
        if not np.finfo(float).eps * terms < np.abs(load) @ np.abs(q):
            raise singular(w)
        out = np.empty_like(q)
        out[self.order] = q
        return out


def singular(angular_frequency: float) -> InputError:
    """The error of a frequency without a response."""
    return InputError(
        "frequencies: the dynamic stiffness is singular at "
        f"{angular_frequency / (2 * np.pi):.6g} Hz (a free body at 0 Hz, or an undamped resonance)"
    )
