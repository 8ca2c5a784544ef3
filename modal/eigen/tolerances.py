"""The tolerances of this room: what counts as zero, and what counts as equal.

All come from the unit round-off ε = 2⁻⁵². A quantity is compared with the size of the terms that it
is the sum of, so none of them has a unit.
"""

from __future__ import annotations

import numpy as np

from assembly import magnitudes
from assembly.linalg import symmetric

EPS = float(np.finfo(float).eps)
# One product with a matrix or its factor, 64 ε: sums of some tens of terms.
ROUND_OFF = symmetric.ROUND_OFF
# What products, a solution and a projection leave of a zero, some thousands of ε; so also the
# backward error of a computed eigenpair.
ZERO = magnitudes.ROUND_OFF
# √ε: half of the digits. A product of two errors of this size is round-off.
HALF = magnitudes.HALF
# √ZERO: what an error of ZERO makes of a double eigenvalue. Closer ones are a group.
GROUP = float(np.sqrt(ZERO))
# Relative accuracy that is enough to tell eigenvalues apart, or to see that one is missing.
COARSE = 1e-4
# Share of a direction, of the largest or of its length, below which it is next to lost.
WEAK = 1e-3
# Backward error of a left vector: its error in λ is multiplied by that of the right one.
LEFT = 1e-10
# Degrees of freedom up to which all modes by LAPACK, and checks in other units, cost little.
SMALL = 500
# Times its first-order error bound: a growth rate beyond this has a certain sign.
SURE = 4.0
# Columns of a random block that is iterated, and the iterations that it takes at most.
BLOCK = 8
# Rounds of an iteration, or boxes of a search, after which it is given up.
ROUNDS = 60
# Repetitions, each from another start or a better one, after which a search is given up.
ATTEMPTS = 8
