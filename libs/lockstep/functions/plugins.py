"""Extensions that others install, under the entry points of the group `lockstep.extensions`.

Such a module carries signatures, `EXTENSIONS` (the checker reads them), and for each an
implementation under (namespace, name): in `FUNCTIONS` a FunctionFactory, in `AGGREGATORS` an
AggregatorFactory, in `STREAM_FUNCTIONS` a StreamFunctionFactory; windows register themselves with
`@window(name, namespace)`. What stands in a registry already cannot be replaced. Plug-ins run with
all rights of the process, and like everything here must give every replica the same.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType
from typing import TypeVar

from lockstep.siddhiql.catalogue.core import ENTRY_POINTS

_Factory = TypeVar("_Factory")


@cache
def modules() -> tuple[ModuleType, ...]:
    """The modules of all installed extensions, in order of their names."""
    entries = sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name)
    return tuple(entry.load() for entry in entries)


class Folders(Mapping[tuple[str, str], _Factory]):
    """What the folders of a concept's package carry under `name`, each in its `meaning`, and what
    installed extensions do.

    A meaning is loaded when somebody looks up what its folder declares, all when somebody iterates.
    ValueError for an extension that carries what a folder declares.
    """

    def __init__(self, package: str, name: str) -> None:
        self._name = name
        self._folders = dict(_declared(package))
        self._installed: dict[tuple[str, str], _Factory] = {}
        for module in modules():
            for key, factory in getattr(module, name, {}).items():
                if key in self._folders or key in self._installed:
                    raise _clash(module, key, name)
                self._installed[key] = factory

    def __getitem__(self, key: tuple[str, str]) -> _Factory:
        if key in self._installed:
            return self._installed[key]
        return self._meaning(self._folders[key])[key]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for folder in dict.fromkeys(self._folders.values()):
            yield from self._meaning(folder)
        yield from self._installed

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _meaning(self, folder: str) -> Mapping[tuple[str, str], _Factory]:
        found: Mapping[tuple[str, str], _Factory] = getattr(
            import_module(f"{folder}.meaning"), self._name
        )
        return found


def _declared(package: str) -> Iterator[tuple[tuple[str, str], str]]:
    """(namespace or "", name) and the folder that declares it, of each folder of the package."""
    for folder in pkgutil.iter_modules(import_module(package).__path__, f"{package}."):
        if folder.ispkg:
            for each in import_module(folder.name).EXTENSIONS:
                yield (each.namespace or "", each.name), folder.name


def extended(
    registry: dict[tuple[str, str], _Factory], name: str
) -> dict[tuple[str, str], _Factory]:
    """The registry with what the installed modules carry under `name`; ValueError for a clash."""
    merged = dict(registry)
    for module in modules():
        for key, factory in getattr(module, name, {}).items():
            if key in merged:
                raise _clash(module, key, name)
            merged[key] = factory
    return merged


def _clash(module: ModuleType, key: tuple[str, str], name: str) -> ValueError:
    return ValueError(f"{module.__name__}: {':'.join(key)} stands in {name} already")
