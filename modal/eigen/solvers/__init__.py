"""Eigensolvers behind one interface."""
