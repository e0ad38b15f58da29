"""Groups that the text asks for with @dist: routing, and what is refused with a hint."""

from __future__ import annotations

import pytest

from lockstep.plan import plan_of
from lockstep.plan.fleet import FleetPlan, fleet_of
from lockstep.siddhiql import SiddhiQLError
from tests.unit.plan.fleet.apps import STREAMS, fleet, nodes, routes

CLEAN = (
    "@dist(execGroup='clean', parallel='2') @info(name='f')"
    " from S[v > 0] select k, j, v insert into Good;"
)
SUM = (
    "@dist(execGroup='sum', parallel='3') @info(name='p') partition with (k of Good) begin"
    " from Good#window.time(1 min) select k, sum(v) as total insert into Totals; end;"
)
ALERT = (
    "@dist(execGroup='alert', parallel='1') @info(name='a')"
    " from Totals[total > 9] select k, total insert into Alert;"
)


def told(text: str, parallel: int | None = None) -> FleetPlan:
    """The groups of a text with @dist."""
    return fleet(text, parallel)


def test_the_example_of_the_older_product() -> None:
    """Plain queries take turns, partitions go by key, one copy gets all."""
    found = told(CLEAN + SUM + ALERT)
    assert nodes(found) == {"clean": ("f",), "sum": ("p",), "alert": ("a",)}
    assert [group.partitions for group in found.groups] == [2, 3, 1]
    assert routes(found, "clean")["S"] == "round robin"
    assert routes(found, "sum")["Good"] == "k"
    assert routes(found, "alert")["Totals"] == "all"
    assert [group.channels for group in found.groups] == [("Good",), ("Totals",), ()]


def test_who_deploys_sets_the_number_of_what_is_cut() -> None:
    """What is not cut stays in one partition."""
    found = told(CLEAN + SUM + ALERT, 5)
    assert [group.partitions for group in found.groups] == [5, 5, 1]


def test_what_says_nothing_is_in_one_group() -> None:
    """Queries without @dist run together, in one partition."""
    found = told(
        SUM
        + "@info(name='f') from S select k, j, v insert into Good;"
        "@info(name='n') from Totals select count() as n insert into N;"
        "@info(name='m') from R select count() as n insert into M;".replace(
            "@info(name='n')", "@dist(execGroup='n') @info(name='n')"
        )
    )
    assert nodes(found) == {"main": ("f", "m"), "sum": ("p",), "n": ("n",)}


def test_a_plain_query_goes_along_with_the_key() -> None:
    """Turns and a key for one stream are the key; null has one, too."""
    found = told(
        "@dist(execGroup='g', parallel='2') @info(name='p') partition with (k of S) begin"
        " from S#window.length(2) select k, v insert into T; end;"
        "@dist(execGroup='g') @info(name='f') from S[v > 1] select k insert into F;"
    )
    assert nodes(found) == {"g": ("p", "f")}
    assert routes(found, "g")["S"] == "default(k, 'null')"


def test_a_plain_query_in_front_of_a_partition_is_routed_by_its_key() -> None:
    """Both in one group: no channel."""
    found = told(CLEAN.replace("clean", "g") + SUM.replace("'sum'", "'g'").replace("'3'", "'2'"))
    assert nodes(found) == {"g": ("f", "p")}
    assert routes(found, "g")["S"] == "k"


def test_several_keys_for_one_stream() -> None:
    """The group stands once for each key; expressions may be keys."""
    found = told(
        "@dist(execGroup='g', parallel='2') @info(name='p') partition with (k of S) begin"
        " from S select k, sum(v) as t insert into T; end;"
        "@dist(execGroup='g', parallel='2') @info(name='r') partition with (v % 4 of S) begin"
        " from S select v, count() as t insert into U; end;"
    )
    assert nodes(found) == {"g": ("p",), "g_2": ("r",)}
    assert routes(found, "g_2")["S"] == "v % 4"


TWO_KEYS = (
    "@dist(execGroup='g', parallel='2') @info(name='p') partition with (k of S) begin"
    " from S select k, sum(v) as t insert into T; end;"
    "@dist(execGroup='g', parallel='2') @info(name='r') partition with (v of S) begin"
    " from S select v, count() as t insert into U; end;"
)
SECOND = (
    "@dist(execGroup='g_2', parallel='2') @info(name='z') partition with (v of S) begin"
    " from S select v, count() as n insert into Z; end;"
)


def test_no_two_groups_get_one_name() -> None:
    """Of two that are called alike, the rows of one would never be made."""
    found = told(TWO_KEYS + SECOND)
    assert nodes(found) == {"g": ("p",), "g_3": ("r",), "g_2": ("z",)}
    assert [group.exported for group in found.groups] == [("T",), ("U",), ("Z",)]


def test_the_rules_before_gave_two_groups_one_name() -> None:
    """A layout of an earlier release keeps the names that its logs have."""
    found = fleet_of(plan_of(STREAMS + TWO_KEYS + SECOND), rules=3)
    assert [group.name for group in found.groups] == ["g", "g_2", "g_2"]


def _alone(name: str, parallel: int, said: str = "") -> str:
    return (
        f"@info(name='{name}') @dist({said}parallel='{parallel}') partition with (k of S) begin"
        f" from S select k, v insert into O{parallel}; end;"
    )


def test_an_element_without_an_exec_group_has_its_own() -> None:
    """Whatever names of others look like its own once they are names of logs."""
    found = told(
        _alone("a b", 2) + _alone("a_b", 3) + _alone("z", 4, "execGroup='a_b_2', ")
        + _alone("main", 5) + "@info(name='f') from R select k insert into F;"
    )  # fmt: skip
    assert nodes(found) == {
        "a_b": ("a b",), "a_b_3": ("a_b",), "a_b_2": ("z",), "main_2": ("main",), "main": ("f",)
    }  # fmt: skip
    assert [group.partitions for group in found.groups] == [2, 3, 4, 5, 1]


def test_a_long_name_has_room_for_a_number() -> None:
    """Names of groups have at most 64 characters."""
    names = list(nodes(told(_alone("x" * 70, 2) + _alone("x" * 71, 3))))
    assert names == ["x" * 64, "x" * 60 + "_2"]


def test_groups_that_write_one_stream_both_give_it_out() -> None:
    """Each copy publishes what it made."""
    found = told(
        "@dist(execGroup='a') @info(name='a') from S select k insert into O;"
        "@dist(execGroup='b') @info(name='b') from R select k insert into O;"
    )
    assert [group.exported for group in found.groups] == [("O",), ("O",)]


HOT = (
    "@OnError(action='STREAM') @sink(type='log', on.error='STREAM')"
    " define stream Hot (k string, v int);"
    "@dist(execGroup='g', parallel='2') @info(name='f') from S select k, v insert into Hot;"
    "@dist(execGroup='e') @info(name='e') from !Hot select k, _error as why insert into Failed;"
)
READS_HOT = "@dist(execGroup='h') @info(name='h') from Hot select k insert into H;"


def test_what_a_sink_refused_reaches_who_reads_it() -> None:
    """In a group of its own: the group that writes the stream does not give it on."""
    found = told(HOT)
    assert nodes(found) == {"g": ("f",), "e": ("e",)}
    assert routes(found, "e")["!Hot"] == "all"
    assert [group.channels for group in found.groups] == [(), ()]
    nearby = told(HOT + READS_HOT.replace("'h')", "'e')", 1))
    assert routes(nearby, "e")["!Hot"] == routes(nearby, "e")["Hot"] == "all"


def test_the_rules_before_parted_fault_streams() -> None:
    """A layout of an earlier release goes on."""
    found = fleet_of(plan_of(STREAMS + HOT + READS_HOT), rules=3)
    assert nodes(found) == {"g": ("f",), "e": ("e",), "h": ("h",)}


SINK = "@sink(type='log') define stream I (k string, v int);"
SEEN = (
    "@dist(execGroup='g', parallel='2') @info(name='p') partition with (k of I) begin"
    " from I select k, sum(v) as t insert into O; end;"
)


def test_an_input_that_no_cut_group_has_all_of_is_given_out_by_a_whole_one() -> None:
    """A partition that counts neighbours leaves out what has no key."""
    found = told(SINK + SEEN)
    assert nodes(found) == {"g": ("p",), "main": ()}
    assert [group.exported for group in found.groups] == [("O",), ("I",)]
    assert routes(found, "main") == {"I": "all"}


@pytest.mark.parametrize("source", ["I", "R"])
def test_a_group_in_one_partition_gives_out_the_input(source: str) -> None:
    """Whether it reads it or not; no further group is made."""
    found = told(
        SINK + SEEN + f"@dist(execGroup='z') @info(name='z') from {source} select k insert into Z;"
    )
    assert {group.name: group.exported for group in found.groups} == {"g": ("O",), "z": ("I", "Z")}
    assert routes(found, "z")["I"] == "all"


def test_an_input_that_all_partitions_read_is_given_out_by_a_whole_group() -> None:
    """Each of them would give out all of it."""
    found = told(
        SINK + "@dist(execGroup='g', parallel='2') partition with (k of R) begin"
        " from R#window.length(1) join I#window.length(1) on R.k == I.k"
        " select R.k as k, I.v as v insert into O; end;"
    )
    assert {group.name: group.exported for group in found.groups} == {"g": ("O",), "main": ("I",)}


def test_a_group_of_the_text_may_be_called_main() -> None:
    """Then what nobody else has is in a group of another name."""
    found = told(SINK + SEEN.replace("'g'", "'main'"))
    assert nodes(found) == {"main": ("p",), "main_2": ()}


def test_tables_stand_with_those_that_use_them() -> None:
    """The group that uses a table has it; tables that no query uses are in main."""
    found = told(
        "define table T (k string); define table U (k string);"
        "@dist(execGroup='a') @info(name='a') from S select k insert into T;" + CLEAN
    )
    texts = {group.name: group.text for group in found.groups}
    assert "define table T" in texts["a"]
    assert "define table U" in texts["main"]
    assert "define table" not in texts["clean"]


def test_sources_may_say_how_parallel_they_are() -> None:
    """Receivers are as parallel as there are, so it means nothing; a number it must be."""
    told(
        "@source(type='http', @dist(parallel='2'), @map(type='json')) define stream I (k string);"
        + CLEAN
    )
    with pytest.raises(SiddhiQLError, match="positive"):
        told("@source(type='http', @dist(parallel='x')) define stream I (k string);" + CLEAN)


LOOP = (
    "define stream X (k string, v long);"
    " define aggregation Agg from X select k, sum(v) as v group by k aggregate every sec;"
    "@dist(execGroup='g', parallel='2') partition with (k of R) begin"
    " from R select k, sum(v) as v insert into X; end;"
    "@dist(execGroup='h') from S join Agg on S.k == Agg.k"
    " within '2020-01-01 00:00:00', '2030-01-01 00:00:00' per 'sec'"
    " select S.k as k, 1 as v insert into R;"
)
"""An aggregation reads what the group writes that its own group feeds."""


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (CLEAN + CLEAN.replace("'2'", "'3'").replace("'f'", "'g'"), "already", "same parallel"),
        (CLEAN.replace("'2'", "'129'"), "too much", "1 to 128"),
        (CLEAN.replace("clean", "a b"), "cannot be called", "letters"),
        (
            "partition with (k of S) begin @dist(execGroup='g') from S select k insert into T;"
            " end;" + CLEAN,
            "inside a partition",
            "in front of",
        ),
        (
            "@dist(execGroup='g', parallel='2') from S#window.length(2) select k insert into O;",
            "length",
            "parallel='1'",
        ),
        (
            "@dist(execGroup='g', parallel='2') from S select sum(v) as t insert into O;",
            "adds up",
            "parallel='1'",
        ),
        (
            "@dist(execGroup='g', parallel='2') from every e1=S, e2=R select e1.k insert into O;",
            "sequence",
            "in a partition",
        ),
        (
            "@dist(execGroup='g', parallel='2') partition with (v > 1 as 'a' of S) begin"
            " from S select k insert into O; end;",
            "ranges",
            "parallel='1'",
        ),
        (
            HOT + READS_HOT,
            "'!Hot' is read in the execGroup 'e', and events of 'Hot' may fail in 'h'",
            "put both in one execGroup",
        ),
        (
            "@dist(execGroup='g', parallel='2') partition with (k of R) begin"
            " from S select k insert into O; end;",
            "none of its queries reads a stream that it has a key for",
            "parallel='1'",
        ),
        (
            "define table T (k string);"
            "@dist(execGroup='g') from S select k insert into T;"
            "@dist(execGroup='h') from R join T on R.k == T.k select T.k insert into O;",
            "used in the execGroups 'g' and 'h'",
            "one execGroup",
        ),
        (
            "define window W (k string) length(2);"
            "@dist(execGroup='g', parallel='2') from S select k insert into W;",
            "cannot be in the execGroup 'g'",
            "parallel='1'",
        ),
        (
            "@dist(execGroup='g') from S select k, v insert into R;"
            "@dist(execGroup='h') from R select k, 1 as j, v, 1L as x insert into S;",
            "feed each other",
            "put both in one execGroup",
        ),
        (
            LOOP,
            "execGroups 'g' and 'h' feed each other",
            "put both in one execGroup",
        ),
        (
            "define aggregation Unused from X select k, sum(v) as v group by k"
            " aggregate every sec;" + LOOP,
            "execGroups 'g' and 'h' feed each other",
            "put both in one execGroup",
        ),
        (
            "@dist(execGroup='g', parallel='2') partition with (k of S) begin"
            " from S select j, sum(v) as t insert into T; end;"
            "@dist(execGroup='g', parallel='2') partition with (j of T) begin"
            " from T select j, sum(t) as t insert into U; end;",
            "by another key",
            "another execGroup",
        ),
    ],
)
def test_what_cannot_be_done_is_refused(text: str, message: str, hint: str) -> None:
    """At its place, with what to do instead."""
    with pytest.raises(SiddhiQLError, match=message) as refused:
        fleet_of(plan_of(STREAMS + text))
    assert hint in (refused.value.hint or "")
    assert refused.value.column > 1
