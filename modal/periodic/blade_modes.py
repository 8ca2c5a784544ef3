"""Names of the modes of a rotor in multiblade coordinates, by the energy of their waves.

The pair a_c, a_s of a mode e^{λt}, ω = Im λ > 0, is two waves over the blades,
q_b = ½ (a_c + i a_s) e^{−inψ_b} + ½ (a_c − i a_s) e^{inψ_b}, with the frequencies ω − nΩ and
ω + nΩ in the turning frame. A wave that runs from blade to blade in the direction of rotation is
progressive, one that runs against it regressive: the first wave is progressive above nΩ and
regressive below, the second is regressive (W. Johnson, Helicopter Theory, 1980, section 8-4; of a
turbine: forward and backward whirl).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import xarray as xr

from modal.data.datasets import described_array
from modal.data.variables import ARRAYS
from modal.periodic.coleman import Coleman
from modal.types import Array, Complex

GROUPS = ("support", "collective", "regressive", "progressive", "reactionless")
SUPPORT, COLLECTIVE, REGRESSIVE, PROGRESSIVE, REACTIONLESS = range(5)


def wave_shares(
    coleman: Coleman, M: sp.csr_matrix, eigenvalues: Complex, shapes: Complex
) -> xr.DataArray:
    """Shares (mode, group) of the groups in shapes (n, k), by their own inertia in M.

    All waves with two or more periods around the rotor, and the differential coordinate of an even
    number of blades, move no hub: they are reactionless.
    """
    energy = np.zeros((shapes.shape[1], len(GROUPS)))
    rest = np.concatenate([coleman.others, coleman.pairs.ravel()])
    energy[:, SUPPORT] = _energy(M, rest, shapes[rest])
    energy[:, COLLECTIVE] = _energy(M, coleman.blades[0], shapes[coleman.blades[0]])
    rate = abs(coleman.rate)
    sense = np.sign(coleman.rate)
    upper = np.where(np.imag(eigenvalues) < 0.0, -1.0, 1.0)
    frequency = np.abs(np.imag(eigenvalues))
    for n in range(1, coleman.waves + 1):
        cosine, sine = coleman.blades[2 * n - 1], coleman.blades[2 * n]
        a, b = shapes[cosine], 1j * sense * upper * shapes[sine]
        ahead, against = ((a + s * b) / np.sqrt(2.0) for s in (1.0, -1.0))
        first, second = _energy(M, cosine, ahead), _energy(M, cosine, against)
        if n > 1:
            energy[:, REACTIONLESS] += first + second
            continue
        energy[:, PROGRESSIVE] += np.where(frequency > n * rate, first, 0.0)
        energy[:, REGRESSIVE] += second + np.where(frequency > n * rate, 0.0, first)
    if coleman.count % 2 == 0:
        energy[:, REACTIONLESS] += _energy(M, coleman.blades[-1], shapes[coleman.blades[-1]])
    total = energy.sum(axis=1, keepdims=True)
    values = energy / np.where(total > 0.0, total, 1.0)
    shares = xr.DataArray(
        values, dims=("mode", "group"), coords={"group": list(GROUPS)}, name="share"
    )
    return described_array(shares, ARRAYS)


def _energy(M: Any, rows: Any, shapes: Complex) -> Array:
    inner = M[rows][:, rows]
    return np.asarray((shapes.conj() * (inner @ shapes)).sum(axis=0).real)


def names_of(shares: Array) -> list[str]:
    """The group with the largest share of each mode; shares (mode, group)."""
    return [GROUPS[i] for i in np.asarray(shares).argmax(axis=-1)]
