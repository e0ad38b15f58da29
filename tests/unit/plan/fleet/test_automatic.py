"""Which groups the planner finds by itself, and what it keeps whole."""

from __future__ import annotations

import pytest

from lockstep.plan import plan_of
from lockstep.plan.fleet import Together, fleet_of
from lockstep.siddhiql import SiddhiQLError
from lockstep.siddhiql.printing import print_node
from tests.unit.plan.fleet.apps import STREAMS, fleet, nodes, reason, routes

SUMS = (
    "@info(name='p') partition with (k of S) begin"
    " from S select k, j, sum(v) as t insert into T; end;"
)


def test_without_a_wish_an_app_is_one() -> None:
    """Nobody asked for partitions: the text stays as it is."""
    found = fleet(SUMS, None)
    assert found.is_single
    assert found.groups[0].text.startswith("@app:name('A') define")


def test_an_app_asks_for_partitions() -> None:
    """@app:parallel counts, unless who deploys says otherwise."""
    asking = plan_of("@app:parallel('4')" + STREAMS + SUMS)
    assert fleet_of(asking).groups[0].partitions == 4
    assert fleet_of(asking, 5).groups[0].partitions == 5


@pytest.mark.parametrize("asked", ["0", "129", "many", ""])
def test_an_app_asks_for_a_number(asked: str) -> None:
    """From 1 to the number of key groups."""
    with pytest.raises(SiddhiQLError, match="parallel"):
        plan_of(f"@app:parallel('{asked}')" + STREAMS + SUMS)


def test_a_value_partition_is_cut_by_its_key() -> None:
    """Its events are routed by the key, which drops null as the partition does."""
    found = fleet(SUMS)
    assert nodes(found) == {"by_k": ("p",)}
    assert routes(found, "by_k")["S"] == "k"
    assert found.group("by_k").exported == ("T",)


@pytest.mark.parametrize(
    "query",
    [
        "from S select k, sum(v) as t group by k insert into O;",
        "from S#window.time(1 sec) select k, count() as n group by k insert into O;",
        "from S#window.session(1 sec, k) select k, v insert all events into O;",
        "from every e1=S -> e2=R[k == e1.k and v > 1] within 1 min select e1.k insert into O;",
        "from every e1=S -> not R[e1.k == k] for 1 sec select e1.k as k insert into O;",
        "from S#window.time(1 sec) as a join R as b on a.k == b.k select a.k as k insert into O;",
        "from S select k, v group by k output first every 1 sec insert into O;",
    ],
)
def test_keyed_queries_become_partitions(query: str) -> None:
    """Null has a key, too, as in group by."""
    found = fleet("@info(name='q') " + query)
    assert nodes(found) == {"by_k": ("q",)}
    assert routes(found, "by_k")["S"] == "default(k, 'null')"
    assert "partition with (default(k, 'null') of S" in found.groups[0].text


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("from S select count() as n insert into O;", "no 'group by'"),
        ("from S[v > 1] select k insert into O;", "no query that is cut by key"),
        ("from S#window.length(2) select k, sum(v) as t group by k insert into O;", "length"),
        ("from S#window.timeBatch(1 sec) select k, v group by k insert into O;", "timeBatch"),
        ("from S#window.batch() select k, v group by k insert into O;", "batch"),
        ("from S#window.externalTime(x, 1 sec) select k, v group by k insert into O;", "clock"),
        ("from S#window.time(1 sec) select k insert into O;", "no key"),
        ("from S#window.session(1 sec) select k, v group by k insert into O;", "session"),
        ("from S select k, v group by k order by v limit 1 insert into O;", "order by"),
        ("from S select k, v group by k output snapshot every 1 sec insert into O;", "snapshot"),
        ("from S select k, v group by k output last every 2 events insert into O;", "last"),
        ("from S select k, v output first every 2 events insert into O;", "first"),
        ("from S[sum(v) > 3] select k, count() as n group by k insert into O;", "filter"),
        ("from S select k, UUID() as u, count() as n group by k insert into O;", "calls before"),
        ("from every e1=S, e2=R[k == e1.k] select e1.k insert into O;", "sequence"),
        ("from e1=S -> e2=R[k == e1.k] select e1.k insert into O;", "every"),
        ("from every (e1=S -> e2=R[k == e1.k]) select e1.k insert into O;", "every"),
        ("from every e1=S -> e2=R[v == e1.v or k == e1.k] select e1.k insert into O;", "one key"),
        ("from every e1=S -> e2=R[k == e1.k] select count() as n insert into O;", "one key"),
        (
            "from S#window.time(1 sec) as a join R#window.length(1) as b on a.k == b.k"
            " select a.k as k insert into O;",
            "length",
        ),
        ("from S as a join R#window.time(1) as b on a.v > b.v select a.k insert into O;", "equal"),
    ],
)
def test_what_stays_whole_says_why(query: str, why: str) -> None:
    """Its rows would be others if it was cut."""
    found = fleet("@info(name='q') " + query)
    assert found.is_single
    assert why in reason(found)


def test_in_playback_time_windows_stay_whole() -> None:
    """What is sent together has one clock, and an event of any key lets go what is old by it."""
    query = "from S#window.time(1 sec) select k, count() as n group by k insert into O;"
    found = fleet_of(plan_of("@app:playback " + STREAMS + query), 3)
    assert found.is_single
    assert "playback" in reason(found)


MID = "@info(name='q') from every e1=M -> e2=M[k == e1.k] within 1 sec select e1.k insert into O;"


@pytest.mark.parametrize(
    ("head", "first", "is_whole"),
    [
        ("", "from S select k, sum(v) as v group by k insert into M; ", False),
        ("@app:playback ", "from S select k, sum(v) as v group by k insert into M; ", True),
        ("", "from S#window.lengthBatch(2) select k, v insert into M; ", True),
        ("", "from S select k, v output last every 1 sec insert into M; ", True),
        ("@app:playback ", "from S[v > 1] select k, v insert into M; ", False),
    ],
)
def test_within_stays_whole_behind_what_holds_rows_back(
    head: str, first: str, is_whole: bool
) -> None:
    """There rows come behind rows with later times, also of other keys."""
    found = fleet_of(plan_of(head + STREAMS + first + MID), 3)
    whole = [each for each in found.groups if each.whole_because and "q" in each.nodes]
    assert [" back, and what is old" in str(each.whole_because) for each in whole] == [True] * len(
        whole
    )
    assert bool(whole) == is_whole


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (
            "@store(type='rdbms') define table T (k string);"
            " @info(name='q') from S select k insert into T;",
            "'T'",
        ),
        (
            "define window W (k string) length(1); @info(name='q') from S select k insert into W;",
            "window",
        ),
        (
            "define trigger G at every 1 sec; @info(name='q') from G select 1 as n insert into O;",
            "trigger",
        ),
        ("define aggregation G from S select sum(v) as t aggregate every sec;", "aggregation G"),
        (
            "@info(name='q') partition with (v > 1 as 'a' or v <= 1 as 'b' of S) begin"
            " from S select k insert into O; end;",
            "ranges",
        ),
    ],
)
def test_what_is_shared_stays_whole(more: str, why: str) -> None:
    """Tables, named windows, triggers, aggregations and ranges have no key."""
    found = fleet(more)
    assert found.is_single
    assert why in reason(found)


def test_plain_queries_run_where_they_are_read() -> None:
    """No channel is made for them: they run in front of each reader, by the key led back."""
    found = fleet(
        "@info(name='f') from S[v > 0] select k as c, j, v insert into Good;"
        "@info(name='p') partition with (c of Good) begin"
        " from Good select c, sum(v) as t insert into T; end;"
        "@info(name='g') from T[t > 9] select * insert into Alert;"
        "@info(name='q') from Good select j, count() as n group by j insert into N;"
        "@info(name='all') from S select count() as n insert into M;"
    )
    assert nodes(found) == {"by_k": ("f", "p", "g"), "by_j": ("f", "q"), "main": ("all",)}
    assert all(not group.channels for group in found.groups)
    feeds = {group.name: group.feeds[0] for group in found.groups}
    where = feeds["by_k"].where
    assert where is not None
    assert print_node(where) == "v > 0"
    assert feeds["by_k"].together is Together.RUNS
    assert feeds["by_j"].together is Together.KEYS


def test_another_key_reads_a_channel() -> None:
    """The rows of a partition are cut again, and added up over all keys."""
    found = fleet(
        SUMS + "@info(name='r') partition with (j of T) begin from T select j, sum(t) as u"
        " insert into O; end; @info(name='n') from T select count() as n insert into N;"
    )
    assert nodes(found) == {"by_k": ("p",), "by_j": ("r",), "main": ("n",)}
    assert found.group("by_k").channels == ("T",)
    assert "@channel" in found.group("by_k").text
    (feed,) = (one for one in found.group("by_j").feeds if one.stream == "T")
    assert (feed.from_input, feed.writers) == (True, ("by_k",))


@pytest.mark.parametrize(
    ("writer", "why"),
    [
        ("from S#window.timeBatch(1 sec) select k, j, sum(v) as t insert into T;", "time brings"),
        ("from S#window.time(1 sec) select k, j, v as t insert expired events into T;", "time"),
    ],
)
def test_rows_that_time_brings_do_not_cross(writer: str, why: str) -> None:
    """They have no order between the partitions."""
    found = fleet(
        f"@info(name='p') partition with (k of S) begin {writer} end;"
        "@info(name='n') from T select count() as n insert into N;"
    )
    assert found.is_single
    assert why in reason(found)


JOIN = (
    "@info(name='j') from S as a join R#window.time(1 sec) as b on a.k == b.k"
    " select a.k as k, a.j as j, a.v as v insert into T;"
)


def test_rows_of_a_join_cross_where_nothing_counts_sends() -> None:
    """A join gives out as one what it makes of a send, over all keys."""
    reader = "@info(name='r') partition with (j of T) begin from T select"
    counted = fleet(f"{JOIN} {reader} j, count() as n insert into O; end;")
    assert "added up together" in reason(counted)
    passed = fleet(f"{JOIN} {reader} j, v insert into O; end;")
    assert nodes(passed) == {"by_k": ("j",), "by_j": ("r",)}


def test_rows_that_meet_their_cause_do_not_cross() -> None:
    """Which of them comes first would depend on what was sent together."""
    found = fleet(
        SUMS + "@info(name='n') from S#window.length(3) join T#window.length(2)"
        " select S.v as v insert into N;"
    )
    assert found.is_single
    assert "meets" in reason(found)


def test_a_loop_is_one_group() -> None:
    """What comes back to itself over other keys is whole."""
    found = fleet(
        "@info(name='p') partition with (k of S) begin"
        " from S select k, j, sum(v) as v insert into T; end;"
        "@info(name='r') partition with (j of T) begin"
        " from T select k, j, sum(convert(v, 'int')) as s insert into U; end;"
        "@info(name='back') from U[s < 5L] select k, j, convert(s, 'int') as v, s as x"
        " insert into S;"
    )
    assert found.is_single


def test_group_and_partition_that_tell_neighbours_apart_stand_apart() -> None:
    """A partition cuts where the key changes; group by gives a row for each key of a send."""
    found = fleet(SUMS + "@info(name='q') from S select k, sum(v) as t group by k insert into O;")
    assert nodes(found) == {"by_k": ("p",), "by_k_2": ("q",)}
    together = {group.name: group.feeds[0].together for group in found.groups}
    assert together == {"by_k": Together.RUNS, "by_k_2": Together.KEYS}


def test_broadcast_streams_reach_all_partitions() -> None:
    """What a partition reads without a key goes to all its instances."""
    found = fleet(
        "@info(name='p') partition with (k of S) begin"
        " @info(name='q') from S#window.length(1) join R#window.length(1)"
        " select S.k as k, R.v as v insert into O; end;"
    )
    assert routes(found, "by_k")["R"] == "all"


SINK = "@sink(type='log') define stream I (k string, v int);"


@pytest.mark.parametrize(
    "text",
    [
        "@info(name='p') partition with (k of I) begin"
        " from I select k, sum(v) as t insert into O; end;",
        "define table T (k string, v int); @info(name='p') partition with (k of I) begin"
        " from I select k, v update or insert into T on T.k == k;"
        " from I join T on I.k == T.k select T.k as k, T.v as v insert into O; end;",
    ],
)
def test_an_input_that_neighbours_are_told_of_is_given_out_by_a_whole_group(text: str) -> None:
    """The cut group leaves out what has no key."""
    found = fleet(SINK + text)
    assert nodes(found) == {"by_k": ("p",), "main": ()}
    assert {group.name: group.exported for group in found.groups} == {
        "by_k": ("O",),
        "main": ("I",),
    }
    assert routes(found, "main") == {"I": "all"}
    assert reason(found) == "it gives out what comes in"


def test_an_input_that_reaches_one_group_by_key_is_given_out_there() -> None:
    """All of it is there; the partition beside it makes no whole group."""
    found = fleet(
        SINK + "@info(name='p') partition with (k of I) begin"
        " from I select k, sum(v) as t insert into O; end;"
        "@info(name='q') from I select k, max(v) as t group by k insert into P;"
    )
    assert {group.name: group.exported for group in found.groups} == {
        "by_k": ("O",),
        "by_k_2": ("I", "P"),
    }


TOKENS = "from S#str:tokenize(k, ',') select k, j, v, token insert into P;"
BEHIND = SUMS.replace("of S", "of P").replace("from S", "from P")


def test_who_counts_neighbours_behind_a_tokenizer_is_whole() -> None:
    """A text without tokens brings no row, and then those beside it are neighbours."""
    found = fleet(TOKENS + BEHIND)
    assert found.is_single
    assert "more than the event itself" in reason(found)


@pytest.mark.parametrize(
    "function", ["str:tokenize(k, ',')", "json:tokenize(k, '$')", "json:tokenizeAsObject(k, '$')"]
)
@pytest.mark.parametrize(
    ("before", "reader", "is_whole"),
    [
        ("", "partition with (k of P) begin from P select k, v insert into O; end;", False),
        ("", "from P select k, sum(v) as t group by k insert into O;", False),
        ("", "partition with (k of P) begin from P select count() as n insert into O; end;", True),
        (
            "#log('x')",
            "partition with (k of P) begin from P select count() as n insert into O; end;",
            True,
        ),
    ],
)
def test_only_who_counts_neighbours_is_whole(
    function: str, before: str, reader: str, is_whole: bool
) -> None:
    """Nobody else is told what was sent side by side."""
    found = fleet(f"from S{before}#{function} select k, v insert into P; {reader}")
    assert found.is_single == is_whole


def test_functions_with_a_row_for_each_event_are_cut() -> None:
    """They leave nothing out."""
    found = fleet("from S#log('x') select k, j, v insert into P;" + BEHIND)
    assert nodes(found) == {"by_k": ("query_1", "p")}


def test_the_rules_before_cut_behind_tokenizers() -> None:
    """What was deployed by an earlier release stays as it was cut."""
    found = fleet_of(plan_of(STREAMS + TOKENS + BEHIND), 3, rules=2)
    assert nodes(found) == {"by_k": ("query_1", "p")}


@pytest.mark.parametrize("parallel", [0, 129])
def test_the_number_of_partitions_has_limits(parallel: int) -> None:
    """Keys belong to 128 groups."""
    with pytest.raises(SiddhiQLError, match="partitions"):
        fleet(SUMS, parallel)


@pytest.mark.parametrize(
    ("partition", "query"),
    [
        ("@info(name='totals') ", "@info(name='totals') "),
        ("@info(name='query_2') ", ""),
        ("@dist(execGroup='a', parallel='2') @info(name='totals') ",
         "@dist(execGroup='b') @info(name='totals') "),
        ("", "@info(name='partition_1') "),
    ],
    ids=["given", "a place", "@dist", "a partition's place"],
)  # fmt: skip
def test_a_query_and_a_partition_of_a_fleet_have_names_of_their_own(
    partition: str, query: str
) -> None:
    """Else one of them would not be fed. One unit tells them apart."""
    text = (
        f"{partition}partition with (k of S) begin @info(name='x') from S select k, sum(v) as t"
        f" insert into O1; end;\n{query}from R#window.length(3) select count() as n insert into O2;"
    )
    with pytest.raises(SiddhiQLError, match="are both called") as refused:
        fleet(text, 2)
    assert refused.value.line == 2
    assert fleet(text.replace("@dist", "@note"), None).is_single


def test_null_is_dropped_in_front_of_a_filter_as_behind_it() -> None:
    """No other partition's event stands between neighbours because its key is null."""
    found = fleet(
        "from S[v > 1] select k, j, v insert into P;"
        + SUMS.replace("of S", "of P").replace("from S", "from P")
    )
    assert routes(found, "by_k")["S"] == "k"


@pytest.mark.parametrize(
    ("more", "has_key"),
    [
        ("", "define stream R (k string, v int);"),
        ("@info(name='x') from S select k, count() as n group by k insert into X;", "X (k string"),
    ],
)
def test_a_partition_whose_keys_nobody_reads_is_whole(more: str, has_key: str) -> None:
    """It has no event by key. Its text defines what it has a key for, in it and in no other
    group written."""
    keyed = "X" if more else "R"
    found = fleet(
        SUMS + more + f"@info(name='none') partition with (k of {keyed}) begin"
        " from S select k insert into O; end;"
    )
    assert found.group("main").nodes == ("none",)
    assert "none: none of its queries reads" in reason(found)
    assert has_key in found.group("main").text


HOT = (
    "@OnError(action='STREAM') @sink(type='log', on.error='STREAM')"
    " define stream Hot (k string, t long);"
    "@info(name='hot') from S select k, sum(v) as t group by k insert into Hot;"
    "@info(name='failed') from !Hot select k, _error as why insert into Failed;"
)


def test_what_a_sink_refused_reaches_the_whole_group() -> None:
    """Also where another group writes the stream of the sink: that one alone gives it out."""
    found = fleet(HOT)
    assert nodes(found) == {"by_k": ("hot",), "main": ("failed",)}
    assert routes(found, "main")["!Hot"] == "all"
    assert [group.exported for group in found.groups] == [("Hot",), ("Failed",)]


def test_an_app_that_is_not_cut_gets_what_a_sink_refused() -> None:
    """In the one group that it is."""
    found = fleet(HOT + "from Hot#window.length(2) select count() as n insert into N;")
    assert found.is_single
    assert routes(found, "main")["!Hot"] == "all"


def test_a_group_has_the_functions_of_its_keys() -> None:
    """A plain query beside a partition is cut by that one's key, and calls nothing itself."""
    found = fleet(
        "define function f[python] return int { return data[0] % 2 };"
        "@info(name='p') partition with (f(v) of S) begin"
        " from S select k, sum(v) as t insert into O; end;"
        "@info(name='q') from S[v > 3] select k insert into P;"
    )
    assert nodes(found) == {"by_v": ("p",), "by_v_2": ("q",)}
    assert all("define function f" in group.text for group in found.groups)


def test_a_key_of_a_stream_that_nobody_reads_is_left_out() -> None:
    """The group's text does not define that stream."""
    found = fleet(SUMS.replace("k of S", "k of S, k of R"))
    assert "of R" not in found.group("by_k").text


def test_ways_that_fork_and_meet_at_every_step_are_looked_at_once() -> None:
    """Forty steps of two queries each are 2^40 ways to the input."""
    steps = "".join(
        f"from S{n}[v > {n}] select k, v insert into S{n + 1};"
        f"from S{n}[v <= {n}] select k, v insert into S{n + 1};"
        for n in range(40)
    )
    text = (
        f"define stream S0 (k string, v int); {steps}"
        "from S40 select k, sum(v) as t group by k insert into O;"
    )
    found = fleet_of(plan_of(text), 4)
    assert [group.partitions for group in found.groups] == [4]
