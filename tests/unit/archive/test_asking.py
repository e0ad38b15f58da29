"""The past asked by SQL without Spark: what it answers, what it refuses, and how it is ended."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import msgspec
import pytest

from lockstep.archive.answering import answered, encoded
from lockstep.archive.asking import AskedTooMuchError, ask
from lockstep.archive.events_in import rows_of
from lockstep.archive.keeping import SideArchive
from lockstep.archive.listing import listed
from lockstep.archive.naming import INPUT, Logs
from lockstep.archive.place import Place
from lockstep.archive.questions import Answer, Question
from lockstep.events import Attribute, AttributeType, EventsRecord, InputEvent, StreamSchema
from lockstep.events.codec import EncodedEntry, encode_record
from lockstep.settings import load_settings

TIME_MS = 1_700_000_000_000
SCHEMA = StreamSchema(
    "Reading",
    (Attribute("roomName", AttributeType.STRING), Attribute("v", AttributeType.INT)),
)
SETTINGS = load_settings({}).archive
ENDLESS = (
    "with recursive n as (select 1 as i union all select i + 1 from n) select max(i) as top from n"
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Four events of one app, and one of another."""
    place = Place(str(tmp_path_factory.mktemp("archive")))
    for app, count in (("Rooms", 4), ("Other", 1)):
        entries = [
            EncodedEntry(at + 1, encode_record(
                EventsRecord("Reading", TIME_MS, ((InputEvent(TIME_MS, (f"r{at % 2}", at)),),)),
                {"Reading": SCHEMA},
            ))
            for at in range(count)
        ]  # fmt: skip
        SideArchive(place, Logs(app, 7), INPUT).write(rows_of(entries))
    return place


def question(place: Place, sql: str, rows: int = 10) -> Question:
    """Of the app Rooms."""
    return Question(place.folder, {}, "Rooms", sql, rows, 0, 0)


def asked(place: Place, sql: str, rows: int = 10) -> Answer:
    """In this process, so without its limits."""
    return answered(question(place, sql, rows))


def test_it_answers(place: Place) -> None:
    """Names in capitals need no quotes; order, and a word whether there is more."""
    sql = "select roomName, sum(v) as total from Reading group by roomName order by total desc;"
    found = asked(place, sql)
    assert (found.columns, found.rows) == (["roomName", "total"], [["r1", 4], ["r0", 2]])
    assert not found.more
    found = asked(place, "select v from Reading__in order by v desc -- the last ones", 3)
    assert (found.rows, found.more) == ([[3], [2], [1]], True)
    assert asked(place, "select count(*) from Reading where _time >= '2023-11-14'").rows == [[4]]


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("select to_timestamp_nanos(1700000000000000123)", "2023-11-14T22:13:20"),
        ("select arrow_cast(1700000000000000123, 'Timestamp(Nanosecond, Some(\"UTC\"))')",
         "2023-11-14T22:13:20Z"),
        ("select to_timestamp_millis(9000000000000000)", "<value out of range: 9000000000000000>"),
        ("select x'00ff'", "00ff"),
        ("select [to_timestamp_nanos(1700000000000000000)]", ["2023-11-14 22:13:20"]),
    ],
)  # fmt: skip
def test_values_that_python_does_not_have(place: Place, sql: str, value: object) -> None:
    """Times finer than a microsecond, or far beyond its calendar: an answer all the same."""
    answer = msgspec.json.decode(encoded(question(place, f"{sql} as found")))
    assert answer["rows"] == [[value]]


def test_a_time_that_nobody_can_hold_spoils_no_other(tmp_path: Path) -> None:
    """A sender gave its own time in microseconds."""
    far = Place(str(tmp_path))
    for at, time_ms in enumerate((TIME_MS, TIME_MS * 1_000_000), 1):
        event = InputEvent(time_ms, ("r", at))
        record = EventsRecord("Reading", TIME_MS, ((event,),), has_timestamps=True)
        entry = EncodedEntry(at, encode_record(record, {"Reading": SCHEMA}))
        SideArchive(far, Logs("Rooms", 7), INPUT).write(rows_of([entry]))
    sql = "select v, _time from Reading order by v"
    found = msgspec.json.decode(encoded(question(far, sql)))
    assert found["rows"] == [
        [1, "2023-11-14T22:13:20"], [2, f"<value out of range: {TIME_MS * 1_000_000}>"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("select * from Nowhere", "Nowhere"),
        ("drop table Reading", "Expected"),
        ("insert into Reading select * from Reading", "INSERT"),
        ("copy (select 1) to '/tmp/x.csv'", "Expected"),
        ("select 1) as a; drop table _table_0; select * from (select 1", "single SQL statement"),
        ("select * from '/etc/passwd'", "not found"),
        ("select * from information_schema.tables", "not found"),
    ],
)
def test_it_only_reads(place: Place, sql: str, why: str) -> None:
    """Tables of that app alone, no files, no second statement."""
    answer = asked(place, sql)
    assert answer.error is not None
    assert why in answer.error
    assert not answer.retryable
    assert asked(place, "select count(*) from Reading").rows == [[4]]


@pytest.mark.processes
async def test_it_is_ended_in_time(place: Place) -> None:
    """Its process has a time."""
    settings = SETTINGS.model_copy(update={"query_timeout_ms": 200})
    with pytest.raises(AskedTooMuchError, match=r"more than 0\.2 s"):
        await ask(place, "Rooms", ENDLESS, 10, settings)


@pytest.mark.processes
async def test_a_process_of_its_own(place: Place) -> None:
    """It answers as here; what it refuses is the asker's fault."""
    answer = await ask(place, "Rooms", "select max(v) as top from Reading", 10, SETTINGS)
    assert answer.rows == [[3]]
    with pytest.raises(AskedTooMuchError, match="Nowhere"):
        await ask(place, "Rooms", "select * from Nowhere", 10, SETTINGS)


LARGE = "select repeat('x', 200000) as x from generate_series(1, 10)"


@pytest.mark.processes
async def test_an_answer_has_a_limit_of_bytes() -> None:
    """Who asked takes no more, and the process is ended."""
    settings = SETTINGS.model_copy(update={"query_bytes": 1_048_576})
    place = Place("/nowhere")
    with pytest.raises(AskedTooMuchError, match=r"1048576 bytes \(archive.query_bytes"):
        await ask(place, "Rooms", LARGE, 10, settings)
    assert len((await ask(place, "Rooms", LARGE, 5, settings)).rows) == 5


@pytest.mark.processes
async def test_a_caller_that_gives_up_ends_it(place: Place) -> None:
    """The process is gone with its caller."""
    work = asyncio.create_task(ask(place, "Rooms", ENDLESS, 10, SETTINGS))
    await asyncio.sleep(0)
    while not (children := _children()):
        await asyncio.sleep(0.01)
    work.cancel()
    await asyncio.wait({work})
    assert work.cancelled()
    assert not children & _children()


def _children() -> set[int]:
    """Processes of this one that answer questions."""
    found = set()
    for one in Path("/proc").glob("[0-9]*"):
        try:
            words = (one / "cmdline").read_bytes().split(b"\0")
            parent = int((one / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if b"lockstep.archive.answering" in words and parent == os.getpid():
            found.add(int(one.name))
    return found


@pytest.mark.parametrize("app", ["x" * 5_000, "ß" * 100, "../Rooms", "Rooms/0", "\0", "/", ".."])
def test_an_app_of_any_name_has_nothing_archived(place: Place, app: str) -> None:
    """Also one that no folder can be called, and one that looks like a way out."""
    assert list(listed(place, app)) == []
