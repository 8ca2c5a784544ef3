"""A robot arm with elastic gears on its way from folded to reaching out: what its first frequency
is made of, gears or links, and how far the gears sag.
"""

from studies.robot_arm.study import main, model, report, rigid_links

__all__ = ["main", "model", "report", "rigid_links"]
