"""A slider-crank with a solid rod beside Exudyn's floating frame with reduced modes.

    python -m benchmarks.exudyn_solid_rod [--cells 8 1 1] [--speeds 2 20 157]

Both programs take the same mass and stiffness matrix of the rod. Exudyn's are reduced to
Hurty-Craig-Bampton modes with averaged interfaces (`FEMinterface`, RBE3), as many as the rod's
basis here has shapes. The rod is bent at the start of the turn; what follows is compared with the
transient of all degrees of freedom in the same steps. Exudyn's equations are nonlinear and its rod
moves under its inertia too: its curve is the difference of two runs, with and without the bent
start, and one of them is timed. Its linear elasticity has no stiffening by the forces in the rod,
so it is compared with transients here without prestress as well.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import modal
from assembly.gallery import solid_slider_crank
from assembly.mechanisms.mechanism import Mechanism
from assembly.system.frozen import FrozenSystem
from tests.support.full_mechanism import FullMechanism

Array = NDArray[np.float64]

CRANK, ROD, SLIDER = 0.1, 0.3, 0.5  # m, m, kg, of `solid_slider_crank`
BENT = 1e-5  # m, at the middle of the rod
STEPS = 1000
DURATION = 0.04  # s: a turn at 157 rad/s


@dataclass(frozen=True)
class Rod:
    """Nodes (N, 3), mass and stiffness (3N, 3N), node numbers of both ends and of the middle."""

    nodes: Array
    M: Any
    K: Any
    ends: tuple[list[int], list[int]]
    middle: int

    @classmethod
    def of(cls, mechanism: Mechanism) -> Rod:
        """That of a mechanism."""
        body = mechanism.bodies["rod"]
        here, x = body.freeze(), body.dofs.coordinates
        ends = tuple(np.flatnonzero(np.isclose(x[:, 0], end)).tolist() for end in (0.0, ROD))
        middle = int(np.linalg.norm(x - (0.5 * ROD, 0.0, 0.0), axis=1).argmin())
        return cls(x, here.M.tocsr(), here.K.tocsr(), (ends[0], ends[1]), middle)


class Peer:
    """The machine in Exudyn, the crank along the rod at t = 0."""

    def __init__(self, rod: Rod, modes: int) -> None:
        from exudyn import FEM

        self.rod, interface = rod, FEM.FEMinterface()
        interface.nodes = {"Position": rod.nodes}
        interface.massMatrix, interface.stiffnessMatrix = rod.M, rod.K
        interface.ComputeHurtyCraigBamptonModes(
            list(rod.ends), modes - 6, computationMode=FEM.HCBstaticModeSelection.RBE3
        )
        self.shapes = np.asarray(interface.modeBasis["matrix"])
        self.interface = FEM.ObjectFFRFreducedOrderInterface(interface)

    def bent(self) -> Array:
        """Coordinates of a bent rod whose ends neither move nor turn in the mean."""
        x, own = self.rod.nodes[:, 0], self.shapes[:, 6:]
        shape = np.zeros(self.rod.nodes.shape)
        shape[:, 1] = BENT * 0.5 * (1.0 - np.cos(2.0 * np.pi * x / ROD))
        out = np.zeros(self.shapes.shape[1])
        out[6:] = np.linalg.solve(own.T @ (self.rod.M @ own), own.T @ (self.rod.M @ shape.ravel()))
        return out

    def turn(self, speed: float, start: Array) -> Array:
        """Positions (STEPS + 1, 3) of the middle of the rod, from modal coordinates."""
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
        self.interface.AddObjectFFRFreducedOrder(
            mbs,
            positionRef=[CRANK, 0.0, 0.0],
            initialVelocity=[0.0, CRANK * speed, 0.0],
            initialAngularVelocity=[0.0, 0.0, -CRANK * speed / ROD],
        )
        rod = self.interface.oFFRFreducedOrder
        generic = self.interface.nGenericODE2
        mbs.SetNodeParameter(generic, "initialCoordinates", list(start))
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
                meshNodeNumber=self.rod.middle,
                outputVariableType=exu.OutputVariableType.Position,
                storeInternal=True,
            )
        )
        mbs.Assemble()
        settings = exu.SimulationSettings()
        settings.timeIntegration.numberOfSteps = STEPS
        settings.timeIntegration.endTime = DURATION
        settings.timeIntegration.generalizedAlpha.spectralRadius = 0.9
        settings.timeIntegration.newton.useModifiedNewton = True
        settings.timeIntegration.verboseMode = 0
        settings.solution.file.write = False
        settings.solution.sensors.writePeriod = DURATION / STEPS
        if not mbs.SolveDynamic(settings):
            raise RuntimeError("Exudyn did not finish")
        return np.asarray(mbs.GetSensorStoredData(sensor))[:, 1:4]


class Unstressed:
    """A mechanism without the stiffening by its forces."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._mechanism, self.period = mechanism, mechanism.period

    def freeze(self, t: float) -> FrozenSystem:
        return self._mechanism.freeze(t, prestress=None)


def spent(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor time, s, and the result."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def deflection(model: Any, rod: Rod, shape: Array) -> tuple[Array, Any]:
    """Deflection (STEPS + 1,) of the middle across the rod, from the shape (3N,) at rest."""
    here = model.freeze(0.0)
    mine = (here.dofs.node >= 1) & (here.dofs.node <= len(rod.nodes))  # after that of the crank
    q = np.zeros(here.n)
    q[mine] = shape[3 * (here.dofs.node[mine] - 1) + here.dofs.component[mine]]
    found = modal.integrate(
        model,
        (0.0, DURATION),
        (q, 0.0 * q),
        step=DURATION / STEPS,
        rho_infinity=0.9,
        probes=[(rod.middle + 1, "uy")],
    )
    return found.displacement.values[:, 0], found


def across(first: Array, second: Array, speed: float) -> Array:
    """The part of first − second (P, 3) across the rod, whose rigid motion is that of `speed`."""
    t = np.linspace(0.0, DURATION, STEPS + 1)
    angle = -np.arcsin(CRANK * np.sin(speed * t) / ROD)
    apart = first - second
    return np.asarray(-np.sin(angle) * apart[:, 0] + np.cos(angle) * apart[:, 1])


def off(found: Array, exact: Array) -> float:
    """The relative root mean square of the difference."""
    return float(np.linalg.norm(found - exact) / np.linalg.norm(exact))


def compared(machine: Mechanism, speed: float, version: str, in_full: bool) -> None:
    """A few lines on one speed."""
    rod, bases = Rod.of(machine), machine.bodies["rod"].bases
    machine.freeze(0.0)  # the prestress by unit loads is known before anything is timed
    _, first = deflection(machine, rod, BENT * np.ones(rod.nodes.size))
    modes = int(first.attrs["basis"].split()[4]) - 6  # shapes less rigid motions
    setup, peer = spent(lambda: Peer(rod, modes))
    start = peer.bent()
    shape = peer.shapes @ start
    bases.clear()
    ours, (own, found) = spent(lambda: deflection(machine, rod, shape))
    run, bent = spent(lambda: peer.turn(speed, start))
    theirs = across(bent, peer.turn(speed, 0.0 * start), speed)
    print(f"{speed:g} rad/s, {rod.nodes.size} degrees of freedom, {found.attrs['basis']}")
    print(
        f"  processor time: {ours:.2f} s; Exudyn {version}: {setup:.2f} s modes, {run:.2f} s turn"
    )
    soft, _ = deflection(Unstressed(machine), rod, shape)
    print(
        f"  differences (rms): Exudyn {off(theirs, own):.1e}; no prestress {off(soft, own):.1e}, "
        f"of these two {off(theirs, soft):.1e}",
        flush=True,
    )
    if in_full:
        whole, (exact, _) = spent(lambda: deflection(FullMechanism(machine), rod, shape))
        print(
            f"  errors against full order ({whole:.0f} s): {off(own, exact):.1e}, stated "
            f"{found.attrs['basis_error']:.1e}; Exudyn {off(theirs, exact):.1e}",
            flush=True,
        )


def main() -> int:
    """Compare at some speeds; 0 where Exudyn is missing too."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, nargs=3, default=(8, 1, 1))
    parser.add_argument("--speeds", type=float, nargs="+", default=(2.0, 20.0, 157.0))
    given = parser.parse_args()
    try:
        import exudyn
    except ImportError:
        print("skipped: Exudyn is not installed (pip install exudyn)")
        return 0
    make = solid_slider_crank(tuple(given.cells))
    for speed in given.speeds:
        compared(make(speed), speed, exudyn.__version__, speed == given.speeds[-1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
