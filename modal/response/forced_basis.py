"""Forced response in a real basis with a bound of its error (docs/numerics.md, "Forced response").

H(ω) = S − ω²M + iω(G + D) + N with symmetric S and D, skew G and N. In the inner product of
K_ref = S + σM, with V orthonormal and Z its complement, the Galerkin solution V y of H q = f leaves
a residual in Z alone, of norm ρ. Z is coercive above the modes that V holds:

    Re zᴴHz ≥ 1 − (ω² + σ + ωg)/ω_c² = α    for zᴴK_ref z = 1,

ω_c² the least zᴴK_ref z / zᴴMz on Z and g ≥ |xᴴGx| / xᴴMx. The Schur complement of the block of V
gives with κ ≥ ‖H_ZV H_VV⁻¹H_VZ‖ and τ ≥ ‖H_VV⁻¹H_VZ‖ the error e:

    ‖e_Z‖ ≤ ρ / (α − κ),   ‖e_V‖ ≤ τ ‖e_Z‖    where κ < α,

and round-off is added to both. The operators of H are P_i, c_i(ω) their factors and R_i the
coordinates of K_ref⁻¹P_iV in Z. With μ_i the largest |c_i| and Q = Σ μ_i² R_iᵀR_i

    H_VZ H_VZᴴ, H_ZVᴴH_ZV ≼ γ²Q,   γ² = Σ |c_i/μ_i|²

so that κ and τ are Frobenius norms of γ²Q^½H_VV⁻¹Q^½ and γH_VV⁻¹Q^½, of the order of V. Sums over
the poles of H_VV⁻¹ give them at every ω without a factorization.

V starts from the lowest modes of (K_ref, M) and the static responses (K_ref⁻¹M)^j K_ref⁻¹f, and
grows by K_ref⁻¹ × residual.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from assembly.linalg.symmetric import ROUND_OFF
from assembly.magnitudes import ENTRIES
from assembly.system.frozen import FrozenSystem
from modal.eigen.solve import LAPACK
from modal.eigen.solvers.dense import general
from modal.eigen.solvers.shape_basis import lift
from modal.eigen.tolerances import GROUP
from modal.proofs.ratios import skew_ratio
from modal.reduction.affine import AffineFamily
from modal.reduction.mass_basis import MassBasis
from modal.reduction.reference_operator import ReferenceOperator
from modal.reduction.space import SAMPLE, WIDEST
from modal.types import Array, Complex, Index, Mask

MARGIN = 1.5  # ω_c over the largest frequency, in the first basis


@dataclass
class ForcedResponse:
    """Displacements (F, P) and bounds of their errors (F, P), at F frequencies and P probes.

    finished (F,): which of them are there. size: vectors of the basis.
    """

    displacement: Complex
    error_bound: Array
    finished: Mask
    size: int = 0
    solves: int = 0

    def enter(self, index: Index, values: Complex, bounds: Array | float) -> None:
        """Those of some frequencies."""
        self.displacement[index], self.error_bound[index] = values, bounds
        self.finished[index] = True


@dataclass(frozen=True)
class _Points:
    """At F frequencies: y (F, r), residual in Z (F, q), and bounds (F,) of ‖e_V‖, ‖e_Z‖ and
    ‖e‖/‖y‖. Where κ > α leaves no bound, `relative` is κ/α."""

    y: Complex
    residual: Complex
    in_basis: Array
    outside: Array
    relative: Array


class ForcedBasis:
    """The basis V of one system and one real or complex load (n,)."""

    def __init__(
        self,
        system: FrozenSystem,
        force: Complex,
        highest: float,
        fewest: int = 12,
        shift: float = 0.1,
    ) -> None:
        """highest: the largest angular frequency, rad/s. fewest: modes of the first basis. shift:
        √σ over the largest frequency, at least."""
        self.n, self.highest = system.n, highest
        whole = FrozenSystem(M=system.M, C=system.damping, K=system.stiffness, rigid=system.rigid)
        family = AffineFamily(lambda _: whole, {})
        at = family.coefficients([{}])
        # Rigid and soft motions are not to be small in the energy norm.
        self.reference = ReferenceOperator(family, at, least=(shift * highest) ** 2)
        weights, self.shift = self.reference.weights, self.reference.shift
        mass = self.reference.mass
        self.K_ref = sp.csr_matrix(family.symmetric_part(weights) + self.shift * mass)
        E, K = whole.damping, whole.stiffness
        halves = {"G": (E - E.T, E), "D": (E + E.T, E), "N": (K - K.T, K)}
        self.parts = {"M": sp.csr_matrix(mass)}
        for name, (A, of) in halves.items():
            if spla.norm(A) > ROUND_OFF * spla.norm(of):
                self.parts[name] = sp.csr_matrix(0.5 * A)
        turning = self.parts.get("G", sp.csr_matrix((self.n, self.n)))
        self.gyroscopic = (1.0 + ROUND_OFF) * skew_ratio(turning, self.parts["M"])
        self.largest = np.abs(self.factors(np.array([highest]))[0])
        self.force = force
        self.basis, self.complement = MassBasis(self.K_ref), MassBasis(self.K_ref)
        self.responses = {name: np.zeros((self.n, 0)) for name in self.parts}  # K_ref⁻¹ A V
        self.count, self.cutoff, self.complete = fewest // 2, np.inf, False
        self.compliance: Array | None = None

    def factors(self, w: Array) -> Complex:
        """c_i(ω), (F, parts)."""
        of = {"M": -(w**2 + self.shift) + 0j, "G": 1j * w, "D": 1j * w, "N": np.ones_like(w)}
        return np.stack([of[name] for name in self.parts], axis=1)

    def more_modes(self) -> None:
        """Twice as many of the lowest modes of (K_ref, M) as before; `complete` with those up to
        the first that is far enough above the largest frequency."""
        self.count, w = min(2 * self.count, self.n), self.highest
        space = self.reference.start(self.count).V
        values, Y = la.eigh(space.T @ (self.K_ref @ space))
        goal = MARGIN**2 * (w**2 + self.shift + w * self.gyroscopic)
        needed = int(np.searchsorted(values, goal)) + 1
        self.complete = needed <= len(values) or self.count == self.n
        self.modes = lift(space, Y[:, :needed])
        if needed <= len(values):
            self.cutoff = float(np.sqrt(values[needed - 1]))

    def begin(self, responses: int, noise: float = 10.0) -> None:
        """The modes and static responses.

        noise: round-off of a solve over what one step of refinement shows.
        """
        self._include(self.modes)
        load = np.column_stack([part for part in (self.force.real, self.force.imag) if part.any()])
        for k in range(responses):
            static = self.reference.solve(load)
            if k == 0:
                step = self.reference.solve(load - self.K_ref @ static)
                energies = [np.einsum("ij,ij->", X, self.K_ref @ X) for X in (step, static)]
                refined = float(np.sqrt(energies[0] / energies[1]))
                self.round_off = noise * (refined + float(np.finfo(float).eps))
            self._include(static)
            load = self.parts["M"] @ (static / np.linalg.norm(static, axis=0))

    def _include(self, vectors: Array) -> None:
        self.basis.append(*self.basis.directions(vectors.copy()))

    def project(self) -> None:
        """Everything that a frequency needs, nothing of order n."""
        V, KV = self.basis.V, self.basis.MV
        r, before = self.basis.size, self.responses["M"].shape[1]
        self.load = V.T @ self.force
        new = {name: self.reference.solve(A @ V[:, before:]) for name, A in self.parts.items()}
        self.responses = {name: np.hstack([X, new[name]]) for name, X in self.responses.items()}
        stacked, fresh = (np.hstack(list(X.values())) for X in (self.responses, new))
        inside = KV.T @ stacked
        self.reduced = np.stack(np.split(inside, len(self.parts), axis=1))
        for _ in range(2):
            fresh -= V @ (KV.T @ fresh)
        # What V took from Z is no longer in Z.
        taken = la.null_space((self.complement.MV.T @ V[:, before:]).T)
        self.complement.V, self.complement.MV = (
            lift(X, taken) for X in (self.complement.V, self.complement.MV)
        )
        if r < self.n:
            self.complement.append(*self.complement.directions(fresh))
        self.coordinates = self.complement.MV.T @ (stacked - V @ inside)
        scaled = self.coordinates * np.repeat(self.largest, r)
        gram = (scaled.T @ scaled).reshape(len(self.parts), r, len(self.parts), r)
        self.coupling = np.einsum("iris->rs", gram)  # Q
        self._diagonalize()

    def _diagonalize(self, split: float = 1e-10) -> None:
        """The poles λ_j of (H_VV + split I)⁻¹ = Σ x_j y_jᴴ / (iω − λ_j), and what norms need.

        split: makes simple ones of the double pole at zero of free motions.
        """
        one, zero = np.eye(self.basis.size), self.factors(np.zeros(1))[0].real
        parts = dict(zip(self.parts, self.reduced, strict=True))
        K = (1.0 + split) * one + np.tensordot(zero, self.reduced, axes=1)
        M, C = parts["M"], parts.get("G", 0.0 * one) + parts.get("D", 0.0 * one)
        unit = 1.0 / np.sqrt(np.linalg.norm(M, 2))
        poles, X, self.left = general(unit**2 * M, unit * C, K, singular=GROUP)
        self.poles, self.split = unit * poles, split
        slope = 2.0 * (M @ X) * self.poles + C @ X
        self.right = X / (self.left.conj() * slope).sum(axis=0)
        (x, xQ), (y, yQ) = (
            [V.conj().T @ A @ V for A in (one, self.coupling)] for V in (self.right, self.left)
        )
        # ‖A^½ H⁻¹ B^½‖² as a form in the 1/(iω − λ_j), for (A, B) = (I, I), (I, Q), (Q, Q).
        self.forms = [x * y.T, x * yQ.T, xQ * yQ.T]

    def at(self, w: Array) -> _Points:
        """The Galerkin solutions at angular frequencies (F,), and bounds of their errors."""
        c, r = self.factors(w), self.basis.size
        y, missed = np.zeros((len(w), r), complex), np.tile(self.load, (len(w), 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            weights = 1.0 / (1j * w[:, None] - self.poles)
            for _ in range(3):
                y = y + (weights * (missed @ self.left.conj())) @ self.right.T
                images = c.T[:, :, None] * (y @ self.reduced.transpose(0, 2, 1))
                missed = self.load - y - images.sum(axis=0)
            sizes = [np.einsum("fj,fj->f", weights.conj(), weights @ P.T).real for P in self.forms]
            # Round-off of these sums; then back from H_VV + split I.
            noise = [(np.abs(weights) @ np.sqrt(np.abs(P.diagonal()))) ** 2 for P in self.forms]
            eps = 2.0 * r * np.finfo(float).eps
            inverse, tau, kappa = (np.sqrt(a + eps * b) for a, b in zip(sizes, noise, strict=True))
            moved = 1.0 / np.maximum(1.0 - self.split * inverse, 0.0)
            inverse, tau = moved * inverse, moved * tau
            kappa = kappa + self.split * np.sqrt(np.trace(self.coupling)) * inverse * tau
            gamma = np.linalg.norm(c / self.largest, axis=1)
            tau, kappa = gamma * tau, gamma**2 * kappa
            residual = -(c[:, :, None] * y[:, None, :]).reshape(len(w), -1) @ self.coordinates.T
            alpha = 1.0 - (w**2 + self.shift + w * self.gyroscopic) / self.cutoff**2
            bounded, size = kappa < alpha, np.linalg.norm(y, axis=1)
            terms = size + np.linalg.norm(images, axis=2).sum(axis=0)
            noise = inverse * (self.round_off * terms + np.linalg.norm(missed, axis=1))
            beyond = np.linalg.norm(residual, axis=1) / np.where(bounded, alpha - kappa, np.nan)
            in_basis, outside = tau * beyond + noise, beyond + noise
            relative = np.where(bounded, np.hypot(in_basis, outside) / size, kappa / alpha)
        return _Points(y, residual, in_basis, outside, relative)

    def grow(self, points: _Points, worse: Mask) -> None:
        """Add the dominant combinations of some points' residuals, relative to the responses.

        Where κ leaves no bound, also the dominant directions of the coupling of V with Z.
        """
        columns = (points.residual[worse] / np.linalg.norm(points.y[worse], axis=1)[:, None]).T
        blocks = [np.hstack([columns.real, columns.imag])]
        if (points.relative[worse] >= 1.0).any():
            blocks.append(self.coordinates * np.repeat(self.largest, self.basis.size))
        for block in blocks if len(self.coordinates) else ():
            U, sizes, _ = la.svd(block, full_matrices=False)
            chosen = U[:, : min(WIDEST, int((sizes > 1e-8 * sizes[0]).sum()))]
            self._include(self.complement.V @ chosen)

    def destroy(self) -> None:
        """Give the memory of the factor back."""
        self.reference.destroy()

    def at_probes(self, points: _Points, good: Mask, probes: Index) -> tuple[Complex, Array]:
        """Displacements and bounds |cᵀe| ≤ ‖c_V‖‖e_V‖ + ‖c_Z‖‖e_Z‖ of some points, (F, P)."""
        V = self.basis.V[probes]
        if self.compliance is None:  # of the probes, eᵀK_ref⁻¹e
            unit = np.zeros((self.n, len(probes)))
            unit[probes, np.arange(len(probes))] = 1.0
            self.compliance = self.reference.solve(unit)[probes, np.arange(len(probes))]
        inside = np.linalg.norm(V, axis=1)
        outside = np.sqrt(np.maximum(self.compliance - inside**2, 0.0))
        bounds = np.outer(points.in_basis, inside) + np.outer(points.outside, outside)
        return np.asarray(points.y[good] @ V.T, dtype=complex), np.asarray(bounds[good])


def respond_on_basis(
    out: ForcedResponse,
    system: FrozenSystem,
    angular_frequencies: Array,
    force: Complex,
    probes: Index,
    accuracy: float,
    direct_seconds: float,
    trial: float = 0.2,
) -> None:
    """Enter the response at angular frequencies (F,), rad/s, to ‖e‖ ≤ accuracy ‖q‖ in the energy
    norm.

    probes (P,): numbers of degrees of freedom. It ends when all is finished but where the error
    falls no more, or as soon as the frequencies left take less time at `direct_seconds` each, s.
    trial: of the time of all direct solves, what a basis may take whose end is not in sight.
    """
    w, clock = angular_frequencies, time.process_time
    start = clock()
    basis = ForcedBasis(system, force, float(w.max()))
    try:
        while not basis.complete:
            if clock() - start > trial * direct_seconds * len(w):
                return
            basis.more_modes()
        # Of the error by each static response: that of conjugate gradients with θ ≤ 1/MARGIN².
        root = np.sqrt(1.0 - MARGIN**-2)
        basis.begin(max(1, int(np.log(accuracy) / np.log((1.0 - root) / (1.0 + root)))))
        # A projection takes the eigensolution of all modes of the basis.
        if LAPACK * basis.basis.size**3 > direct_seconds * len(w):
            return
        some = np.unique(np.linspace(0, len(w) - 1, SAMPLE).astype(int))
        blocks = int(np.ceil(len(w) * basis.basis.size * len(basis.parts) / ENTRIES))
        for block in (some, *np.array_split(np.arange(len(w)), blocks)):
            group, before, each = block[~out.finished[block]], np.inf, np.inf
            while group.size:
                begun = clock()
                if basis.responses["M"].shape[1] < basis.basis.size:
                    basis.project()
                    projecting = clock() - begun
                projected = clock()
                points = basis.at(w[group])
                good = points.relative <= accuracy
                out.enter(group[good], *basis.at_probes(points, good, probes))
                out.size, out.solves = basis.basis.size, basis.reference.solves
                # What few points take is hardly more than what one does.
                each, group = min(each, (clock() - projected) / len(group)), group[~good]
                if not group.size:
                    break
                error = float(points.relative[~good].max())
                if not error < before:
                    break  # round-off next to a resonance, as a rule; others may be finished
                # It falls on as it did so far, in the first round to the accuracy.
                fall = error / before or accuracy / error
                rounds = max(1.0, np.log(accuracy / error) / np.log(fall))
                left = np.count_nonzero(~out.finished)
                seconds = rounds * (projecting + each * group.size) + each * left
                late = rounds > 1.0 and clock() - start > trial * direct_seconds * len(w)
                if late or seconds > direct_seconds * left:
                    return
                basis.grow(points, ~good)
                before = error
    finally:
        basis.destroy()
