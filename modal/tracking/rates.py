"""The corrected growth rate: the first-order effect of the motion that freezing neglects.

With B ẋ = A(t) x, x = (q, q̇), and a(t) x_i(t) exp ∫λ_i for the i-th mode, the product with the
left vector gives ȧ yᴴBx + a yᴴBẋ = 0 up to the coupling with other modes, so that

    σ = Re[λ − (yᴴBẋ)/(yᴴBx)],   x of unit energy.

B = diag(I, M(t)) and A are of the same instant, so a mass that changes needs no further term. A
phase of x(t) adds an imaginary number only; its size matters, and is fixed by the energy E = q̇ᴴMq̇
+ qᴴ sym(K) q. With x moved so that yᴴBẋ = 0, this is σ = Re λ + ½ d/dt ln xᴴEx, and

    ẋ_i = Σ_j c_j x_j,   c_j = y_jᴴ(Ȧ − λ_iḂ)x_i / (λ_i − λ_j),

over the other modes of the window and all conjugates. Modes outside the window enter only through
the product of two small quantities. The modes of a conservative instant are orthogonal in E and do
not contribute. In other cases their contribution has the order of the damping times the speed of
the motion. All quantities are of the instant alone (modal/tracking/variation.py) and do not depend
on the distance of the next instant.

Where the energy is not positive along a track (a mode at or past flutter has none) the size is
√(qᴴMq), the amplitude of the displacement, instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from modal.tracking.matching import CLUSTER, clusters
from modal.tracking.snapshot import Snapshot
from modal.types import Array, Complex

# The energy of a mode counts as positive above this part of |λ|² qᴴMq.
POSITIVE = 1e-2


@dataclass(frozen=True)
class InstantRates:
    """Of the K modes of one instant, per unit of the swept value; NaN where that is not known.

    slope, curvature (K,): dλ/ds, d²λ/ds². by_energy, by_amplitude (K,): ½ d/ds ln of the energy and
    of the squared amplitude of a mode that moves with yᴴBẋ = 0. coupling (K,): largest
    |y_jᴴ(A′ − λ_iB′)x_i| / |λ_i − λ_j|². steady (K,): λ without the terms that only exchange
    energy, rad/s; steady_slope (K,), and doubt (K,) of it, rad/s.
    """

    slope: Complex
    curvature: Complex
    by_energy: Array
    by_amplitude: Array
    coupling: Array
    steady: Complex
    steady_slope: Complex
    doubt: Array


def instant_rates(snapshots: Sequence[Snapshot], moving: bool) -> list[InstantRates]:
    """The rates of instants of equally many modes from the modes and their variations; the slope
    alone where nothing moves.
    """
    known = [s for s in snapshots if s.variation is not None]
    found = iter(_moving(known) if moving and known else [_steady(s) for s in known])
    return [_unknown(s) if s.variation is None else next(found) for s in snapshots]


def _unknown(s: Snapshot) -> InstantRates:
    unknown, nothing = np.full(s.size, complex(np.nan, np.nan)), np.full(s.size, np.nan)
    return InstantRates(
        unknown, unknown, nothing, nothing, nothing, s.eigenvalues, unknown, nothing
    )


def _steady(s: Snapshot) -> InstantRates:
    v, nothing = s.variation, np.zeros(s.size)
    assert v is not None
    return InstantRates(
        v.slope, v.curvature, nothing, nothing, nothing, v.steady, v.steady_slope, v.doubt
    )


def _moving(snapshots: Sequence[Snapshot]) -> list[InstantRates]:
    lam = np.stack([s.eigenvalues for s in snapshots])
    energies, masses = (
        np.stack([getattr(s, name) for s in snapshots]) for name in ("energy_gram", "mass_gram")
    )
    all_of = [s.variation for s in snapshots if s.variation is not None]
    change, energy, mass, energy_twin, mass_twin = (
        np.stack([getattr(v, name) for v in all_of])
        for name in ("change", "energy", "mass", "energy_twin", "mass_twin")
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        mixing = change / np.stack(distances(lam), axis=1)
        speed = np.nan_to_num(mixing, nan=0.0, posinf=0.0, neginf=0.0)
        grown = _diagonals(energy) + 2.0 * _moved(speed, energies, energy_twin)
        wider = _diagonals(mass) + 2.0 * _moved(speed, masses, mass_twin)
        by_energy = 0.5 * grown.real / _diagonals(energies).real
        by_amplitude = 0.5 * wider.real / _diagonals(masses).real
    coupling = _worst(mixing, lam, energies)
    return [
        InstantRates(
            v.slope, v.curvature, by_energy[n], by_amplitude[n], coupling[n], v.steady,
            v.steady_slope, v.doubt,
        )
        for n, v in enumerate(all_of)
    ]  # fmt: skip


def _diagonals(A: Complex) -> Complex:
    return np.asarray(np.diagonal(A, axis1=-2, axis2=-1))


def distances(lam: Complex) -> tuple[Complex, Complex]:
    """λ_i − λ_j and λ_i − λ̄_j at [..., j, i] of λ (..., K), NaN inside a cluster: it is one
    subspace."""
    near = CLUSTER * np.abs(lam)[..., None, :]
    found = []
    for other in (lam, lam.conj()):
        apart = lam[..., None, :] - other[..., :, None]
        found.append(np.where(np.abs(apart) <= near, np.nan, apart))
    return found[0], found[1]


def _moved(speed: Complex, gram: Complex, twin: Complex) -> Complex:
    """x_iᴴ E ẋ_i for each mode (P, K), ẋ_i = Σ_j speed[:, 0, j, i] x_j + speed[:, 1, j, i] x̄_j."""
    columns = speed.swapaxes(-1, -2)
    return np.asarray((gram * columns[:, 0] + twin * columns[:, 1]).sum(axis=-1))


def _worst(mixing: Complex, lam: Complex, gram: Complex) -> Array:
    """The largest coupling of each mode i (P, K); mixing (P, 2, j, i): part of ẋ_i along x_j and
    x̄_j.

    Modes of one eigenvalue are one subspace: what counts is the energy of the part that lies in it,
    whatever its basis.
    """
    energy = _diagonals(gram).real
    with np.errstate(invalid="ignore", divide="ignore"):
        own, other = energy[:, None, :], energy[:, :, None]
        ratio = np.sqrt(np.where((own > 0.0) & (other > 0.0), other / own, 1.0))
        distance = np.abs(np.stack(distances(lam), axis=1))
        found = np.abs(mixing) * ratio[:, None] / distance
        for n in range(len(lam)):
            _of_clusters(found[n], mixing[n], distance[n], lam[n], gram[n], energy[n])
    return np.asarray(np.max(np.where(np.isfinite(found), found, 0.0), axis=(1, 2)))


def _of_clusters(
    found: Array, mixing: Complex, distance: Array, lam: Complex, gram: Complex, energy: Array
) -> None:
    """The couplings (2, j, i) of one instant with modes j of a cluster, in place."""
    for members in clusters(lam):
        if not np.all(energy[members] > 0.0):
            continue
        G = gram[np.ix_(members, members)]
        for block, form in ((0, G), (1, G.conj())):
            c = mixing[block][members]
            part = (c.conj() * (form @ c)).sum(axis=0).real
            whole = np.sqrt(np.maximum(part, 0.0) / np.where(energy > 0.0, energy, np.nan))
            found[block][members] = whole / distance[block][members]


@dataclass(frozen=True)
class History:
    """T instants of R tracks over time; NaN where a track has no value.

    time (T,), s. eigenvalues (T, R), rad/s. speed, curvature (T, R): dλ/dt, d²λ/dt². energy (T, R):
    twice the energy at qᴴMq = 1.
    by_energy, by_amplitude, mixing (T, R): of `InstantRates`, per second.
    """

    time: Array
    eigenvalues: Complex
    speed: Complex
    curvature: Complex
    energy: Array
    by_energy: Array
    by_amplitude: Array
    mixing: Array


def growth_rate_corrected(history: History) -> Array:
    """σ(t), (T, R) 1/s; NaN where the model is not known next to an instant."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = history.energy / np.abs(history.eigenvalues) ** 2
        positive = np.all((share > POSITIVE) | np.isnan(history.energy), axis=0)
    size = np.where(positive[None, :], history.by_energy, history.by_amplitude)
    return np.asarray(history.eigenvalues.real + size)
