"""A four-bladed helicopter rotor on lag hinges with one lag damper out of work: ground resonance
that frozen modes and averaged multiblade coordinates do not see.
"""

from studies.helicopter.study import equations, main, model, report

__all__ = ["equations", "main", "model", "report"]
