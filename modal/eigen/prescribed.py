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

from collections.abc import Sequence
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
from modal.eigen.tolerances import GROUP
from modal.types import Array, Complex, Mask

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

    @classmethod
    def none(cls, m: int) -> PrescribedMotion:
        """Of m rigid fields, of which nothing is prescribed."""
        empty = np.zeros((m, 0))
        return cls(empty, np.zeros(0), 0, empty + 0j, np.zeros(0), empty, 0, empty, 0.0)

    def without_translations(self) -> PrescribedMotion:
        """What is left where the translations are not among the coordinates."""
        return replace(self, translations=self.translations[:, :0], rates=np.zeros(0), still=0)

    def counted(self, M: Any, C: Any, K: Any, fields: Array) -> PrescribedMotion:
        """The same with the number of zeros, from the matrices (r, r) of the instant and the rigid
        fields (r, m)."""
        if self.zeros is not None:
            return self
        zeros = zero_multiplicity(M, C, K, fields @ self.without_force) - 2 * self.still
        return replace(self, zeros=zeros)

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
        self, damping: Array, stiffness: Array, euler: Array, rates: Sequence[float] = ()
    ) -> PrescribedMotion:
        """The prescribed fields where the operators have these multipliers (J,).

        euler (J,): the share of `stiffness` that is K(ε). rates: of the frame, rad/s, beside those
        that its translations show.
        """
        c, k, e = (np.tensordot(x, self.inner, 1) for x in (damping, stiffness, euler))
        C, K = (np.tensordot(x, self.outer, 1) for x in (damping, stiffness))
        error_c, error_k = (float(np.abs(x) @ self.round_off) for x in (damping, stiffness))
        m = len(c)
        rate = float(np.linalg.norm(c, 2))
        free = k - e - 0.25 * c @ c
        error = error_k + rate * error_c + ROUND_OFF * (rate**2 + float(np.linalg.norm(k)))
        conditions = [
            (c + c.T, error_c), (e + e.T, error_k), (free, error), (free.T, error),
            (C[0], error_c), (C[1], error_c), (K[0], error_k), (K[1], error_k),
        ]  # fmt: skip
        T = _invariant(_null(conditions, np.eye(m)), (c, error_c), (e, error))
        W = 0.5 * T.T @ c @ T
        own = np.linalg.eigvalsh(-0.5j * (W - W.T)) if T.shape[1] else np.zeros(0)
        scale = max(rate, float(np.sqrt(np.linalg.norm(k, 2))))
        rest = la.null_space(T.T) if T.shape[1] else np.eye(m)
        # The stress of K_G is the solution of a static problem: its error is above round-off.
        statics = error_k + MOTION_TOLERANCE * float(np.abs(stiffness) @ self.size)
        at_rest = [(k, statics), (K[0], statics)]
        still = _null([(c, error_c), *at_rest], T).shape[1]
        null = _null(at_rest, rest)
        both = max(np.linalg.norm(k.T @ null), np.linalg.norm(K[1] @ null)) <= statics
        chained = null.T @ c @ null
        rank = int((la.svdvals(chained) > error_c + ROUND_OFF * rate).sum()) if chained.size else 0
        turned, turned_rates = [np.zeros((m, 0))], []
        for omega in _distinct([*np.abs(own), *rates], ALIKE * scale):
            velocity = omega * (error_c + MOTION_TOLERANCE * float(np.abs(damping) @ self.size))
            allowed = statics + velocity + MOTION_TOLERANCE * omega**2
            Q = k - omega**2 * np.eye(m) + 1j * omega * c
            sides = [K[s] + 1j * omega * sign * C[s] for s, sign in ((0, 1.0), (1, -1.0))]
            Z = _null([(Q, allowed), (Q.conj().T, allowed), *((x, allowed) for x in sides)], rest)
            turned.append(Z)
            turned_rates += [omega] * Z.shape[1]
        return PrescribedMotion(
            T, own, still, np.hstack(turned), np.array(turned_rates), null,
            2 * null.shape[1] - rank if both else None, _null(at_rest, np.eye(m)), scale,
        )  # fmt: skip


def _null(conditions: Sequence[tuple[NDArray[Any], float]], space: Array) -> Any:
    """The part of a space (m, k) that matrices (·, m) map to zero, each to its own error."""
    least = float(np.finfo(float).tiny)
    rows = [A @ space / max(float(error), least) for A, error in conditions if np.any(A)]
    if not rows or space.shape[1] == 0:
        return space
    A = np.vstack(rows)
    _, sizes, Zt = np.linalg.svd(A, full_matrices=len(A) < A.shape[1])
    return np.asarray(space @ Zt[int((sizes > np.sqrt(len(rows))).sum()) :].conj().T)


def _invariant(space: Array, *maps: tuple[Array, float]) -> Array:
    """The largest part of a space that matrices (m, m) map into itself."""
    while space.shape[1]:
        outside = np.eye(len(space)) - space @ space.T
        pairs = [(outside @ X, error) for A, error in maps for X in (A, A.T)]
        smaller = _null(pairs, space)
        if smaller.shape[1] == space.shape[1]:
            break
        space = la.orth(smaller)
    return space


def _distinct(rates: Sequence[float], distance: float) -> list[float]:
    """The positive ones of some rates, each once."""
    out: list[float] = []
    for rate in sorted(rates):
        if rate > distance and not (out and rate - out[-1] <= distance):
            out.append(float(rate))
    return out


def zero_multiplicity(M: Any, C: Any, K: Any, V: Array, orders: int = 6) -> int:
    """How many zero eigenvalues the null fields V (n, m) of K belong to, for any left null fields.

    With B and V bordering Q, the solution of Q(λ)x + Bg = 0, Vᵀx = I is a series in λ, and the zero
    of det g at λ = 0 is the multiplicity. It is read off the null space of the block Toeplitz
    matrix of the coefficients of g. A follower force on a free body makes four zeros of one field.
    orders: of the series; longer Jordan chains are not looked for.
    """
    n, m = V.shape
    scale = max(float(abs(K).max()), float(np.finfo(float).tiny))
    B = scale * np.random.default_rng(7).standard_normal((n, m))
    block = sp.bmat if sp.issparse(K) else np.block
    bordered = sp.csr_matrix(block([[K, B], [scale * V.T, np.zeros((m, m))]]))
    unit = np.vstack([np.zeros((n, m)), scale * np.eye(m)])
    S, size = [np.zeros((m, m))], [0.0]
    with Factorization(bordered, "general") as factor:
        X = [np.zeros((n, m)), np.asarray(factor.solve(unit))[:n]]
        W = np.asarray(factor.solve_transposed(unit))[:n]
        for _ in range(1, orders):
            load = C @ X[-1] + M @ X[-2]
            S.append(W.T @ load)
            terms = abs(C) @ np.abs(X[-1]) + abs(M) @ np.abs(X[-2])
            size.append(float(np.linalg.norm(W) * np.linalg.norm(terms)))
            X.append(np.asarray(factor.solve(-np.vstack([load, np.zeros((m, m))])))[:n])
    zero = [np.linalg.norm(A) <= MOTION_TOLERANCE * s for A, s in zip(S, size, strict=True)]
    S = [np.zeros((m, m)) if none else A for A, none in zip(S, zero, strict=True)]
    present = [j for j in range(1, orders) if not zero[j]]
    if not present:
        return m * orders
    first, last = present[0], present[-1]
    sizes = [float(np.linalg.norm(S[j])) for j in (first, last)]
    rate = (sizes[0] / sizes[1]) ** (1.0 / (last - first)) if last > first else 1.0
    toeplitz = np.zeros((m * (orders - 1), m * (orders - 1)))
    for i in range(orders - 1):
        for j in range(i + 1):
            at = np.s_[m * i : m * (i + 1), m * j : m * (j + 1)]
            toeplitz[at] = S[i - j + 1] * rate ** (i - j + 1)
    values = la.svdvals(toeplitz)
    return m + int((values <= MOTION_TOLERANCE * values[0]).sum())


def rigid_images(system: FrozenSystem) -> RigidImages:
    """The products of the parts of a system other than M and K with its rigid fields."""
    return RigidImages(system.M, system.rigid, [getattr(system, name) for name in PARTS])


def frame_rate(system: FrozenSystem) -> float:
    """The angular velocity of the frame of a body, rad/s; zero where it is not known."""
    omega = np.asarray(system.parameters.get("omega", 0.0), dtype=float)
    return float(np.linalg.norm(omega)) if omega.shape == (3,) else 0.0


def prescribed_motion(system: FrozenSystem, images: RigidImages | None = None) -> PrescribedMotion:
    """The prescribed fields of one system."""
    images = images or rigid_images(system)
    motion = images.prescribed(VELOCITY, 1.0 - VELOCITY, EULER, [frame_rate(system)])
    return motion.counted(system.M, system.damping, system.stiffness, images.fields)


def prescribed_modes(
    system: FrozenSystem, eigenvalues: Complex, right: Complex, deflated: int
) -> Mask:
    """Which eigenpairs (k,), shapes (n, k) of any length, of a free system are prescribed."""
    images = rigid_images(system)
    mass = (right.conj() * (system.M @ right)).sum(axis=0).real
    shares = images.mass_fields.T @ (right / np.sqrt(mass))
    return prescribed_motion(system, images).mask(eigenvalues, shares, deflated)
