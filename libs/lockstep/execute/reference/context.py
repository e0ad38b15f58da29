"""The contexts that operators get: clock, timers, names, compiled expressions
(operators.contract).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from lockstep.execute.reference.engine import Engine
from lockstep.execute.reference.junction import Junction
from lockstep.expressions.compiler import compile_condition, compile_expression
from lockstep.functions.script import compile_script
from lockstep.operators.contract import Stateful, TimerTarget
from lockstep.operators.errors import EventError
from lockstep.operators.limits import Meter
from lockstep.plan.paths import model_path
from lockstep.siddhiql.scope import Scope

COMPILED_MAX = 20_000
"""Functions kept for the instances of partitions; beyond it each instance compiles its own."""

_Made = TypeVar("_Made")
_Shared = TypeVar("_Shared", bound=Stateful)


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
        return self.engine.now

    def wall_ms(self) -> int:
        return self.engine.wall

    def schedule(self, target: TimerTarget, due_ms: int, *, wall: bool = False) -> None:
        (self.engine.wall_timers if wall else self.engine.app_timers).add(target, due_ms)

    def register(self, name: str, operator: Stateful) -> None:
        self.engine.register(f"{self.path}/{name}", operator)

    def child(self, name: str) -> EngineContext:
        return EngineContext(self.engine, f"{self.path}/{name}", self.inner)

    def junction(self, name: str) -> Junction:
        """The stream of that name; `#name` only inside a partition instance."""
        if name.startswith("#") and self.inner is not None:
            return self.inner[name]
        return self.engine.junction(name)

    @property
    def meter(self) -> Meter:
        return self.engine.meter

    def model(self, name: str, make: Callable[[], _Shared]) -> _Shared:
        inside = "" if self.inner is None else "/".join(self.path.split("/", 3)[:3]) + "/"
        path = f"{inside}{model_path(name)}"
        found: Any = self.engine.operators.get(path)
        if found is None:
            found = make()
            self.engine.register(path, found)
        shared: _Shared = found
        return shared

    def table(self, name: str) -> Any:
        return self.engine.tables[name]

    def window(self, name: str) -> Any:
        return self.engine.windows[name]

    def aggregation(self, name: str) -> Any:
        return self.engine.aggregations[name]

    @property
    def query_rows(self) -> Counter[str]:
        return self.engine.query_rows

    def function(self, name: str, arguments: Sequence[Any]) -> Callable[..., Any]:
        own = self.engine.plan.checked.functions.get(name)
        if own is None:
            raise EventError(
                f"an extension declares {name!r}, and has nothing that makes it",
                hint="its module needs an entry (namespace, name) in FUNCTIONS or AGGREGATORS",
            )
        return compile_script(own)

    @property
    def is_siddhi_5_1(self) -> bool:
        return "compat" in self.engine.plan.checked.annotations

    def shared(
        self, compiler: Callable[..., _Made], what: Any, scope: Scope, **options: Any
    ) -> _Made:
        kept, operators = self.engine.compiled, self.engine.operators
        key = (compiler, id(what), id(scope))
        found = kept.get(key)
        if found is None:
            before = len(operators)
            made = compiler(what, scope, self, **options)
            if len(operators) != before or len(kept) >= COMPILED_MAX:
                return made  # a function with state of its own is not to be shared
            # The entry keeps `what` and `scope` alive, so that their ids stay theirs.
            found = kept[key] = (made, what, scope)
        shared: _Made = found[0]
        return shared

    def compile(self, expression: Any, scope: Scope) -> Callable[[Any], Any]:
        return self.shared(compile_expression, expression, scope)

    def compile_condition(self, expression: Any, scope: Scope) -> Callable[[Any], bool]:
        return self.shared(compile_condition, expression, scope)


class OnDemandContext(EngineContext):
    """The context of a query that runs once: names and clock are the engine's, and nothing that is
    built here outlives the query or shows in snapshots."""

    __slots__ = ()

    def child(self, name: str) -> OnDemandContext:
        return self

    def register(self, name: str, operator: Stateful) -> None:
        """Not kept: the operator dies with the query."""

    def schedule(self, target: TimerTarget, due_ms: int, *, wall: bool = False) -> None:
        """Refused: nobody would be there when it fires."""
        raise EventError("an on-demand query cannot wait")

    def shared(
        self, compiler: Callable[..., _Made], what: Any, scope: Scope, **options: Any
    ) -> _Made:
        """Compiled anew: the engine keeps nothing of a query that runs once."""
        return compiler(what, scope, self, **options)
