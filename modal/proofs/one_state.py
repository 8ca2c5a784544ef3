"""The unstable modes of one large system, counted with a reduced basis of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assembly.system.frozen import FrozenSystem
from modal.proofs.box import Box
from modal.proofs.proving import ProvingSpace
from modal.reduction.affine import AffineFamily
from modal.types import Array, Complex

TOLERANCE = 1e-7  # of the eigenvalues, relative
SHARPEST = 1e-10  # tolerance where a growth rate is hidden by its error bound
MARGIN = 1.01  # by which the basis can miss the lowest ratio of stiffness to mass


@dataclass(frozen=True)
class Examined:
    """Certified modes of one system and what is known of the others.

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
    space = ProvingSpace(family, at, k, TOLERANCE)
    try:
        if space.worst(space.train(at)) > 1.0:
            return None
        found, proof = space.proved(at)
        hidden = np.abs(found.modes.eigenvalues.real) <= found.bounds.error_bound
        if np.any(hidden & ~found.prescribed & ~found.modes.exact[:, None]):
            space = space.branch(SHARPEST)
            space.train(at)
            found, proof = space.proved(at)
        bounds = space.prover.box.at(at)
        stiffness = found.instants.stiffness[0]
        lowest = float(np.linalg.eigvalsh(0.5 * (stiffness + stiffness.T))[0])
        box = Box(
            float(bounds.gyroscopic[0]), float(bounds.circulatory[0]), MARGIN * max(0.0, -lowest),
            bool(bounds.dissipative[0]),
        )  # fmt: skip
        return Examined(*found.counted(0, space.wanted), int(proof[0]), box)
    finally:
        space.destroy()
