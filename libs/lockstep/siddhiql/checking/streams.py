"""Single streams with their handlers (grammar 8.1): filters, stream functions, windows."""

from __future__ import annotations

from dataclasses import replace

from lockstep.events import Attribute, StreamSchema
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue import Argument, Extension, ExtensionKind, Overload, SignatureError
from lockstep.siddhiql.catalogue.installed import asked
from lockstep.siddhiql.catalogue.matching import match
from lockstep.siddhiql.checked import CheckedHandler, CheckedStream, SourceKind
from lockstep.siddhiql.checking.expressions import condition, normalise
from lockstep.siddhiql.checking.symbols import Symbols
from lockstep.siddhiql.checking.window_expressions import check_window_expression
from lockstep.siddhiql.scope import Scope, Shape, Source
from lockstep.siddhiql.typing import described, find_extension, infer, positioned, unknown_extension


def stream_scope(symbols: Symbols, schema: StreamSchema, *names: str) -> Scope:
    """The scope of one event of a stream."""
    return symbols.scope(Shape.STREAM, Source(schema, names))


def check_handler(
    handler: ast.Handler, scope: Scope, schema: StreamSchema, kind: SourceKind, symbols: Symbols
) -> CheckedHandler:
    """A handler whose arguments see `scope`, on events of `schema`."""
    match handler:
        case ast.Filter():
            made = condition(handler.condition, scope, "a filter", aggregators_allowed=True)
            return CheckedHandler(replace(handler, condition=made), scope, schema)
        case ast.WindowHandler():
            if kind is SourceKind.WINDOW:
                raise positioned(
                    handler.at, "a named window takes no further window", "remove the window"
                )
            if kind in (SourceKind.TABLE, SourceKind.AGGREGATION):
                raise positioned(handler.at, f"a {kind.value} takes no window", "remove it")
            call = check_window(handler.call, scope, symbols)
            return CheckedHandler(replace(handler, call=call), scope, schema)
        case ast.StreamFunction():
            return _stream_function(handler, scope, schema)


def _matched(
    call: ast.FunctionCall, scope: Scope, extension: Extension
) -> tuple[ast.FunctionCall, list[Argument], Overload]:
    made = normalise(call, scope)
    assert isinstance(made, ast.FunctionCall)
    arguments = [
        described(argument, infer(argument, scope, aggregators_allowed=False))
        for argument in made.arguments
    ]
    try:
        overload, _ = match(extension, arguments)
    except SignatureError as error:
        raise positioned(call.at, error.message, error.hint) from None
    return made, arguments, overload


def check_window(call: ast.FunctionCall, scope: Scope, symbols: Symbols) -> ast.FunctionCall:
    """A window's call with its parameters checked."""
    extension = find_extension(call.name, call.namespace, ExtensionKind.WINDOW)
    if extension is None:
        raise unknown_extension(call, ExtensionKind.WINDOW)
    made, _, overload = _matched(call, scope, extension)
    for argument, parameter in zip(made.arguments, overload.parameters, strict=False):
        if parameter.condition and isinstance(argument, ast.Constant):
            check_window_expression(argument, scope)
    return made


def _stream_function(
    handler: ast.StreamFunction, scope: Scope, schema: StreamSchema
) -> CheckedHandler:
    call = handler.call
    extension = find_extension(call.name, call.namespace, ExtensionKind.STREAM_FUNCTION)
    if extension is None:
        raise unknown_extension(call, ExtensionKind.STREAM_FUNCTION)
    made, arguments, overload = _matched(call, scope, extension)
    added = _added(call, extension, overload, arguments)
    for attribute in added:
        if schema.index_of(attribute.name) is not None:
            raise positioned(
                call.at,
                f"{call.name!r} adds an attribute {attribute.name!r}, which is already there",
                "rename the stream's attribute",
            )
    attributes: tuple[Attribute, ...] = (*schema.attributes, *added)
    return CheckedHandler(replace(handler, call=made), scope, StreamSchema(schema.name, attributes))


def _added(
    call: ast.FunctionCall, extension: Extension, overload: Overload, arguments: list[Argument]
) -> tuple[Attribute, ...]:
    """What a stream function adds to each event."""
    if overload.adds is None:
        return ()
    try:
        return tuple(asked(overload.adds, arguments))
    except SignatureError as error:
        raise positioned(call.at, f"{extension.full_name}: {error.message}", error.hint) from error


def check_stream(
    stream: ast.StreamInput, symbols: Symbols, inner: dict[str, StreamSchema] | None
) -> CheckedStream:
    """A stream with its handlers; each sees what the one before it leaves."""
    kind, source = symbols.source(stream.source, stream.at, inner)
    schema = source
    handlers: list[CheckedHandler] = []
    for handler in stream.handlers:
        scope = stream_scope(symbols, schema, *names_of(stream))
        checked = check_handler(handler, scope, schema, kind, symbols)
        handlers.append(checked)
        schema = checked.schema
    made = replace(stream, handlers=tuple(checked.handler for checked in handlers))
    return CheckedStream(made, kind, source, tuple(handlers), schema)


def names_of(stream: ast.StreamInput) -> tuple[str, ...]:
    """What an input answers to: its alias, or else its own name."""
    return (stream.source,) if stream.alias is None else (stream.alias,)
