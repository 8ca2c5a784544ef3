"""A model frozen about the states of its own nonlinear transient."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from scipy.interpolate import CubicHermiteSpline

from assembly.errors import InputError
from assembly.linalg.factorization import Factorization
from assembly.system.frozen import FrozenSystem


class Along:
    """The frozen systems about q(t), q̇(t), q̈(t) of a transient at finite displacements.

    response: of `integrate(model, ..., nonlinear=True, probes="all")` without loads. Between its
    records q is the cubic through displacements and velocities; q̈ is what the equations say.
    """

    def __init__(self, model: Any, response: xr.Dataset) -> None:
        attributes = getattr(response, "attrs", {})
        if not attributes.get("nonlinear") or not callable(getattr(model, "displaced", None)):
            raise InputError(
                "along: expected a mechanism and its transient of integrate(..., nonlinear=True)"
            )
        if attributes.get("loads") != "()":
            raise InputError("along: expected a transient without loads")
        numbers, n = response["unknown"].values, int(attributes["unknowns"])
        if not np.array_equal(numbers, np.arange(n)):
            raise InputError('along: the transient must have all DOFs, probes="all"')
        self.model, self.times = model, response["time"].values
        self._path = CubicHermiteSpline(
            self.times, response["displacement"].values, response["velocity"].values
        )
        self._near: Any = None

    def freeze(self, t: float) -> FrozenSystem:
        """The frozen system about the state at time t (s)."""
        if not self.times[0] <= t <= self.times[-1]:
            raise InputError(
                f"along: t = {t:.6g} s is outside the transient, {self.times[0]:.6g} to "
                f"{self.times[-1]:.6g} s"
            )
        q, v = self._path(t), self._path(t, 1)
        still = self.model.displaced(t, q, v, 0.0 * q, near=self._near)
        with Factorization(still.tangents()[0], "general") as factor:
            a = -np.asarray(factor.solve(still.residual))
        self._near = self.model.displaced(t, q, v, a, near=still)
        system: FrozenSystem = self._near.system()
        return system
