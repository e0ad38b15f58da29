"""Gives errors of constants their place in the app's text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lockstep.operators.errors import EventError
from lockstep.siddhiql import SiddhiQLError, ast


@contextmanager
def placed(at: ast.Location) -> Iterator[None]:
    """A constant that no event can be processed with, such as a pattern that is none, is the app's
    mistake, at this place: EventError becomes SiddhiQLError."""
    try:
        yield
    except EventError as error:
        raise SiddhiQLError(
            error.message, line=at.line, column=at.column, hint=error.hint
        ) from error
