"""The verdict on one large system: its unstable modes counted with a reduced basis of its own, or a
Lyapunov function with one parameter.

For M q̈ + (D + G) q̇ + (S + N) q = 0 and α > 0,

    V = ½ q̇ᵀMq̇ + α qᵀMq̇ + ½ qᵀ(S + αD)q,
    −V̇ = q̇ᵀ(D − αM)q̇ + q̇ᵀ(N − αG)q + α qᵀSq.

Where [[M, αM], [αM, S + αD]] and [[D − αM, (N − αG)/2], [(N − αG)ᵀ/2, αS]] are both positive
definite, every motion decays. Both are linear in α, so that the values of α which serve form an
interval below the smallest xᵀDx / xᵀMx. No basis can count as many modes as this needs none of.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
import scipy.sparse as sp

from assembly.errors import AccuracyError, ConvergenceError, SingularSystemError
from assembly.linalg.symmetric import is_negative_on
from assembly.magnitudes import EQUAL
from assembly.system.frozen import FrozenSystem
from modal.eigen.checked_modes import alone_on_axis
from modal.eigen.quadratic import Quadratic
from modal.eigen.solve import LAPACK, SOLUTION, SOLUTION_DOF
from modal.eigen.tolerances import HALF, SMALL, SURE
from modal.proofs.box import Box, FamilyBox
from modal.proofs.judge import COUNT, ENERGY, MODES
from modal.proofs.proving import ProvingSpace
from modal.proofs.ratios import is_definite, largest_ratio
from modal.reduction.affine import AffineFamily
from modal.reduction.full_order import full_modes
from modal.types import Array, Complex, Mask

SHARPEST = 1e-10  # tolerance where a growth rate is hidden by its error bound


def without_modes(system: FrozenSystem) -> tuple[FamilyBox, Box, int]:
    """The bounds of the box of a system, the box, and what proves without any modes that the system
    is stable (a code of modal/proofs/judge.py): energy, or S > (W² + γW) M, which leaves no mode in
    the box."""
    family = AffineFamily(lambda point: system, {})
    at = family.coefficients([{}])
    bounds = FamilyBox(family, at)
    if not bounds.at(at).bounded[0]:
        bounds.resist(at)
    box, proof = bounds.at(at).first(0.0), MODES
    if box.is_bounded and not system.rigid.shape[1]:
        limit = box.stiffness * (1.0 + EQUAL) if box.circulatory else 0.0
        rest = sp.csr_matrix(Quadratic(system).stiffness_parts[0] - limit * system.M)
        softened = system.dofs is not None and is_negative_on(
            rest, system.dofs.rigid_motions().fields
        )
        if not softened and is_definite(rest):
            proof = COUNT if limit else ENERGY
    return bounds, box, proof


def examine(
    system: FrozenSystem, k: int, most: float = np.inf, bounds: FamilyBox | None = None
) -> tuple[Complex, Array, int, Box, Mask] | None:
    """The certified eigenvalues of a system from a reduced basis, grown up to `most` vectors, their
    error bounds, rad/s, what is known of the others (a code of modal/proofs/judge.py), the box, and
    which of the modes cannot grow; None where no basis reaches the tolerance. bounds: those of the
    box, where they have been found. Before rounds that cost more than a full solution of the lowest
    modes, these are looked at: one that grows decides.

    The proof of the count holds on the sides of a rectangle too, about a mode that is alone: no
    point of them is nearer to the modes than the line Re λ = floor is (modal/proofs/proving.py).
    """
    family = AffineFamily(lambda point: system, {}) if bounds is None else bounds.family
    at = family.coefficients([{}])
    space = ProvingSpace(family, at, k, HALF, box=bounds)
    try:
        if system.n > SMALL:
            first = np.cbrt((SOLUTION + SOLUTION_DOF * system.n) / (5.0 * LAPACK))
            if first < most and space.worst(space.train(at, most=first)) > 1.0:
                with suppress(AccuracyError, ConvergenceError, SingularSystemError):
                    lam, bound = full_modes(system, k)
                    if np.any(lam.real > bound + HALF * np.abs(lam)):
                        box = space.box.at(at).first(0.0)
                        return lam, bound, MODES, box, np.zeros(len(lam), dtype=bool)
        if space.worst(space.train(at, most=most)) > 1.0:
            return None
        found, proof = space.proved(at)
        hidden = np.abs(found.modes.eigenvalues.real) <= found.bounds.error_bound
        if np.any(hidden & ~found.prescribed & ~found.modes.exact[:, None]):
            space = space.branch(SHARPEST)
            space.train(at, most=most)
            found, proof = space.proved(at)
        stiffness = found.instants.stiffness[0]
        lowest = float(np.linalg.eigvalsh(0.5 * (stiffness + stiffness.T))[0])
        box = space.box.at(at).first(lowest)
        lam, bound = found.counted(0, space.wanted)
        reach = np.full(len(lam), SURE * bound.max(initial=0.0))
        alone = alone_on_axis(Quadratic(system), lam, reach) & (proof[0] == COUNT)
        return lam, bound, int(proof[0]), box, alone & (np.abs(lam) < np.abs(lam).max(initial=0.0))
    finally:
        space.destroy()


def decays(quadratic: Quadratic, fractions: Sequence[float] = (0.5, 0.25, 0.75, 0.1, 0.9)) -> bool:
    """Whether Lyapunov's function proves that every motion decays.

    fractions: of the largest possible α that are tried.
    """
    damping = quadratic.damping_parts[0]
    if not is_definite(damping):
        return False
    largest = 1.0 / largest_ratio(quadratic.M, damping)
    return any(_serves(quadratic, fraction * largest) for fraction in fractions)


def _serves(quadratic: Quadratic, alpha: float) -> bool:
    M, (D, G), (S, N) = quadratic.M, quadratic.damping_parts, quadratic.stiffness_parts
    half = 0.5 * (N - alpha * G)
    power = sp.bmat([[D - alpha * M, half], [half.T, alpha * S]], format="csr")
    energy = sp.bmat([[M, alpha * M], [alpha * M, S + alpha * D]], format="csr")
    return is_definite(power) and is_definite(energy)
