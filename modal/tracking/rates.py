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

from typing import Any

import numpy as np
from numpy.typing import NDArray

from modal.data.growth import ROUND_OFF
from modal.tracking.matching import clusters
from modal.tracking.snapshot import Snapshot
from modal.types import Array, Complex

# The energy of a mode counts as positive above this part of |λ|² qᴴMq.
POSITIVE = 1e-2


def instant_rates(s: Snapshot, moving: bool) -> dict[str, NDArray[Any]]:
    """Rates of the K modes of an instant, per unit of the swept value; none where these are not
    known, the slope alone where nothing moves.

    slope, curvature (K,): dλ/ds, d²λ/ds². by_energy, by_amplitude (K,): ½ d/ds ln of the energy and
    of the squared amplitude of a mode that moves with yᴴBẋ = 0. coupling (K,): largest
    |y_jᴴ(A′ − λ_iB′)x_i| / |λ_i − λ_j|². steady (K,): λ without the terms that only exchange
    energy, rad/s.
    """
    v, lam = s.variation, s.eigenvalues
    if v is None:
        return {"steady": lam}
    if not moving:
        return {"slope": v.slope, "steady": v.steady}
    distance = distances(lam)
    with np.errstate(invalid="ignore", divide="ignore"):
        mixing = v.change / distance
        # x_iᴴ E ẋ_i, ẋ_i = Σ_j speed[0, j, i] x_j + speed[1, j, i] x̄_j
        speed = np.nan_to_num(mixing, nan=0.0, posinf=0.0, neginf=0.0).swapaxes(1, 2)
        by_energy, by_amplitude = (
            (0.5 * np.diag(of.rate) + (gram * speed[0] + of.mirrored * speed[1]).sum(axis=1)).real
            / np.diag(gram).real
            for of, gram in ((v.energy, s.energy_gram), (v.mass, s.mass_gram))
        )
    return {
        "slope": v.slope,
        "curvature": v.curvature,
        "by_energy": by_energy,
        "by_amplitude": by_amplitude,
        "coupling": _largest_coupling(mixing, np.abs(distance), lam, s.energy_gram),
        "steady": v.steady,
    }


def distances(lam: Complex) -> Complex:
    """λ_i − λ_j and λ_i − λ̄_j at [:, j, i] of λ (K,), NaN inside a cluster: it is one subspace."""
    apart = lam - np.stack([lam, lam.conj()])[:, :, None]
    return np.where(np.abs(apart) <= ROUND_OFF * np.abs(lam), np.nan, apart)


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


def growth_rate_corrected(
    eigenvalues: Complex, energy: Array, by_energy: Array, by_amplitude: Array
) -> Array:
    """σ(t) of tracks, (T, R) 1/s; NaN where the model is not known next to an instant.

    energy: twice the energy at qᴴMq = 1. by_energy, by_amplitude: of `instant_rates`, per second.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        share = energy / np.abs(eigenvalues) ** 2
        positive = np.all((share > POSITIVE) | np.isnan(energy), axis=0)
    return np.asarray(eigenvalues.real + np.where(positive[None, :], by_energy, by_amplitude))
