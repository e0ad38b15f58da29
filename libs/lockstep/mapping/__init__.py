"""Source and sink mappers: bytes or text to rows, rows to payloads (semantics 22)."""

from lockstep.mapping.connectors import annotated, check_connectors, map_of
from lockstep.mapping.contract import (
    Columns,
    ColumnsReader,
    MappingError,
    Reading,
    SinkMapper,
    SourceMapper,
    UsesRegistry,
)
from lockstep.mapping.distribution import Distribution, build_distribution, destinations
from lockstep.mapping.messages import MessageWriter
from lockstep.mapping.registry import columns_reader, sink_mapper, source_mapper
from lockstep.mapping.templates import Template, grouped

__all__ = [
    "Columns",
    "ColumnsReader",
    "Distribution",
    "MappingError",
    "MessageWriter",
    "Reading",
    "SinkMapper",
    "SourceMapper",
    "Template",
    "UsesRegistry",
    "annotated",
    "build_distribution",
    "check_connectors",
    "columns_reader",
    "destinations",
    "grouped",
    "map_of",
    "sink_mapper",
    "source_mapper",
]
