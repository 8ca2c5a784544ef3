"""Assembly of M and K of a solid: this library against scikit-fem's vector forms, side by side.

The same bricks, the same quadrature, both from node coordinates and connectivity to two CSR
matrices, in alternation in one process; the medians' ratio is the result. Peak memory of each way
is measured in a process of its own. Run: python benchmarks/solid_assembly.py [--unknowns 100000]
[--repeats 3]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import skfem
from numpy.typing import NDArray

from assembly import gallery, steel
from assembly.elements.cells import CellBlock, Cells
from assembly.elements.continuum import Continuum, Law
from assembly.elements.reference import CELLS
from assembly.materials.materials import elasticity

Matrices = tuple[sp.csr_matrix, sp.csr_matrix]
# scikit-fem's corner order of a brick, in the mesh file's numbers.
SKFEM_CORNERS = (6, 2, 5, 7, 1, 3, 4, 0)


def bricks(unknowns: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Nodes (N, 3) and bricks (E, 8) of a long block with about that many unknowns."""
    n = max(1, round((unknowns / 6.0) ** (1.0 / 3.0)))
    mesh = gallery.block_mesh(2 * n, n - 1, n - 1, "hex8", (2.0, 1.0, 1.0))
    return mesh.points, mesh.cells[0].data


def ours(points: NDArray[np.float64], nodes: NDArray[np.intp]) -> Matrices:
    cells = Cells(points, [CellBlock("hexahedron", nodes)], 3)
    elements = Continuum(cells, [Law(elasticity(steel), steel.rho)])
    return elements.mass().tocsr(), elements.stiffness()


def scikit_fem(points: NDArray[np.float64], nodes: NDArray[np.intp]) -> Matrices:
    mesh = skfem.MeshHex1(points.T.copy(), nodes[:, SKFEM_CORNERS].T.copy(), sort_t=False)
    element, cell = skfem.ElementVector(skfem.ElementHex1()), CELLS["hexahedron"]
    lame = steel.E * steel.nu / ((1.0 + steel.nu) * (1.0 - 2.0 * steel.nu))

    @skfem.BilinearForm
    def stiffness(u, v, w):  # type: ignore[no-untyped-def]
        from skfem.helpers import ddot, div, sym_grad

        return lame * div(u) * div(v) + 2.0 * steel.G * ddot(sym_grad(u), sym_grad(v))

    @skfem.BilinearForm
    def mass(u, v, w):  # type: ignore[no-untyped-def]
        from skfem.helpers import dot

        return steel.rho * dot(u, v)

    K = stiffness.assemble(skfem.Basis(mesh, element, intorder=cell.stiffness_order))
    M = mass.assemble(skfem.Basis(mesh, element, intorder=cell.mass_order))
    return M.tocsr(), K.tocsr()


WAYS: dict[str, Callable[..., Matrices]] = {"ours": ours, "scikit-fem": scikit_fem}


def peak_memory(way: str, unknowns: int) -> float:
    """MiB the assembly adds to the peak of a fresh process."""
    done = subprocess.run(
        [sys.executable, __file__, "--unknowns", str(unknowns), "--memory-of", way],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout.split()[-1])


def print_memory(way: str, unknowns: int) -> None:
    points, nodes = bricks(unknowns)
    WAYS[way](*bricks(24))  # imports and first calls are not the assembly's
    before = _peak()
    WAYS[way](points, nodes)
    print(_peak() - before)


def _peak() -> float:
    """Peak resident memory of this process, MiB (getrusage would count the parent's before
    exec)."""
    status = Path("/proc/self/status").read_text()
    return float(status.split("VmHWM:")[1].split()[0]) / 1024.0


def compare(unknowns: int, repeats: int) -> None:
    points, nodes = bricks(unknowns)
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    results: dict[str, Matrices] = {}
    for _ in range(repeats):
        for way, assemble in WAYS.items():
            start = time.perf_counter()
            results[way] = assemble(points, nodes)
            times[way].append(time.perf_counter() - start)
    # The two answers are the same matrices: their products with random fields (scikit-fem numbers
    # the unknowns node by node too).
    v = np.random.default_rng(0).normal(size=results["ours"][0].shape[0])
    for A, B in zip(results["ours"], results["scikit-fem"], strict=True):
        assert np.linalg.norm(A @ v - B @ v) < 1e-10 * np.linalg.norm(A @ v)
    median = {way: statistics.median(found) for way, found in times.items()}
    print(f"{len(v)} unknowns, {len(nodes)} bricks, {results['scikit-fem'][1].nnz} nonzeros in K")
    for way in WAYS:
        print(
            f"  {way:<11} {median[way]:8.3f} s   peak memory {peak_memory(way, unknowns):8.0f} MiB"
        )
    print(f"  ratio       {median['scikit-fem'] / median['ours']:8.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--unknowns", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory-of", choices=tuple(WAYS))
    given = parser.parse_args()
    if given.memory_of:
        print_memory(given.memory_of, given.unknowns)
    else:
        compare(given.unknowns, given.repeats)


if __name__ == "__main__":
    main()
