"""Frozen Motion, assembly: from geometry and motion to the matrices of an instant."""

from assembly import gallery
from assembly.applied_loads import Load
from assembly.attachments import attach_damper, attach_mass, attach_spring
from assembly.beamdyn_input import beamdyn_blade
from assembly.beams import bar, beam
from assembly.blade_files import beamdyn_table, elastodyn_table
from assembly.blades import BladeTable, blade
from assembly.body import Body
from assembly.combination import Combination
from assembly.dofs import DofMap
from assembly.errors import (
    FrozenMotionError,
    InputError,
    MechanismError,
    MotionError,
    RedundantConstraintError,
    SingularPositionError,
)
from assembly.frozen import FrozenSystem
from assembly.joints import (
    Driver,
    Joint,
    cylindrical,
    driver,
    fixed,
    prismatic,
    revolute,
    spherical,
    universal,
)
from assembly.kinematics import Kinematics, unit_axis
from assembly.laws import Harmonic, Uniform
from assembly.markers import fit_markers
from assembly.materials import Material, Orthotropic, aluminium, steel, titanium
from assembly.matrices import from_matrices
from assembly.matrix_files import (
    from_abaqus,
    from_calculix,
    from_matrix_market,
    from_nastran,
)
from assembly.mechanism import Mechanism
from assembly.motion import (
    FunctionMotion,
    Motion,
    MovingBody,
    Sampled,
    Steady,
    Turning,
    moving,
    ramp,
    spin,
    swing,
)
from assembly.plausibility import PlausibilityWarning
from assembly.rigid import rigid_body
from assembly.rings import ring
from assembly.rotors import Bearing, Disc, Rotor, rotor
from assembly.sections import Section, circle, i_profile, rectangle, tube
from assembly.solids import plane, solid

__all__ = [
    "Bearing",
    "BladeTable",
    "Disc",
    "Rotor",
    "attach_damper",
    "attach_mass",
    "attach_spring",
    "beamdyn_blade",
    "beamdyn_table",
    "blade",
    "elastodyn_table",
    "ring",
    "rotor",
    "Body",
    "Combination",
    "DofMap",
    "FrozenMotionError",
    "FrozenSystem",
    "InputError",
    "Kinematics",
    "Material",
    "Orthotropic",
    "PlausibilityWarning",
    "Section",
    "aluminium",
    "bar",
    "beam",
    "circle",
    "from_abaqus",
    "from_calculix",
    "from_matrices",
    "from_matrix_market",
    "from_nastran",
    "gallery",
    "i_profile",
    "plane",
    "rectangle",
    "solid",
    "steel",
    "titanium",
    "tube",
    "Driver",
    "Load",
    "Harmonic",
    "Joint",
    "Mechanism",
    "MechanismError",
    "RedundantConstraintError",
    "SingularPositionError",
    "Uniform",
    "cylindrical",
    "driver",
    "fixed",
    "prismatic",
    "revolute",
    "rigid_body",
    "spherical",
    "universal",
    "FunctionMotion",
    "unit_axis",
    "Motion",
    "MotionError",
    "MovingBody",
    "Sampled",
    "Steady",
    "Turning",
    "fit_markers",
    "moving",
    "ramp",
    "spin",
    "swing",
]
