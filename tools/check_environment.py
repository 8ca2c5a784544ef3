"""Import every package the suite needs, factor a small matrix with MUMPS; exit 1 on a failure."""

import importlib
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

IMPORT_NAMES = {"scikit-fem": "skfem"}


def requirements(pyproject: Path) -> list[str]:
    """The names of the project's run-time dependencies, without PETSc and SLEPc."""
    project = tomllib.loads(pyproject.read_text())["project"]
    return [requirement.split(">=")[0] for requirement in project["dependencies"]]


def solve_with_mumps() -> float:
    """Factor a 3 by 3 stiffness matrix with MUMPS Cholesky; return the residual of one solve."""
    from petsc4py import PETSc

    stiffness = PETSc.Mat().createAIJ((3, 3), nnz=3)
    for row, column, value in [(0, 0, 2), (1, 1, 2), (2, 2, 1), (0, 1, -1), (1, 2, -1)]:
        stiffness.setValue(row, column, value)
        stiffness.setValue(column, row, value)
    stiffness.assemble()
    solver = PETSc.KSP().create()
    solver.setOperators(stiffness)
    solver.setType("preonly")
    solver.pc.setType("cholesky")
    solver.pc.setFactorSolverType("mumps")
    load, displacement = stiffness.createVecs()
    load.set(1.0)
    solver.solve(load, displacement)
    residual = float((stiffness * displacement - load).norm())
    for owned in (solver, stiffness, load, displacement):
        owned.destroy()
    return residual


def main() -> int:
    names = requirements(Path(__file__).parents[1] / "pyproject.toml")
    for name in [*names, "petsc4py", "slepc4py"]:
        importlib.import_module(IMPORT_NAMES.get(name, name))
    residual = solve_with_mumps()
    if residual > 1e-12:
        print(f"check_environment: MUMPS left a residual of {residual:.1e}", file=sys.stderr)
        return 1
    shown = ("numpy", "scipy", "petsc4py", "slepc4py")
    print("environment ready:", ", ".join(f"{name} {version(name)}" for name in shown))
    return 0


if __name__ == "__main__":
    sys.exit(main())
