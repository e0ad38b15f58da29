"""@map(type='csv'): lines of values (extensions 13.4)."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.siddhiql.catalogue import Argument, Overload, SignatureError
from lockstep.siddhiql.catalogue.mappers import flags, mappers, texts


def _one_character(arguments: Sequence[Argument]) -> None:
    for argument in arguments:
        text = str(argument.value).replace("\\t", "\t")
        if argument.attribute_name == "delimiter" and len(text) != 1:
            raise SignatureError(f"the delimiter {text!r} is not one character", "delimiter=';'")


_SOURCE = flags("header", "header.present", "fail.on.unknown.attribute", "event.grouping.enabled")
_SINK = flags("header", "event.grouping.enabled")

EXTENSIONS = mappers(
    "csv",
    source=(
        f"{__name__}.source:CsvSource",
        Overload(texts("delimiter") + _SOURCE, check=_one_character),
    ),
    sink=(
        f"{__name__}.sink:CsvSink",
        Overload(texts("delimiter") + _SINK, check=_one_character),
    ),
)
