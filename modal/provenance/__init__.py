"""Whose results these are: fingerprints of models."""
