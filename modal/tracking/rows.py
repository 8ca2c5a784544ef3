"""The record of every instant of a tracking run: one row of each table, nothing of order n."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modal.tracking.matching import Match
from modal.tracking.rates import instant_rates
from modal.tracking.snapshot import Snapshot
from modal.types import Array, Index

KINDS = ("", "elastic", "rigid", "prescribed")
NOTHING = complex(np.nan, np.nan)
# Type and fill of each table, whose row at instant n is by mode of n. spin: the only entry of its
# row; index: mode of each track, −1 for none.
TABLES: Mapping[str, tuple[str, Any]] = {
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
    "mac": ("f8", np.nan),
    "certainty": ("f8", np.nan),
    "spin": ("f8", np.nan),
    "index": ("i2", -1),
}


class Rows:
    """The tables of a run of `length` instants, (length, entries of the widest row).

    moving: rates along a motion are requested.
    """

    def __init__(self, length: int, moving: bool = True) -> None:
        self._moving = moving
        self.tables = {
            name: np.full((length, 0), fill, dtype) for name, (dtype, fill) in TABLES.items()
        }

    def put(
        self, n: int, snapshot: Snapshot, spin: float, index: Index, match: Match | None = None
    ) -> None:
        """Row n. spin: of the rotation, rad/s. match: of the instant before with this one."""
        row: dict[str, Any] = instant_rates(snapshot, self._moving)
        row |= dict(
            eigenvalue=snapshot.eigenvalues,
            energy=np.diag(snapshot.energy_gram).real,
            backward_error=snapshot.backward_error,
            condition_number=snapshot.condition_number,
            kind=np.array([KINDS.index(kind) for kind in snapshot.kind], dtype=np.int8),
            spin=np.array([spin]),
            index=index,
        )
        if snapshot.whirl is not None:
            row["whirl"] = snapshot.whirl
        if match is not None:
            kept = match.target >= 0
            for name in ("mac", "certainty"):
                row[name] = np.full(snapshot.size, np.nan)
                row[name][match.target[kept]] = getattr(match, name)[kept]
        for name, values in row.items():
            self._write(name, slice(n, n + 1), values)

    def _write(self, name: str, rows: slice, values: NDArray[Any]) -> None:
        table, (dtype, fill) = self.tables[name], TABLES[name]
        width = values.shape[-1]
        if table.shape[1] < width:
            wider = np.full((len(table), width), fill, dtype)
            wider[:, : table.shape[1]] = table
            self.tables[name] = table = wider
        table[rows, :width], table[rows, width:] = values, fill

    def block(self, start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Rows start … stop − 1 of every table."""
        return {name: table[start:stop] for name, table in self.tables.items()}

    def restore(self, start: int, block: Mapping[str, NDArray[Any]]) -> int:
        """Restore the rows that `block` returned, and the number of the next one."""
        stop = start + len(block["index"])
        for name, values in block.items():
            self._write(name, slice(start, stop), values)
        return stop

    def spins(self, count: int) -> Array:
        """Of the rotation at the first instants, (count,), rad/s."""
        return np.asarray(self.tables["spin"][:count, 0])

    def index(self, rows: int | slice, tracks: Index | slice) -> Index:
        """Mode of given tracks at some instants, −1 for none."""
        return np.asarray(self.tables["index"][rows, tracks], dtype=np.intp)

    def of(self, name: str, index: Index) -> NDArray[Any]:
        """A variable by track at the first T instants, (T, R), from the `index` of these."""
        table, (dtype, fill) = self.tables[name], TABLES[name]
        if not table.shape[1]:
            return np.full(index.shape, fill, dtype)
        values = np.take_along_axis(table[: len(index)], np.maximum(index, 0), 1)
        values[index < 0] = fill
        return values
