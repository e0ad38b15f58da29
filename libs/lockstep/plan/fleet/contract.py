"""What an app is cut into: groups of queries, each in one partition or several. Plain frozen data.

Every unit, a partition of a group, is an app of its own that folds the positions of the whole app's
input log. What goes from group to group stands in output logs, at the positions that caused it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from lockstep.plan.nodes import AppPlan
from lockstep.siddhiql import ast

KEY_GROUPS: Final = 128
"""Keys belong to so many groups, whatever the number of partitions; partitions own groups."""

RULES: Final = 4
"""By which rules apps are cut. What is deployed goes by the rules of its time until it is laid out
anew, since units know their state by how they were cut."""

CUTS_TABLES: Final = 2
"""Since these rules tables are cut, where all that use them say the key."""

COUNTS_TOKENIZERS: Final = 3
"""Since these rules a tokenizer is known to leave out events, which changes what are neighbours."""

TAKES_TURNS_BY_ID: Final = 4
"""Since these rules an event with an id that takes turns goes where it went before."""

NAMES_APART: Final = 4
"""Since these rules no two groups of @dist get one name."""

TELLS_NODES_APART: Final = 4
"""Since these rules no query of an app that is cut has the name of a partition."""

KEEPS_FAULTS: Final = 4
"""Since these rules @dist does not part a fault stream from the queries whose events fail."""


class Routing(StrEnum):
    """Which partitions of a group get an event of a stream."""

    ALL = "all"
    KEY = "key"
    ROUND_ROBIN = "round robin"


class Together(StrEnum):
    """What of a send by key stays one delivery: it decides what aggregates give a row for.

    A delivery stands at the place of its first event among all events of the send, those of other
    partitions counted too. So places are the same in all partitions.
    """

    RUNS = "neighbours of one key"
    """As value partitions cut a chunk: `a a b a` is three, also where b is not ours."""
    KEYS = "all of one key"
    """As `group by` gives a row per group: `a a b a` is two, that of a at place 0, of b at 2."""


@dataclass(frozen=True)
class Feed:
    """A stream that a group reads and that is not only its own.

    `from_input`: the app's input log brings it. `writers`: groups whose output logs bring it, too.
    `key`: of the stream's attributes, where it is routed by key; else None. Events whose key is
    null are dropped: where they count, the key is an expression that is never null. Events that do
    not fulfil `where` are not there: neither delivered, nor between neighbours. `together` and
    `where` matter only to what is routed by key; all else arrives as it was sent.
    """

    stream: str
    from_input: bool
    writers: tuple[str, ...]
    routing: Routing = Routing.ALL
    key: ast.Expression | None = None
    together: Together = Together.RUNS
    where: ast.Expression | None = None


@dataclass(frozen=True)
class GroupPlan:
    """Queries that run together. `text` is the group as an app of its own.

    `feeds` stand in the order in which they are delivered at one moment. `channels` are the streams
    written here that other groups read. `exported` and `stored`: what the whole app gives out from
    here. `whole_because`: why it has one partition although more were asked for. `tables`: those
    that are cut, each with the attribute of its rows that is the key; a row without it has the key
    `null`.
    """

    name: str
    partitions: int
    text: str
    feeds: tuple[Feed, ...]
    channels: tuple[str, ...]
    exported: tuple[str, ...]
    stored: tuple[str, ...]
    nodes: tuple[str, ...]
    whole_because: str | None = None
    tables: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class FleetPlan:
    """An app and its groups: each stands behind those whose streams it reads. `rules`: those that
    it was cut by."""

    app: AppPlan
    parallel: int
    groups: tuple[GroupPlan, ...]
    rules: int = RULES

    @property
    def is_single(self) -> bool:
        """It runs as one unit."""
        return len(self.groups) == 1 and self.groups[0].partitions == 1

    def group(self, name: str) -> GroupPlan:
        """The group of that name; KeyError."""
        return {one.name: one for one in self.groups}[name]


def key_groups_of(partition: int, partitions: int) -> range:
    """The key groups that one of the partitions owns."""
    return range(partition * KEY_GROUPS // partitions, (partition + 1) * KEY_GROUPS // partitions)
