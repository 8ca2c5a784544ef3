"""The reduced space of a body, from one reference stiffness.

It starts from the lowest modes of the reference stiffness, as many as the points need, and grows by
residuals (modal/reduction/space.py).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from assembly.system.frozen import FrozenSystem
from modal.eigen.prescribed import PrescribedMotion, counted
from modal.eigen.spectrum import sizes
from modal.eigen.tolerances import BLOCK, GROUP, ZERO
from modal.reduction.affine import ROLES, AffineFamily, Coefficients, Point
from modal.reduction.basis import Projected, ReducedBasis
from modal.reduction.instants import BODY, Instants
from modal.reduction.reduced_eigen import SmallModes, solve_points
from modal.reduction.reference_operator import ReferenceOperator
from modal.reduction.space import SAMPLE, WIDEST, Space, of_part, spread
from modal.types import Array, Index, Mask

REACH = 200  # largest number of reference modes computed to extend the starting basis
KEPT = 0.15  # of √tolerance: the relative size of directions that a local space keeps


class BodySpace(Space):
    """The space of the points of one affine family.

    span: points whose coefficients span those of all others. threads: of the small eigenproblems.
    highest: frequency, rad/s, up to which the first vectors hold all modes of K_ref at least.
    stored: `arrays` of an earlier space, which goes on; nothing is factorized until it grows.
    """

    family: AffineFamily
    projected: Projected
    _last: tuple[Instants, list[PrescribedMotion]] | None = None

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
        arrays = None if stored is None else of_part(BODY, stored)
        self.parts = {BODY: ReducedBasis.of(family, span, arrays=arrays)}
        if stored is not None:
            self.wanted = int(stored["wanted"][0])
            self.refresh()
            return
        modes = k + family.rigid.shape[1]
        count = modes + BLOCK
        few = span.take(spread(len(span), SAMPLE))
        while True:
            self.start = self.basis.include_lowest(count)
            self.refresh()
            if self.complete or count >= REACH:
                break
            if self.basis.resolved >= max(self.needed(few), highest):
                break
            count *= 2
        self._hold_dampers(span)

    def _hold_dampers(self, at: Coefficients) -> None:
        """Take up the static responses to the forces of dampers that act at a few places: the other
        shapes know nothing of them (modal/reduction/error_bounds.py)."""
        ranges = {}
        for j in np.flatnonzero(at.damping.any(axis=0)):
            term = self.family.terms[j]
            columns = None if term.symmetry == -1 else term.local_range(WIDEST)
            if columns is not None:
                ranges[int(j)] = columns
        if ranges:
            self.basis.hold(ranges)
            self.refresh()

    @property
    def basis(self) -> ReducedBasis:
        """The basis of its one part."""
        return self.parts[BODY]

    @property
    def reference(self) -> ReferenceOperator:
        """Its K_ref."""
        return self.basis.reference

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

    def on(self, points: Coefficients) -> Instants:
        """The points in the coordinates of the basis."""
        return Instants.of_body(self.projected, points)

    def lowest(self, at: Instants, k: int, every: bool = False) -> SmallModes:
        """The lowest modes of every point; every: all of them. Translations that the frame
        prescribes, and zeros where nothing dissipates, are not among them."""
        return self._solved(at, k, every, self._motions(at))

    def _solved(
        self, at: Instants, k: int, every: bool, motions: list[PrescribedMotion]
    ) -> SmallModes:
        conservative = self.family.conservative(at.at)
        fields, frequency, threads = at.body.overlap.T, at.body.frequency, self.threads
        prescribed = [(fields @ m.translations, fields @ m.free_null) for m in motions]
        return solve_points(at.matrices, frequency, conservative, k, threads, every, prescribed)

    def selected(self, at: Instants, every: bool = False) -> tuple[SmallModes, Mask]:
        """The modes that are certified, or all, and which of them the frame prescribes (P, k).

        Translations that the frame prescribes are not among them; the others are last, without
        values, which are exact.
        """
        motions = self._motions(at)
        modes = self._solved(at, self.wanted + self.extra, every, motions)
        prescribed = self._prescribed(at, modes, motions)
        if not self.extra:
            return modes, prescribed
        modes = modes.without(prescribed)
        index = np.argsort(prescribed, axis=1, kind="stable")
        index = index if every else index[:, : self.wanted]
        return modes.take(index), np.take_along_axis(prescribed, index, 1)

    def _prescribed(
        self, at: Instants, modes: SmallModes, motions: Sequence[PrescribedMotion]
    ) -> Mask:
        """Which modes (P, k), none of them translations, the frame prescribes."""
        prescribed = np.zeros(modes.eigenvalues.shape, dtype=bool)
        for p, motion in enumerate(motions):
            there = np.isfinite(modes.eigenvalues[p])
            q = modes.right[p][:, there]
            shares = at.body.overlap @ q / np.linalg.norm(q, axis=0)
            rest = motion.without_translations()
            prescribed[p, there] = rest.mask(modes.eigenvalues[p, there], shares)
        return prescribed

    def _motions(self, instants: Instants) -> list[PrescribedMotion]:
        """What the kinematics of the frame prescribe at each point of a free body; the last are
        stored."""
        if not self.extra:
            return []
        if self._last is not None and self._last[0] is instants:
            return self._last[1]
        at, overlap = instants.at, instants.body.overlap
        images = self.basis.images
        count = at.stiffness.shape[1]
        euler = np.where(self.family.is_euler[:count], at.stiffness, 0.0)
        weights = self.reference.mass_weights
        same = (at.mass == np.pad(weights, (0, count - len(weights)))).all(axis=1)
        rates = np.zeros(len(at)) if at.rate is None else at.rate
        motions = images.prescribed(at.damping, at.stiffness, euler, rates)
        none = PrescribedMotion.none(len(overlap))
        motions = [motion if held else none for motion, held in zip(motions, same, strict=True)]
        M, E, K = instants.matrices
        self._last = instants, counted(motions, M, E, K, overlap.T)
        return self._last[1]

    def prescribed_modes(self, at: Instants) -> tuple[SmallModes, Index]:
        """The modes that the frame prescribes at the points of a free body, but for those at zero,
        and how many eigenvalues its other motions as a whole have, (P,).

        Their condition numbers count as infinite.
        """
        inner, fields = self.basis.images.inner, at.body.overlap.T
        motions = self._motions(at)
        left, parts = np.full(len(at), 2 * fields.shape[1]), []
        for p, motion in enumerate(motions):
            T, turned = motion.translations, motion.turned
            C, K = (T.T @ np.tensordot(row[p], inner, 1) @ T for row in at.at.table[1:])
            t = T.shape[1]
            state = np.block([[np.zeros((t, t)), np.eye(t)], [-K, -C]])
            lam, adjoint, right = la.eig(state, left=True)
            # Where nothing accelerates they are defective: round-off splits them by its root.
            lam.real[np.abs(lam.real) <= GROUP * motion.scale] = 0.0
            kept = (lam.imag >= 0.0) & (np.abs(lam) > GROUP * motion.scale)
            lam = np.concatenate([lam[kept], 1j * motion.turned_rates])
            vectors = (np.hstack([T @ half[:, kept], turned]) for half in (right[:t], adjoint[t:]))
            right, adjoint = (fields @ columns for columns in vectors)
            left[p] -= motion.zero_eigenvalues + np.where(lam.imag > 0.0, 2, 1).sum()
            condition, scale = np.full((1, len(lam)), np.inf), np.array([motion.scale])
            pairs = lam[None], right[None], adjoint[None]
            parts.append(SmallModes(*pairs, condition, scale, np.array([False])))
        return SmallModes.joined(parts), left

    def local(self, at: Coefficients, guards: int = 4, apart: float = 0.8) -> Self:
        """A space of few vectors for points near those of `at`; not one that grows.

        Over a tile of a map the wanted modes span far fewer directions than over the map. Those of
        the points `at`, right and left, are compressed to the directions that matter (second order:
        what is left out at relative size t costs t² in an eigenvalue), and all that is projected or
        sketched is restricted to them. The bounds stay those of the full problem.

        guards: modes beyond those wanted that its basis holds at most; one at least, and so many
        that |λ| of the last wanted one is `apart` times that of the first that is left out. None is
        left out of as many as the space has vectors.
        """
        shared, instants = self.projected, self.on(at)
        motions, most = self._motions(instants), self.wanted + self.extra + guards + 1
        anchors = self._solved(instants, min(most, shared.size), False, motions)
        # What the frame prescribes is kept too, with its Jordan chains.
        prescribed = self._prescribed(instants, anchors, motions)
        last = self.wanted + int(prescribed.sum(axis=1).max())
        anchors = anchors.first(last + guards + 1)
        size = np.abs(anchors.eigenvalues)
        beyond = np.nan_to_num(size[:, last + 1 :], nan=np.inf).min(axis=0)
        far = np.flatnonzero(apart * beyond >= np.nan_to_num(size[:, :last]).max())
        if far.size:
            anchors = anchors.first(last + 2 + int(far[0]))
        count, columns = anchors.eigenvalues.shape[1], []
        kept_modes = slice(count if count == shared.size else count - 1)
        for vectors in (anchors.right, anchors.left):
            kept = vectors[:, :, kept_modes].transpose(1, 0, 2).reshape(shared.size, -1)
            kept = kept[:, np.isfinite(kept).all(axis=0)] * shared.frequency[:, None]
            kept = kept / np.linalg.norm(kept, axis=0)
            columns += [kept.real, kept.imag]
        U, sizes, _ = la.svd(np.hstack(columns), full_matrices=False)
        U = U[:, sizes > KEPT * np.sqrt(self.tolerance)]
        # With all rigid fields, and what dampers bend: what the frame prescribes is then exact here
        # too, and what is left out knows nothing of the dampers here too.
        held = shared.matrices[shared.held]
        bent = np.hstack([shared.overlap.T[:, :0], *held, *held.transpose(0, 2, 1)])
        bent = la.orth(bent, GROUP) / shared.frequency[:, None] ** 2 if len(held) else bent
        U = np.hstack([shared.overlap.T, U / shared.frequency[:, None], bent])
        Q, _ = la.qr(U, mode="economic")
        squares, Z = la.eigh(Q.T @ (shared.frequency[:, None] ** 2 * Q))
        outside = float(np.nanmin(np.abs(anchors.eigenvalues[:, -1]), initial=shared.resolved))
        other = copy.copy(self)
        other.coordinates = np.asarray(Q @ Z)
        other.projected = shared.on(other.coordinates, np.sqrt(squares), outside)
        return other

    @property
    def frame(self) -> Array:
        """The rotation of the vectors of the basis."""
        return self.basis.rotation

    def embedding(self, before: Array) -> Array:
        """Earlier Ritz vectors in the present ones."""
        return np.asarray(self.basis.rotation[: len(before)].T @ before)

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
        for names, coefficients in zip(ROLES, at.table, strict=True):
            own = system.combined(names) @ x
            images = [
                c * term.apply(x)
                for c, term in zip(coefficients[0], self.family.terms, strict=True)
                if c != 0.0
            ]
            if np.linalg.norm(own - sum(images)) > ZERO * sum(np.linalg.norm(i) for i in images):
                return False
        return True
