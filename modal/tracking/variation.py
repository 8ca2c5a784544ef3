"""How the modes of an instant change with the swept value, from the matrices next to that instant.

The matrices M, C (all that multiplies the velocity) and K at s and at a few values within a small
step h of it give M′, C′, K′ and, along a motion, M″ and C″. They are projected on the real space of
the right and left vectors of the window, which holds these eigenpairs exactly, so everything below
is small and dense. With x = (q, λq), y = (Cᵀu + λ̄Mᵀu, u) and yᴴBx = 1,

    y_jᴴ(A′ − λ_i B′)x_i = −u_jᴴ(λ_i² M′ + λ_i C′ + K′) q_i

is the slope dλ/ds for j = i and drives mode i into mode j otherwise. The spacing of the sweep does
not enter. The curvature follows by differentiating once more, with x_i′ = Σ_j c_j x_j,

    λ_i″ = y_iᴴ(A″ − λ_iB″ − 2λ_i′B′)x_i
           + 2 Σ_{j≠i} y_iᴴ(A′ − λ_iB′)x_j y_jᴴ(A′ − λ_iB′)x_i / (λ_i − λ_j)

over the modes of the window and all conjugates (Lancaster, Numer. Math. 6 (1964) 377).

Along a motion the equations contain two terms that only exchange energy between motion and
vibration: Ṁ in C, and half the rate of C's skew part in K (K(ε) of one body). Without them,

    M q̈ + (C − Ṁ) q̇ + (K − ½ d/dt skew C) q = 0,

the equations of an undamped motion are conservative at every instant. The real parts of these
eigenvalues show damping and instability alone: to first order in the damping they are the growth
rates of the action, the adiabatic invariant of an undamped motion (Landau and Lifshitz, Mechanics,
§49). The real projection keeps the structure: without damping they are zero to the error of the
stencil.

Where C₀ = C − Ṁ is skew, K₀ = K − ½ d/dt skew C is symmetric and positive definite, all eigenvalues
iω are imaginary: −ω²m − ωg + k = 0 with m = qᴴMq > 0, k = qᴴK₀q > 0 and the real g = −iqᴴC₀q has
real roots. No eigenproblem is left: the frequency is the root at the mode q of the instant, whose
error is of second order in the terms that were removed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import scipy.linalg as la
from scipy.optimize import linear_sum_assignment

from assembly.magnitudes import ROUND_OFF
from assembly.system.frozen import FrozenSystem
from modal.eigen.quadratic import times
from modal.eigen.tolerances import EPS, GROUP, ZERO
from modal.reduction.reduced_eigen import RealEigenpairs
from modal.types import Array, Complex, Index, Mask

# Relative singular value below which a direction is left out of a space that need not hold the
# vectors exactly.
MAIN = 1e-5


# The matrices of quadratic pencils λ²M + λC + K of P instants, (P, m, m) each.
Triple: TypeAlias = Array | tuple[Array, Array, Array]


def solved(A: Array, X: Complex) -> Complex:
    """A⁻¹ of complex columns (P, m, K), in real arithmetic."""
    return np.ascontiguousarray(np.linalg.solve(A, _parts(X))).view(complex)


def _parts(X: Complex) -> Array:
    """Real and imaginary parts of the columns, in turn, (P, m, 2K)."""
    return np.ascontiguousarray(X, dtype=complex).view(float)


def quadratic(matrices: Triple, lam: Complex, Q: Complex) -> Complex:
    """(λ²M + λC + K) q of each mode, (P, m, K)."""
    M, C, K = matrices
    row = lam[:, None, :]
    out = times(M, Q)
    out *= row
    out += times(C, Q)
    out *= row
    out += times(K, Q)
    return out


def pairing(M: Array, C: Array, lam: Complex, U: Complex, Q: Complex) -> Complex:
    """uᴴ(2λM + C)q of each mode, (P, K)."""
    image = times(M, Q)
    image *= 2.0 * lam[:, None, :]
    image += times(C, Q)
    return np.asarray((U.conj() * image).sum(axis=1))


def transposed(A: Any) -> Any:
    """Of each instant."""
    return A.T if A.ndim == 2 else A.swapaxes(-1, -2)


def diagonal(A: Complex) -> Complex:
    """Of each instant."""
    return np.diagonal(A, axis1=-2, axis2=-1)


def adjoint(X: Complex) -> Complex:
    """Of each instant."""
    return np.asarray(X.conj().swapaxes(-1, -2))


@dataclass(frozen=True)
class Form:
    """A Hermitian form F of K vectors x: x_iᴴF′x_j and x_iᴴF x̄_j, (K, K) each."""

    rate: Complex
    mirrored: Complex

    def turned(self, turn: Complex) -> Form:
        """Of the vectors x @ turn."""
        row = turn.conj().T
        return Form(row @ self.rate @ turn, row @ self.mirrored @ turn.conj())

    def taken(self, index: int | slice) -> Form:
        """Of one instant of a stack, or of some."""
        return Form(self.rate[index], self.mirrored[index])


@dataclass(frozen=True)
class Variation:
    """Change of K modes per unit of the swept value.

    change (2, K, K): y_jᴴ(A′ − λ_iB′)x_i at [0, j, i], with the conjugate of y_j at [1, j, i].
    curvature (K,): d²λ/ds² along a motion, zero over a steady parameter. energy, mass: forms of x
    and of q. steady (K,): λ without the terms that only exchange energy, rad/s; steady_slope (K,)
    its derivative; stencil_error (K,): difference to a stencil of lower order, rad/s. Of a stack of
    P instants every array has one more axis, the first.
    """

    change: Complex
    curvature: Complex
    energy: Form
    mass: Form
    steady: Complex
    steady_slope: Complex
    stencil_error: Array

    @property
    def slope(self) -> Complex:
        """dλ/ds of each mode, (K,)."""
        return diagonal(self.change[..., 0, :, :])

    def taken(self, index: int | slice) -> Variation:
        """Of one instant of a stack, or of some."""
        fields: Any = (getattr(self, name) for name in self.__match_args__)
        parts: Any = (x.taken(index) if isinstance(x, Form) else x[index] for x in fields)
        return Variation(*parts)

    def turned(self, turn: Complex, back: Complex) -> Variation:
        """In the basis right @ turn, left @ back of the same modes (modal.matching.align)."""
        rows = np.stack([back.conj().T, back.T])
        energy, mass = self.energy.turned(turn), self.mass.turned(turn)
        return replace(self, change=rows @ self.change @ turn, energy=energy, mass=mass)


def window_space(right: Complex, left: Complex, least: float = ZERO) -> Array:
    """Real orthonormal basis V (n, m) of the right and left vectors; the identity where n is small.

    least: relative singular value below which a direction is left out.
    """
    n, K = right.shape
    if n <= 4 * K:
        return np.eye(n)
    vectors = np.hstack([right, left])
    square = (vectors * vectors).sum(axis=0)
    phase = np.sqrt(np.where(square == 0.0, 1.0, square))  # the real part becomes the largest
    vectors = vectors * (np.abs(phase) / phase)
    size = np.linalg.norm(vectors, axis=0)
    vectors = vectors / np.where(size > 0.0, size, 1.0)
    Q, R, _ = la.qr(np.hstack([vectors.real, vectors.imag]), mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    return np.asarray(Q[:, diagonal > least * diagonal[0]])


def projected(system: FrozenSystem, V: Array) -> Array:
    """VᵀMV, Vᵀ(C + D)V and VᵀKV, with all damping and all stiffness, (3, m, m)."""
    return np.stack([V.T @ (A @ V) for A in (system.M, system.damping, system.stiffness)])


@dataclass(frozen=True)
class Derivatives:
    """M, C and K of P instants, (3, P, m, m), and their derivatives with the swept value: the
    first, the second, and the first by a stencil of lower order."""

    value: Triple
    first: Triple
    second: Triple
    check: Triple


def variations(
    at: Derivatives, eigenvalues: Complex, right: Complex, left: Complex, rate: float | None
) -> Variation:
    """The variations of P instants: eigenvalues (P, K), vectors (P, m, K)."""
    (M, C, K), (M1, C1, K1) = at.value, at.first
    lam, Q = eigenvalues, right
    scale = pairing(M, C, lam, left, Q)
    with np.errstate(divide="ignore", invalid="ignore"):
        U = left / scale.conj()[:, None, :]
        images = quadratic((M1, C1, K1), lam, Q)
        change = -np.stack([adjoint(U) @ images, U.swapaxes(1, 2) @ images], axis=1)
    S, S1, row = 0.5 * (K + transposed(K)), 0.5 * (K1 + transposed(K1)), adjoint(Q)
    mass, mirrored = row @ times(M1, Q), row @ times(M, Q.conj())
    own, onward = lam.conj()[:, :, None], lam[:, None, :]
    energy = own * onward * mass + row @ times(S1, Q)
    energy_mirrored = own * onward.conj() * mirrored + row @ times(S, Q.conj())
    steady, slope = lam.copy(), diagonal(change[:, 0]).copy()
    error, curvature = np.zeros(lam.shape), np.zeros_like(lam)
    if rate is not None:
        curvature = _curvature(at, change, lam, Q, U)
        moving = _breathing(at.value[1], at.value[2], at.value)
        if moving.any():
            n = np.flatnonzero(moving.any(axis=0))
            steady[n], slope[n], error[n] = _steady(at, n, rate * moving[:, n], lam, Q, U)
    forms = Form(energy, energy_mirrored), Form(mass, mirrored)
    return Variation(change, curvature, *forms, steady, slope, error)


def _curvature(at: Derivatives, change: Complex, lam: Complex, Q: Complex, U: Complex) -> Complex:
    """d²λ/ds² (P, K) from the first and second derivatives of M, C, K; a cluster counts as one."""
    M1, C1, K1 = at.first
    slope = diagonal(change[:, 0])
    row = adjoint(U)
    inner = quadratic(at.second, lam, Q) + times(M1, Q) * (2.0 * slope * lam)[:, None, :]
    out = -(U.conj() * inner).sum(axis=1)
    for block, (shapes, others) in enumerate(((Q, lam), (Q.conj(), lam.conj()))):
        apart = lam[:, :, None] - others[:, None, :]
        near = np.abs(apart) <= GROUP * np.abs(lam)[:, :, None]
        # y_iᴴ(A′ − λ_iB′)x_j at [i, j]: its lower block is −(λ_iλ_jM′ + λ_jC′ + K′)q_j.
        back = -row @ quadratic((M1, C1, K1), others, shapes)
        back -= (row @ times(M1, shapes)) * others[:, None, :] * apart
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(near, 0.0, back * change[:, block].swapaxes(1, 2) / apart)
        out += 2.0 * terms.sum(axis=2)
    return np.asarray(out)


def _breathing(C: Array, K: Array, whole: Triple) -> Mask:
    """Whether C and K of each instant have the parts that can move energy to and fro, of a size
    above round-off of `whole`, (2, P)."""
    axes = (1, 2)
    return np.stack([
        np.abs(part).max(axis=axes, initial=0.0)
        > ROUND_OFF * np.abs(A).max(axis=axes, initial=0.0)
        for part, A in ((C + transposed(C), whole[1]), (K - transposed(K), whole[2]))
    ])  # fmt: skip


def _steady(
    at: Derivatives,
    n: Index,
    rates: Array,
    lam: Complex,
    Q: Complex,
    U: Complex,
    small: float = 0.01,
) -> tuple[Complex, Complex, Array]:
    """The eigenvalues of the instants n without the terms that move energy to and fro, their
    slopes, and the error of the stencil.

    rates (2, N): of the swept value, for the term in C and that in K. small: relative change of an
    eigenvalue by these terms up to which its second order is neglected.
    """
    (M, C, K), (M1, C1, K1), (M2, C2, _), (other_M, other_C, _) = (
        tuple(A[n] for A in triple) for triple in (at.value, at.first, at.second, at.check)
    )
    lam, Q, U = lam[n], Q[n], U[n]
    a, b = rates[0][:, None, None], 0.5 * rates[1][:, None, None]
    C0, K0 = C - a * M1, K - b * _skew(C1)
    C01, K01 = C1 - a * M2, K1 - b * _skew(C2)
    found, X, Y = _undamped(M, C0, K0, Q), Q.copy(), Q.copy()
    lowest = np.linalg.eigvalsh(0.5 * (K0 + transposed(K0))).min(axis=1, initial=np.inf)
    calm = (lowest > 0.0) & ~_breathing(C0, K0, (M, C, K)).any(axis=0)
    calm &= (np.abs(found - lam) <= small * np.abs(lam)).all(axis=1)
    near = np.stack([M, C0, K0])
    # On the main directions of the modes; those of as many together.
    spaces = {
        int(p): _main_directions(near[:, p], float(lowest[p]), lam[p], Q[p], U[p])
        for p in np.flatnonzero(~calm)
    }
    for m in {W.shape[1] for W in spaces.values()}:
        p = np.array([n for n, W in spaces.items() if W.shape[1] == m])
        W = np.stack([spaces[n] for n in p.tolist()])
        own = near[:, p]
        found[p], X[p], Y[p] = _matched(W, own, C[p], lam[p], Q[p], U[p])
        X[p] -= _outside(own, found[p], X[p])
        Y[p] -= _outside(transposed(own), found[p].conj(), Y[p])
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = -(Y.conj() * quadratic((M1, C01, K01), found, X)).sum(axis=1)
        slope = slope / pairing(M, C0, found, Y, X)
        slope[calm] = 1j * slope[calm].imag
        dM, dC = a * (M1 - other_M), b * _skew(C1 - other_C)
        change = times(dM, Q) * lam[:, None, :] + times(dC, Q)
        error = np.abs((U.conj() * change).sum(axis=1))
    return found, slope, error


def _undamped(M: Array, C0: Array, K0: Array, Q: Complex) -> Complex:
    """iω (P, K), ω ≥ 0, of the vectors Q (P, m, K): −ω²m − ωg + k = 0 with m = qᴴMq, g = −iqᴴC₀q
    and k = qᴴK₀q, where C₀ is skew and K₀ positive definite."""
    m, c, k = ((Q.conj() * times(A, Q)).sum(axis=1) for A in (M, C0, K0))
    root = np.sqrt(np.maximum(c.imag**2 + 4.0 * m.real * k.real, 0.0))
    return np.asarray(0.5j * (root - c.imag) / m.real)


def _skew(A: Array) -> Array:
    return np.asarray(0.5 * (A - transposed(A)))


def _main_directions(near: Array, lowest: float, lam: Complex, Q: Complex, U: Complex) -> Array:
    """Basis W (n, m) of the main directions of modes Q, U (n, K) of one instant, in a norm of
    energy: in another, a small direction that is left out may be stiff. lowest: eigenvalue of the
    symmetric stiffness."""
    n, K = Q.shape
    if n <= 4 * K:
        return np.eye(n)
    M, _, stiffness = near
    norm = 0.5 * (stiffness + stiffness.T) + np.abs(lam).max() ** 2 * M
    least = 2.0 * max(-lowest, 0.0) + n * EPS * np.abs(norm).max()
    L = np.linalg.cholesky(norm + least * np.eye(n))
    return np.linalg.solve(L.T, window_space(L.T @ Q, L.T @ U, MAIN))


def _outside(near: Array, lam: Complex, X: Complex, shift: float = 1e-3) -> Complex:
    """What vectors on the modes of a window hold too much of the stiffer shapes, (P, m, K): an
    eigenvalue takes it in second order, its slope in first.

    With the residual ρ = Q(λ)x, orthogonal to the window, that is about K⁻¹ρ. shift: of K by M, a
    part of the largest |λ|², so that a rigid motion in the window does not make it singular.
    """
    M, _, K = near
    largest = (np.abs(lam) ** 2).max(axis=1, initial=0.0)
    return solved(K + (shift * largest)[:, None, None] * M, quadratic(near, lam, X))


def _matched(
    W: Array, near: Array, own: Array, lam: Complex, Q: Complex, U: Complex
) -> tuple[Complex, Complex, Complex]:
    """The eigenpairs of the matrices `near` of P instants that the modes λ, Q, U of those with
    C = own become.

    They are those on the main directions W (P, n, m) of the modes: an error of relative size e in
    the vectors costs e² in an eigenvalue.
    """
    M, C, K = transposed(W) @ near @ W
    P, m, _ = M.shape
    A = np.zeros((P, 2 * m, 2 * m))
    A[:, :m, m:] = np.eye(m)
    A[:, m:] = -np.linalg.solve(M, np.concatenate([K, C], axis=2))
    values, right, left = RealEigenpairs.of(A).columns(np.tile(np.arange(2 * m), (P, 1)))
    X = times(W, right[:, :m])
    Y = times(W, solved(transposed(M), left[:, m:]))
    M, C, _ = near
    sums = lam[:, :, None] + values[:, None, :]
    MX = times(M, X)
    ahead = (adjoint(U) @ MX) * sums + adjoint(U) @ times(own, X)
    behind = (adjoint(Y) @ times(M, Q)) * transposed(sums) + adjoint(Y) @ times(C, Q)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = (Y.conj() * (2.0 * values[:, None, :] * MX + times(C, X))).sum(axis=1)
        share = np.abs(ahead * transposed(behind / scale[:, :, None]))
        size = np.maximum(np.abs(lam)[:, :, None], np.abs(values)[:, None, :])
        distance = np.abs(lam[:, :, None] - values[:, None, :]) / size
        cost = np.where(np.isfinite(share), -np.minimum(share, 1.0), 0.0) + distance
    lower = values.imag[:, None, :] < 0.0
    cost = np.where(lower, 10.0, np.nan_to_num(cost, nan=0.0, posinf=2.0))
    chosen = np.stack([linear_sum_assignment(one)[1] for one in cost])
    X, Y = (np.take_along_axis(x, chosen[:, None, :], 2) for x in (X, Y))
    return np.take_along_axis(values, chosen, 1), X, Y
