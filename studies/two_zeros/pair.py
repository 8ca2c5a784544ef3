"""What the motion's terms do to the pair of zero eigenvalues, along a turn of the slider-crank."""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
import xarray as xr
from numpy.typing import NDArray

import assembly
from assembly import FrozenSystem
from modal.eigen.quadratic import companion
from studies.two_zeros.machines import effective_inertia, rigid_pair, slider_crank

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

# Name, transport, parts: the literal equations (1.2) of the paper first, the consistent ones last.
ALL = ("C", "D", "K", "K_epsilon", "K_omega2", "K_G", "K_D", "K_transport")
VARIANTS: tuple[tuple[str, bool, tuple[str, ...]], ...] = (
    ("C, K", False, ("C", "K")),
    ("with K(ε)", False, ("C", "K", "K_epsilon")),
    ("with K(ω²)", False, ("C", "K", "K_omega2")),
    ("with K_G", False, ("C", "K", "K_G")),
    ("with all three", False, ("C", "K", "K_epsilon", "K_omega2", "K_G")),
    ("all, transport", True, ALL),
)
# Central differences of sixth order over steps of 1/400 of the period: first and second derivative.
FIRST = {1: 3.0 / 4.0, 2: -3.0 / 20.0, 3: 1.0 / 60.0}
SECOND = {0: -49.0 / 18.0, 1: 3.0 / 2.0, 2: -3.0 / 20.0, 3: 1.0 / 90.0}
FINE = 400
# Of q = v δφ, from the matrices; with _exact, J, J'ω and ½J''ω² of the rigid mechanism.
COEFFICIENTS = ("projected_inertia", "projected_damping", "projected_stiffness")


def pair_over_turn(speed_rpm: float, elements: int, instants: int) -> xr.Dataset:
    """The pair for every variant over one turn, the rigid mechanism's own pair, and the identity.

    The identity: with v(t) the rigid field per unit crank speed, the consistent equations projected
    on the motion q = v(t) δφ are the rigid mechanism's, J δφ̈ + J'ω δφ̇ + ½J''ω² δφ = 0; J comes
    from the links' closed-form velocities, so this checks K_G, K(ω²), K(ε) and the transport terms
    together.
    """
    mechanism = slider_crank(elements, speed_rpm)
    assert mechanism.period is not None
    angles = 2.0 * np.pi * np.arange(instants) / instants
    times = mechanism.period * np.arange(instants) / instants
    pair = np.empty((len(VARIANTS), instants, 2), dtype=complex)
    projected = np.empty((instants, 3))
    for k, t in enumerate(times):
        for j, (_, transport, parts) in enumerate(VARIANTS):
            frozen = mechanism.freeze(t, transport=transport).only(*parts)
            pair[j, k] = nearest_to_rigid(frozen)
        projected[k] = projection(mechanism, t)
    omega = speed_rpm * 2.0 * np.pi / 60.0
    closed = closed_form(speed_rpm, angles, omega)
    exact = {f"{name}_exact": closed[:, j] for j, name in enumerate(COEFFICIENTS)}
    found = {name: projected[:, j] for j, name in enumerate(COEFFICIENTS)}
    return xr.Dataset(
        {
            "pair": (("variant", "angle", "zero"), pair),
            "pair_crank_angle": (("angle", "zero"), rigid_pair(speed_rpm, angles).T),
            **{name: ("angle", values) for name, values in (found | exact).items()},
        },
        coords={
            "variant": [name for name, _, _ in VARIANTS],
            "angle": np.degrees(angles),
            "zero": [1, 2],
        },
    )


def nearest_to_rigid(system: FrozenSystem) -> Complex:
    """The two eigenvalues with most of their kinetic energy in the rigid field (dense)."""
    A, B = companion(*(X.toarray() for X in (system.M, system.damping, system.stiffness)))
    values, vectors = la.eig(A, B)
    # An eigenvector (x, λx) has the shape x; of the pair at zero it is v itself.
    x = vectors[: system.n]
    V = system.rigid / np.sqrt(np.einsum("ij,ij->j", system.rigid, system.M @ system.rigid))
    energy = np.einsum("ij,ij->j", x.conj(), system.M @ x).real
    share = np.linalg.norm(V.T @ (system.M @ x), axis=0) ** 2 / energy
    chosen = np.argsort(-share)[:2]
    return np.asarray(sorted(values[chosen], key=lambda z: (round(z.real, 6), z.imag)))


def projection(mechanism: assembly.Mechanism, t: float) -> Array:
    """(vᵀMv, vᵀ(Cv + 2Mv̇), vᵀ(Kv + Cv̇ + Mv̈)) of the consistent equations."""
    assert mechanism.period is not None
    h = mechanism.period / FINE
    field = {j: mechanism.freeze(t + j * h).rigid[:, 0] for j in range(-3, 4)}
    v = field[0]
    rate = np.sum([c * (field[j] - field[-j]) for j, c in FIRST.items()], axis=0) / h
    second = SECOND[0] * v
    second = second + np.sum([SECOND[j] * (field[j] + field[-j]) for j in (1, 2, 3)], axis=0)
    second = second / h**2
    here = mechanism.freeze(t)
    M, C, K = here.M, here.damping, here.stiffness
    return np.array(
        [
            v @ (M @ v),
            v @ (C @ v + 2.0 * (M @ rate)),
            v @ (K @ v + C @ rate + M @ second),
        ]
    )


def closed_form(speed_rpm: float, angles: Array, omega: float) -> Array:
    """(J, J'ω, ½J''ω²), (len(angles), 3); derivatives by Fourier series over the turn."""
    fine = 2.0 * np.pi * np.arange(256) / 256
    spectrum = np.fft.fft(effective_inertia(speed_rpm, fine)) / 256
    order = np.fft.fftfreq(256, 1.0 / 256)
    waves = np.exp(1j * np.outer(angles, order))
    J, first, second = ((waves @ (spectrum * (1j * order) ** d)).real for d in range(3))
    return np.stack([J, first * omega, 0.5 * second * omega**2], axis=1)
