"""The modes of one instant, each with its certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from modal.types import Array, Complex


@dataclass(frozen=True)
class Modes:
    """k modes of an instant, one of each conjugate pair (Im λ ≥ 0), each with its certificate.

    eigenvalues: (k,) λ, rad/s; real ones are each listed.
    right: (n, k) displacement shapes x, Q(λ)x = 0, of unit mass norm xᴴMx = 1, largest entry real
        and positive.
    left: (n, k) y, yᴴQ(λ) = 0, scaled so that yᴴ(2λM + C)x = 1 with C all that multiplies the
        velocity; the
        left/right pairing of the first-order form is then one. Where that pairing vanishes (a
        defective eigenvalue) y has unit mass norm and the condition number is infinite.
    backward_error: (k,) ‖Q(λ)x‖₂ / ((|λ|²‖M‖ + |λ|‖C‖ + ‖K‖)‖x‖₂), ‖A‖ the bound √(‖A‖₁‖A‖∞) of the
        2-norm.
    condition_number: (k,) (|λ|²‖M‖ + |λ|‖C‖ + ‖K‖)‖x‖‖y‖ / (|λ| |yᴴ(2λM + C)x|): relative change of
        λ per unit of backward error (Tisseur, Linear Algebra Appl. 309 (2000) 339, Theorem 5). Of
        eigenvalues equal to 1e-6, ‖x‖ and ‖y‖ are the norms of all their vectors together.
    kind: (k,) "rigid" or "elastic", by the share of kinetic energy in the system's rigid velocity
        fields.
    deflated: zero eigenvalues removed. factorization, backend, method: how. solves: systems with K
        solved.
    certified: the count of modes in the band was confirmed; None when that was not asked for.
    target: the point of the complex plane the modes are nearest to.
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
    def frequency(self) -> Array:
        """|Im λ| / 2π, (k,) Hz."""
        return np.abs(self.eigenvalues.imag) / (2.0 * np.pi)

    @property
    def damping_ratio(self) -> Array:
        """−Re λ / |λ|, (k,); zero for a zero eigenvalue."""
        size = np.abs(self.eigenvalues)
        return np.asarray(-self.eigenvalues.real / np.where(size > 0.0, size, 1.0) + 0.0)

    @property
    def growth_rate(self) -> Array:
        """Re λ, (k,) 1/s."""
        return np.asarray(self.eigenvalues.real)

    @property
    def error_bound(self) -> Array:
        """First-order bound of |δλ|, (k,) rad/s: condition number × backward error × |λ|.

        Infinite for a defective eigenvalue, which no first-order bound covers.
        """
        first = np.isfinite(self.condition_number)
        condition = np.where(first, self.condition_number, 0.0)
        bound = condition * self.backward_error * np.abs(self.eigenvalues)
        return np.asarray(np.where(first, bound, np.inf))

    def __str__(self) -> str:
        head = (
            f"{len(self)} modes: {self.method}, {self.factorization} factor, backend {self.backend}"
        )
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
