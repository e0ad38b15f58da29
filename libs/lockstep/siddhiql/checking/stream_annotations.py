"""Annotations of streams (grammar 5, semantics 18, 22): @async, @OnError, @source, @sink, @map; and
@channel, which the planner of fleets writes: other groups read the stream."""

from __future__ import annotations

import re

from lockstep.events import StreamSchema
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue import ExtensionKind
from lockstep.siddhiql.checking.annotations import check_distribution, positive, single
from lockstep.siddhiql.checking.archiving import ARCHIVE, check_archive
from lockstep.siddhiql.checking.connectors import check_connector, check_keys, require_type
from lockstep.siddhiql.suggestions import did_you_mean
from lockstep.siddhiql.typing import positioned

_ON_ERROR = ("LOG", "STREAM", "STORE")
_SINK_ON_ERROR = ("LOG", "WAIT", "STREAM", "STORE")
_STRATEGIES = ("roundRobin", "partitioned", "broadcast")
_TEMPLATE = re.compile(r"\{\{([^{}]*)\}\}")


def has_fault_stream(definition: ast.StreamDefinition) -> bool:
    """Whether failed events of the stream go to `!S`."""
    return any(
        annotation.name.lower() == "onerror"
        and (annotation.get("action") or "").upper() == "STREAM"
        for annotation in definition.annotations
    )


def check_stream_annotations(definition: ast.StreamDefinition, schema: StreamSchema) -> None:
    """Refuses what cannot be carried out."""
    for name, rule in (("async", _async), ("onerror", _on_error), (ARCHIVE, check_archive)):
        found = single(definition.annotations, name)
        if found is not None:
            rule(found)
    for annotation in definition.annotations:
        match annotation.name.lower():
            case "source":
                _source(annotation, schema)
            case "sink":
                _sink(annotation, schema, has_fault_stream(definition))
            case "channel":
                _channel(annotation)


def _channel(annotation: ast.Annotation) -> None:
    if annotation.elements or annotation.annotations:
        raise positioned(annotation.at, "@channel takes nothing", "write @channel")


def _async(annotation: ast.Annotation) -> None:
    if annotation.get("buffer.size") is None:
        raise positioned(annotation.at, "@async needs 'buffer.size'", "buffer.size='1024'")
    for key in ("buffer.size", "workers", "batch.size.max"):
        positive(annotation, key)


def _on_error(annotation: ast.Annotation) -> None:
    action = annotation.get("action")
    if action is not None and action.upper() not in _ON_ERROR:
        raise positioned(
            annotation.at,
            f"@OnError knows no action {action!r}",
            f"there are {', '.join(_ON_ERROR)}",
        )


def _source(annotation: ast.Annotation, schema: StreamSchema) -> None:
    require_type(annotation, "http")
    check_distribution(annotation.annotations)
    mapping = single(annotation.annotations, "map")
    if mapping is not None:
        require_type(mapping, "json")
        attributes = single(mapping.annotations, "attributes")
        if attributes is not None:
            _attributes(attributes, schema)
        check_connector(ExtensionKind.SOURCE_MAPPER, mapping)
    check_connector(ExtensionKind.SOURCE, annotation)


def _attributes(annotation: ast.Annotation, schema: StreamSchema) -> None:
    named = [element.key for element in annotation.elements if element.key is not None]
    positional = annotation.positional
    if named and positional:
        raise positioned(
            annotation.at, "@attributes mixes entries with and without names", "name all or none"
        )
    for name in named:
        if schema.index_of(name) is None:
            raise positioned(
                annotation.at,
                f"@attributes: {schema.name!r} has no attribute {name!r}",
                did_you_mean(name, schema.names),
            )
    if len(set(named) or positional) != len(schema.names):
        raise positioned(
            annotation.at,
            f"@attributes maps {len(annotation.elements)} of {len(schema.names)} attributes",
            f"map all of {', '.join(schema.names)}",
        )


def _sink(annotation: ast.Annotation, schema: StreamSchema, has_fault: bool) -> None:
    require_type(annotation, "log")
    on_error = annotation.get("on.error")
    if on_error is not None:
        if on_error.upper() not in _SINK_ON_ERROR:
            raise positioned(
                annotation.at,
                f"a sink knows no on.error {on_error!r}",
                f"there are {', '.join(_SINK_ON_ERROR)}",
            )
        if on_error.upper() == "STREAM" and not has_fault:
            raise positioned(
                annotation.at,
                f"on.error='STREAM' needs a fault stream of {schema.name!r}",
                "put @OnError(action='STREAM') in front of the definition",
            )
    _templates(annotation, schema)
    mapping = single(annotation.annotations, "map")
    if mapping is not None:
        require_type(mapping, "json")
        _templates(mapping, schema)
        payload = single(mapping.annotations, "payload")
        if payload is not None:
            if not payload.elements:
                raise positioned(payload.at, "@payload is empty", "@payload('{{attribute}}')")
            _templates(payload, schema)
    distribution = single(annotation.annotations, "distribution")
    if distribution is not None:
        _distribution(distribution, schema)
    places = () if distribution is None else distribution.nested("destination")
    if mapping is not None:
        check_connector(ExtensionKind.SINK_MAPPER, mapping)
    check_connector(ExtensionKind.SINK, annotation, places)
    check_keys(ExtensionKind.SINK, annotation, schema)


def _templates(annotation: ast.Annotation, schema: StreamSchema) -> None:
    for element in annotation.elements:
        for name in _TEMPLATE.findall(element.value):
            if schema.index_of(name.strip()) is None:
                raise positioned(
                    annotation.at,
                    f"{{{{{name}}}}} names no attribute of {schema.name!r}",
                    did_you_mean(name, schema.names),
                )


def _distribution(annotation: ast.Annotation, schema: StreamSchema) -> None:
    strategy = annotation.get("strategy")
    if strategy is None:
        raise positioned(
            annotation.at, "@distribution needs a 'strategy'", f"one of {', '.join(_STRATEGIES)}"
        )
    if strategy.lower() not in [known.lower() for known in _STRATEGIES]:
        raise positioned(
            annotation.at,
            f"no extension exists for the distribution strategy {strategy!r}",
            did_you_mean(strategy, _STRATEGIES),
        )
    if not annotation.nested("destination"):
        raise positioned(annotation.at, "@distribution names no @destination", "add some")
    if strategy.lower() == "partitioned":
        key = annotation.get("partitionKey")
        if key is None or schema.index_of(key) is None:
            raise positioned(
                annotation.at,
                "the strategy 'partitioned' needs an attribute as 'partitionKey'",
                f"there is {', '.join(schema.names)}",
            )
    for destination in annotation.nested("destination"):
        _templates(destination, schema)
