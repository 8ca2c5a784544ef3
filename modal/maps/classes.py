"""What the points of a map are called: a stable point says which modes that is known of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from xarray import DataArray, Dataset

from modal.proofs.judge import DIVERGENCE, FLUTTER, PROOFS, STABLE, UNDECIDED

NOT_COMPUTED = -2
NAMES = {
    STABLE: "stable (all modes)",
    UNDECIDED: "undecided: other modes may be unstable",
    DIVERGENCE: "divergence",
    FLUTTER: "flutter",
}
HOW = {
    "energy": "by energy",
    "count": "by a count of the modes in the box",
    "lyapunov": "by a Lyapunov function",
}


def classes(grid: Dataset) -> DataArray:
    """The class of every point: NOT_COMPUTED, or its verdict, a key of NAMES.

    "Stable" without a proof on all modes, as maps of earlier versions have it, is undecided.
    """
    verdict = grid["verdict"]
    proved = grid["proof"] > 0 if "proof" in grid else verdict.astype(bool) & False
    codes = np.where((verdict == STABLE) & ~proved, UNDECIDED, verdict)
    if "done" in grid:
        codes = np.where(grid["done"], codes, NOT_COMPUTED)
    return DataArray(codes.astype(int), dims=verdict.dims, coords=verdict.coords)


def shares(grid: Dataset) -> list[str]:
    """One line for each class of points that occurs, and one for each proof of stability."""
    codes: NDArray[np.intp] = classes(grid).values
    lines = []
    for code, name in NAMES.items():
        lines += _share(name, int((codes == code).sum()), codes.size)
        if code == STABLE and "proof" in grid:
            for proof, how in HOW.items():
                by = (codes == STABLE) & (grid["proof"].values == PROOFS.index(proof))
                lines += _share(f"  {how}", int(by.sum()), codes.size)
    return lines + _share("not computed", int((codes == NOT_COMPUTED).sum()), codes.size)


def _share(name: str, count: int, total: int) -> list[str]:
    return [f"  {name:<48} {count:>7} points ({100.0 * count / total:.1f} %)"] if count else []
