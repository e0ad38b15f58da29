"""`#rdbms:query` and `#rdbms:cud`: what an app asks of a database, event by event.

A query that waited for a database would make replicas disagree. So such a query is cut in two where
it asks. The first half makes a question of each event, on a stream with a sink `rdbms-call`: the
publisher asks. The answer comes in as events of another stream, by the app's input log, and the
second half goes on with them. Both streams and the first half are what one could write by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from lockstep.events import AttributeType, StreamSchema
from lockstep.siddhiql import ast
from lockstep.siddhiql.checking.annotations import info_name
from lockstep.siddhiql.checking.queries import sources_of
from lockstep.siddhiql.statements import ASKING, CHANGING, first_word, given_attributes, pieces
from lockstep.siddhiql.trees import below
from lockstep.siddhiql.typing import positioned

NAMESPACE: Final = "rdbms"
QUERY, CUD = "query", "cud"
RECORDS: Final = ("numRecords", AttributeType.INT)
_PROBE: Final = "lockstep__probe"
_FORMS: Final = {
    QUERY: "#rdbms:query('DATASOURCE', 'name string, amount int', 'SELECT … WHERE id = ?', id)",
    CUD: "#rdbms:cud('DATASOURCE', 'UPDATE … SET a = ? WHERE b = ?', a, b)",
}
SchemaOf = Callable[[ast.App, str], StreamSchema]
"""The schema of a stream of an app, which is checked for it. SiddhiQLError."""


@dataclass(frozen=True)
class _Call:
    """What a query asks. `gives`: what an answer has beside the event's attributes."""

    datasource: str
    sql: str
    values: tuple[ast.Expression, ...]
    gives: tuple[tuple[str, AttributeType], ...]
    is_change: bool
    tells_empty: bool
    at: ast.Location


def with_calls(tree: ast.App, schema_of: SchemaOf) -> ast.App:
    """The app with its questions as streams of their own. SiddhiQLError."""
    _check_places(tree)
    while waiting := [one for one in tree.execution if _call_of(one) is not None]:
        ready = next((one for one in waiting if not _fed_by(tree, one, waiting)), None)
        if ready is None:
            raise positioned(
                waiting[0].at,
                "what this query asks for depends on its own answer",
                "define the streams between: define stream S (…)",
            )
        tree = _cut(tree, ready, schema_of)
    return tree


def _call_of(item: ast.Query | ast.Partition) -> int | None:
    """The place of the first question among a query's handlers."""
    if not isinstance(item, ast.Query) or not isinstance(item.input, ast.StreamInput):
        return None
    places = (i for i, one in enumerate(item.input.handlers) if _is_call(one))
    return next(places, None)


def _is_call(node: object) -> bool:
    return (
        isinstance(node, ast.StreamFunction)
        and (node.call.namespace or "").lower() == NAMESPACE
        and node.call.name in _FORMS
    )


def _check_places(tree: ast.App) -> None:
    """Questions stand in plain queries alone."""
    plain = {
        id(one)
        for query in tree.execution
        if isinstance(query, ast.Query) and isinstance(query.input, ast.StreamInput)
        for one in query.input.handlers
    }
    for node in below(tree.execution):
        if isinstance(node, ast.StreamFunction) and _is_call(node) and id(node) not in plain:
            raise positioned(
                node.at,
                f"{NAMESPACE}:{node.call.name} cannot stand in a partition, a join or a pattern",
                f"ask in a query of its own: from S{_FORMS[node.call.name]} … insert into Answers;",
            )


def _fed_by(
    tree: ast.App, query: ast.Query | ast.Partition, waiting: list[ast.Query | ast.Partition]
) -> bool:
    return any(one in waiting for one in _feeders(tree, query, set()))


def _feeders(
    tree: ast.App, item: ast.Query | ast.Partition, seen: set[str]
) -> Iterator[ast.Query | ast.Partition]:
    """The queries without which nobody knows what the item's inputs hold."""
    defined = {one.name for one in tree.definitions}
    queries = item.queries if isinstance(item, ast.Partition) else (item,)
    for query in queries:
        for name, _ in sources_of(query.input):
            source = name.lstrip("!")
            if source in defined or source in seen or source.startswith("#"):
                continue
            seen.add(source)
            for other in tree.execution:
                if source in _written(other):
                    yield other
                    yield from _feeders(tree, other, seen)


def _written(item: ast.Query | ast.Partition) -> set[str]:
    queries = item.queries if isinstance(item, ast.Partition) else (item,)
    return {one.action.target for one in queries if isinstance(one.action, ast.InsertInto)}


def _cut(tree: ast.App, query: ast.Query | ast.Partition, schema_of: SchemaOf) -> ast.App:
    place = _call_of(query)
    assert isinstance(query, ast.Query)
    assert isinstance(query.input, ast.StreamInput)
    assert place is not None
    stream, handlers = query.input, query.input.handlers
    asking = handlers[place]
    assert isinstance(asking, ast.StreamFunction)
    call = _read(asking)
    before = replace(stream, handlers=handlers[:place])
    feeders = list(dict.fromkeys(_feeders(tree, query, set())))

    def schema(selector: ast.Selector) -> StreamSchema:
        probe = ast.Query(before, selector, ast.InsertInto(_PROBE, at=call.at), at=query.at)
        return schema_of(replace(tree, execution=(*feeders, probe)), _PROBE)

    held = [
        one for one in schema(ast.Selector()).attributes if one.type is not AttributeType.OBJECT
    ]
    names = [one.name for one in held]
    _check_names(call, names)
    values, shown = _values(call, names)
    selector = ast.Selector(tuple(shown))
    asks = schema(selector)
    _check_values(call, asks)
    name = _stream_name(tree, query)
    question = ast.StreamDefinition(
        f"{name}__asks",
        tuple(ast.AttributeDefinition(one.name, one.type, at=call.at) for one in asks.attributes),
        (_sink(name, call, values),),
        at=call.at,
    )
    kept = [*((one.name, one.type) for one in held), *call.gives]
    answer = ast.StreamDefinition(
        f"{name}__answers",
        tuple(ast.AttributeDefinition(one, kind, at=call.at) for one, kind in kept),
        (_annotation("source", call.at, {"type": "rdbms-call-response", "sink.id": name}),),
        at=call.at,
    )
    first = ast.Query(
        before,
        selector,
        ast.InsertInto(question.name, at=call.at),
        annotations=(_info(question.name),),
        at=query.at,
    )
    rest = ast.StreamInput(
        answer.name, handlers[place + 1 :], stream.alias or stream.source, at=stream.at
    )
    second = replace(query, input=rest)
    execution = tuple(second if one is query else one for one in tree.execution)
    return replace(
        tree,
        definitions=(*tree.definitions, question, answer),
        execution=(*execution, first),
    )


def _check_names(call: _Call, names: list[str]) -> None:
    for name, _ in call.gives:
        if name in names:
            raise positioned(
                call.at,
                f"{name!r} is an attribute of the events and of what they are answered",
                "give it another name",
            )


def _check_values(call: _Call, asks: StreamSchema) -> None:
    for one in asks.attributes:
        if one.type is AttributeType.OBJECT:
            raise positioned(
                call.at,
                f"a value for the statement ({one.name}) is an object",
                "no database takes one: make a text of it by str: or json:",
            )


def _values(call: _Call, names: list[str]) -> tuple[list[str], list[ast.OutputAttribute]]:
    """The attributes that go into the statement, and all that a question holds."""
    shown = [ast.OutputAttribute(ast.Variable(name, at=call.at)) for name in names]
    values: list[str] = []
    for number, value in enumerate(call.values, start=1):
        if isinstance(value, ast.Variable) and value.source is None and value.name in names:
            values.append(value.name)
            continue
        values.append(_free(f"value_{number}", names))
        shown.append(ast.OutputAttribute(value, values[-1]))
    return values, shown


def _read(node: ast.StreamFunction) -> _Call:
    call, at = node.call, node.at
    form = _FORMS[call.name]
    arguments = call.arguments
    datasource = _text(arguments[0]) if arguments else None
    if not datasource:
        raise positioned(at, f"rdbms:{call.name}: the datasource is no text", form)
    if call.name == CUD:
        return _cud(datasource, arguments[1:], at)
    gives = given_attributes(_text(arguments[1]) or "") if len(arguments) > 1 else None
    if gives is not None:
        sql, values = arguments[2:3], arguments[3:]
    else:  # as the product before wrote it: the list stands at the end
        sql, values = arguments[1:2], arguments[2:-1]
        gives = given_attributes(_text(arguments[-1]) or "")
    if gives is None or not sql:
        raise positioned(at, "rdbms:query: it names no attributes that it gives", form)
    text = _statement(sql[0], ASKING, QUERY, at)
    tells_empty = False
    last = values[-1] if len(values) == len(pieces(text)) else None
    if isinstance(last, ast.Constant) and last.type is AttributeType.BOOL:
        tells_empty, values = bool(last.value), values[:-1]
    _check_marks(text, values, QUERY, at)
    return _Call(datasource, text, tuple(values), gives, False, tells_empty, at)


def _cud(datasource: str, arguments: tuple[ast.Expression, ...], at: ast.Location) -> _Call:
    text = _statement(arguments[0] if arguments else None, CHANGING, CUD, at)
    values = arguments[1:]
    if len(values) == len(pieces(text)) and _text(values[-1]) is not None:
        raise positioned(
            at,
            "rdbms:cud: a transaction over several events would not end where a publisher does",
            "leave the name of the transaction out: each statement is a transaction",
        )
    _check_marks(text, values, CUD, at)
    return _Call(datasource, text, tuple(values), (RECORDS,), True, False, at)


def _statement(
    node: ast.Expression | None, words: tuple[str, ...], name: str, at: ast.Location
) -> str:
    text = None if node is None else _text(node)
    if text is None:
        raise positioned(
            at, f"rdbms:{name}: the statement is no text", f"values go in by '?': {_FORMS[name]}"
        )
    if first_word(text) not in words:
        raise positioned(
            at,
            f"rdbms:{name}: the statement begins with {first_word(text)!r}",
            f"there is {', '.join(words)}",
        )
    return text


def _check_marks(sql: str, values: tuple[ast.Expression, ...], name: str, at: ast.Location) -> None:
    marks = len(pieces(sql)) - 1
    if marks != len(values):
        raise positioned(
            at,
            f"rdbms:{name}: the statement has {marks} marks '?' and gets {len(values)} values",
            _FORMS[name],
        )


def _text(node: ast.Expression) -> str | None:
    if isinstance(node, ast.Constant) and node.type is AttributeType.STRING:
        return str(node.value)
    return None


def _stream_name(tree: ast.App, query: ast.Query) -> str:
    called = info_name(query.annotations)
    name = re.sub(r"\W+", "_", called or "", flags=re.ASCII).strip("_")
    if not name or not name[0].isalpha():
        name = f"{NAMESPACE}_{name}" if name else NAMESPACE
    taken = {one.name.removesuffix("__asks") for one in tree.definitions}
    return _free(name, [*taken])


def _free(name: str, taken: list[str]) -> str:
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found


def _sink(name: str, call: _Call, values: list[str]) -> ast.Annotation:
    options = {
        "type": "rdbms-call",
        "sink.id": name,
        "datasource": call.datasource,
        "statement": call.sql,
    }
    if values:
        options["parameters"] = ",".join(values)
    if not call.is_change:
        options["gives"] = ", ".join(f"{one} {kind.value}" for one, kind in call.gives)
    if call.tells_empty:
        options["ack.empty.result.set"] = "true"
    return _annotation("sink", call.at, options)


def _annotation(name: str, at: ast.Location, options: dict[str, str]) -> ast.Annotation:
    return ast.Annotation(name, tuple(ast.Element(*one) for one in options.items()), at=at)


def _info(name: str) -> ast.Annotation:
    return ast.Annotation("info", (ast.Element("name", name),))
