"""Gauss steps of order 8 of a small motion whose matrices come off a polynomial.

M q̈ + (C + D) q̇ + K q = 0 with the accelerations k_i at the stages as unknowns,

    M_i k_i + (C + D)_i (v + h Σ_j a_ij k_j) + K_i (q + h c_i v + h² Σ_j (a²)_ij k_j) = 0,

Gauss collocation of ẋ = A(t) x for x = (q, q̇). It is A-stable and keeps the amplitude of every mode
of constant matrices, resolved or not (Hairer, Lubich & Wanner, Geometric Numerical Integration,
IV.2). All matrices of a block of steps are made together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as la

from assembly.errors import SingularSystemError
from modal.reduction.interpolated_motion import InterpolatedMotion
from modal.reduction.interpolation import Interpolant, Sampled
from modal.transient.equations import GROUPS
from modal.transient.integrators.tableau import Tableau
from modal.transient.tolerances import BATCH_NUMBERS, NEGLIGIBLE
from modal.types import Array, Index

GAUSS = Tableau(4)
COLLOCATED = GAUSS.a @ GAUSS.a
RESOLVED = 6.0  # ωh above which the phase of a mode is lost


class SmallMotion:
    """M, C + D, all stiffness and that of the potential, (4, r, r), as functions of time."""

    def __init__(self, sums: Interpolant) -> None:
        M, C, K, S = sums.table.swapaxes(0, 1)
        S = 0.5 * (S + S.swapaxes(1, 2))
        rate = sums.differentiated
        dissipated = 0.5 * rate(M) - 0.5 * (C + C.swapaxes(1, 2))
        powers = [dissipated, S - K, 0.5 * rate(S)]
        self.size = M.shape[1]
        self.matrices = replace(sums, table=np.stack([M, C, K], axis=1))
        self.energies = replace(sums, table=np.stack([M, S], axis=1))
        turned = [A.swapaxes(1, 2) for A in (M, C, K, *powers)]
        self._terms = _sizable(M, C, K)
        self._table = np.stack(turned, axis=1)[self._terms].reshape(len(self._terms), -1)

    @classmethod
    def of(cls, motion: InterpolatedMotion, V: Array) -> SmallMotion:
        """Of a motion on a space of shapes V (n, r)."""
        entries = motion.on_entries(*GROUPS)
        return cls(replace(entries, table=motion.on_space(entries.table, V)))

    def stages(self, times: Array, forms: int = 6) -> Array:
        """Mᵀ, (C + D)ᵀ, Kᵀ and the transposed forms of the power in (q̇, q̇), (q̇, q) and (q, q),
        (P, 6, r, r), or the first of them."""
        terms, table = self.matrices.basis(times)[:, self._terms], self._table
        found = terms @ table[:, : forms * self.size**2]
        return np.asarray(found.reshape(len(times), forms, self.size, self.size))

    def energy(self, times: Array, q: Array, v: Array) -> Array:
        """½ q̇ᵀMq̇ + ½ qᵀSq of states (P, r), J."""
        M, S = self.energies.many(times).swapaxes(0, 1)
        return 0.5 * (form(v, M, v) + form(q, S, q))


@dataclass(frozen=True)
class SmallRun:
    """q, v (N + 1, r) after every one of N equal steps over a span of time, and the work (N + 1,)
    that the motion has done on the vibration since the start, J."""

    times: Array
    q: Array
    v: Array
    work: Array


def steps(motion: SmallMotion, span: tuple[float, float], x: Array, count: int) -> SmallRun:
    """`count` equal steps from the state x = (q, q̇) (2r,). Raises SingularSystemError."""
    h, states, powers = (span[1] - span[0]) / count, [x.reshape(1, 2, -1)], [np.zeros(1)]
    for made, here, k in batches(motion.stages, span, x[None], count):
        states.append(here[1:, 0])
        q, v = np.split(here[:-1, 0], 2, axis=1)
        q = q + (h * GAUSS.c)[:, None] * v + h * h * (COLLOCATED @ k[:, 0])
        v = v + h * (GAUSS.a @ k[:, 0])
        power = form(v, made[:, :, 3], v) + form(q, made[:, :, 4], v) + form(q, made[:, :, 5], q)
        powers.append(h * (power @ GAUSS.b))
    times = span[0] + (span[1] - span[0]) * (np.arange(count + 1) / count)
    q, v = np.concatenate(states).swapaxes(0, 1)
    return SmallRun(times, q, v, np.cumsum(np.concatenate(powers)))


def batches(
    stages: Sampled, span: tuple[float, float], x: Array, count: int
) -> Iterator[tuple[Array, Array, Array]]:
    """Of `count` equal steps from states x (m, 2r), several at a time: what `stages` gives at their
    nodes, (S, s, ...), the states before and after each, (S + 1, m, 2, r), and the accelerations
    at the nodes, (S, m, s, r).

    stages(times): Mᵀ, (C + D)ᵀ and Kᵀ first, (P, 3 or more, r, r). Raises SingularSystemError.
    """
    m, r, s, h = len(x), x.shape[1] // 2, len(GAUSS.c), (span[1] - span[0]) / count
    ahead = np.stack([h * h * (GAUSS.b @ GAUSS.a), h * GAUSS.b])
    batch, last = max(1, BATCH_NUMBERS // (s * r) ** 2), x.reshape(m, 2, r)
    for first in range(0, count, batch):
        number = np.arange(first, min(first + batch, count))
        made = stages((span[0] + h * (number[:, None] + GAUSS.c)).ravel())
        made = made.reshape(len(number), s, -1, r, r)
        matrix, rest = _equations(made[:, :, 0], made[:, :, 1:3], h)
        k, states = np.empty((len(number), m, s, r)), np.empty((len(number) + 1, m, 2, r))
        states[0] = last
        for n, here in enumerate(states[:-1]):
            right = (here.reshape(m, 2 * r) @ rest[n]).swapaxes(1, 2).reshape(s * r, m)
            found, info = la.lapack.dgesv(matrix[n].T, right, overwrite_a=True)[2:]
            if info > 0:
                raise SingularSystemError(f"a {s * r}×{s * r} step matrix is singular")
            k[n] = found.T.reshape(m, s, r)
            states[n + 1] = here + ahead @ k[n]
            states[n + 1, :, 0] += h * here[:, 1]
        last = states[-1]
        yield made, states, k


def phase_error(omega: Array, h: float) -> Array:
    """Error of the phase of an oscillation of ω (rad/s), rad/s, in steps h; infinite where the
    steps do not resolve it.

    The stability function is the diagonal Padé approximant P(z)/P(−z) of the exponential.
    """
    s, z = len(GAUSS.c), np.asarray(omega) * h
    coefficients = np.cumprod([1.0, *((s - j) / ((2 * s - j) * (j + 1.0)) for j in range(s))])
    angle = np.angle(np.polynomial.polynomial.polyval(1j * z, coefficients))
    error = np.abs(np.exp(1j * (2.0 * angle - z)) - 1.0)
    return np.asarray(np.where(z <= RESOLVED, error, np.inf) / h)


def _equations(M: Array, CK: Array, h: float) -> tuple[Array, Array]:
    """The transposed matrices (S, s r, s r) of the stage accelerations of S steps, and those of the
    right-hand sides (S, s, 2r, r). Transposed, at the stages: M (S, s, r, r), C + D and K
    (S, s, 2, r, r)."""
    S, s, r, _ = M.shape
    both = CK.reshape(S, s, 2, r * r)
    weights = np.stack([h * GAUSS.a, h * h * COLLOCATED], axis=2)
    blocks = (weights @ both).reshape(S, s, s, r, r)
    for i in range(s):
        blocks[:, i, i] += M[:, i]
    matrix = blocks.transpose(0, 2, 3, 1, 4).reshape(S, s * r, s * r)
    known = np.zeros((s, 2, 2))
    known[:, 0, 1], known[:, 1, 0], known[:, 1, 1] = -1.0, -1.0, -h * GAUSS.c
    return matrix, (known @ both).reshape(S, s, 2 * r, r)


def _sizable(M: Array, C: Array, K: Array) -> Index:
    """The coefficients (c, r, r) of a polynomial that are not negligible beside the largest ones,
    of C beside those of M and K."""
    mass, stiffness = (np.abs(A).max(axis=0) for A in (M, K))
    sizes = []
    for A, largest in ((M, mass), (K, stiffness), (C, np.sqrt(mass * stiffness))):
        scale = np.sqrt(np.outer(np.diag(largest), np.diag(largest)))
        sizes.append((np.abs(A) / np.where(scale > 0.0, scale, 1.0)).max(axis=(1, 2)))
    return np.flatnonzero(np.max(sizes, axis=0) > NEGLIGIBLE)


def form(x: Array, A: Array, y: Array) -> Array:
    """xᵀAy of vectors (..., r) and matrices (..., r, r)."""
    return np.asarray(((x[..., None, :] @ A)[..., 0, :] * y).sum(axis=-1))
