"""What a window's factory learns of its call, and which factory that is."""

from __future__ import annotations

import pytest

from lockstep.events import AttributeType
from lockstep.operators.errors import EventError
from lockstep.siddhiql.catalogue import WindowExtension
from lockstep.windows.length.meaning import LengthWindow
from lockstep.windows.registry import build_window, factory_of
from tests.unit.operators.plain_context import PlainContext
from tests.unit.windows.played import call_of, written


def test_arguments_are_literals_or_attributes() -> None:
    """Each by its place; what is not there has a default."""
    call = call_of("session(10, k, 5L)", PlainContext())
    assert (len(call), call.constant(0), call.constant(3, "none")) == (3, 10, "none")
    assert call.is_constant(0)
    assert call.is_attribute(1)
    assert (call.attribute(1), call.constant_type(2)) == (0, AttributeType.LONG)
    assert call.constant_type(1) is None
    with pytest.raises(EventError, match="argument 2 of session must be a constant"):
        call.constant(1)


def test_the_declaration_names_the_factory() -> None:
    """The window is registered for snapshots."""
    context = PlainContext()
    handler, call, schema = written("length(3)")
    built = build_window(call, handler.scope, schema, context)
    assert isinstance(built, LengthWindow)
    assert context.operators == {"window": built}


def test_a_window_that_nobody_registered() -> None:
    """Declared without a factory."""
    with pytest.raises(EventError, match="there is no window 'ghost'"):
        factory_of(WindowExtension("ghost", (), "my"))
