"""Time integration of a mechanism with large links, on reduced bases of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
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


@dataclass(frozen=True)
class LinkTransient:
    """The reduced mechanism that is integrated, and the way back to the full one."""

    motion: LinkMotion
    full: FrozenSystem

    @property
    def period(self) -> float | None:
        """Period of the motion, s."""
        return self.motion.period

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
            "basis_error": self._missed(found.time.values, q, v, found.energy.values),
        }
        return out

    def _missed(self, times: Array, q: Array, v: Array, energy: Array) -> float:
        """The largest size of what the bases miss, relative to the largest energy norm."""
        chosen = np.unique(np.linspace(0, len(times) - 1, min(len(times), MODES)).round())
        index = chosen.astype(np.intp)
        series = self.freeze_many(times[index])
        forces = series.damping @ v[index, :, None] + series.stiffness @ q[index, :, None]
        a = -np.linalg.solve(series.mass, forces)
        missing = self.motion.missing(times[index], q[index, :, None], v[index, :, None], a)
        size = np.sqrt(2.0 * max(float(np.abs(energy).max()), float(np.finfo(float).tiny)))
        return float(missing.max() / size)


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
