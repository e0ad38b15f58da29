"""What Siddhi 2 to 4 said otherwise: each form runs as it did."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lockstep.migration import Fate, Imported, SourceFile, convert
from lockstep.siddhiql.catalogue import ExtensionKind
from lockstep.siddhiql.catalogue.core import default_catalogue
from lockstep.testing import VirtualApp

STREAM = "define stream S (k string, v int);\n"


def imported(text: str) -> Imported:
    """One text, imported."""
    return convert([SourceFile("plan.siddhiql", text.encode())])


def rows(text: str, *sent: list[Any], stream: str = "O") -> list[tuple[Any, ...]]:
    """What comes out of a stream when events are sent to S; nothing may be left to decide."""
    done = imported(text)
    assert [one for one in done.findings if one.fate is Fate.TO_DECIDE] == []
    with VirtualApp(done.apps[0].text) as app:
        for data in sent:
            app.send("S", data)
        return [tuple(event.data) for event in app.stream(stream)]


@pytest.mark.parametrize(
    ("query", "given"),
    [
        ("from S#window.length(1) select k, v insert into O for expired-events;", [("a", 1)]),
        ("from S#window.length(1) select k, v insert into O for all-events;",
         [("a", 1), ("a", 1), ("b", 2)]),
        ("from S select k, v insert into O for current events;", [("a", 1), ("b", 2)]),
        ("from S[v > 1] insert into O k, v * 2 as w;", [("b", 4)]),
        ("from S#window.length(9) insert into O k, sum(v) as total group by k;",
         [("a", 1), ("b", 2)]),
        ("from S#window.unique(k) select k, count(k) as n insert into O;", [("a", 1), ("b", 2)]),
        ("from S#window.firstUnique(k) select k, v insert into O;", [("a", 1), ("b", 2)]),
        ("from S#window.Length(3) select k, StdDev(v) as d insert into O;",
         [("a", 0.0), ("b", 0.5)]),
        ("from S select k, convert(v, long) as w insert into O;", [("a", 1), ("b", 2)]),
        ("from S select k, isMatch('[a]', k) as m insert into O;", [("a", True), ("b", False)]),
        ("@name('q') @config(async='true') from S select k insert into O;", [("a",), ("b",)]),
        ("define partition P by S.k; from S select k, sum(v) as t insert into O partition by P;",
         [("a", 1), ("b", 2)]),
        ("define table T (k string, v int); from S update or insert into T on T.k == k; "
         "from S join T on S.k == T.k select T.k as k, T.v as v insert into O;",
         [("a", 1), ("b", 2)]),
        ("partition with (k of S) begin @name('p') from S select k, sum(v) as t insert into O; "
         "end;",
         [("a", 1), ("b", 2)]),
    ],
)  # fmt: skip
def test_queries(query: str, given: list[tuple[Any, ...]]) -> None:
    """Forms of queries."""
    assert rows(STREAM + query, ["a", 1], ["b", 2]) == given


def changed(text: str) -> set[str]:
    """What the report says of a text that is carried over whole."""
    done = imported(text)
    assert done.apps[0].valid
    assert [one for one in done.findings if one.fate is Fate.TO_DECIDE] == []
    return {one.what for one in done.findings if one.fate is Fate.CHANGED}


@pytest.mark.parametrize("count", ["count(*)", "COUNT( * )"])
def test_counting_all(count: str) -> None:
    """Siddhi 4 had an asterisk there."""
    query = f"{STREAM}from S select k, {count} * 2 as n group by k insert into O;"
    assert rows(query, ["a", 1], ["a", 5]) == [("a", 2), ("a", 4)]
    assert "count(*) → count()" in changed(query)


def test_a_window_whose_pack_was_a_part_of_its_name() -> None:
    """Siddhi 3 had no packs of windows."""
    query = "from S#window.uniqueExternalTimeBatch(k, ts, 60 sec) select v insert into O;"
    text = f"define stream S (k string, v int, ts long);\n{query}"
    assert changed(text) == {"uniqueExternalTimeBatch → unique:externalTimeBatch"}


def test_another_table_behind_set() -> None:
    """Siddhi 4 did not look at the name in front: it set the attribute of the table it updates."""
    tables = f"{STREAM}define table T (k string, v int); define table Other (k string, v int);\n"
    write = (
        "from S update or insert into T set Other.v = v, T.k = k on T.k == k;\n"
        "partition with (k of S) begin from S[v > 9]"
        " update T set Other.v = ifThenElse(v > 1, v, 0), `Other`.k = k on T.k == k; end;\n"
    )
    read = "from S join T on S.k == T.k select T.k as k, T.v as v insert into O;"
    assert rows(tables + write + read, ["a", 1], ["a", 2]) == [("a", 1), ("a", 2)]
    assert changed(tables + write + read) == {"Other.v → v", "`Other`.k → k"}


def test_what_had_no_effect_in_a_sink_is_told_and_the_sink_stays() -> None:
    """Siddhi took a @payload beside the @map, and sent the form of the mapper."""
    sink = "@sink(type='log', @map(type='json'), @payload('{{k}}'))"
    done = imported(f"{sink} {STREAM}")
    assert done.apps[0].valid
    assert "@sink(type='log', @map(type='json'))" in done.apps[0].text
    (told,) = [one for one in done.findings if one.fate is Fate.TO_DECIDE]
    assert told.what == "@payload('{{k}}')"
    assert "stand @map and @distribution" in told.why


def test_windows_of_before_by_a_name_that_was_misspelt() -> None:
    """Siddhi 4 called it so, in any case."""
    done = imported(f"{STREAM}from S#window.Hoping(4 sec, 2 sec) select k, v insert into O;")
    assert done.apps[0].valid
    assert "#window.hopping(4 sec, 2 sec)" in done.apps[0].text


def test_names_of_before_belong_to_one_window_or_function_each() -> None:
    """They are declared in small letters, and are nothing's name of today."""
    catalogue = default_catalogue()
    for kind in (ExtensionKind.WINDOW, ExtensionKind.FUNCTION):
        names = [name for each in catalogue.of(kind) for name in each.formerly]
        assert names, kind
        assert names == [name.lower() for name in names]
        assert len(set(names)) == len(names)
        assert set(names).isdisjoint(catalogue.names(kind))


def test_definitions_may_stand_behind_queries() -> None:
    """Siddhi 2 allowed it."""
    text = f"{STREAM}from S select k, v insert into T; define table T (k string, v int);"
    done = imported(text)
    assert done.apps[0].valid
    with VirtualApp(done.apps[0].text) as app:
        app.send("S", ["a", 1])
        assert app.on_demand("from T select k, v") == [("a", 1)]


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ("@From(eventtable='rdbms', datasource.name='SHOP DB', table.name='t', cache='lru', "
         "cache.size='10') define table T (k string, v int);",
         "@store(type='rdbms', datasource='SHOP_DB', table.name='t')"),
        ("define table T (k string, v int) from ('datasource.name'='SHOP DB', 'table.name'='t');",
         "@store(type='rdbms', datasource='SHOP_DB', table.name='t')"),
        ("@store(type='rdbms', jdbc.url='jdbc:mysql://h/d', username='u', password='pw-1') "
         "define table T (k string, v int);",
         "password='${secret:plan.password}')"),
        ("@from(eventtable='analytics.table', table.name='t', primary.keys='k', indices='v') "
         "define table T (k string, v int);", "@PrimaryKey('k') @Index('v')"),
        ("@IndexBy('k') define table T (k string, v int);", "@Index('k')"),
        ("@Store(type='redis', nodes='h:1@pw-1', ttl.seconds='9') @PrimaryKey('k') "
         "define table T (k string, v int);",
         "@store(type='redis', nodes='h:1', password='${secret:plan.password}')"),
    ],
)  # fmt: skip
def test_tables(table: str, text: str) -> None:
    """Event tables, stores and indexes."""
    done = imported(f"{STREAM}{table} from S select k, v insert into T;")
    assert done.apps[0].valid
    assert text in done.apps[0].text
    assert "pw-1" not in str(done)
    assert ("[SHOP_DB]" in done.datasources) == ("SHOP DB" in table)


def test_passwords_inside_addresses_stay_where_they_are() -> None:
    """Also those of Oracle, whose form is its own, and where the address itself is refused."""
    urls = ("jdbc:oracle:thin:shop/pw-3@host:1521:X", "jdbc:mysql://shop:pw-3@host/d")
    for url in urls:
        table = f"@store(type='rdbms', jdbc.url='{url}') define table T (k string, v int);"
        done = imported(f"{STREAM}{table} from S select k, v insert into T;")
        assert "pw-3" not in str(done)
        assert any(one.why == "passwords are not copied" for one in done.findings)


def test_stores_that_are_no_more_are_to_decide() -> None:
    """The table stays, in memory."""
    text = f"@store(type='mongodb', mongodb.uri='mongodb://u:pw-2@h/d')\n{STREAM}"
    text = text.replace("define stream S", "define table T") + STREAM
    done = imported(text)
    (found,) = [one for one in done.findings if "no store here" in one.why]
    assert (found.fate, found.place.line) == (Fate.TO_DECIDE, 1)
    assert "mode='lookup'" in str(found)
    assert done.apps[0].valid
    assert "pw-2" not in str(done)


def test_what_lockstep_has_not_is_switched_off_piece_by_piece() -> None:
    """The rest runs; a query that needs what is off goes with it, and says so."""
    text = f"""{STREAM}
define stream Lost (k string);
@sink(type='log') define stream O (k string);
from S#geo:locate(v) select k, place insert into Places;
from Places select place insert into More;
from S select k insert into O;
"""
    done = imported(text)
    found = [one for one in done.findings if one.fate is Fate.TO_DECIDE]
    assert [one.place.line for one in found] == [5, 6]
    assert "geo:locate" in found[0].why
    assert done.apps[0].valid
    with VirtualApp(done.apps[0].text) as app:
        app.send("S", ["a", 1])
        assert [tuple(event.data) for event in app.stream("O")] == [("a",)]


def test_options_that_a_type_has_not_are_left_out() -> None:
    """And said; those that have another name now are renamed."""
    options = "type='kafka', topic='t', bootstrap.servers='b:1', group.id='g', odd='1'"
    text = f"@Source({options}, @map(type='json'))\n{STREAM}"
    done = imported(text)
    assert "topic.list='t'" in done.apps[0].text
    assert "odd" not in done.apps[0].text
    assert any(one.what == "odd='1'" and one.fate is Fate.TO_DECIDE for one in done.findings)
    assert done.apps[0].valid


def test_an_app_of_siddhi_5_stays_as_it_is() -> None:
    """Comments, too."""
    text = """@app:name('Now')
@source(type='http',
        @map(type='json'))   -- from the shop
define stream S (k string, v int);

/* sums */
@info(name = 'q')
from S#window.lengthBatch(2) select k, sum(v) as total group by k insert into O;
"""
    done = imported(text)
    assert {one.fate for one in done.findings} == {Fate.USED}
    for part in re.split(r"   (?=--)|\n", text):
        assert part.strip() in done.apps[0].text


def test_apps_have_names_of_their_own() -> None:
    """Plans of several folders often share one."""
    files = [SourceFile(f"{n}/p.siddhiql", f"@Plan:name('My Plan'){STREAM}".encode()) for n in "ab"]
    done = convert(files)
    assert [app.name for app in done.apps] == ["My_Plan", "My_Plan_2"]


def test_plans_that_share_a_stream_are_joined_by_a_topic() -> None:
    """Rows of one come into the other."""
    first = """@Plan:name('First') @Import('in:1.0.0') define stream S (k string);
@Export('mid:1.0.0') define stream M (k string); from S select k insert into M;"""
    second = """@Plan:name('Second') @Import('mid:1.0.0') define stream M (k string);
from M select k insert into O;"""
    done = convert(
        [SourceFile("a.siddhiql", first.encode()), SourceFile("b.siddhiql", second.encode())]
    )
    assert [app.valid for app in done.apps] == [True, True]
    with VirtualApp(done.apps[0].text) as one, VirtualApp(done.apps[1].text) as two:
        one.send("S", ["a"])
        for topic, payload in one.published():
            two.publish(topic, payload)
        assert [tuple(event.data) for event in two.stream("O")] == [("a",)]
