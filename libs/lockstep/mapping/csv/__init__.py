"""@map(type='csv'): lines of values (extensions 13.4)."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.siddhiql.catalogue import Argument, Overload, SignatureError
from lockstep.siddhiql.catalogue.mappers import flags, mappers, texts


def _fit(arguments: Sequence[Argument]) -> None:
    for argument in arguments:
        text = str(argument.value)
        if argument.attribute_name == "delimiter" and (not text or set(text) & set('"\r\n')):
            raise SignatureError(
                f"the delimiter {text!r} is nothing, or has a quote or a line end in it",
                "delimiter=';'",
            )


_SOURCE = flags("header", "header.present", "fail.on.unknown.attribute", "event.grouping.enabled")
_SINK = flags("header", "event.grouping.enabled")

EXTENSIONS = mappers(
    "csv",
    columns=f"{__name__}.columns:CsvColumns",
    source=(
        f"{__name__}.source:CsvSource",
        Overload(texts("delimiter") + _SOURCE, check=_fit),
    ),
    sink=(
        f"{__name__}.sink:CsvSink",
        Overload(texts("delimiter") + _SINK, check=_fit),
    ),
)
