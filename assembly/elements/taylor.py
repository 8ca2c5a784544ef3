"""Arrays with their first two time derivatives, through formulas written for plain arrays.

A `Taylor` holds (f, ḟ, f̈) and takes the place of an array in the functions of
`assembly.elements.large_rotation` and in the conditions of joints: sums, products, cross products
and linear maps follow Leibniz' rule, so that velocities and accelerations of finite rotations and
the rates of a constraint's Jacobian are exact and are derived nowhere by hand. Values may be
complex: tangents are taken by complex step. A Taylor of f alone passes through the same products:
that is how positions of a mechanism are found. Arrays may have leading axes, of instants.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike

from assembly.types import AnyArray, Array, Index

_NEXT = np.array([1, 2, 0])  # components of a cross product


class Taylor(NDArrayOperatorsMixin):
    """f, ḟ and f̈ of an array along a motion, its jet: `data` (3, ...); or f alone, (1, ...).

    The Taylors of one formula have their rates all or none.
    """

    def __init__(self, data: AnyArray) -> None:
        self.data = data

    @classmethod
    def of(cls, value: AnyArray, rate: AnyArray, second: AnyArray) -> Taylor:
        """From the three arrays, of one shape."""
        return cls(np.stack(np.broadcast_arrays(value, rate, second)))

    @classmethod
    def constant(cls, value: ArrayLike) -> Taylor:
        """An array that does not change."""
        array = np.asarray(value)
        data = np.zeros((3, *array.shape), array.dtype)
        data[0] = array
        return cls(data)

    @property
    def value(self) -> AnyArray:
        """f."""
        return np.asarray(self.data[0])

    @property
    def rate(self) -> AnyArray:
        """ḟ."""
        return np.asarray(self.data[1])

    @property
    def second(self) -> AnyArray:
        """f̈."""
        return np.asarray(self.data[2])

    @property
    def transposed(self) -> Taylor:
        """Of matrices."""
        return Taylor(self.data.swapaxes(-1, -2))

    def swapaxes(self, i: int, j: int) -> Taylor:
        """f with two axes exchanged, counted from the first one."""
        return Taylor(self.data.swapaxes(i + 1, j + 1))

    @property
    def ndim(self) -> int:
        """Number of axes of f."""
        return self.data.ndim - 1

    def along(self, index: Index, axis: int) -> Taylor:
        """The arrays indexed along an axis, counted from the last one."""
        return Taylor(self.data.take(index, axis=axis))

    def __getitem__(self, key: Any) -> Taylor:
        rest = key if isinstance(key, tuple) else (key,)
        return Taylor(self.data[(slice(None), *rest)])

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs or ufunc not in _UFUNCS:
            return NotImplemented
        result: Taylor = _UFUNCS[ufunc](*args)
        return result

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function not in _FUNCTIONS:
            return NotImplemented
        return _FUNCTIONS[function](*args, **kwargs)


def _aligned(a: AnyArray, b: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Data of which the axes after that of the derivatives broadcast."""
    if a.ndim == b.ndim:
        return a, b
    rank = max(a.ndim, b.ndim)
    x, y = (
        v.reshape(len(v), *(1,) * (rank - v.ndim), *v.shape[1:]) if v.ndim < rank else v
        for v in (a, b)
    )
    return x, y


def _sum(ufunc: Any, a: Any, b: Any) -> Taylor:
    data = (v.data if isinstance(v, Taylor) else Taylor.constant(v).data for v in (a, b))
    return Taylor(ufunc(*_aligned(*data)))


def _leibniz(function: Callable[..., Any], a: Any, b: Any) -> Taylor:
    """A bilinear function of two factors, of which at least one is a Taylor."""
    if not isinstance(a, Taylor):
        return Taylor(function(*_aligned(np.asarray(a)[None], b.data)))
    if not isinstance(b, Taylor):
        return Taylor(function(*_aligned(a.data, np.asarray(b)[None])))
    x, y = _aligned(a.data, b.data)
    out = function(x, y[0])
    out[1:] += function(x[0], y[1:])
    both = function(x[1], y[1])
    out[2] += both
    out[2] += both
    return Taylor(out)


def _reciprocal(a: Taylor) -> Taylor:
    f, df, ddf = a.data
    inverse = 1.0 / f
    rate = -df * inverse**2
    return Taylor(np.stack([inverse, rate, -ddf * inverse**2 - 2.0 * df * rate * inverse]))


def _root(a: Taylor) -> Taylor:
    f, df, ddf = a.data
    root = np.sqrt(f)
    rate = 0.5 * df / root
    return Taylor(np.stack([root, rate, (0.5 * ddf - rate**2) / root]))


def _summed(a: Taylor, axis: int, keepdims: bool = False) -> Taylor:
    return Taylor(a.data.sum(axis=axis + (axis >= 0), keepdims=keepdims))


def _joined(parts: Any, axis: int) -> Taylor:
    stacks = [part if isinstance(part, Taylor) else Taylor.constant(part) for part in parts]
    return Taylor(np.concatenate([stack.data for stack in stacks], axis=axis + (axis >= 0)))


def _mapped(subscripts: str, matrix: AnyArray, a: Taylor) -> Taylor:
    """einsum of a fixed matrix and a Taylor whose subscripts begin with an ellipsis."""
    return Taylor(np.einsum(subscripts, matrix, a.data))


def polynomial(rows: Array, x: Any) -> Any:
    """Σ c_k x^k (r, ...) of each row of coefficients (r, terms), the lowest power first."""
    if isinstance(x, Taylor):
        f, df, ddf = x.data
        each = polynomial(_with_slopes(rows.tobytes(), len(rows)), f)
        p, slope, curve = each.reshape(3, len(rows), *f.shape)
        return Taylor(np.stack([p, slope * df, slope * ddf + curve * df * df]))
    table = np.ones((rows.shape[1], *x.shape), x.dtype)
    for last, power in pairwise(table):
        np.multiply(last, x, out=power)
    flat = table.reshape(len(table), -1).view(float)
    return (rows @ flat).view(x.dtype).reshape(len(rows), *x.shape)


@lru_cache(maxsize=256)
def _with_slopes(table: bytes, count: int) -> Array:
    """Rows of coefficients, those of their first derivatives and those of their second ones."""
    rows = np.frombuffer(table).reshape(count, -1)
    each = np.stack([rows, 0.0 * rows, 0.0 * rows])
    for lower, upper in pairwise(each):
        upper[:, :-1] = lower[:, 1:] * np.arange(1.0, rows.shape[1])
    return np.asarray(each.reshape(-1, rows.shape[1]))


def dot(a: Taylor, b: Taylor) -> Taylor:
    """a·b of vectors (..., 3)."""
    return _of_pairs((a.data[:, None] * b.data).sum(axis=-1))


def matrix_vector(A: Taylor, v: Taylor) -> Taylor:
    """A v of matrices (..., i, k) and vectors (..., k)."""
    return _of_pairs((A.data[:, None] @ v.data[..., None])[..., 0])


def matrix_product(a: Taylor, b: Taylor) -> Taylor:
    """AB of small matrices (..., i, k), (..., k, j)."""
    return _of_pairs(a.data[:, None] @ b.data)


def _of_pairs(terms: AnyArray) -> Taylor:
    """A product from those of all pairs of derivatives, (3, 3, ...) or (1, 1, ...): of small arrays
    they are made faster all at once than as `_leibniz` does."""
    out = terms[0].copy()
    if len(terms) == 3:
        out[1] += terms[1, 0]
        out[2] += 2.0 * terms[1, 1] + terms[2, 0]
    return Taylor(out)


def value_of(a: Any) -> Any:
    """f of a Taylor; an array is its own value."""
    return a.value if isinstance(a, Taylor) else a


class Jets:
    """Quantities along a motion, each found once: attributes that are Taylors, arrays or `Jets`."""

    @cached_property
    def still(self) -> Any:
        """The same without rates, of the values of what has been found so far."""
        out = copy(self)
        for name, found in vars(self).items():
            vars(out)[name] = found.still if isinstance(found, Jets) else value_of(found)
        return out


def cross(a: Any, b: Any, axis: int = 0) -> Any:
    """a × b of vectors (3, ...), arrays or Taylors with equally many axes, or along another axis:
    as np.cross, in a fraction of its time."""
    axis -= a.ndim if axis >= 0 else 0
    out, less = a * _ahead(b, axis), _ahead(a, axis) * b  # their components are one ahead
    if isinstance(out, Taylor):
        out.data -= less.data
    else:
        out -= less
    return _ahead(out, axis)


def _ahead(v: Any, axis: int) -> Any:
    """Vectors with their components one ahead."""
    return v.along(_NEXT, axis) if isinstance(v, Taylor) else v.take(_NEXT, axis)


_UFUNCS: dict[Any, Callable[..., Taylor]] = {
    np.add: partial(_sum, np.add),
    np.subtract: partial(_sum, np.subtract),
    np.multiply: lambda a, b: _leibniz(np.multiply, a, b),
    np.matmul: lambda a, b: _leibniz(np.matmul, a, b),
    np.true_divide: lambda a, b: a * (_reciprocal(b) if isinstance(b, Taylor) else 1.0 / b),
    np.negative: lambda a: Taylor(-a.data),
    np.sqrt: _root,
}
_FUNCTIONS: dict[Any, Callable[..., Taylor]] = {
    np.sum: _summed,
    np.zeros_like: lambda a: Taylor(np.zeros_like(a.data)),
    np.concatenate: _joined,
    np.einsum: _mapped,
    np.take: lambda a, index, axis: Taylor(a.data.take(index, axis=axis + (axis >= 0))),
}
