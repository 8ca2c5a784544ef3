"""Signals that come while PETSc calls back into Python."""

from __future__ import annotations

import signal
from types import FrameType

import numpy as np
import pytest

from modal.eigen.solvers.engines import krylov_schur
from modal.types import Array


def test_a_signal_in_a_product_ends_the_solution_after_it() -> None:
    """An exception inside of the callback made PETSc fail when the process ended."""
    values = np.arange(1.0, 101.0)
    products: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    def apply(x: Array) -> Array:
        products.append(1)
        if len(products) == 3:
            signal.raise_signal(signal.SIGUSR1)
        return values * x

    former = signal.signal(signal.SIGUSR1, stop)
    try:
        with pytest.raises(KeyboardInterrupt):
            krylov_schur(apply, np.ones(100), 2, 1e-10)
        assert signal.getsignal(signal.SIGUSR1) is stop
    finally:
        signal.signal(signal.SIGUSR1, former)
    assert len(products) > 3 and krylov_schur(apply, np.ones(100), 2, 1e-10).complete
