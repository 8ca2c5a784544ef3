"""Frozen Motion, modal: from the matrices of an instant to eigenvalues, tracks, maps and checks."""

from assembly.lazy import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
