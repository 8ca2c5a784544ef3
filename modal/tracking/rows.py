"""The record of every instant of a tracking run: one row of each table, nothing of order n."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modal.tracking.matching import Match
from modal.tracking.rates import instant_rates
from modal.tracking.snapshot import Snapshot
from modal.tracking.table import Table
from modal.types import Array, Index

KINDS = ("", "elastic", "rigid", "prescribed")
NOTHING = complex(np.nan, np.nan)

# Type and fill of each table, whose row at instant n is by mode of n, …
OF_MODES: Mapping[str, tuple[str, Any]] = {
    "eigenvalue": ("c16", NOTHING),
    "energy": ("f8", np.nan),
    "backward_error": ("f8", np.nan),
    "condition_number": ("f8", np.nan),
    "kind": ("i1", 0),
    "whirl": ("f8", np.nan),
    "slope": ("c16", NOTHING),
    "curvature": ("c16", NOTHING),
    "by_energy": ("f8", np.nan),
    "by_amplitude": ("f8", np.nan),
    "coupling": ("f8", np.nan),
    "steady": ("c16", NOTHING),
}
# … by mode of n − 1, from which they lead to n.
OF_LINKS: Mapping[str, tuple[str, Any]] = {
    "mac": ("f8", np.nan),
    "certainty": ("f8", np.nan),
}
EMPTY = np.zeros(0)


class Rows:
    """The tables of a run. `index` is the mode of each instant on each track, −1 for none.

    moving: rates along a motion are requested.
    """

    def __init__(self, moving: bool = True) -> None:
        self._moving = moving
        kinds = {**OF_MODES, **OF_LINKS}
        self.tables = {name: Table(dtype, fill) for name, (dtype, fill) in kinds.items()}
        self.tables["at"] = Table("f8", np.nan)
        self.tables["spin"] = Table("f8", np.nan)
        self.tables["index"] = Table("i2", -1)

    def put(
        self, n: int, snapshot: Snapshot, spin: float, index: Index, match: Match | None = None
    ) -> None:
        """Row n. spin: of the rotation, rad/s. match: of the instant before with this one."""
        rates = instant_rates(snapshot, self._moving)
        row: dict[str, Any] = dict(
            eigenvalue=snapshot.eigenvalues,
            energy=np.diag(snapshot.energy_gram).real,
            backward_error=snapshot.backward_error,
            condition_number=snapshot.condition_number,
            kind=np.array([KINDS.index(kind) for kind in snapshot.kind], dtype=np.int8),
            whirl=EMPTY if snapshot.whirl is None else snapshot.whirl,
            slope=rates.slope,
            curvature=rates.curvature,
            by_energy=rates.by_energy,
            by_amplitude=rates.by_amplitude,
            coupling=rates.coupling,
            steady=rates.steady,
            at=np.array([snapshot.at]),
            spin=np.array([spin]),
            index=index,
            mac=EMPTY if match is None else match.mac,
            certainty=EMPTY if match is None else match.certainty,
        )
        for name, table in self.tables.items():
            table.put(n, row[name])

    def block(self, start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Rows start … stop − 1 of every table."""
        return {name: table.rows(start, stop) for name, table in self.tables.items()}

    def restore(self, start: int, block: Mapping[str, NDArray[Any]]) -> None:
        """Restore the rows that `block` returned."""
        for name, table in self.tables.items():
            for n, row in enumerate(block[name]):
                table.put(start + n, row)

    def single(self, name: str, count: int) -> Array:
        """What the first rows have one of, (count,): "at", the parameter; "spin", rad/s."""
        return np.asarray(self.tables[name].rows(0, count)[:, 0])

    def index(self, n: int, tracks: int) -> Index:
        """Mode of each of the first `tracks` tracks at instant n, −1 for none."""
        return np.asarray(self.tables["index"].rows(n, n + 1, tracks)[0], dtype=np.intp)

    def index_of(self, tracks: Index, count: int) -> Index:
        """Mode of given tracks at the first instants, (count, len(tracks))."""
        return np.asarray(self.tables["index"].rows(0, count)[:, tracks], dtype=np.intp)

    def of_modes(self, name: str, index: Index) -> NDArray[Any]:
        """A variable by track, (T, R), from `index_of`."""
        return self._gathered(name, index, 0)

    def of_links(self, name: str, index: Index) -> NDArray[Any]:
        """A variable of the T − 1 links by track, (T − 1, R)."""
        return self._gathered(name, index, 1)

    def _gathered(self, name: str, index: Index, lag: int) -> NDArray[Any]:
        table, T = self.tables[name], len(index)
        if T <= lag or not table.width:
            return np.full((max(T - lag, 0), index.shape[1]), table.fill, dtype=table.dtype)
        own = index[: T - lag]
        values = np.take_along_axis(table.rows(lag, T), np.maximum(own, 0), 1)
        values[own < 0] = table.fill
        return values
