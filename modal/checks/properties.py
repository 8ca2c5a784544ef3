"""Properties P1 to P5 of a frozen system. P6, the energy balance, needs a transient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

from assembly.kinematics import skew
from assembly.magnitudes import EQUAL, ROUND_OFF
from assembly.system.frozen import FrozenSystem, check_is_frozen
from modal.eigen.modes import Modes
from modal.eigen.quadratic import Quadratic, bound
from modal.eigen.solve import solve
from modal.proofs.ratios import is_definite, is_semidefinite
from modal.types import Array

Verdict = Literal["holds", "fails", "undecided", "does not apply"]


@dataclass(frozen=True)
class Property:
    """One property of a frozen system.

    Attributes
    ----------
    name : str
        "P1" to "P6".
    statement : str
        The equation or the symmetry class.
    found, bound : float
        Relative defect found, and the largest one at which the property holds; NaN where it does
        not apply.
    verdict : {"holds", "fails", "undecided", "does not apply"}
        Undecided: the error of the computation exceeds the bound.
    note : str
        Further numbers, or the reason why the property does not apply.
    """

    name: str
    statement: str
    found: float
    bound: float
    verdict: Verdict
    note: str = ""


@dataclass(frozen=True)
class PropertyReport:
    """The properties of a frozen system, printable.

    Attributes
    ----------
    properties : tuple of Property
        ``report["P2"]`` returns those of one name.
    ok : bool
        Whether no property fails.
    """

    properties: tuple[Property, ...]

    @property
    def ok(self) -> bool:
        return all(p.verdict != "fails" for p in self.properties)

    def __getitem__(self, name: str) -> tuple[Property, ...]:
        return tuple(p for p in self.properties if p.name == name)

    def __str__(self) -> str:
        lines = [f"  {'':<3} {'property':<58} {'found':>9} {'bound':>9}  verdict"]
        for p in self.properties:
            numbers = f"{p.found:>9.1e} {p.bound:>9.1e}"
            if p.verdict == "does not apply":
                numbers = f"{'–':>9} {'–':>9}"
            note = f" ({p.note})" if p.note else ""
            lines.append(f"  {p.name:<3} {p.statement:<58} {numbers}  {p.verdict}{note}")
        return "\n".join(lines)


def judged(name: str, statement: str, found: float, limit: float, note: str = "") -> Property:
    """The property with the verdict that found and limit give."""
    verdict: Verdict = "holds" if found <= limit else "fails"
    return Property(name, statement, float(found), limit, verdict, note)


def skipped(name: str, statement: str, note: str) -> Property:
    """The property where it does not apply; the note says why."""
    return Property(name, statement, float("nan"), float("nan"), "does not apply", note)


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
    checked = _spectral(conservative_part(system), k) + symmetry_classes(system)
    checked += [_zeros(system), _pinned(system)]
    return PropertyReport(tuple(sorted(checked, key=lambda p: p.name)))


def conservative_part(system: FrozenSystem) -> FrozenSystem:
    """M, C, K, K(ω²) and the symmetric part of K_G of the instant."""
    conservative = system.only(*CONSERVATIVE)
    if conservative.parts["K_G"].is_symmetric:
        return conservative
    symmetric = 0.5 * (conservative.K_G + conservative.K_G.T)
    return conservative.only("C", "K", "K_omega2", K_G=symmetric)


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
    of_stiffness = (np.abs(u) * (abs(quadratic.K) @ np.abs(u))).sum(axis=0)
    sizes = omega**2 * np.abs(m) + np.abs(omega * gamma) + of_stiffness
    imaginary = np.abs(gamma.imag) * np.abs(omega)
    found = max((defect / sizes).max(), (imaginary / sizes).max())
    return judged("P1", statement, found, EQUAL, f"{len(omega)} modes")


def _mirrored(quadratic: Quadratic, modes: Modes, statement: str) -> Property:
    # Q(−λ̄) is the adjoint of Q(λ): the left vector of λ must be the right vector of −λ̄.
    error = quadratic.backward_error(-modes.eigenvalues.conj(), modes.left)
    return judged("P3", statement, error.max(), BACKWARD, f"{len(modes)} modes")


# P2


def _zeros(system: FrozenSystem) -> Property:
    statement = "with M, C, K alone: 2m − rank(VᵀCV) zeros in Jordan chains"
    m = system.rigid.shape[1]
    if m == 0:
        return skipped("P2", statement, "no free mobility")
    elastic = system.only("C", "K")
    chain = elastic.null_chain
    if chain is None:
        note = "K does not vanish on the rigid fields"
        return Property("P2", statement, 0.0, 2.0 * m, "fails", note)
    n, nulls = system.n, chain.null.shape[1]
    K, C = elastic.stiffness, elastic.damping
    V, w, v = chain.right[:n, :nulls], chain.right[:n, nulls:], chain.right[n:, nulls:]
    first = _relative(K @ V, abs(K) @ np.abs(V))
    second = _relative(K @ w + C @ v, abs(K) @ np.abs(w) + abs(C) @ np.abs(v))
    coupling = chain.null.T @ (C @ chain.null)
    rank = int((np.linalg.svd(coupling, compute_uv=False) > 1e-10 * max(bound(C), 1e-300)).sum())
    wrong = abs(chain.count - (2 * m - rank))
    note = f"{chain.count} zeros, {m} free mobilities, rank {rank}"
    return judged("P2", statement, max(first, second) + wrong, EQUAL, note)


def _relative(vectors: Array, sizes: Array) -> float:
    found, norms = np.linalg.norm(vectors, axis=0), np.linalg.norm(sizes, axis=0)
    return float((found / np.where(norms > 0.0, norms, 1.0)).max(initial=0.0))


# P4


SYMMETRIC = ("M", "D", "K", "K_omega2", "K_G")
SKEW = ("C", "K_epsilon")
SIGNS = {"M": 1.0, "K": 1.0, "K_omega2": -1.0}  # semidefinite with this sign (M definite)
SHOWN = {"K_epsilon": "K(ε)", "K_omega2": "K(ω²)"}


def symmetry_classes(system: FrozenSystem) -> list[Property]:
    """P4: the symmetry class of every named matrix that is not zero.

    M, D, K, K(ω²) and K_G are symmetric, C and K(ε) are skew. One exception is right: a body that
    turns about a point, not about a principal axis, is held there by a couple M. A couple that
    turns with the body is not conservative (Ziegler, Principles of Structural Stability, 1968,
    section 1.6). On the rotation φ it does the work ½ (φ × M)·δφ in addition to M·δφ. So K_G is a
    symmetric matrix plus ½ Φ M̃ Φᵀ, where φ = Φᵀu is the rotation of the loaded point. This is
    verified from the matrices. Let R be the rotations of the body about its pin, ΦᵀR = I. Twice the
    skew part S gives A = 2SR = ΦM̃ and M̃ = RᵀA. Then S = ½ Φ M̃ Φᵀ = −½ A M̃⁺ Aᵀ must hold, with
    the couple M that the motion requires, Jε + ω × Jω, where J = RᵀMR is the inertia about the pin.
    """
    out = []
    for name in (*SYMMETRIC, *SKEW):
        A = getattr(system, name)
        if A.nnz == 0:
            continue
        label = SHOWN.get(name, name)
        if name == "C" and not system.parts["K_transport"].is_zero:
            out.append(skipped("P4", "C is skew", "transport=True: C + Cᵀ = 2 dM/dt instead"))
            continue
        mirrored = A - A.T if name in SYMMETRIC else A + A.T
        asymmetry = abs(mirrored).max() / abs(A).max()
        pin = pin_rotations(system) if name == "K_G" and asymmetry > ROUND_OFF else None
        if pin is not None:
            out.append(_turning_couple(system, pin))
        else:
            kind = "symmetric" if name in SYMMETRIC else "skew"
            out.append(judged("P4", f"{label} is {kind}", asymmetry, ROUND_OFF))
        if name in SIGNS:
            out.append(_sign(A, label, SIGNS[name], strict=name == "M"))
    return out


def _motions(system: FrozenSystem) -> Array | None:
    """The rigid fields as motions (6, m) of the frame: translation, rotation.

    None where they are no such motions, where there are none, or where the degrees of freedom do
    not distinguish them.
    """
    if system.dofs is None or system.rigid.shape[1] == 0:
        return None
    fields = system.dofs.rigid_fields()
    parts = np.linalg.lstsq(fields, system.rigid, rcond=None)[0]
    off = np.abs(fields @ parts - system.rigid).max()
    return parts if off <= 1e-9 * np.abs(system.rigid).max() else None


def is_pinned(system: FrozenSystem) -> bool:
    """Whether all rigid motions of a body are rotations about a pin or a hinge."""
    parts = _motions(system)
    if parts is None or parts.shape[1] > 3:
        return False
    return bool(np.linalg.cond(parts[3:]) < 1e9)


def pin_rotations(system: FrozenSystem) -> Array | None:
    """R (n, 3), unit rotations about the pin, of a body that turns about a point; else None."""
    parts = _motions(system)
    if parts is None or parts.shape[1] != 3 or not is_pinned(system):
        return None
    return np.asarray(system.rigid @ np.linalg.inv(parts[3:]))


def _turning_couple(system: FrozenSystem, R: Array) -> Property:
    """Whether the skew part of K_G is exactly that of the couple the motion requires."""
    S = 0.5 * (system.K_G - system.K_G.T)
    A = 2.0 * (S @ R)
    tilde = R.T @ A
    couple = np.array([tilde[2, 1], tilde[0, 2], tilde[1, 0]])
    rows = sp.csr_matrix(A)
    remainder = abs(S + 0.5 * (rows @ sp.csr_matrix(np.linalg.pinv(tilde, 1e-9)) @ rows.T)).max()
    defect = remainder / abs(system.K_G).max() * (EQUAL / ROUND_OFF)
    needed = _needed_couple(system, R)
    note = "its size not compared: the pin accelerates, or the shape is stretched"
    if needed is not None:
        defect = max(defect, np.linalg.norm(couple - needed) / np.linalg.norm(needed))
        note = f"{np.linalg.norm(needed):.4g} N·m, not conservative"
    statement = "K_G is symmetric but for ½ΦM̃Φᵀ of the pin's couple M"
    return judged("P4", statement, defect, EQUAL, note)


def _needed_couple(system: FrozenSystem, R: Array) -> Array | None:
    """The couple (3,), N·m, that holds the motion at the pin.

    Where nodes have rotations, it follows from the load Q. The Q of a solid contains it already;
    there it follows from the inertia of the body, unless the pin accelerates. None where neither
    gives it: at a deformed equilibrium Q is zero.
    """
    assert system.dofs is not None
    if np.any(system.dofs.component >= 3):
        return np.asarray(-R.T @ system.Q) if np.any(system.Q) else None
    omega, epsilon, acceleration = (
        np.asarray(system.parameters.get(name, np.zeros(3)), dtype=float)
        for name in ("omega", "epsilon", "acceleration")
    )
    if omega.shape != (3,) or epsilon.shape != (3,) or np.any(acceleration):
        return None
    J = R.T @ (system.M @ R)
    return np.asarray(J @ epsilon + np.cross(omega, J @ omega))


def _sign(A: sp.csr_matrix, label: str, sign: float, strict: bool) -> Property:
    """Definiteness, strict or to round-off."""
    holds = is_definite(sign * A) if strict else is_semidefinite(sign * A)
    statement = f"{label} is {'positive' if sign > 0 else 'negative'} "
    statement += "definite" if strict else "semidefinite"
    return judged("P4", statement, 0.0 if holds else 1.0, 0.0 if strict else ROUND_OFF)


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
    sizes = np.linalg.norm(omega) * np.linalg.norm(epsilon)
    parallel = np.linalg.norm(np.cross(omega, epsilon)) <= 1e-12 * sizes
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
