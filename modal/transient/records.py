"""The record of a transient: probes and energy over time, as a dataset, and as a checkpoint that
says what run it belongs to and where that run stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from assembly.errors import InputError, StorageError
from assembly.system.frozen import FrozenSystem
from modal.data.checkpoint import checksum, load, save
from modal.data.datasets import described, provenance
from modal.data.variables import TRANSIENT, TRANSIENT_NONLINEAR
from modal.provenance.contents import contents
from modal.provenance.fingerprint import TIMES, MotionProbe, agree, summed, vector_rows
from modal.transient.equations import instants
from modal.transient.integrators.stages import State
from modal.transient.loads import Load
from modal.transient.measures import Energies
from modal.transient.newton import Newton
from modal.transient.probes import Probes
from modal.types import Array, Index

AXES = ["x", "y", "z"]
PRINTS = "prints"


def chosen_probes(probes: Any, n: int, system: FrozenSystem | None, default: int = 6) -> Probes:
    """The requested probes; by default the last node's DOFs, or up to `default` at even distances.

    Raises InputError for a degree of freedom that does not exist.
    """
    if isinstance(probes, str):
        if probes != "all":
            raise InputError(f'probes: expected "all" or a list, got {probes!r}')
        probes = range(n)
    elif probes is None and system is not None and system.dofs is not None:
        probes = np.flatnonzero(system.dofs.node == system.dofs.node.max())
    elif probes is None:
        probes = np.linspace(0, n - 1, min(n, default)).round().astype(int)
    return Probes.of(system, probes, "probes", n)


class Recorder:
    """The recorded rows of a transient."""

    def __init__(self, probes: Probes) -> None:
        self.probes = probes
        self._rows: dict[str, list[Any]] = {}

    def add(self, t: float, q: Array, v: Array, energies: dict[str, Any]) -> None:
        chosen = self.probes.numbers
        row = dict(time=t, displacement=q[chosen], velocity=v[chosen]) | energies
        for name, value in row.items():
            self._rows.setdefault(name, []).append(value)

    def arrays(self) -> dict[str, Array]:
        return {name: np.array(rows, dtype=float) for name, rows in self._rows.items()}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._rows = {name: list(values) for name, values in arrays.items()}

    def dataset(self, attributes: dict[str, Any]) -> xr.Dataset:
        """The transient dataset (docs/datasets.md)."""
        arrays = self.arrays()
        times = arrays.pop("time")
        axes = {"axis": AXES} if "momentum" in arrays else {}
        dataset = xr.Dataset(
            {name: (TRANSIENT_NONLINEAR[name].dims, values) for name, values in arrays.items()},
            coords={"time": times, **self.probes.coordinates, **axes},
            attrs=provenance(title="transient", **attributes),
        )
        return described(dataset, TRANSIENT_NONLINEAR if axes else TRANSIENT)


@dataclass(frozen=True)
class Vibration:
    """All states of a transient at times (R,): q, v (R, r), energy and the work since the start
    (R,), J, and what the dataset says of it. shapes: (n, r) where q and v are coordinates."""

    times: Array
    q: Array
    v: Array
    energy: Array
    work: Array
    attributes: dict[str, Any]
    shapes: Array | None = None

    def rows(self, indices: Index, every: int) -> dict[str, Array]:
        """The records of some DOFs: of every so many states, and of the last."""
        chosen = np.unique(np.append(np.arange(0, len(self.times), every), len(self.times) - 1))
        q, v = (
            x[chosen][:, indices] if self.shapes is None else x[chosen] @ self.shapes[indices].T
            for x in (self.q, self.v)
        )
        energy = self.energy[chosen]
        defect = energy - self.energy[0] - self.work[chosen]
        rows = dict(time=self.times[chosen], displacement=q, velocity=v)
        return rows | dict(energy=energy, energy_defect=defect)


def run_attributes(settings: Mapping[str, Any], model: Any) -> dict[str, Any]:
    """The settings of a run and the parameters of the model, as attributes."""
    shown = {k: v for k, v in settings.items() if k not in ("probes", "t_span", "method")}
    parameters = getattr(model, "parameters", None)
    if parameters:
        shown["model_parameters"] = parameters
    return shown


def same_start(q: Array, v: Array, loads: Sequence[Load]) -> dict[str, str]:
    """Checksums of the initial state and of the contents of the loads."""
    return {
        "initial": checksum(np.asarray(q), np.asarray(v))[:16],
        "loads": checksum([contents(load) for load in loads])[:16],
    }


def run_prints(
    model: Any, span: tuple[float, float], loads: Sequence[Load], nonlinear: bool
) -> Array:
    """Fingerprint (rows, 2) of the motion at seeded instants: matrices, loads and residuals."""
    t0, length = span[0], span[1] - span[0]
    times = t0 + length * np.random.default_rng(59).uniform(size=TIMES)
    sampled = instants(model, times)
    rows = [MotionProbe().of(sampled, length)]
    vectors = []
    for t, here in zip(times.tolist(), sampled, strict=True):
        if isinstance(here, FrozenSystem):
            vectors += [load.force(t, here) for load in loads]
        if nonlinear and isinstance(here, FrozenSystem):
            vectors.append(model.displaced(t, *np.zeros((3, here.n))).residual)
    if vectors:
        rows.append(summed(np.array([vector_rows(vector) for vector in vectors])))
    return np.vstack(rows)


class RunCheckpoint:
    """The file of one run.

    settings: equal word for word in the run that continues it. prints: of the motion, equal to
    round-off.
    """

    def __init__(self, file: Path, settings: Mapping[str, Any], prints: Array) -> None:
        self.file, self._settings, self._prints = file, dict(settings), prints

    def save(
        self, state: State, energies: Energies, steps: Any, recorder: Recorder, integrator: Any
    ) -> None:
        """Write what `restore` takes. Raises StorageError."""
        parts = {
            "state": {"q": state.q, "v": state.v, "carried": state.carried},
            "energies": {"all": np.append(energies.initial, energies.work)},
            "position": steps.position(),
            "record": recorder.arrays(),
            "newton": integrator.memory() if isinstance(integrator, Newton) else {},
        }
        arrays = {f"{k}.{n}": np.asarray(a) for k, part in parts.items() for n, a in part.items()}
        save(self.file, arrays | {PRINTS: self._prints}, self._settings)

    def restore(
        self, ledger: Any, steps: Any, recorder: Recorder, integrator: Any
    ) -> tuple[State, Energies]:
        """The state and the energies of the stored run; the others continue where it stood.

        Raises StorageError where the file is damaged or belongs to another run.
        """
        arrays = load(self.file, self._settings)
        if not agree(arrays[PRINTS], self._prints):
            raise StorageError(
                f"checkpoint {self.file}: belongs to another model, motion or load (the "
                "fingerprints of its matrices and forces differ)"
            )

        def part(name: str) -> dict[str, NDArray[Any]]:
            start = f"{name}."
            return {k.removeprefix(start): a for k, a in arrays.items() if k.startswith(start)}

        steps.restore(part("position"))
        recorder.restore(part("record"))
        if isinstance(integrator, Newton):
            integrator.recall(part("newton"))
        initial, *work = arrays["energies.all"].tolist()
        energies = Energies(ledger, initial, np.reshape(work, np.shape(ledger.nothing)))
        return State(**part("state")), energies
