"""The matrices of a frozen system in files of other programs."""

from __future__ import annotations

import os
from pathlib import Path

import scipy.io
import scipy.sparse as sp

from assembly.errors import InputError
from assembly.optional import optional
from assembly.system.frozen import FrozenSystem, check_is_frozen
from modal.data.folder import storage_faults


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
    if target.suffix == ".op4":
        op4 = optional("pyyeti.nastran.op4", "op4 files")
        coordinates = {name: sp.coo_matrix(A) for name, A in matrices.items()}
        with storage_faults(target):
            op4.write(str(target), coordinates, sparse="bigmat")
        return (target,)
    if target.suffix not in (".mtx", ".npz"):
        raise InputError(f"path: expected .mtx, .npz or .op4, got {target.name!r}")
    files = tuple(target.with_name(f"{target.stem}_{k}{target.suffix}") for k in matrices)
    with storage_faults(target):
        for file, matrix in zip(files, matrices.values(), strict=True):
            if target.suffix == ".npz":
                sp.save_npz(file, matrix)
            else:
                scipy.io.mmwrite(file, matrix, precision=17)
    return files
