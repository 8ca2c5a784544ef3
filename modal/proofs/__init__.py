"""Statements on all modes of a frozen system: energy, a count in a box, Lyapunov's function."""
