"""One-step integrators."""
