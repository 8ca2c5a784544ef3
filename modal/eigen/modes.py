"""The modes of one frozen system, with errors and condition numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from modal.eigen.tolerances import EPS
from modal.types import Array, Complex


@dataclass(frozen=True)
class Modes:
    """Modes of a frozen system, one of each conjugate pair (Im λ ≥ 0); real eigenvalues each once.

    `modal.solve` makes it. `print(modes)` shows a table, `len(modes)` is the number k of modes.

    Parameters
    ----------
    eigenvalues : ndarray, shape (k,)
        Complex eigenvalues λ, rad/s.
    right : ndarray, shape (n, k)
        Mode shapes x, Q(λ)x = 0 with Q(λ) = λ²M + λC + K. Their mass norm xᴴMx is 1; the largest
        entry of each is real and positive.
    left : ndarray, shape (n, k)
        Left vectors y, yᴴQ(λ) = 0, scaled so that yᴴ(2λM + C)x = 1. Where that pairing vanishes (a
        defective eigenvalue) y has unit mass norm.
    backward_error : ndarray, shape (k,)
        ‖Q(λ)x‖ / ((|λ|²‖M‖ + |λ|‖C‖ + ‖K‖)‖x‖).
    condition_number : ndarray, shape (k,)
        Relative change of λ per unit of backward error; infinite for a defective eigenvalue.
    kind : ndarray of str, shape (k,)
        "prescribed" where the kinematics of the frame prescribe the eigenvalue: a free body that
        moves uniformly, or is turned by a constant angle, seen from the turning frame. "rigid"
        where more than half of the kinetic energy is in the rigid velocity fields of the system, as
        far as their number allows; else "elastic". Rigid modes count in every verdict.
    deflated : int
        Number of zero eigenvalues removed.
    factorization : str
        Factorization used, such as "Cholesky", "LDLᵀ" or "LU".
    backend : str
        Backend that was requested.
    method : str
        Algorithm that found the modes. A small problem is solved by LAPACK whatever the backend.
    solves : int
        Number of right-hand sides solved with the factorization.
    certified : bool or None
        True when a count confirmed that no mode is missing; None when no count was requested.
    target : complex
        Point of the complex plane that the modes are nearest to, rad/s.

    Notes
    -----
    C is the sum of the Coriolis and damping matrices, K the sum of all stiffness, and ‖A‖ the bound
    √(‖A‖₁‖A‖∞) of the 2-norm. Backward error and condition number,
    (|λ|²‖M‖ + |λ|‖C‖ + ‖K‖)‖x‖‖y‖ / (|λ| |yᴴ(2λM + C)x|), are those of Tisseur, Linear Algebra
    Appl. 309 (2000) 339, Theorems 1 and 5. For eigenvalues that agree to 1e-6, ‖x‖ and ‖y‖ are the
    norms of the matrices of all their vectors.
    """

    eigenvalues: Complex
    right: Complex
    left: Complex
    backward_error: Array
    condition_number: Array
    kind: NDArray[np.str_]
    deflated: int
    factorization: str
    backend: str
    method: str
    solves: int = 0
    certified: bool | None = None
    target: complex = 0.0

    def __len__(self) -> int:
        return len(self.eigenvalues)

    @property
    def solver(self) -> str:
        """The algorithm and the factorization that computed the modes, whatever was requested."""
        return f"{self.method}, {self.factorization} factor"

    @property
    def frequency(self) -> Array:
        """Frequencies |Im λ| / 2π, shape (k,), Hz."""
        return np.abs(self.eigenvalues.imag) / (2.0 * np.pi)

    @property
    def damping_ratio(self) -> Array:
        """Damping ratios −Re λ / |λ|, shape (k,); zero for a zero eigenvalue."""
        size = np.abs(self.eigenvalues)
        return np.asarray(-self.eigenvalues.real / np.where(size > 0.0, size, 1.0) + 0.0)

    @property
    def growth_rate(self) -> Array:
        """Growth rates Re λ, shape (k,), 1/s."""
        return np.asarray(self.eigenvalues.real)

    @property
    def error_bound(self) -> Array:
        """First-order bounds of |δλ|, shape (k,), rad/s: condition number × backward error × |λ|.

        A backward error counts as the round-off of the data at least, 2.2e-16: the residual that it
        comes from has no more digits. Infinite for a defective eigenvalue, for which no bound of
        first order holds.
        """
        first = np.isfinite(self.condition_number)
        condition = np.where(first, self.condition_number, 0.0)
        backward = np.maximum(self.backward_error, EPS)
        bound = condition * backward * np.abs(self.eigenvalues)
        return np.asarray(np.where(first, bound, np.inf))

    def __str__(self) -> str:
        head = f"{len(self)} modes by {self.solver} (backend requested: {self.backend})"
        if self.target:
            head += f", nearest {self.target:g} rad/s"
        if self.deflated:
            head += f"; {self.deflated} zero eigenvalues of the rigid motion removed"
        if self.certified is not None:
            head += "; count certified" if self.certified else "; count not certified"
        lines = [
            head,
            "  mode  frequency (Hz)   Re λ (1/s)     Im λ (rad/s)   damping    kind     "
            "backward error  condition",
        ]
        for j, lam in enumerate(self.eigenvalues):
            lines.append(
                f"  {j + 1:>4}  {self.frequency[j]:>14.6g}  {lam.real:>11.4g}"
                f"  {lam.imag:>15.8g}  {self.damping_ratio[j]:>8.1e}  {self.kind[j]:<8} "
                f"{self.backward_error[j]:>13.1e}  {self.condition_number[j]:>10.1e}"
            )
        return "\n".join(lines)
