"""The context of a query that runs once: keeps nothing, leaves no trace in snapshots."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lockstep.operators.contract import Stateful, TimerTarget
from lockstep.operators.errors import EventError
from lockstep.operators.runtime.context import EngineContext
from lockstep.siddhiql.scope import Scope

if TYPE_CHECKING:
    from lockstep.operators.runtime.engine import Engine


class OnDemandContext(EngineContext):
    """Names and clock are the engine's; nothing that is built here outlives the query."""

    __slots__ = ()

    def __init__(self, engine: Engine, place: str = "on-demand") -> None:
        super().__init__(engine, place)

    def child(self, name: str) -> OnDemandContext:
        """See Context."""
        return self

    def register(self, name: str, operator: Stateful) -> None:
        """Not kept: the operator dies with the query."""

    def schedule(self, target: TimerTarget, due_ms: int, *, wall: bool = False) -> None:
        """Refused: nobody would be there when it fires."""
        raise EventError("an on-demand query cannot wait")

    def _cached(self, kind: str, what: Any, scope: Scope, compiler: Callable[..., Any]) -> Any:
        return compiler(what, scope, self)
