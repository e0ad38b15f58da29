"""On-demand queries (grammar 12, semantics 11) against a checked app."""

from __future__ import annotations

from dataclasses import replace

from lockstep.events import StreamSchema
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedApp, CheckedOnDemand, SourceKind
from lockstep.siddhiql.checking.actions import check_table_write, require_equal
from lockstep.siddhiql.checking.expressions import condition
from lockstep.siddhiql.checking.external import refuse_write
from lockstep.siddhiql.checking.ranges import check_range, check_span
from lockstep.siddhiql.checking.selection import CheckedSelection, check_selection
from lockstep.siddhiql.checking.streams import stream_scope
from lockstep.siddhiql.checking.symbols import Symbols
from lockstep.siddhiql.scope import Scope, Shape, Source
from lockstep.siddhiql.suggestions import did_you_mean
from lockstep.siddhiql.syntax.parser import parse_on_demand
from lockstep.siddhiql.trees import below
from lockstep.siddhiql.typing import positioned

NOTHING_TO_ASK = "the app defines no table, window or aggregation: only these can be asked"
_STORES = (SourceKind.TABLE, SourceKind.WINDOW, SourceKind.AGGREGATION)


def symbols_of(app: CheckedApp) -> Symbols:
    """The names of a checked app."""
    return Symbols(
        dict(app.streams),
        set(app.inferred),
        dict(app.tables),
        dict(app.windows),
        dict(app.triggers),
        dict(app.functions),
        dict(app.aggregations),
        dict(app.schemas),
        {name: function.returns for name, function in app.functions.items()},
        {name: app.schemas[name] for name in app.tables},
        copied=app.answers | {table.name for table in app.external},
        answers=app.answers,
    )


def check_on_demand(query: str | ast.OnDemandQuery, app: CheckedApp) -> CheckedOnDemand:
    """The query with everything resolved, or a positioned SiddhiQLError."""
    tree = parse_on_demand(query) if isinstance(query, str) else query
    symbols = symbols_of(app)
    if tree.source is None:
        return _write(tree, symbols)
    return _find(tree, symbols)


def _store(tree: ast.OnDemandQuery, symbols: Symbols) -> tuple[SourceKind, StreamSchema]:
    assert tree.source is not None
    kind = symbols.kind_of(tree.source)
    if kind in _STORES and kind is not None:
        return kind, symbols.schemas[tree.source]
    if kind is SourceKind.STREAM:
        if tree.range is not None:
            return kind, symbols.schemas[tree.source]
        raise positioned(
            tree.at,
            f"{tree.source!r} is a stream, which keeps no events",
            "what is archived of it can be asked: within '2020-06-01', '2020-07-01'",
        )
    stores = [*symbols.tables, *symbols.windows, *symbols.aggregations]
    what = "is not defined" if kind is None else f"is a {kind.value}, which keeps no events"
    hint = did_you_mean(tree.source, stores) if stores else NOTHING_TO_ASK
    raise positioned(tree.at, f"{tree.source!r} {what}", hint)


def _find(tree: ast.OnDemandQuery, symbols: Symbols) -> CheckedOnDemand:
    kind, schema = _store(tree, symbols)
    if schema.name in symbols.answers:
        raise positioned(
            tree.at,
            f"{schema.name!r} holds rows only while an event that asked for them goes through",
            "ask the database itself, or use mode='copy'",
        )
    scope = stream_scope(symbols, schema, schema.name)
    on = None if tree.on is None else condition(tree.on, scope, "'on'")
    range_ = _range(tree, kind, scope)
    chosen = check_selection(tree.selector, scope, symbols, sees_input=False)
    made = replace(tree, on=on, range=range_, selector=chosen.selector)
    if tree.action is None or isinstance(tree.action, ast.ReturnEvents):
        made = replace(made, action=None)
        return _checked(made, kind, chosen, scope, StreamSchema(schema.name, chosen.attributes))
    return _with_action(made, kind, chosen, scope, symbols)


def _range(tree: ast.OnDemandQuery, kind: SourceKind, scope: Scope) -> ast.Range | None:
    if kind is SourceKind.STREAM:
        return _past(tree, scope)
    if kind is not SourceKind.AGGREGATION:
        if tree.range is not None:
            what = "'within … per' is for aggregations, 'within' for streams that are archived"
            raise positioned(tree.range.at, what, "remove it")
        return None
    if tree.range is None:
        raise positioned(
            tree.at,
            f"reading the aggregation {tree.source!r} needs 'within' and 'per'",
            "add: within '2020-**-** **:**:**' per 'hours'",
        )
    return check_range(tree.range, scope)


def _past(tree: ast.OnDemandQuery, scope: Scope) -> ast.Range:
    """Of a query of the past, which changes nothing and sees nothing of the present."""
    within = tree.range
    assert within is not None
    if within.per is not None:
        raise positioned(within.per.at, "'per' is for aggregations", "remove it")
    if not isinstance(tree.action, ast.ReturnEvents | None):
        raise positioned(tree.action.at, "what is read of the past changes no table", "remove it")
    for node in below((tree.on, tree.selector)):
        if isinstance(node, ast.InTable):
            raise positioned(
                node.at,
                f"table {node.table!r} holds what is now, not what was in it then",
                "ask for the rows, and compare them with the table outside",
            )
    return check_span(within, scope)


def _write(tree: ast.OnDemandQuery, symbols: Symbols) -> CheckedOnDemand:
    scope = symbols.scope(Shape.STREAM, Source(StreamSchema("", ()), ()))
    selector = tree.selector
    if selector.attributes is None and selector.explicit:
        raise positioned(tree.at, "'select *' needs a store to read from", "name the values")
    chosen = check_selection(selector, scope, symbols, sees_input=False)
    return _with_action(replace(tree, selector=chosen.selector), None, chosen, scope, symbols)


def _with_action(
    tree: ast.OnDemandQuery,
    kind: SourceKind | None,
    chosen: CheckedSelection,
    scope: Scope,
    symbols: Symbols,
) -> CheckedOnDemand:
    action = tree.action
    if action is not None and not isinstance(action, ast.ReturnEvents):
        refuse_write(action.target, action.at, symbols.copied)
    match action:
        case ast.InsertInto():
            output = StreamSchema(action.target, chosen.attributes)
            target = symbols.kind_of(action.target)
            if target is not SourceKind.TABLE:
                raise positioned(
                    action.at,
                    f"there is no table {action.target!r}",
                    did_you_mean(action.target, symbols.tables),
                )
            require_equal(output, symbols.schemas[action.target], action.at)
            return _checked(tree, kind, chosen, scope, output)
        case ast.DeleteFrom() | ast.UpdateTable() | ast.UpdateOrInsert():
            output = StreamSchema(action.target, chosen.attributes)
            made, action_scope = check_table_write(action, output, (), symbols)
            checked = _checked(replace(tree, action=made), kind, chosen, scope, output)
            return replace(checked, action_scope=action_scope)
        case _:
            raise positioned(tree.at, "this query reads nothing and writes nothing", "from T …")


def _checked(
    tree: ast.OnDemandQuery,
    kind: SourceKind | None,
    chosen: CheckedSelection,
    scope: Scope,
    output: StreamSchema,
) -> CheckedOnDemand:
    having_scope = replace(chosen.having_scope, outputs=output)
    return CheckedOnDemand(
        tree,
        kind,
        chosen.selection,
        scope,
        having_scope,
        output,
        None,
        chosen.uses_aggregators,
    )
