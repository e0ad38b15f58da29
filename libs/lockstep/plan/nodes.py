"""Plan nodes: plain frozen data, in the order in which a stream's receivers run (semantics 1)."""

from __future__ import annotations

from dataclasses import dataclass

from lockstep.events import StreamSchema
from lockstep.plan.paths import partition_path, query_path
from lockstep.siddhiql.checked import CheckedApp, CheckedPartition, CheckedQuery


@dataclass(frozen=True)
class QueryNode:
    """One query: the names it reads (in order of subscription) and the one it writes."""

    name: str
    query: CheckedQuery
    reads: tuple[str, ...]
    writes: str
    group: str

    @property
    def path(self) -> str:
        """What the ids of its operators begin with, in a partition behind the instance's path."""
        return query_path(self.name)

    @property
    def written(self) -> tuple[str, ...]:
        """All that it writes, as of any node."""
        return (self.writes,)


@dataclass(frozen=True)
class PartitionNode:
    """A partition: its inner queries as nodes; `reads` are the outer streams it subscribes to."""

    name: str
    partition: CheckedPartition
    queries: tuple[QueryNode, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    group: str

    @property
    def path(self) -> str:
        """What the ids of its operators begin with."""
        return partition_path(self.name)

    @property
    def written(self) -> tuple[str, ...]:
        """All that it writes, as of any node."""
        return self.writes


PlanNode = QueryNode | PartitionNode


@dataclass(frozen=True, slots=True)
class Group:
    """What runs together in one place: an exec group with its wanted number of parallel workers."""

    name: str
    nodes: tuple[str, ...]
    parallel: int = 1


@dataclass(frozen=True)
class AppPlan:
    """A whole app, ready to be set in motion.

    `inputs` are the streams whose events stand in the input log; `exported` those whose events are
    outputs; `stored` the tables whose changes are outputs (@store), also those of aggregations.
    `applied` names the rewrite rules that changed something, in order. `channels` are those of
    `exported` whose rows other units of the app read (@channel).
    """

    checked: CheckedApp
    nodes: tuple[PlanNode, ...]
    inputs: tuple[str, ...]
    exported: tuple[str, ...]
    stored: tuple[str, ...]
    groups: tuple[Group, ...]
    applied: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()

    @property
    def doors(self) -> tuple[str, ...]:
        """The inputs that anybody may send to: all but those by which copied tables come."""
        checked = self.checked
        inner = {one.changes for one in checked.external} | {one.name for one in checked.asked}
        return tuple(name for name in self.inputs if name not in inner)

    @property
    def name(self) -> str:
        """The app's name."""
        return self.checked.name

    @property
    def text(self) -> str:
        """What it was planned from."""
        return self.checked.text

    @property
    def schemas(self) -> dict[str, StreamSchema]:
        """Schemas of everything that has a name."""
        return self.checked.schemas
