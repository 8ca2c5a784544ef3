"""Eigenvalues that the kinematics of a free body's frame prescribe, and no others.

A body that nothing holds moves as a whole without force: uniformly along a line, and turned by a
constant angle. Seen from the frame that turns at ω these motions are eigenvectors at 0 and ±iω, and
they say nothing of stability. All other motions of the body as a whole, such as the nutation of its
axis, obey its equations of motion: they may grow, and count.

With R (n, m) the M-orthonormal rigid fields that K annihilates, Q(λ)R is the sum of the operators
of the motion alone. Three subspaces of R are prescribed:

*Translations*: the largest space T that all operators map into M T, from both sides, with
TᵀCT = 2W, W skew, and TᵀK_total T = W² + E, where E comes from K(ε) alone. The coordinates p of T
then decouple and have p̈ + 2Wṗ + (W² + E)p = 0: with E = Ẇ, p = e^(−Wt)(a + bt) without any growth,
whatever the eigenvalues of the frozen equation are. At E = 0 these are ±iΩ, each defective. A fixed
rotation axis and a body at rest are special cases, W = 0.

*Turned bodies*: z with Q(iΩ)z = 0 and zᴴQ(iΩ) = 0, Ω the rate of the frame.

*Null fields*: v with K_total v = 0, and the other vectors of their Jordan chains.

Every condition is a sum of terms; it holds where the sum is below the round-off of its terms. An
operator that annihilates R to round-off (K, and internal damping) annihilates it: that is what
makes R rigid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray

from assembly.linalg.combination import absolute_of, transpose_of
from assembly.linalg.factorization import Factorization
from assembly.linalg.symmetric import symmetry_of
from assembly.magnitudes import ALIKE
from assembly.system.frozen import FrozenSystem
from assembly.system.null_chain import ELASTIC_TOLERANCE, MOTION_TOLERANCE
from modal.eigen.modes import Modes
from modal.eigen.tolerances import GROUP
from modal.types import Array, Complex, Index, Mask

ROUND_OFF = 1e-13  # of ‖|A||R|‖, the terms of a product A R
PARTS = ("C", "D", "K_epsilon", "K_omega2", "K_G", "K_D", "K_transport")
VELOCITY = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
EULER = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True)
class PrescribedMotion:
    """Prescribed fields at one instant, in the coordinates (m,) of M-orthonormal rigid fields.

    translations (m, t): T. rates (t,): eigenvalues of −iW, rad/s. still: number of fields of T on
    which no force acts. turned (m, s) at the rates turned_rates (s,). null (m, r) and zeros: null
    fields outside T and how many zero eigenvalues these have; None where the left null fields are
    others, and `counted` is to find it. without_force (m, ·): all null fields. scale: size of the
    rates of all rigid motions, rad/s.
    """

    translations: Array
    rates: Array
    still: int
    turned: Complex
    turned_rates: Array
    null: Array
    zeros: int | None
    without_force: Array
    scale: float

    @property
    def zero_eigenvalues(self) -> int:
        """Number of prescribed eigenvalues that are zero."""
        assert self.zeros is not None
        return 2 * self.still + self.zeros

    @property
    def free_null(self) -> Array:
        """The null fields where C couples none of them with one another: each has two zeros."""
        count = self.null.shape[1]
        return self.null[:, : count if self.zeros == 2 * count else 0]

    @classmethod
    def none(cls, m: int) -> PrescribedMotion:
        """Of m rigid fields, of which nothing is prescribed."""
        empty = np.zeros((m, 0))
        return cls(empty, np.zeros(0), 0, empty + 0j, np.zeros(0), empty, 0, empty, 0.0)

    def without_translations(self) -> PrescribedMotion:
        """What is left where the translations are not among the coordinates."""
        return replace(self, translations=self.translations[:, :0], rates=np.zeros(0), still=0)

    def mask(self, eigenvalues: Complex, shares: Complex, deflated: int = 0) -> Mask:
        """Which of the modes (k,) of an instant, Im λ ≥ 0, are prescribed.

        shares (m, k): RᵀMx of modes x of unit mass norm. deflated: zero eigenvalues that are not
        among the modes.
        """
        T = self.translations
        inside = np.linalg.norm(T.T @ shares, axis=0) ** 2
        out = np.asarray(np.isfinite(eigenvalues) & (inside >= 1.0 - GROUP))
        for rate in sorted({0.0, *self.turned_rates.tolist()}):
            fields = self.null if rate == 0.0 else self.turned[:, self.turned_rates == rate]
            near = np.abs(eigenvalues - 1j * rate) <= ALIKE * self.scale
            space = la.orth(np.hstack([T, fields]))
            whole = np.linalg.norm(space.conj().T @ shares, axis=0) ** 2
            weight = np.where((eigenvalues.imag > 0.0) & (rate == 0.0), 2, 1)
            if rate == 0.0:
                left = self.zero_eigenvalues - deflated
            else:
                left = 2 * int((np.abs(self.rates - rate) <= ALIKE * self.scale).sum())
                left += fields.shape[1]
            left -= int(weight[out & near].sum())
            distance = np.abs(eigenvalues - 1j * rate)
            for j in np.argsort(distance, kind="stable"):
                if near[j] and not out[j] and whole[j] >= 1.0 - GROUP and weight[j] <= left:
                    out[j], left = True, left - weight[j]
        return out


def mass_orthonormal(mass: Any, rigid: Array) -> tuple[Array, Array]:
    """M-orthonormal combinations R (n, m) of rigid fields, and M R."""
    gram = rigid.T @ (mass @ rigid)
    R = rigid @ la.inv(la.cholesky(0.5 * (gram + gram.T)))
    return R, np.asarray(mass @ R)


class RigidImages:
    """Products of operators with the rigid fields of a system or of a family of them.

    Parameters
    ----------
    mass : operator, shape (n, n)
    rigid : ndarray, shape (n, m)
    operators : sequence of operators, shape (n, n)

    Attributes
    ----------
    fields, mass_fields : ndarray, shape (n, m)
        M-orthonormal rigid fields R, and M R.
    annihilates : ndarray of bool, shape (J,)
        Operators that annihilate R.
    """

    def __init__(self, mass: Any, rigid: Array, operators: Sequence[Any]) -> None:
        self.fields, self.mass_fields = mass_orthonormal(mass, rigid)
        R = self.fields
        d = 1.0 / np.sqrt(mass.diagonal())[:, None]
        J, m = len(operators), R.shape[1]
        self.inner = np.zeros((J, m, m))
        self.round_off, self.size = np.zeros(J), np.zeros(J)
        self.annihilates = np.zeros(J, dtype=bool)
        self._columns: list[Array] = []
        self._places, self._signs = np.zeros((J, 2), dtype=np.intp), np.zeros((J, 2))
        for j, operator in enumerate(operators):
            terms = float(np.linalg.norm(d * (absolute_of(operator) @ np.abs(R))))
            symmetry = symmetry_of(operator)
            pair = [operator @ R] if symmetry else [operator @ R, transpose_of(operator) @ R]
            size = max(float(np.linalg.norm(d * image)) for image in pair)
            self.annihilates[j] = size <= ELASTIC_TOLERANCE * terms
            if self.annihilates[j]:
                continue
            self.inner[j] = R.T @ pair[0]
            self.round_off[j], self.size[j] = ROUND_OFF * terms, size
            # What A makes of R beyond M R: that of Aᵀ is ± that of A where A is ± its transpose.
            self._places[j] = len(self._columns), len(self._columns) + len(pair) - 1
            self._signs[j] = 1.0, symmetry or 1.0
            for image, a in zip(pair, (self.inner[j], self.inner[j].T), strict=False):
                self._columns.append(d * (image - self.mass_fields @ a))

    @cached_property
    def outer(self) -> Array:
        """What A and Aᵀ make of R beyond M R, (J, 2, ·, m), in an orthonormal basis of it all."""
        m = self.fields.shape[1]
        wide: Array = np.zeros((0, m))  # nothing beyond M R
        if self._columns:
            wide = la.qr(np.hstack(self._columns), mode="economic")[1]
        by_operator = wide.reshape(len(wide), max(len(self._columns), 1), m)[:, self._places]
        return np.asarray(self._signs[..., None, None] * by_operator.transpose(1, 2, 0, 3))

    def prescribed(
        self, damping: Array, stiffness: Array, euler: Array, rates: Array
    ) -> list[PrescribedMotion]:
        """The prescribed fields of points at which the operators have these multipliers (P, J).

        euler (P, J): the share of `stiffness` that is K(ε). rates (P,): of the frame, rad/s, beside
        those that its translations show. Spaces are (P, m, m): vectors, and columns of zeros.
        """
        c, k, e = (np.tensordot(x, self.inner, 1) for x in (damping, stiffness, euler))
        C, K = (np.tensordot(x, self.outer, 1) for x in (damping, stiffness))
        error_c, error_k = (np.abs(x) @ self.round_off for x in (damping, stiffness))
        whole = np.broadcast_to(np.eye(c.shape[1]), c.shape)
        rate = np.linalg.norm(c, 2, axis=(1, 2))
        free = k - e - 0.25 * c @ c
        error = error_k + rate * error_c
        error += ROUND_OFF * (rate**2 + np.linalg.norm(k, axis=(1, 2)))
        conditions = [
            (c + _turned(c), error_c), (e + _turned(e), error_k), (free, error),
            (_turned(free), error), (C[:, 0], error_c), (C[:, 1], error_c), (K[:, 0], error_k),
            (K[:, 1], error_k),
        ]  # fmt: skip
        T = _invariant(_null(conditions, whole), (c, error_c), (e, error))
        there, sizes, _ = np.linalg.svd(T)
        rest = there * (sizes < 0.5)[:, None]
        W = _turned(T) @ c @ T
        # Beyond those of T.
        beyond = 4.0 * (1.0 + rate)[:, None, None] * (whole - _turned(T) @ T)
        own = np.linalg.eigvalsh(-0.25j * (W - _turned(W)) + beyond)
        scale = np.maximum(rate, np.sqrt(np.linalg.norm(k, 2, axis=(1, 2))))
        # The stress of K_G is the solution of a static problem: its error is above round-off.
        statics = error_k + MOTION_TOLERANCE * (np.abs(stiffness) @ self.size)
        at_rest = [(k, statics), (K[:, 0], statics)]
        still = dimensions(_null([(c, error_c), *at_rest], T))
        null, without_force = _null(at_rest, rest), _null(at_rest, whole)
        forces = (np.linalg.norm(A @ null, axis=(1, 2)) for A in (_turned(k), K[:, 1]))
        both = np.maximum(*forces) <= statics
        chained = np.linalg.svd(_turned(null) @ c @ null, compute_uv=False)
        rank = (chained > (error_c + ROUND_OFF * rate)[:, None]).sum(axis=1)
        zeros = 2 * dimensions(null) - rank
        columns = dimensions(T)
        omegas = [
            _distinct([*np.abs(own[p, : columns[p]]), rates[p]], ALIKE * scale[p])
            for p in range(len(c))
        ]
        turned: list[list[Complex]] = [[np.zeros((c.shape[1], 0), dtype=complex)] for _ in omegas]
        found: list[list[float]] = [[] for _ in omegas]
        for i in range(max(map(len, omegas), default=0)):
            at = np.array([p for p, each in enumerate(omegas) if len(each) > i])
            omega = np.array([omegas[p][i] for p in at])
            velocity = error_c[at] + MOTION_TOLERANCE * (np.abs(damping[at]) @ self.size)
            allowed = statics[at] + omega * velocity + MOTION_TOLERANCE * omega**2
            turns = 1j * omega[:, None, None]
            Q = k[at] + turns**2 * whole[at] + turns * c[at]
            sides = [K[at, s] + sign * turns * C[at, s] for s, sign in ((0, 1.0), (1, -1.0))]
            equations = [Q, _turned(Q).conj(), *sides]
            Z = _null([(A, allowed) for A in equations], rest[at])
            for p, rate_of_frame, fields in zip(at, omega, Z, strict=True):
                turned[p].append(_columns(fields))
                found[p] += [rate_of_frame] * turned[p][-1].shape[1]
        return [
            PrescribedMotion(
                _columns(T[p]), own[p, : columns[p]], int(still[p]), np.hstack(turned[p]),
                np.array(found[p]), _columns(null[p]), int(zeros[p]) if both[p] else None,
                _columns(without_force[p]), float(scale[p]),
            )
            for p in range(len(c))
        ]  # fmt: skip


def _turned(A: NDArray[Any]) -> Any:
    """The transposes of matrices (…, m, m)."""
    return A.swapaxes(-1, -2)


def _columns(space: NDArray[Any]) -> Any:
    """The vectors among the columns (m, m) of a space."""
    return space[:, np.linalg.norm(space, axis=0) > 0.5]


def dimensions(space: NDArray[Any]) -> Index:
    """The number of vectors (P,) of spaces (P, m, m)."""
    return np.asarray((np.linalg.norm(space, axis=1) > 0.5).sum(axis=1))


def _null(conditions: Sequence[tuple[NDArray[Any], Array]], space: NDArray[Any]) -> Any:
    """The parts of spaces (P, m, m) that matrices (P, ·, m) map to zero, each to its own error
    (P,)."""
    least = float(np.finfo(float).tiny)
    rows = [A @ space / np.maximum(error, least)[:, None, None] for A, error in conditions]
    A = np.concatenate(rows, axis=1)
    acting = sum(np.any(condition, axis=(1, 2)).astype(float) for condition, _ in conditions)
    # Columns of zeros are further from zero than all others.
    far = (1.0 + np.sqrt(len(rows)) + np.linalg.norm(A, axis=(1, 2)))[:, None, None]
    none = far * (np.linalg.norm(space, axis=1) < 0.5)[:, None] * np.eye(space.shape[2])
    _, sizes, Zh = np.linalg.svd(np.concatenate([A, none], axis=1), full_matrices=False)
    return space @ (_turned(Zh).conj() * (sizes <= np.sqrt(acting)[:, None])[:, None])


def _invariant(space: Array, *maps: tuple[Array, Array]) -> Array:
    """The largest parts of spaces (P, m, m) that matrices (P, m, m) map into themselves."""
    while True:
        outside = np.eye(space.shape[1]) - space @ _turned(space)
        pairs = [(outside @ X, error) for A, error in maps for X in (A, _turned(A))]
        smaller = _null(pairs, space)
        shrunk = dimensions(smaller) < dimensions(space)
        if not shrunk.any():
            return space
        space = np.where(shrunk[:, None, None], smaller, space)


def _distinct(rates: Sequence[float], distance: float) -> list[float]:
    """The positive ones of some rates, each once."""
    out: list[float] = []
    for rate in sorted(rates):
        if rate > distance and not (out and rate - out[-1] <= distance):
            out.append(float(rate))
    return out


def zero_multiplicity(M: Any, C: Any, K: Any, V: Array, orders: int = 6) -> Index:
    """How many zero eigenvalues the null fields V (n, m) of K belong to, for any left null fields.

    With B and V bordering Q, the solution of Q(λ)x + Bg = 0, Vᵀx = I is a series in λ, and the zero
    of det g at λ = 0 is the multiplicity. It is read off the null space of the block Toeplitz
    matrix of the coefficients of g. A follower force on a free body makes four zeros of one field.
    Of one system of sparse matrices, or of many: full matrices (P, n, n) and V (P, n, m).
    orders: of the series; longer Jordan chains are not looked for.
    """
    n, m = V.shape[-2:]
    sparse = sp.issparse(K)
    sizes = abs(K).max() if sparse else np.abs(K).max(axis=(1, 2))
    scale = np.maximum(sizes, np.finfo(float).tiny)[..., None, None]
    B = scale * np.random.default_rng(7).standard_normal((n, m))
    corner = scale * np.zeros((m, m))
    borders = [[K, B], [scale * _turned(V), corner]]
    unit = np.concatenate([np.zeros_like(V), scale * np.eye(m)], axis=-2)
    S, size = [corner], [0.0 * scale[..., 0, 0]]
    solve: Callable[[Array], Any]
    adjoint: Callable[[Array], Any]
    with ExitStack() as stack:
        if sparse:
            bordered = sp.csr_matrix(sp.bmat(borders))
            factor = stack.enter_context(Factorization(bordered, "general"))
            solve, adjoint = factor.solve, factor.solve_transposed
        else:
            inverse = np.linalg.inv(np.block(borders))
            solve, adjoint = inverse.__matmul__, _turned(inverse).__matmul__
        X = [np.zeros_like(V), np.asarray(solve(unit))[..., :n, :]]
        W = np.asarray(adjoint(unit))[..., :n, :]
        for _ in range(1, orders):
            load = C @ X[-1] + M @ X[-2]
            S.append(_turned(W) @ load)
            terms = abs(C) @ np.abs(X[-1]) + abs(M) @ np.abs(X[-2])
            size.append(_norm(W) * _norm(terms))
            X.append(np.asarray(solve(-np.concatenate([load, corner], axis=-2)))[..., :n, :])
    series = np.reshape(S, (orders, -1, m, m))
    norms = _norm(series)
    acts = norms > MOTION_TOLERANCE * np.reshape(size, (orders, -1))
    series = np.where(acts[..., None, None], series, 0.0)
    # From the first coefficient that is not zero to the last their sizes are made alike.
    first, last = acts.argmax(axis=0), orders - 1 - acts[::-1].argmax(axis=0)
    ends = [np.take_along_axis(norms, which[None], 0)[0] for which in (first, last)]
    far = acts.any(axis=0) & (last > first)
    ratio = np.where(far, ends[0], 1.0) / np.where(far, ends[1], 1.0)
    rate = ratio ** (1.0 / np.maximum(last - first, 1))
    toeplitz = np.zeros((series.shape[1], m * (orders - 1), m * (orders - 1)))
    for i in range(orders - 1):
        for j in range(i + 1):
            at = np.s_[:, m * i : m * (i + 1), m * j : m * (j + 1)]
            toeplitz[at] = series[i - j + 1] * (rate ** (i - j + 1))[:, None, None]
    values = np.linalg.svd(toeplitz, compute_uv=False)
    return m + np.asarray((values <= MOTION_TOLERANCE * values[:, :1]).sum(axis=1))


def _norm(A: Array) -> Array:
    """The Frobenius norms of matrices (…, n, m)."""
    return np.asarray(np.linalg.norm(A, axis=(-2, -1)))


def rigid_images(system: FrozenSystem) -> RigidImages:
    """The products of the parts of a system other than M and K with its rigid fields."""
    return RigidImages(system.M, system.rigid, [getattr(system, name) for name in PARTS])


def frame_rate(system: FrozenSystem) -> float:
    """The angular velocity of the frame of a body, rad/s; zero where it is not known."""
    omega = np.asarray(system.parameters.get("omega", 0.0), dtype=float)
    # With an axis it is rounded as that of many instants is, whatever the processor.
    return float(np.linalg.norm(omega, axis=0)) if omega.shape == (3,) else 0.0


def uncounted_motions(system: FrozenSystem, images: RigidImages) -> list[PrescribedMotion]:
    """The prescribed fields of one system, their zeros not counted where that takes a solution."""
    damping, stiffness, euler = np.array([VELOCITY, 1.0 - VELOCITY, EULER])[:, None]
    return images.prescribed(damping, stiffness, euler, np.array([frame_rate(system)]))


def prescribed_motion(system: FrozenSystem) -> PrescribedMotion:
    """The prescribed fields of one system."""
    images = rigid_images(system)
    motions = uncounted_motions(system, images)
    return counted(motions, system.M, system.damping, system.stiffness, images.fields)[0]


def counted(
    motions: Sequence[PrescribedMotion], M: Any, C: Any, K: Any, fields: Array
) -> list[PrescribedMotion]:
    """The same with the numbers of zeros, from the matrices of one system, or (P, r, r) of all
    points, and the rigid fields (r, m)."""
    out = list(motions)
    kinds: dict[int, list[int]] = {}
    for p, motion in enumerate(motions):
        if motion.zeros is None:
            kinds.setdefault(motion.without_force.shape[1], []).append(p)
    for numbers in kinds.values():
        if sp.issparse(K):
            zeros = zero_multiplicity(M, C, K, fields @ motions[0].without_force)
        else:
            V = fields @ np.stack([motions[p].without_force for p in numbers])
            zeros = zero_multiplicity(M[numbers], C[numbers], K[numbers], V)
        for p, count in zip(numbers, zeros.tolist(), strict=True):
            out[p] = replace(motions[p], zeros=count - 2 * motions[p].still)
    return out


def prescribed_modes(motion: PrescribedMotion, system: FrozenSystem, modes: Modes) -> Mask:
    """Which modes of a free system with these prescribed fields are prescribed."""
    right, mass_fields = modes.right, mass_orthonormal(system.M, system.rigid)[1]
    mass = (right.conj() * (system.M @ right)).sum(axis=0).real
    shares = mass_fields.T @ (right / np.sqrt(mass))
    return motion.mask(modes.eigenvalues, shares, modes.deflated)
