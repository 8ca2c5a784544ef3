"""The reduced space of a body, from one reference stiffness.

It starts from the lowest modes of the reference stiffness, as many as the points need, and grows by
residuals (modal/reduction/space.py).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assembly.system.frozen import DAMPING_PARTS, STIFFNESS_PARTS, FrozenSystem
from modal.eigen.prescribed import PrescribedMotion
from modal.eigen.spectrum import sizes
from modal.reduction.affine import AffineFamily, Coefficients, Point
from modal.reduction.basis import Projected, ReducedBasis, Sketches
from modal.reduction.instants import BodyInstants, Instants
from modal.reduction.local_basis import local
from modal.reduction.reduced_eigen import SmallModes, solve_points
from modal.reduction.reference_operator import ReferenceOperator
from modal.reduction.space import Space, of_part, spread
from modal.types import Mask

REACH = 200  # largest number of reference modes computed to extend the starting basis
FURTHER = 8  # reference modes of the starting basis beyond those wanted, at most
SOUNDINGS = 24  # points at which it is examined up to which frequency the basis must be complete
SAME = 1e-12  # relative difference of products with the point's own matrices and with the family's


class BodySpace(Space):
    """The space of the points of one affine family.

    span: points whose coefficients span those of all others. threads: of the small eigenproblems.
    highest: frequency, rad/s, up to which the first vectors hold all modes of K_ref at least.
    stored: `arrays` of an earlier space, which goes on; nothing is factorized until it grows.
    """

    family: AffineFamily
    projected: Projected

    def __init__(
        self,
        family: AffineFamily,
        span: Coefficients,
        k: int,
        tolerance: float = 1e-6,
        threads: int = 1,
        highest: float = 0.0,
        stored: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        super().__init__(k, tolerance)
        self.family, self.threads = family, threads
        self.extra = 2 * family.rigid.shape[1]
        span = span.padded(len(family.terms))
        if stored is not None:
            self.wanted = int(stored["wanted"][0])
            arrays = of_part(BodyInstants.name, stored)
            chosen = arrays["weights"], float(arrays["shift"][0])
            self.reference = ReferenceOperator(family, span, chosen)
            self.basis = ReducedBasis.restored(family, self.reference, arrays)
            self.refresh()
            return
        self.reference = ReferenceOperator(family, span)
        modes = k + family.rigid.shape[1]
        count = min(2 * modes + 6, modes + FURTHER)
        sketches = Sketches(self.reference)
        self.start = self.reference.start(count)
        self.basis = ReducedBasis(family, self.reference, self.start, sketches)
        self._resolve(count)
        few = span.take(spread(len(span), SOUNDINGS))
        while (
            self.basis.resolved < max(self.needed(few), highest)
            and not self.complete
            and count < REACH
        ):
            count *= 2
            self.start = self.reference.start(count)
            self.basis.include(self.start.V)
            self._resolve(count)

    @property
    def basis(self) -> ReducedBasis:
        """The basis of its one part."""
        return self.parts[BodyInstants.name]

    @basis.setter
    def basis(self, basis: ReducedBasis) -> None:
        self.parts = {BodyInstants.name: basis}

    def _resolve(self, count: int) -> None:
        """The basis holds the `count` lowest reference modes: note up to which frequency."""
        self.refresh()
        last = min(count, self.projected.size) - 1
        self.basis.resolved = float(self.projected.frequency[last])
        self.refresh()

    def needed(self, at: Coefficients) -> float:
        """The frequency, rad/s, below which all reference modes must be in the basis.

        A shape u with uᴴK_ref u ≥ ω_c² that motion softens by s (K ≥ K_ref − sM) and a Coriolis
        matrix of norm g turns has λ² + (uᴴEu)λ + uᴴKu = 0, hence |λ|² + g|λ| ≥ ω_c² − s. To stay
        above the last mode wanted: ω_c² ≥ λ_k² + gλ_k + s, λ_k the size that orders it
        (modal/eigen/spectrum.py). Norms are those in the present basis.
        """
        instants = self.on(at)
        modes, _ = self.selected(instants)
        q, forms = modes.right, (instants.stiffness, instants.mass)
        products = (np.einsum("pik,pij,pjk->pk", q.conj(), A, q, optimize=True) for A in forms)
        last = np.nan_to_num(sizes(modes.eigenvalues, *products)).max(axis=1)
        E, K = instants.damping, instants.stiffness - np.diag(self.projected.frequency**2)
        gyroscopic = np.linalg.norm(0.5 * (E - E.transpose(0, 2, 1)), 2, axis=(1, 2))
        softening = -np.linalg.eigvalsh(0.5 * (K + K.transpose(0, 2, 1)))[:, 0]
        square = last**2 + gyroscopic * last + np.maximum(softening, 0.0)
        return float(np.sqrt(square.max()))

    def refresh(self) -> None:
        """Project all operators in the coordinates of the Ritz vectors."""
        self.projected = self.basis.projected()

    @property
    def description(self) -> str:
        """The size of the basis."""
        return f"reduced basis of {self.projected.size} vectors, accuracy {self.tolerance:g}"

    def on(self, points: Coefficients) -> BodyInstants:
        """The points in the coordinates of the basis."""
        return BodyInstants(self.projected, points.padded(len(self.projected.matrices)))

    def lowest(self, at: Instants, k: int, every: bool = False) -> SmallModes:
        """The lowest modes of every point; every: all of them. Translations that the frame
        prescribes are not among them."""
        assert isinstance(at, BodyInstants)
        return self._solved(at, k, every, self._motions(at))

    def _solved(
        self, at: BodyInstants, k: int, every: bool, motions: list[PrescribedMotion]
    ) -> SmallModes:
        conservative = self.family.conservative(at.at)
        translations = [at.projected.overlap.T @ motion.translations for motion in motions]
        frequency, threads = at.projected.frequency, self.threads
        return solve_points(at.matrices, frequency, conservative, k, threads, every, translations)

    def selected(self, at: Instants, every: bool = False) -> tuple[SmallModes, Mask]:
        """The modes that are certified, or all, and which of them the frame prescribes (P, k).

        Translations that the frame prescribes are not among them; the others are last, without
        values, which are exact.
        """
        assert isinstance(at, BodyInstants)
        motions = self._motions(at)
        modes = self._solved(at, self.wanted + self.extra, every, motions)
        prescribed = np.zeros(modes.eigenvalues.shape, dtype=bool)
        if not self.extra:
            return modes, prescribed
        for p, motion in enumerate(motions):
            there = np.isfinite(modes.eigenvalues[p])
            q = modes.right[p][:, there]
            shares = at.projected.overlap @ q / np.linalg.norm(q, axis=0)
            rest = motion.without_translations()
            prescribed[p, there] = rest.mask(modes.eigenvalues[p, there], shares)
        modes = modes.without(prescribed)
        index = np.argsort(prescribed, axis=1, kind="stable")
        index = index if every else index[:, : self.wanted]
        return modes.take(index), np.take_along_axis(prescribed, index, 1)

    def _motions(self, instants: BodyInstants) -> list[PrescribedMotion]:
        """What the kinematics of the frame prescribe at each point of a free body."""
        if not self.extra:
            return []
        at, overlap = instants.at, instants.projected.overlap
        images = self.basis.images
        count = at.stiffness.shape[1]
        euler = np.where(self.family.is_euler[:count], at.stiffness, 0.0)
        weights = self.reference.mass_weights
        same = (at.mass == np.pad(weights, (0, count - len(weights)))).all(axis=1)
        motions = []
        for p in range(len(at)):
            if not same[p]:
                motions.append(PrescribedMotion.none(len(overlap)))
                continue
            rates = [] if at.rate is None else [float(at.rate[p])]
            motion = images.prescribed(at.damping[p], at.stiffness[p], euler[p], rates)
            if motion.zeros is None:
                M, E, K = instants.matrices[:, p]
                motion = motion.counted(M, E, K, overlap.T)
            motions.append(motion)
        return motions

    def local(self, at: Coefficients, guard: int = 1) -> Self:
        """A space of few vectors for points near those of `at`; not one that grows.

        guard: modes beyond those wanted that its basis holds: the next is then not too near.
        """
        count = min(self.wanted + self.extra + guard + 1, self.projected.size)
        modes = self.lowest(self.on(at), count)
        other = copy.copy(self)
        other.projected, other.coordinates = local(self.projected, modes, self.tolerance)
        return other

    def covers(self, at: Coefficients) -> Mask:
        """The points (P,) that have no operators but those of the space."""
        known = len(self.projected.matrices)
        return np.asarray(~at.table[:, :, known:].any(axis=(0, 2)))

    def usable(self, point: Point) -> Coefficients | None:
        """The multipliers of a point; None where it has operators of its own."""
        extended, at = self.family.extended([point])
        return None if len(extended.terms) > len(self.projected.matrices) else at

    def represents(self, system: FrozenSystem, at: Coefficients) -> bool:
        """Whether M, C + D and K of a point are what the family takes them for, by one product."""
        if at.mass.shape[1] != len(self.reference.weights) or system.rigid.shape[1]:
            return False
        x = np.random.default_rng(17).standard_normal((system.n, 1))
        groups = ((("M",), at.mass), (DAMPING_PARTS, at.damping), (STIFFNESS_PARTS, at.stiffness))
        for names, coefficients in groups:
            own = system.combined(names) @ x
            images = [
                c * term.apply(x)
                for c, term in zip(coefficients[0], self.family.terms, strict=True)
                if c != 0.0
            ]
            if np.linalg.norm(own - sum(images)) > SAME * sum(np.linalg.norm(i) for i in images):
                return False
        return True
