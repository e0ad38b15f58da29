"""The mappers by type, as `@map(type='…')` names them; without a type it is passThrough."""

from __future__ import annotations

from typing import TypeVar

from lockstep.events import StreamSchema
from lockstep.mapping.contract import (
    SinkMapper,
    SinkMapperFactory,
    SourceMapper,
    SourceMapperFactory,
)
from lockstep.mapping.csv_sink import CsvSink
from lockstep.mapping.csv_source import CsvSource
from lockstep.mapping.json_sink import JsonSink
from lockstep.mapping.json_source import JsonSource
from lockstep.mapping.keyvalue import KeyValueSink, KeyValueSource
from lockstep.mapping.passthrough import PassThroughSink, PassThroughSource
from lockstep.mapping.text_sink import TextSink
from lockstep.mapping.text_source import TextSource
from lockstep.mapping.xml_sink import XmlSink
from lockstep.mapping.xml_source import XmlSource
from lockstep.siddhiql import ast
from lockstep.siddhiql.errors import SiddhiQLError

SOURCE_MAPPERS: dict[str, SourceMapperFactory] = {
    "passthrough": PassThroughSource,
    "json": JsonSource,
    "xml": XmlSource,
    "csv": CsvSource,
    "text": TextSource,
    "keyvalue": KeyValueSource,
}
SINK_MAPPERS: dict[str, SinkMapperFactory] = {
    "passthrough": PassThroughSink,
    "json": JsonSink,
    "xml": XmlSink,
    "csv": CsvSink,
    "text": TextSink,
    "keyvalue": KeyValueSink,
}

_Factory = TypeVar("_Factory")
_DEFAULT = ast.Annotation("map", (ast.Element("type", "passThrough"),))


def source_mapper(schema: StreamSchema, annotation: ast.Annotation | None) -> SourceMapper:
    """The mapper of a source; raises SiddhiQLError for a type that nobody registered."""
    annotation = annotation or _DEFAULT
    return _found(SOURCE_MAPPERS, annotation)(schema, annotation)


def sink_mapper(schema: StreamSchema, annotation: ast.Annotation | None) -> SinkMapper:
    """The mapper of a sink; raises SiddhiQLError for a type that nobody registered."""
    annotation = annotation or _DEFAULT
    return _found(SINK_MAPPERS, annotation)(schema, annotation)


def _found(mappers: dict[str, _Factory], annotation: ast.Annotation) -> _Factory:
    name = annotation.get("type") or "passThrough"
    factory = mappers.get(name.lower())
    if factory is None:
        raise SiddhiQLError(
            f"there is no mapper {name!r}",
            line=annotation.at.line,
            column=annotation.at.column,
            hint=f"the mappers are {', '.join(sorted(mappers))}",
        )
    return factory
