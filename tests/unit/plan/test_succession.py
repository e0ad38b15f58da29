"""Whose state goes on when an app's text changes, and why that of others does not."""

from __future__ import annotations

import pytest

from lockstep.plan import AppPlan, build
from lockstep.plan.succession import Succession, losses, succession
from lockstep.siddhiql import check

S = "define stream S (k string, v int, t long); "
SUM = "@info(name='q') from S[v > 2]#window.length(3) select k, sum(v) as n insert into O;"

BUCKETS = "define aggregation G from S select k, sum(v) as n group by k aggregate every sec...day;"
STORE = "@store(type='rdbms', jdbc.url='jdbc:postgresql://db/x', username='u', password='old') "
IN_URL = "@store(type='rdbms', jdbc.url='jdbc:postgresql://{}db/x{}') "
KEPT_LONGER = "@purge(enable='true', @retentionPeriod(min='48 hours')) "
ABOUT_BUCKETS = (STORE, KEPT_LONGER, "@purge(enable='false') ", "@info(description='sales') ")
READING = (
    "@info(name='r') from S join G within 0L, 9000L per 'sec' select sum(G.n) as n insert into O;"
)
KEYED = "@PrimaryKey('k', 'select') define table T (k string, v int, `select` int);"


def plan_of(text: str) -> AppPlan:
    """The plan of an app text."""
    return build(check(text))


def changed(old: str, new: str) -> Succession:
    """From one text to another."""
    return succession(plan_of(S + old), plan_of(S + new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (SUM, SUM.replace("v > 2", "v > 3 and k != 'x'")),
        (SUM, SUM.replace("into O", "into Other")),
        (SUM, SUM.replace(" insert", " having n > 3 insert")),
        (SUM, "define stream More (x int); " + SUM),
        (
            SUM.replace("sum(v) as n", "v").replace(" select", "[v > 5] select"),
            SUM.replace("sum(v) as n", "v").replace(" select", "[v > 6] select"),
        ),
        (SUM, SUM.replace("from S[", "/* moved */\n\n  from S[")),
        (
            "@info(name='q') from S#window.time(1 sec) select k insert all events into O;",
            "@info(name='q') from S#window.time(1 sec) select v * 2 as w insert all events into O;",
        ),
        (
            "@info(name='q') from every a=S[v > 1] -> b=S[v > a.v] within 1 sec"
            " select a.k as k insert into O;",
            "@info(name='q') from every a=S[v > 5] -> b=S[v < a.v] within 1 sec"
            " select a.k as k, b.v as v insert into O;",
        ),
        (
            "@info(name='q') from S#window.length(2) as a join S#window.length(3) as b"
            " on a.v > b.v select a.k as k insert into O;",
            "@info(name='q') from S#window.length(2) as a join S#window.length(3) as b"
            " on a.v < b.v select b.k as k insert into O;",
        ),
        (
            "@PrimaryKey('k') define table T (k string, v int); from S select k, v insert into T;",
            "@store(type='rdbms') @PrimaryKey('k') define table T (k string, v int);"
            " from S select k, v update or insert into T on T.k == k;",
        ),
        *((BUCKETS, annotations + BUCKETS) for annotations in ABOUT_BUCKETS),
        (
            STORE + BUCKETS + READING,
            STORE.replace("old", "new") + KEPT_LONGER + BUCKETS + READING,
        ),
    ],
)
def test_what_no_state_hangs_on_may_change(old: str, new: str) -> None:
    """Conditions, targets, and what is selected where nothing is added up."""
    assert changed(old, new).is_whole


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (SUM, SUM.replace("length(3)", "length(4)"), "its windows, functions or pattern"),
        (SUM, SUM.replace("[v > 2]", ""), "its windows, functions or pattern"),
        (SUM, SUM.replace("v > 2", "math:abs(v) > 2"), "its windows, functions or pattern"),
        (
            SUM.replace(" select", "[v > 5] select"),
            SUM.replace(" select", "[v > 6] select"),
            "its windows, functions or pattern",
        ),
        (
            "@info(name='q') from S#window.length(2) as a join S#window.length(3) as b"
            " on a.v > b.v select sum(a.v) as n insert into O;",
            "@info(name='q') from S#window.length(2) as a join S#window.length(3) as b"
            " on a.v < b.v select sum(a.v) as n insert into O;",
            "its windows, functions or pattern",
        ),
        (SUM, SUM.replace("sum(v)", "max(v)"), "what it aggregates or selects by functions"),
        (SUM, SUM.replace(" insert", " group by k insert"), "what it aggregates or selects"),
        (SUM, SUM.replace(" insert", " output every 2 events insert"), "its output"),
        (SUM, SUM.replace("insert", "insert all events"), "its output"),
        (
            "@info(name='q') from every a=S -> b=S within 1 sec select a.k as k insert into O;",
            "@info(name='q') from every a=S -> b=S within 2 sec select a.k as k insert into O;",
            "its windows, functions or pattern",
        ),
        (
            "@info(name='q') partition with (k of S) begin @info(name='i')"
            " from S#window.length(3) select sum(v) as n insert into O; end;",
            "@info(name='q') partition with (v of S) begin @info(name='i')"
            " from S#window.length(3) select sum(v) as n insert into O; end;",
            "its keys",
        ),
    ],
)
def test_what_a_state_hangs_on(old: str, new: str, why: str) -> None:
    """It is named as its author would."""
    found = changed(old, new)
    assert not found.carried
    (said,) = found.others.values()
    assert why in said


def test_attributes_of_what_is_read() -> None:
    """Also where they are another query's doing."""
    mid = "@info(name='m') from S select k, v{} insert into M; "
    tail = "@info(name='q') from M#window.length(2) select sum(v) as n insert into O;"
    found = changed(mid.format("") + tail, mid.format(" * 2L as v") + tail)
    assert found.others == {"query/q": "changed: what it reads"}
    assert found.carried == {"query/m": "query/m"}


def test_parts_without_a_name_are_known_by_how_they_are_written() -> None:
    """Wherever they stand; two that differ in a condition alone do not take each other's state."""
    few = "from S[v < 2]#window.length(3) select sum(v) as n insert into Few;"
    many = "from S[v > 2]#window.length(3) select sum(v) as n insert into Many;"
    moved = changed(few + many, "from S select k insert into First;" + many + few)
    assert moved.carried == {"query/query_2": "query/query_2", "query/query_3": "query/query_1"}
    assert moved.others == {"query/query_1": "new"}
    edited = changed(few + many, many.replace("v > 2", "v > 3") + few)
    assert edited.carried == {"query/query_1": "query/query_2", "query/query_2": "query/query_1"}


def test_queries_of_partitions_that_stand_elsewhere_now() -> None:
    """They go by other names."""
    inner = (
        "partition with (k of S) begin from S#window.length(3) select sum(v) as n insert into O;"
        " end;"
    )
    found = changed(inner, "from S select k insert into First;" + inner)
    assert found.carried == {"partition/partition_1": "partition/partition_1"}
    assert found.renamed == {"partition/partition_1": {"query_1": "query_2"}}
    assert not found.is_whole


def test_who_adds_up_a_named_window_goes_with_it() -> None:
    """Rows that leave the window are taken off sums that they were added to."""
    window = "define window W (k string, v int, t long) length(3); from S insert into W;"
    count = "@info(name='c') from W select count() as n insert into O;"
    total = "@info(name='t') from W select sum(v) as n insert into P;"
    alone = changed(window + count, window + count)
    assert alone.is_whole
    joined = changed(window + count, window + count + total)
    assert "window/W" not in joined.carried
    assert joined.others["window/W"] == "it goes with query 't'"
    assert joined.others["query/c"] == "it goes with window 'W'"


def test_who_reads_a_named_window_and_adds_nothing_up_costs_it_nothing() -> None:
    """What leaves it is taken off no sum."""
    window = "define window W (k string, v int, t long) length(3); from S insert into W;"
    plain = "@info(name='p') from W[v > 1] select k insert into O;"
    assert changed(window, window + plain).carried == {
        "window/W": "window/W",
        "query/query_1": "query/query_1",
    }


def test_conditions_on_rows_of_a_named_window() -> None:
    """A row is taken off a sum by the condition by which it was added."""
    window = "define window W (k string, v int, t long) length(3); from S insert into W;"
    total = "@info(name='t') from W[v > 1] select sum(v) as n insert into P;"
    found = changed(window + total, window + total.replace("v > 1", "v > 2"))
    assert "its windows" in found.others["query/t"]
    assert found.others["window/W"] == "it goes with query 't'"


def test_sums_over_joins_with_a_named_window() -> None:
    """A new one adds only pairs that it will take off again; one that was there has pairs which a
    window that begins empty would never take off."""
    window = "define window W (k string, v int, t long) length(3); from S insert into W;"
    joined = (
        "@info(name='j') from S#window.length(2) as s join W as w on s.k == w.k"
        " select sum(w.v) as n insert into O;"
    )
    total = "@info(name='t') from W select sum(v) as n insert into P;"
    assert "window/W" in changed(window, window + joined).carried
    found = changed(window + joined, window + joined + total)
    assert found.others["query/j"] == "it goes with window 'W'"


def test_what_is_gone_is_told() -> None:
    """A query that was renamed is another one."""
    found = changed(SUM, SUM.replace("name='q'", "name='renamed'"))
    assert found.others == {"query/renamed": "new"}
    assert found.lost == {"query/q": "not in this text"}


def test_a_state_whose_place_another_takes_is_lost_under_the_name_it_had() -> None:
    """The count stands first now, and goes on from where it stood."""
    total = "from S#window.length(3) select sum(v) as n insert into Sums;"
    count = "from S#window.length(5) select count() as n insert into Counts;"
    found = changed(total + count, count)
    assert found.carried == {"query/query_1": "query/query_2"}
    assert found.others == {}
    assert found.lost == {"query/query_1": "not in this text"}
    assert losses(plan_of(S + total + count), plan_of(S + count)) == (
        "query 'query_1' (not in this text)",
    )


def test_what_is_lost_is_said_by_its_name() -> None:
    """Also one with a slash."""
    old = SUM.replace("name='q'", "name='sum/last 3'")
    new = old.replace("length(3)", "length(4)")
    assert losses(plan_of(S + old), plan_of(S + new)) == (
        "query 'sum/last 3' (changed: its windows, functions or pattern)",
    )


def test_what_is_in_buckets_is_no_other_thing() -> None:
    """A filter, a sum or a granularity more, and they begin empty."""
    for new in (
        BUCKETS.replace("from S", "from S[v > 1]"),
        BUCKETS.replace("sum", "max"),
        BUCKETS.replace("day", "year"),
        BUCKETS.replace("aggregate", "aggregate by t"),
    ):
        assert "its definition" in changed(BUCKETS, new).lost["aggregation/G"]


def test_who_is_purged_at_other_times() -> None:
    """Whether at all, and how often; not what."""
    always, never = "@purge(enable='true', interval='{} min') ", "@purge(enable='false') "
    every = always.format(15)
    for old, new, wanted in (
        (never, every, {"aggregation/G"}),
        (every, never, {"aggregation/G"}),
        (every, always.format(20), {"aggregation/G"}),
        ("", every, set()),
        (every, KEPT_LONGER, set()),
    ):
        assert changed(old + BUCKETS, new + BUCKETS).retimed == wanted


@pytest.mark.parametrize(
    ("old", "new", "is_other"),
    [
        ("", STORE, True),
        (STORE, "", False),
        (STORE, STORE.replace("old", "new"), False),
        (STORE, STORE.replace("username='u'", "username='v', pool.properties='x:1'"), False),
        (STORE, STORE.replace("db/x", "db/y"), True),
        (STORE, STORE.replace("type", "table.name='other', type"), True),
        (STORE, STORE.replace("'rdbms'", "'RDBMS'"), False),
        (STORE, IN_URL.format("u:p@", "?user=u&password=p"), False),
        (IN_URL.format("u:p@", ""), IN_URL.format("v:q@r@", "?sslmode=disable"), False),
        (
            IN_URL.format("", "?password=p&currentSchema=a"),
            IN_URL.format("", "?currentSchema=a&password=q"),
            False,
        ),
        (IN_URL.format("", "?currentSchema=a"), IN_URL.format("", "?currentSchema=b"), True),
        (IN_URL.format("u@a.", ""), IN_URL.format("u@b.", ""), True),
    ],
)
def test_a_store_that_lacks_what_was_there_before(old: str, new: str, is_other: bool) -> None:
    """It is new, or another table; who logs in and how is no matter."""
    found = changed(old + BUCKETS + old + KEYED, new + BUCKETS + new + KEYED)
    assert found.is_whole
    assert found.stored == (("table/T", "aggregation/G") if is_other else ())


def test_the_store_of_a_table_that_begins_empty_is_told() -> None:
    """With what writes the rows, if their key says which they are. That of buckets is written."""
    new = STORE + KEYED + STORE + BUCKETS
    assert losses(plan_of(S + KEYED + BUCKETS), plan_of(S + new)) == (
        "the store of table 'T' (the rows from before come to it when they change next; all at once"
        " by the on-demand query: "
        "from T select k, v, `select` update T on T.k == k and T.`select` == `select`)",
    )
    rows = "define table T (k string);"
    assert losses(plan_of(S + rows), plan_of(S + STORE + rows)) == (
        "the store of table 'T' (the rows from before come to it when they change next)",
    )
