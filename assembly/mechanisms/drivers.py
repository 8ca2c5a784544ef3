"""Drivers of a mechanism: motors that prescribe the motion of a joint, rigid or elastic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np

from assembly.arguments import check_choice
from assembly.errors import MechanismError
from assembly.motion.laws import Law, as_law

Coefficient = float | Callable[[float], float]


@dataclass(frozen=True)
class Driver:
    """A motor: prescribes the angle (rad) or the displacement (m) of a joint by a law of time.

    Parameters
    ----------
    joint : str
        Name of the joint.
    law : Law
        (q, q̇, q̈) over time.
    held : bool
        Whether the driver also constrains the elastic degrees of freedom. A driver that does not
        only maintains the rigid motion: its force is applied as a load, and the rigid velocity
        field of the mechanism stays free.
    of : {"angle", "displacement", None}
        Which motion of a cylindrical joint.
    stiffness : float or callable, optional
        Of the spring between the motor and the joint, N·m/rad or N/m; a function of time (s) or a
        number. None: rigid. 0: a hinge that is free to vibrate about the law.
    damping : float or callable
        Of the damper between the two bodies of the joint, N·m·s/rad or N·s/m.

    Raises
    ------
    MechanismError
        For a stiffness of a driver with ``held=False``, or a constant that is negative or not
        finite.
    """

    joint: str
    law: Law
    held: bool = True
    of: Literal["angle", "displacement"] | None = None
    stiffness: Coefficient | None = None
    damping: Coefficient = 0.0

    def __post_init__(self) -> None:
        if self.gives and not self.held:
            raise MechanismError(
                f"driver of joint {self.joint}: a stiffness and held=False exclude each other; "
                "stiffness=0 is a hinge that vibrates, held=False one that moves off"
            )
        choices = ("angle", "displacement", None)
        check_choice(self.of, choices, f"driver of joint {self.joint}: of", MechanismError)
        for name in ("stiffness", "damping"):
            value = getattr(self, name)
            if value is not None and not callable(value):
                self._checked(name, value)

    @property
    def gives(self) -> bool:
        """Whether the drive is elastic: its joint vibrates about the law."""
        return self.stiffness is not None

    @property
    def carries(self) -> bool:
        """Whether a spring transmits the drive's force, so that it deflects under it."""
        return self.gives and (callable(self.stiffness) or self.stiffness != 0.0)

    def stiffness_at(self, t: float) -> float:
        """Stiffness at time t (s), N·m/rad or N/m; zero of a rigid drive."""
        return self._value("stiffness", 0.0 if self.stiffness is None else self.stiffness, t)

    def damping_at(self, t: float) -> float:
        """Damping at time t (s), N·m·s/rad or N·s/m."""
        return self._value("damping", self.damping, t)

    def rate_at(self, t: float) -> float:
        """Rate of the law at time t (s), rad/s or m/s."""
        return self.law.at(t)[1]

    def _value(self, name: str, value: Coefficient, t: float) -> float:
        return self._checked(name, value(t), t) if callable(value) else float(value)

    def _checked(self, name: str, value: Any, t: float | None = None) -> float:
        if not (isinstance(value, Real) and 0.0 <= float(value) < np.inf):
            when = "" if t is None else f" at t = {t:g} s"
            raise MechanismError(
                f"driver of joint {self.joint}: {name}{when} must be a finite number that is not "
                f"negative, got {value!r}"
            )
        return float(value)


def driver(
    joint: str,
    law: Law | float | Callable[[float], tuple[float, float, float]],
    *,
    held: bool = True,
    of: Literal["angle", "displacement"] | None = None,
    stiffness: Coefficient | None = None,
    damping: Coefficient = 0.0,
) -> Driver:
    """A driver of a joint, rigid or elastic.

    Parameters
    ----------
    joint : str
        Name of a revolute, prismatic or cylindrical joint.
    law : float, Law or callable
        A constant rate (rad/s or m/s), a law, or a function t → (q, q̇, q̈).
    held : bool
        Whether the driver also constrains the elastic degrees of freedom; see `Driver`.
    of : {"angle", "displacement", None}
        Which motion of a cylindrical joint.
    stiffness : float or callable, optional
        Stiffness of the spring between the motor and the joint, N·m/rad or N/m, or a function of
        time (s). The joint then vibrates about the law, and its modes are elastic, for a stiffness
        of 0 too: a free hinge whose mean motion is the law. None: a rigid drive.
    damping : float or callable
        Viscous damping between the two bodies of the joint, N·m·s/rad or N·s/m, or a function of
        time (s). It resists the whole motion of the joint: the steady part is supplied by the drive
        (`Mechanism.driving`).

    Returns
    -------
    Driver

    Raises
    ------
    MotionError
        For a law that is none of these.
    MechanismError
        For a stiffness or damping that cannot be used.

    Examples
    --------
    A gear of 2·10⁴ N·m/rad, and a lag hinge with a damper.

    >>> import assembly
    >>> gear = assembly.driver("A", 100.0, stiffness=2e4, damping=5.0)
    >>> lag = assembly.driver("hinge", 0.0, stiffness=0.0, damping=4067.5)
    """
    return Driver(joint, as_law(law), held, of, stiffness, damping)
