"""What is archived comes back as it stood in the log; readers that know nothing of us see it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from lockstep.archive.erasing import erase
from lockstep.archive.events_in import rows_of
from lockstep.archive.keeping import SideArchive, Upkeep, keep_up
from lockstep.archive.listing import listed
from lockstep.archive.naming import INPUT, OUTPUT, Logs, column_names, folder_name, name_of
from lockstep.archive.place import Place
from lockstep.archive.reading import InputReader, Span, lives_of
from lockstep.archive.rows_out import MERGED, OutputRows, Published, published_rows
from lockstep.archive.tables import Table
from lockstep.events import (
    Attribute,
    AttributeType,
    EventsRecord,
    InputEvent,
    Operation,
    OutputId,
    OutputRecord,
    OutputRow,
    StreamSchema,
    TickRecord,
    UnavailableError,
    WriteRecord,
)
from lockstep.events.codec import EncodedEntry, encode_record

SCHEMA = StreamSchema(
    "S",
    (
        Attribute("a", AttributeType.STRING),
        Attribute("A", AttributeType.INT),
        Attribute("_position", AttributeType.DOUBLE),
        Attribute("o", AttributeType.OBJECT),
    ),
)
DAY_MS = 86_400_000
LOGS = Logs("My App", 77)


def entries(*, days: int = 3) -> list[EncodedEntry]:
    """Records of all kinds: chunks, an empty one among them, ids, own times, ticks, writes."""
    records: list[EncodedEntry] = []

    def add(payload: bytes) -> None:
        records.append(EncodedEntry(len(records) + 1, payload))

    for day in range(days):
        clock_ms = 1_700_000_000_000 + day * DAY_MS
        events = tuple(
            InputEvent(clock_ms + at, (f"k{at}", at, at / 4, {"x": [at]}), f"id{day}.{at}")
            for at in range(5)
        )
        chunks = (events[:2], (), events[2:])
        record = EventsRecord("S", clock_ms, chunks, has_timestamps=True)
        add(encode_record(record, {"S": SCHEMA}, send_id=b"0123456789abcdef"))
        add(encode_record(TickRecord(clock_ms + 1)))
        plain = EventsRecord("S", clock_ms, ((InputEvent(clock_ms, ("k0", None, None, None)),),))
        add(encode_record(plain, {"S": SCHEMA}))
        add(encode_record(WriteRecord("delete T on a == 'k'", f"w{day}", clock_ms + 2)))
    return records


def archived(tmp_path: Path, found: list[EncodedEntry]) -> SideArchive:
    """Written in batches of three."""
    side = SideArchive(Place(str(tmp_path)), LOGS, INPUT)
    for start in range(0, len(found), 3):
        side.write(rows_of(found[start : start + 3]))
    return side


def test_the_log_comes_back(tmp_path: Path) -> None:
    """Record by record, also when files were put together in between."""
    found = entries()
    side = archived(tmp_path, found)
    assert side.reached() == len(found)
    for _ in range(2):
        reader = InputReader(side.place, LOGS)
        assert reader.bounds() == Span(0, len(found))
        back = [one for part in reader.slices(Span(0, len(found)), 4) for one in part]
        assert [one.entry.position for one in back] == [one.position for one in found]
        assert not any(one.missing for one in back)
        assert [one.entry.record() for one in back] == [one.record() for one in found]
        sends = [getattr(one.entry.header, "send_id", b"") for one in back]
        assert sends == [getattr(one.header, "send_id", b"") for one in found]
        done = sum(
            keep_up(side, lambda _: None, None, 0, file_bytes=1_000_000, keep_ms=0), Upkeep()
        )
    assert done.compacted == 0  # the first time has left nothing to do


def test_a_reader_keeps_its_version(tmp_path: Path) -> None:
    """Files put together meanwhile do not change what it reads, as long as they are kept."""
    side = archived(tmp_path, entries())
    reader = InputReader(side.place, LOGS)
    sum(keep_up(side, lambda _: None, None, 0, file_bytes=1_000_000, keep_ms=DAY_MS), Upkeep())
    side.write(rows_of([EncodedEntry(13, encode_record(TickRecord(1)))]))
    back = [one for part in reader.slices(reader.bounds()) for one in part]
    assert len(back) == 12


def test_what_is_archived_while_a_reader_is_made_is_not_taken_for_erased(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writers write the streams first and `records` last. A reader looks at `records` first."""
    found = entries()
    side = SideArchive(Place(str(tmp_path)), LOGS, INPUT)
    batches = [found[:4], found[4:8], found[8:]]
    side.write(rows_of(batches.pop(0)))
    version = Table.version

    def and_then_a_batch(table: Table) -> int | None:
        seen = version(table)
        if batches:
            side.write(rows_of(batches.pop(0)))
        return seen

    monkeypatch.setattr(Table, "version", and_then_a_batch)
    reader = InputReader(side.place, LOGS)
    assert not batches
    assert reader.bounds() == Span(0, 4)
    back = [one for part in reader.slices(reader.bounds()) for one in part]
    assert [(one.entry.position, one.missing) for one in back] == [(at, 0) for at in range(1, 5)]
    later_ms = 1_700_000_000_000 + DAY_MS
    assert reader.first_at(later_ms, is_playback=True) is None
    assert reader.first_at(later_ms - DAY_MS, is_playback=True) == 1


def test_nothing_is_written_twice(tmp_path: Path) -> None:
    """Batches that overlap, cut elsewhere, or broke off behind the streams."""
    found = entries()
    side = SideArchive(Place(str(tmp_path)), LOGS, INPUT)
    first = rows_of(found[:5])
    assert side.write(first) == 0
    there = len(first.records) + sum(len(rows) for rows in first.streams.values())
    assert side.write(rows_of(found[:7])) == there  # it says how much it left out
    torn = rows_of(found[7:10])
    for (stream, shape), rows in torn.streams.items():
        side.table(stream, shape).append(rows, LOGS.transaction, torn.last)
    side.write(rows_of(found[7:9]))
    side.write(rows_of(found[9:]))
    assert counted(side) == [(one, 1) for one in range(1, len(found) + 1)]
    reader = InputReader(side.place, LOGS)
    back = [one for part in reader.slices(reader.bounds()) for one in part]
    assert [one.entry.record() for one in back] == [one.record() for one in found]


def test_a_mount_that_goes_away_in_the_midst(tmp_path: Path) -> None:
    """Whoever has begun makes no second archive in the empty folder below."""
    found = entries()
    side = archived(tmp_path / "archive", found[:6])
    (tmp_path / "archive").rename(tmp_path / "away")
    with pytest.raises(UnavailableError, match="gone"):
        side.write(rows_of(found[6:]), is_begun=True)
    assert side.records.version() is None
    shutil.rmtree(tmp_path / "archive")
    (tmp_path / "away").rename(tmp_path / "archive")
    with pytest.raises(UnavailableError, match="gone"):
        side.records.confirm(LOGS.transaction, 7)
    side.write(rows_of(found[6:]), is_begun=True)
    assert counted(side) == [(one, 1) for one in range(1, len(found) + 1)]


def test_what_was_appended_is_looked_up_where_it_stands(tmp_path: Path) -> None:
    """Below a mount that is gone, the commit of an append is there and none before it."""
    side = archived(tmp_path / "archive", entries()[:6])
    log = Path(side.records.address) / "_delta_log"
    table = side.records
    row = rows_of(entries()[:7]).records[6:]
    assert table.append(row, LOGS.transaction, 7, is_begun=True) == 1
    table.confirm(LOGS.transaction, 7)
    newest = max(log.glob("*.json"))
    for missing in (newest, newest.with_name(f"{int(newest.stem) - 1:020}.json")):
        missing.rename(tmp_path / "aside")
        with pytest.raises(UnavailableError, match=r"gone|away"):
            table.confirm(LOGS.transaction, 7)
        (tmp_path / "aside").rename(missing)
    table.confirm(LOGS.transaction, 7)
    with pytest.raises(UnavailableError, match="gone"):
        table.confirm(LOGS.transaction, 8)
    newest.write_text("no commit")
    with pytest.raises(UnavailableError, match="away"):
        table.confirm(LOGS.transaction, 7)


def counted(side: SideArchive) -> list[tuple[int, int]]:
    """How often each position stands there, as DuckDB reads it by the tables' own log."""
    sql = "select position, count(*) from read_parquet($1) group by 1 order by 1"
    return duckdb.execute(sql, [live_files(Path(side.records.address))]).fetchall()


def live_files(table: Path) -> list[str]:
    """What the transaction log of a table says that its files are."""
    files: dict[str, None] = {}
    for commit in sorted((table / "_delta_log").glob("*.json")):
        for line in commit.read_text().splitlines():
            action = json.loads(line)
            if "add" in action:
                files[str(table / action["add"]["path"])] = None
            if "remove" in action:
                files.pop(str(table / action["remove"]["path"]), None)
    return list(files)


def test_erasing_leaves_nothing(tmp_path: Path) -> None:
    """In no file, not in one that an append left; and the fold says what is missing."""
    side = archived(tmp_path, entries())
    ((_, table),) = side.tables()
    stray = Path(table.address) / "day=2023-11-14" / "stray.parquet"
    stray.write_bytes(b"k3 of an append that never ended")
    assert b"k3" in everything(tmp_path)
    assert erase(side.place, side.logs.app, "S", "a = 'k3'").rows == 3
    assert b"k3" not in everything(tmp_path)
    reader = InputReader(side.place, LOGS)
    back = [one for part in reader.slices(reader.bounds()) for one in part]
    assert [one.missing for one in back] == [1, 0, 0, 0] * 3
    assert erase(side.place, side.logs.app, "Other", "a = 'k3'").rows == 0


def everything(folder: Path) -> bytes:
    """All that DuckDB finds in any Parquet file, and the bytes of all files."""
    files = [one for one in folder.rglob("*") if one.is_file()]
    values: list[object] = []
    for one in files:
        if one.suffix == ".parquet" and one.name != "stray.parquet":
            values += duckdb.execute("select * from read_parquet($1)", [str(one)]).fetchall()
    return repr(values).encode() + b"".join(one.read_bytes() for one in files)


def test_days_over_age_go(tmp_path: Path) -> None:
    """As the stream says; the records stay as long as anything does."""
    side = archived(tmp_path, entries())
    now_ms = 1_700_000_000_000 + 2 * DAY_MS
    done = sum(
        keep_up(side, lambda _: DAY_MS, None, now_ms, file_bytes=1_000_000, keep_ms=0), Upkeep()
    )
    assert done.expired == 6
    assert len(counted(side)) == 12
    sum(keep_up(side, lambda _: DAY_MS, DAY_MS, now_ms, file_bytes=1_000_000, keep_ms=0), Upkeep())
    assert len(counted(side)) == 8


def test_a_table_that_cannot_be_read_keeps_no_other_from_being_looked_after(
    tmp_path: Path,
) -> None:
    """It is told in the end."""
    side = archived(tmp_path, entries())
    broken = side.table("Broken", "i-1")
    broken.append(pa.table({"day": ["2023-11-14"], "_position": [1], "_row": [0]}), "t", 1)
    for commit in Path(broken.address, "_delta_log").glob("*.json"):
        commit.write_text("{")
    done: list[Upkeep] = []
    with pytest.raises(UnavailableError, match="Broken"):
        done.extend(keep_up(side, lambda _: None, None, 0, file_bytes=1_000_000, keep_ms=0))
    assert len(done) == 3
    assert sorted(bool(one.compacted) for one in done) == [False, True, True]


def test_folders_of_other_names_are_no_lives(tmp_path: Path) -> None:
    """Somebody has kept a copy beside them."""
    side = archived(tmp_path, entries())
    folder = tmp_path / folder_name(LOGS.app)
    for name in ("77.bak", "old", "\u0667"):
        (folder / name).mkdir()
    assert lives_of(side.place, LOGS.app) == [LOGS]
    assert {one.since_ms for one in listed(side.place)} == {77}


def test_a_merged_log_that_is_cut_otherwise(tmp_path: Path) -> None:
    """A writer dies between a stream's rows and the records; the next one reads other records."""
    side = SideArchive(Place(str(tmp_path)), LOGS, OUTPUT)

    def cut(*ends: int) -> OutputRows:
        starts = [0, *ends]
        return published_rows(
            [
                Published(MERGED + end, OutputRecord(0, tuple(rows[start:end])))
                for start, end in zip(starts, ends, strict=False)
            ],
            0,
        )

    rows = [OutputRow(OutputId(at + 1, 0), "Out", 5, (at,)) for at in range(9)]
    torn = cut(5)
    for (stream, shape), found in torn.streams.items():
        side.table(stream, shape).append(found, side.transaction, torn.last)
    side.write(cut(9))
    (table,) = [one for _, one in side.tables()]
    positions = [one for batch in table.scan() for one in batch.column("_position").to_pylist()]
    assert sorted(positions) == list(range(1, 10))


def test_rows_of_two_streams() -> None:
    """Each in its own table, in the order of identities, with what it does at its destination."""
    rows = [
        OutputRow(OutputId(3, 0), "One", 9, (1,)),
        OutputRow(OutputId(3, 1), "T", 9, ("k", 2.5), Operation.UPSERT),
        OutputRow(OutputId(4, 0), "One", 10, (2,)),
    ]
    found = published_rows([Published(7, OutputRecord(2, rows))], 0)
    tables = {stream: table.to_pylist() for (stream, _), table in found.streams.items()}
    assert [(one["_position"], one["_ordinal"]) for one in tables["One"]] == [(3, 0), (4, 0)]
    assert [one["_operation"] for one in tables["T"]] == [1]
    assert found.records.to_pylist()[0]["rows"] == 3


@pytest.mark.parametrize("name", ["Flights", "records", "_x", "!Over", "a b", "Äpfel", "~", "x~y"])
def test_names_of_folders(name: str) -> None:
    """Any name is a folder, and comes back."""
    folder = folder_name(name)
    assert name_of(folder) == name
    assert folder not in ("records", "texts")
    assert not folder.startswith(("_", "."))


def test_names_of_columns() -> None:
    """No two are alike where case does not count, and none is one of ours."""
    assert column_names(["a", "A", "_position", "x y"]) == ["a", "A_2", "_position_2", "x_y"]
