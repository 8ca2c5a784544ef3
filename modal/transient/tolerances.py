"""The tolerances and limits of work of transients: what counts as equal, as left out, as too much.

Those that the eigensolvers have too are in modal/eigen/tolerances.py.
"""

from __future__ import annotations

# Entries of matrices that are made together: they stay in the cache.
BATCH_NUMBERS = 1 << 17
# Relative size of coefficients and shares that are left out.
NEGLIGIBLE = 1e-9
# Instants of a span, or of a period, whose frozen modes span a basis.
INSTANTS = 8
# Parts of a span, or of a period, at whose ends errors and smoothness are evaluated.
PIECES = 16
