"""Frozen Motion, assembly: from geometry and motion to the matrices of an instant."""

from assembly import gallery
from assembly.bodies.attachments import attach_damper, attach_mass, attach_spring
from assembly.bodies.beamdyn_input import beamdyn_blade
from assembly.bodies.beams import bar, beam
from assembly.bodies.blade_files import beamdyn_table, elastodyn_table
from assembly.bodies.blades import BladeTable, blade
from assembly.bodies.body import Body
from assembly.bodies.matrices import from_matrices
from assembly.bodies.matrix_files import (
    from_abaqus,
    from_calculix,
    from_matrix_market,
    from_nastran,
)
from assembly.bodies.rigid import rigid_body
from assembly.bodies.rings import ring
from assembly.bodies.rotor_parts import Bearing, Disc, SpeedTable, speed_table
from assembly.bodies.rotors import Rotor, rotor
from assembly.bodies.solids import plane, solid
from assembly.bodies.weld import weld
from assembly.dofs import DofMap
from assembly.errors import (
    FrozenMotionError,
    InputError,
    MechanismError,
    MotionError,
    RedundantConstraintError,
    SingularPositionError,
)
from assembly.kinematics import Kinematics, unit_axis
from assembly.linalg.combination import Combination
from assembly.linalg.solver import linear_solver
from assembly.materials.materials import Material, Orthotropic, aluminium, steel, titanium
from assembly.materials.plausibility import PlausibilityWarning
from assembly.materials.sections import Section, circle, i_profile, rectangle, tube
from assembly.mechanisms.applied_loads import Load
from assembly.mechanisms.bushings import Bushing, bushing
from assembly.mechanisms.drivers import Driver, driver
from assembly.mechanisms.joints import (
    Joint,
    cylindrical,
    fixed,
    prismatic,
    revolute,
    spherical,
    universal,
)
from assembly.mechanisms.mechanism import Mechanism
from assembly.motion.laws import Harmonic, Uniform
from assembly.motion.markers import fit_markers
from assembly.motion.motion import FunctionMotion, Motion, Steady, Turning, ramp, spin, swing
from assembly.motion.moving import MovingBody, moving
from assembly.motion.records import Sampled
from assembly.system.frozen import FrozenSystem

__all__ = [
    "Bearing",
    "SpeedTable",
    "speed_table",
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
    "linear_solver",
    "plane",
    "rectangle",
    "solid",
    "steel",
    "titanium",
    "tube",
    "Bushing",
    "bushing",
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
    "weld",
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
