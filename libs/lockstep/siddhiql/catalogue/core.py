"""Signatures of the core windows and stream functions, and the catalogue of everything there is."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from functools import cache
from importlib.metadata import entry_points

from lockstep.events import NUMERIC_TYPES, Attribute, AttributeType
from lockstep.siddhiql.catalogue import Catalogue
from lockstep.siddhiql.catalogue.contract import (
    Argument,
    Extension,
    ExtensionKind,
    Overload,
    Parameter,
    SignatureError,
)
from lockstep.siddhiql.cron import check_cron

ENTRY_POINTS = "lockstep.extensions"
"""Group of entry points whose modules carry EXTENSIONS, a tuple of signatures."""

_STRING, _BOOL = AttributeType.STRING, AttributeType.BOOL
_INT, _LONG, _DOUBLE = AttributeType.INT, AttributeType.LONG, AttributeType.DOUBLE
_TIME = (_INT, _LONG)


def constant(
    name: str, *types: AttributeType, optional: bool = False, positive: bool = False
) -> Parameter:
    """A parameter that takes literals only."""
    return Parameter(name, types, constant=True, optional=optional, positive=positive)


def attribute(name: str, *types: AttributeType, optional: bool = False) -> Parameter:
    """A parameter that takes a plain attribute only."""
    return Parameter(name, types, attribute=True, optional=optional)


def _not_negative(arguments: Sequence[Argument]) -> None:
    for argument in arguments:
        if argument.is_constant and argument.type in NUMERIC_TYPES and argument.value < 0:
            raise SignatureError(f"{argument.value} is negative", "sizes and times count from 0")


def window(
    name: str, *overloads: tuple[Parameter, ...] | Overload, namespace: str | None = None
) -> Extension:
    """A window by the parameter lists it takes."""
    made = tuple(
        o if isinstance(o, Overload) else Overload(o, check=_not_negative) for o in overloads
    )
    return Extension(ExtensionKind.WINDOW, name, made, namespace)


def _sort(arguments: Sequence[Argument]) -> None:
    """Behind the size: attributes, each with an optional 'asc' or 'desc'."""
    previous: Argument | None = None
    for argument in arguments[1:]:
        if argument.is_attribute:
            if argument.type is AttributeType.OBJECT:
                raise SignatureError("objects cannot be sorted")
        elif not (argument.is_constant and argument.type is _STRING):
            raise SignatureError("behind the size stand attributes and orders")
        elif argument.value.lower() not in ("asc", "desc"):
            raise SignatureError(f"{argument.value!r} is no order", "write 'asc' or 'desc'")
        elif previous is None or not previous.is_attribute:
            raise SignatureError("an order stands behind an attribute")
        previous = argument
    if previous is None:
        raise SignatureError("at least one attribute is needed", "sort(3, price, 'asc')")


def _session(arguments: Sequence[Argument]) -> None:
    _not_negative(arguments)
    if len(arguments) == 3 and arguments[2].value > arguments[0].value:
        raise SignatureError("the allowed latency is longer than the gap", "make it shorter")


def _cron(arguments: Sequence[Argument]) -> None:
    problem = check_cron(arguments[0].value)
    if problem is not None:
        raise SignatureError(
            f"{arguments[0].value!r} {problem}", "seconds come first: '0 0/5 * * * ?'"
        )


_SIZE = constant("n", _INT)
_SPAN = constant("t", *_TIME)
_PERIOD = constant("t", *_TIME, positive=True)
_STREAM_CURRENT = constant("stream.current.event", _BOOL, optional=True)

WINDOWS = (
    window("length", (_SIZE,)),
    window("lengthBatch", (_SIZE, _STREAM_CURRENT)),
    window("time", (_SPAN,)),
    window(
        "timeBatch",
        (_PERIOD,),
        (_PERIOD, constant("start.time", *_TIME), _STREAM_CURRENT),
        (_PERIOD, constant("stream.current.event", _BOOL)),
    ),
    window("timeLength", (_SPAN, _SIZE)),
    window("delay", (_SPAN,)),
    window("externalTime", (attribute("timestamp", _LONG), _SPAN)),
    window(
        "externalTimeBatch",
        (attribute("timestamp", _LONG), _PERIOD),
        (
            attribute("timestamp", _LONG),
            _PERIOD,
            constant("start.time", *_TIME),
            constant("timeout", *_TIME, optional=True),
            constant("replace.with.batchtime", _BOOL, optional=True),
        ),
        (
            attribute("timestamp", _LONG),
            _PERIOD,
            attribute("start.time", _LONG),
            constant("timeout", *_TIME, optional=True),
            constant("replace.with.batchtime", _BOOL, optional=True),
        ),
    ),
    window(
        "session",
        Overload((constant("gap", *_TIME),), check=_session),
        Overload(
            (
                constant("gap", *_TIME),
                attribute("key", _STRING),
                constant("allowed.latency", _LONG, optional=True),
            ),
            check=_session,
        ),
    ),
    window("sort", Overload((_SIZE, Parameter("attribute", repeat=True)), check=_sort)),
    window(
        "frequent",
        (_SIZE, Parameter("attribute", attribute=True, repeat=True)),
    ),
    window(
        "lossyFrequent",
        (constant("support", _DOUBLE, positive=True),),
        (
            constant("support", _DOUBLE, positive=True),
            constant("error", _DOUBLE, positive=True),
            Parameter("attribute", attribute=True, repeat=True),
        ),
    ),
    window("batch", (), (_SIZE,)),
    window("cron", Overload((constant("expression", _STRING),), check=_cron)),
    window("expression", (constant("expression", _STRING),), (attribute("expression", _STRING),)),
    window(
        "expressionBatch",
        *(
            (
                first,
                Parameter("include.triggering.event", (_BOOL,), optional=True),
                _STREAM_CURRENT,
            )
            for first in (
                constant("expression", _STRING),
                attribute("expression", _STRING),
                attribute("flush", _BOOL),
            )
        ),
    ),
)


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


@cache
def default_catalogue() -> Catalogue:
    """Core, all packs, and what is installed under the entry points of `lockstep.extensions`."""
    catalogue = Catalogue()
    catalogue.register(*WINDOWS, *STREAM_FUNCTIONS)
    packs = importlib.import_module("lockstep.siddhiql.catalogue.packs")
    for module in pkgutil.iter_modules(packs.__path__, packs.__name__ + "."):
        catalogue.register(*getattr(importlib.import_module(module.name), "EXTENSIONS", ()))
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        catalogue.register(*getattr(entry.load(), "EXTENSIONS", ()))
    return catalogue
