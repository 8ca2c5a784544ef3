"""Frozen Motion, modal: from the matrices of an instant to eigenvalues, tracks, maps and checks."""

from modal.crosscheck import crosscheck
from modal.crosscheck_report import CrossCheck, CrossCheckInterrupted
from modal.floquet import FloquetModes, floquet
from modal.hill import hill_chart
from modal.identification import identify, matrix_pencil
from modal.loads import Harmonic, Impulse, InertiaLoads, Tabulated
from modal.maps import stability_map
from modal.modes import Modes
from modal.proofs.box import Box
from modal.proofs.verdict import Stability, stability
from modal.properties import properties
from modal.property_report import PropertyReport
from modal.solve import solve
from modal.storage import read_dataset, write_dataset
from modal.tracking import TrackingInterrupted, track
from modal.transient import integrate

__all__ = [
    "FloquetModes",
    "Harmonic",
    "Impulse",
    "InertiaLoads",
    "Tabulated",
    "Modes",
    "PropertyReport",
    "CrossCheck",
    "CrossCheckInterrupted",
    "crosscheck",
    "floquet",
    "hill_chart",
    "identify",
    "matrix_pencil",
    "integrate",
    "properties",
    "solve",
    "stability",
    "stability_map",
    "Stability",
    "Box",
    "TrackingInterrupted",
    "read_dataset",
    "track",
    "write_dataset",
]
