"""Sources and sinks that mean nothing without each other (extensions 12.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue import ExtensionKind
from lockstep.siddhiql.catalogue.connectors import Partner
from lockstep.siddhiql.checking.connectors import declared_connector, find_type
from lockstep.siddhiql.typing import positioned

_KINDS = {"source": ExtensionKind.SOURCE, "sink": ExtensionKind.SINK}


def check_partners(definitions: Iterable[ast.Definition]) -> None:
    """Refuses a half whose other half the app does not have.

    Of whole apps: the units of one that is cut may have a half each.
    """
    found = list(_connectors(definitions))
    for kind, annotation in found:
        extension = find_type(kind, annotation.get("type") or "")
        partner = None if extension is None else declared_connector(extension).partner
        if extension is None or partner is None:
            continue
        there = {value for one in found for value in _values(partner, *one)}
        for value in _options(annotation, partner.option):
            if value not in there:
                raise positioned(
                    annotation.at,
                    f"{kind.value} {extension.name!r} with {partner.option}={value!r}:"
                    f" {partner.why}",
                    f"add @{partner.kind.value}(type='{partner.types[0]}',"
                    f" {partner.option}='{value}', …) to a stream of this app, or use"
                    f" {partner.instead}",
                )


def _connectors(
    definitions: Iterable[ast.Definition],
) -> Iterator[tuple[ExtensionKind, ast.Annotation]]:
    for definition in definitions:
        if isinstance(definition, ast.StreamDefinition):
            for annotation in definition.annotations:
                kind = _KINDS.get(annotation.name.lower())
                if kind is not None:
                    yield kind, annotation


def _values(partner: Partner, kind: ExtensionKind, annotation: ast.Annotation) -> Iterator[str]:
    if kind is partner.kind and (annotation.get("type") or "").lower() in partner.types:
        yield from _options(annotation, partner.option)


def _options(annotation: ast.Annotation, name: str) -> Iterator[str]:
    """Of a sink or source, and of a sink's destinations."""
    places = [
        place for one in annotation.nested("distribution") for place in one.nested("destination")
    ]
    for place in (annotation, *places):
        value = place.get(name)
        if value is not None:
            yield value
