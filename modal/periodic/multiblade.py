"""Multiblade coordinates of a rotor: `modal.multiblade`.

The equations are constant where blades and support are alike in all directions (J. M. Skjoldan and
M. H. Hansen, Wind Energy 12, 2009), and have the period of the rotation otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from assembly.errors import InputError
from assembly.system.frozen import FrozenSystem
from modal.data.datasets import described
from modal.data.variables import MULTIBLADE
from modal.eigen.modes import Modes
from modal.eigen.solve import solve
from modal.periodic.blade_sets import Blade, transformation
from modal.periodic.coleman import GROUPS, names_of
from modal.periodic.multiblade_model import MultibladeModel
from modal.tracking.tracking import track
from modal.transient.equations import is_second_order
from modal.types import Array, Complex


@overload
def multiblade(
    model: Callable[[float], Any],
    blades: Sequence[Blade],
    *,
    turning: Sequence[Sequence[int]] = ...,
) -> MultibladeFamily: ...
@overload
def multiblade(
    model: Any,
    blades: Sequence[Blade],
    rate: float | None = ...,
    *,
    turning: Sequence[Sequence[int]] = ...,
    average: bool = ...,
) -> MultibladeModel: ...
def multiblade(
    model: Any,
    blades: Sequence[Blade],
    rate: float | None = None,
    *,
    turning: Sequence[Sequence[int]] = (),
    average: bool = False,
) -> MultibladeModel | MultibladeFamily:
    """A rotor in multiblade coordinates, in which its equations are constant where they can be.

    Parameters
    ----------
    model : object with ``freeze(t)``, or callable ``model(omega)``
        A mechanism or any model whose blades' degrees of freedom turn with the blades, or a
        function of the speed (rad/s) that returns one.
    blades : sequence of str, of sequences of str, or of sequences of int
        Three blades or more: for a mechanism the name of each blade's body (or of its bodies), for
        any model the numbers of the degrees of freedom of each blade, the same order in every
        blade. Numbers: blade b is ahead of the first by 2πb/N in the direction of the rotation.
        Bodies: the rotations of their frames tell their azimuths.
    rate : float, optional
        Speed of the rotor, rad/s, constant. A mechanism knows it.
    turning : sequence of pairs of int, optional
        Numbers of the pairs (x, y) of other degrees of freedom, such as those of a hub, in axes
        that turn with the rotor; x to y is the direction of a positive rate. A mechanism knows
        them.
    average : bool, default False
        ``freeze`` returns the mean over the azimuth, whatever the time.

    Returns
    -------
    MultibladeModel or MultibladeFamily
        A model (``freeze(t)``) of the same size, printable. For a function of the speed: a model
        ``freeze(omega)`` of the means over the azimuth, whose `track` names the modes.

    Raises
    ------
    InputError
        An argument cannot be used, or the blades are not alike in number of degrees of freedom or
        not evenly spaced.

    Notes
    -----
    q_b = a_0 + Σ (a_nc cos nψ_b + a_ns sin nψ_b) + (−1)ᵇ a_d (Coleman and Feingold, NACA Report
    1351, 1958). Stability does not change: z is bounded where q is. See docs/theory.md, "Rotors
    with blades".

    Examples
    --------
    Three pendula of 1 kg at 1 m from the hub, hinged at 0.2 m, on a wheel that only turns:

    >>> import numpy as np, assembly, modal
    >>> lag = assembly.FrozenSystem(M=np.eye(3), K=0.25 * 30.0**2 * np.eye(3))
    >>> fixed = modal.multiblade(lag, blades=([0], [1], [2]), rate=30.0)
    >>> fixed.is_constant
    True
    >>> modes = modal.solve(fixed.freeze(), k=3)
    >>> modes.eigenvalues.imag.round(6).tolist()
    [15.0, 15.0, 45.0]
    >>> sorted(fixed.names(modes))
    ['collective', 'progressive', 'regressive']
    """
    if callable(model) and (isinstance(model, type) or not hasattr(model, "freeze")):
        if rate is not None or average:
            raise InputError("rate, average: a function of the speed has its own speeds and means")
        return MultibladeFamily(model, blades, turning)
    is_second_order(model)
    return MultibladeModel(*transformation(model, blades, rate, turning), average)


class MultibladeFamily:
    """The models of a rotor over its speed. Made by `multiblade` from a function of the speed.

    Parameters
    ----------
    make : callable ``make(omega)``
        Returns the model at a speed, rad/s.
    blades, turning
        As of `multiblade`.
    """

    def __init__(
        self,
        make: Callable[[float], Any],
        blades: Sequence[Blade],
        turning: Sequence[Sequence[int]] = (),
    ) -> None:
        self._make, self._blades, self._turning = make, blades, turning
        self._last: tuple[float, MultibladeModel] | None = None

    def at(self, omega: float) -> MultibladeModel:
        """The model at one speed, periodic where it is.

        Parameters
        ----------
        omega : float
            Speed of the rotor, rad/s.

        Returns
        -------
        MultibladeModel
        """
        if self._last is None or self._last[0] != omega:
            model = self._make(float(omega))
            alike = transformation(model, self._blades, float(omega), self._turning)
            self._last = (float(omega), MultibladeModel(*alike))
        return self._last[1]

    def freeze(self, omega: float) -> FrozenSystem:
        """The mean of the matrices over the azimuth.

        Parameters
        ----------
        omega : float
            Speed of the rotor, rad/s.

        Returns
        -------
        FrozenSystem
        """
        system = self.at(omega).mean
        system.parameters["omega"] = float(omega)
        return system

    def track(self, omega: ArrayLike, k: int = 6, **options: Any) -> xr.Dataset:
        """The modes of the mean over the speed, with their names.

        Parameters
        ----------
        omega : array_like, shape (T,)
            Speeds, rad/s.
        k : int
            Number of modes to follow.
        **options
            Of `modal.track`, but for `solver` and `backend`.

        Returns
        -------
        xarray.Dataset
            Of `modal.track`, with `share` (omega, mode, group) and `name` (omega, mode): the group
            of the multiblade coordinates with the largest share of the kinetic energy.

        Raises
        ------
        InputError
            As `modal.track` does.
        """
        speeds = np.asarray(omega, dtype=float)
        seen: dict[float, tuple[Complex, Array]] = {}

        def multiblade_modes(system: FrozenSystem, count: int) -> Modes:
            modes = solve(system, k=count)
            speed = float(system.parameters["omega"])
            seen[speed] = (modes.eigenvalues, self.at(speed).shares(modes).values)
            return modes

        if "solver" in options or "backend" in options:
            raise InputError("track: the modes of a rotor with names come from modal.solve")
        tracks = track(self, k=k, omega=speeds, solver=multiblade_modes, **options)
        values = tracks["eigenvalue"].values
        shares = np.full((*values.shape, len(GROUPS)), np.nan)
        for i, speed in enumerate(speeds):
            eigenvalues, share = seen[float(speed)]
            for j in np.flatnonzero(np.isfinite(values[i])):
                distance = np.abs(eigenvalues - values[i, j])
                conjugate = np.abs(eigenvalues.conj() - values[i, j])
                shares[i, j] = share[np.minimum(distance, conjugate).argmin()]
        largest = np.array([names_of(row) for row in np.nan_to_num(shares)])
        names = np.where(np.isfinite(values), largest, "none")
        named = tracks.assign_coords(group=("group", list(GROUPS))).assign(
            share=(("omega", "mode", "group"), shares), name=(("omega", "mode"), names)
        )
        return described(named, MULTIBLADE)
