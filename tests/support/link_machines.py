"""Mechanisms with large elastic links, and the errors of their reduced bases over the bounds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

import assembly
import modal
from assembly.bodies.body import Body
from assembly.gallery import block, four_bar, sheet, solid_slider_crank
from assembly.mechanisms.mechanism import Mechanism
from tests.support.full_mechanism import FullMechanism

STEEL, SOFT = assembly.steel, assembly.Material(E=7e9, nu=0.3, rho=1500.0)
INSTANTS, COMPARED = 9, 2


def strip(length: float, elements: int = 70, planar: bool = True) -> Body:
    """A beam of more than 200 degrees of freedom."""
    return assembly.beam(length, assembly.rectangle(0.02, 0.01), STEEL, elements, planar=planar)


def bar(length: float, element: str = "hex20", cells: int = 6) -> Body:
    """A solid bar along x from the origin."""
    size, origin = (length, 0.02, 0.02), (0.0, -0.01, -0.01)
    return block(cells, 1, 1, element, size, origin, STEEL, clamped=None)


def planar_slider(rod: Body, ends: tuple[Any, Any], **more: Any) -> Mechanism:
    """A slider-crank in the plane with a rigid crank of 0.1 m."""
    return Mechanism(
        {
            "crank": assembly.rigid_body(0.3, 3e-4, centre=(0.05, 0, 0), planar=True),
            "rod": rod,
            "slider": assembly.rigid_body(0.4, planar=True),
        },
        [
            assembly.revolute("ground", (0, 0), "crank", (0, 0), name="A"),
            assembly.revolute("crank", (0.1, 0), "rod", ends[0], name="B"),
            assembly.revolute("rod", ends[1], "slider", (0, 0), name="C"),
            assembly.prismatic("ground", (0, 0), "slider", (0, 0), axis=(1, 0), name="D"),
        ],
        [assembly.driver("A", 90.0)],
        initial={"rod": (0.1, 0, 0), "slider": (0.4, 0, 0)},
        **more,
    )


def plane_rod() -> Mechanism:
    return planar_slider(
        sheet(20, 2, "q8", (0.3, 0.02), (0.0, -0.01), STEEL, clamped=None), ("x0", "x1")
    )


def loaded_beam() -> Mechanism:
    rod = strip(0.3).with_damping(a=2.0, b=1e-6)
    pull = assembly.Load("rod", 35, lambda t: (0.0, 20.0 * np.cos(90.0 * t)))
    push = assembly.Load("rod", 50, (5.0, 0.0), follower=True)
    return planar_slider(rod, ("start", "end"), loads=[pull, push], gravity=(0, -9.81, 0))


def two_solids() -> Mechanism:
    crank = bar(0.1, cells=4)
    return Mechanism(
        {"crank": crank, "rod": bar(0.3), "slider": assembly.rigid_body(0.5, (1e-4,) * 3)},
        [
            assembly.revolute("ground", (0, 0, 0), "crank", "x0", axis=(0, 0, 1), name="A"),
            assembly.universal(
                "crank", "x1", "rod", "x0", axis=(0, 0, 1), axis_second=(0, 1, 0), name="B"
            ),
            assembly.spherical("rod", "x1", "slider", (0, 0, 0), name="C"),
            assembly.prismatic("ground", (0, 0, 0), "slider", (0, 0, 0), axis=(1, 0, 0), name="D"),
        ],
        [assembly.driver("A", 120.0)],
        initial={"rod": (0.1, 0, 0, 0, 0, 0), "slider": (0.4, 0, 0, 0, 0, 0)},
    )


def arm(**more: Any) -> Mechanism:
    """An open arm of two solid links."""
    return Mechanism(
        {"upper": bar(0.4), "lower": bar(0.3, "hex8", 24)},
        [
            assembly.revolute("ground", (0, 0, 0), "upper", "x0", axis=(0, 0, 1), name="A"),
            assembly.revolute("upper", "x1", "lower", "x0", axis=(0, 1, 0), name="B"),
        ],
        [assembly.driver("A", 30.0, **more), assembly.driver("B", 30.0)],
        initial={"lower": (0.4, 0, 0, 0, 0, 0)},
        gravity=(0, 0, -9.81),
    )


def chain() -> Mechanism:
    """An open chain of four driven beams in the plane."""
    names = ["one", "two", "three", "four"]
    joints = [assembly.revolute("ground", (0, 0), "one", "start", name="A0")]
    joints += [
        assembly.revolute(a, "end", b, "start", name=f"A{k + 1}")
        for k, (a, b) in enumerate(pairwise(names))
    ]
    return Mechanism(
        {name: strip(0.2) for name in names},
        joints,
        [assembly.driver(f"A{k}", 20.0 * (-1) ** k) for k in range(4)],
        initial={name: (0.2 * k, 0, 0) for k, name in enumerate(names)},
    )


def rotating_beam() -> Mechanism:
    return Mechanism(
        {"beam": strip(0.5, 40, planar=False)},
        [assembly.revolute("ground", (0, 0, 0), "beam", "start", axis=(0, 0, 1), name="A")],
        [assembly.driver("A", 80.0)],
        gravity=(0, 0, -9.81),
    )


def bushed() -> Mechanism:
    """A solid bar that a rigid hub carries on a bushing."""
    k6 = np.diag([4e6, 3e6, 3e6, 2e3, 3e3, 3e3])
    return Mechanism(
        {"hub": assembly.rigid_body(0.5, (2e-3,) * 3), "bar": bar(0.3)},
        [assembly.revolute("ground", (0, 0, 0), "hub", (0, 0, 0), axis=(0, 0, 1), name="A")],
        [assembly.driver("A", 100.0)],
        bushings=[
            assembly.bushing(
                "hub", (0.05, 0, 0), "bar", "x0", stiffness=k6, damping=1e-5 * k6, name="mount"
            )
        ],
        initial={"bar": (0.05, 0, 0, 0, 0, 0)},
    )


def driven_arm() -> Mechanism:
    """A solid arm on an elastic drive that swings a tool on a bushing."""
    arm = block(8, 2, 2, "hex20", (0.6, 0.05, 0.04), (0.0, -0.025, -0.02), STEEL, clamped=None)
    return Mechanism(
        {"arm": arm, "tool": assembly.rigid_body(6.0, 0.02, centre=(0.05, 0.02, 0))},
        [assembly.revolute("ground", (0, 0, 0), "arm", "x0", axis=(0, 0, 1), name="A")],
        [assembly.driver("A", assembly.Harmonic(0.5, 8.0), stiffness=3e4, damping=12.0)],
        bushings=[
            assembly.bushing(
                "arm",
                "x1",
                "tool",
                (0, 0, 0),
                stiffness=(2e7, 8e6, 8e6, 2e4, 3e4, 3e4),
                damping=(100, 50, 50, 0.5, 0.5, 0.5),
                name="mount",
            )
        ],
        gravity=(0, -9.81, 0),
    )


MACHINES: dict[str, Callable[[], Mechanism]] = {
    "solid rod": lambda: solid_slider_crank((6, 1, 1))(157.0),
    "damped solid rod": lambda: solid_slider_crank((20, 2, 2), "hex8", (5.0, 1e-6))(157.0),
    "two solids": two_solids,
    "plane rod": plane_rod,
    "loaded beam": loaded_beam,
    "four-bar": lambda: four_bar(strip),
    "arm": arm,
    "arm, elastic drive": lambda: arm(stiffness=5e4, damping=5.0),
    "chain": chain,
    "rotating beam": rotating_beam,
    "bushing": bushed,
    "drive and bushing": driven_arm,
    "tetrahedra": lambda: solid_slider_crank((8, 1, 1), "tet10")(157.0),
}


def ratios(mechanism: Mechanism, k: int = 5, seed: int = 1, tolerance: float = 1e-6) -> np.ndarray:
    """Errors of eigenvalues over what the stated bounds allow, at random instants of a turn."""
    span = mechanism.period or 0.2
    times = np.linspace(0.0, span, INSTANTS)
    tracks = modal.track(mechanism, times=times, k=k, tolerance=tolerance, progress=False)
    assert tracks.attrs["solver"].startswith("reduced bases of links"), tracks.attrs["solver"]
    out = []
    for n in np.random.default_rng(seed).choice(INSTANTS, COMPARED, replace=False):
        full = modal.solve(mechanism.freeze_many([times[n]])[0], k=k)
        here = tracks.isel(time=int(n))
        lam = here.eigenvalue.values
        bound = (here.condition_number * here.backward_error).values * np.abs(lam)
        for exact, own in zip(full.eigenvalues[: k - 1], full.error_bound, strict=False):
            apart = np.minimum(np.abs(lam - exact), np.abs(lam.conj() - exact))
            out.append(np.nanmin(apart / (bound + own)))
    return np.array(out)


def transient_ratio(mechanism: Mechanism, steps: int = 12, seed: int = 3) -> float:
    """Error of a transient over the one that it states, against full order in the same steps: from
    a random mixture of the lowest modes, which the steps resolve."""
    full = FullMechanism(mechanism)
    here = full.freeze(0.0)
    modes = modal.solve(here, k=4)
    weights = np.random.default_rng(seed).standard_normal(len(modes.eigenvalues))
    q, v = (modes.right @ w for w in (weights, weights * modes.eigenvalues))
    h = 1.0 / float(np.abs(modes.eigenvalues).max())
    found, exact = (
        modal.integrate(model, (0.0, steps * h), (q.real, v.real), step=h, probes="all")
        for model in (mechanism, full)
    )

    def size(x: np.ndarray) -> float:
        return float(np.sqrt(np.maximum((x * (here.M @ x.T).T).sum(axis=1), 0.0)).max())

    error = size((found - exact).displacement.values) / size(exact.displacement.values)
    return error / float(found.attrs["basis_error"])
