"""What a rule is: it lowers a query exactly, or says why it does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lockstep.aggregations.columns.unit import AggregationUnit
from lockstep.columns.pool import StringPool
from lockstep.columns.realms import Realms
from lockstep.columns.units import Unit
from lockstep.partitions.columns import routed
from lockstep.plan import AppPlan, QueryNode
from lockstep.tables.columns import TableUnit


@dataclass(frozen=True, slots=True)
class Site:
    """Where a query is lowered: the app, the place among the receivers, the partition if any."""

    plan: AppPlan
    place: int
    realms: Realms
    pool: StringPool
    tables: Mapping[str, TableUnit | str] = field(default_factory=dict)
    """Each table's unit, or why it has none."""
    aggregations: Mapping[str, AggregationUnit | str] = field(default_factory=dict)
    """The same of each aggregation."""
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

    def stream(self, name: str) -> str:
        """The name under which units know a stream that is read here, or an inner one."""
        return name if self.partition is None else routed(self.partition, name)

    def target(self, name: str) -> str:
        """The name under which units know what is written here."""
        return self.stream(name) if name.startswith("#") else name


@dataclass(frozen=True, slots=True)
class Rule:
    """`lower` gives the query's unit, None when the query is of another kind, and raises
    NotLowerable when it is of this kind but has no exact columnar form."""

    name: str
    lower: Callable[[QueryNode, Site], Unit | None]
