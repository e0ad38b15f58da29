"""Which partition instances a chunk's events belong to (semantics 15)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lockstep.events import AttributeType
from lockstep.operators.contract import CURRENT, Context, StreamEvent
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.operators.failing import Failures
from lockstep.plan import java
from lockstep.plan.fleet.keys import is_pure
from lockstep.siddhiql import ast
from lockstep.siddhiql.scope import Scope
from lockstep.siddhiql.typing import infer

Parts = Iterator[tuple[str, list[StreamEvent]]]
Route = Callable[[list[StreamEvent], Failures], Parts]
"""(chunk, failures) → (instance key, part) in order of delivery. An event whose key fails goes into
the failures, and stands between the others as one with another key does."""


def build_router(key: ast.ValueKey | ast.RangeKey, scope: Scope, context: Context) -> Route:
    """A function that cuts chunks."""
    if isinstance(key, ast.ValueKey):
        return _by_value(key, scope, context)
    return _by_range(key, scope, context)


def _tells(event: StreamEvent, is_pure_key: bool) -> bool:
    """What an event of a named window fails of when it leaves is no news, if it failed of the same
    when it came."""
    return event.kind == CURRENT or not is_pure_key


def _by_value(key: ast.ValueKey, scope: Scope, context: Context) -> Route:
    value_of = context.compile(key.expression, scope)
    is_pure_key = is_pure(key.expression)
    single = infer(key.expression, scope) is AttributeType.FLOAT

    def route(chunk: list[StreamEvent], failures: Failures) -> Parts:
        run_key: str | None = None
        run: list[StreamEvent] = []
        for event in chunk:
            try:
                value = value_of(event)
            except PROCESSING_ERRORS as error:
                if _tells(event, is_pure_key):
                    failures.add([event], error)
                if run_key is not None:
                    yield run_key, run
                    run_key = None
                continue
            if value is None:
                continue
            text = value if type(value) is str else java.text(value, single)
            if text != run_key:
                if run_key is not None:
                    yield run_key, run
                run_key, run = text, []
            run.append(event)
        if run_key is not None:
            yield run_key, run

    return route


def _by_range(key: ast.RangeKey, scope: Scope, context: Context) -> Route:
    cases = [(context.compile_condition(case.condition, scope), case.label) for case in key.cases]
    is_pure_key = all(is_pure(case.condition) for case in key.cases)

    def route(chunk: list[StreamEvent], failures: Failures) -> Parts:
        for event in chunk:
            for holds, label in cases:
                try:
                    belongs = holds(event)
                except PROCESSING_ERRORS as error:
                    if _tells(event, is_pure_key):
                        failures.add([event], error)
                    break
                if belongs:
                    yield label, [event]

    return route
