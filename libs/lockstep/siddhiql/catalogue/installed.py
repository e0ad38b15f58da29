"""Extensions that others install, under the entry points of the group `lockstep.extensions`: their
modules, and what goes wrong in the code of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Final, TypeVar

from lockstep.events import Fault, LockstepError, describe
from lockstep.siddhiql.catalogue.contract import (
    Argument,
    Extension,
    ExtensionKind,
    SignatureError,
)

ENTRY_POINTS: Final = "lockstep.extensions"
"""Group of entry points whose modules carry EXTENSIONS, a tuple of signatures."""

MISTAKES: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""What code of others fails of. Others are raised on purpose, by it or by the context it asks."""

MAKERS: Final = {ExtensionKind.SINK: "SINKS", ExtensionKind.SOURCE: "SOURCES"}
"""Where a module has what makes the connectors that it declares, by their names."""

UNMADE: Final = (ExtensionKind.STORE, ExtensionKind.SOURCE_MAPPER, ExtensionKind.SINK_MAPPER)
"""Kinds of which nothing can be made outside Lockstep."""

_Answer = TypeVar("_Answer")


class InstalledError(LockstepError):
    """An installed extension that cannot be used: who installed it mends it."""

    fault = Fault.USER


@cache
def modules() -> tuple[ModuleType, ...]:
    """The modules of all installed extensions, in order of their names. InstalledError for one
    that cannot be loaded: replicas that lack it would give other answers."""
    entries = sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name)
    return tuple(_loaded(entry) for entry in entries)


def _loaded(entry: EntryPoint) -> ModuleType:
    try:
        found: ModuleType = entry.load()
    except MISTAKES as error:
        package = "" if entry.dist is None else f" of the package {entry.dist.name}"
        raise InstalledError(
            f"the extension module {entry.value}{package} cannot be loaded: {describe(error)}",
            hint="mend the package, or uninstall it wherever apps are checked and run",
        ) from error
    return found


def check_made(extensions: Sequence[Extension], module: str) -> None:
    """Of what an installed module declares: InstalledError for kinds that it cannot make."""
    for one in extensions:
        if one.kind in UNMADE:
            raise InstalledError(
                f"the extension module {module} declares the {one.kind.value} {one.full_name!r},"
                " and only Lockstep has those",
                hint="leave it out of EXTENSIONS; EXTENDING.md says which kinds there are",
            )


def unmade(extension: Extension) -> tuple[str, str] | None:
    """What is wrong with a source or sink that an installed module declares and nothing makes, and
    what to do."""
    module = _lacks_maker(extension)
    if module is None:
        return None
    kind, name = extension.kind, extension.name
    message = (
        f"the extension module {module} declares the {kind.value} {name!r}, and has nothing that"
        " makes it"
    )
    return message, f"it needs an entry {name!r} in {MAKERS[kind]}"


def _lacks_maker(extension: Extension) -> str | None:
    """The name of the module that declares a source or sink and has nothing that makes it; None
    where something does, or where no installed module declares it."""
    found = modules()
    makers = (getattr(module, MAKERS[extension.kind], {}) for module in found)
    if any(extension.name in each for each in makers):
        return None
    for module in found:
        if any(one is extension for one in getattr(module, "EXTENSIONS", ())):
            return module.__name__
    return None


def asked(
    question: Callable[[Sequence[Argument]], _Answer], arguments: Sequence[Argument]
) -> _Answer:
    """What an overload's own code says of arguments. SignatureError for what it refuses, and for
    a mistake in it."""
    try:
        return question(arguments)
    except MISTAKES as error:
        raise SignatureError(
            f"the code that checks its arguments fails: {describe(error)}",
            "the mistake is in the extension, not in the app",
        ) from error
