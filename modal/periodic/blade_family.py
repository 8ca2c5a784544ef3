"""A rotor at any speed in multiblade coordinates, averaged over the azimuth: a Campbell diagram
whose modes have names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from assembly.errors import InputError
from assembly.system.frozen import FrozenSystem
from modal.data.datasets import described
from modal.data.variables import MULTIBLADE
from modal.eigen.modes import Modes
from modal.eigen.solve import solve
from modal.periodic.blade_modes import GROUPS, names_of
from modal.periodic.blade_sets import Blade, transformation
from modal.periodic.multiblade_model import MultibladeModel
from modal.tracking.tracking import track
from modal.types import Array, Complex


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
