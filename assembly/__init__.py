"""Frozen Motion, assembly: from geometry and motion to the matrices of an instant."""

from assembly.lazy import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
