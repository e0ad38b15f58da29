"""Tables driven directly: order, keys, updates, listeners, state (semantics 10)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep.events import AttributeType, Operation
from lockstep.operators.contract import StreamEvent
from lockstep.operators.errors import EventError
from lockstep.siddhiql import ast
from lockstep.tables.meaning import Match, Table
from lockstep.tables.meaning.order import bucket_mask, key_hash, text_hash
from lockstep.tables.meaning.row_store import RowStore
from lockstep.testing import VirtualApp
from tests.unit.operators.plain_context import (
    I,
    PlainContext,
    S,
    beside,
    equal,
    more,
    of,
    schema,
)

T = schema("T", k=S, v=I)
E = schema("E", k=S, v=I)
BY_K = equal(of("T", "k"), of("E", "k"))


def rows(table: Table) -> list[tuple[Any, ...]]:
    """The table's rows in its order."""
    return [row.data for row in table.content()]


def filled(table: Table, *data: tuple[Any, ...]) -> Table:
    """The table with these rows inserted."""
    for row in data:
        table.insert(1, row)
    return table


def match(condition: ast.Expression | None) -> Match:
    """`on` between E and T."""
    return Match(condition, beside(E, T), 1, PlainContext())


def event(*data: Any) -> StreamEvent:
    """An event of E."""
    return StreamEvent(7, data)


def test_a_list_keeps_order_and_doubles() -> None:
    """Without key rows stand as they came, equal ones too."""
    table = filled(Table(T), ("b", 1), ("a", 2), ("b", 1))
    assert rows(table) == [("b", 1), ("a", 2), ("b", 1)]


def test_a_taken_key_drops_the_new_row() -> None:
    """The first row of a primary key stays; the second is refused."""
    table = Table(T, primary=(0,))
    assert table.insert(1, ("a", 1))
    assert not table.insert(2, ("a", 2))
    assert rows(table) == [("a", 1)]


def test_a_numeric_key_sorts() -> None:
    """A table with one numeric key shows its rows by key."""
    table = filled(Table(T, primary=(1,)), ("x", 30), ("y", -1), ("z", 7))
    assert rows(table) == [("y", -1), ("z", 7), ("x", 30)]


def test_a_text_key_shows_map_order() -> None:
    """Known hashes; IBM and WSO2 in the order of a Java map of 16 buckets."""
    assert text_hash("IBM") == 72276
    assert text_hash("WSO2") == 2674079
    table = filled(Table(T, primary=(0,)), ("WSO2", 1), ("IBM", 2), ("b", 3), ("a", 4))
    places = [key_hash((key,)) & 15 for key, _ in rows(table)]
    assert places == sorted(places)
    assert [key for key, _ in rows(table)] == ["a", "b", "IBM", "WSO2"]


def test_hash_of_text_beyond_ascii_counts_utf16_units() -> None:
    """A character outside the basic plane is two units."""
    assert text_hash("é") == 233
    assert text_hash("\U0001f600") == (31 * 0xD83D + 0xDE00) & 0xFFFFFFFF


def test_maps_grow_at_three_quarters_and_never_shrink() -> None:
    """13 rows make 32 buckets."""
    assert [bucket_mask(n) for n in (0, 12, 13, 24, 25)] == [15, 15, 31, 31, 63]


def test_a_combined_key_takes_null_for_its_text() -> None:
    """(null, 1) and ('null', 1) are one key, but only the text is equal to the text."""
    table = Table(T, primary=(0, 1))
    assert table.insert(1, (None, 1))
    assert not table.insert(1, ("null", 1))
    both = ast.And(BY_K, equal(of("T", "v"), of("E", "v")))
    assert table.finder(match(both)).find(event("null", 1)) == []


def test_every_nan_is_one_key() -> None:
    """Alone and in a combined key; it stands behind all numbers, and is free when its row went."""
    for primary in ((1,), (1, 0)):
        table = Table(schema("T", k=S, v=AttributeType.DOUBLE), primary=primary)
        assert table.insert(1, ("a", math.nan))
        assert not table.insert(1, ("a", float("nan")))
        assert table.insert(1, ("a", math.inf))
        assert sorted(map(repr, rows(table))) == ["('a', inf)", "('a', nan)"]
        if primary == (1,):
            assert [repr(value) for _, value in rows(table)] == ["inf", "nan"]
        table.update([(table.content()[-1], ("a", float("nan")))], 2)
        table.delete(table.content())
        assert table.insert(3, ("a", float("nan")))


def test_of_old_rows_whose_key_is_nan_the_first_is_restored() -> None:
    """Tables of earlier versions took several; each of them is one key now."""
    store = RowStore(schema("T", k=S, v=AttributeType.DOUBLE), (1,), ())
    store.restore((3, [(5, ("a", float("nan"))), (6, ("b", 2.0)), (7, ("c", float("nan")))]))
    assert [row.data[0] for row in store.content()] == ["b", "a"]


def test_both_zeros_of_a_combined_key_have_one_place() -> None:
    """They are one key, so a row that has got the other one stays where it was."""
    assert key_hash((0.0, 1)) == key_hash((-0.0, 1))
    assert key_hash((0, 1)) != key_hash((0.0, 1))


@pytest.mark.parametrize("table", [Table(T, primary=(1,)), Table(T, indexed=(1,))])
def test_null_in_an_index_is_an_error(table: Table) -> None:
    """A sorted key and an index refuse null; the row is not there afterwards."""
    with pytest.raises(EventError, match="v is indexed in table T"):
        table.insert(1, ("a", None))
    assert rows(table) == []


def test_null_is_a_text_key() -> None:
    """A single key that is no number may be null, once."""
    table = Table(T, primary=(0,))
    assert table.insert(1, (None, 1))
    assert not table.insert(1, (None, 2))


def test_update_to_a_free_key_moves_the_row() -> None:
    """The old key is free afterwards."""
    table = filled(Table(T, primary=(0,)), ("a", 1))
    [row] = table.content()
    assert table.update([(row, ("z", 1))], 5)
    assert rows(table) == [("z", 1)]
    assert table.insert(6, ("a", 2))


def test_update_to_a_taken_key_changes_nothing() -> None:
    """All or nothing: no row of the update takes effect."""
    table = filled(Table(T, primary=(0,)), ("a", 1), ("b", 2), ("c", 3))
    a, b, _ = table.content()
    assert not table.update([(a, ("x", 1)), (b, ("c", 2))], 5)
    assert rows(table) == [("a", 1), ("b", 2), ("c", 3)]


def test_rows_may_swap_keys() -> None:
    """Keys that are freed by the same update count as free."""
    table = filled(Table(T, primary=(0,)), ("a", 1), ("b", 2))
    a, b = table.content()
    assert table.update([(a, ("b", 1)), (b, ("a", 2))], 5)
    assert rows(table) == [("a", 2), ("b", 1)]


def heard(table: Table) -> list[tuple[Operation, tuple[Any, ...]]]:
    """A list that fills with the table's changes."""
    changes: list[tuple[Operation, tuple[Any, ...]]] = []
    table.listen(lambda operation, data: changes.append((operation, data)))
    return changes


def test_listeners_of_a_keyed_table_hear_upserts() -> None:
    """An update under the same key is one UPSERT; a change of key a DELETE and an UPSERT."""
    table = Table(T, primary=(0,))
    changes = heard(table)
    table.insert(1, ("a", 1))
    table.update([(table.content()[0], ("a", 2))], 2)
    table.update([(table.content()[0], ("b", 2))], 3)
    table.delete(table.content())
    assert changes == [
        (Operation.UPSERT, ("a", 1)),
        (Operation.UPSERT, ("a", 2)),
        (Operation.DELETE, ("a", 2)),
        (Operation.UPSERT, ("b", 2)),
        (Operation.DELETE, ("b", 2)),
    ]


def test_listeners_of_a_list_hear_which_row_went() -> None:
    """Only its values say which row of a list changed."""
    table = filled(Table(T), ("a", 1))
    changes = heard(table)
    table.update([(table.content()[0], ("a", 2))], 2)
    assert changes == [(Operation.DELETE, ("a", 1)), (Operation.UPSERT, ("a", 2))]


def test_a_refused_row_is_not_heard() -> None:
    """Listeners hear only of what happened."""
    table = filled(Table(T, primary=(0,)), ("a", 1))
    changes = heard(table)
    table.insert(2, ("a", 9))
    assert changes == []


KEYS = st.sampled_from(["a", "b", "c", "d", None])
STEPS = st.lists(
    st.tuples(st.sampled_from(["insert", "delete", "update", "key"]), KEYS, st.integers(0, 3)),
    max_size=40,
)
LAYOUTS = [((), ()), ((0,), ()), ((), (1,)), ((0,), (1,)), ((0, 1), ()), ((1,), ())]
CONDITIONS = [
    None,
    BY_K,
    equal(of("E", "v"), of("T", "v")),
    ast.And(BY_K, equal(of("T", "v"), of("E", "v"))),
    ast.And(BY_K, more(of("T", "v"), of("E", "v"))),
    ast.Or(BY_K, more(of("T", "v"), of("E", "v"))),
    more(of("E", "v"), of("T", "v")),
]


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=30, deadline=None)
@given(steps=STEPS)
def test_every_way_finds_what_a_scan_finds(
    layout: tuple[tuple[int, ...], tuple[int, ...]],
    condition: ast.Expression | None,
    steps: list[tuple[str, str | None, int]],
) -> None:
    """Keys and indexes give the rows of a scan in the same order, also after a restore."""
    table = Table(T, *layout)
    by_key = table.finder(match(BY_K))
    finder = table.finder(match(condition))
    for step, key, value in steps:
        found = by_key.find(event(key, value))
        if step == "insert":
            table.insert(1, (key, value))
        elif step == "delete":
            table.delete(found)
        elif step == "update":
            table.update([(row, (key, value)) for row in found], 2)
        else:
            table.update([(row, (f"{key}{value}", value)) for row in found], 2)
    again = Table(T, *layout)
    again.restore(table.snapshot())
    assert rows(again) == rows(table)
    for key in ("a", "b", "c1", None):
        for value in range(4):
            probe = event(key, value)
            scanned = match(condition).rows(probe, table.content())
            assert finder.find(probe) == scanned
            assert finder.contains(probe) is bool(scanned)
            found = again.finder(match(condition)).find(probe)
            assert [row.data for row in found] == [row.data for row in scanned]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.text("abcdef", max_size=2), st.integers(0, 20)), max_size=40),
    st.integers(0, 20),
    st.booleans(),
)
def test_a_scan_gives_the_tables_order_whether_or_not_that_is_known(
    data: list[tuple[str, int]], least: int, is_known: bool
) -> None:
    """Behind a change the order is not known, and what is found is put in order by itself."""
    table = filled(Table(T, primary=(0,)), *dict(data).items())
    if is_known:
        rows(table)
    found = table.finder(match(more(of("T", "v"), of("E", "v")))).find(event("", least))
    assert [row.data for row in found] == [one for one in rows(table) if one[1] > least]


@pytest.mark.parametrize("executor", ["reference", "columnar"])
def test_rows_that_are_cleared_away_behind_each_change_do_not_sort_the_table(
    monkeypatch: pytest.MonkeyPatch, executor: str
) -> None:
    """An app that adds a row and deletes the old ones with each event takes time for the rows,
    not for putting all of them in order again and again."""
    sorted_rows = 0
    arrange = RowStore._arranged

    def counted(store: RowStore, found: Iterable[Any]) -> list[Any]:
        nonlocal sorted_rows
        some = list(found)
        sorted_rows += len(some)
        return arrange(store, some)

    monkeypatch.setattr(RowStore, "_arranged", counted)
    text = """@app:playback
    define stream Seen (who string, at long);
    @PrimaryKey('who') define table Recent (who string, at long);
    from Seen select who, at update or insert into Recent on Recent.who == who;
    from Seen select at delete Recent on Recent.at < at - 50L;
    """
    with VirtualApp(text, executor=executor) as app:
        for number in range(200):
            app.send("Seen", [f"u{number}", number], timestamp_ms=1_000 + number)
        left = app.on_demand("from Recent select who, at")
    assert sorted(at for _, at in left) == list(range(149, 200))
    assert 0 < sorted_rows < 200 + 2 * 51
