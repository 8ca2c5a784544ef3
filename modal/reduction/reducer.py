"""A reduced basis that grows where an error bound exceeds the tolerance (docs/numerics.md,
"Sweeps and maps").

It starts from the lowest modes of a reference stiffness. Where the error bound of an eigenvalue
exceeds the tolerance, it grows by K_ref⁻¹ × residual: all residuals above the tolerance are
compressed to their few dominant combinations, which one block solve turns into new vectors.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from assembly.types import Inexact
from modal.eigen.prescribed import PrescribedMotion
from modal.reduction.affine import AffineFamily, Coefficients
from modal.reduction.basis import Projected, ReducedBasis, Sketches
from modal.reduction.error_bounds import ErrorBounds, derivative_pairing, error_bounds, mass_norm
from modal.reduction.full_order import Examined
from modal.reduction.growth import grown
from modal.reduction.local_basis import local
from modal.reduction.reduced_eigen import SmallModes, solve_points
from modal.reduction.reference_operator import ReferenceOperator
from modal.reduction.residuals import Roles, sketched
from modal.types import Array, Index, Mask

ROUNDS = 30  # of growth at most
FAR_BELOW = 1e-4  # of the tolerance
REACH = 200  # largest number of reference modes computed to extend the reach
FURTHER = 8  # reference modes of the starting basis beyond those wanted, at most
SOUNDINGS = 24  # points at which the reach of the starting basis is examined


@dataclass(frozen=True)
class BodyPoints:
    """Points of a body, which is one part, in the coordinates of its basis."""

    projected: Projected
    at: Coefficients
    name: ClassVar[str] = "body"

    @property
    def coefficients(self) -> Mapping[str, Coefficients]:
        """The multipliers of the operators."""
        return {self.name: self.at}

    def taken(self, index: Index) -> BodyPoints:
        """Some of the points."""
        return replace(self, at=self.at.take(index))

    def roles(self, name: str, q: Inexact, v: Inexact, a: Inexact, adjoint: bool) -> Roles:
        """What the operators multiply, of displacement, velocity and acceleration (P, r, k)."""
        return a, v, q

    def sketch(self, name: str, roles: Roles, transposed: bool) -> Inexact:
        """Θ and Ξ of the residuals, (P, 2, p, k)."""
        projected = self.projected
        sketches = projected.adjoint_sketches if transposed else projected.sketches
        return sketched(sketches, self.at, roles)


class Reducer:
    """A basis for the points of one family, k modes each, grown until `tolerance` holds.

    tolerance: of the eigenvalues' error bounds, relative to |λ| (or to a hundredth of the first
    reference frequency where λ is smaller). threads: of the small eigenproblems. reach: frequency,
    rad/s, up to which the first vectors hold all modes of K_ref at least.
    """

    wanted: int
    coordinates: Array  # of a local basis in the shared one, (r, s)

    def __init__(
        self,
        family: AffineFamily,
        span: Coefficients,
        k: int,
        tolerance: float = 1e-6,
        threads: int = 1,
        reach: float = 0.0,
    ) -> None:
        self._set(family, k, tolerance, threads)
        self.reference = ReferenceOperator(family, span.padded(len(family.terms)))
        modes = k + family.rigid.shape[1]
        count = min(2 * modes + 6, modes + FURTHER)
        sketches = Sketches(self.reference)
        self.start = self.reference.start(count)
        self.basis = ReducedBasis(family, self.reference, self.start, sketches)
        self._resolve(count)
        few = span.take(spread(len(span), SOUNDINGS))
        while (
            self.basis.resolved < max(self.needed(few), reach)
            and not self.basis.complete
            and count < REACH
        ):
            count *= 2
            self.start = self.reference.start(count)
            self.basis.include(self.start.V)
            self._resolve(count)

    def _resolve(self, count: int) -> None:
        """The basis holds the `count` lowest reference modes: note up to which frequency."""
        self.projected = self.basis.projected()
        last = min(count, self.projected.size) - 1
        self.basis.resolved = float(self.projected.frequency[last])
        self.projected = self.basis.projected()

    def needed(self, at: Coefficients) -> float:
        """The frequency, rad/s, below which all reference modes must be in the basis.

        A shape u with uᴴK_ref u ≥ ω_c² that motion softens by s (K ≥ K_ref − sM) and a Coriolis
        matrix of norm g turns has λ² + (uᴴEu)λ + uᴴKu = 0, hence |λ|² + g|λ| ≥ ω_c² − s. To stay
        above the last mode wanted: ω_c² ≥ λ_k² + gλ_k + s. Norms are those in the present basis.
        """
        r = self.projected.size
        modes, _, _ = self.solve(at)
        last = np.nan_to_num(np.abs(modes.eigenvalues)).max(axis=1)
        flat = self.projected.matrices.reshape(-1, r * r)
        at = at.padded(len(flat))
        E, K = ((part @ flat).reshape(-1, r, r) for part in (at.damping, at.stiffness))
        K = K - np.diag(self.projected.frequency**2)
        gyroscopic = np.linalg.norm(0.5 * (E - E.transpose(0, 2, 1)), 2, axis=(1, 2))
        softening = -np.linalg.eigvalsh(0.5 * (K + K.transpose(0, 2, 1)))[:, 0]
        square = last**2 + gyroscopic * last + np.maximum(softening, 0.0)
        return float(np.sqrt(square.max()))

    def _set(self, family: AffineFamily, k: int, tolerance: float, threads: int) -> None:
        self.family, self.tolerance, self.threads = family, tolerance, threads
        self.wanted = k
        self.extra = 2 * family.rigid.shape[1]

    @property
    def floor(self) -> float:
        """Below this |λ| the tolerance is absolute, rad/s."""
        m = self.family.rigid.shape[1]
        return 0.01 * float(self.projected.frequency[min(m, self.projected.size - 1)])

    def solve(self, at: Coefficients) -> tuple[SmallModes, ErrorBounds, Mask]:
        """Modes of the points in the present basis; which are prescribed (P, k): they are last."""
        at = at.padded(len(self.projected.matrices))
        modes, prescribed = self.solved(at)
        return modes, error_bounds(self.projected, at, modes), prescribed

    def solved(self, at: Coefficients, every: bool = False) -> tuple[SmallModes, Mask]:
        """The modes wanted of the points, or all of them, and which are prescribed (P, k′).

        Translations that the frame prescribes are not among them; the others are last.
        """
        at = at.padded(len(self.projected.matrices))
        conservative, count = self.family.conservative(at), self.wanted + self.extra
        motions, overlap = self._motions(at), self.projected.overlap
        modes = solve_points(
            self.projected, at, conservative, count, self.threads, every,
            self._translations(motions),
        )  # fmt: skip
        if not self.extra:
            return modes, np.zeros(modes.eigenvalues.shape, dtype=bool)
        prescribed = np.zeros(modes.eigenvalues.shape, dtype=bool)
        for p, motion in enumerate(motions):
            there = np.isfinite(modes.eigenvalues[p])
            q = modes.right[p][:, there]
            shares = overlap @ q / np.linalg.norm(q, axis=0)
            rest = motion.without_translations()
            prescribed[p, there] = rest.mask(modes.eigenvalues[p, there], shares)
        modes = modes.without(prescribed)  # whose values are exact
        index = np.argsort(prescribed, axis=1, kind="stable")
        index = index if every else index[:, : self.wanted]
        return modes.take(index), np.take_along_axis(prescribed, index, 1)

    def _translations(self, motions: list[PrescribedMotion]) -> list[Array]:
        """The prescribed translations of each point in the coordinates of the basis."""
        return [self.projected.overlap.T @ motion.translations for motion in motions]

    def _motions(self, at: Coefficients) -> list[PrescribedMotion]:
        """What the kinematics of the frame prescribe at each point of a free body."""
        if not self.extra:
            return []
        images = self.basis.images
        count = at.stiffness.shape[1]
        euler = np.where(self.family.is_euler[:count], at.stiffness, 0.0)
        weights = self.reference.mass_weights
        tables = (at.mass, at.damping, at.stiffness)
        same = (at.mass == np.pad(weights, (0, count - len(weights)))).all(axis=1)
        motions = []
        for p in range(len(at)):
            if not same[p]:
                motions.append(PrescribedMotion.none(len(self.projected.overlap)))
                continue
            rates = [] if at.rate is None else [float(at.rate[p])]
            motion = images.prescribed(at.damping[p], at.stiffness[p], euler[p], rates)
            if motion.zeros is None:
                M, E, K = (np.tensordot(c[p], self.projected.matrices, 1) for c in tables)
                motion = motion.counted(M, E, K, self.projected.overlap.T)
            motions.append(motion)
        return motions

    def accepted(self, modes: SmallModes, certificate: ErrorBounds, prescribed: Mask) -> Array:
        """error_bound / allowed (P, k), at most 1 where it holds.

        An eigenvalue so ill-conditioned (about to coalesce with another, or with its negative at
        zero) that no basis can reach the tolerance counts as accepted when the perturbation behind
        its bound is at round-off or far below the tolerance; its bound says what is known.
        """
        allowed = self.tolerance * np.maximum(np.abs(modes.eigenvalues), self.floor)
        small = np.maximum(FAR_BELOW * allowed, 4.0 * certificate.round_off)
        ratio = np.fmin(certificate.error_bound / allowed, certificate.perturbation / small)
        ratio[prescribed | np.isnan(ratio)] = 0.0
        return np.asarray(ratio)

    def train(self, at: Coefficients) -> bool:
        """Grow the basis until every point of `at` is accepted; False when it cannot."""
        at = at.padded(len(self.projected.matrices))
        for _ in range(ROUNDS):
            modes, certificate, prescribed = self.solve(at)
            ratio = self.accepted(modes, certificate, prescribed)
            if ratio.max(initial=0.0) <= 1.0:
                return True
            worst = np.flatnonzero(ratio.max(axis=1) > 1.0)
            if not self._grow(at.take(worst), modes.points(worst), ratio[worst]):
                return False
        return False

    def _grow(self, at: Coefficients, modes: SmallModes, ratio: Array) -> bool:
        """One round: dominant combinations of the failing residuals, right and left."""
        if self.basis.complete:
            return False
        points = BodyPoints(self.projected, at)
        added = grown({BodyPoints.name: self.basis}, [(points, modes, ratio)])
        self.projected = self.basis.projected()
        return added > 0

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """All that `restored` needs to go on bit by bit where this reducer stands."""
        return self.basis.arrays() | {
            "weights": self.reference.weights,
            "shift": np.array([self.reference.shift]),
            "wanted": np.array([self.wanted]),
        }

    @classmethod
    def restored(
        cls,
        family: AffineFamily,
        span: Coefficients,
        arrays: Mapping[str, NDArray[np.generic]],
        tolerance: float,
        threads: int = 1,
    ) -> Self:
        """The reducer whose `arrays` were kept; nothing is factorized until a basis has to grow."""
        made = cls.__new__(cls)
        made._set(family, int(np.asarray(arrays["wanted"])[0]), tolerance, threads)
        span = span.padded(len(family.terms))
        made.reference = ReferenceOperator(
            family, span, (np.asarray(arrays["weights"], dtype=float), float(arrays["shift"][0]))
        )
        made.basis = ReducedBasis.restored(family, made.reference, arrays)
        made.projected = made.basis.projected()
        return made

    def local(self, at: Coefficients, guard: int = 1) -> Self:
        """A reducer of few vectors for points near those of `at`; not one that grows.

        guard: modes beyond those wanted that its basis holds: the next is then not too near.
        """
        at = at.padded(len(self.projected.matrices))
        count = min(self.wanted + self.extra + guard + 1, self.projected.size)
        modes = solve_points(
            self.projected, at, self.family.conservative(at), count,
            prescribed=self._translations(self._motions(at)),
        )  # fmt: skip
        other = copy.copy(self)
        other.projected, other.coordinates = local(self.projected, modes, self.tolerance)
        return other

    @property
    def parts(self) -> Mapping[str, ReducedBasis]:
        """The basis by the name of its part."""
        return {BodyPoints.name: self.basis}

    @property
    def complete(self) -> bool:
        """The basis spans everything."""
        return self.basis.complete

    def without_sketches(self) -> Self:
        """A copy whose basis grows on its own, without sketches."""
        other = copy.copy(self)
        other.basis = self.basis.without_sketches()
        return other

    def examined(self, at: Coefficients, count: int) -> Examined:
        """The lowest modes of one point in the present basis."""
        projected = self.basis.projected()
        conservative = self.family.conservative(at)
        modes = solve_points(projected, at, conservative, min(count, 2 * projected.size))
        modes = modes.take(np.flatnonzero(np.isfinite(modes.eigenvalues[0]))[None])
        energy = np.sqrt(2.0) * np.abs(modes.eigenvalues) * mass_norm(projected, at, modes.right)
        pairing = derivative_pairing(projected, at, modes)
        return Examined(BodyPoints(projected, at), modes, energy[0], pairing[0])

    def quotient_round_off(self, sizes: Array) -> Array:
        """Round-off of eigenvalues of some sizes |λ|, rad/s, per unit condition."""
        return self.reference.round_off(sizes)

    def branch(self, tolerance: float) -> Self:
        """A reducer that grows on its own from here; this one keeps its basis."""
        other = copy.copy(self)
        other.tolerance = tolerance
        other.basis = copy.copy(self.basis)
        return other

    def destroy(self) -> None:
        self.reference.destroy()


def spread(count: int, wanted: int) -> Index:
    """`wanted` indices spread over range(count) like Chebyshev points, both ends included."""
    if count <= wanted:
        return np.arange(count)
    x = 0.5 * (1.0 - np.cos(np.pi * np.arange(wanted) / (wanted - 1)))
    return np.asarray(np.unique(np.round(x * (count - 1)).astype(np.intp)))
