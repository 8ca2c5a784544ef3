"""Rows of uneven length, kept in blocks of one array each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 1024  # rows of one block


class Table:
    """Rows of up to `width` entries each, written by number.

    fill: the value beyond the end of a shorter row. A row costs its own entries and no Python
    object, which is what a sweep of 10⁶ points needs.
    """

    def __init__(self, dtype: Any, fill: Any) -> None:
        self.dtype, self.fill = np.dtype(dtype), fill
        self._blocks: list[NDArray[Any]] = []

    @property
    def width(self) -> int:
        """Entries of the widest row."""
        return max((block.shape[-1] for block in self._blocks), default=0)

    def put(self, n: int, row: NDArray[Any]) -> None:
        """Write row n (w,); n is at most one beyond the last."""
        number, place = divmod(n, BLOCK)
        w = row.shape[-1]
        if number == len(self._blocks):
            self._blocks.append(self._empty(BLOCK, w))
        block = self._blocks[number]
        if block.shape[-1] < w:
            wider = self._empty(BLOCK, w)
            self._paste(wider, block)
            block = self._blocks[number] = wider
        block[place] = self.fill
        block[place, :w] = row

    def rows(self, start: int, stop: int, width: int | None = None) -> NDArray[Any]:
        """Rows start … stop − 1 as one array, by default as wide as the widest row."""
        out = self._empty(stop - start, self.width if width is None else width)
        for number in range(start // BLOCK, -(-stop // BLOCK)):
            first = number * BLOCK
            low, high = max(start, first), min(stop, first + BLOCK)
            part = self._blocks[number][low - first : high - first]
            self._paste(out[low - start : high - start], part)
        return out

    def _empty(self, rows: int, width: int) -> NDArray[Any]:
        return np.full((rows, width), self.fill, dtype=self.dtype)

    def _paste(self, into: NDArray[Any], part: NDArray[Any]) -> None:
        width = min(part.shape[-1], into.shape[-1])
        into[:, :width] = part[:, :width]
