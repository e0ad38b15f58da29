"""A plan as readable lines: nodes in order, what they read and write, and the rules that were
applied.
"""

from __future__ import annotations

from collections.abc import Mapping

from lockstep.plan.nodes import AppPlan, PartitionNode, PlanNode, QueryNode
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedJoin, CheckedPattern, CheckedQuery, CheckedStream


def explain_plan(plan: AppPlan, notes: Mapping[str, str] | None = None) -> str:
    """The plan as text; `notes` are set below the queries whose names they have."""
    return "\n".join(explain(plan, notes or {}))


def explain(plan: AppPlan, notes: Mapping[str, str]) -> list[str]:
    """One line per node, inner queries indented, then exports, stored tables and rules."""
    nodes, groups = _counted(len(plan.nodes), "node"), _counted(len(plan.groups), "group")
    lines = [f"app {plan.name}: {nodes} in {groups}"]
    for node in plan.nodes:
        lines += _node_lines(node, "  ", notes)
    lines.append(f"  exports: {', '.join(plan.exported) or 'none'}")
    if plan.stored:
        lines.append(f"  stored tables: {', '.join(plan.stored)}")
    if plan.applied:
        lines.append(f"  rewritten by: {', '.join(plan.applied)}")
    return lines


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _node_lines(node: PlanNode, indent: str, notes: Mapping[str, str]) -> list[str]:
    if isinstance(node, QueryNode):
        steps = " -> ".join(steps_of(node.query))
        line = f"{indent}{node.name}: {', '.join(node.reads)} -> {steps} -> {node.writes}"
        note = notes.get(node.name)
        return [line] if note is None else [line, f"{indent}    {note}"]
    return _partition_lines(node, indent, notes)


def _partition_lines(node: PartitionNode, indent: str, notes: Mapping[str, str]) -> list[str]:
    keys = ", ".join(key.stream for key in node.partition.partition.keys)
    lines = [f"{indent}{node.name}: partition of {keys}"]
    for query in node.queries:
        lines += _node_lines(query, indent + "  ", notes)
    return lines


def steps_of(query: CheckedQuery) -> list[str]:
    """What a query does, step by step, in a word each."""
    steps = _input_steps(query)
    selector = query.query.selector
    steps.append("aggregate" if query.uses_aggregators else "project")
    if selector.group_by:
        steps[-1] += f" by {', '.join(variable.name for variable in selector.group_by)}"
    if selector.having is not None:
        steps.append("having")
    if selector.order_by:
        steps.append("order")
    if query.query.rate is not None:
        steps.append(f"rate {query.query.rate.kind.value}")
    return steps


def _input_steps(query: CheckedQuery) -> list[str]:
    match query.input:
        case CheckedStream(handlers=handlers):
            return [_handler(checked.handler) for checked in handlers]
        case CheckedJoin(input=joined):
            return [joined.type.value]
        case CheckedPattern(input=matched):
            return ["sequence" if matched.is_sequence else "pattern"]


def _handler(handler: ast.Handler) -> str:
    if isinstance(handler, ast.Filter):
        return "filter"
    call = handler.call
    name = call.name if call.namespace is None else f"{call.namespace}:{call.name}"
    return f"window {name}" if isinstance(handler, ast.WindowHandler) else name
