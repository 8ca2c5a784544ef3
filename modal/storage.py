"""Datasets on disk: NetCDF through h5netcdf, complex numbers natively, all or nothing."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Literal

import xarray as xr

from assembly.errors import StorageError

ENGINE: Literal["h5netcdf"] = "h5netcdf"


def write_dataset(dataset: xr.Dataset, path: str | Path, overwrite: bool = True) -> Path:
    """Write a dataset as NetCDF and return its path; the file appears whole or not at all.

    It is written beside its place under a temporary name and then renamed, so an interruption, a
    full disk or a kill leaves what was there before. Raises StorageError, in one line, when it
    cannot be written or when it exists and `overwrite` is False.
    """
    target = Path(path)
    if target.exists() and not overwrite:
        raise StorageError(f"{target}: exists already and was not asked to be replaced")
    if target.is_dir():
        raise StorageError(f"{target}: is a folder; give the name of a file")
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name}.", suffix=".part"
        )
        os.close(handle)
        dataset.to_netcdf(temporary, engine=ENGINE, auto_complex=None, invalid_netcdf=True)
        with open(temporary, "rb") as written:
            os.fsync(written.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
        temporary = None
    except (OSError, ValueError, TypeError, RuntimeError) as fault:
        raise StorageError(f"{target}: could not be written: {_line(fault)}") from fault
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
    return target


def read_dataset(path: str | Path) -> xr.Dataset:
    """Read a dataset into memory. Raises StorageError, in one line, when there is none or it is
    damaged.
    """
    source = Path(path)
    if not source.is_file():
        raise StorageError(f"{source}: no such file")
    try:
        with xr.open_dataset(source, engine=ENGINE) as opened:
            return opened.load()
    except (OSError, ValueError, TypeError, RuntimeError, KeyError) as fault:
        raise StorageError(f"{source}: could not be read as NetCDF: {_line(fault)}") from fault


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def _line(fault: BaseException) -> str:
    return " ".join(str(fault).split()) or type(fault).__name__
