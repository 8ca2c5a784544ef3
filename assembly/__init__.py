"""Frozen Motion, assembly: from geometry and motion to the matrices of an instant."""

from assembly.body import Body
from assembly.combination import Combination
from assembly.dofs import DofMap
from assembly.errors import FrozenMotionError, InputError
from assembly.frozen import FrozenSystem
from assembly.kinematics import Kinematics

__all__ = ["Body", "Combination", "DofMap", "FrozenMotionError", "FrozenSystem", "InputError", "Kinematics"]
