"""Extensions that others install, under the entry points of the group `lockstep.extensions`.

Such a module carries signatures, `EXTENSIONS` (the checker reads them), and for each an
implementation under (namespace, name): in `FUNCTIONS` a FunctionFactory, in `AGGREGATORS` an
AggregatorFactory, in `STREAM_FUNCTIONS` a StreamFunctionFactory; windows register themselves with
`@window(name, namespace)`. What stands in a registry already cannot be replaced. Plug-ins run with
all rights of the process, and like everything here must give every replica the same.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any, TypeVar

from lockstep.siddhiql.catalogue.core import ENTRY_POINTS

_Factory = TypeVar("_Factory")


@cache
def modules() -> tuple[ModuleType, ...]:
    """The modules of all installed extensions, in order of their names."""
    entries = sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name)
    return tuple(entry.load() for entry in entries)


def folders(package: str, name: str) -> dict[tuple[str, str], Any]:
    """What the folders of a concept's package carry under `name`, each in its `meaning`."""
    found: dict[tuple[str, str], Any] = {}
    for folder in pkgutil.iter_modules(import_module(package).__path__, f"{package}."):
        if folder.ispkg:
            found.update(getattr(import_module(f"{folder.name}.meaning"), name))
    return found


def extended(
    registry: dict[tuple[str, str], _Factory], name: str
) -> dict[tuple[str, str], _Factory]:
    """The registry with what the installed modules carry under `name`; ValueError for a clash."""
    merged = dict(registry)
    for module in modules():
        for key, factory in getattr(module, name, {}).items():
            if key in merged:
                raise ValueError(f"{module.__name__}: {':'.join(key)} stands in {name} already")
            merged[key] = factory
    return merged
