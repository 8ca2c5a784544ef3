"""Time integration of the unfrozen equations."""
