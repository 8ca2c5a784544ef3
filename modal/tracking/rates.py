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

from dataclasses import dataclass

import numpy as np

from modal.data.growth import ROUND_OFF
from modal.tracking.matching import clusters
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
    energy, rad/s.
    """

    slope: Complex
    curvature: Complex
    by_energy: Array
    by_amplitude: Array
    coupling: Array
    steady: Complex


def instant_rates(s: Snapshot, moving: bool) -> InstantRates:
    """The rates of an instant from its modes and their variation; the slope alone where nothing
    moves."""
    v, lam = s.variation, s.eigenvalues
    if v is None:
        unknown = np.full(s.size, complex(np.nan, np.nan))
        nothing = unknown.real
        return InstantRates(unknown, unknown, nothing, nothing, nothing, lam)
    if not moving:
        nothing = np.zeros(s.size)
        return InstantRates(v.slope, v.curvature, nothing, nothing, nothing, v.steady)
    distance = distances(lam)
    with np.errstate(invalid="ignore", divide="ignore"):
        mixing = v.change / distance
        speed = np.nan_to_num(mixing, nan=0.0, posinf=0.0, neginf=0.0)
        grown, wider = (
            np.diag(rate).real + 2.0 * _moved(speed, gram, twin).real
            for rate, gram, twin in (
                (v.energy, s.energy_gram, v.energy_twin),
                (v.mass, s.mass_gram, v.mass_twin),
            )
        )
        by_energy = 0.5 * grown / np.diag(s.energy_gram).real
        by_amplitude = 0.5 * wider / np.diag(s.mass_gram).real
    coupling = _largest_coupling(mixing, np.abs(distance), lam, s.energy_gram)
    return InstantRates(v.slope, v.curvature, by_energy, by_amplitude, coupling, v.steady)


def distances(lam: Complex) -> Complex:
    """λ_i − λ_j and λ_i − λ̄_j at [:, j, i] of λ (K,), NaN inside a cluster: it is one subspace."""
    apart = lam - np.stack([lam, lam.conj()])[:, :, None]
    return np.where(np.abs(apart) <= ROUND_OFF * np.abs(lam), np.nan, apart)


def _moved(speed: Complex, gram: Complex, twin: Complex) -> Complex:
    """x_iᴴ E ẋ_i for each mode (K,), ẋ_i = Σ_j speed[0, j, i] x_j + speed[1, j, i] x̄_j."""
    return np.asarray((gram * speed[0].T + twin * speed[1].T).sum(axis=1))


def _largest_coupling(mixing: Complex, distance: Array, lam: Complex, gram: Complex) -> Array:
    """The largest coupling of each mode i (K,); mixing (2, j, i): part of ẋ_i along x_j and x̄_j.

    Modes of one eigenvalue are one subspace: what counts is the energy of the part that lies in it,
    whatever its basis.
    """
    energy = np.diag(gram).real
    with np.errstate(invalid="ignore", divide="ignore"):
        own, other = energy[None, :], energy[:, None]
        ratio = np.sqrt(np.where((own > 0.0) & (other > 0.0), other / own, 1.0))
        coupling = np.abs(mixing) * ratio / distance
        for members in clusters(lam):
            if not np.all(energy[members] > 0.0):
                continue
            G = gram[np.ix_(members, members)]
            for block, form in ((0, G), (1, G.conj())):
                c = mixing[block][members]
                part = (c.conj() * (form @ c)).sum(axis=0).real
                whole = np.sqrt(np.maximum(part, 0.0) / np.where(energy > 0.0, energy, np.nan))
                coupling[block][members] = whole / distance[block][members]
    return np.asarray(np.max(np.where(np.isfinite(coupling), coupling, 0.0), axis=(0, 1)))


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
