"""Properties P1–P5 of DESIGN.md section 2, measured on one instant (P6, the energy balance, needs a
transient)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assembly.errors import SingularSystemError
from assembly.factorization import Factorization
from assembly.frozen import FrozenSystem
from modal.modes import Modes
from modal.solve import solve
from modal.state import Quadratic, bound

Verdict = Literal["holds", "fails", "does not apply"]

RAYLEIGH_BOUND = 1e-9  # of the sum of the terms' sizes
CHAIN_BOUND = 1e-9
SPECTRUM_BOUND = 1e-10  # backward error of the mirrored pair
CLASS_BOUND = 1e-12  # of the matrix's largest entry
PINNED_BOUND = 1e-10  # the acceptance of the identity in DESIGN.md
CONSERVATIVE = ("C", "K", "K_omega2", "K_G")


@dataclass(frozen=True)
class Property:
    """One property: the number found, the bound it must keep, and the verdict."""

    name: str
    statement: str
    found: float
    bound: float
    verdict: Verdict
    note: str = ""


@dataclass(frozen=True)
class PropertyReport:
    """All properties of an instant; `report["P2"]` are those of one number; `ok` when none
    fails."""

    properties: tuple[Property, ...]

    @property
    def ok(self) -> bool:
        return all(p.verdict != "fails" for p in self.properties)

    def __getitem__(self, name: str) -> tuple[Property, ...]:
        return tuple(p for p in self.properties if p.name == name)

    def __str__(self) -> str:
        lines = [f"  {'':<3} {'property':<58} {'found':>9} {'bound':>9}  verdict"]
        for p in self.properties:
            numbers = (
                f"{p.found:>9.1e} {p.bound:>9.1e}"
                if p.verdict != "does not apply"
                else f"{'–':>9} {'–':>9}"
            )
            lines.append(
                f"  {p.name:<3} {p.statement:<58} {numbers}  {p.verdict}"
                + (f" ({p.note})" if p.note else "")
            )
        return "\n".join(lines)


def properties(system: FrozenSystem, k: int = 6) -> PropertyReport:
    """P1–P5 of one instant, on its k lowest modes where modes are needed.

    P1 and P3 are of the conservative part (M, C, K, K(ω²), K_G); P2 of M, C, K alone; P4 of every
    named matrix; P5 of a body pinned on its axis of rotation. What does not apply says why. Raises
    what `solve` raises.
    """
    conservative = system.only(*CONSERVATIVE)
    found = (
        list(_spectral(conservative, k))
        + list(_zeros(system))
        + list(_classes(system))
        + [_pinned(system)]
    )
    return PropertyReport(tuple(sorted(found, key=lambda p: p.name)))


def _judge(name: str, statement: str, found: float, limit: float, note: str = "") -> Property:
    return Property(
        name, statement, float(found), limit, "holds" if found <= limit else "fails", note
    )


def _skip(name: str, statement: str, note: str) -> Property:
    return Property(name, statement, float("nan"), float("nan"), "does not apply", note)


# P1 and P3


def _spectral(system: FrozenSystem, k: int) -> list[Property]:
    rayleigh = "−ω²uᴴMu − ωγ + uᴴ(K + K(ω²) + K_G)u = 0, γ = −iuᴴCu real"
    mirror = "the spectrum is symmetric under λ → −λ̄ and λ → λ̄"
    if not system.is_conservative:
        reason = "C is not skew or a stiffness is not symmetric"
        return [_skip("P1", rayleigh, reason), _skip("P3", mirror, reason)]
    quadratic = Quadratic(system)
    modes = solve(system, k)
    return [_rayleigh(quadratic, modes, rayleigh), _mirrored(quadratic, modes, mirror)]


def _rayleigh(quadratic: Quadratic, modes: Modes, statement: str) -> Property:
    u, lam = modes.right, modes.eigenvalues
    on_axis = lam.real == 0.0
    if not on_axis.any():
        return _skip("P1", statement, "no eigenvalue on the imaginary axis")
    u, omega = u[:, on_axis], lam[on_axis].imag
    m = (u.conj() * (quadratic.M @ u)).sum(axis=0)
    gamma = -1j * (u.conj() * (quadratic.C @ u)).sum(axis=0)
    stiff = (u.conj() * (quadratic.K @ u)).sum(axis=0)
    defect = np.abs(-(omega**2) * m - omega * gamma + stiff)
    # The sizes are of the sums' terms: their own cancellation is round-off, not a defect.
    sizes = (
        omega**2 * np.abs(m)
        + np.abs(omega * gamma)
        + (np.abs(u) * (abs(quadratic.K) @ np.abs(u))).sum(axis=0)
    )
    imaginary = np.abs(gamma.imag) * np.abs(omega) / sizes
    return _judge(
        "P1",
        statement,
        max((defect / sizes).max(), imaginary.max()),
        RAYLEIGH_BOUND,
        f"{len(omega)} modes",
    )


def _mirrored(quadratic: Quadratic, modes: Modes, statement: str) -> Property:
    # Q(−λ̄) is the adjoint of Q(λ): the left vector of λ must be the right vector of −λ̄.
    error = quadratic.backward_error(-modes.eigenvalues.conj(), modes.left)
    return _judge("P3", statement, error.max(), SPECTRUM_BOUND, f"{len(modes)} modes")


# P2


def _zeros(system: FrozenSystem) -> list[Property]:
    statement = "with M, C, K alone: 2m − rank(VᵀCV) zeros in Jordan chains"
    m = system.rigid.shape[1]
    if m == 0:
        return [_skip("P2", statement, "no free mobility")]
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
    return [_judge("P2", statement, max(first, second) + wrong, CHAIN_BOUND, note)]


def _relative(vectors: NDArray[np.float64], sizes: NDArray[np.float64]) -> float:
    norms = np.linalg.norm(sizes, axis=0)
    return float(
        (np.linalg.norm(vectors, axis=0) / np.where(norms > 0.0, norms, 1.0)).max(initial=0.0)
    )


# P4

SYMMETRIC = ("M", "D", "K", "K_omega2", "K_G")
SKEW = ("C", "K_epsilon")
SIGNS = {"M": 1.0, "K": 1.0, "K_omega2": -1.0}  # semidefinite with this sign (M definite)
SHOWN = {"K_epsilon": "K(ε)", "K_omega2": "K(ω²)"}


def _classes(system: FrozenSystem) -> list[Property]:
    out = []
    for name in (*SYMMETRIC, *SKEW):
        A = getattr(system, name)
        if A.nnz == 0:
            continue
        shown = SHOWN.get(name, name)
        if name == "C" and not system.parts["K_transport"].is_zero:
            out.append(_skip("P4", "C is skew", "transport=True: C + Cᵀ = 2 dM/dt instead"))
            continue
        mirrored = A - A.T if name in SYMMETRIC else A + A.T
        found = abs(mirrored).max() / abs(A).max()
        out.append(
            _judge(
                "P4",
                f"{shown} is {'symmetric' if name in SYMMETRIC else 'skew'}",
                found,
                CLASS_BOUND,
            )
        )
        if name in SIGNS:
            out.append(_sign(A, shown, SIGNS[name], strict=name == "M"))
    return out


def _sign(A, shown: str, sign: float, strict: bool) -> Property:  # type: ignore[no-untyped-def]
    """Definiteness by a Cholesky factorization, after a shift by the bound unless strictly
    definite."""
    import scipy.sparse as sp

    size = bound(A)
    shift = 0.0 if strict else CLASS_BOUND * size
    statement = f"{shown} is {'positive' if sign > 0 else 'negative'} "
    statement += "definite" if strict else "semidefinite"
    try:
        Factorization(sp.csr_matrix(sign * A + shift * sp.identity(A.shape[0])), "spd").destroy()
        failed = 0.0
    except SingularSystemError:
        failed = 1.0
    return _judge("P4", statement, failed * max(shift / size, 1.0), 0.0 if strict else CLASS_BOUND)


# P5


def _pinned(system: FrozenSystem) -> Property:
    statement = "pinned body: (K + K(ε) + K(ω²) + K_G)v = 0, v its rotation"
    if system.rigid.shape[1] != 1 or system.dofs is None:
        return _skip("P5", statement, "not a body with one free mobility")
    omega = np.asarray(system.parameters.get("omega", 0.0), dtype=float)
    epsilon = np.asarray(system.parameters.get("epsilon", np.zeros(3)), dtype=float)
    if omega.shape != (3,) or epsilon.shape != (3,) or not (omega.any() or epsilon.any()):
        return _skip("P5", statement, "does not turn")
    if system.parts["K_G"].is_zero:
        return _skip("P5", statement, "no K_G")
    v = system.rigid[:, 0]
    rotations = system.dofs.rigid_fields()[:, 3:]
    spin = omega if omega.any() else epsilon
    turned = rotations @ (spin / np.linalg.norm(spin))
    along = turned * (turned @ v) / (turned @ turned) if turned.any() else 0.0 * v
    parallel = np.linalg.norm(np.cross(omega, epsilon)) <= 1e-12 * np.linalg.norm(
        omega
    ) * np.linalg.norm(epsilon)
    if np.linalg.norm(v - along) > 1e-9 * np.linalg.norm(v) or not parallel:
        return _skip("P5", statement, "not pinned on its axis of rotation")
    total = system.only("K", "K_epsilon", "K_omega2", "K_G").stiffness @ v
    scale = np.linalg.norm(system.K_omega2 @ v) + np.linalg.norm(system.K_epsilon @ v)
    # What the product K v loses to rounding is no fault of the assembly, and can be above the bound
    # at low speed: entries of K v cancel from the size of |K| |v|.
    rounding = np.finfo(float).eps * np.linalg.norm(abs(system.K) @ abs(v)) / scale
    found = float(np.linalg.norm(total) / scale)
    return _judge("P5", statement, found, PINNED_BOUND + float(rounding))
