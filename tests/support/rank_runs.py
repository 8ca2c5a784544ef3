"""Programs that several ranks run together under mpiexec.

    mpiexec -n N python -m tests.support.rank_runs NAME FOLDER

The first rank writes what it found to FOLDER/NAME.json.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
import xarray as xr

import assembly
import modal
from assembly.errors import ConvergenceError
from assembly.gallery import block
from assembly.linalg.factorization import Factorization
from assembly.linalg.solver import active, linear_solver
from assembly.parallel.ranks import world
from modal.maps import stability_maps
from modal.maps.methods import SpaceMethod
from tests.support.shaken_pendulum import RATE, pendulum

ROOT = Path(__file__).parents[2]
LEAST = 100  # DOFs from which a factor is shared here


def started(ranks: int, name: str, folder: Path) -> subprocess.Popen[str]:
    """The program under mpiexec; more ranks than processors are allowed."""
    return under_mpiexec(ranks, ["-m", "tests.support.rank_runs", name, str(folder)])


def under_mpiexec(ranks: int, arguments: list[str]) -> subprocess.Popen[str]:
    """Python with these arguments on so many ranks; a signal ends them in three seconds."""
    command = ["mpiexec", "--oversubscribe", "--bind-to", "none"]
    command += ["--mca", "mpi_yield_when_idle", "1", "--mca", "odls_base_sigkill_timeout", "3"]
    command += ["-n", str(ranks), sys.executable, *arguments]
    environment = dict(os.environ, OMP_NUM_THREADS="1", PYTHONPATH=str(ROOT))
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def model() -> Any:
    """A damped beam."""
    section = assembly.rectangle(0.05, 0.02)
    beam = assembly.beam(1.0, section, assembly.steel, 6, clamped="start")
    return beam.with_damping(a=6.0, b=1e-6)


def stability_map(store: Path | None, comm: Any = None, resume: bool = False) -> xr.Dataset:
    """Its map in 16 tiles of 3 × 3 points and less."""
    with patch.object(stability_maps, "TILE_POINTS", 9):
        return modal.stability_map(
            model(), omega=np.linspace(0.0, 400.0, 12), epsilon=np.linspace(-2e5, 2e5, 11),
            axis=(0.0, 0.2, 1.0), k=4, store=store, resume=resume, progress=False, comm=comm,
        )  # fmt: skip


def hill_chart(store: Path | None, comm: Any = None) -> xr.Dataset:
    """A chart of a mechanism on shared shapes."""
    a, q = np.linspace(0.3, 4.6, 6), np.array([0.2, 0.9, 1.4])
    period = 2.0 * np.pi / RATE
    return modal.hill_chart(pendulum, period, store=store, comm=comm, progress=False, a=a, q=q)


def bits(grid: xr.Dataset) -> str:
    """The bits of all variables of a map."""
    parts = [np.asarray(grid[name].values) for name in sorted(map(str, grid.data_vars))]
    return " ".join(
        str(part.tolist()) if part.dtype.kind == "U" else part.tobytes().hex() for part in parts
    )


def maps(comm: Any, folder: Path) -> dict[str, Any]:
    """Maps in memory and in a store, and a fault on the last rank."""
    stored = stability_map(folder / "map.zarr", comm)
    in_memory = stability_map(None, comm)
    everywhere = comm.allgather(bits(in_memory))
    tile = SpaceMethod.tile

    def failing(self: SpaceMethod, place: Any) -> Any:
        if comm.rank == comm.size - 1:
            raise ConvergenceError("at a point: no")
        return tile(self, place)

    with patch.object(SpaceMethod, "tile", failing):
        try:
            stability_map(None, comm)
            raised = "nothing"
        except ConvergenceError as fault:
            raised = str(fault)
    return dict(
        stored=bits(stored),
        in_memory=bits(in_memory),
        same=len(set(everywhere)) == 1,
        raised=comm.allgather(raised),
        charts=[bits(hill_chart(None, comm)), bits(hill_chart(folder / "chart.zarr", comm))],
    )


def shared(comm: Any, folder: Path) -> dict[str, Any]:
    """Factors over all ranks against those of one; on disk; conjugate gradients."""
    body = block(6, 2, 2, size=(1.0, 0.2, 0.15)).with_damping(a=2.0, b=1e-6)
    sweep: dict[str, Any] = dict(omega=np.linspace(0.0, 300.0, 30), axis=(0, 0, 1), k=2)
    results: dict[str, Any] = {}
    with linear_solver(comm=comm, least=LEAST, out_of_core=folder / "factors") as driving:
        if driving:
            system = body.freeze(omega=100.0, axis=(0, 0, 1))
            results["eigenvalues"] = modal.solve(system, k=1).eigenvalues
            results["tracks"] = modal.track(body, **sweep).eigenvalue.values
            results["factors"] = active().team.made
            results["folders"] = len(list((folder / "factors").iterdir()))
            indefinite = sp.csr_matrix(system.stiffness - 4e6 * system.M)
            with Factorization(indefinite, "symmetric", small=0) as factor:
                results["negative"] = factor.negative_pivots
            try:
                Factorization(indefinite, "spd")
            except assembly.FrozenMotionError as fault:
                results["refused"] = type(fault).__name__
    with linear_solver("iterative", comm=comm, least=LEAST) as driving:
        if driving:
            K = body.supported.K.tocsr()
            b = np.random.default_rng(1).standard_normal((K.shape[0], 2))
            with Factorization(K, "spd", motions=body.free_dofs.rigid_motions) as factor:
                residual = K @ factor.solve(b) - b
            results["factors"] += 100 * active().team.made
            results["residual"] = np.linalg.norm(residual) / np.linalg.norm(b)
    if driving:
        alone = modal.solve(body.freeze(omega=100.0, axis=(0, 0, 1)), k=1).eigenvalues
        results["solve difference"] = np.abs(results.pop("eigenvalues") / alone - 1.0).max()
        tracks = modal.track(body, **sweep).eigenvalue.values
        results["track difference"] = np.abs(results.pop("tracks") / tracks - 1.0).max()
        results["negative expected"] = int((np.linalg.eigvalsh(indefinite.toarray()) < 0).sum())
        results["files left"] = len(list((folder / "factors").iterdir()))
        results = {name: getattr(v, "item", lambda v=v: v)() for name, v in results.items()}
    return results


def groups(comm: Any, folder: Path) -> dict[str, Any]:
    """Two ranks for each factor, and the tiles over the pairs."""
    members = comm.Split(comm.rank // 2, comm.rank)
    leaders = comm.Split(members.rank, comm.rank)
    grid = None
    with linear_solver(comm=members, least=50) as driving:
        if driving:
            grid = stability_map(None, leaders)
    difference = np.nan
    if comm.rank == 0:
        alone = stability_map(None)
        difference = float(np.abs(grid.growth_rate - alone.growth_rate).max())
    return dict(difference=difference)


def killed(comm: Any, folder: Path) -> dict[str, Any]:
    """A map of which the last rank is killed in its third tile."""
    tile, count = SpaceMethod.tile, 0

    def dying(self: SpaceMethod, place: Any) -> Any:
        nonlocal count
        count += 1
        if comm.rank == comm.size - 1 and count == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return tile(self, place)

    with patch.object(SpaceMethod, "tile", dying):
        stability_map(folder / "map.zarr", comm)
    return {}


def resumed(comm: Any, folder: Path) -> dict[str, Any]:
    """The rest of the killed map."""
    return dict(stored=bits(stability_map(folder / "map.zarr", comm, resume=True)))


def failing(comm: Any, folder: Path) -> dict[str, Any]:
    """An exception of the driver while the others wait for it."""
    with linear_solver(comm=comm) as driving:
        if driving:
            raise ValueError("the driver failed")
    return {}


PROGRAMS: dict[str, Callable[[Any, Path], dict[str, Any]]] = {
    program.__name__: program for program in (maps, shared, groups, killed, resumed, failing)
}


def main(names: str, place: str) -> None:
    comm, folder = world(), Path(place)
    assert comm is not None
    for name in names.split(","):
        results = PROGRAMS[name](comm, folder)
        if comm.rank == 0:
            (folder / f"{name}.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
