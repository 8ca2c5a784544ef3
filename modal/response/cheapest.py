"""Forced response by direct solves or in a basis: what takes less time."""

from __future__ import annotations

import time
from typing import Literal

import numpy as np

from assembly.errors import ConvergenceError
from assembly.system.frozen import FrozenSystem
from modal.response.direct import DirectSolver
from modal.response.forced_basis import ForcedResponse, respond_on_basis
from modal.types import Array, Complex, Index

Method = Literal["direct", "modal"]
LARGE = 15_000  # DOFs of a solid from which one direct solve takes longer than a basis
STACK = 100  # frequencies whose matrices are in memory together
SOLVES, OVERHEAD = 40, 0.03  # direct solves and seconds besides that the smallest basis costs


def response(
    system: FrozenSystem,
    angular_frequencies: Array,
    force: Complex,
    probes: Index,
    method: Method | None,
    accuracy: float,
) -> ForcedResponse:
    """Response at all angular frequencies (F,), rad/s. Raises InputError, ConvergenceError."""
    w, zero = angular_frequencies, np.zeros((len(angular_frequencies), len(probes)))
    out = ForcedResponse(zero + 0j, zero, np.zeros(len(w), dtype=bool))
    in_basis = method == "modal" or (method is None and system.n > LARGE)
    seconds = np.inf
    if not in_basis:
        direct = DirectSolver(system)
        start = time.process_time()
        out.enter(np.array([0]), direct(w[:1], force)[:, probes], 0.0)
        seconds = time.process_time() - start
        in_basis = method is None and seconds * (len(w) - SOLVES) > OVERHEAD
    if in_basis:
        respond_on_basis(out, system, w, force, probes, accuracy, seconds)
    left = np.flatnonzero(~out.finished)
    if left.size and method == "modal":
        raise ConvergenceError(
            f"frequency response: not within {accuracy:g} at {left.size} of {len(w)} frequencies "
            f'with {out.size} basis vectors. Use method="direct"'
        )
    if left.size and seconds == np.inf:
        direct = DirectSolver(system)
    for k in range(0, len(left), STACK):
        some = left[k : k + STACK]
        out.enter(some, direct(w[some], force)[:, probes], 0.0)
    return out
