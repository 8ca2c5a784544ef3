"""The array types of the annotations, by the kind of their entries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.intp]  # positions: nodes, elements, degrees of freedom
Mask = NDArray[np.bool_]
Inexact = NDArray[np.inexact[Any]]  # real or complex
AnyArray = NDArray[Any]
