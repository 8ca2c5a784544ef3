"""Frozen Motion, modal: from the matrices of an instant to eigenvalues, tracks, maps and checks."""

from modal.loads import Harmonic, Impulse, InertiaLoads, Tabulated
from modal.transient import integrate

__all__ = ["Harmonic", "Impulse", "InertiaLoads", "Tabulated", "integrate"]
