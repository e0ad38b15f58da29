"""#pol2Cart and #log (extensions 1.4)."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.events import Attribute, AttributeType
from lockstep.siddhiql.catalogue import (
    Argument,
    Extension,
    ExtensionKind,
    Overload,
    Parameter,
    SignatureError,
)
from lockstep.siddhiql.catalogue.windows import constant

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

EXTENSIONS = (
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
