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

which modal/proofs/poles.py bounds. Then the full problem has as many unstable eigenvalues as the
reduced one. In what couples V with Z the part of an image that K_ref V balances does not count, as
Z is orthogonal to V in K_ref. Norms dual to K_ref come from the two sketches of the basis,
‖f‖² ≤ ‖K_ref⁻¹f‖_M ‖f‖_{M⁻¹} (modal/reduction/basis.py).

θ comes from the largest ratios, on the complement of the first vectors of the basis, of M and of
what the points change in the symmetric stiffness to K_ref (modal/proofs/ratios.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy.linalg as la

from modal.proofs.box import PointBoxes, factors, groups, spanned
from modal.proofs.poles import Poles, largest_on_axis
from modal.proofs.ratios import Product, lanczos
from modal.reduction.affine import Coefficients
from modal.reduction.basis import UNDERESTIMATE, Projected
from modal.reduction.instants import form_round_off
from modal.reduction.mass_basis import MassBasis
from modal.reduction.reduced_eigen import SmallModes
from modal.reduction.reference_operator import ReferenceOperator
from modal.types import Array, Complex, Mask


@dataclass(frozen=True)
class ComplementForms:
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
    stiffness : float
        The largest W² + γW of the points, (rad/s)². Bounds that matter little are left wide.
    stored : mapping, optional
        The `arrays` of an earlier one, which are then not computed again.
    """

    def __init__(
        self,
        reference: ReferenceOperator,
        span: Coefficients,
        start: MassBasis | None = None,
        stiffness: float = np.inf,
        stored: Mapping[str, Array] | None = None,
    ) -> None:
        family = reference.family
        self.reference = reference
        span = span.padded(len(family.terms))
        every = np.ones(len(family.terms), dtype=bool)
        self.damping = groups(span.damping, every)
        self.changes = groups(span.stiffness - reference.weights, every)
        if stored is None:
            assert start is not None
            changed = span.stiffness - reference.weights
            sizes = np.abs(factors(self.changes, changed)).max(axis=0)
            bounds = self._bounds(start, [stiffness + reference.shift, *sizes])
        else:
            bounds = stored["complement"]
        self._mass, bounds = float(bounds[0, 1]), bounds[1:]
        self._low, self._high, self._coupling = bounds[:, 0], bounds[:, 1], bounds[:, 2]

    def _bounds(self, start: MassBasis, factors: list[float], harmless: float = 0.02) -> Array:
        """Of M and every change: lowest and highest ratio to K_ref, coupling with the vectors.

        factors: of M and of every change, the largest of all points. harmless: share of θ that a
        bound may have before it is taken as it is.
        """
        reference = self.reference
        matrices = [reference.family.symmetric_part(weights) for weights in self.changes]
        products: list[Product] = [A.__matmul__ for A in (reference.mass, *matrices)]
        positive = [True, *(False for _ in matrices)]
        (X, KX), square = orthonormal(reference, start.V)
        scale = np.sqrt(reference.mass.diagonal() * square)
        enough = [harmless / factor if factor > 0.0 else np.inf for factor in factors]
        ends = lanczos(
            reference.solve, partial(image, reference), products, scale, semidefinite=positive,
            without=(X, KX), enough=enough,
        )  # fmt: skip
        coupling = [0.0]
        for A in matrices:
            AX = A @ X
            inside = X.T @ AX
            outside = AX.T @ reference.solve(AX) - inside @ inside
            coupling.append(np.sqrt(max(float(la.eigvalsh(outside)[-1]), 0.0)))
        return np.column_stack([np.array(ends), coupling])

    def combinations(self) -> list[Array]:
        """Coefficients (J,) of M and of every group: what couples a basis with its complement."""
        return [self.reference.mass_weights, *self.damping, *self.changes]

    def arrays(self) -> dict[str, Array]:
        """The bounds, to be kept with a stored map."""
        ends = np.column_stack([self._low, self._high, self._coupling])
        return {"complement": np.vstack([[0.0, self._mass, 0.0], ends])}

    def forms(self, projected: Projected) -> ComplementForms:
        """The bounds on the complement of the whole basis."""
        reference = self.reference
        if projected.resolved == np.inf:
            none, empty = np.zeros(len(self.changes)), np.zeros(len(self.damping))
            return ComplementForms(0.0, none, none, 0.0, none, empty)
        image = self._reference_image(projected)
        # What the basis has beyond the first vectors couples with Z within their complement.
        wider = np.hypot(self._coupling, 0.5 * (self._high - self._low))
        sketched = np.array([coupling(projected, image, weights) for weights in self.changes])
        skew = np.array([couple_skew(projected, image, weights) for weights in self.changes])
        of_mass = coupling(projected, image, reference.mass_weights)
        of_changes = np.minimum(sketched, wider + skew)
        of_damping = np.array([coupling(projected, image, weights) for weights in self.damping])
        ends = self._mass, self._low, self._high
        return ComplementForms(*ends, of_mass, of_changes, of_damping)

    def local(
        self, forms: ComplementForms, shared: Projected, smaller: Projected, Q: Array
    ) -> ComplementForms:
        """The bounds on the complement of the columns Q (r, s) of the shared basis."""
        half = shared.frequency
        unit = half[:, None] * Q
        U = la.qr(unit, mode="full")[0][:, Q.shape[1] :] / half[:, None]
        own = self.forms(smaller)

        def both(sketched: float, wider: float, weights: Array) -> float:
            """The smaller of two bounds of the coupling; one is exact within the shared basis."""
            if U.shape[1] == 0:
                return min(sketched, wider)
            small = self._small(shared, weights)
            inside = max(
                np.linalg.norm(U.T @ A @ Q / smaller.frequency, 2) for A in (small, small.T)
            )
            return min(sketched, float(np.hypot(inside, wider)))

        def all_of(sketched: Array, wider: Array, of_groups: Array) -> Array:
            return np.array(list(map(both, sketched, wider, of_groups)))

        return replace(
            self._widened(forms, shared, U),
            mass_coupling=both(own.mass_coupling, forms.mass_coupling, self.reference.mass_weights),
            coupling=all_of(own.coupling, forms.coupling, self.changes),
            damping_coupling=all_of(own.damping_coupling, forms.damping_coupling, self.damping),
        )

    def _widened(self, forms: ComplementForms, projected: Projected, U: Array) -> ComplementForms:
        """The bounds of quadratic forms on Z and the columns of U, K_ref-orthonormal, together."""
        if U.shape[1] == 0:
            return forms
        ends = []
        for weights in (self.reference.mass_weights, *self.changes):
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
        return np.tensordot(padded(weights, projected), projected.matrices, axes=1)

    def _reference_image(self, projected: Projected) -> Array:
        """Sketches Θ and Ξ of K_ref V, (2, p, r)."""
        weights = padded(self.reference.weights, projected)
        weights = weights + self.reference.shift * padded(self.reference.mass_weights, projected)
        symmetric = 0.5 * projected.images.sum(axis=0)
        return np.tensordot(weights, symmetric, axes=1)

    def theta(self, forms: ComplementForms, at: Coefficients, stiffness: Array) -> Array:
        """θ (P,) of the head of this file; stiffness (P,): W² + γW, (rad/s)²."""
        factor, low, high = factors(self.changes, self._changed(at)), forms.low, forms.high
        theta = (stiffness + self.reference.shift) * forms.mass
        theta = theta + np.maximum(-factor * low, -factor * high).sum(axis=1)
        return np.where(self._known(at), theta, np.inf)

    def _changed(self, at: Coefficients) -> Array:
        weights = self.reference.weights
        return at.stiffness - np.pad(weights, (0, at.stiffness.shape[1] - len(weights)))

    def _known(self, at: Coefficients) -> Mask:
        """Points (P,) whose coefficients are combinations of the groups."""
        return spanned(self._changed(at), self.changes) & spanned(at.damping, self.damping)

    def _stiffness_coupling(self, forms: ComplementForms, at: Coefficients) -> Array:
        """Bound (P,) of what the whole stiffness couples between Z and V."""
        changed = np.abs(factors(self.changes, self._changed(at))) @ forms.coupling
        return self.reference.shift * forms.mass_coupling + changed

    def exceeds(
        self, forms: ComplementForms, projected: Projected, at: Coefficients, stiffness: Array
    ) -> Mask:
        """Points (P,) whose symmetric stiffness exceeds `stiffness`, (rad/s)², times the mass."""
        r, theta = projected.size, self.theta(forms, at, stiffness)
        S = (at.stiffness - stiffness[:, None] * at.mass) @ projected.matrices.reshape(-1, r * r)
        S = S.reshape(-1, r, r) / np.outer(projected.frequency, projected.frequency)
        couple = self._stiffness_coupling(forms, at) + stiffness * forms.mass_coupling
        margin = form_round_off(projected, at.stiffness) + couple**2 / np.maximum(
            1.0 - theta, np.finfo(float).tiny
        )
        out = theta < 1.0
        for p in np.flatnonzero(out):
            A = 0.5 * (S[p] + S[p].T) - margin[p] * np.eye(r)
            out[p] = la.lapack.dpotrf(A)[1] == 0
        return out

    def complete(
        self,
        forms: ComplementForms,
        projected: Projected,
        at: Coefficients,
        boxes: PointBoxes,
        modes: SmallModes,
        pairing: Complex,
        residuals: Sequence[Array],
        skipped: Mask,
        floor: Array,
    ) -> Mask:
        """Points (P,) where as many modes of the full problem as of the reduced one grow faster
        than `floor`.

        Parameters
        ----------
        modes : SmallModes
            All modes of the reduced problem, one of each conjugate pair, k of each point.
        pairing : ndarray, shape (P, k)
            yᴴ(2λM + E)x.
        residuals : two ndarray, shape (P, k)
            Dual norms of the residuals of right and left vectors, infinite where not known.
        skipped : ndarray of bool, shape (P, k)
            Modes that the frame prescribes: the full problem has them exactly.
        floor : ndarray, shape (P,)
            Growth rates, 1/s: the line Re λ = floor takes the place of the imaginary axis, on which
            Re zᴴQz is larger still.
        """
        W = boxes.angular_frequency
        bounded = np.isfinite(W)
        W = np.where(bounded, W, 0.0)
        theta = self.theta(forms, at, np.where(bounded, boxes.stiffness, 0.0))
        damping = np.abs(factors(self.damping, at.damping)) @ forms.damping_coupling
        stiffness = self._stiffness_coupling(forms, at)
        far = W**2 * forms.mass_coupling + W * damping + stiffness
        used = np.isfinite(modes.eigenvalues) & ~skipped
        poles, *norms = Poles.of(projected, modes, pairing, used, floor)
        own = self._of_modes(projected, at, poles)
        relative = [  # the same of the conjugates
            np.tile(np.where(used, r / n, np.inf), 2) for r, n in zip(residuals, norms, strict=True)
        ]
        sums = largest_on_axis(W, far, *own, poles, *relative)
        return np.asarray(bounded & (theta < 1.0) & (sums < 1.0 - theta))

    def _of_modes(
        self, projected: Projected, at: Coefficients, poles: Poles
    ) -> tuple[Array, Array]:
        """What M and C + D couple with the complement of each right and each left vector of the
        poles, (2, P, 2k) each."""
        image, rows = self._reference_image(projected), [self.reference.mass_weights, *self.damping]
        sketches = np.stack([images(projected, image, weights) for weights in rows], axis=1)
        weights = np.zeros((2, len(at), len(rows)))
        weights[0, :, 0], weights[1, :, 1:] = 1.0, factors(self.damping, at.damping)
        out = np.empty((2, 2, *poles.values.shape))
        for side, vectors in enumerate((poles.right, poles.left)):
            for operator, factor in enumerate(weights):
                of_point = np.tensordot(factor, sketches[side], axes=1)
                sizes = np.linalg.norm(of_point @ vectors[:, None], axis=2)
                out[operator, side] = UNDERESTIMATE * np.sqrt(sizes.prod(axis=1))
        return out[0], out[1]


def coupling(projected: Projected, image: Array, weights: Array) -> float:
    """max |zᴴBx| / ‖z‖‖x‖ over z in Z, x in V, in the norm of K_ref, for B = Σ_j w_j A_j and Bᴴ."""
    plain, mirrored = images(projected, image, weights)
    return max(dual_norm(*plain), dual_norm(*mirrored))


def couple_skew(projected: Projected, image: Array, weights: Array) -> float:
    """As `coupling`, for the skew part of B."""
    plain, mirrored = images(projected, image, weights)
    return dual_norm(*(0.5 * (plain - mirrored)))


def images(projected: Projected, image: Array, weights: Array) -> list[Array]:
    """Sketches Θ and Ξ of BV, and those of BᵀV, (2, p, r), without their part along K_ref V.

    In K_ref-orthonormal coordinates.
    """
    weights = padded(weights, projected)
    small = np.tensordot(weights, projected.matrices, axes=1)
    out = []
    for sketches, inside in zip(projected.images, (small, small.T), strict=True):
        share = inside / (projected.frequency**2)[:, None]
        out.append((np.tensordot(weights, sketches, axes=1) - image @ share) / projected.frequency)
    return out


def dual_norm(theta: Array, xi: Array) -> float:
    """Bound of the norm dual to K_ref from the two sketches."""
    return UNDERESTIMATE * float(np.sqrt(np.linalg.norm(theta, 2) * np.linalg.norm(xi, 2)))


def image(reference: ReferenceOperator, V: Array) -> Array:
    """K_ref V."""
    KV = reference.shift * (reference.mass @ V)
    for weight, term in zip(reference.weights, reference.family.terms, strict=False):
        if weight != 0.0:
            KV = KV + 0.5 * weight * (term.apply(V) + term.apply(V, transposed=True))
    return np.asarray(KV)


def orthonormal(reference: ReferenceOperator, V: Array) -> tuple[tuple[Array, Array], float]:
    """X (n, c) of the span of V with XᵀK_refX = I, and K_refX; the median of xᵀK_refx of V's."""
    KV = image(reference, V)
    squares, U = la.eigh(V.T @ KV)
    half = U / np.sqrt(squares)
    return (V @ half, KV @ half), float(np.median(squares))


def padded(weights: Array, projected: Projected) -> Array:
    return np.pad(weights, (0, len(projected.matrices) - len(weights)))
