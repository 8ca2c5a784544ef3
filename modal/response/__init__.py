"""Response of a frozen system to forces: frequency response, unbalance, state-space models."""
