"""Forced response in a real basis with a bound of its error (docs/numerics.md, "Forced response").

H(ω) = S − ω²M + iω(G + D) + N with symmetric S and D, skew G and N. In the inner product of
K_ref = S + σM, with V orthonormal and Z its complement, the Galerkin solution V y of H q = f leaves
a residual in Z alone, of norm ρ. Z is coercive above the modes that V holds:

    Re zᴴHz ≥ 1 − (ω² + σ + ωg)/ω_c² = 1/a    for zᴴK_ref z = 1,

ω_c² the least zᴴK_ref z / zᴴMz on Z and g ≥ |xᴴGx| / xᴴMx. With the Schur complement of the block
of Z, and τ = ‖H_VV⁻¹H_VZ‖, δ = ‖H_ZV‖, the error e has

    ‖e_V‖ ≤ τaρ / (1 − τaδ),   ‖e_Z‖ ≤ a(ρ + δ‖e_V‖)    where τaδ < 1,

and round-off is added to both: that of one solve, measured, times the condition number of H_VV.

V starts from the lowest modes of (K_ref, M) and the static response K_ref⁻¹f, and grows by
K_ref⁻¹ × residual.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from assembly.errors import ConvergenceError
from assembly.system.frozen import FrozenSystem
from modal.reduction.affine import AffineFamily
from modal.reduction.basis import mass_bounds
from modal.reduction.mass_basis import MassBasis
from modal.reduction.reference_operator import ReferenceOperator
from modal.types import Array, Complex, Index

ROUNDS = 20
WIDEST = 16  # vectors added in one round
MARGIN = 1.5  # ω_c over the largest frequency, in the first basis
FEWEST = 12  # modes of the first basis
SHIFT = 0.1  # √σ over the largest frequency, at least, where a shift is needed
ROUND_OFF = 1e-15  # of the largest entry: a half of a matrix below it is not there
NOISE = 10.0  # round-off of a solve over what one step of refinement shows
SKEW = ("G", "N")


@dataclass(frozen=True)
class ForcedResponse:
    """Displacements (F, P) and bounds of their errors (F, P), at F frequencies and P probes."""

    displacement: Complex
    error_bound: Array
    size: int
    solves: int


@dataclass(frozen=True)
class _Point:
    """At one frequency: y (r,), residual in Z (q,), ρ, and the bounds of e_V and e_Z."""

    y: Complex
    residual: Complex
    in_basis: float
    outside: float

    def relative(self) -> float:
        """Bound of ‖e‖ over ‖V y‖."""
        return float(np.hypot(self.in_basis, self.outside) / np.linalg.norm(self.y))


class ForcedBasis:
    """The basis V of one system and one real or complex load (n,)."""

    def __init__(self, system: FrozenSystem, force: Complex, highest: float) -> None:
        """highest: the largest angular frequency, rad/s."""
        self.system = FrozenSystem(
            M=system.M, C=system.damping, K=system.stiffness, rigid=system.rigid
        )
        family = AffineFamily(lambda _: self.system, {})
        at = family.coefficients([{}])
        self.reference = ReferenceOperator(family, at)
        weights, self.shift = self.reference.weights, self.reference.shift
        least = (SHIFT * highest) ** 2
        if 0.0 < self.shift < least:  # rigid motions are not to be small in the energy norm
            self.reference.destroy()
            self.reference, self.shift = ReferenceOperator(family, at, (weights, least)), least
        mass = self.reference.mass
        self.K_ref = sp.csr_matrix(family.symmetric_part(weights) + self.shift * mass)
        E, K = self.system.damping, self.system.stiffness
        halves = {"G": (E - E.T, E), "D": (E + E.T, E), "N": (K - K.T, K)}
        self.parts = {"M": sp.csr_matrix(mass)}
        for name, (A, of) in halves.items():
            if _size(A) > ROUND_OFF * _size(of):
                self.parts[name] = sp.csr_matrix(0.5 * A)
        self.gyroscopic = _mass_norm(self.parts["G"], mass) if "G" in self.parts else 0.0
        self.force = force
        self.basis = MassBasis(self.K_ref)
        self.responses = {name: np.zeros((system.n, 0)) for name in self.parts}  # K_ref⁻¹ A V
        goal = MARGIN * np.sqrt(highest**2 + self.shift + highest * self.gyroscopic)
        self.count, self.cutoff = FEWEST // 2, 0.0
        while self.cutoff < goal:
            modes = self._more_modes()
        self._include(modes)
        static = self.reference.solve(_parts_of(force))
        self.round_off = self._correction(static, _parts_of(force))
        self._include(static)

    def _correction(self, solution: Array, load: Array) -> float:
        """Relative size, in the energy norm, of one step of iterative refinement: round-off."""
        step = self.reference.solve(load - self.K_ref @ solution)
        energies = [float(np.einsum("ij,ij->", X, self.K_ref @ X)) for X in (step, solution)]
        return float(np.sqrt(energies[0] / energies[1])) + float(np.finfo(float).eps)

    def _more_modes(self) -> Array:
        """Twice as many of the lowest modes of (K_ref, M) as before, (n, count)."""
        self.count = min(2 * self.count, self.system.n)
        modes = self.reference.start(self.count).V
        values = np.einsum("ij,ij->j", modes, self.K_ref @ modes)
        self.cutoff = float(np.sqrt(values.max())) if self.count < self.system.n else np.inf
        return modes

    def _include(self, vectors: Array) -> None:
        self.basis.append(*self.basis.directions(vectors.copy()))

    def project(self) -> None:
        """Everything that a frequency needs, nothing of order n."""
        V, KV = self.basis.V, self.basis.MV
        r, known = self.basis.size, self.responses["M"].shape[1]
        self.load = V.T @ self.force
        self.reduced, outside = {}, []
        for name, A in self.parts.items():
            fresh = self.reference.solve(A @ V[:, known:])
            self.responses[name] = np.hstack([self.responses[name], fresh])
            inside = KV.T @ self.responses[name]
            self.reduced[name] = inside
            outside.append(self.responses[name] - V @ inside)
        stacked = np.hstack(outside)
        stacked -= V @ (KV.T @ stacked)
        complement = MassBasis(self.K_ref)
        complement.append(*complement.directions(stacked.copy()))
        coordinates = complement.MV.T @ stacked
        self.complement = complement.V
        self.outer = {
            name: coordinates[:, k * r : (k + 1) * r] for k, name in enumerate(self.parts)
        }

    def at(self, w: float) -> _Point:
        """The Galerkin solution at an angular frequency, and bounds of its error."""
        r, q = self.basis.size, self.complement.shape[1]
        H, lower, upper = np.eye(r) + 0j, np.zeros((q, r)) + 0j, np.zeros((r, q)) + 0j
        for name in self.parts:
            factor = -(w**2 + self.shift) if name == "M" else 1.0 if name == "N" else 1j * w
            H += factor * self.reduced[name]
            lower += factor * self.outer[name]
            upper += (-factor if name in SKEW else factor) * self.outer[name].T
        solved = la.solve(H, np.column_stack([self.load, upper]))
        y = solved[:, 0]
        residual = -lower @ y
        noise = NOISE * self.round_off * float(np.linalg.cond(H) * np.linalg.norm(y))
        if r == self.system.n:
            return _Point(y, residual, noise, 0.0)
        room = 1.0 - (w**2 + self.shift + w * self.gyroscopic) / self.cutoff**2
        tau, delta = (float(la.norm(A, 2)) if q else 0.0 for A in (solved[:, 1:], lower))
        feedback = tau * delta / room
        if not (room > 0.0 and feedback < 1.0):
            return _Point(y, residual, np.inf, np.inf)
        size = float(np.linalg.norm(residual))
        in_basis = tau * size / room / (1.0 - feedback)
        outside = (size + delta * in_basis) / room
        return _Point(y, residual, in_basis + noise, outside + noise)

    def grow(self, points: list[_Point]) -> None:
        """Add the dominant combinations of the points' residuals, each relative to its response."""
        columns = [p.residual / np.linalg.norm(p.y) for p in points]
        block = np.column_stack([part for c in columns for part in (c.real, c.imag)])
        U, sizes, _ = la.svd(block, full_matrices=False)
        chosen = U[:, : min(WIDEST, int((sizes > 1e-8 * sizes[0]).sum()))]
        self._include(self.complement @ chosen)

    def extend(self) -> None:
        """Twice as many modes."""
        self._include(self._more_modes())

    def destroy(self) -> None:
        self.reference.destroy()


def forced_response(
    system: FrozenSystem,
    angular_frequencies: Array,
    force: Complex,
    probes: Index,
    accuracy: float,
) -> ForcedResponse:
    """Response at all angular frequencies (F,), rad/s, to ‖e‖ ≤ accuracy ‖q‖ in the energy norm.

    probes (P,): numbers of degrees of freedom. Raises ConvergenceError when the accuracy is not
    reached.
    """
    basis = ForcedBasis(system, force, float(angular_frequencies.max()))
    try:
        for _ in range(ROUNDS):
            basis.project()
            points = [basis.at(float(w)) for w in angular_frequencies]
            errors = np.array([p.relative() for p in points])
            if errors.max() <= accuracy:
                return _at_probes(basis, points, probes)
            if np.isinf(errors).any():
                basis.extend()
            worse = [p for p, e in zip(points, errors, strict=True) if e > accuracy]
            basis.grow(worse)
    finally:
        basis.destroy()
    raise ConvergenceError(
        f"frequency response: error bound {errors.max():.3g} after {ROUNDS} rounds with "
        f'{basis.basis.size} basis vectors; allowed is {accuracy:g}. Use method="direct"'
    )


def _at_probes(basis: ForcedBasis, points: list[_Point], probes: Index) -> ForcedResponse:
    V = basis.basis.V
    unit = np.zeros((basis.system.n, len(probes)))
    unit[probes, np.arange(len(probes))] = 1.0
    total = np.einsum("ij,ij->j", unit, basis.reference.solve(unit))
    inside = np.linalg.norm(V[probes], axis=1)
    outside = np.sqrt(np.maximum(total - inside**2, 0.0))
    y = np.array([p.y for p in points])
    in_basis, beyond = np.array([(p.in_basis, p.outside) for p in points]).T
    bound = in_basis[:, None] * inside + beyond[:, None] * outside
    return ForcedResponse(y @ V[probes].T, bound, basis.basis.size, basis.reference.solves)


def _parts_of(force: Complex) -> Array:
    """Real and imaginary part, those that are not zero, (n, 1) or (n, 2)."""
    return np.column_stack([part for part in (force.real, force.imag) if np.any(part)])


def _size(A: sp.spmatrix) -> float:
    return float(abs(A).max()) if A.nnz else 0.0


def _mass_norm(G: sp.csr_matrix, mass: sp.csr_matrix) -> float:
    """A bound of |xᴴGx| / xᴴMx: the largest row sum of |G| scaled by diag(M), over that of M."""
    diagonal = mass.diagonal()
    scale = sp.diags(1.0 / np.sqrt(diagonal))
    low, _ = mass_bounds(mass, diagonal)
    return float(abs(scale @ G @ scale).sum(axis=1).max()) / low
