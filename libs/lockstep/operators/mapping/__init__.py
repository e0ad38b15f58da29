"""Source and sink mappers: bytes or text to rows, rows to payloads (semantics 22)."""

from lockstep.operators.mapping.contract import (
    BadField,
    MappingError,
    Properties,
    Reading,
    SinkMapper,
    SourceMapper,
)
from lockstep.operators.mapping.distribution import (
    Distribution,
    build_distribution,
    destinations,
)
from lockstep.operators.mapping.messages import MessageWriter
from lockstep.operators.mapping.registry import sink_mapper, source_mapper
from lockstep.operators.mapping.rim import annotated, check_rim, map_of
from lockstep.operators.mapping.templates import Template, grouped

__all__ = [
    "BadField",
    "Distribution",
    "MappingError",
    "MessageWriter",
    "Properties",
    "Reading",
    "SinkMapper",
    "SourceMapper",
    "Template",
    "annotated",
    "build_distribution",
    "check_rim",
    "destinations",
    "grouped",
    "map_of",
    "sink_mapper",
    "source_mapper",
]
