"""What the public names of the packages need and raise, read from annotations and docstrings."""

from __future__ import annotations

import builtins
import importlib
import inspect
import re
import types
import typing
from collections.abc import Iterator
from typing import Any

import assembly
import modal
from assembly.lazy import MOVED

OURS = ("assembly", "modal", "studies")
RAISES = re.compile(r"^Raises\n-+\n(.*?)(?=^\S[^\n]*\n-+$|\Z)", re.MULTILINE | re.DOTALL)


def members(owner: Any) -> Iterator[tuple[str, Any]]:
    """Public functions, methods and properties of a public object, with their names."""
    if inspect.isfunction(owner):
        yield owner.__name__, owner
    if inspect.isclass(owner):
        ours = [base for base in owner.__mro__ if base.__module__.split(".")[0] in OURS]
        nearest = {name: member for base in reversed(ours) for name, member in vars(base).items()}
        for name, member in nearest.items():
            inner = getattr(member, "fget", None) or getattr(member, "func", None) or member
            inner = getattr(inner, "__func__", inner)
            if inspect.isfunction(inner) and (name == "__init__" or not name.startswith("_")):
                yield f"{owner.__name__}.{name}", inner


def hints(thing: Any) -> dict[str, Any]:
    """Annotations of a function or of the public fields of a class, resolved."""
    module = importlib.import_module(thing.__module__)
    names = {name: importlib.import_module(name) for name in ("numpy", "xarray")}
    found: dict[str, Any] = {}
    for key, text in inspect.get_annotations(thing).items():
        if not key.startswith("_"):
            found[key] = resolved(text, module, names)
    return found


def resolved(text: Any, module: types.ModuleType, names: dict[str, Any]) -> Any:
    """An annotation as an object. Names that are imported for type checkers only are imported."""
    if not isinstance(text, str):
        return text
    scope = dict(vars(module)) | {"xr": names["xarray"], "np": names["numpy"]}
    while True:
        try:
            return eval(text, scope)
        except NameError as fault:
            scope[str(fault.name)] = checked_import(module, str(fault.name))


def checked_import(module: types.ModuleType, name: str) -> Any:
    """A name of a module's `if TYPE_CHECKING:` imports."""
    found = re.search(rf"^    from ([\w.]+) import .*\b{name}\b", inspect.getsource(module), re.M)
    assert found, f"{module.__name__}: {name} is not defined"
    return getattr(importlib.import_module(found[1]), name)


def classes(hint: Any) -> set[type]:
    """The classes of these packages that an annotation is made of."""
    if inspect.isclass(hint) and not typing.get_origin(hint):
        return {hint} if hint.__module__.split(".")[0] in OURS else set()
    arguments = [a for a in typing.get_args(hint) if not isinstance(a, (str, int, float))]
    flat = [b for a in arguments for b in (a if isinstance(a, list) else [a])]
    return set().union(*(classes(a) for a in flat))


def raised(thing: Any) -> set[str]:
    """Names in the docstring's section Raises."""
    section = RAISES.search(inspect.getdoc(thing) or "")
    lines = section[1].splitlines() if section else []
    return {n.strip() for line in lines if line[:1].strip() for n in line.split(",") if n.strip()}


def public() -> dict[str, Any]:
    """The public objects by name, and the documented types of results in their modules."""
    names = {
        f"{package.__name__}.{name}": getattr(package, name)
        for package in (assembly, modal)
        for name in package.__all__
    }
    types_of_results = {
        f"{module}.{name}": getattr(importlib.import_module(module), name)
        for moved in MOVED.values()
        for name, module in moved.items()
    }
    return names | types_of_results


def known(name: str) -> bool:
    """Whether a name of a section Raises is public or Python's own."""
    places = (assembly, modal, builtins)
    return any(name in getattr(place, "__all__", dir(place)) for place in places)
