"""Floquet analysis of periodic motions."""
