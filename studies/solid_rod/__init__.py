"""A slider-crank whose rod is a solid mesh, on a reduced basis of the rod: its modes over
a turn and its Floquet exponents.
"""

from studies.solid_rod.study import main, report

__all__ = ["main", "report"]
