"""A wind turbine of 5 MW: three elastic blades on a soft tower, its modes with their names over the
speed of the rotor.
"""

from studies.wind_turbine.study import main, model, report

__all__ = ["main", "model", "report"]
