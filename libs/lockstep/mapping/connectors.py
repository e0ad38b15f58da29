"""Which mappers an app's text asks for, and whether they can be built: without any transport."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from lockstep.connectors.endpoints import CREDENTIALS
from lockstep.connectors.grpc import DOORS
from lockstep.connectors.http_service import SERVICES
from lockstep.connectors.rdbms import check_own_table
from lockstep.events import LockstepError, StreamSchema
from lockstep.mapping.distribution import build_distribution
from lockstep.mapping.grpc_forms import check_form
from lockstep.mapping.options import TRANSPORT
from lockstep.mapping.registry import completed, sink_mapper, source_mapper
from lockstep.siddhiql import CheckedApp, SiddhiQLError, ast
from lockstep.siddhiql.catalogue import SignatureError
from lockstep.siddhiql.checking.partners import check_partners


def annotated(
    checked: CheckedApp, name: str
) -> Iterator[tuple[StreamSchema, ast.StreamDefinition, ast.Annotation]]:
    """Every annotation of that name (`source`, `sink`) of a stream, in the order of the text."""
    for definition in checked.app.definitions:
        if isinstance(definition, ast.StreamDefinition):
            for annotation in definition.annotations:
                if annotation.name.lower() == name:
                    yield checked.streams[definition.name], definition, annotation


def map_of(annotation: ast.Annotation) -> ast.Annotation | None:
    """The `@map` of a source or sink; of gRPC with the message that its method has. SiddhiQLError
    for one that its service cannot have."""
    maps = annotation.nested("map")
    check_form(annotation, maps[0] if maps else None)
    return completed(annotation, maps[0]) if maps else None


def check_connectors(checked: CheckedApp) -> None:
    """Of a whole app: builds every mapper and distribution once. SiddhiQLError for what cannot be
    built, and for sources and sinks that lack their other half."""
    check_partners(checked.app.definitions)
    _check_own_tables(checked.app.definitions)
    for schema, _, source in annotated(checked, "source"):
        with _placed(map_of(source) or source):
            source_mapper(schema, map_of(source))
        _check_credentials(source)
    for schema, _, sink in annotated(checked, "sink"):
        with _placed(map_of(sink) or sink):
            sink_mapper(schema, map_of(sink))
            build_distribution(schema, sink)


def _check_own_tables(definitions: Iterable[ast.Definition]) -> None:
    """A table without a `table.name` is called as what is defined. What a secret says is seen where
    the table is opened."""
    for definition in definitions:
        if not isinstance(definition, (ast.StreamDefinition, ast.TableDefinition)):
            continue
        kind = "store" if isinstance(definition, ast.TableDefinition) else "sink"
        for one in definition.annotations:
            if one.name.lower() != kind or (one.get("type") or "").lower() != "rdbms":
                continue
            try:
                check_own_table(one.get, one.get("table.name") or definition.name)
            except SignatureError as error:
                raise SiddhiQLError(
                    error.message, line=one.at.line, column=one.at.column, hint=error.hint
                ) from error


def _check_credentials(source: ast.Annotation) -> None:
    """Of a source with a door: who sends shows a credential to the door, not to the app."""
    mapping = map_of(source)
    if mapping is None or (source.get("type") or "").lower() not in {"http", *SERVICES, *DOORS}:
        return
    for element in (one for each in mapping.nested("attributes") for one in each.elements):
        text = element.value.strip()
        if text.startswith(TRANSPORT) and text.removeprefix(TRANSPORT).lower() in CREDENTIALS:
            raise SiddhiQLError(
                f"{text!r} would take what a sender shows to be let in",
                line=mapping.at.line, column=mapping.at.column,
                hint="leave it out; let senders name themselves in a header of their own",
            )  # fmt: skip


@contextmanager
def _placed(annotation: ast.Annotation) -> Iterator[None]:
    """An error without a place, such as a path that is none, gets the annotation's."""
    try:
        yield
    except SiddhiQLError:
        raise
    except LockstepError as error:
        at = annotation.at
        raise SiddhiQLError(
            error.message, line=at.line, column=at.column, hint=error.hint
        ) from error
