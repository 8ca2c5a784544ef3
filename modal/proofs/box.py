"""The box of the complex plane outside which no eigenvalue can be unstable.

For an eigenpair λ = r + iω, x of λ²M + λ(D + G) + S + N (D, S symmetric, G, N skew) with xᴴMx = 1
put d = xᴴDx, s = xᴴSx, ig = xᴴGx, in = xᴴNx; d, s, g, n are real. Then

    λ² + (d + ig)λ + s + in = 0,
    imaginary part: ω = −(gr + n)/(2r + d),      real part: r² + dr = ω² + gω − s.

With D ⪰ 0, γ = max |g|, κ = max |n|/d and σ = max(0, −min s), an eigenvalue with r > 0 has

    |ω| ≤ max(γ/2, κ) = W,     r ≤ √(W² + γW + σ),     s ≤ W² + γW,

since (|g|r + |n|)/(2r + d) lies between |g|/2 and |n|/d. Two classic results are special cases:
κ = Ω for the internal damping of a shaft that turns at Ω, and κ = Ω/2 for a full oil film.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Box:
    """The box that holds every unstable eigenvalue: |Im λ| ≤ angular_frequency, 0 < Re λ ≤ growth.

    Parameters
    ----------
    gyroscopic : float
        γ = max |xᴴGx| / xᴴMx, rad/s.
    circulatory : float
        κ = max |xᴴNx| / xᴴDx, rad/s; infinite where circulatory forces act that no damper resists.
    softening : float
        σ, (rad/s)²: no xᴴSx / xᴴMx is below −σ.
    dissipative : bool
        Whether damping supplies energy to no motion, D ⪰ 0. Otherwise κ is infinite.

    Notes
    -----
    M is the mass matrix, D and G are the symmetric and skew parts of all that multiplies the
    velocity, S and N those of all that multiplies the displacement. With W = max(γ/2, κ) an
    eigenvalue λ with Re λ > 0 has |Im λ| ≤ W and Re λ ≤ √(W² + γW + σ); docs/theory.md, "A verdict
    on all modes", derives it. Its special cases are the classic bounds of a whirl frequency: κ = Ω
    for internal damping of a shaft at the speed Ω, κ = Ω/2 for a full oil film.

    Examples
    --------
    >>> import modal
    >>> box = modal.Box(gyroscopic=6.0, circulatory=4.0, softening=9.0)
    >>> box.angular_frequency, box.growth
    (4.0, 7.0)
    """

    gyroscopic: float
    circulatory: float
    softening: float
    dissipative: bool = True

    @property
    def angular_frequency(self) -> float:
        """W, the largest |Im λ| of an unstable eigenvalue, rad/s."""
        return max(0.5 * self.gyroscopic, self.circulatory)

    @property
    def growth(self) -> float:
        """The largest Re λ that is possible, 1/s."""
        W = self.angular_frequency
        return float(np.sqrt(W * (W + self.gyroscopic) + self.softening))

    @property
    def stiffness(self) -> float:
        """W² + γW: the shape of an unstable mode has xᴴSx / xᴴMx up to this, (rad/s)²."""
        W = self.angular_frequency
        return W * (W + self.gyroscopic)

    @property
    def is_bounded(self) -> bool:
        """Whether κ is finite, so that the box limits the frequency of an unstable mode."""
        return bool(np.isfinite(self.circulatory))

    def __str__(self) -> str:
        if not self.dissipative:
            return "no box: damping gives energy to some motions"
        if not self.is_bounded:
            return (
                "no box: circulatory forces act where no damper does; a mode of any frequency can "
                "be unstable"
            )
        return (
            "an unstable mode would have a frequency up to "
            f"{self.angular_frequency / (2 * np.pi):.6g} Hz and grow at {self.growth:.6g} 1/s "
            f"or less (gyroscopic {self.gyroscopic:.4g} rad/s, "
            f"circulatory {self.circulatory:.4g} rad/s)"
        )
