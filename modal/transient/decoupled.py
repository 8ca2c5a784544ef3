"""Propagation of a smooth linear motion by decoupled groups of its modes.

In x = T(t) c the equations M q̈ + C q̇ + K q = 0 of x = (q, q̇) become c' = H(t) c with H block
diagonal: phases of fast modes are integrals of smooth rates, and steps resolve the differences of
frequencies within a group alone. On a panel of time with Chebyshev-Lobatto nodes,

1. the eigenvectors of (K_s, M) at the nodes, K_s the symmetric part of K, give actions ξ and π with
   q = Φ w^−½ ξ, q̇ = Φ w^½ π, and z = (ξ ± iπ)/√2. Modes that come closer than the gap θ somewhere
   on the panel are of one group; frames of groups are aligned from node to node;
2. z' = B z, B = D + E with E off the diagonal blocks D of the groups. Two Schrieffer-Wolff
   transformations z = e^W e^W₂ c with [D, W] = −E, [D, W₂] = W' − ½ [E, W] off the blocks remove E
   up to terms of the third order in 1/θ (superadiabatic bases: M. V. Berry, Proc. R. Soc. A 429,
   1990; J. R. Schrieffer and P. A. Wolff, Phys. Rev. 149, 1966). Overdamped modes take part with
   their two real roots;
3. the mean rate of each group is integrated; the rest of H is small beside the frequencies.

θ is inverse to the length of the panel, and larger where the error asks for it. The error is a
part, by the order in 1/θ, of the difference from the same panel with every second node and half the
gap; between the nodes, where T is a polynomial, the square of the difference from that through
every second one.
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

from modal.eigen.tolerances import ZERO
from modal.transient.collocated import PHASE, STAGES, Collocation, Matrices
from modal.transient.tolerances import BATCH_NUMBERS, DIVISIONS, FEW
from modal.types import Array, Complex, Index

# In 1/θ of the error: the square of the coupling that is left; with modes that decay within a few
# cycles it falls more slowly.
ORDER, DAMPED_ORDER = 6, 4
DAMPED = 0.1  # damping ratio from which a mode and its conjugate are of one group
PAIRS = 16.0  # of steps of collocation, that cost no more than a panel
WITHIN = 0.25  # of the tolerance, for the polynomials within steps of collocation
MATRICES = 8  # modes of a group up to which exponentials are formed, not applied to vectors
# rad a step of the coarser panel: its error, of order 4, is more than that by θ alone.
COARSER = 3.0


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

    def thinned(self) -> Frames:
        """Every second node."""
        return Frames(*(part[::2] for part in vars(self).values()))

    def amplitudes(self, node: int, x: Array, softest: float) -> tuple[Array, Array]:
        """√(a² + ȧ²/ω²) of the modes at a node in states (..., 2n), and ω, at least `softest`."""
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
    """T and H at the nodes of a panel of time. at: nodes where T is computed. single: in single
    precision between the ends.

    Of modes that oscillate, z of the lower half are conjugates of the upper half: matrices (2n, 2n)
    are known by their first `rows` rows then.
    """

    def __init__(
        self,
        frames: Frames,
        length: float,
        theta: float,
        at: Any = None,
        single: bool = False,
    ) -> None:
        self.length, self._single = length, single
        self.p, self.n = frames.squares.shape
        _, slopes, self._coefficients = _chebyshev(self.p)
        self._slopes = slopes / length
        S, self._up, self._down, modes = self._real(frames, theta)
        B = self._complex(S)
        self._group(B, modes, theta)
        self._decouple(B, np.arange(self.p) if at is None else np.asarray(at) % self.p)

    @property
    def damped(self) -> bool:
        """Whether some mode has a damping ratio above DAMPED."""
        return self.rows > self.n or len(self.joined) > 0

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

    def _complex(self, S: Array) -> Complex:
        """B (p, rows, 2n) of z' = B z, (ξ, π) = U z mode by mode."""
        n, root = self.n, np.sqrt(0.5)
        self._U = U = np.empty((2, 2, n), dtype=complex)
        U[0], U[1, 0], U[1, 1] = root, -1j * root, 1j * root
        blocks = np.einsum("abpii->piab", S)
        square = np.maximum(-blocks[..., 0, 1] * blocks[..., 1, 0], np.finfo(float).tiny)
        ratio = 0.5 * np.abs(blocks[..., 1, 1]) / np.sqrt(square)
        over = ratio.min(axis=0) > 1.0 + DAMPED
        self.joined = np.flatnonzero((ratio.max(axis=0) > DAMPED) & ~over)
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
        """The matrix (2n, 2n), or vector (2n,), of its first rows."""
        if self.rows == 2 * self.n:
            return top
        return np.concatenate(
            [top, np.roll(top, self.n, axis=1).conj() if top.ndim > 1 else top.conj()]
        )

    def _group(self, B: Complex, modes: Index, theta: float) -> None:
        """Groups of z: nearer than θ somewhere, or of one group of modes."""
        n, near = self.n, np.zeros((2 * self.n, 2 * self.n), dtype=bool)
        for top in B:
            rates = self._whole(np.diagonal(top))
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

    def _decouple(self, B: Complex, at: Index) -> None:
        """H on the blocks of the groups at all nodes, and T at some."""
        p, rows = self.p, self.rows
        spectra = [self._spectrum(self._whole(top)) for top in B]
        W = np.stack(
            [self._solved(self._whole(B[j]) * self._off, spectra[j])[:rows] for j in range(p)]
        )
        slopes = self._rate(W)
        self.rates = np.zeros((p, rows), dtype=complex)
        self.H = [np.empty((p, len(g), len(g)), dtype=complex) for g in self.several]
        self.T: dict[int, Any] = {}
        for j in range(p):
            here, X, slope = (self._whole(top) for top in (B[j], W[j], slopes[j]))
            E, X32 = (here * self._off).astype(np.complex64), X.astype(np.complex64)
            F = self._whole(E[:rows] @ X32 - X32[:rows] @ E)
            first = np.where(self._off, 0.5 * F - slope, 0.0)
            third = np.where(self._off, F / 3.0 - 0.5 * slope, 0.0)
            second = self._solved(first.copy(), spectra[j])
            s, pairs = self.single, ((third, X), (0.5 * first, second))
            self.rates[j, s] = (here + 0.5 * F)[s, s]
            for G, Y in pairs:
                self.rates[j, s] += (G[s] * Y[:, s].T).sum(axis=1) - (Y[s] * G[:, s].T).sum(axis=1)
            for H, g in zip(self.H, self.several, strict=True):
                H[j] = (here[g] + 0.5 * F[g])[:, g]
                for G, Y in pairs:
                    H[j] += G[g] @ Y[:, g] - Y[g] @ G[:, g]
            if j in at:
                # States go from panel to panel through T at its ends.
                inner = self._single and 0 < j < p - 1
                self.T[j] = self._states_of(j, X32 if inner else X, second)

    def _states_of(self, j: int, X: Any, second: Any) -> Any:
        """x = T c at node j, (2n, rows), in the precision of X."""
        n, kind = self.n, X.dtype
        once = np.eye(2 * n, self.rows, dtype=kind) + second[:, : self.rows].astype(kind)
        z = once + X @ (once + X @ (once + X @ once / 3.0) / 2.0)
        U, frames = self._U.astype(kind)[..., None], (self._up[j], self._down[j])
        both = [
            frames[a].astype(X.real.dtype) @ (U[a, 0] * z[:n] + U[a, 1] * z[n:]) for a in (0, 1)
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
        for g, (V, inverse) in zip(self._turned, turns, strict=True):
            if g[0] < self.rows:
                E[g] = inverse @ E[g]
            E[:, g] = E[:, g] @ V
        apart = values - values[:, None]
        apart[~self._off] = np.inf
        E /= apart
        for g, (V, inverse) in zip(self._turned, turns, strict=True):
            if g[0] < self.rows:
                E[g] = V @ E[g]
            E[:, g] = E[:, g] @ inverse
        return self._whole(E[: self.rows])

    def run(self, x: Array, parts: Array, phase: float = 1.0) -> tuple[Array, Array]:
        """The states (R, 2n) at parts (R,) of the panel from that at its start (2n,), and their
        differences from those with T through every second node.

        phase: rad that a step of a group may turn.
        """
        c = self._propagated(self._coordinates(x), parts, phase)
        terms = np.zeros((2, len(parts), self.p))
        terms[0] = _polynomials(parts, self.p) @ self._coefficients
        half = self.p // 2 + 1
        terms[1, :, ::2] = _polynomials(parts, half) @ _chebyshev(half)[2]
        out = np.zeros((2, len(parts), 2 * self.n))
        for j, T in self.T.items():
            used = np.flatnonzero(np.any(terms[:, :, j], axis=0))
            out[:, used] += terms[:, used, j, None] * (T @ c[:, used]).real.T
        return out[0], out[1] - out[0]

    def _coordinates(self, x: Array) -> Complex:
        """c (rows,) at the start."""
        T = self.T[0].astype(complex)
        if self.rows == 2 * self.n:
            return np.asarray(np.linalg.solve(T, x))
        both = np.linalg.solve(np.hstack([T.real, -T.imag]), x)
        return np.asarray(both[: self.n] + 1j * both[self.n :])

    def _propagated(self, c: Complex, parts: Array, phase: float) -> Complex:
        """c (rows, R) at parts (R,) of the panel."""
        whole, terms = self._whole(c), 0.5 * self.length * _polynomials(parts, self.p + 1)
        rates, shifts = self.rates.copy(), []
        for H, g in zip(self.H, self.several, strict=True):
            diagonal = np.diagonal(H, axis1=1, axis2=2)
            shifts.append(1j * diagonal.imag.mean(axis=1) + diagonal.real.max())
            rates[:, g[g < self.rows]] = shifts[-1][:, None]
        integral = chebyshev.chebint(self._coefficients @ rates, lbnd=-1.0)
        phases = np.exp(terms @ integral).T
        out = c[:, None] * phases
        for m in {len(g) for g in self.several}:
            chosen = [k for k, g in enumerate(self.several) if len(g) == m]
            together = [chosen] if m <= MATRICES else [[k] for k in chosen]
            for numbers in together:
                members = np.stack([self.several[k] for k in numbers])
                blocks = np.stack(
                    [self.H[k] - shifts[k][:, None, None] * np.eye(m) for k in numbers], axis=1
                )
                y = _exponentials(blocks, self.length, whole[members], parts, phase)
                kept = members < self.rows
                out[members[kept]] = y[:, kept].T * phases[members[kept]]
        return np.asarray(out)


def _exponentials(H: Complex, length: float, y: Complex, parts: Array, phase: float) -> Complex:
    """y (R, G, m) at ascending parts of a panel, of y' = H y of G groups with H (p, G, m, m) at the
    nodes, from y (G, m).

    Commutator-free exponentials of order 4 (S. Blanes and P. C. Moan, Appl. Numer. Math. 56, 2006),
    of small groups as matrices, of larger ones on vectors; no step turns by more than a phase, rad.
    """
    p, groups, m = H.shape[:3]
    table = length * (_chebyshev(p)[2] @ H.reshape(p, -1))
    fastest = length * float(np.linalg.norm(H[:: p // 2], axis=(2, 3)).max())
    if not fastest <= phase * BATCH_NUMBERS:
        # The transformations do not decouple.
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
        exponents = (terms[start : start + batch] @ table).reshape(-1, 2, groups, m, m)
        if m <= MATRICES:
            powers = np.eye(m) + exponents / degree
            for j in range(degree - 1, 0, -1):
                powers = np.eye(m) + exponents @ powers / j
            steps = powers[:, 1] @ powers[:, 0]
        for k in range(len(exponents)):
            if m <= MATRICES:
                y = (steps[k] @ y[..., None])[..., 0]
            else:
                for exponent in exponents[k]:
                    term = y
                    for j in range(1, degree + 1):
                        term = (exponent @ term[..., None])[..., 0] / j
                        y = y + term
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
) -> float:
    """About how many pairs of steps a length of time takes from a state, of as many as a panel
    costs: those of the mode that turns fastest while it is not negligible, at all times. Modes that
    the velocities load by Coriolis forces vibrate by as much as they are bent. Overdamped
    modes make matrices of panels twice as high, and their rates lie close together.

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
    return float(needed) / (PAIRS * (2.0 if np.any(overdamped) else 1.0))


def propagated(
    matrices: Matrices,
    span: tuple[float, float],
    x: Array,
    times: Array,
    tolerance: float,
    panels: int,
    *,
    points: int = 13,
    theta: tuple[float, float] = (16.0, 64.0),
    single: float = 2e-5,
) -> Trajectory:
    """The free motion from a state (2n,) at ascending times (R,) of the span, to a tolerance.

    A panel that takes few steps of collocation is integrated by these, another by decoupled groups;
    one whose groups do not come apart has a larger θ, and then is halved.

    panels: their number at first. points: nodes of a panel; the coarser one has every second.
    theta: the least and the largest θ of a panel, times its length. single: tolerance from which
    single precision serves between the ends of a panel.
    """
    length = span[1] - span[0]
    states, places = np.empty((len(times), len(x))), (times - span[0]) / length
    states[places <= 0.0] = x
    nodes, ticks, level, used, largest = _chebyshev(points)[0], 0, 0, 0, 0.0
    error = within = 0.0
    allowed = (1.0 - WITHIN) * tolerance
    total = panels << DIVISIONS
    steps, gap = Collocation(matrices, length / panels), float(np.sqrt(theta[0] * theta[1]))
    while ticks < total:
        width = 1 << (DIVISIONS - level)
        share, begin = width / total, ticks / total
        inside = np.flatnonzero((places > begin) & (places <= (ticks + width) / total))
        parts = np.append(np.clip((places[inside] - begin) / share, 0.0, 1.0), 1.0)
        t, h = span[0] + length * begin, length * share
        here = Frames.of(matrices, np.array([t]))
        largest = max(largest, float(np.linalg.norm(here.amplitudes(0, x, 1.0 / length)[0])))
        if _cost_of_steps(here, x, largest, tolerance, h) <= 1.0:
            found, by_steps, inner = steps.run(
                t, h, x, parts, (allowed * largest * share, WITHIN * tolerance * largest),
                partial(here.sizes, softest=1.0 / length),
            )  # fmt: skip
            ratio, order = by_steps / (allowed * largest * share), ORDER
            within = max(within, inner / largest)
        else:
            frames = Frames.of(matrices, t + h * nodes)
            coarse = Panel(frames.thinned(), h, 0.5 * gap / h)
            fine = Panel(frames, h, gap / h, single=tolerance >= single)
            # Transformations of panels that are too long may grow beyond all bounds.
            with np.errstate(over="ignore", invalid="ignore"):
                rough = coarse.run(x, nodes[2::2], COARSER)[0]
                both, apart = fine.run(x, np.concatenate([parts, nodes[2::2]]))
            found, same = both[: len(parts)], both[len(parts) :]
            order = DAMPED_ORDER if fine.damped else ORDER
            now, off, by_gap = (
                np.linalg.norm(frames.amplitudes(-1, states, 1.0 / length)[0], axis=-1)
                for states in (found[-1:], apart, same - rough)
            )
            size = max(largest, float(now[0]))
            by_gap /= size * (2.0**order - 1.0)
            ratio, inner = float(by_gap[-1]) / (allowed * share), float(off.max() / size) ** 2
            if not (ratio <= 1.0 and max(inner, by_gap.max()) <= WITHIN * tolerance):
                farther = gap < theta[1] and inner <= WITHIN * tolerance
                gap, level = (2.0 * gap, level) if farther else (gap, level + 1)
                continue
            inner = max(inner, float(by_gap.max()))
            used, within = used + 1, max(within, inner)
        states[inside], x = found[:-1], found[-1]
        error, ticks = error + ratio * allowed * share, ticks + width
        if ratio < 0.25**order and level and ticks % (2 * width) == 0:
            level -= 1
        elif ratio < 0.25**order and used:
            gap = max(0.5 * gap, theta[0])
    return Trajectory(states, error + within, used, steps.pairs)
