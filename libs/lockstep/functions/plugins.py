"""Extensions that others install, under the entry points of the group `lockstep.extensions`.

Such a module carries signatures, `EXTENSIONS` (the checker reads them), and for each an
implementation under (namespace, name): in `FUNCTIONS` a FunctionFactory, in `AGGREGATORS` an
AggregatorFactory, in `STREAM_FUNCTIONS` a StreamFunctionFactory; windows register themselves with
`@window(name, namespace)`. What stands in a registry already cannot be replaced. Plug-ins run with
all rights of the process, and like everything here must give every replica the same.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

from lockstep.events import describe
from lockstep.functions.guarding import Owner, full_name
from lockstep.operators.errors import EventError
from lockstep.siddhiql.catalogue.installed import InstalledError, modules

_Factory = TypeVar("_Factory", bound=Callable[..., Any])

Guard = Callable[[Any, Owner, Sequence[Any], Callable[[], Any]], Any]
"""Makes of what a factory made for these arguments what fails only with errors of an event; the
last one makes the same once more."""


@dataclass(frozen=True, slots=True)
class Promised:
    """What factories of a kind have to make: the methods that it needs, and a hint for people.
    `guard`: None where nothing of it is guarded."""

    methods: Collection[str]
    hint: str
    guard: Guard | None = None


class Folders(Mapping[tuple[str, str], _Factory]):
    """What the folders of a concept's package carry under `name`, each in its `meaning`, and what
    installed extensions do.

    A meaning is loaded when somebody looks up what its folder declares, all when somebody iterates.
    InstalledError for an extension that carries what a folder declares.
    """

    def __init__(self, package: str, name: str, promised: Promised) -> None:
        self._name = name
        self._folders = dict(_declared(package))
        self._installed: dict[tuple[str, str], _Factory] = {}
        for module in modules():
            for key, factory in getattr(module, name, {}).items():
                if key in self._folders or key in self._installed:
                    raise _clash(module, key, name)
                self._installed[key] = guarded(factory, key, module.__name__, promised)

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
    registry: dict[tuple[str, str], _Factory], name: str, promised: Promised
) -> dict[tuple[str, str], _Factory]:
    """The registry with what the installed modules carry under `name`. InstalledError for what
    stands there already."""
    merged = dict(registry)
    for module in modules():
        for key, factory in getattr(module, name, {}).items():
            if key in merged:
                raise _clash(module, key, name)
            merged[key] = guarded(factory, key, module.__name__, promised)
    return merged


def guarded(
    factory: Callable[..., Any], key: tuple[str, str], module: str, promised: Promised
) -> Any:
    """The factory of an extension. What goes wrong in it, or is missing in what it makes, is an
    EventError that names the extension: known when an app is checked, not at the first event. What
    goes wrong in what it makes is one, too, of the event that brought it."""
    owner = Owner(key, module)

    def make(*given: Any) -> Any:
        try:
            made = factory(*given)
        except Exception as error:
            if not owner.is_own(error):  # of the context that it asks, such as NotLowerable
                raise
            message = f"{owner} cannot be made: {describe(error)}"
            raise EventError(message, hint=promised.hint) from error
        missing = [one for one in promised.methods if not callable(getattr(made, one, None))]
        if missing:
            message = f"{owner} is of type {type(made).__name__}, which lacks {', '.join(missing)}"
            raise EventError(message, hint=promised.hint)
        if promised.guard is None:
            return made
        return promised.guard(made, owner, given, partial(factory, *given))

    return make


def _clash(module: ModuleType, key: tuple[str, str], name: str) -> InstalledError:
    return InstalledError(
        f"the extension module {module.__name__}: {full_name(key)} stands in {name} already",
        hint="choose another name or namespace",
    )
