"""Signatures and implementations belong together."""

from __future__ import annotations

from pkgutil import resolve_name

from lockstep.aggregators.registry import aggregators
from lockstep.functions.registry import FUNCTIONS
from lockstep.siddhiql.catalogue import ExtensionKind
from lockstep.siddhiql.catalogue.core import default_catalogue
from lockstep.stream_functions.registry import STREAM_FUNCTIONS
from lockstep.windows.registry import factory_of

BY_THE_COMPILER = {("", "eventTimestamp")}
"""Functions that are read off the event."""


def signatures(kind: ExtensionKind) -> set[tuple[str, str]]:
    """(namespace, name) of everything of a kind in the catalogue."""
    pairs = (name.rpartition(":") for name in default_catalogue().names(kind))
    return {(namespace, name) for namespace, _, name in pairs}


def test_every_function_can_be_checked_and_called() -> None:
    """No signature without implementation, no implementation without signature."""
    assert signatures(ExtensionKind.FUNCTION) - BY_THE_COMPILER == set(FUNCTIONS)


def test_every_aggregator_can_be_checked_and_run() -> None:
    """The same for aggregators."""
    assert signatures(ExtensionKind.AGGREGATOR) == set(aggregators())


def test_every_stream_function_can_be_checked_and_run() -> None:
    """The same for stream functions."""
    assert signatures(ExtensionKind.STREAM_FUNCTION) == set(STREAM_FUNCTIONS)


def test_every_window_declares_what_makes_it() -> None:
    """The factories that it names are there, and so is what people read of it."""
    declared = default_catalogue().windows()
    names = {(each.namespace or "", each.name) for each in declared}
    assert names == signatures(ExtensionKind.WINDOW)
    for each in declared:
        assert callable(factory_of(each))
        assert not each.columns or callable(resolve_name(each.columns))
        assert each.examples
        assert each.semantics
