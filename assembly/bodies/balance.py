"""Energy, momentum and power of a model at finite displacements, at one instant."""

from __future__ import annotations

from dataclasses import dataclass

from assembly.types import Array


@dataclass(frozen=True)
class Energies:
    """Energy of a state.

    Parameters
    ----------
    kinetic : float
        Of the absolute motion, J.
    strain : float
        Of elements, springs and bushings, with the work of preloads, J.
    gravity : float
        Potential of the weight, zero at the origin of the fixed axes, J.
    """

    kinetic: float
    strain: float
    gravity: float

    @property
    def total(self) -> float:
        """Kinetic energy and potentials, J."""
        return self.kinetic + self.strain + self.gravity


@dataclass(frozen=True)
class Momenta:
    """Momentum of a state, fixed axes.

    Parameters
    ----------
    linear : ndarray, shape (3,)
        N·s.
    angular : ndarray, shape (3,)
        About the origin of the fixed axes, N·m·s.
    """

    linear: Array
    angular: Array


@dataclass(frozen=True)
class Powers:
    """What changes the energy of a state, W.

    Parameters
    ----------
    loads : float
        Of applied loads.
    drives : float
        Of drives, and of what moves or holds a body's frame.
    dampers : float
        Of dampers and internal damping; never positive.
    """

    loads: float
    drives: float
    dampers: float
