"""Two queries of one partition whose timers are seen stay on the reference."""

from __future__ import annotations

import pytest

from lockstep.columns.pool import StringPool
from lockstep.columns.realms import Defaults, Realms
from lockstep.columns.rule import NotLowerable, Site
from lockstep.plan import PartitionNode, plan_of
from lockstep.streams.partition_timers import check_timers

SEEN = "from S#window.timeBatch(1 sec) select s insert into A;"
BY_WHO_LEAVES = "from S#window.time(1 sec) select s insert {} into B;"
ABSENCE = "from every e1=S -> not S[i > 1] for 1 sec select e1.s as s insert into C;"
NO_TIMERS = "from S#window.length(2) select s insert into D;"


def check(*queries: str, partition: str | None = "p") -> None:
    """Of the first of some queries of a partition."""
    text = f"define stream S (s string, i int); @info(name='p') partition with (s of S) begin {' '.join(queries)} end;"  # noqa: E501
    plan = plan_of(text)
    (node,) = plan.nodes
    assert isinstance(node, PartitionNode)
    name = None if partition is None else node.name
    check_timers(node.queries[0], Site(plan, 0, Realms(Defaults({})), StringPool(), partition=name))


@pytest.mark.parametrize(
    "others",
    [(), (NO_TIMERS,), (BY_WHO_LEAVES.format(""),), (NO_TIMERS, NO_TIMERS.replace("D;", "E;"))],
)
def test_one_alone_may_have_timers(others: tuple[str, ...]) -> None:
    """A window whose leaving nobody sees has none that count."""
    check(SEEN, *others)


@pytest.mark.parametrize(
    "other", [ABSENCE, BY_WHO_LEAVES.format("all events"), SEEN.replace("A;", "F;")]
)
def test_two_may_not(other: str) -> None:
    """Which is first hangs on who asked first; outside of partitions that is known."""
    with pytest.raises(NotLowerable, match="the partition has timers of "):
        check(SEEN, other)
    check(SEEN, other, partition=None)
