"""Floquet multipliers of a smooth periodic motion whose fast modes decouple from the others.

In a periodic basis X(t), x = X z, the equation x' = A x becomes z' = B z, B = X⁻¹(AX − X'). The
spectral projectors of groups of frozen modes that stay apart give a first X; then X ← X(I + W) with
DW − WD = −E, E what is off the diagonal blocks D of B, makes E smaller by about the rate of the
motion over the distance of the groups each time (superadiabatic bases: M. V. Berry, Proc. R. Soc.
A 429, 1990). Groups whose coupling stops falling are joined. A group of one mode then has the
exponent of its mean; the others are propagated by themselves, without the fast oscillation. The
part of E that remains changes log μ by at most T |E|² over the distance of the groups, to second
order. Derivatives are those of the trigonometric polynomials through the instants.

Where A varies little, the modes of its mean serve for all instants: to first order the rest E of
x' = (D + E) x is taken away by x = (I − W) z with W' = D W − W D − E, whose waves are those of E
over d_i − d_j − 2πin/T. Only modes with W near unity or above belong together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, cached_property, partial

import numpy as np
import scipy.fft as fft
import scipy.linalg as la
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components

from assembly.errors import ConvergenceError
from modal.eigen.tolerances import COARSE, EPS, HALF, ROUNDS
from modal.periodic.magnus import Factors, propagator_factors
from modal.periodic.periodic_modes import PropagatedModes, run
from modal.periodic.product_eigen import ProductModes, product_modes
from modal.periodic.slow_motion import (
    derivative,
    falls,
    halfway,
    highest_waves,
    interleaved,
    periodic_frames,
    real_part,
    resampled,
)
from modal.periodic.tolerances import (
    ACCURACY,
    APART,
    FEWEST,
    GAIN,
    MOST_INSTANTS,
    MOST_MATRICES,
    WORK,
)
from modal.reduction.interpolation import Sampled
from modal.transient.tolerances import BATCH_NUMBERS
from modal.types import Array, Complex, Index, Mask

LARGEST_GROUP = 40
STRONG = 0.1  # W of modes of the mean that belong together


def decoupled_modes(
    A: Sampled,
    t0: float,
    period: float,
    accuracy: float = ACCURACY,
    allowed: float = ACCURACY,
    cheap: bool = False,
    parts: int = 1,
) -> PropagatedModes | None:
    """All multipliers of A; None where no groups of modes stay apart, or X is not smooth.

    accuracy: of log μ, to which the instants are refined. allowed: error that is accepted where
    MOST_INSTANTS of them do not reach it. cheap: fewer instants, by the size of A. parts:
    so many equal parts of the period at which shapes will be asked for, at no further cost.
    """
    allowed, samples = max(accuracy, allowed), FEWEST
    values = np.linalg.eigvals(A(np.array([t0]))[0])
    most = most_instants(len(values), cheap)
    if most < samples:
        return None
    found = _Decoupling(A, t0, period, samples, accuracy, steady=True)
    modes = found.settled(most, allowed, parts) if found.smooth else None
    if modes is not None or not few_are_near(values, period):
        return modes
    found = _Decoupling(A, t0, period, samples, accuracy)
    before = highest_waves(found.X[::2]) if found.usable else np.inf
    # What X is off by its highest waves, A X and its mean are by |λ| times that.
    fastest = period * float(np.abs(found.spectrum[0]).max())
    level = min(COARSE, allowed / fastest)
    while (
        found.usable and not found.smooth and samples < most
        and falls(before, found.highest, level, most / samples)
    ):  # fmt: skip
        before, samples, last = found.highest, 2 * samples, found
        found = _Decoupling(A, t0, period, samples, accuracy, last)
        if sorted(map(len, found.groups)) != sorted(map(len, last.groups)):
            before = np.inf  # the waves of other groups say nothing
    if not found.smooth:
        return None
    return found.settled(most, allowed, parts)


def most_instants(size: int, cheap: bool) -> int:
    """The largest number of instants that are tried, a power of two, of matrices of a size. cheap:
    as of `decoupled_modes`."""
    most = min(MOST_INSTANTS, 4 * WORK / size**3) if cheap else MOST_INSTANTS
    return 1 << int(np.log2(max(1.0, most)))


def few_are_near(values: Complex, period: float) -> bool:
    """Whether of eigenvalues (N,) of an instant few enough are not apart."""
    near = np.abs(values[:, None] - values) < 2.0 * np.pi / period * APART
    return bool(np.bincount(connected_components(near, directed=False)[1]).max() <= LARGEST_GROUP)


class _Decoupling:
    """A at `samples` instants (m, N, N), the periodic basis X there, and its groups of columns."""

    X: Complex

    def __init__(
        self, A: Sampled, t0: float, period: float, samples: int, accuracy: float = ACCURACY,
        before: _Decoupling | None = None, steady: bool = False,
    ) -> None:  # fmt: skip
        """before: that of half as many instants. steady: in the modes of the mean of A."""
        self.accuracy, self.steady = accuracy, steady
        self.period, self.rate = period, 2.0 * np.pi / period
        self.model, self.start = A, t0
        times = t0 + period * np.arange(samples) / samples
        self.A = A(times if before is None else times[1::2])
        source = self.A.mean(axis=0, keepdims=True) if steady else self.A
        values, shapes = (x.astype(complex) for x in np.linalg.eig(source))
        regular = bool(np.all(np.linalg.slogdet(shapes)[0]))
        duals = np.linalg.inv(shapes) if regular else shapes
        if before is not None:
            self.A = interleaved(before.A, self.A)
            values, shapes, duals = map(interleaved, before.spectrum, (values, shapes, duals))
        self.spectrum: tuple[Complex, Complex, Complex] = values, shapes, duals
        # LAPACK's eigenvalues of a real matrix: each conjugate pair one after the other.
        turn = np.sign(values[0].imag).astype(np.intp)
        order, closing = followed(values)
        place = np.argsort(order[0])
        self.twin, self.paired = place[order[0] + turn[order[0]]], True
        values = np.take_along_axis(values, order, 1)
        shapes = np.take_along_axis(shapes, order[:, None], 2)
        duals = np.take_along_axis(duals, order[:, :, None], 1)
        # Vectors have unit length.
        conditions = np.sqrt(len(place)) * np.linalg.norm(duals, axis=(1, 2))
        regular = regular and bool(conditions.max() <= 1.0 / EPS)
        least, most = extreme_distances(values)
        near = least < APART * self.rate
        if steady and regular:
            near = coupled(duals @ self.A @ shapes, values[0], period)
        elif regular:
            # What turns fast into each other would need many instants; what is further apart, more
            # steps.
            turned = duals @ np.roll(shapes, 1, axis=0)
            turned = np.abs(turned * turned.swapaxes(1, 2)).max(axis=0)
            near |= (np.sqrt(turned) * samples > APART) & (most * period < MOST_MATRICES)
        # What changes places within the period belongs together.
        near[np.arange(len(closing)), closing] = True
        near |= near[self.twin][:, self.twin]
        count, label = connected_components(near, directed=False)
        self.groups = [np.flatnonzero(label == number) for number in range(count)]
        # Most modes of the mean are by themselves, or it says nothing.
        fewest = max(2.0, GAIN * len(place) * steady)
        self.usable = regular and count >= fewest and self._group_size() <= LARGEST_GROUP
        self.smooth = self.usable and self._start(shapes, duals)
        if steady and self.usable:
            self.X = np.repeat(self.X, samples, axis=0)
            self.highest, self.smooth = 0.0, True
        if self.smooth:
            self.B = self._transformed(self.A, self.X, self._slopes())

    def _group_size(self) -> int:
        return max(len(group) for group in self.groups)

    def _start(self, shapes: Complex, duals: Complex) -> bool:
        """X of the frames of the groups; whether its Fourier coefficients fall off."""
        self.X = np.empty_like(shapes)
        for group, twin in self._pairs():
            # Orthonormal to begin with: eigenvectors of a group may be next to parallel.
            own = shapes[:, :, group]
            real = self.paired and np.array_equal(np.sort(twin), group)
            Q = np.linalg.qr(own.real - own.imag if real else own)[0]
            back = Q.conj().swapaxes(1, 2) @ own @ duals[:, group]
            frames = periodic_frames(Q, real_part(back) if real else back)
            if frames is None:
                self.usable = False
                return False
            if real and np.abs(frames.imag).max() > HALF * np.abs(frames).max():
                # What it spans turns over within a period, so that no real frame closes.
                self.twin, self.paired = np.arange(len(self.twin)), False
                return self._start(shapes, duals)
            if real:
                self.twin[group], frames = group, frames.real.astype(complex)
            self.X[:, :, self.twin[group]] = frames.conj()
            self.X[:, :, group] = frames
        self.highest = highest_waves(self.X)
        return self.highest <= COARSE

    def _pairs(self) -> Iterator[tuple[Index, Index]]:
        """A group of each conjugate pair and the other one, or a group that is its own."""
        for group in self.groups:
            twin = self.twin[group]
            if group.min() <= twin.min():
                yield group, twin

    def _kept(self) -> Index:
        """A column of each conjugate pair, and the real ones."""
        return np.flatnonzero(np.arange(len(self.twin)) <= self.twin)

    def _parts(self) -> Iterator[slice]:
        """Instants whose matrices are in a cache together."""
        several = max(1, BATCH_NUMBERS // self.A[0].size)
        return (slice(first, first + several) for first in range(0, len(self.A), several))

    def _slopes(self, later: float = 0.0) -> Complex:
        """X' (m, N, kept) at the instants, or a share of their distance later."""
        columns = np.ascontiguousarray(self.X[:, :, self._kept()])
        return np.asarray(derivative(columns, self.period, later))

    def _transformed(self, A: Array, X: Complex, slopes: Complex) -> Complex:
        """B (m, N, N) of A (m, N, N) in the basis X (m, N, N): half of the columns, on the real and
        imaginary parts of X, and their conjugates. slopes: X' (m, N, kept)."""
        kept, B = self._kept(), np.empty_like(X)
        one = kept[self.twin[kept] > kept]
        two = self.twin[one]
        for part in self._parts():
            columns = np.ascontiguousarray(X[part][:, :, kept])
            images = (A[part] @ columns.view(float)).view(complex) - slopes[part]
            if not self.paired:
                B[part] = np.linalg.solve(X[part], images)
                continue
            basis = X[part].real.copy()
            basis[:, :, two] = X[part].imag[:, :, one]
            found = np.linalg.solve(basis, images.view(float)).view(complex)
            a, b = 0.5 * found[:, one], 0.5j * found[:, two]
            found[:, one], found[:, two] = a - b, a + b
            B[part][:, :, self.twin[kept]] = found[:, self.twin].conj()
            B[part][:, :, kept] = found
        return B

    def settled(self, most: int, allowed: float, parts: int) -> PropagatedModes | None:
        """The modes of groups that do not change each other, nor by more instants, `most` at most;
        None where that is not reached."""
        accuracy, fastest = self.accuracy, self.period * float(np.abs(self.spectrum[0]).max())
        before, wanted = np.inf, accuracy if fastest * self.highest <= 1.0 else np.inf
        while self.settle(wanted, allowed):
            self.resolve()
            worst = float(self.unresolved.max())
            # More instants do not lessen the round-off of B.
            last = len(self.X) == most or (worst > GAIN * before and worst <= allowed)
            done = self.resolved or (last and worst <= allowed)
            if done and wanted <= accuracy:
                return self.modes(parts)
            # As Fourier coefficients, which fall geometrically from those of the modes themselves.
            following, at_most = fastest * (worst / fastest) ** np.array([2.0, most / len(self.X)])
            if not done and (last or at_most > allowed):
                return None
            if wanted > accuracy and (done or following <= 1.0):
                wanted = accuracy
            else:
                self.refine()
                before = worst
        return None

    def settle(self, accuracy: float = ACCURACY, allowed: float = 0.0) -> bool:
        """Reduce the coupling of the groups until it changes log μ by less; whether that
        succeeded, or no more groups can be joined and it changes it by less than is allowed."""
        before, changes = np.inf, np.empty_like(self.B)
        for _ in range(ROUNDS):
            if before == np.inf:
                # Of the next rounds these are about the same.
                self.values, V, inverse = self._diagonal()
                same = np.zeros(self.B.shape[1:], dtype=bool)
                for group in self.groups:
                    same[np.ix_(group, group)] = True
            self.missed, largest = np.zeros(len(same)), np.zeros(same.shape)
            for part in self._parts():
                E = np.where(same, 0.0, self.B[part])
                E = self._between(inverse[part], E, V[part])
                if self.steady:
                    changes[part] = E
                    continue
                apart = self.values[part, :, None] - self.values[part, None, :]
                apart[:, same] = np.inf
                # To second order Σ_j E_ij E_ji / (d_i − d_j) joins d_i.
                size = np.abs(E)
                terms = size * size.swapaxes(1, 2) / np.abs(apart)
                self.missed = np.maximum(self.missed, self.period * terms.sum(axis=2).max(axis=0))
                largest = np.maximum(largest, terms.max(axis=0))
                changes[part] = E / apart
            if self.steady:
                mean = self.values.mean(axis=0)
                apart = np.where(same, np.inf, mean[:, None] - mean)
                largest, strong = second_order(changes, apart, self.period)
                # Twice, for what the next orders add.
                self.missed = 2.0 * self.period * largest.sum(axis=1)
            worst = float(self.missed.max())
            if worst <= accuracy:
                return True
            if worst > GAIN * before:
                if self.steady or not self._join(largest + largest.T):
                    return worst <= allowed
                before = np.inf
                continue
            if self.steady:
                apart[strong] = np.inf
                changes = periodic_changes(changes, apart, self.period)
            before, kept = worst, self._kept()
            for part in self._parts():
                change = self._between(V[part], changes[part], inverse[part])[:, :, kept]
                X = self.X[part]
                columns = X[:, :, kept] - X @ change
                X[:, :, self.twin[kept]], X[:, :, kept] = columns.conj(), columns
                if self.paired:  # round-off of real columns would grow
                    X.imag[:, :, kept[self.twin[kept] == kept]] = 0.0
            self._update()
        return False

    def _update(self) -> None:
        """B of another X."""
        self.B = self._transformed(self.A, self.X, self._slopes())
        self.__dict__.pop("halfway", None)

    def resolve(self) -> None:
        """How far B of the polynomial through X is off the polynomial through B, halfway between
        the instants.

        The difference is zero at the instants, so it turns with half their number of waves a
        period. Where that is faster than all differences of modes of a group, its mean counts to
        first order, and to second order its square over the phase of its waves in a period; inside
        a group of several modes, which have such waves too, all of it. Where it is not faster, all
        of it counts to first order.
        """
        count = len(self.X)
        difference = (self.halfway[2] - halfway(self.B)) * self.period
        values = self.values.imag
        widest = max(np.ptp(values[:, group], axis=1).max() for group in self.groups)
        if widest < self.rate * count / 2:
            second = np.linalg.norm(difference, axis=(1, 2)).mean() ** 2 / (np.pi * count)
            self.unresolved = np.linalg.norm(difference.mean(axis=0), axis=0) + second
            for group in self.groups:
                if len(group) > 1:
                    inside = np.linalg.norm(difference[:, group][:, :, group], axis=1)
                    self.unresolved[group] += inside.mean(axis=0)
        else:
            self.unresolved = np.linalg.norm(difference, axis=1).mean(axis=0)
        self.resolved = float(self.unresolved.max()) <= self.accuracy

    def refine(self) -> None:
        """Take the instants halfway as well."""
        here = self.A, self.X, self.B
        self.A, self.X, self.B = map(interleaved, here, self.halfway)
        del self.halfway

    @cached_property
    def halfway(self) -> tuple[Array, Complex, Complex]:
        """A halfway between the instants, X of the polynomial through it, and B of these."""
        count, X = len(self.A), halfway(self.X)
        A = self.model(self.start + self.period * (np.arange(count) + 0.5) / count)
        return A, X, self._transformed(A, X, self._slopes(0.5))

    def _between(self, left: Complex, values: Complex, right: Complex) -> Complex:
        """left values right (m, N, N) of factors with the blocks of the groups."""
        for group in self.groups:
            if len(group) > 1:
                block = np.ix_(np.arange(len(values)), group, group)
                values[:, group] = left[block] @ values[:, group]
                values[:, :, group] = values[:, :, group] @ right[block]
        return values

    def _diagonal(self) -> tuple[Complex, Complex, Complex]:
        """Eigenvalues (m, N) of the diagonal blocks of B, vectors (m, N, N) and their inverse."""
        m, N, _ = self.B.shape
        values = np.diagonal(self.B, axis1=1, axis2=2).copy()
        V = np.repeat(np.eye(N, dtype=complex)[None], m, axis=0)
        inverse = V.copy()
        for group, twin in self._pairs():
            if len(group) > 1:
                block, other = (np.ix_(np.arange(m), some, some) for some in (group, twin))
                if self.steady:
                    T, vectors = la.schur(self.B[block].mean(axis=0), output="complex")
                    own, back = T.diagonal(), vectors.conj().T
                else:
                    own, vectors = np.linalg.eig(self.B[block])
                    back = np.linalg.inv(vectors)
                values[:, twin], values[:, group] = own.conj(), own
                V[other], inverse[other] = vectors.conj(), back.conj()
                V[block], inverse[block] = vectors, back
        return values, V, inverse

    def _join(self, coupling: Array) -> bool:
        """Join the groups whose coupling is of the size of the largest."""
        limit = 0.1 * float(coupling.max())
        joined = False
        for a in range(len(self.groups) - 1, 0, -1):
            for b in range(a):
                if coupling[np.ix_(self.groups[a], self.groups[b])].max() >= limit:
                    self.groups[b] = np.concatenate([self.groups[b], self.groups[a]])
                    del self.groups[a]
                    joined = True
                    break
        if not joined or len(self.groups) == 1 or self._group_size() > LARGEST_GROUP:
            return False
        for group, twin in self._pairs():
            if self.paired and not np.array_equal(twin, group) and set(twin) == set(group):
                # Joined with its conjugate: real and imaginary parts of each pair, times 1 ± i.
                swap = (twin[:, None] == group).astype(float)
                real = 0.5 * ((1.0 + 1j) * np.eye(len(group)) + (1.0 - 1j) * swap)
                self.twin[group], self.X[:, :, group] = group, (self.X[:, :, group] @ real).real
                self._update()
        return True

    def _split(self) -> None:
        """Take the modes of groups by themselves that do not change each other either."""
        for group, twin in list(self._pairs()):
            block = np.ix_(np.arange(len(self.B)), group, group)
            V = la.schur(self.B[block].mean(axis=0), output="complex")[1]
            B = V.conj().T @ self.B[block] @ V
            left = self.period * float(np.abs(B * (1.0 - np.eye(len(V)))).max())
            if len(V) == 1 or left > self.accuracy or set(group) & set(twin):
                continue
            X = self.X[:, :, group] @ V
            self.X[:, :, twin], self.X[:, :, group] = X.conj(), X
            self.B[np.ix_(np.arange(len(B)), twin, twin)], self.B[block] = B.conj(), B
            for part in (group, twin):
                self.missed[part] = self.missed[part].max() + len(V) * left
                self.unresolved[part] = np.linalg.norm(self.unresolved[part])
            self.groups = [g for g in self.groups if g[0] not in (group[0], twin[0])]
            self.groups += [np.array([i]) for i in (*group, *twin)]

    def modes(self, parts: int = 1) -> PropagatedModes | None:
        """From the groups by themselves. parts: as of `decoupled_modes`."""
        if self.steady:
            self._split()
        T, N = self.period, self.X.shape[2]
        logs, moved = np.empty(N, dtype=complex), list[Callable[[int], Complex]]()
        pairs = list(self._pairs())
        vectors = self.X[0].copy()
        error = self.missed + EPS * T * np.linalg.norm(self.A[0], 2)
        # Means off every other instant err by the coefficient of half the order; coefficients fall
        # geometrically, so the error of all instants is about its square.
        diagonal = np.diagonal(self.B, axis1=1, axis2=2)
        half = np.abs(diagonal.mean(axis=0) - diagonal[::2].mean(axis=0))
        spread = np.maximum(np.ptp(np.abs(diagonal), axis=0), np.finfo(float).tiny)
        error = error + T * half * np.minimum(half / spread, 1.0)
        error += self.unresolved
        for group, twin in pairs:
            B = self.B[np.ix_(np.arange(len(self.B)), group, group)]
            B = real_part(B) if self.paired and np.array_equal(twin, group) else B
            middle = np.trace(B.mean(axis=0)) / len(group)
            if len(group) == 1:
                logs[twin], logs[group] = middle.conj() * T, middle * T
                moved.append(partial(self._phase, B[:, 0, 0] - middle))
                continue
            waves = resampled(B - middle * np.eye(len(group)), T)
            unresolved = float(np.linalg.norm(self.unresolved[group]))
            # What is wrong with the waves is not worth more accurate factors.
            accuracy = max(self.accuracy, 0.1 * unresolved)
            factors_of = cache(partial(self._factors, waves, accuracy))
            try:
                made = factors_of(parts)
            except ConvergenceError:
                return None
            found = product_modes(made.matrices, made.errors + unresolved / len(made.errors))
            own = found.logs + middle * T
            logs[twin], logs[group] = own.conj(), own
            # Columns of a group are not its modes.
            error[twin] = error[group] = error[group].max() + found.error
            shapes = vectors[:, group] @ found.vectors
            vectors[:, twin], vectors[:, group] = shapes.conj(), shapes
            moved.append(partial(self._moved, factors_of, found))
        rates = np.asarray(logs / T, dtype=complex)
        logs = logs.real + 1j * (np.pi - (np.pi - logs.imag) % (2.0 * np.pi))

        @cache
        def states(instants: int = max(len(self.X), 2 * FEWEST)) -> Complex:
            # Orbits need twice the instants of exponents.
            X = self.X if instants <= len(self.X) else interleaved(self.X, halfway(self.X))
            out = X[:: len(X) // instants].copy()
            # What grows or decays beyond the range of numbers within the period is not known.
            with np.errstate(over="ignore", invalid="ignore"):
                for (group, twin), in_group in zip(pairs, moved, strict=True):
                    own = out[:, :, group] @ in_group(instants)
                    out[:, :, twin], out[:, :, group] = own.conj(), own
            return out

        return PropagatedModes(logs, vectors, error, rates, states)

    def _phase(self, slope: Complex, instants: int) -> Complex:
        """exp ∫ slope dt from t0, of a periodic slope (m,) without mean, at equal parts of the
        period: (instants, 1, 1)."""
        count = len(slope)
        waves = 1j * self.rate * np.fft.fftfreq(count, 1.0 / count)
        waves[0] = np.inf
        found = np.fft.ifft(np.fft.fft(slope) / waves)[:, None, None]
        found = found if instants <= count else interleaved(found, halfway(found))
        return np.asarray(np.exp(found - found[0])[:: len(found) // instants])

    def _factors(self, waves: Sampled, accuracy: float, count: int) -> Factors:
        """Of z' = B z over the period; some of their spans end at its `count` equal parts."""
        ends = self.period * np.arange(1, count) / count
        return propagator_factors(waves, 0.0, self.period, accuracy, ends.tolist())

    def _moved(
        self, factors_of: Callable[[int], Factors], modes: ProductModes, count: int
    ) -> Complex:
        """z(t) e^{−νt} (count, g, g) of z' = B z from the eigenvectors, ν of the multipliers."""
        factors, known = factors_of(count), np.isfinite(modes.error)
        logs = np.diff(factors.times)[:, None] / self.period * modes.logs
        z, _ = run((one.__matmul__ for one in factors.matrices), modes.vectors, logs, known)
        return z[np.searchsorted(factors.times, self.period * np.arange(count) / count)]


def periodic_changes(E: Complex, apart: Complex, period: float) -> Complex:
    """W (m, N, N) of couplings E at equal parts of a period.

    apart: d_i − d_j (N, N), infinite where nothing is to be changed.
    """
    turns = 2j * np.pi / period * np.fft.fftfreq(len(E), 1.0 / len(E))[:, None, None]
    return np.asarray(fft.ifft(fft.fft(E, axis=0) / (apart - turns), axis=0))


def second_order(E: Complex, apart: Complex, period: float) -> tuple[Array, Mask]:
    """By how much couplings E (m, N, N) change an eigenvalue at most, each (N, N), 1/s, and where
    they are too strong for their distance.

    Of waves e_n and f_n of E_ij and E_ji, Σ e_n f_−n / (d_j − d_i − 2πin/T) joins d_i: no more than
    the product of their roots of mean squares over the least denominator.
    """
    rate = 2.0 * np.pi / period
    waves = np.clip(np.round(apart.imag / rate), -len(E) // 2, len(E) // 2)
    nearest = np.maximum(np.abs(apart - 1j * rate * waves), np.finfo(float).tiny)
    squares = (E.real**2 + E.imag**2).mean(axis=0)
    product = np.sqrt(squares * squares.T)
    return np.minimum(product / nearest, np.sqrt(product)), product > (GAIN * np.abs(apart)) ** 2


def coupled(B: Complex, values: Complex, period: float) -> Mask:
    """Which modes belong together, (N, N): in theirs, the mean of B (m, N, N) is diagonal, of
    eigenvalues (N,)."""
    apart = values[:, None] - values
    np.fill_diagonal(apart, np.inf)
    W = np.abs(periodic_changes(B, apart, period)).max(axis=0)
    return np.asarray((W * W.T > STRONG**2) | (np.abs(apart) * period <= STRONG))


def followed(values: Complex) -> tuple[Index, Index]:
    """Eigenvalues (m, N) of each instant in the order of their nearest ones an instant before,
    (m, N), and the order in which those of the last instant continue as those of the first."""
    order = np.empty(values.shape, dtype=np.intp)
    order[0] = np.argsort(values[0].imag, kind="stable")
    last = values[0][order[0]]
    for i in range(1, len(values)):
        order[i] = linear_sum_assignment(np.abs(last[:, None] - values[i]))[1]
        last = values[i][order[i]]
    closing = linear_sum_assignment(np.abs(last[:, None] - values[0][order[0]]))[1]
    return order, np.asarray(closing, dtype=np.intp)


def extreme_distances(values: Complex) -> tuple[Array, Array]:
    """Least and largest distance of each two of N eigenvalues over m instants, (N, N)."""
    least = np.full((values.shape[1],) * 2, np.inf)
    most = np.zeros_like(least)
    for instant in values:
        apart = np.abs(instant[:, None] - instant)
        least, most = np.minimum(least, apart), np.maximum(most, apart)
    return least, most
