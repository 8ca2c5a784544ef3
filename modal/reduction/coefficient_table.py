"""The coefficients of an affine family at the values of a sweep, those that never change once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from assembly.system.frozen import FrozenSystem
from modal.reduction.affine import AffineFamily, Coefficients
from modal.types import Array, Index

BLOCK = 100  # values that are frozen and stored together


@dataclass(frozen=True)
class _Packed:
    """A table (P, J) as its first row and the columns that differ from it."""

    first: Array
    columns: Index
    values: Array

    @classmethod
    def of(cls, table: Array) -> _Packed:
        columns = np.flatnonzero(np.any(table != table[0], axis=0))
        return cls(table[0].copy(), columns, table[:, columns].copy())

    def table(self) -> Array:
        out = np.tile(self.first, (len(self.values), 1))
        out[:, self.columns] = self.values
        return out


class CoefficientTable:
    """Coefficients of a family at the values `at` of the parameter `name`.

    A value whose model cannot be frozen ends the table; the first one must be possible. family:
    its `freeze` is replaced while the values are frozen, so that each is frozen once.
    """

    def __init__(
        self,
        family: AffineFamily,
        name: str,
        freeze: Callable[[float], FrozenSystem],
        at: Array,
    ) -> None:
        self._family, self._blocks = family, list[tuple[_Packed, ...]]()
        self.count = 0
        original = family.freeze
        for start in range(0, len(at), BLOCK):
            values = at[start : start + BLOCK].tolist()
            systems = _leading(freeze, values, required=start == 0)
            family.freeze = lambda point, known=systems: known[point[name]]  # type: ignore[misc]
            if systems:
                table = family.coefficients([{name: value} for value in systems])
                parts = (table.mass, table.damping, table.stiffness)
                self._blocks.append(tuple(_Packed.of(part) for part in parts))
                self.count += len(systems)
            if len(systems) < len(values):
                break
        family.freeze = original

    def block(self, number: int) -> Coefficients:
        """The values number × BLOCK and the next ones."""
        parts = (part.table() for part in self._blocks[number])
        return Coefficients(*parts).padded(len(self._family.terms))

    def take(self, index: Index) -> Coefficients:
        """Some of the values, in rising order of their number."""
        parts = []
        for number in np.unique(index // BLOCK):
            here = index[index // BLOCK == number] - number * BLOCK
            parts.append(self.block(int(number)).take(here))
        names = ("mass", "damping", "stiffness")
        return Coefficients(*(np.concatenate([getattr(p, n) for p in parts]) for n in names))


def _leading(
    freeze: Callable[[float], FrozenSystem], values: list[float], required: bool
) -> dict[float, FrozenSystem]:
    """The systems up to the first value where the model cannot be frozen."""
    systems: dict[float, FrozenSystem] = {}
    for value in values:
        try:
            systems[value] = freeze(value)
        except Exception:  # raised again, and named, when the sweep comes there
            if required and not systems:
                raise
            break
    return systems
