"""Signatures and implementations belong together."""

from __future__ import annotations

from lockstep.aggregators.registry import AGGREGATORS
from lockstep.functions.registry import FUNCTIONS
from lockstep.siddhiql.catalogue import ExtensionKind
from lockstep.siddhiql.catalogue.core import default_catalogue
from lockstep.stream_functions.registry import STREAM_FUNCTIONS
from lockstep.windows import registry as windows

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
    assert signatures(ExtensionKind.AGGREGATOR) == set(AGGREGATORS)


def test_every_stream_function_can_be_checked_and_run() -> None:
    """The same for stream functions."""
    assert signatures(ExtensionKind.STREAM_FUNCTION) == set(STREAM_FUNCTIONS)


def test_every_window_can_be_checked_and_run() -> None:
    """The same for windows."""
    windows._load_all()
    assert signatures(ExtensionKind.WINDOW) == set(windows.WINDOWS)
