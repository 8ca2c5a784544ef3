"""Equilibrium and mode of a steady motion, and the nonlinear transients that start in the mode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.bodies.nonlinear import ITERATIONS, STEP_TOLERANCE
from assembly.errors import ConvergenceError, InputError
from assembly.linalg.factorization import Factorization
from assembly.magnitudes import ALIKE, EQUAL
from assembly.system.frozen import FrozenSystem
from modal.checks.identification import modal_coordinates
from modal.eigen.solve import solve
from modal.transient.transient import integrate
from modal.types import Array, Complex


@dataclass(frozen=True)
class Motion:
    """A transient that started in the mode.

    At the middles of steps, where the midpoint rule has its forces: time (T,), s, from that of the
    first; coordinate (T,), that of the mode, 1 at the start in the linear motion; displacement (T,)
    of the mode's largest DOF from the equilibrium; step, s; failed: a step did.
    """

    time: Array
    coordinate: Complex
    displacement: Array
    step: float
    failed: bool


class NonlinearStart:
    """Equilibrium and mode `mode` of a model at time t, from which transients start.

    The shape is scaled so that its largest displacement is 1; of a shape without displacements,
    the largest rotation.
    """

    def __init__(self, model: Any, t: float, mode: int) -> None:
        self.model, self.t = model, t
        trim = model.trim(t)
        self.state = getattr(trim, "state", trim)  # of a mechanism, of a moving body
        self.q, self.system = trim.q, self.state.system()
        modes = solve(self.system, k=mode + 1)
        if mode >= len(modes):
            raise InputError(f"mode: the model has {len(modes)} modes, counted from 0; got {mode}")
        self.lam = complex(modes.eigenvalues[mode])
        if modes.kind[mode] != "elastic" or self.lam == 0.0:
            raise InputError(f"mode: mode {mode} is rigid; choose an elastic one")
        self.largest = _largest(self.system, modes.right[:, mode])
        scale = 1.0 / modes.right[self.largest, mode]
        self.right = modes.right[:, mode] * scale
        self.left = modes.left[:, mode] / np.conj(scale)
        self.cycle = 2.0 * np.pi / abs(self.lam)
        self.oscillates = self.lam.imag != 0.0
        self.conservative = _is_conservative(self.system)

    def check_steady(self, span: float, amplitude: float) -> None:
        """InputError where equilibrium or mode depend on time."""
        lam, x, y, rest = self.lam, self.right, self.left, np.zeros_like(self.q)
        for part in (0.25, 0.6, 1.0):
            t = self.t + part * span
            state = self.model.displaced(t, self.q, rest, rest, near=self.state)
            M, C, K = state.tangents()
            drift = abs(np.vdot(y, state.residual)) / abs(lam)
            shift = abs(np.vdot(y, lam * lam * (M @ x) + lam * (C @ x) + K @ x)) / abs(lam)
            if max(drift / amplitude, shift) > ALIKE:
                raise InputError(
                    "crosscheck_amplitudes: the motion is not steady: equilibrium or mode of "
                    f"t = {self.t:.6g} s are others at {t:.6g} s"
                )

    def initial(self, amplitude: float) -> tuple[Array, Array, Array]:
        """Displacement, velocity and acceleration (n,): the mode's, and what fast vibrations are in
        balance with.

        A bent beam is shorter in projection; without that its axial vibration starts as well. With
        x the shape, q₀ its displacement and a its acceleration, Newton's method solves
        R(q, v, a + μ Re x, t) + |λ|² M (q − q₀) = 0 for q and μ, at the same displacement along
        M Re x. Vibrations far slower than |λ| keep the displacement q₀.
        """
        x, stiff = self.right.real, abs(self.lam) ** 2
        mode = self.q + amplitude * x
        v, a = (amplitude * (self.lam**n * self.right).real for n in (1, 2))
        q, along, mu = mode, self.system.M @ x, 0.0
        for _ in range(ITERATIONS):
            state = self.model.displaced(self.t, q, v, a + mu * x, near=self.state)
            M, _, K = state.tangents()
            rows = [[K + stiff * self.system.M, (M @ x)[:, None]], [along[None], None]]
            bordered = sp.bmat(rows, format="csr")
            force = state.residual + stiff * (self.system.M @ (q - mode))
            with Factorization(bordered, "general") as factor:
                change = np.asarray(factor.solve(np.append(-force, 0.0)))
            q, mu = q + change[:-1], mu + float(change[-1])
            if np.linalg.norm(change[:-1]) <= STEP_TOLERANCE * np.linalg.norm(q):
                self.model.displaced(self.t, q, v, 0.0 * q)  # as `integrate` starts
                return q, v, a + mu * x
        raise ConvergenceError(
            f"crosscheck_amplitudes: no start at the amplitude {amplitude:g}: the other degrees of "
            "freedom do not settle"
        )

    def motion(self, amplitude: float, cycles: int, steps: int, parts: int = 8) -> Motion:
        """The transient over `cycles` with `steps` a cycle, in pieces, up to where a step fails,
        however it is divided.

        parts: of a cycle 2π/|λ|, λ real: such a motion may leave the range within a cycle.
        """
        pieces = 1 if self.oscillates else parts
        length = self.cycle / pieces
        step = length / -(-steps // pieces)
        # The middle of the first step has the amplitude.
        q, v, a = self.initial(amplitude)
        q, v = q - 0.5 * step * v, v - 0.5 * step * a
        times, q_at, v_at, failed = [np.array([self.t])], [q[None]], [v[None]], False
        for n in range(cycles * pieces):
            span = (self.t + n * length, self.t + (n + 1) * length)
            try:
                response = integrate(
                    self.model, span, (q, v), nonlinear=True, step=step, probes="all"
                )
            except ConvergenceError:
                failed = True
                break
            times.append(response.time.values[1:])
            q_at.append(response.displacement.values[1:])
            v_at.append(response.velocity.values[1:])
            q, v = q_at[-1][-1], v_at[-1][-1]
        ends = np.concatenate(q_at) - self.q, np.concatenate(v_at)
        moved, velocity = (0.5 * (x[1:] + x[:-1]) for x in ends)
        c = modal_coordinates(moved, velocity, self.system, [self.lam], self.left[:, None])[:, 0]
        share = amplitude * (0.5 if self.oscillates else 1.0)
        return Motion(np.concatenate(times)[:-1], c / share, moved[:, self.largest], step, failed)


def _largest(system: FrozenSystem, x: Complex) -> int:
    """The DOF of the largest displacement of a shape; of a shape without, the largest rotation."""
    size = np.abs(x)
    if system.dofs is not None:
        displacements = np.where(system.dofs.component < 3, size, 0.0)
        if displacements.max() > EQUAL * size.max():
            size = displacements
    return int(np.argmax(size))


def _is_conservative(system: FrozenSystem) -> bool:
    """Whether the frozen system has neither dissipation nor circulatory forces."""
    C, K = system.damping, system.stiffness
    dissipative, circulatory = abs(C + C.T).max(), abs(K - K.T).max()
    size = max(abs(C).max(), np.sqrt(abs(system.M).max() * abs(K).max()))
    return bool(dissipative <= EQUAL * size and circulatory <= EQUAL * abs(K).max())
