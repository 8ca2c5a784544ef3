"""Proofs of a verdict: words for reports, integers for datasets.

MODES is no proof: other modes than those examined may be unstable.
"""

from __future__ import annotations

PROOFS = ("modes", "energy", "count", "lyapunov", "mode")
MODES, ENERGY, COUNT, LYAPUNOV, UNSTABLE_MODE = range(len(PROOFS))
