"""Forced response by one factorization of the dynamic stiffness at each frequency."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from assembly.errors import InputError
from assembly.system.frozen import FrozenSystem
from modal.types import Complex

DENSE = 200  # DOFs up to which the dynamic stiffness is factorized as a full matrix


def solved(system: FrozenSystem, angular_frequency: float, force: Complex) -> Complex:
    """q (n,) of (K + iω(C + D) − ω²M) q = f, with all stiffness in K.

    Raises InputError where the dynamic stiffness is singular.
    """
    w = angular_frequency
    H = sp.csc_matrix(system.stiffness + (1j * w) * system.damping - w**2 * system.M)
    q = np.full(system.n, np.nan + 0j)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", la.LinAlgWarning)
            if w != 0.0 or system.null_chain is None:
                q = la.solve(H.toarray(), force) if system.n <= DENSE else spla.splu(H).solve(force)
    except (la.LinAlgError, la.LinAlgWarning, RuntimeError):
        pass  # named below
    if not np.all(np.isfinite(q)):
        raise InputError(
            f"frequencies: the dynamic stiffness is singular at {w / (2 * np.pi):.6g} Hz "
            "(a free body at 0 Hz, or an undamped resonance)"
        )
    return np.asarray(q, dtype=complex)
