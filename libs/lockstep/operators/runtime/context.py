"""The context that operators get: clock, timers, names, compiled expressions
(operators.contract).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from lockstep.operators.contract import Stateful, TimerTarget
from lockstep.operators.runtime.compiled import CompiledExpressions
from lockstep.siddhiql.scope import Scope

if TYPE_CHECKING:
    from lockstep.operators.runtime.engine import Engine
    from lockstep.operators.runtime.junction import Junction


class EngineContext:
    """A place in the engine, named by its path. `inner` holds the `#streams` of a partition
    instance.
    """

    __slots__ = ("engine", "inner", "path")

    def __init__(self, engine: Engine, path: str, inner: dict[str, Junction] | None = None) -> None:
        self.engine = engine
        self.path = path
        self.inner = inner

    def now_ms(self) -> int:
        """The app clock."""
        return self.engine.now

    def wall_ms(self) -> int:
        """The log's wall clock."""
        return self.engine.wall

    def schedule(self, target: TimerTarget, due_ms: int, *, wall: bool = False) -> None:
        """See Context."""
        (self.engine.wall_timers if wall else self.engine.app_timers).add(target, due_ms)

    def register(self, name: str, operator: Stateful) -> None:
        """See Context."""
        self.engine.register(f"{self.path}/{name}", operator)

    def child(self, name: str) -> EngineContext:
        """See Context."""
        return EngineContext(self.engine, f"{self.path}/{name}", self.inner)

    def junction(self, name: str) -> Junction:
        """The stream of that name; `#name` only inside a partition instance."""
        if name.startswith("#") and self.inner is not None:
            return self.inner[name]
        return self.engine.junction(name)

    def table(self, name: str) -> Any:
        """See Context."""
        return self.engine.tables[name]

    def window(self, name: str) -> Any:
        """See Context."""
        return self.engine.windows[name]

    def aggregation(self, name: str) -> Any:
        """See Context."""
        return self.engine.aggregations[name]

    def function(self, name: str, arguments: Sequence[Any]) -> Callable[..., Any]:
        """The app's own `define function` of that name."""
        from lockstep.functions.script import compile_script

        return compile_script(self.engine.plan.checked.functions[name])

    @property
    def is_siddhi_5_1(self) -> bool:
        """Whether the app asks for the old engine's defects (@app:compat)."""
        return "compat" in self.engine.plan.checked.annotations

    @property
    def expressions(self) -> CompiledExpressions:
        """Expressions compiled for this place."""
        return CompiledExpressions(self, self.engine.compiled)

    def compile(self, expression: Any, scope: Scope) -> Callable[[Any], Any]:
        """See Context."""
        return self.expressions.value(expression, scope)

    def compile_condition(self, expression: Any, scope: Scope) -> Callable[[Any], bool]:
        """See Context."""
        return self.expressions.condition(expression, scope)
