"""Forced response by direct solves or in a basis: what takes less time."""

from __future__ import annotations

import time
from typing import Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from assembly.errors import ConvergenceError
from assembly.system.frozen import FrozenSystem
from modal.response.direct import DirectSolver, singular
from modal.response.forced_basis import ForcedResponse, respond_on_basis
from modal.types import Array, Complex, Index

Method = Literal["direct", "modal"]
RATE = 3e9  # real operations a second of a banded factorization, at least
UNTRIED = 20.0  # s that a banded factorization takes: a direct solve is not tried
SOLVES = 40  # direct solves that the smallest basis costs, and
OVERHEAD = 0.03  # s besides


def response(
    system: FrozenSystem,
    angular_frequencies: Array,
    force: Complex,
    probes: Index,
    method: Method | None,
    accuracy: float,
) -> ForcedResponse:
    """Response at all angular frequencies (F,), rad/s. Raises InputError, ConvergenceError."""
    w = angular_frequencies
    if not w.all() and system.null_chain is not None:
        singular(0.0)
    out = ForcedResponse.empty(len(w), len(probes))
    direct = DirectSolver(system)

    def solve(k: int) -> None:
        out.displacement[k], out.finished[k] = direct(float(w[k]), force)[probes], True
        out.solves += 1

    if method != "direct":
        seconds = np.inf if method == "modal" else _banded_seconds(system)
        if seconds <= UNTRIED:
            solve(0)  # orders the pattern
            start = time.process_time()
            solve(len(w) // 2)
            seconds = time.process_time() - start
        if seconds > UNTRIED or seconds * (len(w) - SOLVES) > OVERHEAD:
            respond_on_basis(out, system, w, force, probes, accuracy, seconds)
    left = np.flatnonzero(~out.finished)
    if method == "modal" and left.size:
        raise ConvergenceError(
            f"frequency response: not within {accuracy:g} at {left.size} of {len(w)} frequencies "
            f'with {out.size} basis vectors. Use method="direct"'
        )
    for k in left:
        solve(int(k))
    return out


def _banded_seconds(system: FrozenSystem) -> float:
    """An upper bound of the time of one direct solve, s."""
    pattern = sp.coo_matrix(abs(system.stiffness) + abs(system.damping) + abs(system.M))
    rank = np.argsort(reverse_cuthill_mckee(pattern.tocsr(), symmetric_mode=True))
    band = int(np.abs(rank[pattern.row] - rank[pattern.col]).max())
    return 8.0 * system.n * (band + 1.0) ** 2 / RATE
