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

so that κ and τ are Frobenius norms of γ²Q^½H_VV⁻¹Q^½ and γH_VV⁻¹Q^½, of the order of V.

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
from modal.reduction.affine import AffineFamily
from modal.reduction.basis import mass_bounds
from modal.reduction.mass_basis import MassBasis
from modal.reduction.reference_operator import ReferenceOperator
from modal.reduction.space import SAMPLE, WIDEST
from modal.response.direct import singular
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
        √σ over the largest frequency, at least, where one is needed."""
        self.n, self.highest = system.n, highest
        whole = FrozenSystem(M=system.M, C=system.damping, K=system.stiffness, rigid=system.rigid)
        family = AffineFamily(lambda _: whole, {})
        at = family.coefficients([{}])
        self.reference = ReferenceOperator(family, at)
        weights, self.shift = self.reference.weights, self.reference.shift
        least = (shift * highest) ** 2
        if 0.0 < self.shift < least:  # rigid motions are not to be small in the energy norm
            self.reference.destroy()
            self.reference, self.shift = ReferenceOperator(family, at, (weights, least)), least
        mass = self.reference.mass
        self.K_ref = sp.csr_matrix(family.symmetric_part(weights) + self.shift * mass)
        E, K = whole.damping, whole.stiffness
        halves = {"G": (E - E.T, E), "D": (E + E.T, E), "N": (K - K.T, K)}
        self.parts = {"M": sp.csr_matrix(mass)}
        for name, (A, of) in halves.items():
            if spla.norm(A) > ROUND_OFF * spla.norm(of):
                self.parts[name] = sp.csr_matrix(0.5 * A)
        self.gyroscopic = _mass_norm(self.parts["G"], mass) if "G" in self.parts else 0.0
        self.largest = np.abs(self.factors(np.array([highest]))[0])
        self.force = force
        self.basis = MassBasis(self.K_ref)
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
        modes = self.reference.start(self.count).V
        values = np.einsum("ij,ij->j", modes, self.K_ref @ modes)
        order = np.argsort(values)
        goal = MARGIN**2 * (w**2 + self.shift + w * self.gyroscopic)
        needed = int(np.searchsorted(values[order], goal)) + 1
        self.complete = needed <= self.count or self.count == self.n
        self.modes = modes[:, order[:needed]]
        if needed <= len(order):
            self.cutoff = float(np.sqrt(values[order[needed - 1]]))

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
        for name, A in self.parts.items():
            new = self.reference.solve(A @ V[:, before:])
            self.responses[name] = np.hstack([self.responses[name], new])
        stacked = np.hstack(list(self.responses.values()))
        inside = KV.T @ stacked
        self.reduced = np.stack(np.split(inside, len(self.parts), axis=1))
        stacked = stacked - V @ inside
        stacked -= V @ (KV.T @ stacked)
        complement = MassBasis(self.K_ref)
        if r < self.n:
            complement.append(*complement.directions(stacked.copy()))
        self.complement = complement.V
        self.coordinates = complement.MV.T @ stacked
        scaled = self.coordinates * np.repeat(self.largest, r)
        gram = (scaled.T @ scaled).reshape(len(self.parts), r, len(self.parts), r)
        self.coupling = np.einsum("iris->rs", gram)  # Q

    def at(self, w: Array) -> _Points:
        """The Galerkin solutions at angular frequencies (F,), and bounds of their errors."""
        c, Q = self.factors(w), self.coupling
        H = np.eye(self.basis.size) + np.tensordot(c, self.reduced, axes=1)
        try:
            inverse = np.linalg.inv(H)
        except np.linalg.LinAlgError:
            raise singular(float(w[np.abs(np.linalg.det(H)).argmin()])) from None
        y = inverse @ self.load
        residual = -(c[:, :, None] * y[:, None, :]).reshape(len(w), -1) @ self.coordinates.T
        image = inverse @ Q
        gamma = np.linalg.norm(c / self.largest, axis=1)
        tau = gamma * np.sqrt(np.einsum("fij,fij->f", image, inverse.conj()).real)
        kappa = gamma**2 * np.sqrt(np.einsum("fij,fij->f", Q @ image, inverse.conj()).real)
        alpha = 1.0 - (w**2 + self.shift + w * self.gyroscopic) / self.cutoff**2
        bounded, size = kappa < alpha, np.linalg.norm(y, axis=1)
        terms = np.abs(c) * np.linalg.norm(self.reduced @ y.T, axis=1).T
        noise = self.round_off * np.linalg.norm(inverse, axis=(1, 2)) * (size + terms.sum(axis=1))
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
            self._include(self.complement @ chosen)

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

    probes (P,): numbers of degrees of freedom. It ends when all is finished, when the error falls
    no more, or as soon as the frequencies left take less time at `direct_seconds` each, s.
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
        some = np.unique(np.linspace(0, len(w) - 1, SAMPLE).astype(int))
        blocks = int(np.ceil(len(w) * basis.basis.size**2 / ENTRIES * 2))
        for block in (some, *np.array_split(np.arange(len(w)), blocks)):
            group, before = block[~out.finished[block]], np.inf
            while group.size:
                begun = clock()
                basis.project()
                projected = clock()
                points = basis.at(w[group])
                good = points.relative <= accuracy
                out.enter(group[good], *basis.at_probes(points, good, probes))
                out.size, out.solves = basis.basis.size, basis.reference.solves
                each, group = (clock() - projected) / len(group), group[~good]
                if not group.size:
                    break
                error = float(points.relative[~good].max())
                if not error < before:
                    return
                # It falls on as it did so far, in the first round to the accuracy.
                fall = error / before or accuracy / error
                rounds = max(1.0, np.log(accuracy / error) / np.log(fall))
                left = np.count_nonzero(~out.finished)
                seconds = rounds * (projected - begun + each * group.size) + each * left
                late = rounds > 1.0 and clock() - start > trial * direct_seconds * len(w)
                if late or seconds > direct_seconds * left:
                    return
                basis.grow(points, ~good)
                before = error
    finally:
        basis.destroy()


def _mass_norm(G: sp.csr_matrix, mass: sp.csr_matrix) -> float:
    """A bound of |xᴴGx| / xᴴMx: the largest row sum of |G| scaled by diag(M), over that of M."""
    diagonal = mass.diagonal()
    scale = sp.diags(1.0 / np.sqrt(diagonal))
    low, _ = mass_bounds(mass, diagonal)
    return float(abs(scale @ G @ scale).sum(axis=1).max()) / low
