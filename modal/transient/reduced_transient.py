"""Time integration of a mechanism with large links, or of a large body, on a reduced basis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as la
import xarray as xr
from numpy.typing import ArrayLike

from assembly.mechanisms.mechanism import MechanismSystem
from assembly.system.frozen import FrozenSeries, FrozenSystem
from modal.data.datasets import described, made_from
from modal.data.variables import TRANSIENT
from modal.eigen.tolerances import HALF
from modal.reduction.motion import ReducedMotion, may_be_reduced, motion_on_basis
from modal.reduction.space import SAMPLE
from modal.transient.equations import freezer
from modal.transient.initial import initial_state
from modal.transient.loads import (
    Harmonic,
    Impulse,
    InertiaLoads,
    Load,
    Tabulated,
    direction,
    total_force,
)
from modal.transient.probes import Probes
from modal.transient.records import chosen_probes
from modal.transient.tolerances import SAFETY, TOLERANCE
from modal.types import Array

Freeze = Callable[[float], FrozenSystem]


@dataclass(frozen=True)
class ProjectedLoad:
    """A load on the full model as one on the reduced one."""

    load: Load
    motion: ReducedMotion
    freeze: Freeze

    @property
    def events(self) -> tuple[float, ...]:
        return self.load.events

    @property
    def shortest(self) -> float:
        return self.load.shortest

    def force(self, t: float, system: FrozenSystem) -> Array:
        return self.motion.forces(self.load.force(t, self.freeze(t)))


@dataclass(frozen=True)
class ReducedTransient:
    """The reduced model that is integrated, and the way back to the full one.

    model: the full one, with the loads `given` on it, of which the probes are recorded, from the
    displacement and velocity `start`.
    """

    motion: ReducedMotion
    span: tuple[float, float]
    freeze_full: Freeze
    full: FrozenSystem
    given: tuple[Load, ...]
    probes: Probes
    model: Any
    start: tuple[Array, Array]

    @property
    def period(self) -> float | None:
        """Period of the motion, s."""
        return self.motion.period

    @property
    def matrix_period(self) -> float | None:
        """The time after which the frozen systems repeat, s; None where none is known."""
        found: float | None = getattr(self.model, "matrix_period", None)
        return found

    @property
    def made_from(self) -> str:
        """The full model, in one line."""
        return made_from(self.model)

    @property
    def parameters(self) -> Any:
        """Those of the full model."""
        return getattr(self.model, "parameters", None)

    def freeze(self, t: float) -> FrozenSystem:
        """The frozen system of the reduced model at time t, s."""
        return self.motion.freeze(t)

    def freeze_many(self, times: ArrayLike) -> FrozenSeries:
        """Those of several times."""
        return self.motion.freeze_many(times)

    @property
    def state(self) -> tuple[Array, Array]:
        """Initial displacement and velocity (r,) in the coordinates of the reduced model."""
        q, v = (self.motion.coordinates(x[:, None])[:, 0] for x in self.start)
        return q, v

    @property
    def loads(self) -> tuple[Load, ...]:
        """The loads on the reduced model."""
        out: list[Load] = []
        for load in self.given:
            if isinstance(load, (Harmonic, Impulse, Tabulated)):
                at = self.motion.forces(direction(load.at, self.full))
                out.append(replace(load, at=at))
            elif isinstance(load, InertiaLoads):
                out.append(load)  # Q of the reduced system is that of the full one, projected
            else:
                out.append(ProjectedLoad(load, self.motion, self.freeze_full))
        return tuple(out)

    def lifted(self, found: xr.Dataset) -> xr.Dataset:
        """The transient at the probes of the full model, and the size of what the basis misses."""
        rows = self.probes
        basis = self.motion.lift(np.eye(self.freeze(float(found.time[0])).n))[rows.numbers]
        q, v = found.displacement.values, found.velocity.values
        variables = {
            name: (("time", "probe"), values @ basis.T, found[name].attrs)
            for name, values in (("displacement", q), ("velocity", v))
        }
        kept = {name: found[name] for name in ("energy", "energy_defect")}
        out = xr.Dataset(
            variables | kept,
            coords={"time": found.time, **rows.coordinates},
            attrs=dict(found.attrs),
        )
        out = described(out, TRANSIENT)
        worst, largest, _ = self._missed(found.time.values, q, v, _step(found))
        out.attrs |= {
            "unknowns": self.full.n,
            "basis": self.motion.description,
            "basis_error": worst / largest,
        }
        return out

    def missed_at_start(self) -> float:
        """The error by the basis that the initial state alone has, relative to its amplitudes."""
        q, v = self.state
        worst, _, amplitudes = self._missed(np.array(self.span[:1]), q[None], v[None], 0.0)
        return worst / amplitudes

    def _missed(self, times: Array, q: Array, v: Array, step: float) -> tuple[float, float, float]:
        """The largest error by the basis in √(qᵀMq), against the same integration of the full
        model, the largest √(qᵀMq) of the instants, and that of √(Σ a² + ȧ²/ω²).

        A trajectory is a sum of frozen modes of the reduced model, of amplitudes √(a² + ȧ²/ω²), ω
        at least one over the span: slower ones do not swing back within it. A mode of which the
        basis holds no more than the beginning errs by up to twice its amplitude, static response to
        the loads apart. The residual of the rest is what the shapes outside the basis respond to;
        and each mode has an error δω of its frequency that adds up to a phase, δω t / (1 + (ωh/2)²)
        in steps h of order 2. Phases change the modes by themselves, which are orthogonal. Without
        loads, what a mode follows slower ones statically has no phase.
        """
        chosen = np.unique(np.linspace(0, len(times) - 1, min(len(times), SAMPLE)).round())
        index = chosen.astype(np.intp)
        series, loads = self.freeze_many(times[index]), self.loads
        on_all = total_force(self.given, self.freeze_full, self.full.n)
        matrices = zip(series.mass, series.damping, series.stiffness, strict=True)
        worst, tiny = 0.0, float(np.finfo(float).tiny)
        sizes = [np.full(2, tiny)]
        for i, (t, (M, C, K)) in enumerate(zip(times[index].tolist(), matrices, strict=True)):
            squares, shapes = la.eigh(0.5 * (K + K.T), M)
            omega = np.sqrt(np.maximum(np.abs(squares), 1.0 / (self.span[1] - self.span[0]) ** 2))
            here = series[i]
            force = sum((load.force(t, here) for load in loads), np.zeros(len(M)))
            still = shapes.T @ force / omega**2
            states = shapes.T @ M @ np.stack([q[index[i]], v[index[i]]], axis=1)
            rates = 1j * omega * shapes
            a = -np.linalg.solve(M, C @ rates + K @ shapes)
            energy, size = self.motion.missing(np.array([t]), shapes[None], rates[None], a[None])
            known = size[0] < 1.0
            bent = np.abs(states[:, 0] - np.where(known, 0.0, still))
            if not self.given:
                accelerated = shapes.T @ (C @ v[index[i]] + K @ q[index[i]]) / omega**2
                bent = np.minimum(bent, np.abs(accelerated))
            free = np.hypot(bent, states[:, 1] / omega)
            phase = energy[0] ** 2 / (2.0 * omega) * (t - times[0])
            phase = phase / (1.0 + (0.5 * omega * step) ** 2)
            by_phase = free * np.where(known, np.minimum(phase, 2.0), 2.0)
            x, rate = np.where(known, states.T, [still, 0.0 * still]) @ shapes.T
            acceleration = np.linalg.solve(M, force - C @ rate - K @ x)
            state = np.stack([x, rate, acceleration])[:, None, :, None]
            on_full = on_all(t)[None, :, None] if self.given else None
            outside = self.motion.missing(np.array([t]), state[0], state[1], state[2], on_full)[1]
            # The shapes outside the basis respond statically, and as much again vibrates freely.
            worst = max(worst, SAFETY * outside.item() + float(np.linalg.norm(by_phase)))
            both = states[:, 0], np.hypot(states[:, 0], states[:, 1] / omega)
            sizes.append(np.linalg.norm(both, axis=1))
        largest, amplitudes = np.max(sizes, axis=0)
        return worst, float(largest), float(amplitudes)


def _step(found: xr.Dataset) -> float:
    """The length of fixed steps of a method of order 2, s; 0 for others."""
    step = found.attrs.get("step")
    return float(step) if found.attrs["order"] == 2 and isinstance(step, (int, float)) else 0.0


def on_basis(
    model: Any,
    span: tuple[float, float],
    initial: Any,
    loads: tuple[Load, ...],
    probes: Any,
    modes: int = 12,
) -> ReducedTransient | None:
    """The model on a reduced basis; None of a small model, or where a basis does not serve.

    modes: frozen ones that are certified all along the motion.
    """
    if isinstance(model, (FrozenSystem, ReducedTransient)) or not hasattr(model, "freeze"):
        return None
    freeze = freezer(model)
    full = freeze(span[0])
    if not may_be_reduced(full):
        return None
    rows = chosen_probes(probes, full.n, full)
    start = initial_state(initial, full.n)
    shapes = [shape for shape in start if np.any(shape)]
    # Those on links would have to be assembled, at the cost of the whole run.
    moved = [] if isinstance(full, MechanismSystem) else shapes
    forces = _directions(loads, freeze, span, moved)
    period = getattr(model, "period", None)
    motion = motion_on_basis(freeze, span, modes, TOLERANCE, shapes, forces, period, free=True)
    if motion is None:
        return None
    return ReducedTransient(motion, span, freeze, full, loads, rows, model, start)


def _directions(
    loads: tuple[Load, ...], freeze: Freeze, span: tuple[float, float], shapes: list[Array]
) -> list[Array]:
    """Independent directions (n,) of the loads' forces at instants of the span, and of those on
    shapes of the start that move."""
    columns = [freeze(t).damping @ x for t in np.linspace(*span, 3).tolist() for x in shapes]
    for load in loads:
        if isinstance(load, (Harmonic, Impulse, Tabulated)):
            columns.append(direction(load.at, freeze(span[0])))
        else:
            for t in np.linspace(*span, SAMPLE).tolist():
                columns.append(load.force(t, freeze(t)))
    given = [f / np.linalg.norm(f) for f in columns if np.any(f)]
    if not given:
        return []
    forces = np.stack(given, axis=1)
    _, R, order = la.qr(forces, mode="economic", pivoting=True)
    count = int((np.abs(np.diag(R)) > HALF).sum())
    return [forces[:, j] for j in order[:count]]
