"""A context without an engine, for operators that are driven directly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lockstep.events import Attribute, AttributeType, StreamSchema
from lockstep.expressions.compiler import compile_condition, compile_expression
from lockstep.operators.contract import Context, Stateful, TimerTarget
from lockstep.operators.limits import Meter
from lockstep.siddhiql import ast
from lockstep.siddhiql.scope import Scope, Shape, Source

S, I, L = AttributeType.STRING, AttributeType.INT, AttributeType.LONG  # noqa: E741
D, F, B = AttributeType.DOUBLE, AttributeType.FLOAT, AttributeType.BOOL


class PlainContext:
    """Compiles, keeps what was registered, has tables by name. The clock stands where it is put."""

    def __init__(self) -> None:
        self.now = 0
        self.operators: dict[str, Stateful] = {}
        self.tables: dict[str, Any] = {}
        self.timers: list[tuple[TimerTarget, int]] = []
        self.is_siddhi_5_1 = False
        self.meter = Meter()

    def now_ms(self) -> int:
        """The clock."""
        return self.now

    def wall_ms(self) -> int:
        """The same clock."""
        return self.now

    def schedule(self, target: TimerTarget, due_ms: int, *, wall: bool = False) -> None:
        """Notes the timer."""
        self.timers.append((target, due_ms))

    def register(self, name: str, operator: Stateful) -> None:
        """Notes the operator."""
        self.operators[name] = operator

    def child(self, name: str) -> Context:
        """The same context."""
        return self

    def shared(self, compiler: Any, what: Any, scope: Scope, **options: Any) -> Any:
        """Made anew each time."""
        return compiler(what, scope, self, **options)

    def compile(self, expression: Any, scope: Scope) -> Callable[[Any], Any]:
        """See Context."""
        return compile_expression(expression, scope, self)

    def compile_condition(self, expression: Any, scope: Scope) -> Callable[[Any], bool]:
        """See Context."""
        return compile_condition(expression, scope, self)

    def model(self, name: str, make: Callable[[], Any]) -> Any:
        """See Context."""
        return self.operators.setdefault(f"model/{name}", make())

    def table(self, name: str) -> Any:
        """See Context."""
        return self.tables[name]

    def window(self, name: str) -> Any:
        """There are none."""
        raise KeyError(name)

    def aggregation(self, name: str) -> Any:
        """There are none."""
        raise KeyError(name)

    def function(self, name: str, arguments: Sequence[Any]) -> Callable[..., Any]:
        """There are none."""
        raise KeyError(name)


def schema(name: str, **attributes: AttributeType) -> StreamSchema:
    """A schema of `name=type` pairs."""
    return StreamSchema(name, tuple(Attribute(*pair) for pair in attributes.items()))


def beside(event: StreamSchema, table: StreamSchema) -> Scope:
    """What an action's `on` sees: the event in slot 0, the table's row in slot 1."""
    sources = (Source(event, (event.name,)), Source(table, (table.name,)))
    return Scope(Shape.JOINED, sources, preferred=0)


def equal(left: ast.Expression, right: ast.Expression) -> ast.Compare:
    """left == right."""
    return ast.Compare(ast.CompareOperator.EQUAL, left, right)


def more(left: ast.Expression, right: ast.Expression) -> ast.Compare:
    """left > right."""
    return ast.Compare(ast.CompareOperator.GREATER, left, right)


def of(source: str, name: str) -> ast.Variable:
    """source.name."""
    return ast.Variable(name, source)
