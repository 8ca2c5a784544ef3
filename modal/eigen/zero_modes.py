"""Modes whose eigenvalue is exactly zero at an instant: a critical speed, or the onset of
divergence, that a value of a sweep hits.

`modal.solve` removes every zero eigenvalue. Those of a free mobility are the rigid motion and stay
out of the tracks; the others belong to a mode on its way through zero. With V, W the right and left
null spaces of K, λ is small near such an instant where (λ WᵀCV + WᵀδKV) z = O(λ²): the modes are
x = Vz with the eigenvectors z of WᵀCV, one of each conjugate pair. Where WᵀCVz = 0 the pair ±λ
itself meets at zero (a defective value), and its one shape is listed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.linalg as la

from assembly.system.frozen import FrozenSystem
from modal.eigen.deflation import with_null_space
from modal.eigen.modes import Modes
from modal.eigen.quadratic import Quadratic
from modal.eigen.spectrum import separated
from modal.eigen.tolerances import ZERO


def with_zeros(system: FrozenSystem, modes: Modes) -> Modes:
    """The modes of an instant together with those at zero that `modal.solve` removed from them.

    The same modes where nothing was removed, and where the system has rigid fields, whose zeros
    cannot be told from others. Their relative condition number is infinite.
    """
    if modes.deflated == 0 or system.rigid.shape[1]:
        return modes
    completed = with_null_space(system)
    chain = None if completed is None else completed.null_chain
    if chain is None:
        return modes
    V, W, C = chain.null, chain.left_null, system.damping
    small = W.T @ (C @ V)
    values, left, right = la.eig(small, left=True, right=True)
    values, right, left = separated(values, right, left, float(np.linalg.norm(small)))
    scale = np.linalg.norm(abs(C) @ np.abs(V)) * np.linalg.norm(W)
    moving = np.abs(values) > ZERO * scale
    once = ~moving | (values.imag >= 0.0)
    Y, X = W @ left[:, once], V @ right[:, once]
    mass = np.sqrt((X.conj() * (system.M @ X)).sum(axis=0).real)
    X = X / mass
    pairing = np.where(moving[once], (Y.conj() * (C @ X)).sum(axis=0), 1.0)
    zeros = np.zeros(X.shape[1], dtype=complex)
    with np.errstate(invalid="ignore"):  # nothing at all is stiff
        error = np.nan_to_num(Quadratic(system).backward_error(zeros, X))
    return replace(
        modes,
        eigenvalues=np.concatenate([zeros, modes.eigenvalues]),
        right=np.hstack([X, modes.right]),
        left=np.hstack([Y / pairing.conj(), modes.left]),
        backward_error=np.concatenate([error, modes.backward_error]),
        condition_number=np.concatenate([np.full(len(zeros), np.inf), modes.condition_number]),
        kind=np.full(len(zeros) + len(modes), "elastic"),  # a null shape is no rigid field
    )
