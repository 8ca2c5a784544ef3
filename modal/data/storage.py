"""Datasets on disk: NetCDF through h5netcdf, complex numbers natively, all or nothing."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Literal

import numpy as np
import xarray as xr

from assembly.arguments import check_kind
from assembly.errors import StorageError
from modal.data.datasets import in_words
from modal.data.folder import write_whole
from modal.data.results import as_results

ENGINE: Literal["h5netcdf"] = "h5netcdf"


def write_dataset(dataset: xr.Dataset, path: str | Path, overwrite: bool = True) -> Path:
    """Write a dataset as NetCDF; the file appears complete or not at all.

    Parameters
    ----------
    dataset : xarray.Dataset
        Dataset to write, complex variables included.
    path : str or Path
        File to write. Its folder must exist.
    overwrite : bool
        Whether a file of that name may be replaced.

    Returns
    -------
    Path
        The path of the file.

    Raises
    ------
    StorageError
        The file cannot be written, is a folder, or exists and `overwrite` is False.

    Notes
    -----
    The content is made in memory, because HDF5 does not survive a failed write, and written to a
    temporary file in the same folder, which is then renamed. An interruption or a full disk leaves
    an earlier file as it was. Complex numbers are a compound type, as h5netcdf writes them.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import xarray as xr
    >>> import modal
    >>> dataset = xr.Dataset({"eigenvalue": ("mode", np.array([-1.0 + 2.0j]))})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = modal.write_dataset(dataset, f"{folder}/tracks.nc")
    ...     print(modal.read_dataset(path).identical(dataset))
    True
    """
    check_kind(dataset, xr.Dataset, "dataset", "an xarray.Dataset, such as modal.track returns")
    target = Path(path)
    if target.exists() and not overwrite:
        raise StorageError(f"{target}: exists already and was not asked to be replaced")
    if target.is_dir():
        raise StorageError(f"{target}: is a folder; give the name of a file")
    try:
        content = _netcdf(dataset)
        write_whole(target, content)
    except (OSError, ValueError, TypeError, RuntimeError) as fault:
        raise StorageError(f"{target}: could not be written: {_line(fault)}") from fault
    return target


def _netcdf(dataset: xr.Dataset) -> memoryview:
    """The content of the file. Words are characters, compressed: nearly all of them are equal."""
    words = [name for name, values in dataset.variables.items() if values.dtype.kind == "U"]
    characters = {"dtype": "S1", "zlib": True, "complevel": 1}
    file = io.BytesIO()
    dataset.to_netcdf(
        file,
        engine=ENGINE,
        encoding={name: characters for name in words if dataset[name].ndim},
    )
    return file.getbuffer()


def read_dataset(path: str | Path) -> xr.Dataset:
    """Read a dataset into memory and close its file.

    Parameters
    ----------
    path : str or Path
        NetCDF file, as `write_dataset` or a study wrote it, or the zarr folder of a map.

    Returns
    -------
    xarray.Dataset
        All variables, complex ones as complex numbers and words as strings.

    Raises
    ------
    StorageError
        There is no such file or folder, or it cannot be read.

    See Also
    --------
    write_dataset : Write a dataset; its example reads it again.
    """
    source = Path(path)
    folder = source.is_dir()
    if not folder and not source.is_file():
        raise StorageError(f"{source}: no such file")
    if folder and not (source / "zarr.json").exists() and not (source / ".zgroup").exists():
        raise StorageError(f"{source}: is a folder, but not the store of a map")
    try:
        with xr.open_dataset(source, engine="zarr" if folder else ENGINE) as opened:
            return _plain(opened.load())
    except (OSError, ValueError, TypeError, RuntimeError, KeyError) as fault:
        kind = "a map" if folder else "NetCDF"
        raise StorageError(f"{source}: could not be read as {kind}: {_line(fault)}") from fault


def _plain(dataset: xr.Dataset) -> xr.Dataset:
    """Words as strings, codes of one type, `source` of a map in words."""
    for name, variable in dataset.variables.items():
        if variable.dtype == object:
            dataset[name] = variable.astype(str)
        if "flag_values" in variable.attrs:
            variable.attrs["flag_values"] = np.atleast_1d(variable.attrs["flag_values"]).astype(
                variable.dtype
            )
    dataset.attrs.pop("checksums", None)  # of the stores of earlier versions
    words = in_words(dataset) if "source" in dataset and "verdict" in dataset else dataset
    return as_results(words)


def _line(fault: BaseException) -> str:
    if isinstance(fault, OSError) and fault.strerror:
        return fault.strerror
    return " ".join(str(fault).split()) or type(fault).__name__
