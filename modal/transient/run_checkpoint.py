"""The checkpoint of a transient: what run it belongs to, and where that run stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assembly.errors import StorageError
from assembly.system.frozen import FrozenSystem
from modal.data.checkpoint import checksum, load, save
from modal.provenance.contents import contents
from modal.provenance.fingerprint import TIMES, MotionProbe, agree, summed, vector_rows
from modal.transient.energy import Energies
from modal.transient.equations import instants
from modal.transient.integrators.stages import State
from modal.transient.loads import Load
from modal.transient.newton import Newton
from modal.transient.records import Recorder
from modal.types import Array

PRINTS = "prints"


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
