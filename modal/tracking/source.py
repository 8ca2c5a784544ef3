"""What a tracking run asks of its source of modes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from assembly.errors import AccuracyError
from modal.tracking.snapshot import Snapshot


class BasisError(AccuracyError):
    """The basis cannot be made accurate enough for some instant."""


class Source(Protocol):
    """Modes at any value of the swept parameter."""

    kind: str  # of source, by which a stored run finds its own again
    growths: int  # how often a basis has grown since it was made

    @property
    def description(self) -> str:
        """What the modes come from, in words."""
        ...

    def snapshot(self, at: float) -> Snapshot:
        """The modes at one value."""
        ...

    def carried(self, snapshot: Snapshot) -> Snapshot:
        """An earlier snapshot in the coordinates of the latest ones."""
        ...

    def prints(self) -> NDArray[np.float64]:
        """Fingerprints of the model over the sweep, (rows, 2)."""
        ...

    def arrays(self) -> Mapping[str, NDArray[Any]] | None:
        """The present reduced basis, to continue the run later; None without one."""
        ...

    def close(self) -> None:
        """Release factorizations."""
        ...
