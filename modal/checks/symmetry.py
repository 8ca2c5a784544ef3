"""P4: the symmetry class of every named matrix of a frozen system.

M, D, K, K(ω²) and K_G are symmetric, C and K(ε) are skew. One exception is right: a body that turns
about a point, not about a principal axis, is held there by a couple M. A couple that turns with the
body is not conservative (Ziegler, Principles of Structural Stability, 1968, section 1.6). On the
rotation φ it does the work ½ (φ × M)·δφ in addition to M·δφ. So K_G is a symmetric matrix plus
½ Φ M̃ Φᵀ, where φ = Φᵀu is the rotation of the loaded point. This is verified from the matrices. Let
R be the rotations of the body about its pin, ΦᵀR = I. Twice the skew part S gives A = 2SR = ΦM̃ and
M̃ = RᵀA. Then S = ½ Φ M̃ Φᵀ = −½ A M̃⁺ Aᵀ must hold, with the couple M that the motion requires,
Jε + ω × Jω, where J = RᵀMR is the inertia about the pin.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from assembly.magnitudes import EQUAL, ROUND_OFF
from assembly.system.frozen import FrozenSystem
from modal.checks.property_report import Property, judged, skipped
from modal.proofs.ratios import is_definite, is_semidefinite
from modal.types import Array

SYMMETRIC = ("M", "D", "K", "K_omega2", "K_G")
SKEW = ("C", "K_epsilon")
SIGNS = {"M": 1.0, "K": 1.0, "K_omega2": -1.0}  # semidefinite with this sign (M definite)
SHOWN = {"K_epsilon": "K(ε)", "K_omega2": "K(ω²)"}


def symmetry_classes(system: FrozenSystem) -> list[Property]:
    """P4 of every matrix that is not zero."""
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
