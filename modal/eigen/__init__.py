"""Eigenmodes of one frozen system, checked."""
