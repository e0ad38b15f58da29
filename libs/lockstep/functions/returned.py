"""What code of others gives back: values of the promised type, or an error of the event.

Both executors see the same value, whatever the code makes: columns would turn half a number into a
whole one, and the reference would pass it on. So it is made right, or refused, where it comes in.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Sized
from typing import Any, Final

from lockstep.events import AttributeType, InvalidEventError
from lockstep.events.characters import is_whole
from lockstep.events.objects import encode_object
from lockstep.functions.convert import converter
from lockstep.operators.errors import EventError
from lockstep.operators.limits import CHECK_FROM, check_size
from lockstep.plan import java

Refusal = Callable[[str], EventError]
"""The error of a result, of which is said what is wrong: it names the code."""

_PLAIN: Final[dict[type, Callable[[Any], Any]]] = {
    int: int.__int__,
    float: float.__float__,
    str: str.__str__,
}
"""What makes the plain value of one whose class is made from it, such as a member of an IntEnum."""


def returned(wanted: AttributeType, result: Any, what: str, refusal: Refusal) -> Any:
    """The result as a value of the type; numbers become the wanted kind of number, as in Java.
    EventError for what is none; LimitError for what is too large. `what` has made it."""
    if result is None:
        return None
    if type(result) is str and wanted is AttributeType.STRING:
        if len(result) <= CHECK_FROM and result.isascii():  # as most texts are
            return result
    elif type(result).__module__ == "numpy" and getattr(result, "ndim", None) == 0:
        # Known without NumPy, which short commands do not load.
        result = result.item()
    if isinstance(result, Sized):
        check_size(len(result), what)
    if wanted is AttributeType.OBJECT:
        _check_travels(result, refusal)
        return result
    own = _type_of(result)
    if own is AttributeType.STRING and not is_whole(result):
        raise refusal("returned half a character (a lone surrogate)")
    if own is wanted and (own is not AttributeType.LONG or _fits_long(result)):
        return result if type(result) in _PLAIN else _plain(result)
    if own is not wanted and own.is_numeric and wanted.is_numeric:
        return converter(own, wanted)(_plain(result))
    # Its own repr may be long, and may fail.
    raise refusal(f"returned {reprlib.repr(result)}, which is no {wanted.value}")


def _check_travels(result: Any, refusal: Refusal) -> None:
    """An object that no log can hold would stop the app where it leaves it."""
    try:
        encode_object(result)
    except InvalidEventError as error:
        raise refusal(
            f"returned {error.message}; objects are made of texts, numbers, bools, bytes, lists,"
            " tuples, sets and maps"
        ) from error


def _plain(result: Any) -> Any:
    for kind, plain in _PLAIN.items():
        if isinstance(result, kind) and not isinstance(result, bool):
            return plain(result)
    return result


def _fits_long(value: int) -> bool:
    return java.LONG_MIN <= value <= java.LONG_MAX


def _type_of(value: Any) -> AttributeType:
    match value:
        case bool():
            return AttributeType.BOOL
        case int():
            fits = java.INT_MIN <= value <= java.INT_MAX
            return AttributeType.INT if fits else AttributeType.LONG
        case float():
            return AttributeType.DOUBLE
        case str():
            return AttributeType.STRING
    return AttributeType.OBJECT
