"""The mappers of sources and sinks, with their options (extensions 13)."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase

from lockstep.events import AttributeType
from lockstep.siddhiql.catalogue.contract import (
    Argument,
    Extension,
    ExtensionKind,
    Overload,
    Parameter,
    SignatureError,
)

_BOOL = (AttributeType.BOOL,)


def _texts(*names: str) -> tuple[Parameter, ...]:
    return tuple(Parameter(name, constant=True, optional=True) for name in names)


def _flags(*names: str) -> tuple[Parameter, ...]:
    return tuple(Parameter(name, _BOOL, constant=True, optional=True) for name in names)


def _one_character(arguments: Sequence[Argument]) -> None:
    for argument in arguments:
        text = str(argument.value).replace("\\t", "\t")
        if argument.attribute_name == "delimiter" and len(text) != 1:
            raise SignatureError(f"the delimiter {text!r} is not one character", "delimiter=';'")


def _mappers(
    kind: ExtensionKind, **options: tuple[Parameter, ...] | Overload
) -> tuple[Extension, ...]:
    return tuple(
        Extension(kind, name, (found if isinstance(found, Overload) else Overload(found),))
        for name, found in options.items()
    )


_GROUPING, _MISSING = "event.grouping.enabled", "fail.on.missing.attribute"

EXTENSIONS: tuple[Extension, ...] = (
    *_mappers(
        ExtensionKind.SOURCE_MAPPER,
        passThrough=(),
        json=_texts("enclosing.element") + _flags(_MISSING, _GROUPING),
        xml=_texts("namespaces", "enclosing.element")
        + _flags(
            "enclosing.element.as.event",
            _MISSING,
            "enable.streaming.xml.content",
            "extract.leaf.node.data",
        ),
        csv=Overload(
            _texts("delimiter") + _flags("header.present", "fail.on.unknown.attribute", _GROUPING),
            check=_one_character,
        ),
        text=_texts(
            "delimiter", "new.line.character", *(f"regex.{letter}" for letter in ascii_uppercase)
        )
        + _flags(_GROUPING, _MISSING),
        keyvalue=_flags(_MISSING, "implicit.cast.enable"),
    ),
    *_mappers(
        ExtensionKind.SINK_MAPPER,
        passThrough=(),
        json=_texts("enclosing.element")
        + _flags("validate.json", _GROUPING, "enable.null.attribute.value"),
        xml=_texts("enclosing.element") + _flags("validate.xml"),
        csv=Overload(_texts("delimiter") + _flags("header", _GROUPING), check=_one_character),
        text=_texts("delimiter", "new.line.character") + _flags(_GROUPING, "mustache.enabled"),
        keyvalue=(),
    ),
)
