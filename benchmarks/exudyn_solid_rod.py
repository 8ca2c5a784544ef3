"""A slider-crank with a solid rod beside Exudyn's floating frame with reduced modes.

    python -m benchmarks.exudyn_solid_rod [--cells 8 1 1] [--speeds 2 20 157] [--full]
    python -m benchmarks.exudyn_solid_rod --cells 39 7 7 --speeds 157 --repeats 1   # 28,608 DOFs

Both programs take the same mass and stiffness matrix of the rod. Exudyn's are reduced to
Hurty-Craig-Bampton modes with averaged interfaces (`FEMinterface`, RBE3), as many as the rod's
basis here has elastic shapes; its module without range checks is used. The rod gets a transverse
velocity at the start of a turn; both programs take the same steps of generalised-α. Exudyn's
equations are nonlinear and its rod moves under its inertia too: its curve is the difference of two
runs, with and without that velocity, and one of them is timed. Times are medians of processor
times, both programs in turn.

Exudyn's elasticity is linear in its floating frame. Two frames are compared:

- "first interface": the frame follows the first interface (`excludeRigidBodyMotion`, its default);
- "mean axes": the same modes less their rigid parts, so that the frame follows the mean motion.

Each is compared with the transients here with and without the prestress, and with `--full` the
errors are those against the transient of all degrees of freedom.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import modal
from assembly.gallery import solid_slider_crank
from assembly.mechanisms.mechanism import Mechanism
from assembly.system.frozen import FrozenSeries, FrozenSystem
from tests.support.full_mechanism import FullMechanism

Array = NDArray[np.float64]

CRANK, ROD, SLIDER = 0.1, 0.3, 0.5  # m, m, kg, of `solid_slider_crank`
SWUNG = 0.03  # m/s, at the middle of the rod
PROBE = 0.45 * ROD  # m, where the deflection is taken
STEPS = 1000
DURATION = 0.04  # s: a turn at 157 rad/s


@dataclass(frozen=True)
class Rod:
    """Nodes (N, 3), mass and stiffness (3N, 3N), node numbers of both ends and of the probe."""

    nodes: Array
    M: Any
    K: Any
    ends: tuple[list[int], list[int]]
    probe: int

    @classmethod
    def of(cls, mechanism: Mechanism) -> Rod:
        """That of a mechanism."""
        body = mechanism.bodies["rod"]
        here, x = body.freeze(), body.dofs.coordinates
        first, last = (np.flatnonzero(np.isclose(x[:, 0], end)).tolist() for end in (0.0, ROD))
        probe = int(np.linalg.norm(x - (PROBE, 0.0, 0.0), axis=1).argmin())
        return cls(x, here.M.tocsr(), here.K.tocsr(), (first, last), probe)

    @property
    def rigid(self) -> Array:
        """The rigid motions (3N, 6): translations, and rotations about the origin."""
        rotations = np.cross(np.eye(3)[:, None], self.nodes[None])
        translations = np.tile(np.eye(3), (len(self.nodes), 1))
        return np.hstack([translations, rotations.reshape(3, -1).T])

    def field(self) -> Array:
        """The velocity (N, 3), m/s, at the start: bending without shear, at rest at the joints."""
        x, y = self.nodes[:, 0], self.nodes[:, 1]
        k = 2.0 * np.pi / ROD
        out = np.zeros(self.nodes.shape)
        out[:, 0] = -y * 0.5 * SWUNG * k * np.sin(k * x)
        out[:, 1] = 0.5 * SWUNG * (1.0 - np.cos(k * x))
        return out


class Peer:
    """The machine in Exudyn, the crank along the rod at t = 0."""

    def __init__(self, rod: Rod, modes: int, mean_axes: bool) -> None:
        from exudyn import FEM

        self.rod, interface = rod, FEM.FEMinterface()
        interface.nodes = {"Position": rod.nodes}
        interface.massMatrix, interface.stiffnessMatrix = rod.M, rod.K
        interface.ComputeHurtyCraigBamptonModes(
            list(rod.ends), modes - 6, computationMode=FEM.HCBstaticModeSelection.RBE3
        )
        shapes, rigid = np.asarray(interface.modeBasis["matrix"]), rod.rigid
        if mean_axes:
            mass = rigid.T @ (rod.M @ rigid)
            shapes = shapes - rigid @ np.linalg.solve(mass, rigid.T @ (rod.M @ shapes))
            interface.modeBasis["matrix"] = shapes
        every = np.hstack([rigid, shapes])
        gram = every.T @ (rod.M @ every)
        self.start = np.linalg.solve(gram, every.T @ (rod.M @ rod.field().ravel()))
        self.interface = FEM.ObjectFFRFreducedOrderInterface(interface)

    def turn(self, speed: float, swung: float, steps: int = STEPS) -> Array:
        """Positions (steps + 1, 3) of the probe; `swung` times the velocity at the start."""
        import exudyn as exu
        from exudyn import itemInterface as item

        mbs = exu.SystemContainer().AddSystem()
        ground = mbs.AddNode(item.NodePointGround())

        def hold(node: int, coordinate: int, **options: Any) -> None:
            markers = [
                mbs.AddMarker(item.MarkerNodeCoordinate(nodeNumber=n, coordinate=c))
                for n, c in ((ground, 0), (node, coordinate))
            ]
            mbs.AddObject(item.CoordinateConstraint(markerNumbers=markers, **options))

        crank = mbs.AddNode(item.NodeRigidBody2D(initialVelocities=[0.0, 0.0, speed]))
        body = mbs.AddObject(item.ObjectRigidBody2D(mass=0.5, inertia=1e-4, nodeNumber=crank))
        hold(crank, 0)
        hold(crank, 1)
        hold(crank, 2, velocityLevel=True, offset=speed)
        own = swung * self.start
        self.interface.AddObjectFFRFreducedOrder(
            mbs,
            positionRef=[CRANK, 0.0, 0.0],
            initialVelocity=own[:3] + [0.0, CRANK * speed, 0.0],
            initialAngularVelocity=own[3:6] + [0.0, 0.0, -CRANK * speed / ROD],
        )
        rod, generic = self.interface.oFFRFreducedOrder, self.interface.nGenericODE2
        mbs.SetNodeParameter(generic, "initialCoordinates_t", list(own[6:]))
        near, far = (
            item.MarkerSuperElementRigid(
                bodyNumber=rod,
                meshNodeNumbers=nodes,
                weightingFactors=[1.0 / len(nodes)] * len(nodes),
            )
            for nodes in self.rod.ends
        )
        pin = mbs.AddMarker(item.MarkerBodyRigid(bodyNumber=body, localPosition=[CRANK, 0.0, 0.0]))
        mbs.AddObject(
            item.GenericJoint(
                markerNumbers=[pin, mbs.AddMarker(near)], constrainedAxes=[1, 1, 1, 1, 0, 0]
            )
        )
        slider = mbs.AddNode(item.NodePoint(referenceCoordinates=[CRANK + ROD, 0.0, 0.0]))
        mass = mbs.AddObject(item.MassPoint(mass=SLIDER, nodeNumber=slider))
        hold(slider, 1)
        hold(slider, 2)
        at = mbs.AddMarker(item.MarkerBodyPosition(bodyNumber=mass))
        mbs.AddObject(item.SphericalJoint(markerNumbers=[at, mbs.AddMarker(far)]))
        sensor = mbs.AddSensor(
            item.SensorSuperElement(
                bodyNumber=rod,
                meshNodeNumber=self.rod.probe,
                outputVariableType=exu.OutputVariableType.Position,
                storeInternal=True,
            )
        )
        mbs.Assemble()
        settings = exu.SimulationSettings()
        settings.timeIntegration.numberOfSteps = steps
        settings.timeIntegration.endTime = DURATION
        settings.timeIntegration.generalizedAlpha.spectralRadius = 0.9
        settings.timeIntegration.newton.useModifiedNewton = True
        settings.timeIntegration.verboseMode = 0
        settings.solution.file.write = False
        settings.solution.sensors.writePeriod = DURATION / STEPS
        if not mbs.SolveDynamic(settings):
            raise RuntimeError("Exudyn did not finish")
        return np.asarray(mbs.GetSensorStoredData(sensor))[:, 1:4]

    def deflection(self, speed: float, steps: int = STEPS) -> tuple[float, Array]:
        """Processor time of a run, s, and the deflection (STEPS + 1,) across the rod."""
        seconds, swung = spent(lambda: self.turn(speed, 1.0, steps))
        apart = swung - self.turn(speed, 0.0, steps)
        t = np.linspace(0.0, DURATION, STEPS + 1)
        angle = -np.arcsin(CRANK * np.sin(speed * t) / ROD)
        return seconds, np.asarray(-np.sin(angle) * apart[:, 0] + np.cos(angle) * apart[:, 1])


class Unstressed:
    """A mechanism without the stiffening by its forces."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._mechanism, self.period = mechanism, mechanism.period

    def freeze(self, t: float) -> FrozenSystem:
        return self._mechanism.freeze(t, prestress=None)

    def freeze_many(self, times: Array) -> FrozenSeries:
        return self._mechanism.freeze_many(times, prestress=None)


def spent(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor time, s, and the result."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def deflection(model: Any, rod: Rod) -> tuple[Array, Any]:
    """Deflection (STEPS + 1,) of the probe across the rod, and the whole result."""
    here = model.freeze(0.0)
    still = np.zeros((1, 3))  # crank and slider
    field = np.concatenate([still, rod.field(), still])
    v = np.where(here.dofs.component < 3, field[here.dofs.node, here.dofs.component % 3], 0.0)
    found = modal.integrate(
        model,
        (0.0, DURATION),
        (0.0 * v, v),
        step=DURATION / STEPS,
        rho_infinity=0.9,
        probes=[(rod.probe + 1, "uy")],
    )
    return found.displacement.values[:, 0], found


def off(found: Array, exact: Array) -> float:
    """The relative root mean square of the difference."""
    return float(np.linalg.norm(found - exact) / np.linalg.norm(exact))


def compared(machine: Mechanism, speed: float, in_full: bool, repeats: int) -> None:
    """A few lines on one speed."""
    rod = Rod.of(machine)
    machine.freeze(0.0)  # the prestress by unit loads is known before anything is timed
    _, first = deflection(machine, rod)
    modes = int(first.attrs["basis"].split()[4]) - 6  # shapes less rigid motions
    ours, setup, run = [], [], []
    for _ in range(repeats):
        seconds, (own, found) = spent(lambda: deflection(machine, rod))
        ours.append(seconds)
        seconds, peer = spent(partial(Peer, rod, modes, False))
        setup.append(seconds)
        seconds, theirs = peer.deflection(speed)
        run.append(seconds)
    one, other, turn = (float(np.median(times)) for times in (ours, setup, run))
    print(f"{speed:g} rad/s, {rod.nodes.size} degrees of freedom, {found.attrs['basis']}")
    print(
        f"  processor time {one:.2f} s; Exudyn {other:.2f} s for modes, {turn:.2f} s for the turn: "
        f"{one / (other + turn):.2f} times its time"
    )
    exact = own
    if in_full:
        whole, (exact, _) = spent(lambda: deflection(FullMechanism(machine), rod))
        print(
            f"  error against full order ({whole:.0f} s) {off(own, exact):.1e}, stated "
            f"{found.attrs['basis_error']:.1e}"
        )
    soft, _ = deflection(Unstressed(machine), rod)
    print(f"  without prestress {off(soft, exact):.1e}", flush=True)
    _, on_mean = Peer(rod, modes, True).deflection(speed)
    for name, values in (("first interface", theirs), ("mean axes", on_mean)):
        print(
            f"  Exudyn, {name:<16} difference {off(values, exact):.1e}, from no prestress "
            f"{off(values, soft):.1e}",
            flush=True,
        )


def main() -> int:
    """Compare at some speeds; 0 where Exudyn is missing too."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, nargs=3, default=(8, 1, 1))
    parser.add_argument("--speeds", type=float, nargs="+", default=(2.0, 20.0, 157.0))
    parser.add_argument("--full", action="store_true", help="with the transient in full order")
    parser.add_argument("--repeats", type=int, default=3, help="runs of which medians are printed")
    given = parser.parse_args()
    sys.exudynFast = True  # type: ignore[attr-defined]  # the module without range checks
    try:
        import exudyn
    except ImportError:
        print("skipped: Exudyn is not installed (pip install exudyn)")
        return 0
    print(f"Exudyn {exudyn.__version__}")
    make = solid_slider_crank(tuple(given.cells))
    for speed in given.speeds:
        compared(make(speed), speed, given.full, given.repeats)
    return 0


if __name__ == "__main__":
    sys.exit(main())
