"""Datasets: variables, units, storage, fingerprints."""
