"""The unstable modes of one large system, counted with a reduced basis of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assembly.errors import SingularSystemError
from assembly.system.frozen import FrozenSystem
from modal.proofs.box import Box
from modal.proofs.codes import MODES
from modal.proofs.proving import MOST, ProvingReducer
from modal.reduction.affine import AffineFamily
from modal.types import Array, Complex

TOLERANCE = 1e-7  # of the eigenvalues, relative
SHARPEST = 1e-10  # tolerance where a growth rate is hidden by its error bound
MARGIN = 1.01  # by which the basis can miss the lowest ratio of stiffness to mass


@dataclass(frozen=True)
class Examined:
    """Certified elastic modes of one system and what is known of the others.

    eigenvalues, error_bound (k,) rad/s; proof: a code of modal/proofs/codes.py.
    """

    eigenvalues: Complex
    error_bound: Array
    proof: int
    box: Box


def examine(system: FrozenSystem, k: int) -> Examined | None:
    """The modes of a system from a reduced basis; None where none reaches the tolerance."""
    family = AffineFamily(lambda point: system, {})
    at = family.coefficients([{}])
    try:
        reducer = ProvingReducer(family, at, k, TOLERANCE)
    except SingularSystemError:
        return None
    try:
        if not reducer.train(at):
            return None
        modes, certificate, rigid, proof = reducer.proved(at)
        hidden = np.abs(modes.eigenvalues.real) <= certificate.error_bound
        if np.any(hidden & ~rigid & ~modes.exact[:, None]):
            reducer = reducer.branch(SHARPEST)
            reducer.train(at)
            modes, certificate, rigid, proof = reducer.proved(at)
        grows = np.any((modes.eigenvalues.real > certificate.error_bound) & ~rigid)
        if proof[0] == MODES and not grows and reducer.prover.provable(at)[0]:
            # A proof that a small basis just misses: twice as many modes are counted with.
            reducer = reducer.branch(reducer.tolerance)
            reducer.wanted = min(2 * reducer.wanted, MOST)
            if reducer.train(at):
                modes, certificate, rigid, proof = reducer.proved(at)
        elastic = np.flatnonzero(~rigid[0] & np.isfinite(modes.eigenvalues[0]))
        elastic = elastic[: reducer.wanted]
        bounds = reducer.prover.box.at(at)
        projected = reducer.projected
        symmetric = np.tensordot(
            at.stiffness[0], projected.matrices[: at.stiffness.shape[1]], axes=1
        )
        lowest = float(np.linalg.eigvalsh(0.5 * (symmetric + symmetric.T))[0])
        box = Box(
            float(bounds.gyroscopic[0]), float(bounds.circulatory[0]), MARGIN * max(0.0, -lowest)
        )
        return Examined(
            modes.eigenvalues[0, elastic], certificate.error_bound[0, elastic], int(proof[0]), box
        )
    finally:
        reducer.destroy()
