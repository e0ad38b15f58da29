"""The catalogue of everything there is: what all concepts declare, and installed extensions."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from types import ModuleType

from lockstep.events import describe
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue import Catalogue
from lockstep.siddhiql.catalogue.contract import (
    ExtensionKind,
)
from lockstep.siddhiql.catalogue.installed import (
    MISTAKES,
    InstalledError,
    check_made,
    modules,
)
from lockstep.siddhiql.catalogue.windows import WindowExtension

CONNECTORS = "lockstep.connectors"
"""Holds a module for each transport."""

CONCEPTS = (
    "lockstep.aggregators",
    "lockstep.functions",
    "lockstep.mapping",
    "lockstep.stream_functions",
    "lockstep.windows",
)
"""Packages with a folder for each thing that it declares, found by name: they stand above."""


def _carriers() -> Iterator[ModuleType]:
    """All modules that may carry EXTENSIONS, in an order that is the same everywhere."""
    for place in (CONNECTORS, *CONCEPTS):
        found = pkgutil.iter_modules(importlib.import_module(place).__path__, f"{place}.")
        for module in found:
            # Of a concept the folders declare; the modules beside them are what they share.
            if module.ispkg or place == CONNECTORS:
                yield importlib.import_module(module.name)
    yield from modules()


@cache
def default_catalogue() -> Catalogue:
    """Core, what all packs and concepts declare, and what is installed under the entry points of
    `lockstep.extensions`."""
    catalogue, installed = Catalogue(), modules()
    for module in _carriers():
        try:
            declared = getattr(module, "EXTENSIONS", ())
            if module in installed:
                check_made(declared, module.__name__)
            catalogue.register(*declared)
        except MISTAKES as error:
            raise InstalledError(
                f"the EXTENSIONS of the module {module.__name__} cannot be used: {describe(error)}"
            ) from error
    return catalogue


def declared_window(call: ast.FunctionCall) -> WindowExtension:
    """What the window of a checked call declares; of one that says nothing but its parameters what
    holds of any."""
    found = default_catalogue().find(ExtensionKind.WINDOW, call.namespace, call.name)
    if isinstance(found, WindowExtension):
        return found.called_with(len(call.arguments))
    return WindowExtension(call.name, () if found is None else found.overloads, call.namespace)
