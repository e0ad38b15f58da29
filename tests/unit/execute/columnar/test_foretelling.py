"""Tables whose own readers write them: the circle is opened where the writes can be foretold, and
what comes out is what the reference brings."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from lockstep.columns.pool import StringPool
from lockstep.columns.realms import Defaults
from lockstep.execute.columnar import ColumnarExecutor, lowering_of
from lockstep.execute.columnar.foretelling import brings_any
from lockstep.execute.columnar.hosting import CIRCLE
from lockstep.execute.columnar.lowering import lower
from lockstep.execute.encoding import encoded
from lockstep.plan import plan_of
from tests.unit.side_by_side import TICK, Step, entries_of, in_one_slice, stepped

STREAMS = "define stream S (k string, v int); define stream New (k string, v int); "
TABLE = "@PrimaryKey('k') define table T (k string, v int); "
ASK = (
    "@info(name='ask') from S left outer join T on T.k == S.k"
    " select S.k as k, S.v as v, T.v as before insert into Mid; "
)
BACK = "update or insert into T set T.v = v on T.k == k; "
HIGHEST = f"@info(name='back') from Mid[before is null or v > before] select k, v {BACK}"
COUNT = "@info(name='out') from Mid select k, v, before, count() as n insert into Out; "
NEW = "@info(name='new') from New select k, v update or insert into T on T.k == k; "
STEPS: list[Step] = [
    (100, "S", [["a", 3], ["b", 2]]),
    (200, "S", [["a", 1], ["a", 9], ["a", 5], ["b", 7]]),
    (300, "New", [["a", 4]]),
    (300, "S", [["a", 5], ["c", 1]]),
    (400, TICK, []),
    (500, "S", [["c", 2], ["c", 3], ["a", 4]]),
]
AGAIN: list[Step] = [
    (600, "New", [["a", 1], ["a", 2], ["b", 8], ["d", 3]]),
    (700, "S", [["a", 7], ["d", 2], ["a", 8], ["e", 1], ["e", 9]]),
    (800, "S", [["a", 3], ["b", 4], ["d", 5], ["e", 2]]),
]
"""Several rows of a value, where there is no key."""
FORETOLD = {
    "the highest": ASK + HIGHEST,
    "beside another writer": NEW + ASK + HIGHEST,
    "a sum": ASK + f"@info(name='back') from Mid select k, coalesce(before, 0) + v as v {BACK}",
    "by one query": "@info(name='back') from S left outer join T on T.k == S.k"
    " select S.k as k, coalesce(T.v, 0) + S.v as v update or insert into T on T.k == k; "
    "@info(name='mid') from S select k, v, v as before insert into Mid; ",
    "the first of each": "@info(name='ask') from S[not ((T.k == S.k) in T)]"
    " select k, v, v as before insert into Mid;"
    " @info(name='back') from Mid select k, v insert into T; ",
    "on several ways": ASK
    + "@info(name='back') from Mid[before is null] select k, v insert into T; "
    "@info(name='low') from Mid[v < before] select k, v update T set T.v = T.v + v on T.k == k; "
    "@info(name='gone') from Mid[v == before] select k delete T on T.k == k; ",
    "over a third stream": ASK
    + "@info(name='on') from Mid[before is null or v > before] select k, v * 2 as w"
    " insert into M2; "
    "@info(name='back') from M2 select k, w as v update or insert into T set T.v = v on T.k == k; ",
    "in a database": f"@store(type='rdbms') {TABLE}{ASK}{HIGHEST}",
}
LIST = "define table T (k string, v int); "
ROWS = "@info(name='rows') from New select k, v insert into T; "
OF_LISTS = {
    "the last of several rows": f"{LIST}{ROWS}{ASK}"
    "@info(name='back') from Mid select k, coalesce(before, 0) + v as v"
    " update or insert into T on T.k == k; ",
    "an index": f"@Index('k') {LIST}{ROWS}{ASK}"
    "@info(name='back') from Mid select k, v update or insert into T on T.k == k; ",
    "all that there are": f"{LIST}{ROWS}{ASK}"
    "@info(name='back') from Mid[v > 2] select k, v update T set T.v = v on T.k == k; ",
    "by the table's own value": f"{LIST}{ROWS}"
    "@info(name='ask') from S join T on T.k == S.k"
    " select T.k as k, S.v as v, T.v as before insert into Mid; "
    "@info(name='back') from Mid select k, before - 1 as v update T on T.k == k; ",
    "gone": f"{LIST}{ROWS}{ASK}@info(name='back') from Mid[v > 6] select k delete T on T.k == k; ",
    "beside another condition": f"{LIST}{ROWS}{ASK}"
    "@info(name='back') from Mid select k, v update or insert into T on T.k == k; "
    "@info(name='both') from New[(T.k == k and T.v == v) in T] select k insert into Both; ",
}
LISTS_LEFT = {
    "a condition on each row": f"{LIST}{ROWS}{ASK}{HIGHEST}",
    "an insert for each row": f"{LIST}{ROWS}{ASK}@info(name='back') from Mid select k, v"
    " insert into T; ",
    "a sum over rows": f"{LIST}{ROWS}{ASK}"
    "@info(name='back') from Mid select k, v update T set T.v = T.v + v on T.k == k; ",
    "new rows with less": f"{LIST}{ROWS}{ASK}"
    "@info(name='back') from Mid select k, v update or insert into T set T.k = k on T.k == k; ",
    "other rows": f"{LIST}{ROWS}{ASK}"
    "@info(name='back') from Mid select k, v update T set T.v = v on T.v == v; ",
    "a changed key": f"{LIST}{ROWS}{ASK}"
    "@info(name='back') from Mid select k, v update T set T.v = v on T.k == k; "
    "@info(name='moved') from New select 'z' as k, v update T set T.k = k on T.v == v; ",
    "in a database": f"@store(type='rdbms') {LIST}{ROWS}{ASK}"
    "@info(name='back') from Mid select k, v update T on T.k == k; ",
}
LEFT = {
    "another key": ASK
    + "@info(name='back') from Mid select str:concat(k, 'x') as k, v update or insert into T"
    " on T.k == k; ",
    "a window on the way": ASK + f"@info(name='back') from Mid#window.length(2) select k, v {BACK}",
    "an aggregate on the way": ASK
    + f"@info(name='back') from Mid select k, sum(v) as s, 1 as v group by k {BACK}",
    "more than the key": "@info(name='ask') from S left outer join T on T.k == S.k and T.v > 1"
    f" select S.k as k, S.v as v, T.v as before insert into Mid; {HIGHEST}",
    "two writers of a stream": f"{ASK}{HIGHEST}"
    "@info(name='also') from New select k, v, v as before insert into Mid; ",
    "a source of its own": "@source(type='inMemory', topic='t') "
    f"define stream Mid (k string, v int, before int); {ASK}{HIGHEST}",
    "another index": f"{ASK}{HIGHEST}"
    "@info(name='by_v') from New join T on T.v == New.v select T.k as k insert into Other; ",
}


def text_of(queries: str) -> str:
    """An app; the table is before its queries if they do not define it."""
    return STREAMS + ("" if "define table" in queries else TABLE) + queries + COUNT


@pytest.mark.parametrize("name", [*FORETOLD, *OF_LISTS])
def test_what_can_be_foretold(name: str) -> None:
    """All of it is in columns, and brings the same rows: whole, step by step, and over restores."""
    text = text_of((FORETOLD | OF_LISTS)[name])
    lowering = lowering_of(plan_of(text))
    assert [each.query for each in lowering.choices if each.rule is None] == []
    steps = [*STEPS, *AGAIN, *STEPS]
    expected = stepped(text, steps, "reference", restored=False)
    assert stepped(text, steps, "columnar", restored=False) == expected
    assert stepped(text, steps, "columnar", restored=True) == expected
    assert in_one_slice(plan_of(text), steps) == expected


def test_events_of_one_chunk_ask_before_any_of_them_writes() -> None:
    """So 5, too, is told to be higher than 3, and stands last: 9 was not there yet."""
    text = text_of(ASK + HIGHEST)
    executor = ColumnarExecutor(plan_of(text), start_ms=0)
    executor.run_slice(entries_of(plan_of(text), STEPS[:2]))
    assert sorted(executor.on_demand("from T select k, v")) == [("a", 5), ("b", 7)]


@pytest.mark.parametrize("name", [*LEFT, *LISTS_LEFT])
def test_what_cannot(name: str) -> None:
    """The circle is on the reference, and the rows are the same."""
    text = text_of((LEFT | LISTS_LEFT)[name])
    lowering = lowering_of(plan_of(text))
    reasons = {each.query: each.reason for each in lowering.choices}
    assert reasons["back"] == CIRCLE
    assert lowering.closed == frozenset()
    expected = stepped(text, STEPS, "reference", restored=False)
    assert stepped(text, STEPS, "columnar", restored=False) == expected


def test_events_that_are_sent_to_a_stream_on_the_way() -> None:
    """They are written, too: the app goes on with the circle on the reference, from then on."""
    text = text_of(NEW + ASK + HIGHEST)
    plan = plan_of(text)
    sent: list[Step] = [(350, "Mid", [["a", 100, None], ["d", 1, 5], ["d", 6, 5]])]
    steps = [*STEPS[:4], *sent, *STEPS[4:], *sent, *STEPS]
    expected = stepped(text, steps, "reference", restored=False)
    assert stepped(text, steps, "columnar", restored=False) == expected
    assert stepped(text, steps, "columnar", restored=True) == expected
    assert in_one_slice(plan, steps) == expected
    executor = ColumnarExecutor(plan, start_ms=0)
    assert executor.lowering.closed == {"Mid"}
    with capture_logs() as told:
        executor.run_slice(entries_of(plan, steps))
    assert [line["streams"] for line in told if "one event at a time" in line["event"]] == [["Mid"]]
    assert executor.lowering.closed == frozenset()
    assert ("d", 6) in executor.on_demand("from T select k, v")


def test_a_plain_table_is_left_alone() -> None:
    """Its circle stays, which is opened where it is not among the plain ones."""
    plan = plan_of(text_of(ASK + HIGHEST))

    def hosted(*plain: str) -> list[str]:
        made = lower(plan, StringPool(), Defaults({}), plain=frozenset(plain))
        return [each.query for each in made.choices if each.reason == CIRCLE]

    assert hosted("T") == ["ask", "back"]
    assert hosted() == []


def test_entries_tell_of_which_streams_they_are() -> None:
    """Ticks are of none."""
    plan = plan_of(text_of(ASK + HIGHEST))
    entries = encoded(entries_of(plan, STEPS), plan.checked.streams)
    assert brings_any(entries, frozenset({"S", "Mid"}))
    assert not brings_any(entries, frozenset({"Mid"}))
    assert not brings_any(entries, frozenset())
