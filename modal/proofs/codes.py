"""What a verdict rests on: words for people, integers for datasets."""

from __future__ import annotations

PROOFS = ("modes", "energy", "count", "lyapunov", "mode")
MODES, ENERGY, COUNT, LYAPUNOV, UNSTABLE_MODE = range(len(PROOFS))
