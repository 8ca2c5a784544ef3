"""The public names of `assembly`; assembly/__init__.py imports them at their first use."""

from assembly import gallery as gallery
from assembly.bodies.attachments import (
    attach_damper as attach_damper,
)
from assembly.bodies.attachments import (
    attach_mass as attach_mass,
)
from assembly.bodies.attachments import (
    attach_spring as attach_spring,
)
from assembly.bodies.attachments import rigid_body as rigid_body
from assembly.bodies.beams import bar as bar
from assembly.bodies.beams import beam as beam
from assembly.bodies.beams import ring as ring
from assembly.bodies.blade_files import beamdyn_blade as beamdyn_blade
from assembly.bodies.blade_files import (
    beamdyn_table as beamdyn_table,
)
from assembly.bodies.blade_files import (
    elastodyn_table as elastodyn_table,
)
from assembly.bodies.blades import BladeTable as BladeTable
from assembly.bodies.blades import blade as blade
from assembly.bodies.body import Body as Body
from assembly.bodies.matrices import from_matrices as from_matrices
from assembly.bodies.matrix_files import (
    from_abaqus as from_abaqus,
)
from assembly.bodies.matrix_files import (
    from_calculix as from_calculix,
)
from assembly.bodies.matrix_files import (
    from_matrix_market as from_matrix_market,
)
from assembly.bodies.matrix_files import (
    from_nastran as from_nastran,
)
from assembly.bodies.rotor_parts import Bearing as Bearing
from assembly.bodies.rotor_parts import Disc as Disc
from assembly.bodies.rotor_parts import speed_table as speed_table
from assembly.bodies.rotors import Rotor as Rotor
from assembly.bodies.rotors import rotor as rotor
from assembly.bodies.solids import plane as plane
from assembly.bodies.solids import solid as solid
from assembly.bodies.weld import weld as weld
from assembly.dofs import DofMap as DofMap
from assembly.errors import (
    AccuracyError as AccuracyError,
)
from assembly.errors import (
    ConvergenceError as ConvergenceError,
)
from assembly.errors import (
    FrozenMotionError as FrozenMotionError,
)
from assembly.errors import (
    InputError as InputError,
)
from assembly.errors import (
    MaterialError as MaterialError,
)
from assembly.errors import (
    MechanismError as MechanismError,
)
from assembly.errors import (
    MemoryLimitError as MemoryLimitError,
)
from assembly.errors import (
    MeshError as MeshError,
)
from assembly.errors import (
    ModelFileError as ModelFileError,
)
from assembly.errors import (
    MotionError as MotionError,
)
from assembly.errors import (
    RedundantConstraintError as RedundantConstraintError,
)
from assembly.errors import (
    SectionError as SectionError,
)
from assembly.errors import (
    SingularPositionError as SingularPositionError,
)
from assembly.errors import (
    SingularSystemError as SingularSystemError,
)
from assembly.errors import (
    StorageError as StorageError,
)
from assembly.errors import (
    StudyError as StudyError,
)
from assembly.kinematics import Kinematics as Kinematics
from assembly.kinematics import unit_axis as unit_axis
from assembly.linalg.combination import Combination as Combination
from assembly.linalg.solver import linear_solver as linear_solver
from assembly.materials.materials import (
    Material as Material,
)
from assembly.materials.materials import (
    Orthotropic as Orthotropic,
)
from assembly.materials.materials import (
    aluminium as aluminium,
)
from assembly.materials.materials import (
    steel as steel,
)
from assembly.materials.materials import (
    titanium as titanium,
)
from assembly.materials.plausibility import PlausibilityWarning as PlausibilityWarning
from assembly.materials.sections import (
    Section as Section,
)
from assembly.materials.sections import (
    circle as circle,
)
from assembly.materials.sections import (
    i_profile as i_profile,
)
from assembly.materials.sections import (
    rectangle as rectangle,
)
from assembly.materials.sections import (
    tube as tube,
)
from assembly.mechanisms.applied_loads import Load as Load
from assembly.mechanisms.drivers import Driver as Driver
from assembly.mechanisms.drivers import driver as driver
from assembly.mechanisms.joints import Bushing as Bushing
from assembly.mechanisms.joints import (
    Joint as Joint,
)
from assembly.mechanisms.joints import bushing as bushing
from assembly.mechanisms.joints import (
    cylindrical as cylindrical,
)
from assembly.mechanisms.joints import (
    fixed as fixed,
)
from assembly.mechanisms.joints import (
    prismatic as prismatic,
)
from assembly.mechanisms.joints import (
    revolute as revolute,
)
from assembly.mechanisms.joints import (
    spherical as spherical,
)
from assembly.mechanisms.joints import (
    universal as universal,
)
from assembly.mechanisms.mechanism import Mechanism as Mechanism
from assembly.mechanisms.trim import Trim as Trim
from assembly.motion.laws import Harmonic as Harmonic
from assembly.motion.laws import Law as Law
from assembly.motion.laws import Uniform as Uniform
from assembly.motion.motion import (
    FunctionMotion as FunctionMotion,
)
from assembly.motion.motion import (
    Motion as Motion,
)
from assembly.motion.motion import (
    Steady as Steady,
)
from assembly.motion.motion import (
    Turning as Turning,
)
from assembly.motion.motion import (
    ramp as ramp,
)
from assembly.motion.motion import (
    spin as spin,
)
from assembly.motion.motion import (
    swing as swing,
)
from assembly.motion.moving import MovingBody as MovingBody
from assembly.motion.moving import moving as moving
from assembly.motion.records import Sampled as Sampled
from assembly.motion.records import fit_markers as fit_markers
from assembly.system.frozen import FrozenSystem as FrozenSystem
