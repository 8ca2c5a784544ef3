"""A blade on a rotor: Campbell diagrams of a beam and of a solid mesh; and the same beam spun about
its own length, where its two bending stiffnesses and its internal damping make it unstable.
"""

from studies.rotating_blade.study import (
    beam_model,
    compare_with_calculix,
    main,
    report,
    solid_model,
)

__all__ = ["beam_model", "compare_with_calculix", "main", "report", "solid_model"]
