"""Section c of Vlase, Nicolescu & Marin (2020): sections, excitation frequencies and masses of the
rotating bar.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from tqdm import tqdm

from studies.rotating_bar.bar import AREA, EXCITATION, MASS, OMEGA, frozen, model, transient
from studies.rotating_bar.exact import response

Array = NDArray[np.float64]

SECTIONS = (1e-5, 2e-5, 4e-5, 6e-5)  # m², figures 9–12
SPEEDS = (15.0, 75.0, 150.0)  # rad/s; the paper varies the rotation too, without its values
EXCITATIONS = (100.0, 200.0, 300.0)  # rad/s = 50/π, 100/π, 150/π Hz, figure 13
MASSES = (1.0, 0.5, 0.25)  # kg, figure 14
STEP = 1e-4  # s, of the sixth-order runs


def parameter_studies(
    elements: int, force: float, duration: float, progress: bool = False
) -> xr.Dataset:
    """Tip displacement over sections and speeds, excitation frequencies, and masses (undamped).

    Hamilton's equations by Gauss collocation of order 6; `*_error` is the largest difference from
    the closed form, relative to the largest displacement.
    """

    def tip(area: float, mass: float, omega: float, excitation: float) -> tuple[Array, float]:
        system = frozen(model(elements, area, mass), omega)
        run = transient(system, force, excitation, duration, "hamilton", "gauss6", STEP)
        push = np.zeros(system.n)
        push[-1] = force
        exact = response(system, push, excitation, run["time"].values)[:, -1]
        displacement = run["displacement"].values[:, -1]
        return displacement, float(np.abs(displacement - exact).max() / np.abs(exact).max())

    count = len(SECTIONS) * len(SPEEDS) + len(EXCITATIONS) + len(MASSES)
    with tqdm(total=count, desc="parameters", disable=not progress) as bar:

        def run(*arguments: float) -> tuple[Array, float]:
            done = tip(*arguments)
            bar.update(1)
            return done

        by_section = [[run(A, MASS, w, EXCITATION) for w in SPEEDS] for A in SECTIONS]
        by_excitation = [run(AREA, MASS, OMEGA, f) for f in EXCITATIONS]
        by_mass = [run(AREA, m, OMEGA, EXCITATION) for m in MASSES]
    instants = np.linspace(0.0, duration, len(by_mass[0][0]))
    return xr.Dataset(
        {
            "tip_by_section": (
                ("section", "speed", "instant"),
                np.array([[r[0] for r in row] for row in by_section]),
            ),
            "tip_by_section_error": (
                ("section", "speed"),
                np.array([[r[1] for r in row] for row in by_section]),
            ),
            "tip_by_excitation": (
                ("excitation", "instant"),
                np.array([r[0] for r in by_excitation]),
            ),
            "tip_by_excitation_error": (
                "excitation",
                np.array([r[1] for r in by_excitation]),
            ),
            "tip_by_mass": (("mass", "instant"), np.array([r[0] for r in by_mass])),
            "tip_by_mass_error": ("mass", np.array([r[1] for r in by_mass])),
        },
        coords={
            "instant": instants,
            "section": list(SECTIONS),
            "speed": list(SPEEDS),
            "excitation": list(EXCITATIONS),
            "mass": list(MASSES),
        },
    )
