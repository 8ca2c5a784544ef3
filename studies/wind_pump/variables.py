"""Units and long names of the variables of the wind-pump study."""

from studies.wind_pump.rigid import FORCES

FORCE_UNITS = ", ".join("N m" if name.startswith("M_") else "N" for name in FORCES)
VARIABLES = {
    "shift_by_hand": ("Hz", "first-order shift by the axial force of a pinned beam"),
    "pinned_frequency": ("Hz", "of the lever pinned at both ends, at rest"),
    "angle": ("rad", "angle"),
    "angular_velocity": ("rad s-1", "angular velocity"),
    "angular_acceleration": ("rad s-2", "angular acceleration"),
    "difference_check": ("1", "largest relative difference from finite differences"),
    "drive_projected": ("N m, N", "drives by the projection (A46)"),
    "eigenvalue": ("rad s-1", "eigenvalue"),
    "frequency": ("Hz", "frequency"),
    "shift": ("Hz", "frequency shift by one term"),
    "together": ("Hz", "frequency shift by all terms"),
    "time": ("s", "time"),
    "joint_force": (FORCE_UNITS, "by the reduced equations (A43)"),
    "joint_force_general": (FORCE_UNITS, "by the general mechanism"),
}
