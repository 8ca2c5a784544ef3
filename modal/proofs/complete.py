"""A proof that a reduced basis has every unstable mode of the full problem.

V spans the basis, Z is its complement orthogonal in K_ref, M the full mass, Q(λ) = λ²M + λE + K.
Scale the blocks of Q that couple V and Z by t, from 0 (the reduced problem, and what is left) to 1
(the full problem). For every t the forms of modal/proofs/box.py are convex combinations of the full
ones and of the same with the sign of Z changed, so that the box holds for every t: unstable
eigenvalues stay in it, and can come or go only through its side on the imaginary axis. There, at
λ = iω with |ω| ≤ W,

    Re zᴴQ(iω)z ≥ zᴴSz − (W² + γW) zᴴMz ≥ (1 − θ) zᴴK_ref z     for z in Z,

so that nothing crosses while the Schur complement of Z in Q stays regular, which it does if

    ‖Q_zv Q_vv(iω)⁻¹ Q_vz‖ < 1 − θ     in the norm of K_ref and its dual.

With the eigenpairs of the reduced problem Q_vv(iω)⁻¹ = Σ x_k y_kᴴ/(iω − λ_k), and

    Q_zv(iω) x_k = r_k + (iω − λ_k) [(iω + λ_k) M_zv + E_zv] x_k,

r_k the residual of the pair. Norms of r_k are those of its error bound, norms of M_zv, E_zv and K_zv
come from the sketches of the basis (modal/basis.py). Then the full problem has as many unstable
eigenvalues as the reduced one.

θ comes from the largest ratios, on the complement of the first vectors of the basis, of M and of
what the points change in the symmetric stiffness to K_ref (modal/proofs/ratios.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from modal.affine import Coefficients
from modal.basis import UNDERESTIMATE, Projected
from modal.mass_basis import MassBasis
from modal.proofs.family_box import Group, PointBoxes, groups
from modal.proofs.ratios import Product, lanczos
from modal.reduced_eigen import SmallModes
from modal.reference import Reference

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

STEPS = 24  # of Lanczos for the bounds on the complement
COUPLING_STEPS = 12  # of Lanczos for what couples the first vectors with it
NODES = 2  # frequencies at which the modes without residuals are summed
KNOWN = 1e-9  # of a coefficient: what the groups may leave


@dataclass(frozen=True)
class Forms:
    """Bounds of quadratic forms on Z and of what couples V with Z, all relative to K_ref.

    For z in Z and x in V, ‖·‖ the norm of K_ref,

        zᵀMz ≤ mass ‖z‖²,           |zᵀMx| ≤ mass_coupling ‖z‖‖x‖,
        low ‖z‖² ≤ zᵀBz ≤ high ‖z‖²,   |zᵀBx| ≤ coupling ‖z‖‖x‖

    for the change B of the stiffness of every group; damping_coupling: the same for the groups of
    C + D.
    """

    mass: float
    low: Array
    high: Array
    mass_coupling: float
    coupling: Array
    damping_coupling: Array


class Completeness:
    """Whether a reduced basis has all unstable modes of the points of a family.

    Parameters
    ----------
    reference : Reference
        The reference operator of the basis.
    span : Coefficients
        Points whose coefficients span those of all points to come.
    start : MassBasis, optional
        Vectors that the basis holds, about the lowest modes of K_ref.
    kept : mapping, optional
        The `arrays` of an earlier one, which are then not computed again.
    """

    def __init__(
        self,
        reference: Reference,
        span: Coefficients,
        start: MassBasis | None = None,
        kept: Mapping[str, Array] | None = None,
    ) -> None:
        family = reference.family
        self.reference = reference
        span = span.padded(len(family.terms))
        every = np.ones(len(family.terms), dtype=bool)
        self.damping = groups(span.damping, every)
        self.changes = groups(span.stiffness - reference.weights, every)
        if kept is None:
            assert start is not None
            bounds = self._bounds(start)
        else:
            bounds = kept["complement"]
        self._mass, bounds = float(bounds[0, 1]), bounds[1:]
        self._low, self._high, self._coupling = bounds[:, 0], bounds[:, 1], bounds[:, 2]

    def _bounds(self, start: MassBasis) -> Array:
        """Of M and of every change: lowest and highest ratio to K_ref, coupling with those vectors."""
        reference = self.reference
        matrices = [reference.family.symmetric_part(group.weights) for group in self.changes]
        products: list[Product] = [lambda x, A=A: A @ x for A in (reference.mass, *matrices)]
        positive = [True, *(False for _ in matrices)]
        (X, KX), square = orthonormal(reference, start.V)
        scale = np.sqrt(reference.mass.diagonal() * square)
        ends = lanczos(
            reference.solve, products, scale, semidefinite=positive, without=(X, KX), steps=STEPS
        )
        small: list[Product] = []
        for A in matrices:
            AX = A @ X
            inside = X.T @ AX

            def outside(a: Array, AX: Array = AX, inside: Array = inside) -> Array:
                return np.asarray(AX.T @ reference.solve(AX @ a) - inside @ (inside @ a))

            small.append(outside)
        positive = [True] * len(small)
        sizes = lanczos(
            lambda a: a, small, np.ones(X.shape[1]), semidefinite=positive, steps=COUPLING_STEPS
        )
        coupling = [0.0, *(np.sqrt(max(high, 0.0)) for _, high in sizes)]
        return np.column_stack([np.array(ends), coupling])

    def arrays(self) -> dict[str, Array]:
        """The bounds, to be kept with a stored map."""
        ends = np.column_stack([self._low, self._high, self._coupling])
        return {"complement": np.vstack([[0.0, self._mass, 0.0], ends])}

    def forms(self, projected: Projected) -> Forms:
        """The bounds beside the whole basis."""
        reference = self.reference
        if projected.complete:
            none, empty = np.zeros(len(self.changes)), np.zeros(len(self.damping))
            return Forms(0.0, none, none, 0.0, none, empty)
        image = self._reference_image(projected)
        couple = lambda weights: coupling(projected, image, weights)  # noqa: E731
        # What the basis has beyond the first vectors couples with Z within their complement.
        wider = np.hypot(self._coupling, 0.5 * (self._high - self._low))
        sketched = np.array([couple(group.weights) for group in self.changes])
        skew = np.array([couple_skew(projected, image, group.weights) for group in self.changes])
        return Forms(
            self._mass,
            self._low,
            self._high,
            couple(reference.mass_weights),
            np.minimum(sketched, wider + skew),
            np.array([couple(group.weights) for group in self.damping]),
        )

    def local(self, forms: Forms, shared: Projected, smaller: Projected, Q: Array) -> Forms:
        """The bounds beside a smaller basis, the columns Q (r, s) of the shared one."""
        half = shared.frequency
        unit = half[:, None] * Q
        U = la.qr(unit, mode="full")[0][:, Q.shape[1] :] / half[:, None]
        beside = self.forms(smaller)

        def both(sketched: float, wider: float, weights: Array) -> float:
            """The smaller of two bounds of the coupling; one is exact within the shared basis."""
            small = self._small(shared, weights)
            inside = max(np.linalg.norm(U.T @ A @ Q / smaller.frequency, 2) for A in (small, small.T))
            return min(sketched, float(np.hypot(inside, wider)))

        return replace(
            self._widened(forms, shared, U),
            mass_coupling=both(
                beside.mass_coupling, forms.mass_coupling, self.reference.mass_weights
            ),
            coupling=np.array(
                [
                    both(a, b, group.weights)
                    for a, b, group in zip(beside.coupling, forms.coupling, self.changes, strict=True)
                ]
            ),
            damping_coupling=np.array(
                [
                    both(a, b, group.weights)
                    for a, b, group in zip(
                        beside.damping_coupling, forms.damping_coupling, self.damping, strict=True
                    )
                ]
            ),
        )

    def everything(self, forms: Forms, projected: Projected) -> Forms:
        """The bounds over the whole space, as beside an empty basis."""
        return self._widened(forms, projected, np.diag(1.0 / projected.frequency))

    def _widened(self, forms: Forms, projected: Projected, U: Array) -> Forms:
        """The bounds of quadratic forms on Z and the columns of U, K_ref-orthonormal, together."""
        ends = []
        for weights in (self.reference.mass_weights, *(group.weights for group in self.changes)):
            A = U.T @ self._small(projected, weights) @ U
            ends.append(la.eigvalsh(0.5 * (A + A.T))[[0, -1]])
        low, high = np.array(ends[1:]).reshape(-1, 2).T
        return replace(
            forms,
            mass=max(forms.mass, float(ends[0][1])) + forms.mass_coupling,
            low=np.minimum(forms.low, low) - forms.coupling,
            high=np.maximum(forms.high, high) + forms.coupling,
        )

    def _small(self, projected: Projected, weights: Array) -> Array:
        return np.tensordot(_padded(weights, projected), projected.matrices, axes=1)

    def _reference_image(self, projected: Projected) -> tuple[Array, Array]:
        """Weak and strong sketches of K_ref V, (p, r) each."""
        weights = _padded(self.reference.weights, projected)
        weights = weights + self.reference.shift * _padded(self.reference.mass_weights, projected)
        pairs = (
            (projected.weak, projected.weak_transposed),
            (projected.strong, projected.strong_transposed),
        )
        weak, strong = (np.tensordot(weights, 0.5 * (a + b), axes=1) for a, b in pairs)
        return weak, strong

    def theta(self, forms: Forms, at: Coefficients, stiffness: Array) -> Array:
        """θ (P,) of the head of this file; stiffness (P,): W² + γW, (rad/s)²."""
        table = self._changed(at)
        theta = (stiffness + self.reference.shift) * forms.mass
        for group, low, high in zip(self.changes, forms.low, forms.high, strict=True):
            factor = group.factor(table)
            theta = theta + np.maximum(-factor * low, -factor * high)
        return np.where(self._known(at), theta, np.inf)

    def _changed(self, at: Coefficients) -> Array:
        weights = self.reference.weights
        return at.stiffness - np.pad(weights, (0, at.stiffness.shape[1] - len(weights)))

    def _known(self, at: Coefficients) -> NDArray[np.bool_]:
        """Points (P,) whose coefficients are combinations of the groups."""
        known = np.ones(len(at), dtype=bool)
        for table, found in ((self._changed(at), self.changes), (at.damping, self.damping)):
            made = np.zeros_like(table)
            for group in found:
                made[:, : len(group.weights)] += group.factor(table)[:, None] * group.weights
            size = np.abs(table).max(axis=0, initial=0.0) + np.abs(made).max(axis=0, initial=0.0)
            known &= np.all(np.abs(table - made) <= KNOWN * size, axis=1)
        return known

    def stable_stiffness(self, forms: Forms, projected: Projected, at: Coefficients) -> NDArray[np.bool_]:
        """Points (P,) where the symmetric part of all stiffness is positive definite."""
        r = projected.size
        S = (at.stiffness @ projected.matrices.reshape(-1, r * r)).reshape(-1, r, r)
        S = 0.5 * (S + S.transpose(0, 2, 1)) / np.outer(projected.frequency, projected.frequency)
        lowest = np.linalg.eigvalsh(S)[:, 0]
        table = self._changed(at)
        couple = self.reference.shift * forms.mass_coupling + sum(
            np.abs(g.factor(table)) * c for g, c in zip(self.changes, forms.coupling, strict=True)
        )
        theta = self.theta(forms, at, np.zeros(len(at)))
        return np.asarray((theta < 1.0) & (lowest * (1.0 - theta) > couple**2))

    def complete(
        self,
        forms: Forms,
        projected: Projected,
        at: Coefficients,
        boxes: PointBoxes,
        modes: SmallModes,
        pairing: Complex,
        residuals: tuple[Array, Array],
        skipped: NDArray[np.bool_],
        floor: Array,
    ) -> NDArray[np.bool_]:
        """Points (P,) where as many modes of the full problem as of the reduced one grow faster
        than `floor`.

        Parameters
        ----------
        modes : SmallModes
            All modes of the reduced problem, one of each conjugate pair, k of each point.
        pairing : ndarray, shape (P, k)
            yᴴ(2λM + E)x.
        residuals : tuple of ndarray, shape (P, k)
            Dual norms of the residuals of right and left vectors, infinite where not known.
        skipped : ndarray of bool, shape (P, k)
            Modes that are rigid motions.
        floor : ndarray, shape (P,)
            Growth rates, 1/s: the line Re λ = floor takes the place of the imaginary axis, on which
            Re zᴴQz is larger still.
        """
        W = boxes.angular_frequency
        bounded = np.isfinite(W)
        W = np.where(bounded, W, 0.0)
        theta = self.theta(forms, at, np.where(bounded, boxes.stiffness, 0.0))
        table = self._changed(at)
        damping = sum(
            (np.abs(g.factor(at.damping)) * c for g, c in zip(self.damping, forms.damping_coupling, strict=True)),
            np.zeros(len(at)),
        )
        stiffness = self.reference.shift * forms.mass_coupling + sum(
            (np.abs(g.factor(table)) * c for g, c in zip(self.changes, forms.coupling, strict=True)),
            np.zeros(len(at)),
        )
        far = W**2 * forms.mass_coupling + W * damping + stiffness
        used = np.isfinite(modes.eigenvalues) & ~skipped
        poles, *norms = _Poles.of(projected, modes, pairing, used, floor)
        relative = [np.where(used, r / n, np.inf) for r, n in zip(residuals, norms, strict=True)]
        sums = _on_the_axis(
            W, far, forms.mass_coupling, damping, poles, (relative[0], relative[1]), used
        )
        return np.asarray(bounded & (theta < 1.0) & (sums < 1.0 - theta))


@dataclass(frozen=True)
class _Poles:
    """All modes of the reduced problem as poles of Q_vv⁻¹, scaled to the norm of K_ref.

    values (P, k): λ less the floor, zero where there is none. right, left (P, r, k): of unit norm, zero where there is none.
    size (P, k): ‖x‖‖y‖/|yᴴ(2λM + E)x|; factor: the same with the phase of the pairing. paired (P, k): λ̄ is a pole too.
    """

    values: Complex
    right: Complex
    left: Complex
    size: Array
    factor: Complex
    paired: NDArray[np.bool_]

    @classmethod
    def of(
        cls, projected: Projected, modes: SmallModes, pairing: Complex, used: NDArray[np.bool_],
        floor: Array,
    ) -> tuple[_Poles, Array, Array]:
        """The poles, and the norms of the right and left vectors."""
        scaled, norms = [], []
        for vectors in (modes.right, modes.left):
            full = np.where(used[:, None, :], projected.frequency[:, None] * vectors, 0.0)
            norm = np.linalg.norm(full, axis=1)
            norm = np.where(norm > 0.0, norm, 1.0)
            scaled.append(full / norm[:, None, :])
            norms.append(norm)
        derivative = np.where(used, pairing, 1.0)
        tiny = np.finfo(float).tiny
        factor = norms[0] * norms[1] / np.where(np.abs(derivative) > tiny, derivative, tiny)
        factor = np.where(used, factor, 0.0)
        values = np.where(used, modes.eigenvalues - floor[:, None], 0.0)
        poles = cls(values, scaled[0], scaled[1], np.abs(factor), factor, used & (values.imag > 0.0))
        return poles, norms[0], norms[1]

    def distance(self, start: Array, stop: Array, mirrored: bool) -> tuple[Array, Array]:
        """Least and largest |iω − λ| (P, k) for ω from start to stop (P, 1); mirrored: of λ̄."""
        height = -self.values.imag if mirrored else self.values.imag
        a, b = start - height, stop - height
        inside = (a <= 0.0) & (b >= 0.0)
        near = np.where(inside, 0.0, np.minimum(np.abs(a), np.abs(b)))
        least = np.hypot(self.values.real, near)
        return least, np.hypot(self.values.real, np.maximum(np.abs(a), np.abs(b)))

    def sum_at(self, omega: Array, chosen: NDArray[np.bool_]) -> Array:
        """A bound (P,) of the norm of the sum over the chosen poles at iω, ω (P,)."""
        total = 0.0
        for mirrored in (False, True):
            there = chosen & self.paired if mirrored else chosen
            value = self.values.conj() if mirrored else self.values
            with np.errstate(divide="ignore", invalid="ignore"):
                weight = np.where(there, 1.0 / (1j * omega[:, None] - value), 0.0)
            factor = self.factor.conj() if mirrored else self.factor
            X, Y = (v.conj() if mirrored else v for v in (self.right, self.left))
            total = total + np.matmul(X * (factor * weight)[:, None, :], Y.conj().transpose(0, 2, 1))
        size = np.abs(total)
        return np.asarray(np.sqrt(size.sum(axis=1).max(axis=1) * size.sum(axis=2).max(axis=1)))


def _on_the_axis(
    W: Array, far: Array, mass: float, damping: Array, poles: _Poles, residuals: tuple[Array, Array],
    used: NDArray[np.bool_],
) -> Array:  # fmt: skip
    """A bound (P,) of ‖Q_zv Q_vv(iω)⁻¹ Q_vz‖ over 0 ≤ ω ≤ W.

    Modes whose residuals are known are taken one by one; the others together, from their sum at a
    few ω and its largest slope.
    """
    right, left = residuals
    known = used & np.isfinite(right)
    return _known_modes(W, far, mass, damping, poles, right, left, known) + _other_modes(
        W, far, poles, used & ~known
    )


def _other_modes(W: Array, far: Array, poles: _Poles, chosen: NDArray[np.bool_]) -> Array:
    """far² times a bound of the norm of the sum over the chosen modes."""
    if not chosen.any():
        return np.zeros(len(W))
    zero = np.zeros((len(W), 1))
    slope = np.zeros(len(W))
    for mirrored in (False, True):
        there = chosen & poles.paired if mirrored else chosen
        least = poles.distance(zero, W[:, None], mirrored)[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            slope += np.where(there, poles.size / least**2, 0.0).sum(axis=1)
    nodes = (np.arange(NODES) + 0.5) / NODES
    largest = np.max([poles.sum_at(W * node, chosen) for node in nodes], axis=0)
    return np.asarray(far**2 * (largest + 0.5 * W / NODES * slope))


def _known_modes(
    W: Array, far: Array, mass: float, damping: Array, poles: _Poles, right: Array, left: Array,
    known: NDArray[np.bool_],
) -> Array:  # fmt: skip
    """The largest sum over modes with residuals, each at its own smallest or largest distance.

    The interval is cut halfway between the imaginary parts of the modes.
    """
    lam = poles.values
    heights = np.clip(np.where(known, lam.imag, 0.0), 0.0, W[:, None])
    heights = heights[:, known.any(axis=0)]
    ends = np.zeros((len(W), 1)), W[:, None]
    centers = np.sort(np.concatenate([heights, *ends], axis=1), axis=1)
    edges = 0.5 * (centers[:, 1:] + centers[:, :-1])
    cuts = np.concatenate([ends[0], edges, ends[1]], axis=1)
    slope = (W[:, None] + np.abs(lam)) * mass + damping[:, None]
    worst = np.zeros(len(W))
    for j in range(centers.shape[1]):
        total = np.zeros(len(W))
        for mirrored in (False, True):
            there = known & poles.paired if mirrored else known
            least, most = poles.distance(cuts[:, j : j + 1], cuts[:, j + 1 : j + 2], mirrored)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                inner = right * left / least + (right + left) * slope + most * slope**2
                term = poles.size * np.fmin(far[:, None] ** 2 / least, inner)
            total += np.where(there, term, 0.0).sum(axis=1)
        worst = np.maximum(worst, total)
    return np.where(np.isnan(worst), np.inf, worst)


def coupling(projected: Projected, image: tuple[Array, Array], weights: Array) -> float:
    """max |zᴴBx| / ‖z‖‖x‖ over z in Z, x in V, in the norm of K_ref, for B = Σ_j w_j A_j and Bᴴ."""
    plain, mirrored = _images(projected, image, weights)
    return max(_dual_norm(*plain), _dual_norm(*mirrored))


def couple_skew(projected: Projected, image: tuple[Array, Array], weights: Array) -> float:
    """As `coupling`, for the skew part of B."""
    plain, mirrored = _images(projected, image, weights)
    return _dual_norm(*(0.5 * (a - b) for a, b in zip(plain, mirrored, strict=True)))


def _images(
    projected: Projected, image: tuple[Array, Array], weights: Array
) -> tuple[list[Array], list[Array]]:
    """Weak and strong sketches of BV and BᵀV beside K_ref V, in K_ref-orthonormal coordinates."""
    weights = _padded(weights, projected)
    small = np.tensordot(weights, projected.matrices, axes=1)
    out = []
    for weak, strong, inside in (
        (projected.weak, projected.strong, small),
        (projected.weak_transposed, projected.strong_transposed, small.T),
    ):
        share = inside / (projected.frequency**2)[:, None]
        out.append(
            [
                (np.tensordot(weights, sketch, axes=1) - whole @ share) / projected.frequency
                for sketch, whole in zip((weak, strong), image, strict=True)
            ]
        )
    return out[0], out[1]


def _dual_norm(weak: Array, strong: Array) -> float:
    return UNDERESTIMATE * float(np.sqrt(np.linalg.norm(weak, 2) * np.linalg.norm(strong, 2)))


def orthonormal(reference: Reference, V: Array) -> tuple[tuple[Array, Array], float]:
    """X (n, c) of the span of V with XᵀK_refX = I, and K_refX; the median of xᵀK_refx of V's."""
    KV = reference.shift * (reference.mass @ V)
    for weight, term in zip(reference.weights, reference.family.terms, strict=False):
        if weight != 0.0:
            KV = KV + 0.5 * weight * (term.apply(V) + term.apply(V, transposed=True))
    squares, U = la.eigh(V.T @ KV)
    half = U / np.sqrt(squares)
    return (V @ half, KV @ half), float(np.median(squares))


def _padded(weights: Array, projected: Projected) -> Array:
    return np.pad(weights, (0, len(projected.matrices) - len(weights)))
