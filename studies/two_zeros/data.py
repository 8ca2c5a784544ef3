"""The two-zeros study's data: Rayleigh quotients, counts of zeros, deflation, frozen intervals, and
what the motion's terms do to the pair of zero eigenvalues, along a turn of the slider-crank.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.linalg as la
import xarray as xr

import assembly
import modal
from assembly import FrozenSystem
from assembly.errors import FrozenMotionError
from assembly.types import Array
from modal.data.variables import Table, Variable
from modal.eigen.deflation import deflate_by_similarity
from modal.eigen.quadratic import companion
from modal.types import Complex
from studies.reporting.protocol import dataset_of, one_turn
from studies.slider_crank import machine as slider_crank_model
from studies.two_zeros.machines import (
    SYSTEMS,
    effective_inertia,
    instant,
    slider_crank,
    spinning_shaft,
)
from studies.wind_pump.machine import central_differences

_COUNTS, _DEFLATED, _ANGLE = ("system", "equations"), ("deflated_mode",), ("angle",)
_INTERVAL = ("interval_angle", "interval_mode")

VARIABLES: Table = {
    "small_eigenvalues": Variable(
        "eigenvalues of the printed case, zeros taken out", "rad s-1", ("small_mode",)
    ),
    "rayleigh_frequency": Variable("eigenfrequency", "rad s-1", ("example", "mode")),
    "rayleigh_error": Variable(
        "frequency from the quotient, relative error", "1", ("example", "mode", "quotient")
    ),
    "mobility": Variable("degrees of mobility m", "1", _COUNTS),
    "coupling_rank": Variable("rank of VᵀCV", "1", _COUNTS),
    "zeros_formula": Variable("2m − rank(VᵀCV)", "1", _COUNTS),
    "zeros_found": Variable("zeros a dense solver comes near", "1", _COUNTS),
    "zeros_spread": Variable("largest |λ| it makes of a zero", "rad s-1", _COUNTS),
    "first_other": Variable("smallest |λ| that is not zero", "rad s-1", _COUNTS),
    "deflation_difference": Variable(
        "other |λ| with the paper's T against without, largest relative", "1", _COUNTS
    ),
    "smallest": Variable("smallest |λ|, dense", "rad s-1", (*_COUNTS, "rank")),
    "pair": Variable("eigenvalue of the pair", "rad s-1", ("variant", "angle", "zero")),
    "pair_crank_angle": Variable(
        "eigenvalue of the rigid mechanism, by δφ", "rad s-1", ("angle", "zero")
    ),
    "projected_inertia": Variable("inertia of q = v δφ from the matrices", "kg m2", _ANGLE),
    "projected_damping": Variable("damping of q = v δφ from the matrices", "N m s", _ANGLE),
    "projected_stiffness": Variable("stiffness of q = v δφ from the matrices", "N m", _ANGLE),
    "projected_inertia_exact": Variable("J of the rigid mechanism", "kg m2", _ANGLE),
    "projected_damping_exact": Variable("J'ω of the rigid mechanism", "N m s", _ANGLE),
    "projected_stiffness_exact": Variable("½J''ω² of the rigid mechanism", "N m", _ANGLE),
    "interval": Variable("frozen interval in turns", "1", _INTERVAL),
    "vibration_period": Variable("period of the vibration in turns", "1", _INTERVAL),
    "deflated_dense": Variable("eigenvalues of the small model, T", "rad s-1", _DEFLATED),
    "deflated_sparse": Variable("eigenvalues of the small model, projector", "rad s-1", _DEFLATED),
    "deflated_large": Variable("eigenvalues of the large model, projector", "rad s-1", _DEFLATED),
    "deflated_large_error": Variable("backward error", "1", _DEFLATED),
    "angle": Variable("crank angle", "degree"),
    "interval_angle": Variable("crank angle", "degree"),
    "rank": Variable("place in the order of |λ|", "1"),
    "zero": Variable("which of the two zeros", "1"),
}


def quotients(modes: int) -> xr.Dataset:
    """Frequencies from Rayleigh quotients relative to the eigenvalue, for two systems.

    printed, complex: √(uᴴKu/uᴴMu) with the complex shape; printed, real: with its real part, the
    paper's (2.7); true: the positive root of −ω²uᴴMu − ωγ + uᴴKu = 0, γ = −iuᴴCu.
    """
    systems = {
        "slider-crank": slider_crank().freeze(0.013, transport=False, driven=True),
        "spinning shaft": spinning_shaft(),
    }
    conservative = [full.only("C", "K", "K_omega2", "K_G") for full in systems.values()]
    modes_of = [modal.solve(system, k=modes) for system in conservative]
    return dataset_of(
        VARIABLES,
        rayleigh_frequency=[solved.eigenvalues.imag for solved in modes_of],
        rayleigh_error=[
            [
                _quotient_errors(system, u, lam.imag)
                for u, lam in zip(solved.right.T, solved.eigenvalues, strict=True)
            ]
            for system, solved in zip(conservative, modes_of, strict=True)
        ],
        example=list(systems),
        mode=np.arange(modes),
        quotient=["printed, real shape", "printed, complex shape", "true"],
    )


def _quotient_errors(system: FrozenSystem, u: Complex, omega: float) -> Array:
    M, C, K = system.M, system.damping, system.stiffness
    m, k = (float(np.real(u.conj() @ (A @ u))) for A in (M, K))
    gamma = float(np.real(-1j * (u.conj() @ (C @ u))))
    A = np.real(u)
    real = np.sqrt(abs((A @ (K @ A)) / (A @ (M @ A))))
    true = (-gamma + np.sqrt(gamma**2 + 4.0 * m * k)) / (2.0 * m)
    return np.array([real, np.sqrt(k / m), true]) / omega - 1.0


def zero_counts() -> xr.Dataset:
    """Zeros of (M, C, K): by the formula 2m − rank(VᵀCV), as the dense solver finds them, and after
    deflation, for systems of one to three degrees of mobility, literal and consistent.
    """
    rows = [
        [_zeros_of(make(transport).only("C", "K")) for transport in (False, True)]
        for make in SYSTEMS.values()
    ]
    columns = {name: [[row[name] for row in both] for both in rows] for name in rows[0][0]}
    return dataset_of(
        VARIABLES,
        **columns,
        system=list(SYSTEMS),
        equations=["literal", "consistent"],
        rank=np.arange(1, len(rows[0][0]["smallest"]) + 1),
    )


def _zeros_of(system: FrozenSystem) -> dict[str, Any]:
    V, C, chain = system.rigid, system.damping, system.null_chain
    assert chain is not None
    A, B = companion(*(X.toarray() for X in (system.M, C, system.stiffness)))
    plain = np.sort(np.abs(la.eigvals(A, B)))
    deflated = deflate_by_similarity(A, B, chain.right)
    others = np.sort(np.abs(la.eigvals(deflated.A, deflated.B)))
    coupling = np.linalg.svd(V.T @ (C @ V), compute_uv=False)
    # Above round-off of ‖C‖ ‖V‖².
    rank = int((coupling > 1e-10 * abs(C).max() * (V**2).sum()).sum())
    return dict(
        mobility=V.shape[1],
        coupling_rank=rank,
        zeros_formula=2 * V.shape[1] - rank,
        # The deflated spectrum distinguishes the solver's images of the zeros from the rest.
        zeros_found=int((plain < 0.1 * others[0]).sum()),
        zeros_spread=plain[chain.count - 1],
        first_other=others[0],
        deflation_difference=np.abs(others / plain[chain.count :] - 1.0).max(),
        smallest=plain[:6],
    )


def large_model(elements: int, modes: int, speed_rpm: float) -> xr.Dataset:
    """The sparse projector on the slider-crank with so many elements a link, and on a small one
    where the dense transformation can be asked too.
    """
    small = instant(slider_crank(12, speed_rpm)).only("C", "K")
    large = instant(slider_crank(elements, speed_rpm)).only("C", "K")
    dense = modal.solve(small, k=modes, backend="dense").eigenvalues.imag
    sparse = modal.solve(small, k=modes).eigenvalues.imag
    started = time.perf_counter()
    solved = modal.solve(large, k=modes)
    seconds = time.perf_counter() - started
    chain = large.null_chain
    assert chain is not None
    n = large.n
    w, v = chain.right[:n, 1], chain.right[n:, 1]
    residual = large.K @ w + large.C @ v
    scale = abs(large.K) @ abs(w) + abs(large.C) @ abs(v)
    try:
        undeflated = np.abs(modal.solve(large, k=modes, deflation=None).eigenvalues)
        without = (
            f"{len(undeflated)} of {modes} eigenvalues found, the smallest |λ| = "
            f"{undeflated[0]:.1e} rad/s"
        )
    except FrozenMotionError as fault:
        without = str(fault)
    return dataset_of(
        VARIABLES,
        deflated_dense=dense,
        deflated_sparse=sparse,
        deflated_large=solved.eigenvalues.imag,
        deflated_large_error=solved.backward_error,
        deflated_mode=np.arange(1, modes + 1),
    ).assign_attrs(
        large_unknowns=n,
        large_seconds=seconds,
        large_zeros_removed=solved.deflated,
        large_chain_residual=float(np.linalg.norm(residual) / np.linalg.norm(scale)),
        without_deflation=without,
    )


def interval_over_turn(speed_rpm: float, modes: int, instants: int) -> xr.Dataset:
    """The frozen interval (s) of the driven slider-crank's modes over one turn. Scutaru & Vlase
    (2012) call the interval in which the motion may be taken as frozen difficult to estimate.

    The Δt in which λ, or its real part by itself, changes by 5 % (`modal.track`), and zero where
    the motion couples the mode to another by more than that. With it the period of the vibration.
    """
    mechanism = slider_crank_model.model(elements=8, speed_rpm=speed_rpm)
    times = one_turn(mechanism, instants)
    tracks = modal.track(mechanism, times=times, k=modes, interval_change=0.05, progress=False)
    tracks = tracks.isel(mode=slice(0, modes))
    return dataset_of(
        VARIABLES,
        interval=tracks["frozen_interval"].values / times[-1],
        vibration_period=1.0 / (tracks["frequency"].values * times[-1]),
        interval_angle=360.0 * times / times[-1],
        interval_mode=np.arange(1, tracks.sizes["mode"] + 1),
    )


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
    pair = [
        [nearest_to_rigid(mechanism.freeze(t, transport=transport).only(*parts)) for t in times]
        for _, transport, parts in VARIANTS
    ]
    projected = np.array([projection(mechanism, t) for t in times])
    closed = closed_form(speed_rpm, angles, speed_rpm * 2.0 * np.pi / 60.0)
    exact = {f"{name}_exact": closed[:, j] for j, name in enumerate(COEFFICIENTS)}
    return dataset_of(
        VARIABLES,
        pair=pair,
        pair_crank_angle=rigid_pair(speed_rpm, angles).T,
        **{name: projected[:, j] for j, name in enumerate(COEFFICIENTS)},
        **exact,
        variant=[name for name, _, _ in VARIANTS],
        angle=np.degrees(angles),
        zero=[1, 2],
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

    def field(time: float) -> Array:
        return mechanism.freeze(time).rigid[:, 0]

    v, (rate, second) = field(t), central_differences(field, t, mechanism.period / 400)
    here = mechanism.freeze(t)
    M, C, K = here.M, here.damping, here.stiffness
    on_v = (M @ v, C @ v + 2.0 * (M @ rate), K @ v + C @ rate + M @ second)
    return np.array([v @ part for part in on_v])


def closed_form(speed_rpm: float, angles: Array, omega: float) -> Array:
    """(J, J'ω, ½J''ω²), (len(angles), 3); derivatives by Fourier series over the turn."""
    fine = 2.0 * np.pi * np.arange(256) / 256
    spectrum = np.fft.fft(effective_inertia(speed_rpm, fine)) / 256
    order = np.fft.fftfreq(256, 1.0 / 256)
    waves = np.exp(1j * np.outer(angles, order))
    J, first, second = ((waves @ (spectrum * (1j * order) ** d)).real for d in range(3))
    return np.stack([J, first * omega, 0.5 * second * omega**2], axis=1)


def rigid_pair(speed_rpm: float, angles: Array) -> Complex:
    """The two eigenvalues (2, len(angles)), rad/s, of the rigid mechanism's own linearised equation
    J δφ̈ + J' ω δφ̇ + ½J'' ω² δφ = 0 under the torque that keeps ω constant, frozen.
    """
    J, damping, stiffness = closed_form(speed_rpm, angles, speed_rpm * 2.0 * np.pi / 60.0).T
    root = np.sqrt(damping**2 - 4.0 * J * stiffness + 0j)
    return np.stack([(-damping + root) / (2.0 * J), (-damping - root) / (2.0 * J)])
