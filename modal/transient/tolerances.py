"""The tolerances and limits of work of transients: what counts as equal, as left out, as too much.

Those that the eigensolvers have too are in modal/eigen/tolerances.py.
"""

from __future__ import annotations

# Default error of the displacements, and of the eigenvalues of the modes that a basis holds.
TOLERANCE = 1e-6
# Times an estimate of an error by a few instants or by one kind of response.
SAFETY = 2.0
# Of the tolerance of a run on a reduced basis: what its steps may use.
PART = 0.5
# Relative size of coefficients and shares that are left out.
NEGLIGIBLE = 1e-9

# Instants of a span, or of a period, whose frozen modes span a basis.
INSTANTS = 8
# Parts of a span, or of a period, at whose ends errors and smoothness are evaluated.
PIECES = 16
# Steps of a span, or of a turn, at least.
STEPS = 200
# Halvings of a step or panel after which the motion is called too fast.
DIVISIONS = 16
# Instants that are kept: those of the stages of one step and its two halves.
REMEMBERED = 16
# Degrees of freedom up to which all modes, and steps of all coordinates, cost next to nothing.
FEW = 128
# Entries of matrices that are made together: they stay in the cache.
BATCH_NUMBERS = 1 << 17
