"""Two properties of the equations of elastic mechanisms: Scutaru & Vlase, J. Appl. Math. 2012,
628503, as they are printed and as they hold.
"""

from studies.two_zeros.study import main, report

__all__ = ["main", "report"]
