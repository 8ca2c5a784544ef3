"""A model on a fixed space of shapes: M, C, D, K and Q projected at every instant.

The space is spanned by frozen modes at several instants of a motion, so the low modes are exact
there. A motion q(t) = V r(t) leaves the residual ρ = M q̈ + (C + D) q̇ + K q in the full equations,
orthogonal to V. The shapes outside the space respond to it nearly statically.

The error of Floquet exponents comes from the residuals of modes q(t) = p(t) e^{λt}. By what lies in
the space λ is wrong by |yᴴρ| / (2ω pᴴMp) to first order, and by the shapes that are missing by
ρᴴ(K − ω²M)⁻¹ρ / (2ω pᴴMp), second order in the residual, as a Rayleigh quotient. Both are means
over the period. Of λ²M + λC + K with λ ≈ iω the adjoint mode is
y = p − (K − ω²M)⁻¹ ((C + Cᵀ) q̇ + (K − Kᵀ) q), to first order in damping and circulation.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray

from assembly.errors import InputError
from assembly.linalg.factorization import Factorization
from assembly.system.frozen import PARTS, FrozenSystem
from modal.eigen.quadratic import in_parts
from modal.eigen.solve import solve
from modal.eigen.tolerances import EPS, ROUND_OFF, WEAK
from modal.periodic.tolerances import INDEPENDENT
from modal.reduction.interpolated_motion import InterpolatedMotion, ProjectedMotion
from modal.reduction.interpolation import entry_sizes, periodic_interpolant
from modal.reduction.motion import ReducedMotion
from modal.reduction.tolerances import SAFETY
from modal.transient.equations import GROUPS, SecondOrderModel, freezer
from modal.transient.tolerances import PIECES
from modal.types import Array, Complex


class Matrices(NamedTuple):
    """M, C + D and all stiffness at times, (P, r, r) each."""

    mass: Array
    damping: Array
    stiffness: Array


def off_polynomial(source: ReducedMotion | GalerkinModel, t0: float, period: float) -> Any:
    """The matrices of a motion where they are smooth, else the motion itself."""
    if isinstance(source, GalerkinModel) and source.motion is not None:
        return _read_off(source, source.motion.projected(source.V))

    def values(times: Array) -> Array:
        return np.stack(SecondOrderModel(source).matrices(times), axis=1)

    def sizes(values: Array) -> Array:
        mass, damping, stiffness = found = entry_sizes(values)
        found[1] = np.maximum(damping, WEAK * np.sqrt(mass * stiffness))
        return found

    found = periodic_interpolant(values, t0, period, sizes)
    if found is None:
        return source
    return _read_off(source, ProjectedMotion(found))


def _read_off(source: Any, smooth: ProjectedMotion) -> Any:
    return SimpleNamespace(freeze=source.freeze, freeze_many=lambda t: Matrices(*smooth(t)))


class GalerkinModel:
    """q = V r for a fixed V (n, r): `freeze(t)` returns the system of the coordinates r.

    motion: the model off a polynomial, which serves all but the residuals.
    """

    description = ""

    def __init__(self, model: Any, V: Array, motion: InterpolatedMotion | None = None) -> None:
        self._freeze, self.V, self.motion = freezer(model), np.asarray(V, dtype=float), motion
        self._equations = SecondOrderModel(model)
        self._last: tuple[Array, list[FrozenSystem]] = np.zeros(0), []
        if self.V.ndim != 2 or not np.all(np.isfinite(self.V)):
            raise InputError(f"basis: expected finite numbers (n, r), got shape {self.V.shape}")

    def freeze(self, t: float) -> FrozenSystem:
        """The projected system at t: every named part, and the load."""
        system, V = self._freeze(t), self.V
        if V.shape[0] != system.n:
            raise InputError(
                f"basis: the model has {system.n} degrees of freedom, the basis {V.shape[0]}"
            )
        parts = {
            name: V.T @ (system.parts[name] @ V) for name in PARTS if not system.parts[name].is_zero
        }
        return FrozenSystem(**parts, Q=V.T @ system.Q, parameters=system.parameters)

    def freeze_many(self, times: Array) -> Matrices:
        """The projected matrices at times (P,), s."""
        systems, V = self._several(times), self.V
        sums = [[system.combined(names).terms for names in GROUPS[:3]] for system in systems]
        # A model has the same few operators at all instants.
        operators = {id(A): A for parts in sums for terms in parts for _, A in terms}
        on_basis = {key: V.T @ (A @ V) for key, A in operators.items()}
        zero = np.zeros((V.shape[1],) * 2)
        found = [[sum((c * on_basis[id(A)] for c, A in p), zero) for p in parts] for parts in sums]
        return Matrices(*(np.stack(part) for part in zip(*found, strict=True)))

    def _several(self, times: Array) -> list[FrozenSystem]:
        """The frozen systems at times (P,), s."""
        if not np.array_equal(times, self._last[0]):
            self._last = times, self._equations.several(times)
        return self._last[1]

    def lift(self, r: Complex) -> Complex:
        """Degrees of freedom (n, ...) of coordinates (r, ...)."""
        return np.asarray(self.V @ r)

    def weights(self, t: float) -> Array:
        """The root of each degree of freedom's inertia at an instant, (n,)."""
        return np.asarray(np.sqrt(np.maximum(self._freeze(t).M.diagonal(), 0.0)))

    def missing(self, times: Array, q: Complex, v: Complex, a: Complex) -> tuple[Array, Array]:
        """The size √(ρᴴK⁻¹ρ) of what the space misses, (P, k), twice, as of a `ReducedMotion`; q,
        v, a: displacement, velocity and acceleration (P, r, k)."""
        out = np.zeros((len(times), q.shape[2]))
        if self.V.shape[0] == self.V.shape[1]:
            return out, out
        for n, system in enumerate(self._several(times)):
            x, rate, force = (self.V @ part[n] for part in (q, v, a))
            residual = system.M @ force + system.damping @ rate + system.stiffness @ x
            inertia, speed = ((y.conj() * (system.M @ y)).sum(axis=0).real for y in (x, rate))
            # K + ω₁²M is positive definite where K is singular, but for round-off of K.
            least = float((speed / np.maximum(inertia, np.finfo(float).tiny)).min())
            stiffest = float((system.K.diagonal() / system.M.diagonal()).max())
            least = max(least, ROUND_OFF * stiffest)
            shifted = sp.csr_matrix(0.5 * (system.K + system.K.T) + least * system.M)
            factor = Factorization(shifted, "spd")
            try:
                response = factor.solve(np.ascontiguousarray(residual))
            finally:
                factor.destroy()
            out[n] = np.sqrt(np.abs((residual.conj() * response).sum(axis=0)))
        return out, out

    def round_off(self, sizes: Array) -> Array:
        """Of eigenvalues of some sizes |λ|, rad/s, per unit condition."""
        return EPS * np.asarray(sizes)


def modal_basis(model: Any, times: Iterable[float], k: int) -> Array:
    """Shapes (n, r) that span the k lowest frozen modes at every one of `times`, s.

    Real and imaginary parts of the right and left vectors, the directions that carry a part above
    INDEPENDENT² of a mode's elastic energy; orthonormal in K + ω₁² M of the first instant.
    """
    freeze = freezer(model)
    shapes = []
    first: FrozenSystem | None = None
    lowest = 0.0
    for t in times:
        system = freeze(float(t))
        modes = solve(system, k=min(k, system.n))
        if first is None:
            first, sizes = system, np.abs(modes.eigenvalues[modes.kind == "elastic"])
            lowest = float(sizes.min(initial=np.inf))
            if not np.isfinite(lowest):
                raise InputError("basis: none of the modes is elastic; ask for more of them")
        shapes += [modes.right, modes.left]
    assert first is not None
    Z = np.hstack(shapes)
    norm = 0.5 * (first.K + first.K.T) + lowest**2 * first.M
    X = in_parts(Z)
    energy = (X * (norm @ X)).sum(axis=0)
    of_mode = np.tile(energy.reshape(2, -1).sum(axis=0), 2)
    there = energy > EPS * of_mode  # the imaginary parts of real vectors are round-off
    return independent_shapes(X[:, there] / np.sqrt(energy[there]), norm, INDEPENDENT)


def independent_shapes(X: Array, norm: Any, least: float) -> Array:
    """Shapes (n, r), orthonormal in a norm (n, n), that span the columns of X (n, m) but for
    directions with singular values below `least` of the largest."""
    gram = X.T @ (norm @ X)
    sizes, W = la.eigh(0.5 * (gram + gram.T))
    keep = sizes > least**2 * sizes[-1]
    return np.asarray(X @ (W[:, keep] / np.sqrt(sizes[keep])))


def orbit_error(
    source: ReducedMotion | GalerkinModel,
    eta: Complex,
    rates: Complex,
    span: tuple[float, float],
) -> Array:
    """The error (m,) of exponents, 1/s, by the residuals of their modes.

    eta (s, r, m): periodic parts p at s equal parts of the period, a power of two from 32, in the
    coordinates of `source`. rates (m,): λ. span: start and period, s.
    """
    (t0, period), count = span, len(eta)
    turns = 2j * np.pi / period * np.fft.fftfreq(count, 1.0 / count)[:, None, None] + rates
    waves = np.fft.fft(eta, axis=0)
    # Odd numbers: none of the instants at which spaces and bases are trained, which are multiples
    # of the 24th part of the period.
    part = slice(1, None, max(2, count // PIECES))
    velocity, acceleration = (np.fft.ifft(waves * turns**n, axis=0)[part] for n in (1, 2))
    times = t0 + period * np.arange(count)[part] / count
    return residual_error(source, times, eta[part], velocity, acceleration)[0]


def residual_error(
    source: ReducedMotion | GalerkinModel,
    times: Array,
    q: NDArray[Any],
    v: NDArray[Any],
    a: NDArray[Any],
    *,
    share: float = 0.3,
) -> tuple[Array, Array]:
    """The error (m,) of exponents, 1/s, by the residuals of their modes at some instants, and that
    of modes of the space, whose residual has no part in it.

    q, v, a (P, r, m): displacement, velocity and acceleration in the coordinates of `source`.
    share: of ω, K + (share ω)² M for K − ω²M: with SAFETY it covers
    shapes whose frequencies are not within a fifth of ω.
    """
    if not q.shape[2]:
        return np.zeros(0), np.zeros(0)
    series = source.freeze_many(times)
    M, C, K = series.mass, series.damping, series.stiffness
    force = M @ a + C @ v + K @ q
    inertia, speed = ((x.conj() * (M @ x)).sum(axis=1).real.mean(axis=0) for x in (q, v))
    omega = np.sqrt(speed / np.maximum(inertia, np.finfo(float).tiny))
    inside = np.abs((q.conj() * force).sum(axis=1)).mean(axis=0)
    # The other shapes of the basis respond to what the space leaves, then those that it misses.
    # Slow shapes and rigid motions respond as at a share of the frequency of the mode.
    stiffest = (K.diagonal(axis1=1, axis2=2) / M.diagonal(axis1=1, axis2=2)).max()
    shifts, S = np.maximum((share * omega) ** 2, ROUND_OFF * stiffest), 0.5 * (K + K.swapaxes(1, 2))
    # Rounded down, which enlarges the responses: conjugate modes have the same.
    shifts = 1.1 ** np.floor(np.log(shifts) / np.log(1.1))
    response = np.empty(force.shape, dtype=complex)
    for s in np.unique(shifts):
        some = shifts == s
        response[:, :, some] = _solved(S + s * M, force[:, :, some])
    between = np.abs((force.conj() * response).sum(axis=1)).mean(axis=0)
    # The adjoint mode is p less the response to twice the forces that are not self-adjoint.
    aside = C @ v + C.swapaxes(1, 2) @ v + K @ q - K.swapaxes(1, 2) @ q
    inside = inside + SAFETY * np.abs((aside.conj() * response).sum(axis=1)).mean(axis=0)
    q = q - response
    a = -_solved(M, C @ v + K @ q)
    outside = (source.missing(times, q, v, a)[0] ** 2).mean(axis=0)
    # For K_ref instead of K − ω²M, for the residual of the mode instead of that of the adjoint one,
    # and for instants instead of a mean.
    pairing = np.maximum(2.0 * omega * inertia, np.finfo(float).tiny)
    missing = SAFETY * (between + outside) / pairing + source.round_off(omega)
    return missing + inside / pairing, missing


def _solved(A: Array, b: NDArray[Any]) -> Complex:
    """A⁻¹ b (P, r, m) of real A (P, r, r): LAPACK would take A as complex, in four times the
    time."""
    parts = np.ascontiguousarray(b, dtype=complex).view(float)
    return np.asarray(np.linalg.solve(A, parts).view(complex))
