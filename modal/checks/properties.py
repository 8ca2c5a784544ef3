"""Properties P1 to P5 of a frozen system. P6, the energy balance, needs a transient."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assembly.kinematics import skew
from assembly.magnitudes import EQUAL
from assembly.system.frozen import FrozenSystem, check_is_frozen
from modal.checks.property_report import Property, PropertyReport, judged, skipped
from modal.checks.symmetry import is_pinned, symmetry_classes
from modal.eigen.modes import Modes
from modal.eigen.quadratic import Quadratic, bound
from modal.eigen.solve import solve

BACKWARD = 1e-10  # backward errors: of the sum of the norms of the terms
CONSERVATIVE = ("C", "K", "K_omega2", "K_G")


def properties(system: FrozenSystem, k: int = 6) -> PropertyReport:
    """Check the properties P1 to P5 of a frozen system.

    Parameters
    ----------
    system : FrozenSystem
        Frozen system of one instant.
    k : int, default 6
        Number of lowest modes on which P1 and P3 are checked.

    Returns
    -------
    PropertyReport
        Each property with the number found, its bound and a verdict. Printable.

    Raises
    ------
    InputError
        An argument cannot be used.
    ConvergenceError, SingularSystemError
        The modes could not be computed, as by `modal.solve`.

    Notes
    -----
    P1: −ω² uᴴMu − ω γ + uᴴ(K + K(ω²) + K_G)u = 0 with γ = −i uᴴCu real, for an eigenpair
    (iω, u). P2: 2m − rank(VᵀCV) zero eigenvalues of m free mobilities V. P3: the spectrum is
    symmetric under λ → −λ and λ → λ̄. P4: the symmetry class of every matrix. P5: for a body pinned
    on its axis of rotation, (K + K(ε) + K(ω²) + K_G + K_D) v = 0 with its rigid rotation v.
    P1 and P3 are checked on the conservative part: M, C, K, K(ω²) and the symmetric part of K_G.
    P2 is checked on M, C and K. P1 and P2 are those of Scutaru & Vlase 2012 in the form that holds
    for complex modes; see docs/theory.md.

    Examples
    --------
    >>> import assembly, modal
    >>> blade = assembly.beam(length=1.0, section=assembly.rectangle(0.05, 0.02),
    ...                       material=assembly.steel, elements=4, clamped="start")
    >>> report = modal.properties(blade.freeze(omega=(0, 0, 100.0)), k=2)
    >>> report.ok
    True
    """
    check_is_frozen(system)
    checked = (
        list(_spectral(conservative_part(system), k))
        + list(_zeros(system))
        + symmetry_classes(system)
        + [_pinned(system)]
    )
    return PropertyReport(tuple(sorted(checked, key=lambda p: p.name)))


def conservative_part(system: FrozenSystem) -> FrozenSystem:
    """M, C, K, K(ω²) and the symmetric part of K_G of the instant."""
    conservative = system.only(*CONSERVATIVE)
    if conservative.parts["K_G"].is_symmetric:
        return conservative
    return conservative.only(
        "C", "K", "K_omega2", K_G=0.5 * (conservative.K_G + conservative.K_G.T)
    )


# P1 and P3


def _spectral(system: FrozenSystem, k: int) -> list[Property]:
    rayleigh = "−ω²uᴴMu − ωγ + uᴴ(K + K(ω²) + K_G)u = 0, γ = −iuᴴCu real"
    mirror = "the spectrum is symmetric under λ → −λ̄ and λ → λ̄"
    if not system.is_conservative:
        reason = "C is not skew or a stiffness is not symmetric"
        return [skipped("P1", rayleigh, reason), skipped("P3", mirror, reason)]
    quadratic = Quadratic(system)
    modes = solve(system, k)
    if len(modes) == 0:
        reason = "no eigenvalue but the zeros of the rigid motion"
        return [skipped("P1", rayleigh, reason), skipped("P3", mirror, reason)]
    return [_rayleigh(quadratic, modes, rayleigh), _mirrored(quadratic, modes, mirror)]


def _rayleigh(quadratic: Quadratic, modes: Modes, statement: str) -> Property:
    u, lam = modes.right, modes.eigenvalues
    on_axis = lam.real == 0.0
    if not on_axis.any():
        return skipped("P1", statement, "no eigenvalue on the imaginary axis")
    u, omega = u[:, on_axis], lam[on_axis].imag
    m = (u.conj() * (quadratic.M @ u)).sum(axis=0)
    gamma = -1j * (u.conj() * (quadratic.C @ u)).sum(axis=0)
    stiff = (u.conj() * (quadratic.K @ u)).sum(axis=0)
    defect = np.abs(-(omega**2) * m - omega * gamma + stiff)
    # Sizes of the terms of the sums: their cancellation is round-off, not a defect.
    sizes = (
        omega**2 * np.abs(m)
        + np.abs(omega * gamma)
        + (np.abs(u) * (abs(quadratic.K) @ np.abs(u))).sum(axis=0)
    )
    imaginary = np.abs(gamma.imag) * np.abs(omega) / sizes
    return judged(
        "P1",
        statement,
        max((defect / sizes).max(), imaginary.max()),
        EQUAL,
        f"{len(omega)} modes",
    )


def _mirrored(quadratic: Quadratic, modes: Modes, statement: str) -> Property:
    # Q(−λ̄) is the adjoint of Q(λ): the left vector of λ must be the right vector of −λ̄.
    error = quadratic.backward_error(-modes.eigenvalues.conj(), modes.left)
    return judged("P3", statement, error.max(), BACKWARD, f"{len(modes)} modes")


# P2


def _zeros(system: FrozenSystem) -> list[Property]:
    statement = "with M, C, K alone: 2m − rank(VᵀCV) zeros in Jordan chains"
    m = system.rigid.shape[1]
    if m == 0:
        return [skipped("P2", statement, "no free mobility")]
    elastic = system.only("C", "K")
    chain = elastic.null_chain
    if chain is None:
        return [
            Property(
                "P2", statement, 0.0, 2.0 * m, "fails", "K does not vanish on the rigid fields"
            )
        ]
    n, nulls = system.n, chain.null.shape[1]
    K, C = elastic.stiffness, elastic.damping
    V, w, v = chain.right[:n, :nulls], chain.right[:n, nulls:], chain.right[n:, nulls:]
    first = _relative(K @ V, abs(K) @ np.abs(V))
    second = (
        _relative(K @ w + C @ v, abs(K) @ np.abs(w) + abs(C) @ np.abs(v)) if v.shape[1] else 0.0
    )
    coupling = chain.null.T @ (C @ chain.null)
    rank = int((np.linalg.svd(coupling, compute_uv=False) > 1e-10 * max(bound(C), 1e-300)).sum())
    wrong = abs(chain.count - (2 * m - rank))
    note = f"{chain.count} zeros, {m} free mobilities, rank {rank}"
    return [judged("P2", statement, max(first, second) + wrong, EQUAL, note)]


def _relative(vectors: NDArray[np.float64], sizes: NDArray[np.float64]) -> float:
    norms = np.linalg.norm(sizes, axis=0)
    return float(
        (np.linalg.norm(vectors, axis=0) / np.where(norms > 0.0, norms, 1.0)).max(initial=0.0)
    )


# P5


def _pinned(system: FrozenSystem) -> Property:
    statement = "pinned body: (K + K(ε) + K(ω²) + K_G + K_D)v = 0, v its rotation"
    if system.dofs is None or not is_pinned(system):
        return skipped("P5", statement, "not a body that turns about a pin")
    omega = np.asarray(system.parameters.get("omega", 0.0), dtype=float)
    epsilon = np.asarray(system.parameters.get("epsilon", np.zeros(3)), dtype=float)
    if omega.shape != (3,) or epsilon.shape != (3,) or not (omega.any() or epsilon.any()):
        return skipped("P5", statement, "does not turn")
    if system.parts["K_G"].is_zero:
        return skipped("P5", statement, "no K_G")
    if np.any(system.parameters.get("acceleration", 0.0)):
        return skipped("P5", statement, "its pin accelerates: a pendulum")
    spin = omega if omega.any() else epsilon
    v = system.dofs.rigid_fields()[:, 3:] @ (spin / np.linalg.norm(spin))
    allowed = system.rigid @ np.linalg.lstsq(system.rigid, v, rcond=None)[0]
    parallel = np.linalg.norm(np.cross(omega, epsilon)) <= 1e-12 * np.linalg.norm(
        omega
    ) * np.linalg.norm(epsilon)
    if not v.any() or np.linalg.norm(v - allowed) > 1e-9 * np.linalg.norm(v) or not parallel:
        return skipped("P5", statement, "not pinned on its axis of rotation")
    if np.any(system.parameters.get("velocity", 0.0)) and not system.parts["D"].is_zero:
        return skipped("P5", statement, "its dampers resist the motion of the pin")
    turning = system.dofs.turning(skew(spin))
    uneven = system.K_D @ turning - turning @ system.K_D
    if abs(uneven).max() > 1e-9 * bound(system.K_D) * bound(turning):
        return skipped("P5", statement, "its dampers differ by direction across the axis")
    total = system.only("K", "K_epsilon", "K_omega2", "K_G", "K_D").stiffness @ v
    scale = np.linalg.norm(system.K_omega2 @ v) + np.linalg.norm(system.K_epsilon @ v)
    # The rounding error of the product K v is no defect of the assembly. It can exceed the bound at
    # low speed, where the terms of K v of size |K| |v| cancel.
    rounding = np.finfo(float).eps * np.linalg.norm(abs(system.K) @ abs(v)) / scale
    defect = float(np.linalg.norm(total) / scale)
    return judged("P5", statement, defect, BACKWARD + float(rounding))
