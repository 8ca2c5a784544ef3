"""Break every factor of every bound once, and show which test notices: python -m tools.mutants.

A mutant is a pattern in the source and what replaces it. The packages and the tests are copied to a
folder of their own, the pattern is replaced there, and the tests named run until one fails. A
pattern that is not found once is an error: the list is to follow the source. The exit code is the
number of mutants that survive. Words as arguments choose the mutants whose names contain one.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COPIED = ("assembly", "modal", "studies", "tests")
# Every mutant is tested in a fork of this process, which has read these already.
READ_ONCE = ("numpy", "scipy.linalg", "scipy.sparse.linalg", "scipy.spatial", "xarray", "pytest")
FORK = multiprocessing.get_context("fork")
SHARP = "tests/modal/proofs/test_sharp_bounds.py"
VERDICT = "tests/modal/proofs/test_stability_verdict.py"
RATIOS = "tests/modal/proofs/test_ratio_bounds.py"
ORBITS = "tests/modal/periodic/test_orbit_error.py"
PANELS = "tests/modal/transient/test_panels.py"
LONG_PANEL = f"{PANELS}::test_the_error_of_one_panel_holds"
TURNING = (
    "tests/modal/periodic/test_decoupling.py::test_shapes_that_turn_away_from_where_they_began"
)
CHAIN = "tests/project/test_anywhere.py::test_a_chain_that_passes_beside_a_singular_position"
SMALL = "tests/modal/transient/test_small_transients.py"
REDUCTION = "tests/modal/reduction/test_reduction.py"
ACCUMULATION = "test_bounds_beside_the_accumulation_of_overdamped_modes"
CLOSURE = "tests/assembly/mechanisms/test_closure_parts.py"
BRANCH = f"{CLOSURE}::test_a_position_on_another_branch_is_not_taken"


@dataclass(frozen=True)
class Mutant:
    """name, the file, the pattern and what replaces it, and the tests that must notice."""

    name: str
    path: str
    pattern: str
    changed: str
    tests: tuple[str, ...]


MUTANTS = [
    Mutant(
        "completeness: θ from the smaller end", "modal/proofs/completeness.py",
        "np.maximum(-factor * low, -factor * high)", "np.minimum(-factor * low, -factor * high)",
        (f"{SHARP}::test_theta_is_what_the_complement_of_a_basis_loses",),
    ),
    Mutant(
        "box: 0.4 γ", "modal/proofs/box.py",
        "max(0.5 * self.gyroscopic", "max(0.4 * self.gyroscopic",
        (f"{SHARP}::test_the_height_of_the_box_is_that_of_a_softened_gyroscope",),
    ),
    Mutant(
        "box of a family: 0.4 γ", "modal/proofs/box.py",
        "np.maximum(0.5 * self.gyroscopic", "np.maximum(0.4 * self.gyroscopic",
        (f"{SHARP}::test_the_height_of_the_box_is_that_of_a_softened_gyroscope",),
    ),
    Mutant(
        "box: no circulatory forces", "modal/proofs/box.py",
        "return max(0.5 * self.gyroscopic, self.circulatory)",
        "return max(0.5 * self.gyroscopic, 0.4 * self.circulatory)",
        (f"{VERDICT}::test_no_unstable_eigenvalue_is_outside_the_box",),
    ),
    Mutant(
        "box: no softening", "modal/proofs/box.py",
        "self.stiffness + self.softening", "self.stiffness",
        (f"{VERDICT}::test_no_unstable_eigenvalue_is_outside_the_box",),
    ),
    Mutant(
        "poles: no slope between the nodes", "modal/proofs/poles.py",
        "(largest + 0.5 * W / nodes * slope)", "largest",
        (f"{SHARP}::test_the_sum_over_poles_between_the_nodes",),
    ),
    Mutant(
        "poles: couplings at the nearest ω", "modal/proofs/poles.py",
        "most * slope * opposite", "least * slope * opposite",
        (f"{SHARP}::test_a_pole_of_known_residuals_has_the_couplings_of_its_own_vectors",),
    ),
    Mutant(
        "error bounds: sketches taken as exact", "modal/reduction/error_bounds.py",
        "UNDERESTIMATE**2 * left", "left",
        (f"{SHARP}::test_the_error_bound_of_a_basis_that_lacks_one_shape",),
    ),
    Mutant(
        "error bounds: UNDERESTIMATE once", "modal/reduction/error_bounds.py",
        "UNDERESTIMATE**2 * left", "UNDERESTIMATE * left",
        (f"{SHARP}::test_the_error_bound_of_a_basis_that_lacks_one_shape",),
    ),
    Mutant(
        "error bounds: no (|λ|/ω_c)²", "modal/reduction/error_bounds.py",
        "- size * skew - (size / resolved) ** 2", "- size * skew",
        (f"{SHARP}::test_the_error_bound_of_a_basis_that_lacks_one_shape",),
    ),
    Mutant(
        "error bounds: no 1/γ", "modal/reduction/error_bounds.py",
        "square[:, None, :] / distance(lam, resolved, complement)[:, :, None]",
        "square[:, None, :] / np.ones(lam.shape + (1,))",
        (f"{SHARP}::test_the_error_bound_of_a_basis_that_lacks_one_shape",),
    ),
    Mutant(
        "smooth tracks: SAFETY 0.04", "modal/tracking/smooth_space.py",
        "by_basis[:, w] = SAFETY *", "by_basis[:, w] = 0.04 *",
        (f"{SHARP}::test_the_bound_of_a_track_from_one_basis",),
    ),
    Mutant(
        "basis: nothing is needed beyond the modes at rest", "modal/reduction/body_space.py",
        "return float(np.sqrt(square.max()))", "return 0.0",
        (f"{SHARP}::test_shapes_that_only_the_motion_brings_down_are_in_the_basis",),
    ),
    Mutant(
        "Lanczos: not widened by what it can have missed", "modal/proofs/ratios.py",
        "missed = 0.0 if exact else _missed(done[i], n, skew)", "missed = 0.0",
        (f"{RATIOS}::test_a_bound_is_as_wide_as_the_theorem_demands",),
    ),
    Mutant(
        "Lanczos: images of vectors by recurrence", "modal/proofs/ratios.py",
        "Ax = energy(x[:, None])[:, 0]",
        "Ax = image[:, i] - excluded[1] @ (excluded[1].T @ solve(image[:, [i]])[:, 0]) "
        "- AX[i][:, :k] @ (AX[i][:, :k].T @ solve(image[:, [i]])[:, 0])",
        (f"{SHARP}::test_lanczos_of_clusters_beside_known_vectors",),
    ),
    Mutant(
        "Lanczos: an invariant space without its residual", "modal/proofs/ratios.py",
        "residual = INVARIANT * np.sqrt(size) if exact and k else 0.0", "residual = 0.0",
        (f"{SHARP}::test_an_invariant_space_of_lanczos_adds_its_residual",),
    ),
    Mutant(
        "all modes: FORMED / 2", "modal/proofs/all_modes.py", "FORMED = 4e-14", "FORMED = 2e-14",
        (f"{SHARP}::test_a_stiffness_below_what_its_sums_lose_has_no_sign",),
    ),
    Mutant(
        "full order: residuals not amplified", "modal/reduction/full_order.py",
        "/ np.abs(pairing) / apart[:, None]", "/ np.abs(pairing) * np.ones((len(lam), 1))",
        (f"{SHARP}::test_the_bound_of_full_order_modes_of_a_basis_that_lacks_one_shape",),
    ),
    Mutant(
        "reduced eigenvalues: damping of the complement left out",
        "modal/reduction/error_bounds.py",
        "np.abs(1.0 + lam * nearest) - size * skew", "1.0", (f"{REDUCTION}::{ACCUMULATION}",),
    ),
    Mutant(
        "products: rows alone", "modal/reduction/projection.py",
        "np.maximum(size @ t, transpose_of(size) @ t)", "size @ t",
        (f"{SHARP}::test_the_size_of_an_operator_of_one_entry_is_that_entry",),
    ),
    Mutant(
        "products: no weights of the masses", "modal/reduction/projection.py",
        "s = _sums(term, t) / t", "s = _sums(term, t)",
        (f"{SHARP}::test_the_size_of_products_is_that_of_their_terms",),
    ),
    Mutant(
        "round-off: without products", "modal/reduction/error_bounds.py",
        "np.finfo(float).eps * products / scale", "0.0 * products / scale",
        (f"{SHARP}::test_round_off_is_that_of_the_products",),
    ),
    Mutant(
        "links: the residual of one link, of a motion", "modal/reduction/motion.py",
        "square += dual_squares(sketch)", "square = dual_squares(sketch)",
        (f"{SHARP}::test_residuals_of_all_links_count",),
    ),
    Mutant(
        "links: the residual of one link, of modes", "modal/reduction/instants.py",
        "for name in self.projected\n        )\n        return np.sqrt(square)",
        "for name in list(self.projected)[:1]\n        )\n        return np.sqrt(square)",
        (f"{SHARP}::test_residuals_of_all_links_count",),
    ),
    Mutant(
        "orbits: no shapes outside the basis", "modal/periodic/galerkin.py",
        "(between + outside)", "between", (ORBITS,),
    ),
    Mutant(
        "orbits: SAFETY 0.04", "modal/reduction/tolerances.py",
        "SAFETY = 4.0", "SAFETY = 0.04", (ORBITS,),
    ),
    Mutant(
        "orbits: the mode in place of its adjoint", "modal/periodic/galerkin.py",
        "inside = inside + SAFETY * np.abs((aside", "inside = inside + 0.0 * np.abs((aside",
        (ORBITS,),
    ),
    Mutant(
        "orbits: K alone, singular for free bodies", "modal/periodic/galerkin.py",
        "(share * omega) ** 2, ROUND_OFF * stiffest", "0.0 * omega, 0.0", (ORBITS,),
    ),
    Mutant(
        "orbits: errors of modes whose orbit is not known", "modal/periodic/slow_modes.py",
        "error = np.full(len(known), np.inf)", "error = found.error.copy()",
        ("tests/modal/periodic/test_floquet_bounds.py"
         "::test_a_mode_whose_orbit_is_not_known_has_no_error_bound",),
    ),
    Mutant(
        "decoupling: polynomials that do not hold between the instants",
        "modal/periodic/decoupling.py",
        "self.resolved = float(self.unresolved.max()) <= self.accuracy",
        "self.resolved = True",
        ("tests/modal/periodic/test_stiff_floquet.py::test_a_slider_crank_with_a_long_crank",),
    ),
    Mutant(
        "frames: what a period turns them by is not taken back", "modal/periodic/slow_motion.py",
        "exponential(-np.arange(count)[:, None, None] * rate)", "np.eye(len(rate))", (TURNING,),
    ),
    Mutant(
        "frames: no check that the parts of the period resolve them",
        "modal/periodic/slow_motion.py",
        "size[middle - part : middle + part + 1].max() / size.max()", "0.0", (CHAIN,),
    ),
    Mutant(
        "panels: no error of polynomials", "modal/transient/decoupled.py",
        "rest = float(last.reshape(2, -1).max(axis=1).sum()) / size", "rest = 0.0", (LONG_PANEL,),
    ),
    Mutant(
        "panels: steps as long as those they are compared with", "modal/transient/decoupled.py",
        "nodes[2::2], 2.0 * phase)", "nodes[2::2], phase)", (LONG_PANEL,),
    ),
    Mutant(
        "panels: a tenth of the difference", "modal/transient/decoupled.py",
        "float(less.max()) / size + rest", "0.1 * float(less.max()) / size + rest",
        (f"{PANELS}::test_the_error_holds_where_only_the_middle_of_a_panel_moves",),
    ),
    Mutant(
        "basis of shapes: phases that were lost before", "modal/transient/small_transient.py",
        "cumulative_trapezoid(rates, self.times, axis=0, initial=0.0)",
        "0.5 * rates * (self.times - self.times[0])[:, None]",
        (f"{SMALL}::test_the_stated_error_holds_where_frequencies_change",),
    ),
    Mutant(
        "closure: no guard of the branch", "assembly/mechanisms/closure.py",
        "closed &= at_anchor.distance(poses, self.length) <= 2.0 * STRIDE", "pass",
        (BRANCH,),
    ),
]  # fmt: skip


def survives(mutant: Mutant, folder: Path) -> tuple[bool, str]:
    """Whether no test notices, and the test that does."""
    path = folder / mutant.path
    source = path.read_text("utf-8")
    if source.count(mutant.pattern) != 1:
        raise SystemExit(f"{mutant.name}: {mutant.path} has {mutant.pattern!r} not once")
    path.write_text(source.replace(mutant.pattern, mutant.changed), "utf-8")
    with tempfile.TemporaryFile("w+") as output:
        try:
            run = FORK.Process(target=tested, args=(folder, mutant.tests, output.fileno()))
            run.start()
            run.join()
        finally:
            path.write_text(source, "utf-8")
        output.seek(0)
        text = output.read()
    if run.exitcode not in (0, 1):
        raise SystemExit(f"{mutant.name}: {text}")
    lines = [line for line in text.splitlines() if line.startswith(("FAILED", "ERROR"))]
    by = lines[0].split("::", 1)[-1].split(" - ")[0] if lines else ""
    return run.exitcode == 0, by


def tested(folder: Path, tests: tuple[str, ...], output: int) -> None:
    """The tests in a folder, in a process of their own; the exit code is that of pytest."""
    for stream in (1, 2):
        os.dup2(output, stream)
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    options = ["-x", "-q", "-n", "0", "--tb=no", "-rfE", "-p", "no:cacheprovider"]
    marks = "" if all("::" in test for test in tests) else "not slow"
    os._exit(pytest.main([*options, "-m", marks, *tests]))


def main(words: list[str]) -> int:
    chosen = [m for m in MUTANTS if not words or any(word in m.name for word in words)]
    alive = 0
    os.environ |= {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    sys.dont_write_bytecode = True
    for module in READ_ONCE:
        importlib.import_module(module)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for package in COPIED:
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / package, folder / package, ignore=ignored)
        shutil.copy(ROOT / "pyproject.toml", folder)
        for mutant in chosen:
            lives, by = survives(mutant, folder)
            alive += lives
            print(f"{'SURVIVES' if lives else 'killed':9} {mutant.name:52} {by}", flush=True)
    print(f"{len(chosen) - alive} of {len(chosen)} killed")
    return alive


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
