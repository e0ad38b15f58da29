"""Tables of an app that is cut: by which key, together with whom, and why not."""

from __future__ import annotations

import pytest

from lockstep.plan import plan_of
from lockstep.plan.fleet import fleet_of
from tests.unit.plan.fleet.apps import STREAMS, fleet, nodes, routes

TABLE = "define table T (k string, n int); "
PUT = "@info(name='put') from S select k, v as n update or insert into T on T.k == k; "
READ = "@info(name='read') from R join T on R.k == T.k select R.k as k, T.n as n insert into O; "


@pytest.mark.parametrize("keys", ["", "@PrimaryKey('k') ", "@Index('n') "])
def test_who_uses_a_table_by_its_key_is_one_group_with_it(keys: str) -> None:
    """The table is in each partition, with the rows of its keys; a null is a key, too."""
    found = fleet(keys + TABLE + PUT + READ)
    assert nodes(found) == {"by_k": ("put", "read")}
    assert routes(found, "by_k") == {
        "S": "default(k, 'null')",
        "R": "default(k, 'null')",
        "O": "default(k, 'null')",
    }
    assert found.groups[0].tables == (("T", "k"),)
    assert "define table T" in found.groups[0].text


@pytest.mark.parametrize(
    "query",
    [
        "from S select k, v as n insert into T;",
        "from S select k, v as n update T on T.k == k;",
        "from S select k, v as n update T set T.n = n + T.n on T.k == k and T.n < n;",
        "from S select k delete T on k == T.k;",
        "from S[v > 1] select k, v as n update or insert into T set T.n = n on T.k == k;",
        "from S left outer join T on S.k == T.k select S.k as k, coalesce(T.n, 0) + 1 as n"
        " update or insert into T on T.k == k;",
        "from S join T on S.k == T.k select T.k as k, S.v as n update T on T.k == k;",
        "from T right outer join S on S.k == T.k select S.k as k, T.n as n insert into P;",
        "from S[not (T.k == k in T)] select k, v as n insert into T;",
        "from S[(T.n > v and T.k == S.k) in T] select k, v insert into P;",
    ],
)
def test_ways_to_use_a_table_by_its_key(query: str) -> None:
    """Reading, asking, writing and taking away."""
    found = fleet(TABLE + PUT + f"@info(name='q') {query}")
    assert nodes(found) == {"by_k": ("put", "q")}
    assert found.groups[0].tables == (("T", "k"),)


def test_what_is_added_up_is_a_partition_of_its_own() -> None:
    """Its state is found by the key, as that of any other query."""
    query = "from R join T on R.k == T.k select R.k as k, sum(T.n) as n group by R.k insert into O;"
    found = fleet(TABLE + PUT + f"@info(name='q') {query}")
    assert nodes(found) == {"by_k": ("put", "q")}
    assert "partition with (default(k, 'null') of R)" in found.groups[0].text


def test_streams_lead_through_plain_queries() -> None:
    """A table's reader and writer behind filters and projections."""
    first = "@info(name='f') from S[v > 2] select k as name, j insert into M; "
    put = "@info(name='put') from M select name as k, j as n insert into T; "
    found = fleet(TABLE + first + put + READ)
    assert nodes(found) == {"by_k": ("f", "put", "read")}
    assert routes(found, "by_k")["S"] == "default(k, 'null')"


@pytest.mark.parametrize(
    ("table", "query", "why"),
    [
        (TABLE, "from S select k, v as n update T on T.n == n;", "some go by 'n'"),
        (TABLE, "from S select k, v as n update T set T.k = k on T.n == n;", "some go by 'n'"),
        (TABLE, "from S select 'x' as k, 1 as n insert into T;", "have the key of its event"),
        (TABLE, "from S join T on S.v > T.n select S.k as k insert into O;", "have the key"),
        (TABLE, "from S join T on S.j == T.n select S.k as k insert into O;", "some go by 'n'"),
        (
            TABLE,
            "from S#window.length(2) join T on S.k == T.k select S.k as k insert into O;",
            "its window 'length' holds events of all keys",
        ),
        (
            TABLE,
            "from S join T on S.k == T.k select S.k as k, count() as n insert into O;",
            "does not group by the key of its table",
        ),
        (
            TABLE,
            "from S full outer join T on S.k == T.k select S.k as k insert into O;",
            "rows of the table that no event met",
        ),
        (
            TABLE,
            "from every e1=S[(T.k == k) in T] -> e2=R select e1.k as k insert into O;",
            "a pattern that asks a table",
        ),
        (
            TABLE,
            "from S select k, (T.k == k in T) as known insert into O;",
            "elsewhere than in a filter",
        ),
        (
            "@PrimaryKey('k', 'n') " + TABLE,
            "from S select k, v as n insert into T;",
            "have the key of its event",
        ),
    ],
)
def test_what_keeps_a_table_whole(table: str, query: str, why: str) -> None:
    """And with it all that uses it: the others say whom they are with."""
    (found,) = fleet(table + f"@info(name='q') {query} " + PUT).groups
    assert (found.partitions, found.tables) == (1, ())
    assert found.whole_because is not None
    assert why in found.whole_because
    assert "put: " in found.whole_because


WITHIN = (
    "@info(name='p') partition with (k of S) begin"
    " from S left outer join T on S.k == T.k select S.k as k, coalesce(T.n, 0) + 1 as n"
    " update or insert into T on T.k == k;"
    " from S select k, v insert into #I;"
    " from #I#window.length(2) as i join T on i.k == T.k select i.k as k, T.n as n insert into O;"
    " end; "
)


def test_a_partition_uses_a_table_by_its_key() -> None:
    """With windows and streams of its own; queries beside it may use the table, too."""
    found = fleet(TABLE + WITHIN + READ.replace("insert into O", "insert into P"))
    assert nodes(found) == {"by_k": ("p", "read")}
    assert found.groups[0].tables == (("T", "k"),)
    assert routes(found, "by_k")["S"] == "k"


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("from S join T on S.v == T.n select S.k as k insert into Q;", "have the key"),
        ("from R join T on R.k == T.k select R.k as k insert into Q;", "have the key"),
        ("from S full outer join T on S.k == T.k select S.k as k insert into Q;", "no event met"),
        ("from every e1=S[(T.k == k) in T] -> e2=S select e1.k as k insert into Q;", "a pattern"),
    ],
)
def test_what_keeps_a_partition_with_a_table_whole(query: str, why: str) -> None:
    """A query that reads rows of other keys, or events without a key."""
    within = WITHIN.replace(" end; ", f" {query} end; ")
    (found,) = fleet(TABLE + within).groups
    assert (found.partitions, found.tables) == (1, ())
    assert why in str(found.whole_because)


def test_a_table_that_is_only_filled_is_whole() -> None:
    """Who asks it on demand may ask by any attribute."""
    (found,) = fleet(TABLE + "@info(name='q') from S select k, v as n insert into T; ").groups
    assert found.whole_because == "q: no query says by which key rows of 'T' are found"


def test_two_keys_of_one_table() -> None:
    """Nobody can have it by both."""
    both = "@info(name='q') from S select k, v as n delete T on T.n == n; "
    (found,) = fleet(TABLE + PUT + both).groups
    assert found.whole_because is not None
    assert "'T'" in found.whole_because


def test_the_first_rules_cut_no_table() -> None:
    """What was deployed by an earlier release stays as it was cut."""
    plan = plan_of(STREAMS + TABLE + PUT + READ)
    (found,) = fleet_of(plan, 3, rules=1).groups
    assert found.whole_because is not None
    assert "the table 'T', which has no key" in found.whole_because


def test_a_table_that_nobody_uses_is_whole() -> None:
    """On-demand queries ask it beside what is cut."""
    found = fleet(TABLE + "define table U (x int); " + PUT + READ)
    assert {group.name: group.tables for group in found.groups} == {
        "by_k": (("T", "k"),),
        "main": (),
    }
    assert found.group("main").whole_because == "U: it is read as one"


def test_tables_of_two_keys_are_in_two_groups() -> None:
    """Each with its own."""
    other = (
        "@PrimaryKey('j') define table U (j int, n int); "
        "@info(name='u') from S select j, v as n insert into U; "
    )
    found = fleet(TABLE + other + PUT + READ)
    assert {group.name: group.tables for group in found.groups} == {
        "by_k": (("T", "k"),),
        "by_j": (("U", "j"),),
    }
