"""Named windows as units: a kernel takes what all writers bring, or where there is none the
reference's window, one by one; what it lets out goes on in columns (semantics 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from lockstep.columns.chunks import Chunks, empty
from lockstep.columns.column import Column, Longs
from lockstep.columns.flow import CURRENT, EXPIRED, Flow
from lockstep.columns.merging import merge
from lockstep.columns.moves import Moves
from lockstep.columns.output import Output
from lockstep.columns.pool import StringPool
from lockstep.columns.rule import NotLowerable
from lockstep.columns.units import States, Timer
from lockstep.events import AttributeType, StreamSchema
from lockstep.execute.columnar.hosted.engine import HostedEngine
from lockstep.execute.columnar.hosted.queries import Members
from lockstep.execute.columnar.hosted.window import HostedWindow
from lockstep.execute.observe import Observe
from lockstep.execute.reference.context import EngineContext
from lockstep.named_windows.meaning import kinds_of, scope_of
from lockstep.plan import AppPlan, QueryNode
from lockstep.plan.ranks import ranks_of
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue.core import declared_window
from lockstep.siddhiql.catalogue.windows import Leaves, Timers
from lockstep.siddhiql.checked import CheckedApp, CheckedHandler
from lockstep.windows.contract import (
    ColumnarCall,
    ColumnarWindow,
    RecallsTimers,
    Setup,
    Step,
    columnar_window,
)
from lockstep.windows.registry import build_window


class KernelWindow:
    """A window on columns, as a HostedWindow is used."""

    def __init__(self, window: ColumnarWindow, path: str) -> None:
        self.window = window
        self._path = path

    def flow(self, step: Step) -> Flow:
        groups = np.zeros(len(step.chunks), np.int64)
        return self.window.flow(replace(step, groups=groups))

    def start(self, clock_ms: int, rank: int) -> None:
        """None of these runs by the clock from the start."""

    def settle(self) -> None:
        self.window.settle()

    def due_ms(self) -> int | None:
        return self.window.due_ms()

    def wall_due_ms(self) -> int | None:
        return None

    def store(self) -> Any:
        return self.window.store(0)

    def load(self, state: Any) -> None:
        def groups(columns: Any, times: Any, realm: int) -> Any:
            return np.zeros(len(times), np.int64)

        self.window.load(0, state, groups)

    def content(self, types: Sequence[AttributeType]) -> tuple[Longs, Sequence[Column]]:
        """What a join finds inside."""
        places = self.window.inside(0)
        return self.window.held.times[places], self.window.held.columns(places)

    def pending(self) -> list[Timer]:
        return [Timer(due_ms, self._path, number) for due_ms, number in self.window.timers(0)]

    def refill(self, timers: Sequence[Timer]) -> None:
        if isinstance(self.window, RecallsTimers):
            own = [(each.due_ms, each.sequence) for each in timers if each.path == self._path]
            self.window.load_timers(0, own)


class NamedWindowUnit:
    """See Unit. It takes what the writing queries put out (under a name for each), and gives what
    the window lets out, with the kinds of the events.

    `behind_clocks`: other timers feed it. The reference's window weighs its timers against those,
    which kernels do not.
    """

    is_observed = False
    place = 0

    def __init__(
        self,
        plan: AppPlan,
        definition: ast.WindowDefinition,
        pool: StringPool,
        *,
        behind_clocks: bool = False,
    ) -> None:
        name = definition.name
        self.name = f"window {name}"
        self.writes = name
        self.reads: tuple[str, ...] = ()
        self._schema: StreamSchema = plan.checked.schemas[name]
        self._kinds = kinds_of(definition.output)
        self._path = f"window/{name}/window"
        self._rank = ranks_of(plan)[f"window/{name}"]
        checked = plan.checked
        kernel = None if behind_clocks else _kernel(definition, checked, pool, self._rank)
        self._window: KernelWindow | HostedWindow
        if kernel is not None:
            self._window = KernelWindow(kernel, self._path)
            self.shows_timers = kernel.shows_timers
            self.hears_timers = kernel.shows_timers or kernel.hears_timers
        else:
            self._window = _hosted(plan, definition)
            self.shows_timers = declared_window(definition.window).timers is not Timers.NONE
            self.hears_timers = False
        declared = declared_window(definition.window)
        self.follows = (
            self._kinds == (CURRENT, EXPIRED)
            and declared.emits_changes
            and (kernel is not None or declared.leaves is Leaves.IN_ORDER)
        )
        self._standing = self
        self._second = partial(NamedWindowUnit, plan, definition, pool, behind_clocks=True)

    def second(self) -> NamedWindowUnit:
        """The same behind others' timers."""
        made = self._second()
        made.reads = self.reads
        self._standing = made
        return made

    def content(self) -> tuple[Longs, Sequence[Column]]:
        """See WrittenWindow."""
        return self._standing._window.content(self._schema.types)

    def add_writer(self, node: QueryNode) -> str:
        """See WrittenWindow."""
        if node.query.output.types != self._schema.types:
            raise NotLowerable("rows of other types written into a named window")
        name = f"{self.writes}<-{node.name}"
        self.reads = (*self.reads, name)
        return name

    # --- folding ---------------------------------------------------------------------------------

    def run(self, inputs: Mapping[str, Chunks], moves: Moves) -> Output:
        parts = [inputs[name] for name in self.reads if name in inputs]
        chunks = merge(parts) if parts else empty(self._schema.types)
        flow = self._window.flow(Step(chunks, np.zeros(0, np.int64), moves, self.place))
        return Output(let_out(flow, self._schema.types, self._kinds))

    def settle(self) -> None:
        if isinstance(self._window, KernelWindow):
            self._window.settle()

    def start(self, clock_ms: int) -> None:
        self._window.start(clock_ms, self._rank)

    def due_ms(self) -> int | None:
        return self._window.due_ms()

    def wall_due_ms(self) -> int | None:
        return self._window.wall_due_ms()

    # --- state -----------------------------------------------------------------------------------

    def store(self, states: States) -> None:
        states.operators[self._path] = self._window.store()
        states.timers += self._window.pending()

    def load(self, states: States) -> None:
        self._window.load(states.operators[self._path])
        self._window.refill(states.timers)

    def text_columns(self) -> list[Any]:
        window = self._window
        return window.window.held.text_columns() if isinstance(window, KernelWindow) else []


def let_out(flow: Flow, types: Sequence[AttributeType], wanted: tuple[int, ...]) -> Chunks:
    """What leaves a named window: events that come and that leave, as far as they are wanted."""
    kept = flow.keep(np.isin(flow.kinds(), wanted))
    frame = kept.frame()
    columns = tuple(frame.column(0, attribute) for attribute in range(len(types)))
    kinds = kept.kinds()
    return Chunks(columns, frame.times(), kept.offsets, kept.order, kept.now, None, kinds)


def _kernel(
    definition: ast.WindowDefinition, checked: CheckedApp, pool: StringPool, rank: int
) -> ColumnarWindow | None:
    """The window on columns, if there is one."""
    if not declared_window(definition.window).columns:
        return None
    scope, schema = scope_of(definition, checked), checked.schemas[definition.name]
    handler = CheckedHandler(ast.WindowHandler(definition.window), scope, schema)
    expires = kinds_of(definition.output) != (CURRENT,)
    setup = Setup(
        schema.types, pool, wants_expired=expires, aggregates=expires, keyed=False, rank=rank
    )
    try:
        return columnar_window(ColumnarCall(handler, definition.window), setup)
    except NotLowerable:
        return None


def _hosted(plan: AppPlan, definition: ast.WindowDefinition) -> HostedWindow:
    ranks, schema = ranks_of(plan), plan.checked.schemas[definition.name]
    engine = HostedEngine(Members(frozenset()).plan_of(plan), ranks, {}, observe=Observe.NOTHING)
    context = EngineContext(engine, f"window/{definition.name}")
    build_window(definition.window, scope_of(definition, plan.checked), schema, context)
    path = f"{context.path}/window"
    drops = kinds_of(definition.output) == (CURRENT,)
    return HostedWindow(engine, path, None, schema.types, drops_expired=drops)
