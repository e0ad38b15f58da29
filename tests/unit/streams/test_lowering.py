"""Queries on one stream: which have a columnar form, and what they are made of."""

from __future__ import annotations

import pytest

from lockstep.columns.pool import StringPool
from lockstep.columns.realms import Defaults, Realms
from lockstep.columns.rule import NotLowerable, Site
from lockstep.execute.columnar.executor import lowering_of
from lockstep.execute.columnar.hosting import hears_timers
from lockstep.plan import PartitionNode, QueryNode, plan_of
from lockstep.streams.columns import StreamQuery
from lockstep.streams.lowering import (
    Leaving,
    check_target,
    filters_of,
    parts_of,
    stream_of,
    window_of,
)
from lockstep.streams.rule import RUNNING, SLIDING_WINDOWS, TUMBLING_WINDOWS
from tests.unit.side_by_side import Step, played, reasons, rules, unit_of

S = "define stream S (s string, i int); "
STEPS: list[Step] = [
    (100, "S", [["a", 1], ["b", None], ["c", 3]]),
    (200, "S", [[None, 4]]),
    (300, "S", [["a", 5], ["a", 0]]),
]


def node_of(text: str) -> tuple[QueryNode, Site]:
    """The first query of an app, and where it stands."""
    plan = plan_of(S + text)
    node = plan.nodes[0]
    assert isinstance(node, QueryNode)
    return node, Site(plan, 0, Realms(Defaults({})), StringPool())


@pytest.mark.parametrize(
    ("query", "rule", "expected"),
    [
        (
            "from S[i > 1][s == 'a' or s is null] select s, i + 1 as n insert into O;",
            RUNNING,
            [[(None, 5)], [("a", 6)]],
        ),
        (
            "from S[i > 1]#window.length(1)[s != 'c'] select s, i insert all events into O;",
            SLIDING_WINDOWS,
            [[(None, 4)], [(None, 4), ("a", 5)]],
        ),
        (
            "from S#window.lengthBatch(4) select sum(i) as t insert into O;",
            TUMBLING_WINDOWS,
            [[(8,)]],
        ),
    ],
)
def test_filters_and_windows(query: str, rule: object, expected: list[object]) -> None:
    """A filter behind a window sees what leaves it, too."""
    assert played(S + query, *STEPS, rule=rule.name) == expected  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (
            "from S select createSet(s) as o insert into M;"
            " from M#window.length(2) select o insert into O;",
            "an attribute of type object in a window",
        ),
        (
            "from S select createSet(s) as o insert into M;"
            " from M select count() as n group by o insert into O;",
            "a value of type object",
        ),
        (
            "define window N (s string) sort(1, s); from S join N on S.s == N.s"
            " select N.s as s insert into O;",
            "does not follow from its output",
        ),
    ],
)
def test_what_has_no_columnar_form_says_why(query: str, reason: str) -> None:
    """In an app whose other query runs in columns."""
    text = f"{S}{query} from S select i insert into P;"
    assert rules(text)[-1] == RUNNING.name
    assert reason in reasons(text)[0]


def test_objects_go_through_untouched() -> None:
    """From stream to stream, into functions and rates, through null; what goes in comes out."""
    text = (
        "define stream S (k string, o object);"
        "from S[not (o is null)] select k, o, convert(o, 'string') as t, createSet(k) as made"
        " output all every 2 events insert into M;"
        "from M select k, ifThenElse(k == 'a', o, made) as o, made insert into O;"
    )
    steps: tuple[Step, ...] = (
        (0, "S", [["a", [1, 2]]]),
        (10, "S", [["b", {"x": 1.5}], ["c", None], ["a", 7]]),
    )
    assert played(text, *steps, (20, "S", [["b", "x"]]), rule=RUNNING.name) == [
        [("a", [1, 2], {"a"}), ("b", {"b"}, {"b"})],
        [("a", 7, {"a"}), ("b", {"b"}, {"b"})],
    ]


def test_a_stateless_query_can_be_cut_by_key_anywhere() -> None:
    """One with a window, groups, aggregates or a rate cannot."""
    whole = "from S[i > 1] select s insert into O;"
    assert unit_of(S + whole, StreamQuery).is_stateless
    for query in (
        "from S#window.length(1) select s insert into O;",
        "from S select s group by s insert into O;",
        "from S select count() as n insert into O;",
        "from S select s output last every 2 events insert into O;",
    ):
        assert not unit_of(S + query, StreamQuery).is_stateless


def test_the_parts_of_a_query() -> None:
    """What stands in front of the window, and behind it."""
    node, site = node_of("from S[i > 1]#window.length(2)[s == 'a'] select s insert into O;")
    stream = stream_of(node.query)
    assert stream is not None
    parts = parts_of(node, site, stream)
    assert (len(parts.before), len(parts.behind)) == (1, 1)
    assert parts.window is not None
    assert parts.window[0] == "handler_1/window"
    call = window_of(stream)
    assert call is not None
    assert call.name == "length"
    hosted = parts_of(node, site, stream, Leaving())
    assert (hosted.window, len(hosted.behind)) == (None, 1)
    with pytest.raises(NotLowerable, match="side of a join"):
        filters_of(stream)


def test_how_events_leave() -> None:
    """Without a window not at all; a snapshot sees what leaves, whatever the action asks for."""
    assert Leaving.of(None) == Leaving(slides=False, has_places=False)
    node, _ = node_of("from S select s insert into O;")
    check_target(node.query)
    text = "from S#window.time(1 sec) select s output snapshot every 1 sec insert into O;"
    (unit,) = lowering_of(plan_of(S + text)).units
    assert isinstance(unit, StreamQuery)
    assert unit.shows_timers
    assert unit.hears_timers


def test_an_output_rate_hears_timers_wherever_it_stands() -> None:
    """It compares its own with them; so it may stand behind a batch by time."""
    text = (
        "from S#window.timeBatch(1 sec) select s insert into M;"
        " from M select s output last every 1 sec insert into O;"
    )
    units = lowering_of(plan_of(S + text)).units
    assert [unit.shows_timers for unit in units] == [True, True]
    assert not hears_timers(units[1])  # type: ignore[arg-type]


def test_where_a_query_stands() -> None:
    """In a partition streams have names of their own, and timers the partition's rank."""
    plan = plan_of(
        "@app:compat('siddhi-5.1') define stream S (s string); partition with (s of S) begin"
        " from S select s insert into #I; from #I select s insert into O; end;"
    )
    (node,) = plan.nodes
    assert isinstance(node, PartitionNode)
    inside = Site(
        plan, 3, Realms(Defaults({}), "p"), StringPool(), partition="p", partition_place=7
    )
    outside = Site(plan, 3, Realms(Defaults({})), StringPool())
    assert (inside.rank, outside.rank) == (7, 3)
    assert (inside.stream("S"), inside.target("#I"), inside.target("O")) == ("p/S", "p/#I", "O")
    assert outside.stream("S") == "S"
    assert inside.is_siddhi_5_1
