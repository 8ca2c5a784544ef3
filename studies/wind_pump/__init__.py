"""The wind water pump with two degrees of mobility: Vlase, Negrean, Marin & Năstac, Mathematics
2020, 8, 805, section 5 and appendix B, with an elastic lever BC'.
"""

from studies.wind_pump.study import main, report

__all__ = ["main", "report"]
