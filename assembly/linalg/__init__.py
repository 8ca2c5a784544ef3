"""Sparse operators: combinations of fixed matrices, factorizations, symmetry."""
