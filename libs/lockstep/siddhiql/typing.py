"""The type of any expression in its scope (grammar 13.2, 13.3), with all checks on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from lockstep.events import AttributeType
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue import Argument, Extension, ExtensionKind, SignatureError
from lockstep.siddhiql.catalogue.core import default_catalogue
from lockstep.siddhiql.catalogue.matching import match
from lockstep.siddhiql.comparing import are_comparable, comparison_hint
from lockstep.siddhiql.errors import SiddhiQLError
from lockstep.siddhiql.retired import OTHERS, retired_call
from lockstep.siddhiql.scope import Scope, row_scope
from lockstep.siddhiql.suggestions import did_you_mean, pack_hint
from lockstep.siddhiql.trees import below

_BOOL = AttributeType.BOOL
_WIDEST_FIRST = (
    AttributeType.DOUBLE,
    AttributeType.FLOAT,
    AttributeType.LONG,
    AttributeType.INT,
)
_PLACES = {
    ExtensionKind.FUNCTION: "call it in an expression",
    ExtensionKind.AGGREGATOR: "call it in 'select' or 'having'",
    ExtensionKind.WINDOW: "write #window.{}(…) behind a stream",
    ExtensionKind.STREAM_FUNCTION: "write #{}(…) behind a stream",
}


def positioned(at: ast.Location, message: str, hint: str | None = None) -> SiddhiQLError:
    """A SiddhiQLError at a place, to be raised."""
    return SiddhiQLError(message, line=at.line, column=at.column, hint=hint)


def infer(
    expression: ast.Expression,
    scope: Scope,
    *,
    aggregators_allowed: bool = True,
    functions: Mapping[str, AttributeType] | None = None,
) -> AttributeType:
    """The type of an expression. `functions` are the app's own; by default those of the scope."""
    known = scope.functions if functions is None else functions
    return _Inference(aggregators_allowed, known).infer(expression, scope)


def promote(left: AttributeType, right: AttributeType) -> AttributeType:
    """The type in which two numbers are computed and compared (grammar 13.2)."""
    return next(type_ for type_ in _WIDEST_FIRST if type_ in (left, right))


def find_extension(name: str, namespace: str | None, *kinds: ExtensionKind) -> Extension | None:
    """The first of the kinds that has the name."""
    catalogue = default_catalogue()
    for kind in kinds:
        found = catalogue.find(kind, namespace, name)
        if found is not None:
            return found
    return None


def is_aggregator(call: ast.FunctionCall, functions: Mapping[str, AttributeType]) -> bool:
    """Whether a call names an aggregator (an app's own function of that name comes first)."""
    if call.namespace is None and call.name in functions:
        return False
    found = find_extension(
        call.name, call.namespace, ExtensionKind.FUNCTION, ExtensionKind.AGGREGATOR
    )
    return found is not None and found.kind is ExtensionKind.AGGREGATOR


def aggregator_calls(
    expression: ast.Expression, functions: Mapping[str, AttributeType]
) -> Iterator[ast.FunctionCall]:
    """The aggregator calls in an expression, in order of writing."""
    for part in below(expression):
        if isinstance(part, ast.FunctionCall) and is_aggregator(part, functions):
            yield part


def unknown_extension(
    call: ast.FunctionCall, *kinds: ExtensionKind, own: Iterable[str] = ()
) -> SiddhiQLError:
    """The error for a name that no extension of the kinds (and no function of one's own) has."""
    title = f"{call.namespace}:{call.name}" if call.namespace else call.name
    what = " or ".join(kind.value for kind in kinds)
    message = f"no extension exists for the {what} {title!r}"
    for kind in ExtensionKind:
        if kind not in kinds and find_extension(call.name, call.namespace, kind) is not None:
            place = _PLACES[kind].format(title)
            return positioned(call.at, message, f"{title!r} is a {kind.value}: {place}")
    if (call.namespace or "").lower() == "window":
        return positioned(call.at, message, f"windows have a dot: #window.{call.name}(…)")
    instead = retired_call(call.namespace, call.name) or OTHERS.get(title.lower())
    if instead is not None:
        return positioned(call.at, message, instead)
    for extension in (each for kind in kinds for each in default_catalogue().of(kind)):
        if title.lower() in extension.formerly:
            return positioned(call.at, message, f"did you mean {extension.full_name!r}?")
    known = [name for kind in kinds for name in default_catalogue().names(kind)]
    if call.namespace is None:
        return positioned(call.at, message, did_you_mean(title, [*own, *known]))
    return positioned(call.at, message, pack_hint(call.namespace, call.name, known))


class _Inference:
    def __init__(self, aggregators_allowed: bool, functions: Mapping[str, AttributeType]) -> None:
        self._aggregators_allowed = aggregators_allowed
        self._functions = functions

    def infer(self, expression: ast.Expression, scope: Scope) -> AttributeType:
        match expression:
            case ast.Constant(type=type_):
                return type_
            case ast.Variable():
                return scope.resolve(expression).type
            case ast.EventReference():
                if expression.source.startswith("!"):
                    what = f"{expression.source!r} is no value: '!' is no word for 'not' here"
                    raise positioned(expression.at, what, f"write: not {expression.source[1:]}")
                raise positioned(
                    expression.at,
                    f"the whole event {expression.source!r} is no value",
                    f"name an attribute: {expression.source}.attribute",
                )
            case ast.Arithmetic():
                return self._arithmetic(expression, scope)
            case ast.Compare():
                return self._compare(expression, scope)
            case ast.And(left=left, right=right):
                return self._logical("and", left, right, scope)
            case ast.Or(left=left, right=right):
                return self._logical("or", left, right, scope)
            case ast.Not(operand=operand):
                self._want_bool(operand, scope, "'not' binds tighter than comparisons")
                return _BOOL
            case ast.IsNull(operand=operand):
                self._operand_of_null_test(operand, scope)
                return _BOOL
            case ast.InTable():
                return self._in_table(expression, scope)
            case ast.FunctionCall():
                return self._call(expression, scope)

    def _operand_of_null_test(
        self, operand: ast.Variable | ast.FunctionCall | ast.EventReference, scope: Scope
    ) -> None:
        if isinstance(operand, ast.EventReference):
            scope.resolve_event(operand)
        else:
            self.infer(operand, scope)

    def _arithmetic(self, expression: ast.Arithmetic, scope: Scope) -> AttributeType:
        left = self.infer(expression.left, scope)
        right = self.infer(expression.right, scope)
        for side, type_ in ((expression.left, left), (expression.right, right)):
            if not type_.is_numeric:
                hint = "use ifThenElse(x, 1, 0) to count conditions"
                if type_ is AttributeType.STRING:
                    hint = "join texts with str:concat(a, b)"
                elif type_ is AttributeType.OBJECT:
                    hint = "give the object a type: cast(x, 'double')"
                raise positioned(
                    side.at, f"'{expression.operator.value}' takes numbers, not {type_.value}", hint
                )
        return promote(left, right)

    def _compare(self, expression: ast.Compare, scope: Scope) -> AttributeType:
        left = self.infer(expression.left, scope)
        right = self.infer(expression.right, scope)
        if are_comparable(expression.operator, left, right):
            return _BOOL
        raise positioned(
            expression.at,
            f"'{expression.operator.value}' cannot compare {left.value} with {right.value}",
            comparison_hint(expression, left, right),
        )

    def _want_bool(self, expression: ast.Expression, scope: Scope, hint: str | None) -> None:
        type_ = self.infer(expression, scope)
        if type_ is not _BOOL:
            raise positioned(expression.at, f"a condition is needed here, not {type_.value}", hint)

    def _logical(
        self, word: str, left: ast.Expression, right: ast.Expression, scope: Scope
    ) -> AttributeType:
        for side in (left, right):
            type_ = self.infer(side, scope)
            if type_ is not _BOOL:
                raise positioned(
                    side.at, f"'{word}' joins conditions, not {type_.value}", "compare it: x > 0"
                )
        return _BOOL

    def _in_table(self, expression: ast.InTable, scope: Scope) -> AttributeType:
        table = scope.tables.get(expression.table)
        if table is None:
            raise positioned(
                expression.at,
                f"there is no table {expression.table!r}",
                did_you_mean(expression.table, scope.tables),
            )
        self._want_bool(
            expression.condition,
            row_scope(scope, table),
            f"write a condition on its rows: ({table.name}.{table.names[0]} == x) in {table.name}",
        )
        return _BOOL

    # --- calls -------------------------------------------------------------------------------

    def _call(self, call: ast.FunctionCall, scope: Scope) -> AttributeType:
        if call.namespace is None and call.name in self._functions:
            for argument in call.arguments:
                self.infer(argument, scope)
            return self._functions[call.name]
        found = find_extension(
            call.name, call.namespace, ExtensionKind.FUNCTION, ExtensionKind.AGGREGATOR
        )
        if found is None:
            kinds = (ExtensionKind.FUNCTION, ExtensionKind.AGGREGATOR)
            raise unknown_extension(call, *kinds, own=self._functions)
        if found.kind is ExtensionKind.AGGREGATOR and not self._aggregators_allowed:
            raise positioned(
                call.at,
                f"the aggregator {call.name!r} cannot stand here",
                "aggregators stand in select, having and filters, and not inside each other",
            )
        arguments = self._arguments(call, scope, found.kind is ExtensionKind.AGGREGATOR)
        try:
            _, result = match(found, arguments)
        except SignatureError as error:
            raise positioned(call.at, error.message, error.hint) from None
        assert result is not None
        return result

    def _arguments(
        self, call: ast.FunctionCall, scope: Scope, of_aggregator: bool
    ) -> list[Argument]:
        allowed = self._aggregators_allowed
        self._aggregators_allowed = allowed and not of_aggregator
        try:
            return [
                self._argument(call, argument, scope) for argument in all_arguments(call, scope)
            ]
        finally:
            self._aggregators_allowed = allowed

    def _argument(self, call: ast.FunctionCall, argument: ast.Expression, scope: Scope) -> Argument:
        if isinstance(argument, ast.EventReference) and takes_event(call):
            scope.resolve_event(argument)
            return Argument(AttributeType.OBJECT)
        type_ = self.infer(argument, scope)
        return described(argument, type_)


def takes_event(call: ast.FunctionCall) -> bool:
    """Whether the arguments of a call are whole events (grammar 14)."""
    return call.name == "eventTimestamp" and call.namespace is None


def described(argument: ast.Expression, type_: AttributeType) -> Argument:
    """An argument as signatures see it."""
    if isinstance(argument, ast.Constant):
        return Argument(type_, is_constant=True, value=argument.value)
    if isinstance(argument, ast.Variable):
        return Argument(type_, is_attribute=True, attribute_name=argument.name)
    return Argument(type_)


def arguments_of(call: ast.FunctionCall, scope: Scope) -> list[Argument]:
    """The arguments of a checked call as implementations see them."""
    return [described(argument, infer(argument, scope)) for argument in call.arguments]


def all_arguments(call: ast.FunctionCall, scope: Scope) -> tuple[ast.Expression, ...]:
    """The arguments of a call, with `*` spelled out as all attributes of the stream."""
    if not call.star:
        return call.arguments
    return tuple(
        ast.Variable(name, at=call.at) for source in scope.sources for name in source.schema.names
    )
