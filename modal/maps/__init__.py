"""Stability maps over parameters."""
