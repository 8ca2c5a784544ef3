"""The machines of benchmarks/exudyn_transients.py in Exudyn, from the same numbers.

Beams are chains of two-node, geometrically exact elements, straight and uniform.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import exudyn
import numpy as np
from exudyn.itemInterface import (
    CoordinateConstraint,
    MarkerNodeCoordinate,
    NodePointGround,
    NodePointSlope1,
    NodeRigidBody2D,
    ObjectANCFCable,
    ObjectBeamGeometricallyExact2D,
    ObjectGround,
    ObjectRigidBody2D,
    SensorNode,
)
from numpy.typing import NDArray

from tests.support.transient_machines import sections, spin_up_angle

Array = NDArray[np.float64]


def version() -> str:
    """Of Exudyn."""
    return str(exudyn.__version__)


def slider_crank(p: dict[str, float], elements: int, step: float, count: int) -> Array:
    """Positions (count + 1, 2) of the middle of the rod at equal times over p["duration"]."""
    container = exudyn.SystemContainer()
    mbs, p = container.AddSystem(), p | sections(p)
    r, L, omega = p["crank"], p["rod"], p["omega"]
    # At t = 0 the crank points along x, and the rod too.
    nodes = []
    for k in range(elements + 1):
        s = k / elements
        turn = -r * omega / L  # the rod's angular velocity: its far end moves along x
        state = [0.0, (1.0 - s) * r * omega, turn]
        nodes.append(
            mbs.AddNode(
                NodeRigidBody2D(referenceCoordinates=[r + s * L, 0.0, 0.0], initialVelocities=state)
            )
        )
    for pair in pairwise(nodes):
        mbs.AddObject(
            ObjectBeamGeometricallyExact2D(
                nodeNumbers=list(pair),
                length=L / elements,
                massPerLength=p["rho_A"],
                crossSectionInertia=p["rho_I"],
                bendingStiffness=p["EI"],
                axialStiffness=p["EA"],
                shearStiffness=p["GA"],
            )
        )
    mbs.AddObject(ObjectRigidBody2D(mass=p["slider"], inertia=0.0, nodeNumber=nodes[-1]))
    _driven(mbs, nodes[0], 0, lambda t: r * (np.cos(omega * t) - 1.0))
    _driven(mbs, nodes[0], 1, lambda t: r * np.sin(omega * t))
    _driven(mbs, nodes[-1], 1, None)
    return _run(mbs, nodes[elements // 2], p["duration"], step, count)[:, :2]


def spin_up(p: dict[str, float], elements: int, step: float, count: int) -> Array:
    """Positions (count + 1, 3) of the tip of an arm, tilted out of the plane of its rotation.

    ANCF cables: slender round rods, which bend alike in all directions.
    """
    container = exudyn.SystemContainer()
    mbs, p = container.AddSystem(), p | sections(p)
    slope = np.array([np.cos(p["tilt"]), 0.0, np.sin(p["tilt"])])
    root = np.array([p["hub"], 0.0, 0.0])
    along = np.linspace(0.0, p["length"], elements + 1)
    nodes = [
        mbs.AddNode(NodePointSlope1(referenceCoordinates=[*(root + s * slope), *slope]))
        for s in along
    ]
    for pair in pairwise(nodes):
        mbs.AddObject(
            ObjectANCFCable(
                nodeNumbers=list(pair),
                length=p["length"] / elements,
                massPerLength=p["rho_A"],
                bendingStiffness=p["EI"],
                axialStiffness=p["EA"],
            )
        )

    def turned(start: Array, component: int) -> Callable[[float], float] | None:
        """Displacement of a component of a vector that turns with the hub."""
        if component == 2:
            return None
        x, sign = start[0], (np.cos, np.sin)[component]
        return lambda t: x * sign(spin_up_angle(t, p)[0]) - start[component]

    for k, start in enumerate((root, slope)):
        for component in range(3):
            _driven(mbs, nodes[0], 3 * k + component, turned(start, component))
    return _run(mbs, nodes[-1], p["duration"], step, count)


def _driven(mbs: Any, node: int, coordinate: int, law: Callable[[float], float] | None) -> None:
    """Hold the displacement of one coordinate of a node, or move it by a law."""
    ground = mbs.AddNode(NodePointGround())
    first = mbs.AddMarker(MarkerNodeCoordinate(nodeNumber=ground, coordinate=0))
    second = mbs.AddMarker(MarkerNodeCoordinate(nodeNumber=node, coordinate=coordinate))
    options = {}
    if law is not None:
        options["offsetUserFunction"] = lambda mbs, t, number, offset: law(t)
    mbs.AddObject(CoordinateConstraint(markerNumbers=[first, second], **options))


def _run(mbs: Any, node: int, duration: float, step: float, count: int) -> Array:
    """Positions (count + 1, 3) of a node, by generalised-α of spectral radius 0.9."""
    mbs.AddObject(ObjectGround())
    sensor = mbs.AddSensor(
        SensorNode(
            nodeNumber=node,
            outputVariableType=exudyn.OutputVariableType.Position,
            storeInternal=True,
        )
    )
    mbs.Assemble()
    settings = exudyn.SimulationSettings()
    settings.timeIntegration.numberOfSteps = round(duration / step)
    settings.timeIntegration.endTime = duration
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.9
    settings.timeIntegration.verboseMode = 0
    settings.solutionSettings.writeSolutionToFile = False
    settings.solutionSettings.sensorsWritePeriod = duration / count
    if not mbs.SolveDynamic(settings):
        raise RuntimeError("Exudyn did not finish")
    found = np.array(mbs.GetSensorStoredData(sensor))
    times = np.linspace(0.0, duration, count + 1)
    return np.stack([np.interp(times, found[:, 0], column) for column in found[:, 1:4].T], axis=1)
