"""Prescribed rigid motions of one body."""
