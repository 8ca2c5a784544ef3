"""A bar whose motion is measured with markers: Vlase, Nicolescu & Marin, Mathematics 2020, 8, 1401,
example b.
"""

from studies.measured_motion.study import main, report

__all__ = ["main", "report"]
