"""The tolerances and limits of work of this room: what counts as equal, as known, as too much.

Those that the eigensolvers and transients have too are in modal/eigen/tolerances.py and
modal/transient/tolerances.py. Errors of log μ are those of a period: they have no unit.
"""

from __future__ import annotations

from assembly.magnitudes import WRITTEN
from modal.eigen.tolerances import HALF
from modal.reduction.tolerances import FEWEST_SAMPLES, MOST_SAMPLES

# What is given and meant to be equal: matrices after a period, azimuths (rad), instants (periods).
SAME = WRITTEN
# Round-off of a matrix function of time, or of its products over a period, relative.
NOISE = 1e-11
# Of the largest entry: distance from a polynomial, below which a function is that polynomial.
SMOOTH = HALF
# Of the largest: smaller stiffnesses and rows are compared with this share of it.
LEAST = 1e-6
# Singular value, of the largest in the energy norm, of a direction that adds to a space of shapes.
INDEPENDENT = 1e-4
# Condition number beyond which coordinates lose more than a third of the digits.
WORST_CONDITION = 1e6

# Default accuracy of log μ, and of the accelerations that it comes from.
TOLERANCE = 1e-5
# Error that is not improved at that accuracy.
ENOUGH = 1e-6
# Accuracy of log μ where an iteration converges, so that other errors are larger.
ACCURACY = 1e-10
# Growth of a period up to which a mode is stable, and error up to which it is known.
RESOLVED = 1e-3
# Share of the error that a round of an iteration must not exceed, or it has stalled.
GAIN = 0.5

# Order 6: |λ| h of the fastest mode that a first number of steps resolves.
RESOLUTION = 0.75
# rad a period of the fastest mode above which groups of modes are decoupled.
FAST = 500.0
# Growth of the number of steps; not 2, so that a jump is at different places of the grids.
GROWTH = 1.5
# Ratio of speeds of modes whose errors are alike, or of a mode in motion and its frozen one.
FASTER = 1.5
# Distance of groups of modes, in rates of the motion 2π/T, from which they are tried.
APART = 16.0
# Steps, instants or parts of a period, at least; highest harmonic that is compared.
FEWEST = FEWEST_SAMPLES
# Instants of a period at which a model is frozen at most, or panels between them.
MOST_FROZEN = MOST_SAMPLES
# Instants of a period at which a matrix function is evaluated at most.
MOST_INSTANTS = 1024
# Steps of a period at most.
MOST_STEPS = 1 << 17
# Matrices of parts of a period that are kept at most.
MOST_MATRICES = 8192
# Numbers of steps that are tried, one after the other, without the gain that is wanted.
REFINEMENTS = 4
# Degrees of freedom up to which all modes are computed.
DENSE_LIMIT = 60
# Degrees of freedom up to which full matrices, and proofs that take their cube, cost little.
DENSE = 150
# Size³ times rad a period: steps in all coordinates, or factors, that cost little.
WORK = 2e7
