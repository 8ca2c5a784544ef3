"""What is kept of every instant of a tracking run: one row of each table, nothing of order n."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modal.links import Link
from modal.snapshot import Index, Real, Snapshot
from modal.table import BLOCK, Table

KINDS = ("", "elastic", "rigid")
NOTHING = complex(np.nan, np.nan)

# Type and fill of each table, whose row at instant n is by mode of n, …
OF_MODES: Mapping[str, tuple[str, Any]] = {
    "eigenvalue": ("c16", NOTHING),
    "energy": ("f8", np.nan),
    "backward_error": ("f8", np.nan),
    "condition_number": ("f8", np.nan),
    "kind": ("i1", 0),
    "whirl": ("f8", np.nan),
}
# … by mode of n − 1, from which they lead to n, …
OF_LINKS: Mapping[str, tuple[str, Any]] = {
    "mac": ("f8", np.nan),
    "certainty": ("f8", np.nan),
    "flipped": ("?", False),
    "ahead": ("f8", np.nan),
    "behind": ("f8", np.nan),
    "coupling": ("f8", np.nan),
}
# … by mode of n − 2.
OF_TWO: Mapping[str, tuple[str, Any]] = {
    "ahead_two": ("f8", np.nan),
    "behind_two": ("f8", np.nan),
}
EMPTY = np.zeros(0)


class Rows:
    """The tables of a run. `index` says which mode of each instant is on which track, −1 for none.

    `turn` at n: angles by which shapes turn into each other from n − 1 on, by mode of n − 1.
    """

    def __init__(self) -> None:
        kinds = {**OF_MODES, **OF_LINKS, **OF_TWO}
        self.tables = {name: Table(dtype, fill) for name, (dtype, fill) in kinds.items()}
        self.tables["at"] = Table("f8", np.nan)
        self.tables["index"] = Table("i2", -1)
        self.tables["turn"] = Table("f4", 0.0, order=2)

    def put(
        self,
        n: int,
        snapshot: Snapshot,
        index: Index,
        link: Link | None = None,
        coupling: Real = EMPTY,
        two: tuple[Real, Real] = (EMPTY, EMPTY),
    ) -> None:
        """Row n. coupling: of the instant before; two: overlaps with the one before that."""
        motion = None if link is None else link.motion
        row = dict(
            eigenvalue=snapshot.eigenvalues,
            energy=np.diag(snapshot.energy_gram).real,
            backward_error=snapshot.backward_error,
            condition_number=snapshot.condition_number,
            kind=np.where(snapshot.kind == "elastic", 1, 2),
            whirl=EMPTY if snapshot.whirl is None else snapshot.whirl,
            at=np.array([snapshot.at]),
            index=index,
            mac=EMPTY if link is None else link.mac,
            certainty=EMPTY if link is None else link.certainty,
            flipped=EMPTY if link is None else link.flipped,
            turn=np.zeros((0, 0)) if link is None else link.turn,
            ahead=EMPTY if motion is None else motion.ahead,
            behind=EMPTY if motion is None else motion.behind,
            coupling=coupling,
            ahead_two=two[0],
            behind_two=two[1],
        )
        for name, table in self.tables.items():
            table.put(n, row[name])

    def block(self, start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Rows start … stop − 1 of every table."""
        return {name: table.rows(start, stop) for name, table in self.tables.items()}

    def restore(self, start: int, block: Mapping[str, NDArray[Any]]) -> None:
        """Put back what `block` gave."""
        for name, table in self.tables.items():
            for n, row in enumerate(block[name]):
                table.put(start + n, row)

    def at(self, count: int) -> Real:
        """Value of the parameter of the first rows, (count,)."""
        return np.asarray(self.tables["at"].rows(0, count)[:, 0])

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

    def of_two(self, name: str, index: Index) -> NDArray[Any]:
        """A variable of the T − 2 pairs two steps apart by track, (T − 2, R)."""
        return self._gathered(name, index, 2)

    def _gathered(self, name: str, index: Index, lag: int) -> NDArray[Any]:
        table, T = self.tables[name], len(index)
        if T <= lag or not table.width:
            return np.full((max(T - lag, 0), index.shape[1]), table.fill, dtype=table.dtype)
        own = index[: T - lag]
        values = np.take_along_axis(table.rows(lag, T), np.maximum(own, 0), 1)
        values[own < 0] = table.fill
        return values

    def turns(self, index: Index) -> NDArray[np.float32]:
        """Angles by which the shape of one track turns into that of another, (T − 1, R, R)."""
        T, R = index.shape
        out = np.zeros((max(T - 1, 0), R, R), dtype=np.float32)
        for start in range(1, T, BLOCK):
            stop = min(start + BLOCK, T)
            own = index[start - 1 : stop - 1]
            block = self.tables["turn"].rows(start, stop)
            there = (own >= 0)[:, :, None] & (own >= 0)[:, None, :]
            place = np.maximum(own, 0)
            values = block[np.arange(len(own))[:, None, None], place[:, :, None], place[:, None]]
            out[start - 1 : stop - 1] = np.where(there, values, 0.0)
        return out
