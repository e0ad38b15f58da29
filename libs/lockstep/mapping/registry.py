"""The mappers by type, as `@map(type='…')` names them; without a type it is passThrough."""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any

from lockstep.events import StreamSchema
from lockstep.mapping.contract import (
    ColumnsReader,
    SinkMapper,
    SinkMapperFactory,
    SourceMapper,
    SourceMapperFactory,
)
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue import ExtensionKind
from lockstep.siddhiql.catalogue.core import default_catalogue
from lockstep.siddhiql.catalogue.mappers import MapperExtension
from lockstep.siddhiql.errors import SiddhiQLError

MapCompletion = Callable[[ast.Annotation, ast.Annotation], ast.Annotation]
"""(source or sink, its `@map`) → the `@map` with what the source or sink says of messages."""

_DEFAULT = ast.Annotation("map", (ast.Element("type", "passThrough"),))


def source_mapper(schema: StreamSchema, annotation: ast.Annotation | None) -> SourceMapper:
    """The mapper of a source; raises SiddhiQLError for a type that nobody declares."""
    annotation = annotation or _DEFAULT
    factory: SourceMapperFactory = _found(ExtensionKind.SOURCE_MAPPER, annotation)
    return factory(schema, annotation)


def sink_mapper(schema: StreamSchema, annotation: ast.Annotation | None) -> SinkMapper:
    """The mapper of a sink; raises SiddhiQLError for a type that nobody declares."""
    annotation = annotation or _DEFAULT
    factory: SinkMapperFactory = _found(ExtensionKind.SINK_MAPPER, annotation)
    return factory(schema, annotation)


def columns_reader(annotation: ast.Annotation, mapper: SourceMapper) -> ColumnsReader | None:
    """What reads large payloads for a source's mapper in columns; None where nothing does."""
    name = (annotation.get("type") or "").lower()
    declared = _declared(ExtensionKind.SOURCE_MAPPER).get(name)
    if declared is None or not declared.columns:
        return None
    factory: Callable[[SourceMapper], ColumnsReader] = resolve_name(declared.columns)
    return factory(mapper)


def completed(annotation: ast.Annotation, mapping: ast.Annotation) -> ast.Annotation:
    """The `@map` of that source or sink, with what its format takes from the latter."""
    name = (mapping.get("type") or "").lower()
    declared = _declared(ExtensionKind.SOURCE_MAPPER).get(name)
    if declared is None or not declared.completes:
        return mapping
    complete: MapCompletion = resolve_name(declared.completes)
    return complete(annotation, mapping)


def _declared(kind: ExtensionKind) -> dict[str, MapperExtension]:
    return {
        each.name.lower(): each
        for each in default_catalogue().of(kind)
        if isinstance(each, MapperExtension)
    }


def _found(kind: ExtensionKind, annotation: ast.Annotation) -> Any:
    name = annotation.get("type") or "passThrough"
    declared = _declared(kind)
    if name.lower() in declared:
        return resolve_name(declared[name.lower()].mapper)
    raise SiddhiQLError(
        f"there is no mapper {name!r}",
        line=annotation.at.line,
        column=annotation.at.column,
        hint=f"the mappers are {', '.join(sorted(declared))}",
    )
