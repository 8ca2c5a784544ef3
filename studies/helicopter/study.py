"""A four-bladed helicopter rotor on lag hinges with one lag damper out of work: ground resonance
that frozen modes and averaged multiblade coordinates do not see.

The hub's support differs in x and y. With all dampers the equations are constant in multiblade
coordinates; with one damper out they are constant in no frame. The rotor is there
twice: by six equations, and as a mechanism of rigid blades on hinges. Data after C. E. Hammond, J.
American Helicopter Society 19 (4), 1974.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

import assembly
import modal
from assembly.types import AnyArray
from modal import plot
from studies.figures import sheets
from studies.figures.drawing import drawing
from studies.reporting.output import NOWHERE, OutputFolder
from studies.reporting.protocol import RPM, report_of, rotor_speeds

__all__ = ["equations", "main", "model", "report"]


@dataclass(frozen=True)
class Rotor:
    """Data of Hammond (1974)."""

    hub_mass: tuple[float, float] = (8026.6, 3283.6)  # kg, along x and along y
    hub_stiffness: tuple[float, float] = (1240481.8, 1240481.8)  # N/m
    hub_damping: tuple[float, float] = (51078.7, 25539.3)  # N·s/m
    blade_mass: float = 94.9  # kg
    first_moment: float = 289.1  # kg·m about the lag hinge
    inertia: float = 1084.7  # kg·m² about the lag hinge
    hinge: float = 0.3048  # m from the shaft
    lag_damper: float = 4067.5  # N·m·s/rad


ROTOR = Rotor()
BLADES = ("b1", "b2", "b3", "b4")
Works = Sequence[bool]


class Equations:
    """The six equations of hub displacements x, y and lag angles ζ_1 … ζ_4.

    A point at r of blade b is at x + e cos ψ + r cos(ψ + ζ), y + e sin ψ + r sin(ψ + ζ). Lagrange's
    equations to first order: I ζ̈ + S(−ẍ sin ψ + ÿ cos ψ) + c ζ̇ + Ω²eS ζ = 0 and
    m ẍ − Σ d²/dt²(S ζ sin ψ) + … = 0, alike for y with cos ψ.
    """

    def __init__(self, omega: float, works: Works) -> None:
        self.omega, self.works, self.period = omega, tuple(works), 2.0 * np.pi / omega

    def freeze(self, t: float) -> assembly.FrozenSystem:
        """The frozen system at time t, s."""
        count, w, S = len(self.works), self.omega, ROTOR.first_moment
        psi = w * t + 2.0 * np.pi * np.arange(count) / count
        s, c, lag = np.sin(psi), np.cos(psi), np.arange(2, count + 2)
        M, C, D, K = (np.zeros((count + 2, count + 2)) for _ in range(4))
        M[:2, :2] = np.diag(ROTOR.hub_mass) + count * ROTOR.blade_mass * np.eye(2)
        D[:2, :2], K[:2, :2] = np.diag(ROTOR.hub_damping), np.diag(ROTOR.hub_stiffness)
        M[lag, lag], K[lag, lag] = ROTOR.inertia, w**2 * ROTOR.hinge * S
        D[lag, lag] = np.where(self.works, ROTOR.lag_damper, 0.0)
        M[0, lag] = M[lag, 0] = -S * s
        M[1, lag] = M[lag, 1] = S * c
        C[0, lag], C[1, lag] = -2.0 * w * S * c, -2.0 * w * S * s
        K[0, lag], K[1, lag] = w**2 * S * s, -(w**2) * S * c
        return assembly.FrozenSystem(M=M, C=C, D=D, K=K)


def equations(speed_rpm: float = 250.0, works: Works = (False, True, True, True)) -> Equations:
    """The rotor by its six equations.

    Parameters
    ----------
    speed_rpm : float
        Speed of the rotor, rpm.
    works : sequence of bool
        For each blade, whether its lag damper works.

    Returns
    -------
    Equations
        A model ``freeze(t)`` of the degrees of freedom x, y, ζ_1, ζ_2, …
    """
    return Equations(speed_rpm * np.pi / 30.0, works)


def model(speed_rpm: float = 250.0, works: Works = (False, True, True, True)) -> assembly.Mechanism:
    """The rotor as a mechanism: rigid blades on lag hinges of a hub that slides in its plane.

    Parameters
    ----------
    speed_rpm : float
        Speed of the rotor, rpm.
    works : sequence of bool
        For each blade, whether its lag damper works.

    Returns
    -------
    Mechanism
        With the blades "b1", "b2", …
    """
    heavy, light = ROTOR.hub_mass
    bodies = {
        "slide x": assembly.rigid_body(heavy - light, planar=True),
        "slide y": assembly.rigid_body(light, planar=True),
        "hub": assembly.rigid_body(0.0, planar=True),
    }
    joints = [
        assembly.prismatic("ground", (0, 0), "slide x", "origin", axis=(1, 0), name="x"),
        assembly.prismatic("slide x", "origin", "slide y", "origin", axis=(0, 1), name="y"),
        assembly.revolute("slide y", "origin", "hub", "origin", name="shaft"),
    ]
    drivers = [
        assembly.driver(name, 0.0, stiffness=k, damping=c)
        for name, k, c in zip("xy", ROTOR.hub_stiffness, ROTOR.hub_damping, strict=True)
    ]
    drivers.append(assembly.driver("shaft", speed_rpm * np.pi / 30.0))
    arm = ROTOR.first_moment / ROTOR.blade_mass
    about_centre = ROTOR.inertia - ROTOR.first_moment * arm
    initial = {}
    for b, damped in enumerate(works):
        angle = 2.0 * np.pi * b / len(works)
        along = np.array([np.cos(angle), np.sin(angle)])
        name, hinge = f"b{b + 1}", ROTOR.hinge * along
        bodies[name] = assembly.rigid_body(
            ROTOR.blade_mass, about_centre, centre=(*(arm * along), 0.0), planar=True
        )
        joints.append(assembly.revolute("hub", tuple(hinge), name, "origin", name=f"lag {b + 1}"))
        damping = ROTOR.lag_damper if damped else 0.0
        drivers.append(assembly.driver(f"lag {b + 1}", 0.0, stiffness=0.0, damping=damping))
        initial[name] = (*hinge, 0.0)
    return assembly.Mechanism(bodies, joints, drivers, initial=initial, name="helicopter rotor")


def geometry(
    family: modal.MultibladeFamily,
) -> Callable[[Mapping[str, float], AnyArray], list[modal.PlacedBody]]:
    """The placed bodies at a speed, with multiblade vectors, for `modal.explorer_view`.

    Parameters
    ----------
    family : MultibladeFamily
        Of the six equations: hub displacements x and y, then the lag angles.
    """
    hub = assembly.rigid_body(1.0, 1.0, planar=True, name="hub")
    section = assembly.rectangle(0.35, 0.06)  # as it is drawn; the blades are rigid
    length = 2.0 * ROTOR.first_moment / ROTOR.blade_mass  # m, of a uniform blade
    blade = assembly.beam(length, section, assembly.aluminium, 2, planar=True)
    place = blade.dofs.coordinates[blade.dofs.node, 0]

    def bodies(point: Mapping[str, float], vectors: AnyArray) -> list[modal.PlacedBody]:
        q = family.at(point["omega"]).physical(0.0, vectors)
        count = len(q) - 2
        azimuths = 2.0 * np.pi * np.arange(count) / count
        along = np.stack([np.cos(azimuths), np.sin(azimuths), 0.0 * azimuths], axis=1)
        hub_moves = np.vstack([q[:2], 0.0 * q[:1]])
        arms = tuple(ROTOR.hinge * along)
        placed = [modal.PlacedBody("hub", hub, hub_moves, np.zeros(3), np.eye(3), arms)]
        component = np.array([0, 1, 5]).searchsorted(blade.dofs.component)
        lag = np.choose(component, [0.0, place, 1.0])
        for b, e in enumerate(along):
            R = np.array([[e[0], -e[1], 0.0], [e[1], e[0], 0.0], [0.0, 0.0, 1.0]])
            of_hub = np.array([R[:2, 0] @ q[:2], R[:2, 1] @ q[:2], 0.0 * q[0]])[component]
            moved = of_hub + lag[:, None] * q[2 + b]
            placed.append(modal.PlacedBody(f"blade {b + 1}", blade, moved, ROTOR.hinge * e, R))
        return placed

    return bodies


RULES = modal.Rules(halvings=1, extra=0)  # of the Campbell diagram: no event is located
UNKNOWNS = [[2 + b] for b in range(len(BLADES))]  # of the equations: each blade's lag angle
CAMPBELL = (
    "Frequencies of the averaged multiblade equations. Each mode has the name of the coordinates"
    " that move most: collective, regressive, progressive, reactionless, or the support."
)


def _growth(verdict: xr.Dataset) -> Iterator[str]:
    """The largest growth rates over the speed, and where the verdicts differ."""
    yield "largest growth rate, 1/s"
    yield f"{'rpm':>8}{'frozen':>12}{'multiblade':>12}{'Floquet':>12}"
    for n, omega in enumerate(verdict["omega"].values):
        row = "".join(f"{value:12.6f}" for value in verdict["growth_rate"].values[n])
        yield f"{omega / RPM:8.1f}{row}"
    yield from [str(line) for line in np.atleast_1d(verdict.attrs["differences"])]


report = report_of(_growth)


@drawing("verdict.png")
def verdicts(axes: list[Axes], verdict: xr.Dataset) -> None:
    """Largest growth rate over the rotor's speed by three methods. Above zero the rotor is
    unstable. Shaded: a method's verdict differs from Floquet's, which is exact.
    """
    plot.rotor_verdict(verdict, axes[0])
    axes[0].set_title("helicopter rotor: largest growth rate")


@drawing("mode.png", rows=2, height=6.0)
def worst_mode(axes: list[Axes], modes: modal.FloquetModes, rpm: float) -> None:
    """The Floquet mode that grows most. Above: its harmonics on the hub and on the blades. Below:
    its amplitude over one turn, each curve relative to its largest value.
    """
    count = modes.vectors.shape[0] // 2
    mode = int(np.argmax(modes.exponents.real + 1e-9 * (modes.eigenvalues.imag > 0.0)))
    groups = {"hub": range(2), "blades": range(2, count)}
    plot.participation(modes.participation_of(groups).isel(mode=mode), axes[0])
    axes[0].set_title(f"{modes.frequency[mode]:.3f} Hz at {rpm:.4g} rpm")
    labels = ["hub x", "hub y", *(f"blade {b + 1}" for b in range(count - 2))]
    plot.periodic_mode(modes.orbit(mode), range(count), axes[1], labels)


def main(
    *,
    min_rpm: float = 50.0,
    max_rpm: float = 400.0,
    speeds: int = 24,
    damper_out: bool = True,
    mechanism: bool = False,
    out: OutputFolder = NOWHERE,
    progress: bool = False,
) -> xr.Dataset:
    """Ground resonance of a helicopter rotor: frozen, averaged multiblade and Floquet verdicts.

    Parameters
    ----------
    min_rpm, max_rpm : float
        Range of the rotor's speed, rpm.
    speeds : int
        Number of speeds.
    damper_out : bool
        Whether the lag damper of the first blade is out of work.
    mechanism : bool
        Whether the rotor is the mechanism of rigid blades; otherwise its six equations.
    out : OutputFolder, optional
        Folder for data and figures; nothing is written without it.
    progress : bool
        Whether to show progress.

    Returns
    -------
    Dataset
        The three verdicts over the speed, of `modal.rotor_verdict`.

    Raises
    ------
    InputError
        The range of speeds is empty or not positive.
    """
    omega = rotor_speeds(min_rpm, max_rpm, speeds)
    works = (not damper_out, True, True, True)
    make, blades = (model, BLADES) if mechanism else (equations, UNKNOWNS)
    verdict = modal.rotor_verdict(lambda w: make(w / RPM, works), omega, blades, progress=progress)
    out.write_dataset("verdict.nc", verdict)
    out.draw(verdicts(verdict))
    family = modal.multiblade(lambda w: equations(w / RPM, works), UNKNOWNS)
    tracks = family.track(omega, k=6, rules=RULES, progress=progress)
    out.write_dataset("multiblade.nc", tracks)
    title = "multiblade coordinates, averaged over the azimuth"
    out.draw(sheets.campbell_sheet("multiblade.png", tracks, title, CAMPBELL, (7.0, 4.0)))
    name = "multiblade modes at azimuth 0"
    out.explore(lambda: modal.explorer_view(tracks, family, title=name, geometry=geometry(family)))
    worst = float(omega[verdict["growth_rate"].sel(analysis="floquet").values.argmax()])
    rotor = equations(worst / RPM, works)
    out.draw(worst_mode(modal.floquet(rotor, rotor.period), worst / RPM))
    return verdict
