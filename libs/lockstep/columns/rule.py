"""What a rule is: it lowers a query exactly, or says why it does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from lockstep.columns.column import Column, Longs, Mask
from lockstep.columns.frame import Frame
from lockstep.columns.pool import StringPool
from lockstep.columns.realms import Realms
from lockstep.columns.times import REACH_MS
from lockstep.columns.units import Unit
from lockstep.plan import AppPlan, QueryNode
from lockstep.siddhiql import ast
from lockstep.siddhiql.scope import Scope

_Unit = TypeVar("_Unit", bound=Unit)


class NotLowerable(Exception):
    """Why a query has no columnar form."""


def check_period(period_ms: int | None) -> None:
    """NotLowerable for a period that could go round, once it is added to a time."""
    if period_ms is not None and not -REACH_MS < period_ms < REACH_MS:
        raise NotLowerable(f"a period beyond {REACH_MS} ms")


class WrittenTable(Unit, Protocol):
    """A table that queries write."""

    def add_writer(self, node: QueryNode) -> str:
        """Makes the query a writer of the table; gives the name under which it writes."""

    def member(self, asked: ast.InTable, scope: Scope) -> Callable[[Frame], Mask]:
        """`condition in Table` as a condition on events of the scope."""


class WrittenWindow(Unit, Protocol):
    """A named window. `follows`: what is inside follows from what it lets out, first in, first
    out."""

    @property
    def follows(self) -> bool:
        """See the class."""

    def content(self) -> tuple[Longs, Sequence[Column]]:
        """The timestamps and attributes of what is inside, in order."""

    def add_writer(self, node: QueryNode) -> str:
        """Makes the query a writer of the window; gives the name under which it writes."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where a query is lowered: the app, the place among the receivers, the partition if any."""

    plan: AppPlan
    place: int
    realms: Realms
    pool: StringPool
    tables: Mapping[str, WrittenTable | str] = field(default_factory=dict)
    """Each table's unit, or why it has none."""
    aggregations: Mapping[str, Unit | str] = field(default_factory=dict)
    """The same of each aggregation."""
    windows: Mapping[str, WrittenWindow] = field(default_factory=dict)
    """Each named window's unit."""
    partition: str | None = None
    partition_place: int = 0
    """The partition's own place among the receivers."""

    @property
    def rank(self) -> int:
        """That of the owner of timers: see plan.ranks."""
        return self.place if self.partition is None else self.partition_place

    @property
    def is_siddhi_5_1(self) -> bool:
        """Whether the app asks for the old engine's defects (@app:compat)."""
        return "compat" in self.plan.checked.annotations

    def table(self, name: str) -> WrittenTable:
        """The table's unit; NotLowerable where it has none."""
        return _present(self.tables[name])

    def aggregation(self, name: str) -> Unit:
        """The same of an aggregation."""
        return _present(self.aggregations[name])

    def member(self, asked: ast.InTable, scope: Scope) -> Callable[[Frame], Mask]:
        """See WrittenTable."""
        return self.table(asked.table).member(asked, scope)

    def stream(self, name: str) -> str:
        """The name under which units know a stream that is read here, or an inner one."""
        return name if self.partition is None else routed(self.partition, name)

    def target(self, name: str) -> str:
        """The name under which units know what is written here."""
        return self.stream(name) if name.startswith("#") else name


def _present(found: _Unit | str) -> _Unit:
    if isinstance(found, str):
        raise NotLowerable(found)
    return found


def routed(partition: str, source: str) -> str:
    """The name of a stream as the partition's inner queries see it."""
    return f"{partition}/{source}"


@dataclass(frozen=True, slots=True)
class Rule:
    """`lower` gives the query's unit, None when the query is of another kind, and raises
    NotLowerable when it is of this kind but has no exact columnar form."""

    name: str
    lower: Callable[[QueryNode, Site], Unit | None]
