"""Function and aggregator calls: found in the registries by (namespace, name), bound to
arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lockstep.events import AttributeType
from lockstep.operators.contract import Context
from lockstep.operators.expressions.code import Code
from lockstep.operators.placing import placed
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue import Argument
from lockstep.siddhiql.scope import Scope

if TYPE_CHECKING:
    from lockstep.operators.expressions.writer import Writer


def arguments_of(call: ast.FunctionCall, scope: Scope) -> list[Argument]:
    """The arguments as implementations see them: types, constant values, attribute names."""
    from lockstep.siddhiql.typing import infer

    described = []
    for expression in call.arguments:
        if isinstance(expression, ast.Constant):
            described.append(Argument(expression.type, is_constant=True, value=expression.value))
            continue
        is_attribute = isinstance(expression, ast.Variable)
        described.append(
            Argument(
                infer(expression, scope),
                is_attribute=is_attribute,
                attribute_name=expression.name if isinstance(expression, ast.Variable) else None,
            )
        )
    return described


def make_aggregator(
    call: ast.FunctionCall, scope: Scope, context: Context
) -> tuple[Callable[[], Any], AttributeType] | None:
    """A maker of the aggregator that the call names with its result type, or None if it names
    none.
    """
    from lockstep.aggregators.registry import aggregators
    from lockstep.siddhiql.typing import infer

    known = aggregators(is_siddhi_5_1=context.is_siddhi_5_1)
    factory = known.get((call.namespace or "", call.name))
    if factory is None:
        return None
    arguments = arguments_of(call, scope)
    return (lambda: factory(arguments)), infer(call, scope)


def call_function(writer: Writer, call: ast.FunctionCall) -> Code:
    """The source of a call of a registered (or script) function."""
    from lockstep.functions.registry import FUNCTIONS
    from lockstep.siddhiql.typing import infer

    type_ = infer(call, writer.scope)
    if call.namespace is None and call.name == "ifThenElse":
        condition, first, second = call.arguments
        truth = writer.truth(condition)
        chosen, other = writer.write(first), writer.write(second)
        source = f"({chosen.source} if {truth} else {other.source})"
        return Code(source, type_, nullable=chosen.nullable or other.nullable)
    factory = FUNCTIONS.get((call.namespace or "", call.name))
    arguments = arguments_of(call, writer.scope)
    if factory is None:
        function = writer.context.function(call.name, arguments)
    else:
        with placed(call.at):
            function = factory(arguments, writer.context)
    values = ", ".join(writer.write(argument).source for argument in call.arguments)
    return Code(f"{writer.constant(function)}({values})", type_)


def event_timestamp(writer: Writer, call: ast.FunctionCall) -> Code:
    """eventTimestamp() of this event, or of the event that the call refers to."""
    from lockstep.operators.expressions.slots import bind_event

    if not call.arguments:
        return Code("e.timestamp_ms", AttributeType.LONG, nullable=False, atom=True)
    argument = call.arguments[0]
    if isinstance(argument, ast.Variable):
        argument = ast.EventReference(argument.name, argument.index, argument.at)
    assert isinstance(argument, ast.EventReference)
    event = bind_event(writer, argument)
    return Code(f"(None if {event} is None else {event}.timestamp_ms)", AttributeType.LONG)
