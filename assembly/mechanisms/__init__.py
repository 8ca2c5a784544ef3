"""Mechanisms: joints, loop closure, and the reduction to independent DOFs."""
