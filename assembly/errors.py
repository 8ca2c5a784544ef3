"""The errors: one class for each kind of fault. A message says what, where and what is accepted."""

from __future__ import annotations

from typing import Any


class FrozenMotionError(Exception):
    """Base of every error this suite raises on purpose."""


class InputError(FrozenMotionError, ValueError):
    """An argument has a value that cannot be used."""


class MaterialError(InputError):
    """A material constant is outside its physical range."""


class SectionError(InputError):
    """A beam section has impossible dimensions."""


class MeshError(InputError):
    """A mesh cannot be used: inverted or degenerate element, missing set, unknown cell type."""


class MotionError(InputError):
    """A prescribed motion or a marker record cannot be used."""


class MechanismError(InputError):
    """The parts of a mechanism do not fit together."""


class SingularPositionError(MechanismError):
    """The mechanism cannot be assembled, or loses rank, at an instant."""


class RedundantConstraintError(MechanismError):
    """Some joints repeat the conditions of others."""


class ModelFileError(InputError):
    """A model file has a wrong key or value."""


class StudyError(InputError):
    """A requested item of a study does not exist."""


class StorageError(FrozenMotionError, OSError):
    """A result could not be written or read back."""


class MemoryLimitError(FrozenMotionError, MemoryError):
    """A result needs more memory than there is; the message says how much and what to do."""


class SingularSystemError(FrozenMotionError, ArithmeticError):
    """A matrix that must be regular is singular."""


class ConvergenceError(FrozenMotionError, ArithmeticError):
    """An iteration did not converge; `partial` has what had converged, or None."""

    def __init__(self, message: str, partial: Any = None) -> None:
        super().__init__(message)
        self.partial = partial


class AccuracyError(FrozenMotionError, ArithmeticError):
    """A result failed its own check and is not returned."""
