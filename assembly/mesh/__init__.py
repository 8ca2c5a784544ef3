"""Meshes of other programs."""
