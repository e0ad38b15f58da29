"""Definitions, queries, partitions, on-demand queries and apps as text (grammar 4-7, 9-12)."""

from __future__ import annotations

from typing import Any

from lockstep.siddhiql import ast
from lockstep.siddhiql.printing.expressions import (
    print_call,
    print_constant,
    print_expression,
    print_time,
    print_variable,
)
from lockstep.siddhiql.printing.inputs import (
    print_join,
    print_range,
    print_state,
    print_stream,
)
from lockstep.siddhiql.printing.names import (
    annotation,
    annotation_lines,
    identifier,
    name,
    prefixed,
    string,
)


def print_app(app: ast.App) -> str:
    """A whole app: annotations, definitions, then queries and partitions."""
    statements = [print_node(node) for node in (*app.definitions, *app.execution)]
    return annotation_lines(app.annotations) + "".join(
        f"{statement};\n" for statement in statements
    )


def print_node(node: Any) -> str:
    """Any part of a tree that `parse` can give."""
    match node:
        case ast.App():
            return print_app(node)
        case ast.Query():
            return _query(node)
        case ast.Partition():
            return _partition(node)
        case ast.OnDemandQuery():
            return _on_demand(node)
        case ast.Annotation():
            return annotation(node)
        case (
            ast.StreamDefinition()
            | ast.TableDefinition()
            | ast.WindowDefinition()
            | ast.TriggerDefinition()
            | ast.FunctionDefinition()
            | ast.AggregationDefinition()
        ):
            return _definition(node)
        case _:
            return print_expression(node)


# --- definitions -------------------------------------------------------------------------------


def _attributes(attributes: tuple[ast.AttributeDefinition, ...]) -> str:
    return f"({', '.join(f'{name(a.name)} {a.type.value}' for a in attributes)})"


def _definition(definition: ast.Definition) -> str:
    match definition:
        case ast.StreamDefinition(name=title, attributes=attributes):
            text = f"define stream {name(title)} {_attributes(attributes)}"
        case ast.TableDefinition(name=title, attributes=attributes):
            text = f"define table {name(title)} {_attributes(attributes)}"
        case ast.WindowDefinition(name=title, attributes=attributes, window=window):
            text = f"define window {name(title)} {_attributes(attributes)} {print_call(window)}"
            if definition.output is not None:
                text += f" output {definition.output.value}"
        case ast.TriggerDefinition(name=title, every_ms=every_ms, expression=expression):
            at = string(expression or "") if every_ms is None else f"every {print_time(every_ms)}"
            return f"define trigger {identifier(title)} at {at}"
        case ast.FunctionDefinition(name=title, language=language, returns=returns, body=body):
            head = f"define function {identifier(title)}[{identifier(language)}]"
            return f"{head} return {returns.value} {{{body}}}"
        case ast.AggregationDefinition():
            text = _aggregation(definition)
    return annotation_lines(definition.annotations) + text


def _aggregation(definition: ast.AggregationDefinition) -> str:
    separator = " ... " if definition.is_range else ", "
    by = definition.aggregate_by
    parts = [
        f"define aggregation {identifier(definition.name)} from {print_stream(definition.input)}",
        _selector(definition.selector),
        "aggregate" if by is None else f"aggregate by {print_variable(by)}",
        f"every {separator.join(granularity.value for granularity in definition.every)}",
    ]
    return " ".join(parts)


# --- queries -----------------------------------------------------------------------------------


def _selector(selector: ast.Selector) -> str:
    parts = ["select *"]
    if selector.attributes is not None:
        parts = [f"select {', '.join(map(_output, selector.attributes))}"]
    if selector.group_by:
        parts.append(f"group by {', '.join(map(print_variable, selector.group_by))}")
    if selector.having is not None:
        parts.append(f"having {print_expression(selector.having)}")
    if selector.order_by:
        parts.append(f"order by {', '.join(map(_order, selector.order_by))}")
    if selector.limit is not None:
        parts.append(f"limit {print_constant(selector.limit)}")
    if selector.offset is not None:
        parts.append(f"offset {print_constant(selector.offset)}")
    return " ".join(parts)


def _output(item: ast.OutputAttribute) -> str:
    text = print_expression(item.expression)
    return text if item.name is None else f"{text} as {name(item.name)}"


def _order(item: ast.OrderBy) -> str:
    return print_variable(item.variable) + (" desc" if item.descending else "")


def _rate(rate: ast.OutputRate) -> str:
    if rate.every_events is not None:
        return f"output {rate.kind.value} every {rate.every_events} events"
    return f"output {rate.kind.value} every {print_time(rate.every_ms or 0)}"


def _write(action: ast.DeleteFrom | ast.UpdateTable | ast.UpdateOrInsert) -> str:
    words = {
        ast.DeleteFrom: "delete",
        ast.UpdateTable: "update",
        ast.UpdateOrInsert: "update or insert into",
    }
    text = f"{words[type(action)]} {prefixed(action.target)}"
    if action.events is not None:
        text += f" for {action.events.value}"
    if not isinstance(action, ast.DeleteFrom) and action.set is not None:
        items = [f"{print_variable(i.attribute)} = {print_expression(i.value)}" for i in action.set]
        text += f" set {', '.join(items)}"
    return text if action.on is None else f"{text} on {print_expression(action.on)}"


def _action(action: ast.Action) -> str:
    events = "" if action.events is None else f" {action.events.value}"
    match action:
        case ast.InsertInto(target=target):
            return f"insert{events} into {prefixed(target)}"
        case ast.ReturnEvents():
            return f"return{events}"
        case _:
            return _write(action)


def _input(source: ast.Input) -> str:
    match source:
        case ast.StreamInput():
            return print_stream(source)
        case ast.JoinInput():
            return print_join(source)
        case ast.StateInput():
            return print_state(source)
        case ast.AnonymousInput(query=query):
            return f"({_query(query)})"


def _query(query: ast.Query) -> str:
    parts = [f"from {_input(query.input)}"]
    if query.selector.explicit:
        parts.append(_selector(query.selector))
    if query.rate is not None:
        parts.append(_rate(query.rate))
    parts.append(_action(query.action))
    return annotation_lines(query.annotations) + " ".join(parts)


def _key(key: ast.ValueKey | ast.RangeKey) -> str:
    if isinstance(key, ast.ValueKey):
        return f"{print_expression(key.expression)} of {name(key.stream)}"
    cases = [f"{print_expression(c.condition)} as {string(c.label)}" for c in key.cases]
    return f"{' or '.join(cases)} of {name(key.stream)}"


def _partition(partition: ast.Partition) -> str:
    keys = ", ".join(map(_key, partition.keys))
    queries = ";\n".join(map(_query, partition.queries))
    head = f"{annotation_lines(partition.annotations)}partition with ({keys})"
    return f"{head}\nbegin\n{queries};\nend"


def _on_demand(query: ast.OnDemandQuery) -> str:
    parts = []
    if query.source is not None:
        parts.append(f"from {name(query.source)}")
    if query.on is not None:
        parts.append(f"on {print_expression(query.on)}")
    if query.range is not None:
        parts.append(print_range(query.range))
    if query.selector.explicit:
        parts.append(_selector(query.selector))
    if query.action is not None:
        parts.append(_action(query.action))
    return " ".join(parts)
