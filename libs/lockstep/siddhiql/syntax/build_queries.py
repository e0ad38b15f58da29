"""Builds queries, partitions, on-demand queries and whole apps (grammar 4, 7, 9-12)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from lark import Token, Transformer

from lockstep.siddhiql import ast
from lockstep.siddhiql.syntax.build_definitions import AnnotationRules, DefinitionRules
from lockstep.siddhiql.syntax.build_expressions import (
    LiteralRules,
    NameRules,
    Nodes,
    OperatorRules,
    ReferenceRules,
    integer,
    unquote,
)
from lockstep.siddhiql.syntax.build_inputs import StateRules, StreamRules
from lockstep.siddhiql.syntax.names import Name, error, every, first, has, place

_ACTIONS = (
    ast.InsertInto,
    ast.DeleteFrom,
    ast.UpdateTable,
    ast.UpdateOrInsert,
    ast.ReturnEvents,
)


class _Clause:
    """A clause of a selector, by keyword, until the selector is put together."""

    def __init__(self, keyword: Token, values: tuple[Any, ...]) -> None:
        self.keyword = str(keyword.type)
        self.values = values


class SelectionRules:
    """Grammar 9."""

    def output_attribute(self, children: Nodes) -> ast.OutputAttribute:
        expression = children[0]
        name = children[2].text if len(children) > 1 else None
        if name is None and not isinstance(expression, ast.Variable):
            raise error(place(expression), "an expression in 'select' needs a name", "add: as name")
        return ast.OutputAttribute(expression, name, at=place(expression))

    def output_attributes(self, children: Nodes) -> tuple[ast.OutputAttribute, ...]:
        return tuple(children)

    def order_item(self, children: Nodes) -> ast.OrderBy:
        return ast.OrderBy(children[0], has(children, "DESC"))

    def _clause(self, children: Nodes) -> _Clause:
        values = tuple(child for child in children if not isinstance(child, Token))
        return _Clause(children[0], values)

    group_by = having = order_by = _clause

    def limit(self, children: Nodes) -> _Clause:
        if not isinstance(children[1], ast.Constant):
            word = str(children[0]).lower()
            raise error(place(children[1]), f"'{word}' takes a number", f"write: {word} 10")
        return self._clause(children)

    offset = limit

    def selector(self, children: Nodes) -> ast.Selector:
        clauses = {clause.keyword: clause.values for clause in every(children, _Clause)}
        one = {keyword: values[0] for keyword, values in clauses.items()}
        return ast.Selector(
            first(children, tuple),
            clauses.get("GROUP", ()),
            one.get("HAVING"),
            clauses.get("ORDER", ()),
            one.get("LIMIT"),
            one.get("OFFSET"),
            at=place(children[0]),
        )

    aggregation_selector = selector


class ActionRules:
    """Grammar 10."""

    def rate(self, children: Nodes) -> ast.OutputRate:
        kinds = {"ALL": ast.RateKind.ALL, "FIRST": ast.RateKind.FIRST, "LAST": ast.RateKind.LAST}
        kind = kinds.get(children[1].type, ast.RateKind.ALL)
        at = place(children[0])
        time = first(children, ast.Constant)
        if time is not None:
            return ast.OutputRate(kind, every_ms=int(time.value), at=at)
        return ast.OutputRate(kind, every_events=integer(children[-2]), at=at)

    def snapshot_rate(self, children: Nodes) -> ast.OutputRate:
        every_ms = int(children[-1].value)
        return ast.OutputRate(ast.RateKind.SNAPSHOT, every_ms=every_ms, at=place(children[0]))

    def events(self, children: Nodes) -> ast.EventSelection:
        word = children[0].type
        if word == "EVENTS":
            return ast.EventSelection.CURRENT
        return ast.EventSelection(f"{word.lower()} events")

    def insert(self, children: Nodes) -> ast.InsertInto:
        events = first(children, ast.EventSelection)
        return ast.InsertInto(children[-1].full, events, at=place(children[0]))

    def delete(self, children: Nodes) -> ast.DeleteFrom:
        target = first(children, Name)
        assert target is not None
        on = children[-1] if has(children, "ON") else None
        events = first(children, ast.EventSelection)
        return ast.DeleteFrom(target.full, on, events, at=place(children[0]))

    def set_item(self, children: Nodes) -> ast.SetItem:
        return ast.SetItem(*children)

    def set_clause(self, children: Nodes) -> tuple[ast.SetItem, ...]:
        return tuple(children[1:])

    def _write(self, children: Nodes) -> dict[str, Any]:
        target = first(children, Name)
        assert target is not None
        if not has(children, "ON"):
            raise error(target.at, "an update needs a condition", "add: on Table.key == key")
        return {
            "target": target.full,
            "on": children[-1],
            "set": first(children, tuple),
            "events": first(children, ast.EventSelection),
            "at": place(children[0]),
        }

    def update(self, children: Nodes) -> ast.UpdateTable:
        return ast.UpdateTable(**self._write(children))

    def upsert(self, children: Nodes) -> ast.UpdateOrInsert:
        return ast.UpdateOrInsert(**self._write(children))

    def returning(self, children: Nodes) -> ast.ReturnEvents:
        return ast.ReturnEvents(first(children, ast.EventSelection), at=place(children[0]))


class QueryRules:
    """Grammar 7 and 11."""

    def query(self, children: Nodes) -> ast.Query:
        annotations = every(children, ast.Annotation)
        start = children[len(annotations)]
        return ast.Query(
            children[len(annotations) + 1],
            first(children, ast.Selector) or ast.Selector(explicit=False),
            children[-1],
            first(children, ast.OutputRate),
            annotations,
            at=place(start),
        )

    def value_key(self, children: Nodes) -> ast.ValueKey:
        return ast.ValueKey(children[0], children[2].text, at=place(children[0]))

    def range_case(self, children: Nodes) -> ast.RangeCase:
        return ast.RangeCase(children[0], unquote(children[2]))

    def range_key(self, children: Nodes) -> ast.RangeKey:
        cases = every(children, ast.RangeCase)
        return ast.RangeKey(cases, children[-1].text, at=place(cases[0].condition))

    def partition(self, children: Nodes) -> ast.Partition:
        annotations = every(children, ast.Annotation)
        return ast.Partition(
            every(children, (ast.ValueKey, ast.RangeKey)),
            every(children, ast.Query),
            annotations,
            at=place(children[len(annotations)]),
        )

    def on_demand_find(self, children: Nodes) -> ast.OnDemandQuery:
        action = first(children, _ACTIONS)
        on = children[children.index(_token(children, "ON")) + 1] if has(children, "ON") else None
        return ast.OnDemandQuery(
            children[1].text,
            first(children, ast.Selector) or ast.Selector(explicit=False),
            action,  # type: ignore[arg-type]
            on,
            first(children, ast.Range),
            at=children[1].at,
        )

    def on_demand_write(self, children: Nodes) -> ast.OnDemandQuery:
        return ast.OnDemandQuery(None, children[0], children[1], at=children[0].at)

    def on_demand_action(self, children: Nodes) -> ast.OnDemandQuery:
        action = children[0]
        return ast.OnDemandQuery(None, ast.Selector(explicit=False), action, at=action.at)


def _token(children: Nodes, terminal: str) -> Token:
    return next(c for c in children if isinstance(c, Token) and c.type == terminal)


class AppRules:
    """Grammar 4: definitions first, at least one, then queries and partitions."""

    def app(self, children: Nodes) -> ast.App:
        annotations = every(children, ast.Annotation)
        statements = children[len(annotations) :]
        execution = every(statements, (ast.Query, ast.Partition))
        definitions = [s for s in statements if not isinstance(s, (ast.Query, ast.Partition))]
        if not definitions:
            raise error(
                place(statements[0]),
                "an app needs at least one definition before its queries",
                "add: define stream S (a int);",
            )
        for before, statement in pairwise(statements):
            if isinstance(before, (ast.Query, ast.Partition)) and statement in definitions:
                raise error(
                    place(statement),
                    "a definition cannot stand behind a query",
                    "move all definitions in front of the first query",
                )
        return ast.App(annotations, tuple(definitions), execution)  # type: ignore[arg-type]

    def only(self, children: Nodes) -> Any:
        return children[0]

    only_stream_definition = only_table_definition = only_window_definition = only
    only_trigger_definition = only_function_definition = only_aggregation_definition = only
    only_query = only_partition = only_on_demand = only_expression = only_time = only
    only_annotation = only


class Builder(
    NameRules,
    AnnotationRules,
    DefinitionRules,
    StreamRules,
    StateRules,
    SelectionRules,
    ActionRules,
    QueryRules,
    LiteralRules,
    OperatorRules,
    ReferenceRules,
    AppRules,
    Transformer[Token, Any],
):
    """All rules together: lark calls them while it parses, so there is no recursion."""
