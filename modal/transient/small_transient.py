"""Free vibration of a small model on a smooth motion to a tolerance, on a basis of its shapes.

The frozen modes of instants of the motion, their static responses to Coriolis forces and the
initial state span a basis V. A run of long steps gives the amplitudes of the frozen modes; from
them follow the error by the basis and the error by steps of any length (docs/numerics.md, "Time
integration"). Where the basis errs by more than the tolerance, or the steps would cost more than
dense eigensolutions, it does not serve.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
from scipy.integrate import cumulative_trapezoid

from modal.eigen.tolerances import ROUND_OFF, WEAK
from modal.reduction.interpolated_motion import InterpolatedMotion
from modal.transient.decoupled import Frames
from modal.transient.records import Vibration
from modal.transient.small_steps import GAUSS, RESOLVED, SmallMotion, SmallRun, phase_error, steps
from modal.transient.tolerances import FEW, INSTANTS, PIECES, SAFETY
from modal.types import Array

BY_BASIS = 0.7  # of the tolerance: what the basis may use of it
MODES = 4.0  # frozen modes of an instant in the basis, for each decimal of this value
# The steps may cost so many dense eigensolutions of the first-order form, each of so many times N³
# multiplications: more are left to modal/transient/decoupled.py.
EIGENSOLUTIONS, EIGENSOLUTION = 100.0, 10.0


def small_transient(
    motion: InterpolatedMotion,
    span: tuple[float, float],
    initial: tuple[Array, Array],
    tolerance: float,
) -> Vibration | None:
    """The free vibration from displacement and velocity (n,); None where the model moves freely, or
    where the basis or the steps do not serve."""
    n = motion.n
    if motion.freeze(span[0]).rigid.shape[1]:
        return None
    least = min(tolerance, WEAK)
    count = int(np.ceil(-MODES * np.log10(least)))
    V = _shapes(motion, span, initial, min(count, n), least)
    if V is None or (2 * V.shape[1] > n > FEW):
        return None
    V = np.eye(n) if 2 * V.shape[1] > n else V
    trial = _Trial(motion, V, span, initial)
    return trial.refined(tolerance) if trial.error(None) <= BY_BASIS * tolerance else None


class _Trial:
    """A run of long steps on a basis, and what follows from it."""

    def __init__(
        self,
        motion: InterpolatedMotion,
        V: Array,
        span: tuple[float, float],
        initial: tuple[Array, Array],
    ) -> None:
        self.source, self.V, self.span = motion, V, span
        self.motion = SmallMotion.of(motion, V)
        M = motion.matrices(np.array([span[0]]))[0][0]
        weighted = V.T @ M
        state = la.solve(weighted @ V, weighted @ np.stack(initial, axis=1), assume_a="pos")
        self.state = state.T.reshape(-1)
        M, _, K = self.motion.matrices(span[0])
        squares = np.abs(la.eigh(0.5 * (K + K.T), M, eigvals_only=True))
        fourth = float(np.sqrt(np.sort(squares)[min(3, len(squares) - 1)]))
        length, size = span[1] - span[0], len(GAUSS.c) * V.shape[1]
        self.most = EIGENSOLUTIONS * EIGENSOLUTION * (2.0 * max(V.shape[0], FEW) / size) ** 3
        # Long steps resolve modes up to SAFETY times the fourth.
        least = SAFETY * fourth * length / RESOLVED
        self.count = _parted(np.clip(least, 4 * PIECES, self.most))
        self.run = steps(self.motion, span, self.state, self.count)
        self._modes()
        self.missed, self.shifts = self._outside()

    def _modes(self) -> None:
        """Frozen modes of the basis at instants of the run, and their amplitudes in it."""
        self.places = np.arange(PIECES + 1) * (self.count // PIECES)
        self.times = times = self.run.times[self.places]
        self.frames = Frames.of(lambda t: self.motion.matrices.many(t).swapaxes(0, 1), times)
        self.softest = np.sqrt(ROUND_OFF * self.frames.squares[:, -1:])
        self.amplitudes, self.omega = self._amplitudes(
            self.run.q[self.places], self.run.v[self.places]
        )
        self.largest = float(np.linalg.norm(self.amplitudes, axis=1).max())

    def _amplitudes(self, q: Array, v: Array) -> tuple[Array, Array]:
        """√(a² + ȧ²/ω²) of the frozen modes (P, r) at the instants, and ω."""
        return self.frames.amplitudes(slice(None), np.hstack([q, v]), self.softest)

    def error(self, count: int | None) -> float:
        """The estimated error by the basis and by `count` steps; by the basis alone for None.

        Phases that drift change the modes by themselves, which are orthogonal, and none by more
        than twice its amplitude.
        """
        rates = self.shifts
        if count is not None:
            # The modes turn at other rates than the frozen ones, and a phase errs by ω⁹.
            h = (self.span[1] - self.span[0]) / count
            rates = rates + SAFETY * phase_error(self.omega, h)
        drift = cumulative_trapezoid(rates, self.times, axis=0, initial=0.0)
        errors = np.linalg.norm(self.amplitudes * np.minimum(drift, 2.0), axis=1)
        return self.missed + float(errors.max() / self.largest)

    def _outside(self) -> tuple[float, Array]:
        """What the basis misses. Shapes outside it respond to the residual ρ of the run by K⁻¹ρ,
        and as much again vibrates freely: its size, relative. The frequencies (P, r) of the modes
        inside it err by ρᴴK⁻¹ρ / 2ω of their own residuals, rad/s."""
        V, omega = self.V, self.omega
        if V.shape[0] == V.shape[1]:
            return 0.0, np.zeros_like(omega)
        M, C, K = self.source.matrices(self.times)
        Mr, Cr, Kr = self.frames.M, self.frames.C, self.frames.K
        q, v = (x[self.places][..., None] for x in (self.run.q, self.run.v))
        a = -np.linalg.solve(Mr, Cr @ v + Kr @ q)
        residual = M @ (V @ a) + C @ (V @ v) + K @ (V @ q)
        X = V @ self.frames.shapes
        inertia = M @ (X * -(omega**2)[:, None]) + K @ X
        speed = C @ (X * omega[:, None])
        for force in (inertia, speed):  # what the basis itself answers is no error
            force -= M @ (V @ np.linalg.solve(Mr, V.T @ force))
        response = np.linalg.solve(K, np.concatenate([residual, inertia, speed], axis=2))
        r, away = omega.shape[1], response[:, :, :1]
        size = np.sqrt(np.maximum((away * (M @ away)).sum(axis=(1, 2)), 0.0)).max()
        shifts = (inertia * response[:, :, 1 : r + 1] + speed * response[:, :, r + 1 :]).sum(axis=1)
        return 2.0 * float(size) / self.largest, np.abs(shifts) / (2.0 * omega)

    def refined(self, tolerance: float) -> Vibration | None:
        """The run in so many steps that the error is within the tolerance. What the estimate says
        of the long steps is compared with their difference from it, which is the true one."""
        count, allowed = self.count, tolerance
        while count <= self.most:
            error = self.error(count)
            if error <= allowed:
                run = steps(self.motion, self.span, self.state, count)
                far = max(1.0, self._difference(run) / self.error(self.count))
                error = self.missed + far * (error - self.missed)
                if far <= SAFETY and error <= tolerance:
                    return self._vibration(run, error)
                part = 1.0 / far if far <= SAFETY else 0.1
                allowed = self.missed + part * (allowed - self.missed)
            count = _parted(count + count / PIECES)
        return None

    def _vibration(self, run: SmallRun, error: float) -> Vibration:
        """error: relative to the largest amplitude √(Σ a² + ȧ²/ω²) of the frozen modes."""
        interpolant = self.source.interpolant
        attributes = {
            "solver": f"gauss{GAUSS.order}",
            "order": GAUSS.order,
            "steps": len(run.times) - 1,
            "basis": f"{self.V.shape[1]} shapes of {self.V.shape[0]} degrees of freedom",
            "displacement_error_estimate": error,
            "interpolated": str(interpolant),
            "interpolation_deviation": interpolant.deviation,
        }
        energy = self.motion.energy(run.times, run.q, run.v)
        return Vibration(run.times, run.q, run.v, energy, run.work, attributes, self.V)

    def _difference(self, run: SmallRun) -> float:
        """Largest difference from the run of long steps, in the amplitudes of frozen modes."""
        fine = np.arange(PIECES + 1) * ((len(run.times) - 1) // PIECES)
        far, _ = self._amplitudes(
            run.q[fine] - self.run.q[self.places], run.v[fine] - self.run.v[self.places]
        )
        return float(np.linalg.norm(far, axis=1).max() / self.largest)


def _parted(count: float) -> int:
    """The number of steps, at least `count`, that PIECES divides."""
    return PIECES * int(np.ceil(count / PIECES))


def _shapes(
    motion: InterpolatedMotion,
    span: tuple[float, float],
    initial: tuple[Array, Array],
    count: int,
    least: float,
) -> Array | None:
    """Shapes (n, r), orthonormal in the first mass matrix, that hold the initial state and the
    main directions of `count` frozen modes of instants and of their static responses to Coriolis
    forces, weighted by the amplitude of equal energies. None where a stiffness is singular."""
    times = span[0] + (span[1] - span[0]) * np.arange(INSTANTS) / INSTANTS
    matrices = motion.matrices(times)
    root = la.cholesky(matrices[0][0])
    columns = []
    for M, C, K in zip(*matrices, strict=True):
        S = 0.5 * (K + K.T)
        squares, X = la.eigh(S, M, subset_by_index=[0, count - 1])
        if np.abs(squares).min() <= ROUND_OFF * (S.diagonal() / M.diagonal()).max():
            return None
        columns += [X / np.sqrt(np.abs(squares)), la.solve(S, C @ X, assume_a="sym")]
    first, _ = la.qr(root @ np.stack(initial, axis=1), mode="economic")
    X = root @ np.hstack(columns)
    X -= first @ (first.T @ X)
    U, sizes, _ = la.svd(X, full_matrices=False)
    W = la.qr(np.hstack([first, U[:, sizes > least * sizes[0]]]), mode="economic")[0]
    return np.asarray(la.solve_triangular(root, W))
