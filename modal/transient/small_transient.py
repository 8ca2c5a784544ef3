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
# The steps may cost so many dense eigensolutions of the first-order form, each of so many times N³
# multiplications: more are left to modal/transient/decoupled.py.
EIGENSOLUTIONS, EIGENSOLUTION = 100.0, 10.0


def small_transient(
    motion: InterpolatedMotion,
    span: tuple[float, float],
    initial: tuple[Array, Array],
    tolerance: float,
    modes: float = 4.0,
) -> Vibration | Trial | None:
    """The free vibration from displacement and velocity (n,); where the steps do not serve, the
    trial of a basis that does. None where the model moves freely, or no basis serves.

    modes: of an instant in the basis, for each decimal of the tolerance.
    """
    n = motion.n
    if motion.freeze(span[0]).rigid.shape[1]:
        return None
    least = min(tolerance, WEAK)
    count = int(np.ceil(-modes * np.log10(least)))
    V = _shapes(motion, span, initial, min(count, n), 0.1 * np.sqrt(least))
    if V is None:
        return None
    V = np.eye(n) if V.shape[1] ** 3 > 0.5 * n**3 else V
    trial = Trial(motion, V, span, initial)
    if trial.starts_fast(tolerance):
        return None
    trial.follow(steps(trial.motion, span, trial.state, trial.count))
    if trial.by_basis > BY_BASIS * tolerance:
        return None
    return trial.refined(tolerance) or (trial if V.shape[1] < n else None)


class Trial:
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
        length, size = span[1] - span[0], max(len(GAUSS.c) * V.shape[1], 0.75 * FEW)
        self.most = EIGENSOLUTIONS * EIGENSOLUTION * (max(2.0 * V.shape[0], 1.5 * FEW) / size) ** 3
        first = Frames.of(self.matrices, np.array(span[:1]))
        self.sizes, omega = first.amplitudes(0, self.state, 1.0 / length)
        decay = 0.5 * np.diagonal(first.shapes[0].T @ first.C[0] @ first.shapes[0])
        self.lasting = 1.0 / (1.0 / length + np.abs(decay))
        self.rates = np.maximum(omega, decay + np.sqrt(np.maximum(decay**2 - omega**2, 0.0)))
        # Long steps resolve modes up to SAFETY times the fourth.
        least = SAFETY * np.sort(omega)[min(3, len(omega) - 1)] * length / RESOLVED
        self.count = _parted(np.clip(least, 4 * PIECES, self.most))

    def matrices(self, times: Array) -> Array:
        """M, C + D and K (3, P, r, r)."""
        return self.motion.matrices.many(times).swapaxes(0, 1)

    def _from_start(self, count: float) -> float:
        """The error by steps of the modes of the start until they have decayed: Gauss steps do not
        damp what they do not resolve."""
        errors = SAFETY * phase_error(self.rates, (self.span[1] - self.span[0]) / count)
        drift = np.minimum(errors * self.lasting, 2.0)
        return float(np.linalg.norm(self.sizes * drift) / np.linalg.norm(self.sizes))

    def _modes(self) -> None:
        """Frozen modes of the basis at instants of the run, and their amplitudes in it."""
        self.places = np.arange(PIECES + 1) * (self.count // PIECES)
        self.times = times = self.run.times[self.places]
        self.frames = Frames.of(self.matrices, times)
        self.softest = np.sqrt(ROUND_OFF * self.frames.squares[:, -1:])
        q, v = self.run.q[self.places], self.run.v[self.places]
        sizes, omega = self._amplitudes(q, v)
        self.largest, self.omega = float(np.linalg.norm(sizes, axis=1).max()), omega
        # What follows slower modes statically is bent, but neither accelerates nor has a phase.
        forces = self.frames.C @ v[..., None] + self.frames.K @ q[..., None]
        accelerated = (self.frames.shapes.swapaxes(1, 2) @ forces)[..., 0] / omega**2
        vibrating = np.hypot(accelerated, self._amplitudes(0.0 * q, v)[0])
        self.amplitudes = np.minimum(sizes, vibrating)

    def _amplitudes(self, q: Array, v: Array) -> tuple[Array, Array]:
        """√(a² + ȧ²/ω²) of the frozen modes (P, r) at the instants, and ω."""
        return self.frames.amplitudes(slice(None), np.hstack([q, v]), self.softest)

    def error(self, count: int | None) -> float:
        """The estimated error by the basis and by `count` steps; by the basis alone for None.

        Phases that drift change the modes by themselves, which are orthogonal, and none by more
        than twice its amplitude.
        """
        rates, early = self.shifts, 0.0
        if count is not None:
            early = self._from_start(count)
            # The modes turn at other rates than the frozen ones, and a phase errs by ω⁹.
            h = (self.span[1] - self.span[0]) / count
            rates = rates + SAFETY * phase_error(self.omega, h)
        drift = cumulative_trapezoid(rates, self.times, axis=0, initial=0.0)
        errors = np.linalg.norm(self.amplitudes * np.minimum(drift, 2.0), axis=1)
        return self.missed + max(early, float(errors.max() / self.largest))

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
        MX, KX = M @ X, K @ X
        inertia = KX - MX * (omega**2)[:, None]
        speed = C @ (X * omega[:, None])
        # What the basis itself answers is no error: faster modes statically, others by inertia.
        faster = omega[:, :, None] > omega[:, None]
        for force in (inertia, speed):
            parts = X.swapaxes(1, 2) @ force
            force -= KX @ np.where(faster, parts / (omega**2)[:, :, None], 0.0)
            force -= MX @ (X.swapaxes(1, 2) @ force)
        response = np.linalg.solve(K, np.concatenate([residual, inertia, speed], axis=2))
        r, away = omega.shape[1], response[:, :, :1]
        size = np.sqrt(np.maximum((away * (M @ away)).sum(axis=(1, 2)), 0.0)).max()
        shifts = (inertia * response[:, :, 1 : r + 1] + speed * response[:, :, r + 1 :]).sum(axis=1)
        return 2.0 * float(size) / self.largest, np.abs(shifts) / (2.0 * omega)

    def starts_fast(self, tolerance: float) -> bool:
        """Whether the steps that may be done lose more than the tolerance at the start."""
        return self._from_start(self.most) > tolerance

    @property
    def description(self) -> str:
        """The basis, in words."""
        return f"{self.V.shape[1]} shapes of {self.V.shape[0]} degrees of freedom"

    def follow(self, run: SmallRun) -> None:
        """The error by the basis, of which a run gives the amplitudes."""
        self.run, self.count = run, len(run.times) - 1
        self._modes()
        self.missed, self.shifts = self._outside()
        self.by_basis = self.error(None)

    def refined(self, tolerance: float) -> Vibration | None:
        """The run in so many steps that the error is within the tolerance. What the estimate says
        of the long steps is compared with their difference from it, which is the true one. None
        where the steps would cost too much."""
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
            "basis": self.description,
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
    """Shapes (n, r), orthonormal in the first stiffness, that hold the initial state and the main
    directions of `count` frozen modes of instants, of equal energies, and of their static responses
    to Coriolis forces: in energy, as small deflections of a stiff part have much of it. None where
    a stiffness is singular."""
    times = span[0] + (span[1] - span[0]) * np.arange(INSTANTS) / INSTANTS
    columns: list[Array] = []
    for M, C, K in zip(*motion.matrices(times), strict=True):
        S = 0.5 * (K + K.T)
        squares, X = la.eigh(S, M, subset_by_index=[0, count - 1])
        if np.abs(squares).min() <= ROUND_OFF * (S.diagonal() / M.diagonal()).max():
            return None
        if not columns:
            root = la.cholesky(S + max(0.0, -2.0 * squares[0]) * M)
        columns += [X / np.sqrt(np.abs(squares)), la.solve(S, C @ X, assume_a="sym")]
    given = [x for x in initial if np.any(x)]
    first, _ = la.qr(root @ np.stack(given, axis=1), mode="economic")
    X = root @ np.hstack(columns)
    X -= first @ (first.T @ X)
    U, sizes, _ = la.svd(X, full_matrices=False)
    W = la.qr(np.hstack([first, U[:, sizes > least]]), mode="economic")[0]
    return np.asarray(la.solve_triangular(root, W))
