"""Output actions (grammar 10, 15; semantics 10): targets, fitting schemas, `on`, `set`, rates."""

from __future__ import annotations

from dataclasses import replace

from lockstep.events import Attribute, AttributeType, StreamSchema
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import SourceKind
from lockstep.siddhiql.checking.expressions import condition, normalise
from lockstep.siddhiql.checking.symbols import Symbols
from lockstep.siddhiql.scope import Scope, Shape, Source
from lockstep.siddhiql.suggestions import did_you_mean
from lockstep.siddhiql.typing import infer, positioned

TableWrite = ast.DeleteFrom | ast.UpdateTable | ast.UpdateOrInsert


def check_insert(
    action: ast.InsertInto,
    output: StreamSchema,
    symbols: Symbols,
    inner: dict[str, StreamSchema] | None,
) -> SourceKind:
    """What the target is; a new stream comes into being, an existing one must fit exactly."""
    target = action.target
    if target.startswith("#"):
        if inner is None:
            raise positioned(
                action.at,
                f"the inner stream {target!r} stands outside of a partition",
                "remove the '#'",
            )
        if target in inner:
            require_equal(output, inner[target], action.at)
        else:
            inner[target] = output.renamed(target)
        return SourceKind.INNER
    if target.startswith("!"):
        return _check_fault(action, output, symbols)
    kind = symbols.kind_of(target)
    if kind is SourceKind.AGGREGATION:
        raise positioned(
            action.at, f"the aggregation {target!r} cannot be written to", "write to its stream"
        )
    if kind is None:
        symbols.infer_stream(target, output)
        return SourceKind.STREAM
    require_equal(output, symbols.schemas[target], action.at)
    return kind


def _check_fault(action: ast.InsertInto, output: StreamSchema, symbols: Symbols) -> SourceKind:
    if symbols.kind_of(action.target) is None:
        raise symbols.unknown(action.target, action.at)
    require_equal(output, symbols.schemas[action.target[1:]], action.at)
    return SourceKind.FAULT


def _text(attributes: tuple[Attribute, ...]) -> str:
    return ", ".join(f"{attribute.name} {attribute.type.value}" for attribute in attributes)


def require_equal(output: StreamSchema, target: StreamSchema, at: ast.Location) -> None:
    """Names, types and order must be the target's (grammar 15)."""
    if output.attributes == target.attributes:
        return
    hint = f"select ({_text(target.attributes)}) in this order"
    if output.names == target.names:
        hint = _conversions(output, target)
    raise positioned(
        at,
        f"the output ({_text(output.attributes)}) does not fit {target.name!r}, "
        f"which is ({_text(target.attributes)})",
        hint,
    )


def _conversions(output: StreamSchema, target: StreamSchema) -> str:
    """What makes the types of the output those of a target with the same names."""
    parts = []
    for given, wanted in zip(output.attributes, target.attributes, strict=True):
        if given.type is wanted.type:
            continue
        if wanted.type is AttributeType.OBJECT:
            return f"define {target.name!r} as ({_text(output.attributes)})"
        function = "cast" if given.type is AttributeType.OBJECT else "convert"
        parts.append(f"{function}(x, '{wanted.type.value}') as {wanted.name}")
    return f"convert the types: {', '.join(parts)}"


def table_of(action: TableWrite, symbols: Symbols) -> StreamSchema:
    """The schema of the table that an action writes to."""
    schema = symbols.table_schemas.get(action.target)
    if schema is not None:
        return schema
    kind = symbols.kind_of(action.target)
    if kind is not None:
        raise positioned(
            action.at, f"{action.target!r} is a {kind.value}, not a table", "use 'insert into'"
        )
    raise positioned(
        action.at,
        f"there is no table {action.target!r}",
        did_you_mean(action.target, symbols.tables),
    )


def check_table_write(
    action: TableWrite, output: StreamSchema, names: tuple[str, ...], symbols: Symbols
) -> tuple[TableWrite, Scope]:
    """The action made ready and the scope of its `on` and `set`.

    `names` are what the output row answers to, besides being preferred.
    """
    table = table_of(action, symbols)
    if action.on is None:
        raise positioned(action.at, f"'delete {action.target}' needs a condition", "add: on …")
    scope = symbols.scope(
        Shape.JOINED, Source(output, names), Source(table, (table.name,)), preferred=0
    )
    on = condition(action.on, scope, "'on'")
    if isinstance(action, ast.DeleteFrom):
        return replace(action, on=on), scope
    if isinstance(action, ast.UpdateOrInsert):
        _check_complete(action, output, table)
    if action.set is None:
        _check_columns(action, output, table)
        return replace(action, on=on), scope
    items = tuple(_set_item(item, scope, table) for item in action.set)
    return replace(action, on=on, set=items), scope


def _check_columns(action: TableWrite, output: StreamSchema, table: StreamSchema) -> None:
    """Without `set` every output attribute is a column of the same type."""
    for attribute in output.attributes:
        position = table.index_of(attribute.name)
        if position is None:
            raise positioned(
                action.at,
                f"the table {table.name!r} has no attribute {attribute.name!r}",
                f"{did_you_mean(attribute.name, table.names)}; select these alone, or name with "
                "'set' what changes",
            )
        wanted = table.types[position]
        if wanted is not attribute.type:
            raise positioned(
                action.at,
                f"{table.name}.{attribute.name} is {wanted.value}, "
                f"but the output's {attribute.name!r} is {attribute.type.value}",
                f"write convert({attribute.name}, '{wanted.value}') as {attribute.name}",
            )


def _check_complete(action: TableWrite, output: StreamSchema, table: StreamSchema) -> None:
    """What may be inserted has all columns of the table (semantics 10)."""
    missing = [name for name in table.names if output.index_of(name) is None]
    if missing:
        raise positioned(
            action.at,
            f"'update or insert' may insert, but the output lacks {', '.join(missing)}",
            f"select all of {', '.join(table.names)}",
        )


def _set_item(item: ast.SetItem, scope: Scope, table: StreamSchema) -> ast.SetItem:
    attribute = item.attribute
    if attribute.source not in (None, table.name):
        raise positioned(
            attribute.at, f"'set' changes attributes of {table.name!r} only", "remove the prefix"
        )
    position = table.index_of(attribute.name)
    if position is None:
        raise positioned(
            attribute.at,
            f"the table {table.name!r} has no attribute {attribute.name!r}",
            did_you_mean(attribute.name, table.names),
        )
    value = normalise(item.value, scope)
    type_ = infer(value, scope, aggregators_allowed=False)
    wanted = table.types[position]
    if type_ is not wanted and wanted is not AttributeType.OBJECT:
        if not (type_.is_numeric and wanted.is_numeric):
            raise positioned(
                value.at,
                f"{table.name}.{attribute.name} is {wanted.value} "
                f"and cannot be set to {type_.value}",
                f"write convert(x, '{wanted.value}')",
            )
        # The column keeps its type whatever number is set.
        name = ast.Constant(wanted.value, AttributeType.STRING, at=value.at)
        value = ast.FunctionCall("convert", (value, name), at=value.at)
    return ast.SetItem(attribute, value)


def check_rate(query: ast.Query) -> None:
    """Limits are positive; a snapshot needs all events (semantics 14.3)."""
    rate = query.rate
    if rate is None:
        return
    if 0 in (rate.every_events, rate.every_ms):
        raise positioned(rate.at, "'every' needs more than 0", "write: every 1 events")
    explicit = query.action.events
    if rate.kind is ast.RateKind.SNAPSHOT and explicit in (
        ast.EventSelection.CURRENT,
        ast.EventSelection.EXPIRED,
    ):
        raise positioned(
            rate.at,
            f"'output snapshot' needs all events, not {explicit.value}",
            "write 'insert into' or 'insert all events into'",
        )
