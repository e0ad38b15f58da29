"""Which queries may ask to be woken."""

from __future__ import annotations

from lockstep.plan import PlanNode, QueryNode
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue.core import declared_window
from lockstep.siddhiql.catalogue.windows import Timers
from lockstep.siddhiql.checked import CheckedJoin, CheckedPattern, CheckedQuery, CheckedStream
from lockstep.siddhiql.trees import below


def keeps_time(node: PlanNode) -> bool:
    """Whether timers may make rows of the node come out."""
    if not isinstance(node, QueryNode):
        return any(map(keeps_time, node.queries))
    query = node.query
    rate = query.query.rate
    return (rate is not None and rate.every_ms is not None) or _waits(query)


def _waits(query: CheckedQuery) -> bool:
    match query.input:
        case CheckedStream():
            return _is_timed(query.input)
        case CheckedJoin(left=left, right=right):
            return _is_timed(left) or _is_timed(right)
        case CheckedPattern(input=pattern):
            return any(isinstance(each, ast.AbsentState) for each in below(pattern))


def _is_timed(stream: CheckedStream) -> bool:
    for checked in stream.handlers:
        match checked.handler:
            case ast.WindowHandler(call=call):
                if declared_window(call).timers is not Timers.NONE:
                    return True
            case ast.StreamFunction():
                return True
    return False
