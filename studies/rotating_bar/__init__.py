"""A bar that turns about one end and vibrates along itself: Vlase, Nicolescu & Marin, Mathematics
2020, 8, 1401, example a and section c.
"""

from studies.rotating_bar.study import main, report

__all__ = ["main", "report"]
