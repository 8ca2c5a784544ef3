"""Frozen Motion, modal: from the matrices of an instant to eigenvalues, tracks, maps and checks."""

import importlib
from typing import Any

from modal.checks.crosscheck import crosscheck
from modal.checks.crosscheck_report import CrossCheck, CrossCheckInterrupted
from modal.checks.identification import identify, matrix_pencil
from modal.checks.properties import properties
from modal.checks.property_report import PropertyReport
from modal.critical.critical_speeds import CriticalSpeeds, critical_speeds
from modal.data.storage import read_dataset, write_dataset
from modal.eigen.modes import Modes
from modal.eigen.solve import solve
from modal.exchange.mac import mac
from modal.exchange.matrices import write_matrices
from modal.exchange.shape_set import ShapeSet, shape_set
from modal.exchange.uff import read_uff, write_uff
from modal.exchange.vtk import write_motion, write_shapes
from modal.maps.stability_maps import stability_map
from modal.periodic.blade_family import MultibladeFamily
from modal.periodic.floquet import FloquetModes, floquet
from modal.periodic.hill import hill_chart
from modal.periodic.multiblade import multiblade
from modal.periodic.multiblade_model import MultibladeModel
from modal.periodic.periodic_tracks import track_periodic
from modal.periodic.rotor_verdict import rotor_verdict
from modal.proofs.box import Box
from modal.proofs.verdict import Stability, stability
from modal.response.frequency_response import frequency_response
from modal.response.state_space import state_space
from modal.response.unbalance import unbalance_response
from modal.tracking.dataset import events
from modal.tracking.following import Rules
from modal.tracking.tracking import TrackingInterrupted, track
from modal.transient.loads import Harmonic, Impulse, InertiaLoads, Tabulated
from modal.transient.transient import integrate

__all__ = [
    "FloquetModes",
    "Harmonic",
    "Impulse",
    "InertiaLoads",
    "Tabulated",
    "Modes",
    "MultibladeFamily",
    "MultibladeModel",
    "PropertyReport",
    "CrossCheck",
    "CrossCheckInterrupted",
    "CriticalSpeeds",
    "critical_speeds",
    "crosscheck",
    "events",
    "floquet",
    "hill_chart",
    "identify",
    "matrix_pencil",
    "multiblade",
    "integrate",
    "properties",
    "rotor_verdict",
    "solve",
    "stability",
    "stability_map",
    "Stability",
    "Box",
    "Rules",
    "TrackingInterrupted",
    "read_dataset",
    "track",
    "track_periodic",
    "write_dataset",
    "ShapeSet",
    "frequency_response",
    "mac",
    "read_uff",
    "shape_set",
    "state_space",
    "unbalance_response",
    "write_matrices",
    "write_motion",
    "write_shapes",
    "write_uff",
]


def __getattr__(name: str) -> Any:
    """`modal.plot` is imported when it is first used: Matplotlib takes its time."""
    if name == "plot":
        return importlib.import_module("modal.plot")
    raise AttributeError(f"module 'modal' has no attribute {name!r}")
