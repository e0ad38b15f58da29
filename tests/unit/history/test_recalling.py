"""On-demand queries on what is archived of a stream: the same as SQL over the same archive, and the
same as on a table with the same rows; and what cannot be asked."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from lockstep.archive.answering import answered
from lockstep.archive.asking import AskedTooMuchError
from lockstep.archive.events_in import rows_of
from lockstep.archive.keeping import SideArchive
from lockstep.archive.naming import INPUT, OUTPUT, Logs
from lockstep.archive.place import Place
from lockstep.archive.questions import Question
from lockstep.archive.rows_out import Published, published_rows
from lockstep.control import OnDemandAnswer
from lockstep.events import (
    EventsRecord,
    InputEvent,
    OutputId,
    OutputRecord,
    OutputRow,
)
from lockstep.events.codec import EncodedEntry, encode_record
from lockstep.history.errors import HistoryError
from lockstep.history.questions import Recall
from lockstep.history.recalling import recalled
from lockstep.history.remembering import asks_the_past, remember
from lockstep.plan import plan_of
from lockstep.settings import load_settings
from lockstep.siddhiql import SiddhiQLError, check_on_demand
from lockstep.testing import VirtualApp

TEXT = (
    "@app:name('Shop') define stream Trade (symbol string, price double, n int, what object);"
    " define stream Told (symbol string, total long); define stream Never (a int);"
    " define table Kept (symbol string, price double, n int);"
    " define table Names (symbol string);"
    " from Trade select symbol, price, n insert into Kept;"
    " from Trade select symbol insert into Between;"
    " from Between select symbol insert into Behind;"
)
DAY_MS = 86_400_000
MARCH_MS = 1_772_323_200_000
"""2026-03-01."""
ROWS = [
    (("X", "Y", "Z")[at % 3], None if at == 7 else at / 4, at % 5) for at in range(40)
]  # fmt: skip
NOW_MS = MARCH_MS + 90 * DAY_MS
MARCH = "within '2026-03-01', '2026-04-01'"


def entry(position: int, events: list[InputEvent], text: str = TEXT) -> EncodedEntry:
    """A record of trades, a chunk for each."""
    record = EventsRecord("Trade", MARCH_MS, tuple((one,) for one in events), has_timestamps=True)
    return EncodedEntry(position, encode_record(record, plan_of(text).schemas))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Forty trades of March, an hour each, and two before and behind; rows that were published."""
    place = Place(str(tmp_path_factory.mktemp("archive")))
    side = SideArchive(place, Logs("Shop", 7), INPUT)
    outside = [MARCH_MS - 1, MARCH_MS + 31 * DAY_MS]
    early, late = [[InputEvent(time, ("X", 1_000.0, 0, None))] for time in outside]
    trades = [
        InputEvent(MARCH_MS + at * 3_600_000, (*row, {"at": at})) for at, row in enumerate(ROWS)
    ]
    records = [early, trades[:10], trades[10:11], trades[11:], late]
    for position, events in enumerate(records, 1):
        side.write(rows_of([entry(position, events)]))
    told = OutputRecord(
        1, tuple(OutputRow(OutputId(at, 0), "Told", MARCH_MS + at, ("X", at)) for at in range(1, 6))
    )
    SideArchive(place, Logs("Shop", 7), OUTPUT).write(published_rows([Published(1, told)], 0))
    return place


def asked(place: Place, query: str, *, text: str = TEXT, rows: int = 1_000) -> OnDemandAnswer:
    """In this process, so without its limits."""
    return recalled(Recall(place.folder, {}, "Shop", text, query, rows, NOW_MS, 0, 0))


def found(place: Place, query: str) -> list[list[Any]]:
    """The rows; nothing may be wrong."""
    answer = asked(place, query)
    assert answer.error is None, answer
    return answer.rows


def by_sql(place: Place, sql: str) -> list[list[Any]]:
    """What the tables' own engine says."""
    answer = answered(Question(place.folder, {}, "Shop", sql, 1_000, 0, 0))
    assert answer.error is None, answer
    return answer.rows


SPAN = f"_timestamp_ms >= {MARCH_MS} and _timestamp_ms < {MARCH_MS + 31 * DAY_MS}"
ALIKE = [
    (
        "select symbol, sum(price) as total, count() as n group by symbol order by symbol",
        "select symbol, sum(price) as total, count(*) as n from Trade where {span}"
        " group by symbol order by symbol",
        "",
    ),
    (
        "select symbol, price order by price desc limit 4 offset 1",
        "select symbol, price from Trade where {span} and {on}"
        " order by price desc nulls last limit 4 offset 1",
        "on symbol == 'X' and n > 1",
    ),
    (
        "select n, max(price) as top, min(price) as low group by n having top > 9.0 order by n",
        "select n, max(price) as top, min(price) as low from Trade where {span} and {on}"
        " group by n having max(price) > 9.0 order by n",
        "on symbol == 'X' or symbol == 'Y'",
    ),
    (
        "select symbol, price, n",
        "select symbol, price, n from Trade where {span} and {on} order by _position, _row",
        "on not (symbol == 'Z') and price is null or n == 4",
    ),
]


@pytest.mark.parametrize(("select", "sql", "on"), ALIKE)
def test_it_is_what_sql_says_and_what_a_table_of_these_rows_says(
    place: Place, select: str, sql: str, on: str
) -> None:
    """Filters, groups, having, order, limit; nulls among the values."""
    there = found(place, f"from Trade {on} {MARCH} {select}")
    where = on.removeprefix("on ").replace("==", "=") or "true"
    assert there
    assert there == by_sql(place, sql.format(span=SPAN, on=where))
    with VirtualApp(TEXT) as app:
        for at, row in enumerate(ROWS):
            app.send("Trade", (*row, None), timestamp_ms=MARCH_MS + at)
        assert there == [list(row) for row in app.on_demand(f"from Kept {on} {select}")]


def test_times_are_said_in_many_ways() -> None:
    """From the first millisecond on, up to in front of the last one."""
    checked = plan_of(TEXT).checked
    for within in (MARCH, "within '2026-03-** **:**:**'", f"within {MARCH_MS}L, {MARCH_MS + 1}L",
                   "within '2026-03-01 00:00:00 +01:00', '2026-03-02'"):  # fmt: skip
        assert asks_the_past(f"from Trade {within}")
        assert check_on_demand(f"from Trade {within}", checked).query.range is not None
    for query in (
        "from Kept",
        "select 1 as a insert into Names",
        "from",
        "from A within 1 per 'd'",
    ):
        assert not asks_the_past(query)


def test_times_and_objects_come_back(place: Place) -> None:
    """The event's own time; a day; a whole row; what the query takes for the present."""
    query = "from Trade within '2026-03-01' select eventTimestamp() as at, what, n order by at desc"
    rows = found(place, f"{query} limit 1")
    assert rows == [[MARCH_MS + 23 * 3_600_000, {"at": 23}, 3]]
    assert len(found(place, "from Trade within '2026-03-02'")) == 16
    assert found(place, f"from Told {MARCH} select sum(total) as total") == [[15]]
    now = f"from Told {MARCH} select currentTimeMillis() as now limit 1"
    assert found(place, now) == [[NOW_MS]]
    assert found(place, "from Trade within '2025-01-01', '2025-02-01' select count() as n") == []


WRONG = [
    ("from Trade", "within '2020-06-01', '2020-07-01'"),
    ("from Kept within '2026-03-01'", "remove it"),
    ("from Trade within n, 5L", "write within"),
    ("from Trade within 'yesterday', 'today'", "write yyyy-MM-dd"),
    (f"from Trade on symbol == Names.symbol in Names {MARCH}", "outside"),
    (f"from Told {MARCH} select symbol insert into Names", "remove it"),
    ("from Trade within '2026-03-01', '2026-03-02' per 'days'", "remove it"),
    ("from Trade within '2026-04-01', '2026-03-01'", None),
    (f"from Never {MARCH}", "@archive"),
    (f"from Behind {MARCH}", "@archive"),
    (f"from Between {MARCH}", "Give it a sink, as @sink(type='log'), or ask a stream"),
]


@pytest.mark.parametrize(("query", "hint"), WRONG)
def test_what_cannot_be_asked_is_said(place: Place, query: str, hint: str | None) -> None:
    """With a hint, and whose fault it is."""
    answer = asked(place, query)
    assert answer.error is not None
    assert answer.user_error
    assert hint is None or hint in (answer.hint or ""), answer


def test_archive_is_no_remedy_for_a_stream_in_between(place: Place) -> None:
    """Its rows are not published, whatever stands in front of it; with a sink they are."""
    query = f"from Between {MARCH}"
    assert "@archive" not in (asked(place, query).hint or "@archive")
    mended = TEXT.replace(
        " define stream Never", " @sink(type='log') define stream Between (symbol string);"
        " define stream Never",
    )  # fmt: skip
    assert "Between" in plan_of(mended).exported
    assert "@archive" in (asked(place, query, text=mended).hint or "")


def test_limits_and_other_attributes(place: Place, tmp_path: Path) -> None:
    """Too many rows, and a stream that was another one in that time."""
    answer = asked(place, f"from Trade {MARCH} select n", rows=39)
    assert "more than 39 rows" in (answer.error or "")
    changed = TEXT.replace("n int, what object", "n long, what object")
    changed = changed.replace("double, n int)", "double, n long)")
    answer = asked(place, f"from Trade {MARCH} select n", text=changed)
    assert "had other attributes in that time" in (answer.error or "")


@pytest.mark.processes
async def test_it_is_a_process_of_its_own_with_limits(place: Place) -> None:
    """The answer comes from it, and it is ended in time."""
    settings = load_settings({"LOCKSTEP_ARCHIVE__FOLDER": place.folder}).archive
    plan, query = plan_of(TEXT), f"from Trade {MARCH} select count() as n"
    answer = await remember(plan, query, NOW_MS, settings)
    assert (answer.rows, answer.columns) == ([[40]], [("n", "long")])
    with pytest.raises(AskedTooMuchError, match="more than"):
        await remember(plan, query, NOW_MS, settings.model_copy(update={"query_timeout_ms": 10}))
    with pytest.raises(HistoryError, match="nothing is archived"):
        await remember(plan, query, NOW_MS, load_settings({}).archive)
    task = asyncio.ensure_future(remember(plan, query, NOW_MS, settings))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_the_processor_does_not_answer_for_the_archive() -> None:
    """Nor does an app in a test, which has none."""
    with VirtualApp(TEXT) as app, pytest.raises(SiddhiQLError, match="its archive is asked"):
        app.on_demand(f"from Trade {MARCH}")
