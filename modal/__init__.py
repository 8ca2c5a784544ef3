"""Frozen Motion, modal: from the matrices of an instant to eigenvalues, tracks, maps and checks."""

from frozen_motion import check_names as _check_names

_check_names()

from assembly.lazy import attach as _attach  # noqa: E402

__getattr__, __dir__, __all__ = _attach(__name__, __file__)
