"""Propagation of a smooth linear motion by decoupled groups of its modes.

In x = T(t) c the equations M q̈ + C q̇ + K q = 0 of x = (q, q̇) become c' = H(t) c with H block
diagonal: phases of fast modes are integrals of smooth rates, and steps resolve the differences of
frequencies within a group alone. On a panel of time with Chebyshev-Lobatto nodes,

1. the eigenvectors of (K_s, M) at the nodes, K_s the symmetric part of K, give actions ξ and π with
   q = Φ w^−½ ξ, q̇ = Φ w^½ π, and z = (ξ ± iπ)/√2. Modes that come closer than the gap θ somewhere
   on the panel are of one group; frames of groups are aligned from node to node;
2. z' = B z, B = D + E with E off the diagonal blocks D of the groups. Transformations
   z = e^W e^W₂ (1 + W₃) c with [D, W] = −E, [D, W₂] = W' − ½ [E, W] and [D, W₃] = W₂' − [S, W] off
   the blocks, S = ⅓ [E, W] − ½ W', remove E up to terms of the fourth order in 1/θ (superadiabatic
   bases: M. V. Berry, Proc. R. Soc. A 429, 1990; J. R. Schrieffer and P. A. Wolff, Phys. Rev. 149,
   1966). Overdamped modes take part with their two real roots;
3. the mean rate of each group is integrated; the rest of H is small beside the frequencies.

θ is inverse to the length of the panel, and larger where the error asks for it. The error is that
of the panel without W₃, without the part of H of the fourth order and with steps of twice the
phase, and, of the polynomials, that of their last coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.polynomial import chebyshev
from scipy.integrate import trapezoid
from scipy.sparse.csgraph import connected_components

from assembly.errors import ConvergenceError
from modal.eigen.tolerances import ZERO
from modal.transient.collocated import PHASE, STAGES, Collocation, Matrices
from modal.transient.tolerances import BATCH_NUMBERS, DIVISIONS, FEW, SAFETY
from modal.types import Array, Complex, Index

ORDER = 4  # of the error, in the length of a panel
DAMPED = 0.1  # damping ratio from which a mode and its conjugate are of one group
PAIRS = 16.0  # of steps of collocation, that cost no more than a panel of 64 degrees of freedom
WITHIN = 0.25  # of the tolerance, for the polynomials within steps of collocation
MATRICES = 8  # modes of a group up to which exponentials are formed, not applied to vectors


@lru_cache(maxsize=4)
def _chebyshev(p: int) -> tuple[Array, Array, Array]:
    """Nodes (p,) on [0, 1], the matrix of derivatives there, and that of Chebyshev coefficients."""
    nodes = np.sin(0.5 * np.pi * np.linspace(-1.0, 1.0, p))
    coefficients = np.linalg.inv(chebyshev.chebvander(nodes, p - 1))
    slopes = chebyshev.chebvander(nodes, p - 2) @ chebyshev.chebder(coefficients)
    return 0.5 * (nodes + 1.0), 2.0 * slopes, coefficients


def _polynomials(parts: Array, p: int) -> Array:
    """Chebyshev polynomials (R, p) at parts (R,) of a panel."""
    return np.asarray(chebyshev.chebvander(2.0 * parts - 1.0, p - 1))


@dataclass(frozen=True)
class Frames:
    """M, C + D, K (p, n, n) at nodes, and squared frequencies (p, n) and vectors (p, n, n) of
    (K_s, M)."""

    M: Array
    C: Array
    K: Array
    squares: Array
    shapes: Array

    @classmethod
    def of(cls, matrices: Matrices, times: Array) -> Frames:
        """At times (p,)."""
        M, C, K = matrices(times)
        pairs = [la.eigh(0.5 * (k + k.T), m, check_finite=False) for k, m in zip(K, M, strict=True)]
        squares, shapes = (np.stack(part) for part in zip(*pairs, strict=True))
        return cls(M, C, K, squares, shapes)

    def amplitudes(self, node: Any, x: Array, softest: Any) -> tuple[Array, Array]:
        """√(a² + ȧ²/ω²) of the modes at a node in states (..., 2n), and ω, at least `softest`; for
        a slice of nodes, of one state a node."""
        halves = x.reshape(*x.shape[:-1], 2, -1) @ self.M[node] @ self.shapes[node]
        omega = np.sqrt(np.maximum(np.abs(self.squares[node]), softest**2))
        return np.hypot(halves[..., 0, :], halves[..., 1, :] / omega), omega

    def sizes(self, states: Array, length: float, softest: float) -> tuple[Array, Array]:
        """Of the first node: √Σ (a² + ȧ²/ω²) of the modes that a length of time turns by at most
        PHASE, and of faster ones."""
        amplitudes, omega = self.amplitudes(0, states, softest)
        slow = omega * length <= PHASE
        return tuple(np.linalg.norm(amplitudes[:, part], axis=1) for part in (slow, ~slow))


class Panel:
    """T and H at the nodes of a panel of time, where its groups are `apart`.

    Of modes that oscillate, z of the lower half are conjugates of the upper half: matrices (2n, 2n)
    are known by their first `rows` rows then.
    """

    def __init__(self, frames: Frames, length: float, theta: float) -> None:
        self.length = length
        self.p, self.n = frames.squares.shape
        _, slopes, self._coefficients = _chebyshev(self.p)
        self._slopes = slopes / length
        S, self._up, self._down, modes = self._real(frames, theta)
        B = self._complex(S, theta / 8.0)
        self._group(B, modes, theta)
        if self.apart:
            self._decouple(B, theta)

    @property
    def apart(self) -> bool:
        """Whether no large group has more than a third of z."""
        return max(map(len, self.several), default=0) <= max(2 * self.n // 3, MATRICES)

    def _rate(self, values: Any) -> Any:
        return np.tensordot(self._slopes, values, 1)

    def _real(self, frames: Frames, theta: float) -> tuple[Array, Array, Array, Index]:
        """S (2, 2, p, n, n) of (ξ, π)' = S (ξ, π), q = up ξ, q̇ = down π, and labels of modes."""
        floor = theta / 8.0  # of w, so that modes at zero have actions
        w = (frames.squares**2 + floor**4) ** 0.25
        near = (w[:, 1:] - w[:, :-1]).min(axis=0) < theta
        label = np.append(0, np.cumsum(~near))
        middle = frames.M[self.p // 2] @ frames.shapes[self.p // 2]
        shapes = frames.shapes * np.sign(np.einsum("pki,ki->pi", frames.shapes, middle))[:, None]
        up, down = shapes / np.sqrt(w)[:, None], shapes * np.sqrt(w)[:, None]
        for g in np.split(np.arange(self.n), np.flatnonzero(~near) + 1):
            if len(g) > 1:
                U, _, Vt = np.linalg.svd(shapes[:, :, g].swapaxes(1, 2) @ middle[:, g])
                up[:, :, g], down[:, :, g] = up[:, :, g] @ (U @ Vt), down[:, :, g] @ (U @ Vt)
        upT, inertia = up.swapaxes(1, 2), down.swapaxes(1, 2) @ frames.M
        S = np.empty((2, 2, *shapes.shape))
        S[0, 0], S[0, 1] = -inertia @ self._rate(up), inertia @ down
        S[1, 0] = -upT @ (frames.K @ up)
        S[1, 1] = -upT @ (frames.C @ down + frames.M @ self._rate(down))
        return S, up, down, label

    def _complex(self, S: Array, softest: float) -> Complex:
        """B (p, rows, 2n) of z' = B z, (ξ, π) = U z mode by mode: with two real roots where damping
        parts them, of frequencies from the softest on, rad/s."""
        n, root = self.n, np.sqrt(0.5)
        self._U = U = np.empty((2, 2, n), dtype=complex)
        U[0], U[1, 0], U[1, 1] = root, -1j * root, 1j * root
        blocks = np.einsum("abpii->piab", S)
        square = -blocks[..., 0, 1] * blocks[..., 1, 0]
        ratio = 0.5 * np.abs(blocks[..., 1, 1]) / np.sqrt(np.maximum(np.abs(square), softest**2))
        over = ratio.min(axis=0) > 1.0 + DAMPED
        joined = (ratio.max(axis=0) > DAMPED) | (square.min(axis=0) < 0.0)
        self.joined = np.flatnonzero(joined & ~over)
        self.rows = n
        if np.any(over):
            self.rows = 2 * n
            U[:, :, over] = np.linalg.eig(blocks[self.p // 2, over])[1].transpose(1, 2, 0)
        inverse = np.linalg.inv(U.transpose(2, 0, 1)).transpose(1, 2, 0)[..., None]
        B = np.empty((self.p, self.rows, 2 * n), dtype=complex)
        for d in (0, 1):
            half = [S[a, 0] * U[0, d] + S[a, 1] * U[1, d] for a in (0, 1)]
            for c in range(self.rows // n):
                part = inverse[c, 0] * half[0] + inverse[c, 1] * half[1]
                B[:, c * n : (c + 1) * n, d * n : (d + 1) * n] = part
        return B

    def _whole(self, top: Complex) -> Complex:
        """The matrix (2n, 2n) of its first rows."""
        if self.rows == 2 * self.n:
            return top
        return np.concatenate([top, np.roll(top, self.n, axis=1).conj()])

    def _doubled(self, z: Complex) -> Complex:
        """z (2n, ...) of its first rows."""
        return z if self.rows == 2 * self.n else np.concatenate([z, z.conj()])

    def _group(self, B: Complex, modes: Index, theta: float) -> None:
        """Groups of z: nearer than θ somewhere, or of one group of modes."""
        n, near = self.n, np.zeros((2 * self.n, 2 * self.n), dtype=bool)
        for top in B:
            rates = self._doubled(np.diagonal(top))
            near |= np.abs(rates[:, None] - rates) < theta
        near[:n, :n] |= modes[:, None] == modes
        near[n:, n:] |= modes[:, None] == modes
        near[self.joined, n + self.joined] = True
        count, label = connected_components(near, directed=False)
        groups = [np.flatnonzero(label == k) for k in range(count)]
        self.several = [g for g in groups if len(g) > 1 and g[0] < self.rows]
        self._turned = [g for g in groups if len(g) > 1]
        self.single = np.array(
            [g[0] for g in groups if len(g) == 1 and g[0] < self.rows], dtype=int
        )
        self._off = label[:, None] != label

    def _decouple(self, B: Complex, theta: float) -> None:
        """H on the blocks of the groups, of orders 3 and 4, T without W₃, and W₃."""
        nodes = [self._whole(top) for top in B[:: self.p // 2]]
        frozen = [_centred(np.stack([A[np.ix_(g, g)] for A in nodes]))[0] for g in self.several]
        self._widest = [
            SAFETY * (theta * np.sqrt(block.shape[1]) + _size(block)) for block in frozen
        ]
        p, rows = self.p, self.rows
        spectra = [self._spectrum(self._whole(top)) for top in B]
        W = np.stack(
            [self._solved(self._whole(B[j]) * self._off, spectra[j])[:rows] for j in range(p)]
        )
        slopes, single = self._rate(W), np.complex64
        self.rates = np.zeros((2, p, rows), dtype=complex)
        self.H = [np.empty((2, p, len(g), len(g)), dtype=complex) for g in self.several]
        self.T: list[Any] = []
        seconds, thirds = (np.empty(W.shape, dtype=single) for _ in range(2))
        for j in range(p):
            here, X, slope = (self._whole(top) for top in (B[j], W[j], slopes[j]))
            X32 = X.astype(single)
            F = self._commutator((here * self._off).astype(single), X32)
            first = np.where(self._off, 0.5 * F - slope, 0.0)
            second = self._solved(first.copy(), spectra[j])
            third = F / 3.0 - 0.5 * slope
            G = self._commutator(third.astype(single), X32)
            third[~self._off] = 0.0
            start = here + 0.5 * F
            self.rates[:, j, self.single] = start[self.single, self.single]
            for H, g in zip(self.H, self.several, strict=True):
                H[:, j] = start[g[:, None], g]
            self._add(slice(2), j, third, X)
            self._add(slice(2), j, 0.5 * first, second)
            # ⅛ [F, W] − ⅙ [W', W], but for −1/48 [W', W].
            self._add(slice(1, 2), j, 0.375 * G, X32)
            self.T.append(self._states_of(j, X, second))
            seconds[j], thirds[j] = second[:rows], G[:rows]
        thirds -= self._rate(seconds).astype(single)
        self.W3 = [
            self._solved(self._whole(top) * self._off, spectrum)[:rows]
            for top, spectrum in zip(thirds, spectra, strict=True)
        ]
        # q and q̇ are real: of c and its conjugate, and of its real and imaginary part.
        self._turn = []
        for T, W3 in zip(self.T, self.W3, strict=True):
            near = T @ W3
            turn = T + near[:, :rows]
            if rows == self.n:
                turn += near[:, rows:].conj()
            self._turn.append(np.hstack([turn.real, -turn.imag]))

    def _commutator(self, A: Any, X: Any) -> Any:
        """[A, X], (2n, 2n)."""
        return self._whole(A[: self.rows] @ X - X[: self.rows] @ A)

    def _add(self, orders: slice, j: int, A: Any, X: Any) -> None:
        """The blocks of [A, X] to H of some orders at node j."""
        s = self.single
        self.rates[orders, j, s] += (A[s] * X[:, s].T).sum(axis=1) - (X[s] * A[:, s].T).sum(axis=1)
        for H, g in zip(self.H, self.several, strict=True):
            H[orders, j] += A[g] @ X[:, g] - X[g] @ A[:, g]

    def _states_of(self, j: int, X: Complex, second: Complex) -> Complex:
        """T without W₃ at node j, (2n, rows)."""
        n, U = self.n, self._U[..., None]
        once = np.eye(2 * n, self.rows) + second[:, : self.rows]
        z = once + X @ (once + X @ (once + X @ once / 3.0) / 2.0)
        both = [
            (frame @ (u[0] * z[:n] + u[1] * z[n:]).view(float)).view(complex)
            for frame, u in zip((self._up[j], self._down[j]), U, strict=True)
        ]
        return np.asarray(np.concatenate(both) * (2 * n / self.rows))

    def _spectrum(self, B: Complex) -> tuple[Complex, list[tuple[Complex, Complex]]]:
        """Eigenvalues (2n,) of the blocks of B, and vectors and their inverse of larger ones."""
        values, turns = np.diagonal(B).copy(), []
        for g in self._turned:
            values[g], V = np.linalg.eig(B[g[:, None], g])
            turns.append((V, np.linalg.inv(V)))
        return values, turns

    def _solved(
        self, E: Complex, spectrum: tuple[Complex, list[tuple[Complex, Complex]]]
    ) -> Complex:
        """X with [D, X] = −E, D the blocks of the groups. E is overwritten."""
        values, turns = spectrum
        if all(g[0] >= self.rows or g[-1] < self.rows for g in self._turned):
            E = E[: self.rows]
        for g, (V, inverse) in zip(self._turned, turns, strict=True):
            if g[0] < self.rows:
                E[g] = inverse @ E[g]
            E[:, g] = E[:, g] @ V
        apart = values - values[: len(E), None]
        apart[~self._off[: len(E)]] = np.inf
        E /= apart
        for g, (V, inverse) in zip(self._turned, turns, strict=True):
            if g[0] < self.rows:
                E[g] = V @ E[g]
            E[:, g] = E[:, g] @ inverse
        return self._whole(E[: self.rows])

    def run(self, x: Array, parts: Array, phase: float = 1.0) -> tuple[Array, Array, Array]:
        """The states (R, 2n) at parts (R,) of the panel from that at its start (2n,), those at
        every second node (p // 2, 2n) less those of an order less, and what the last two
        coefficients of T and H in Chebyshev polynomials amount to (12, 2n).

        phase: rad that a step of a group may turn.
        """
        p, nodes = self.p, _chebyshev(self.p)[0]
        y = self._coordinates(x)
        once = self.W3[0] @ self._doubled(y)
        c = y - once + self.W3[0] @ self._doubled(once)
        fine = self._propagated(1, c, np.concatenate([parts, nodes]), phase)
        rough = self._propagated(0, y, nodes[2::2], 2.0 * phase)
        fine, nodal = np.split(fine, [len(parts)], axis=1)
        terms = _polynomials(parts, p) @ self._coefficients
        states, less = np.zeros((len(parts), 2 * self.n)), np.empty((p // 2, 2 * self.n))
        # Over the panel T_p varies by 2p, and its integral is 1/2p of the panel at most.
        last, ends = np.zeros((4, 3, 2 * self.n)), self._coefficients[-2:]
        for j in range(p):
            used = np.flatnonzero(terms[:, j])
            states[used] += terms[used, j, None] * self._states(j, fine[:, used])
            *three, apart = self._states(j, nodal[:, [0, p // 2, p - 1, j]])
            last[:2] += 2.0 * p * ends[:, j, None, None] * np.stack(three)
            if j and j % 2 == 0:
                less[j // 2 - 1] = apart - (self.T[j] @ rough[:, j // 2 - 1]).real
        for i, j in enumerate(range(0, p, p // 2)):
            whole = self._doubled(nodal[:, j])
            slopes = (ends @ self.rates[1] * nodal[:, j]).T
            for H, g in zip(self.H, self.several, strict=True):
                kept = g < self.rows
                slopes[g[kept]] = (np.tensordot(ends, H[1], 1) @ whole[g])[:, kept].T
            last[2:, i] = self.length / (2.0 * p) * self._states(j, slopes)
        return states, less, last.reshape(12, -1)

    def _states(self, j: int, c: Complex) -> Array:
        """x (R, 2n) = T c of c (rows, R) at node j."""
        return np.asarray((self._turn[j] @ np.concatenate([c.real, c.imag])).T)

    def _coordinates(self, x: Array) -> Complex:
        """(1 + W₃) c (rows,) at the start."""
        T = self.T[0]
        if self.rows == 2 * self.n:
            return np.asarray(np.linalg.solve(T, x))
        both = np.linalg.solve(np.hstack([T.real, -T.imag]), x)
        return np.asarray(both[: self.n] + 1j * both[self.n :])

    def _propagated(self, order: int, c: Complex, parts: Array, phase: float) -> Complex:
        """c (rows, R) at parts (R,) of the panel, with H of an order, 0 or 1."""
        whole, terms = self._doubled(c), 0.5 * self.length * _polynomials(parts, self.p + 1)
        rates, blocks = self.rates[order].copy(), []
        for H, g, widest in zip(self.H, self.several, self._widest, strict=True):
            block, shift = _centred(H[order])
            if not _size(block[:: self.p // 2]) <= widest:
                # The transformations do not decouple.
                return np.full((len(c), len(parts)), np.nan, dtype=complex)
            rates[:, g[g < self.rows]] = shift[:, None]
            blocks.append(block)
        integral = chebyshev.chebint(self._coefficients @ rates, lbnd=-1.0)
        phases = np.exp(terms @ integral).T
        out, left = c[:, None] * phases, np.abs(phases) > ZERO
        alike: dict[tuple[int, int], list[int]] = {}
        for k, g in enumerate(self.several):
            alone = len(g) > MATRICES or not left[g[0]].all()
            alike.setdefault((len(g), k if alone else -1), []).append(k)
        for numbers in alike.values():
            members = np.stack([self.several[k] for k in numbers])
            kept, last = members < self.rows, left[members[:, 0]].any(axis=0)
            if np.any(last):  # of groups that decay, as long as something is left of them
                H = np.stack([blocks[k] for k in numbers], axis=1)
                y = _exponentials(H, self.length, whole[members], parts[last], phase)
                out[np.ix_(members[kept], last)] = y[:, kept].T * phases[members[kept]][:, last]
        return np.asarray(out)


def _centred(H: Complex) -> tuple[Complex, Complex]:
    """H (p, m, m) less the mean frequency and the largest growth of its diagonals, and these."""
    diagonal = np.diagonal(H, axis1=1, axis2=2)
    shift = 1j * diagonal.imag.mean(axis=1) + diagonal.real.max()
    return H - shift[:, None, None] * np.eye(H.shape[1]), shift


def _size(H: Complex) -> float:
    """The largest Frobenius norm of matrices (p, m, m)."""
    return float(np.linalg.norm(H, axis=(1, 2)).max())


def _exponentials(H: Complex, length: float, y: Complex, parts: Array, phase: float) -> Complex:
    """y (R, G, m) at ascending parts of a panel, of y' = H y of G groups with H (p, G, m, m) at the
    nodes, from y (G, m).

    Commutator-free exponentials of order 4 (S. Blanes and P. C. Moan, Appl. Numer. Math. 56, 2006),
    of small groups as matrices, of a large one on vectors; no step turns by more than a phase, rad.
    """
    p, groups, m = H.shape[:3]
    # In real arithmetic: the weights of the nodes are real.
    table = length * (_chebyshev(p)[2] @ np.ascontiguousarray(H).reshape(p, -1).view(float))
    size = 2 if m > MATRICES else None  # of small groups by Frobenius, nearly the same
    fastest = length * float(np.linalg.norm(H[:: p // 2], size, axis=(2, 3)).max())
    if not fastest * parts.max() <= phase * BATCH_NUMBERS:  # more steps than shorter panels take
        return np.full((len(parts), groups, m), np.nan, dtype=complex)
    ends, again = np.unique(parts, return_inverse=True)
    lengths = np.diff(ends, prepend=0.0)
    counts = np.maximum(np.ceil(lengths * fastest / phase).astype(int), 1)
    h, last = np.repeat(lengths / counts, counts), np.cumsum(counts) - 1
    root = np.sqrt(3.0) / 6.0
    near, far = 0.25 + root, 0.25 - root
    early, late = (
        h[:, None] * _polynomials(np.cumsum(h) + (c - 0.5) * h, p) for c in (-root, root)
    )
    terms = np.stack([near * early + far * late, far * early + near * late], axis=1)
    # Taylor's series of exponents of this size.
    degree = int((np.cumprod((near - far) * fastest * h.max() / np.arange(1, 40)) > ZERO).sum()) + 1
    out = np.empty((len(h), groups, m), dtype=complex)
    batch = max(1, BATCH_NUMBERS // (2 * table.shape[1]))
    for start in range(0, len(h), batch):
        exponents = (terms[start : start + batch] @ table).view(complex)
        exponents = exponents.reshape(-1, 2, groups, m, m)
        if m <= MATRICES:
            powers = np.eye(m) + exponents / degree
            for j in range(degree - 1, 0, -1):
                powers = np.eye(m) + exponents @ powers / j
            steps = powers[:, 1] @ powers[:, 0]
        for k in range(len(exponents)):
            if m <= MATRICES:
                y = (steps[k] @ y[..., None])[..., 0]
            else:
                for exponent in exponents[k, :, 0]:  # of one group, by Horner's scheme
                    total = y[0]
                    for j in range(degree, 0, -1):
                        total = exponent.dot(total)
                        total /= j
                        total += y[0]
                    y = total[None]
            out[start + k] = y
    return np.asarray(out[last][again])


@dataclass(frozen=True)
class Trajectory:
    """States (R, 2n) at times, their estimated error relative to the largest √(Σ a² + ȧ²/ω²), and
    the numbers of panels and of pairs of steps."""

    states: Array
    error: float
    panels: int
    pairs: int


def _cost_of_steps(
    frames: Frames,
    x: Array,
    largest: float,
    tolerance: float,
    length: float,
    turned: float = 19.0,
) -> tuple[float, float]:
    """About how many pairs of steps a length of time takes from a state, of as many as a panel
    costs, and these: those of the mode that turns fastest while it is not negligible, at all times.
    Modes that the velocities load by Coriolis forces vibrate by as much as they are bent.
    Overdamped modes make matrices of panels twice as high, and their rates lie close together.

    turned: rad that a pair turns, of a mode that is as small as the tolerance.
    """
    amplitudes, omega = frames.amplitudes(0, x, 1.0 / length)
    X = frames.shapes[0]
    C = X.T @ frames.C[0] @ X
    rates = C @ (X.T @ (frames.M[0] @ x[len(X) :]))
    amplitudes = amplitudes + np.abs(rates) / omega**2
    decay = 0.5 * np.abs(np.diagonal(C))
    overdamped = decay > omega
    rate = np.where(overdamped, 0.5 * omega**2 / np.maximum(decay, omega), decay)[:, None]
    omega = np.where(overdamped, rate[:, 0], omega)[:, None]
    times = length * np.append(0.0, np.geomspace(ZERO, 1.0, FEW))
    left = amplitudes[:, None] * np.exp(-rate * times) / (tolerance * largest)
    steps = np.where(left > WITHIN, omega * left ** (1.0 / STAGES), 0.0)
    needed = trapezoid(steps.max(axis=0), times) / turned
    pairs = PAIRS * max(1.0, len(X) / 64.0) * (2.0 if np.any(overdamped) else 1.0)
    return float(needed) / pairs, pairs


def propagated(
    matrices: Matrices,
    span: tuple[float, float],
    x: Array,
    times: Array,
    tolerance: float,
    panels: int,
    sparse: Matrices | None = None,
    *,
    points: int = 13,
    theta: tuple[float, float] = (16.0, 64.0),
) -> Trajectory:
    """The free motion from a state (2n,) at ascending times (R,) of the span, to a tolerance.

    A panel that takes few steps of collocation, or most of whose modes are one group, is integrated
    by these, another by decoupled groups, also where the steps turn out to be three times as many;
    one whose groups do not come apart enough has a larger θ, and then is halved. Large groups are
    tried with a smaller θ.

    panels: their number at first. sparse: the matrices for steps, as `Sparse`. points: nodes of a
    panel, an odd number. theta: the least and the largest θ of a panel, times its length. Raises
    ConvergenceError.
    """
    length = span[1] - span[0]
    t, states, places = span[0], np.empty((len(times), len(x))), (times - span[0]) / length
    states[places <= 0.0] = x
    nodes, ticks, level, used, largest = _chebyshev(points)[0], 0, 0, 0, 0.0
    error = within = 0.0
    worse = 1.0  # than estimated, the cost of the last steps
    allowed = (1.0 - WITHIN) * tolerance
    total = panels << DIVISIONS
    gap, least = float(np.sqrt(theta[0] * theta[1])), theta[0]
    steps = Collocation(sparse or matrices, length / panels)
    while ticks < total:
        if level > DIVISIONS:
            raise ConvergenceError(f"no panel is short enough at t = {t:.6g} s")
        width = 1 << (DIVISIONS - level)
        share, begin = width / total, ticks / total
        inside = np.flatnonzero((places > begin) & (places <= (ticks + width) / total))
        parts = np.append(np.clip((places[inside] - begin) / share, 0.0, 1.0), 1.0)
        t, h = span[0] + length * begin, length * share
        here = Frames.of(matrices, np.array([t]))
        largest = max(largest, float(np.linalg.norm(here.amplitudes(0, x, 1.0 / length)[0])))
        stepped = partial(
            steps.run, t, h, x, parts, (allowed * share, WITHIN * tolerance),
            partial(here.sizes, softest=1.0 / length), largest,
        )  # fmt: skip
        cost, pairs = _cost_of_steps(here, x, largest, tolerance, h)
        by_steps = np.inf
        if cost * worse <= 1.0:
            before = steps.pairs
            found, by_steps, inner = stepped(3.0 * pairs)
            worse = max(1.0, (steps.pairs - before) / max(cost * pairs, 1.0))
        panel = None
        if not np.isfinite(by_steps):
            frames = Frames.of(matrices, t + h * nodes)
            panel = Panel(frames, h, gap / h)
            while not panel.apart and gap > least:
                gap = max(0.5 * gap, least)
                panel = Panel(frames, h, gap / h)
            if not panel.apart:
                found, by_steps, inner = stepped()
        if panel is None or not panel.apart:
            ratio, within = by_steps / (allowed * share), max(within, inner)
        else:
            # Transformations of panels that are too long may grow beyond all bounds.
            with np.errstate(over="ignore", invalid="ignore"):
                found, less, last = panel.run(x, parts)
            now, less, last = (
                np.linalg.norm(frames.amplitudes(-1, states, 1.0 / length)[0], axis=-1)
                for states in (found[-1:], less, last)
            )
            size = max(largest, float(now[0]))
            rest = float(last.reshape(2, -1).max(axis=1).sum()) / size
            inner, most = float(less.max()) / size + rest, min(allowed * share, WITHIN * tolerance)
            ratio = inner / (allowed * share)
            if not inner <= most:
                if gap < theta[1] and rest <= most:
                    least = gap = 2.0 * gap
                else:  # halving divides the last of p coefficients by up to 2^p, by 6 at least
                    far = np.log2(rest / most) if most < rest < np.inf else 0.0
                    level += 1 + int(2.0 * far / points)
                continue
            used, within = used + 1, max(within, inner)
        states[inside], x, least = found[:-1], found[-1], theta[0]
        error, ticks = error + ratio * allowed * share, ticks + width
        if ratio < 0.5 ** (ORDER + 1) and level and ticks % (2 * width) == 0:
            level -= 1
        elif ratio < 0.5 ** (2 * ORDER) and used:
            gap = max(0.5 * gap, theta[0])
    return Trajectory(states, error + within, used, steps.pairs)
