"""A slider-crank with an elastic rod and crank: how its modes move over a turn, where it is
unstable, and how well that agrees with time integration.
"""

from studies.slider_crank.study import main, model, report, stiffness_damping

__all__ = ["main", "model", "report", "stiffness_damping"]
