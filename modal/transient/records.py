"""The record of a transient: probes and energy over time, as a dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from assembly.errors import InputError
from assembly.system.frozen import FrozenSystem
from modal.data.datasets import described, provenance
from modal.data.variables import TRANSIENT, TRANSIENT_NONLINEAR
from modal.transient.probes import Probes
from modal.types import Array

AXES = ["x", "y", "z"]


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


def run_attributes(settings: Mapping[str, Any], model: Any) -> dict[str, Any]:
    """The settings of a run and the parameters of the model, as attributes."""
    shown = {k: v for k, v in settings.items() if k not in ("probes", "t_span", "method")}
    parameters = getattr(model, "parameters", None)
    if parameters:
        shown["model_parameters"] = parameters
    return shown
