"""The matrices of a frozen system in files of other programs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import scipy.io
import scipy.sparse as sp

from assembly.errors import InputError, StorageError
from assembly.optional import optional
from assembly.system.frozen import FrozenSystem, check_is_frozen


def write_matrices(path: str | os.PathLike[str], system: FrozenSystem) -> tuple[Path, ...]:
    """Write M, C (all that multiplies the velocity) and K (all stiffness) of a frozen system.

    Parameters
    ----------
    path : path
        ``NAME.mtx`` writes the Matrix Market files ``NAME_M.mtx``, ``NAME_C.mtx`` and
        ``NAME_K.mtx``; ``NAME.npz`` the same in the format of `scipy.sparse.load_npz`; ``NAME.op4``
        one Nastran output4 file (needs pyyeti).
    system : FrozenSystem

    Returns
    -------
    tuple of Path
        The files.

    Raises
    ------
    InputError
        For another file name, or when pyyeti is not installed.
    StorageError
        A file cannot be written.
    """
    check_is_frozen(system)
    target = Path(path)
    matrices = {"M": system.M, "C": system.damping, "K": system.stiffness}
    try:
        if target.suffix == ".op4":
            _op4(target, matrices)
            return (target,)
        writer = _WRITERS.get(target.suffix)
        if writer is None:
            raise InputError(f"path: expected .mtx, .npz or .op4, got {target.name!r}")
        files = tuple(target.with_name(f"{target.stem}_{k}{target.suffix}") for k in matrices)
        for file, matrix in zip(files, matrices.values(), strict=True):
            writer(file, matrix)
        return files
    except OSError as fault:
        raise StorageError(f"{target}: could not be written: {fault.strerror}") from fault


def _market(path: Path, matrix: sp.csr_matrix) -> None:
    scipy.io.mmwrite(path, matrix, precision=17)


_WRITERS: dict[str, Callable[[Path, sp.csr_matrix], None]] = {
    ".mtx": _market,
    ".npz": lambda path, matrix: sp.save_npz(path, matrix),
}


def _op4(path: Path, matrices: dict[str, sp.csr_matrix]) -> None:
    op4 = optional("pyyeti.nastran.op4", "op4 files")
    op4.write(str(path), {name: sp.coo_matrix(A) for name, A in matrices.items()}, sparse="bigmat")
