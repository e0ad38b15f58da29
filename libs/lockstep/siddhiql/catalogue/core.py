"""Signatures of the core stream functions, and the catalogue of everything there is."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import entry_points
from types import ModuleType

from lockstep.events import Attribute, AttributeType
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue import Catalogue
from lockstep.siddhiql.catalogue.contract import (
    Argument,
    Extension,
    ExtensionKind,
    Overload,
    Parameter,
    SignatureError,
)
from lockstep.siddhiql.catalogue.windows import WindowExtension, constant

ENTRY_POINTS = "lockstep.extensions"
"""Group of entry points whose modules carry EXTENSIONS, a tuple of signatures."""

PACKS = ("lockstep.siddhiql.catalogue.packs", "lockstep.connectors")
"""Packages with a module for each thing that they declare."""

CONCEPTS = (
    "lockstep.aggregators",
    "lockstep.functions",
    "lockstep.mapping",
    "lockstep.windows",
)
"""Packages with a folder for each thing that it declares, found by name: they stand above."""

_STRING, _BOOL, _DOUBLE = AttributeType.STRING, AttributeType.BOOL, AttributeType.DOUBLE


def _cartesian(arguments: Sequence[Argument]) -> tuple[Attribute, ...]:
    return tuple(Attribute(name, _DOUBLE) for name in "xyz"[: max(2, len(arguments))])


def _adds_nothing(arguments: Sequence[Argument]) -> tuple[Attribute, ...]:
    return ()


_PRIORITIES = ("INFO", "DEBUG", "WARN", "FATAL", "ERROR", "OFF", "TRACE")


def _priority(arguments: Sequence[Argument]) -> None:
    if arguments[0].value.upper() not in _PRIORITIES:
        raise SignatureError(
            f"{arguments[0].value!r} is no priority", f"there are {', '.join(_PRIORITIES)}"
        )


_MESSAGE = Parameter("log.message", (_STRING,))
_EVENT_LOGGED = constant("is.event.logged", _BOOL)
_PRIORITY = constant("priority", _STRING)

STREAM_FUNCTIONS = (
    Extension(
        ExtensionKind.STREAM_FUNCTION,
        "pol2Cart",
        tuple(
            Overload(tuple(Parameter(n, (_DOUBLE,)) for n in names), adds=_cartesian)
            for names in (("theta", "rho"), ("theta", "rho", "z"))
        ),
    ),
    Extension(
        ExtensionKind.STREAM_FUNCTION,
        "log",
        (
            Overload((), adds=_adds_nothing),
            Overload((_MESSAGE,), adds=_adds_nothing),
            Overload((_EVENT_LOGGED,), adds=_adds_nothing),
            Overload((_MESSAGE, _EVENT_LOGGED), adds=_adds_nothing),
            Overload((_PRIORITY, _MESSAGE), adds=_adds_nothing, check=_priority),
            Overload((_PRIORITY, _MESSAGE, _EVENT_LOGGED), adds=_adds_nothing, check=_priority),
        ),
    ),
)


def _carriers() -> Iterator[ModuleType]:
    """All modules that may carry EXTENSIONS, in an order that is the same everywhere."""
    for place in (*PACKS, *CONCEPTS):
        found = pkgutil.iter_modules(importlib.import_module(place).__path__, f"{place}.")
        for module in found:
            # Of a concept the folders declare; the modules beside them are what they share.
            if module.ispkg or place in PACKS:
                yield importlib.import_module(module.name)
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        yield entry.load()


@cache
def default_catalogue() -> Catalogue:
    """Core, what all packs and concepts declare, and what is installed under the entry points of
    `lockstep.extensions`."""
    catalogue = Catalogue()
    catalogue.register(*STREAM_FUNCTIONS)
    for module in _carriers():
        catalogue.register(*getattr(module, "EXTENSIONS", ()))
    return catalogue


def declared_window(call: ast.FunctionCall) -> WindowExtension:
    """What the window of a checked call declares; of one that says nothing but its parameters what
    holds of any."""
    found = default_catalogue().find(ExtensionKind.WINDOW, call.namespace, call.name)
    if isinstance(found, WindowExtension):
        return found
    return WindowExtension(call.name, () if found is None else found.overloads, call.namespace)
