"""The variables that only this study writes."""

from __future__ import annotations

from modal.data.variables import Table, Variable

_COUNTS, _DEFLATED, _ANGLE = ("system", "equations"), ("deflated_mode",), ("angle",)
_INTERVAL = ("interval_angle", "interval_mode")

VARIABLES: Table = {
    "small_eigenvalues": Variable(
        "eigenvalues of the printed case, zeros taken out", "rad s-1", ("small_mode",)
    ),
    "rayleigh_frequency": Variable("eigenfrequency", "rad s-1", ("example", "mode")),
    "rayleigh_error": Variable(
        "frequency from the quotient, relative error", "1", ("example", "mode", "quotient")
    ),
    "mobility": Variable("degrees of mobility m", "1", _COUNTS),
    "coupling_rank": Variable("rank of VᵀCV", "1", _COUNTS),
    "zeros_formula": Variable("2m − rank(VᵀCV)", "1", _COUNTS),
    "zeros_found": Variable("zeros a dense solver comes near", "1", _COUNTS),
    "zeros_spread": Variable("largest |λ| it makes of a zero", "rad s-1", _COUNTS),
    "first_other": Variable("smallest |λ| that is not zero", "rad s-1", _COUNTS),
    "deflation_difference": Variable(
        "other |λ| with the paper's T against without, largest relative", "1", _COUNTS
    ),
    "smallest": Variable("smallest |λ|, dense", "rad s-1", (*_COUNTS, "rank")),
    "pair": Variable("eigenvalue of the pair", "rad s-1", ("variant", "angle", "zero")),
    "pair_crank_angle": Variable(
        "eigenvalue of the rigid mechanism, by δφ", "rad s-1", ("angle", "zero")
    ),
    "projected_inertia": Variable("inertia of q = v δφ from the matrices", "kg m2", _ANGLE),
    "projected_damping": Variable("damping of q = v δφ from the matrices", "N m s", _ANGLE),
    "projected_stiffness": Variable("stiffness of q = v δφ from the matrices", "N m", _ANGLE),
    "projected_inertia_exact": Variable("J of the rigid mechanism", "kg m2", _ANGLE),
    "projected_damping_exact": Variable("J'ω of the rigid mechanism", "N m s", _ANGLE),
    "projected_stiffness_exact": Variable("½J''ω² of the rigid mechanism", "N m", _ANGLE),
    "interval": Variable("frozen interval in turns", "1", _INTERVAL),
    "vibration_period": Variable("period of the vibration in turns", "1", _INTERVAL),
    "deflated_dense": Variable("eigenvalues of the small model, T", "rad s-1", _DEFLATED),
    "deflated_sparse": Variable("eigenvalues of the small model, projector", "rad s-1", _DEFLATED),
    "deflated_large": Variable("eigenvalues of the large model, projector", "rad s-1", _DEFLATED),
    "deflated_large_error": Variable("backward error", "1", _DEFLATED),
    "angle": Variable("crank angle", "degree"),
    "interval_angle": Variable("crank angle", "degree"),
    "rank": Variable("place in the order of |λ|", "1"),
    "zero": Variable("which of the two zeros", "1"),
}
