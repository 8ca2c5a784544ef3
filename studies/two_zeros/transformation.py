"""The transformation of Scutaru & Vlase, J. Appl. Math. 2012, 628503, (2.17)–(2.31), matrix by
matrix on a system small enough to print.

The system: one planar beam element pinned at its start, turning at constant ω; four DOFs, the
rotation at the pin and the displacements and rotation of the tip. Units are chosen so that the
numbers are short: ρA = EA = L = 1 and EI = 1/12.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

import assembly
from assembly.types import Array
from modal.types import Complex


@dataclass(frozen=True)
class Step:
    """One use of T: the matrix A it starts from, the eigenvector x scaled to 1 at `pivot`, T
    itself, B = T⁻¹AT, and B₂₂, what is left without the pivot's row and column.
    """

    A: Array
    x: Array
    pivot: int
    T: Array
    B: Array
    B22: Array


@dataclass(frozen=True)
class SmallCase:
    """The small system (M, C, K; e its rigid rotation) and the two steps that remove its zeros."""

    M: Array
    C: Array
    K: Array
    e: Array
    first: Step
    second: Step

    @property
    def eigenvalues(self) -> Complex:
        """Of the last B₂₂: the 2n − 2 others, by magnitude."""
        values = la.eigvals(self.second.B22)
        return np.asarray(values[np.lexsort((values.imag, np.abs(values).round(9)))])


def system() -> assembly.FrozenSystem:
    """M, C and K alone, as P2 has them."""
    material = assembly.Material(E=1.0, nu=0.3, rho=1.0)
    section = assembly.Section(A=1.0, Iy=1.0 / 12.0, Iz=1.0 / 12.0, J=1.0 / 6.0)
    beam = assembly.beam(
        1.0, section, material, 1, pinned="start", planar=True,
        theory="euler-bernoulli", rotary_inertia=False,
    )  # fmt: skip
    return beam.freeze(omega=(0.0, 0.0, 0.25)).only("C", "K")


def small_case() -> SmallCase:
    """Both steps, with what (2.25) and (2.31) claim along the way left to the caller to check."""
    frozen = system()
    M, C, K = (A.toarray() for A in (frozen.M, frozen.C, frozen.K))
    n = len(M)
    e = frozen.rigid[:, 0] / frozen.rigid[0, 0]
    A = np.zeros((2 * n, 2 * n))
    A[:n, n:] = np.eye(n)
    A[n:] = -la.solve(M, np.hstack([K, C]), assume_a="pos")
    first = step(A, np.concatenate([e, np.zeros(n)]))
    # The second chain vector (w, e), K w = −C e, is what B₂₂ takes to zero once the first is gone.
    w, *_ = la.lstsq(K, -C @ e)
    chained = np.concatenate([w, e])
    left = np.delete(chained - first.x * chained[first.pivot], first.pivot)
    return SmallCase(M, C, K, e, first, step(first.B22, left))


def step(A: Array, x: Array) -> Step:
    """One transformation (2.16)–(2.21) for an eigenvector x of A with eigenvalue zero."""
    # The paper scales e₁ = 1; where the first entry is zero the next one that is not does as well.
    pivot = int(np.flatnonzero(np.abs(x) > 1e-9 * np.abs(x).max())[0])
    x = x / x[pivot]
    T = np.eye(len(A))
    T[:, pivot] = x
    inverse = np.eye(len(A))
    inverse[:, pivot] = -x
    inverse[pivot, pivot] = 1.0
    B = inverse @ A @ T
    keep = np.delete(np.arange(len(A)), pivot)
    return Step(A, x, pivot, T, B, B[np.ix_(keep, keep)])


def text(case: SmallCase) -> str:
    """Everything printed, three decimals."""
    first, second = case.first, case.second
    e, M, K = case.e, case.M, case.K
    product = la.solve(M, K, assume_a="pos")
    size = float(np.abs(product).max())
    return "\n\n".join(
        [
            "One pinned beam element: ρA = EA = L = 1, EI = 1/12, ω = 1/4; DOFs θ₁ u₂ v₂ θ₂.",
            f"M =\n{_matrix(M)}",
            f"C =\n{_matrix(case.C)}",
            f"K =\n{_matrix(K)}",
            f"The rigid rotation e = {_row(e)}: largest entry of K e {np.abs(K @ e).max():.0e}.",
            f"A of (2.11) =\n{_matrix(first.A)}",
            f"T of (2.20), its column {first.pivot + 1} is (e, 0) =\n{_matrix(first.T)}",
            f"B = T⁻¹AT of (2.26), first column zero =\n{_matrix(first.B)}",
            f"B₂₂ of (2.27) =\n{_matrix(first.B22)}",
            f"det B₂₂ = {la.det(first.B22):.1e}. (2.31) sums its rows weighted with e; what "
            f"vanishes is the sum weighted with M e: |eᵀM⁻¹K| = {_size(e @ product) / size:.2f}, "
            f"|(Me)ᵀM⁻¹K| = {_size((M @ e) @ product) / size:.0e} of the largest entry. "
            "The conclusion stands, for eᵀCe = 0.",
            f"Second T, from the null vector of B₂₂ =\n{_matrix(second.T)}",
            f"B₂₂ once more, of size 2n − 2 = {len(second.B22)} =\n{_matrix(second.B22)}",
            "Its eigenvalues: " + ", ".join(_complex(v) for v in case.eigenvalues) + " (rad/s).",
        ]
    )


def _size(values: Array) -> float:
    return float(np.abs(values).max())


def _matrix(A: Array) -> str:
    return "\n".join("  " + _row(row, 9) for row in A)


def _row(values: Array, width: int = 0) -> str:
    return " ".join(f"{v + 0.0:>{width}.3f}" for v in np.where(np.abs(values) < 5e-10, 0.0, values))


def _complex(value: complex) -> str:
    real = 0.0 if abs(value.real) < 5e-5 else value.real
    return f"{real:.4f}{value.imag:+.4f}i"
