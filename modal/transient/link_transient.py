"""Time integration of a mechanism with large links, on reduced bases of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la
import xarray as xr
from numpy.typing import ArrayLike

from assembly.errors import AccuracyError, ConvergenceError, SingularSystemError
from assembly.system.frozen import FrozenSystem
from assembly.system.frozen_series import FrozenSeries
from modal.reduction.link_motion import LinkMotion
from modal.reduction.link_reducer import linked
from modal.transient.equations import freezer
from modal.transient.initial import initial_state
from modal.transient.records import chosen_probes
from modal.types import Array

MODES = 12  # frozen modes that are certified all along the motion
ACCURACY = 1e-6  # of their eigenvalues
INSTANTS = 12  # of the transient at which the error by the bases is evaluated
SOFTEST = 1e-14  # of the largest stiffness: of softer modes


@dataclass(frozen=True)
class LinkTransient:
    """The reduced mechanism that is integrated, and the way back to the full one."""

    motion: LinkMotion
    full: FrozenSystem

    @property
    def period(self) -> float | None:
        """Period of the motion, s."""
        return self.motion.period

    @property
    def matrix_period(self) -> float | None:
        """The time after which the frozen systems repeat, s; None where a force or stiffness is a
        function of time."""
        return self.motion.mechanism.matrix_period

    def freeze(self, t: float) -> FrozenSystem:
        """The frozen system of the reduced mechanism at time t, s."""
        return self.motion.freeze(t)

    def freeze_many(self, times: ArrayLike) -> FrozenSeries:
        """Those of several times."""
        return self.motion.freeze_many(times)

    def state(self, initial: Any) -> tuple[Array, Array]:
        """Initial displacement and velocity (n,) in the coordinates of the reduced mechanism."""
        q, v = (
            self.motion.coordinates(x[:, None])[:, 0] for x in initial_state(initial, self.full.n)
        )
        return q, v

    def lifted(self, found: xr.Dataset, probes: Any, model: str) -> xr.Dataset:
        """The transient at probes of the full mechanism, and the size of what the bases miss."""
        rows = chosen_probes(probes, self.full.n, self.full)
        basis = self.motion.lift(np.eye(self.freeze(float(found.time[0])).n))[rows.indices]
        q, v = found.displacement.values, found.velocity.values
        variables = {
            name: (("time", "probe"), values @ basis.T, found[name].attrs)
            for name, values in (("displacement", q), ("velocity", v))
        }
        kept = {name: found[name] for name in ("energy", "energy_defect")}
        out = xr.Dataset(
            variables | kept,
            coords={
                "time": found.time,
                "probe": ("probe", list(rows.labels), found.probe.attrs),
                "unknown": ("probe", rows.indices, found.unknown.attrs),
            },
            attrs=dict(found.attrs),
        )
        out.attrs |= {
            "model": model,
            "unknowns": self.full.n,
            "basis": self.motion.description,
            "basis_error": self._missed(found.time.values, q, v, _step(found)),
        }
        return out

    def _missed(self, times: Array, q: Array, v: Array, step: float) -> float:
        """The largest error by the bases in √(qᵀMq), relative to the largest amplitude, against the
        same integration of the full mechanism.

        A trajectory is a sum of frozen modes of the reduced mechanism, of amplitudes √(a² + ȧ²/ω²).
        A mode has an error of its shape, and an error δω of its frequency that adds up to a phase,
        δω t / (1 + (ωh/2)²) in steps h of order 2. No mode errs by more than twice its amplitude:
        modes beyond the bases count little where they move little, however much energy they have.
        """
        chosen = np.unique(np.linspace(0, len(times) - 1, min(len(times), INSTANTS)).round())
        index = chosen.astype(np.intp)
        series = self.freeze_many(times[index])
        worst = largest = 0.0
        for i, t in enumerate(times[index]):
            M, K = series.mass[i], series.stiffness[i]
            squares, shapes = la.eigh(0.5 * (K + K.T), M)
            omega = np.sqrt(np.maximum(squares, SOFTEST * squares[-1]))
            momenta = shapes.T @ M @ np.stack([q[index[i]], v[index[i]]], axis=1)
            amplitudes = np.hypot(momenta[:, 0], momenta[:, 1] / omega)
            rates = 1j * omega * shapes
            a = -np.linalg.solve(M, series.damping[i] @ rates + K @ shapes)
            energy, size = self.motion.missing(t[None], shapes[None], rates[None], a[None])
            phase = energy[0] ** 2 / (2.0 * omega) * (t - times[0])
            phase = phase / (1.0 + (0.5 * omega * step) ** 2)
            # Phases change the modes by themselves, which are orthogonal; shapes add up at worst.
            by_phase = float(np.linalg.norm(amplitudes * np.minimum(phase, 2.0)))
            worst = max(worst, by_phase + float(amplitudes @ np.minimum(size[0], 2.0)))
            largest = max(largest, float(np.linalg.norm(amplitudes)))
        return worst / max(largest, float(np.finfo(float).tiny))


def _step(found: xr.Dataset) -> float:
    """The length of fixed steps of a method of order 2, s; 0 for others."""
    step = found.attrs.get("step")
    return float(step) if found.attrs["order"] == 2 and isinstance(step, (int, float)) else 0.0


def on_links(model: Any, span: tuple[float, float], initial: Any) -> LinkTransient | None:
    """The mechanism on bases of its links; None for another model, or where bases do not serve."""
    if isinstance(model, (FrozenSystem, LinkTransient)) or not hasattr(model, "freeze"):
        return None
    full = freezer(model)(span[0])
    system = linked(full)
    if system is None:
        return None
    shapes = initial_state(initial, full.n)
    try:
        motion = LinkMotion.of(system, span, MODES, ACCURACY, shapes)
    except (AccuracyError, ConvergenceError, SingularSystemError):
        return None
    return LinkTransient(motion, full)
