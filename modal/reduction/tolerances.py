"""The limits of work of spaces of shapes that many points share."""

from __future__ import annotations

# Points of a sweep, a motion or a chart from which a shared space costs less than it saves.
WORTH_A_SPACE = 8
# Points, spread over a range, whose modes make a first space of it, or a local one.
TRAINING = 5
# Samples of a function of time from which its polynomial comes, at least and at most.
FEWEST_SAMPLES = 32
MOST_SAMPLES = 512
# Times an error that was estimated, or measured at a few points.
SAFETY = 4.0
# Modes beyond the wanted ones that a space holds or a proof tries.
GUARD = 3
# Degrees of freedom up to which nothing is left out: a space of shapes is the whole one, and all
# modes of a value are found.
WHOLE = 16
