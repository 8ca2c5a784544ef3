"""Fingerprints that identify the model of a stored result."""
