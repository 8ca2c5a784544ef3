"""The checkpoint of a transient: its state, its energies, its records and where its steps stand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modal.data import checkpoint as checkpoints
from modal.transient.energy import Energies
from modal.transient.integrators.stages import State
from modal.transient.records import Recorder


def save_run(
    file: Path,
    settings: dict[str, Any],
    state: State,
    energies: Energies,
    steps: Any,
    rec: Recorder,
) -> None:
    """Write what `restore_run` takes."""
    arrays = dict(
        q=state.q,
        v=state.v,
        carried=state.carried,
        energies=np.append(energies.initial, energies.work),
    ) | {f"record_{name}": value for name, value in rec.arrays().items()}
    for name, value in steps.position().items():
        arrays[f"position_{name}"] = np.asarray(value)
    checkpoints.save(file, arrays, settings)


def restore_run(
    arrays: dict[str, NDArray[Any]], ledger: Any, steps: Any, recorder: Recorder
) -> tuple[State, Energies]:
    """The state and the energies of a stored run; steps and recorder continue where it stood."""
    prefix = "position_"
    steps.restore({k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)})
    prefix = "record_"
    recorder.restore({k[len(prefix) :]: v for k, v in arrays.items() if k.startswith(prefix)})
    initial, *work = arrays["energies"].tolist()
    energies = Energies(ledger, initial, np.reshape(work, np.shape(ledger.nothing)))
    return State(arrays["q"], arrays["v"], arrays["carried"]), energies
