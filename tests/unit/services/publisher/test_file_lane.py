"""The file sink: each row once in the file, however lines look and whenever it stopped."""

from __future__ import annotations

import errno
import fcntl
import json
import shutil
from pathlib import Path

import pytest

from lockstep.events import UnavailableError
from lockstep.mapping import MessageWriter
from lockstep_services.publisher.contract import SinkBinding
from lockstep_services.publisher.sinks.file import FileLane
from tests.unit.services.publisher.parts import row, sink_of

MAPS = {
    "csv": "@map(type='csv', header='true')",
    "json": "@map(type='json')",
    "none": "@map(type='passThrough')",
    "cloud": "@map(type='cloudevents', event.source='/shop')",
}


def lane(path: Path, kind: str = "csv", **more: str) -> FileLane:
    """A file sink as the publisher builds it."""
    schema, annotation = sink_of(
        f"@sink(type='file', file.uri='{path}', {MAPS[kind]}) define stream S (k string, v int);"
    )
    options = {"file.uri": f"file:{path}", **more}
    return FileLane(
        SinkBinding("A", schema, "S.0.file"), MessageWriter(schema, annotation), options
    )


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("csv", "k,v\na,1\nb,2\n"),
        ("json", '{"event":{"k":"a","v":1}}\n{"event":{"k":"b","v":2}}\n'),
        (
            "none",
            '{"id":"1.0","timestamp_ms":1001,"event":{"k":"a","v":1}}\n'
            '{"id":"2.0","timestamp_ms":1002,"event":{"k":"b","v":2}}\n',
        ),
    ],
)
async def test_lines_are_what_the_map_makes_of_rows(
    tmp_path: Path, kind: str, expected: str
) -> None:
    """A line each; without a map with identity and time."""
    path = tmp_path / "deep" / "out"
    file = lane(path, kind)
    await file.open()
    await file.send([row(1, "a", 1), row(2, "b", 2)])
    await file.close()
    assert path.read_text() == expected


async def test_cloudevents_bear_the_identities_of_rows(tmp_path: Path) -> None:
    """As their id, which is the same when a row is sent again."""
    path = tmp_path / "out"
    file = lane(path, "cloud")
    await file.open()
    await file.send([row(1, "a", 1), row(1, "b", 2, ordinal=1)])
    await file.close()
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert [event["id"] for event in found] == ["A/main/0/1.0", "A/main/0/1.1"]
    assert [event["data"] for event in found] == [{"k": "a", "v": 1}, {"k": "b", "v": 2}]


async def test_repeated_rows_stand_in_it_once(tmp_path: Path) -> None:
    """In this process and in the next; the header stands at the top alone."""
    path = tmp_path / "out"
    for rows in ([row(1, "a", 1)], [row(1, "a", 1), row(2, "b", 2)], [row(2, "b", 2)]):
        file = lane(path)
        await file.open()
        await file.send(rows)
        await file.send(rows)
        await file.close()
    assert path.read_text() == "k,v\na,1\nb,2\n"


@pytest.mark.parametrize("kept_bytes", [8, 9, 10, 11])
async def test_a_torn_append_is_taken_back(tmp_path: Path, kept_bytes: int) -> None:
    """The note stands before the lines: what is missing of them comes again, whole."""
    path = tmp_path / "out"
    file = lane(path)
    await file.open()
    await file.send([row(1, "a", 1)])
    await file.send([row(2, "b", 2), row(3, "c", 3)])
    await file.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:kept_bytes])
    again = lane(path)
    await again.open()
    assert not again.has(row(2, "b", 2))
    await again.send([row(1, "a", 1), row(2, "b", 2), row(3, "c", 3)])
    await again.close()
    assert path.read_bytes() == whole


@pytest.mark.parametrize("kept_bytes", [8, 10, 15])
async def test_a_torn_append_is_taken_back_in_a_copy(tmp_path: Path, kept_bytes: int) -> None:
    """On another disk the file has another number: it is known by what stands in it."""
    (tmp_path / "here").mkdir()
    path = tmp_path / "here" / "out"
    file = lane(path)
    await file.open()
    await file.send([row(1, "a", 1)])
    await file.send([row(2, "b", 2), row(3, "c", 3)])
    await file.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:kept_bytes])
    copied = shutil.copytree(tmp_path / "here", tmp_path / "there") / "out"
    again = lane(copied)
    await again.open()
    await again.send([row(2, "b", 2), row(3, "c", 3)])
    await again.close()
    assert copied.read_bytes() == whole


async def test_a_new_file_of_somebody_else_is_not_cut(tmp_path: Path) -> None:
    """The file of the note was taken away: another one at its path keeps its bytes."""
    path = tmp_path / "out"
    file = lane(path)
    await file.open()
    await file.send([row(1, "a", 1)])
    await file.send([row(2, "b", 2), row(3, "c", 3)])
    await file.close()
    path.rename(tmp_path / "aside")
    path.write_bytes(b"k,v\nx,7\ny")
    (tmp_path / "aside").unlink()
    again = lane(path)
    await again.open()
    await again.send([row(4, "d", 4)])
    await again.close()
    assert path.read_bytes() == b"k,v\nx,7\ny\nd,4\n"


async def test_a_crash_before_the_note_changes_nothing(tmp_path: Path) -> None:
    """The rows come again, once."""
    path = tmp_path / "out"
    file = lane(path)
    await file.open()
    await file.send([row(1, "a", 1)])
    await file.close()
    (note,) = [each for each in tmp_path.iterdir() if each != path and each.suffix != ".lock"]
    note.with_name(f"{note.name}.new").write_bytes(b'{"begin":')
    again = lane(path)
    await again.open()
    await again.send([row(1, "a", 1), row(2, "b", 2)])
    await again.close()
    assert path.read_text() == "k,v\na,1\nb,2\n"


async def test_lines_of_others_and_rotation(tmp_path: Path) -> None:
    """What stood there stays; a file that was moved away begins anew behind the last row."""
    path = tmp_path / "out"
    path.write_text("theirs\n")
    file = lane(path, "json")
    await file.open()
    await file.send([row(1, "a", 1)])
    await file.close()
    assert path.read_text() == 'theirs\n{"event":{"k":"a","v":1}}\n'
    path.rename(tmp_path / "out.1")
    again = lane(path, "json")
    await again.open()
    await again.send([row(1, "a", 1), row(2, "b", 2)])
    await again.close()
    assert path.read_text() == '{"event":{"k":"b","v":2}}\n'


async def test_a_log_that_begins_again(tmp_path: Path) -> None:
    """Its identities are small again, and its rows are new."""
    path = tmp_path / "out"
    file = lane(path, "json")
    await file.open()
    await file.send([row(7, "a", 1)])
    file.begin_again()
    await file.send([row(1, "b", 2)])
    await file.close()
    assert path.read_text().count("\n") == 2


async def test_lines_without_separators(tmp_path: Path) -> None:
    """As the map writes them."""
    path = tmp_path / "out"
    file = lane(path, "json", **{"add.line.separator": "false"})
    await file.open()
    await file.send([row(1, "a", 1), row(2, "b", 2)])
    await file.close()
    assert path.read_text() == '{"event":{"k":"a","v":1}}{"event":{"k":"b","v":2}}'


async def test_rows_that_were_not_separated_stay_when_lines_are_wanted(tmp_path: Path) -> None:
    """The first line is all of them, however often the sink is opened; a torn row is mended."""
    path = tmp_path / "out"
    for separates, number in (("false", 1), ("false", 2), ("true", 3), ("true", 4)):
        file = lane(path, "json", **{"add.line.separator": separates})
        await file.open()
        await file.send([row(number, "a", number)])
        await file.close()
    lines = [f'{{"event":{{"k":"a","v":{number}}}}}' for number in range(1, 5)]
    whole = f"{lines[0]}{lines[1]}\n{lines[2]}\n{lines[3]}\n"
    assert path.read_text() == whole
    path.write_text(whole[:-3])
    file = lane(path, "json")
    await file.open()
    await file.send([row(3, "a", 3), row(4, "a", 4)])
    await file.close()
    assert path.read_text() == whole


async def test_the_last_line_of_others_stays_without_an_end(tmp_path: Path) -> None:
    """Also when they add one behind ours, however long it is."""
    path, theirs = tmp_path / "out", "x" * 2_000_000
    path.write_text(theirs)
    for number, more in ((1, theirs), (2, "")):
        file = lane(path, "json")
        await file.open()
        await file.send([row(number, "a", number)])
        await file.close()
        with path.open("a") as appended:
            appended.write(more)
    lines = [f'{{"event":{{"k":"a","v":{number}}}}}' for number in (1, 2)]
    assert path.read_text() == f"{theirs}\n{lines[0]}\n{theirs}\n{lines[1]}\n"


async def test_an_open_file_that_is_renamed_is_followed_by_a_new_one(tmp_path: Path) -> None:
    """As logrotate does it; each file has its header, and no row stands in two."""
    path = tmp_path / "out"
    file = lane(path)
    await file.open()
    await file.send([row(1, "a", 1)])
    path.rename(tmp_path / "out.1")
    await file.send([row(1, "a", 1), row(2, "b", 2)])
    path.unlink()
    await file.send([row(3, "c", 3)])
    await file.close()
    assert (tmp_path / "out.1").read_text() == "k,v\na,1\n"
    assert path.read_text() == "k,v\nc,3\n"


@pytest.mark.parametrize("kept_bytes", [0, 3, 9, 12])
async def test_a_file_that_was_renamed_after_a_crash_is_mended_in_its_new_place(
    tmp_path: Path, kept_bytes: int
) -> None:
    """Whole: its rows are there, though the note says that the file begins with them. Torn: they
    come again, in the new one."""
    path, moved = tmp_path / "out", tmp_path / "out.1"
    file = lane(path)
    await file.open()
    await file.send([row(1, "a", 1), row(2, "b", 2)])
    await file.close()
    whole = "k,v\na,1\nb,2\n"
    with path.open("r+b") as torn:
        torn.truncate(kept_bytes)
    path.rename(moved)
    again = lane(path)
    await again.open()
    await again.send([row(1, "a", 1), row(2, "b", 2), row(3, "c", 3)])
    await again.close()
    is_whole = kept_bytes == len(whole)
    assert moved.read_text() == (whole if is_whole else "")
    assert path.read_text() == ("k,v\nc,3\n" if is_whole else whole + "c,3\n")


async def test_a_disk_that_was_full_leaves_no_torn_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows come again behind what was whole."""
    path = tmp_path / "out"
    file = lane(path, "json")
    await file.open()
    await file.send([row(1, "a", 1)])
    whole = path.read_text()

    def full(_descriptor: int) -> None:
        if path.stat().st_size > len(whole):
            with path.open("r+b") as there:
                there.truncate(len(whole) + 5)
            raise OSError(28, "no space left on device")

    monkeypatch.setattr("lockstep_services.publisher.sinks.file.os.fsync", full)
    with pytest.raises(UnavailableError, match="no space"):
        await file.send([row(2, "b", 2)])
    monkeypatch.undo()
    await file.send([row(2, "b", 2)])
    await file.close()
    assert path.read_text() == whole + whole.replace('"a"', '"b"').replace("1}", "2}")


async def test_a_refused_row_does_not_take_the_header_along(tmp_path: Path) -> None:
    """The header belongs to the first line that is written."""
    path = tmp_path / "out"
    file = lane(path)
    await file.open()
    refused = await file.send([row(1, "a", 1), row(2, object(), 2)])
    good = [] if refused else [row(2, "b", 2)]
    await file.send([row(1, "a", 1), *good])
    await file.close()
    assert path.read_text().startswith("k,v\na,1\n")


async def test_a_publisher_that_was_replaced_writes_nothing_twice(tmp_path: Path) -> None:
    """It has read the note long ago, and was in the middle of a batch when the next one began."""
    path = tmp_path / "out"
    old, new = lane(path), lane(path)
    rows = [row(n, "k", n) for n in range(1, 6)]
    await old.open()
    await old.send(rows[:2])
    await new.open()
    await old.send(rows[2:4])
    await new.send(rows[2:])
    await old.send(rows[2:])
    for each in (old, new):
        await each.close()
    assert path.read_text() == "k,v\n" + "".join(f"k,{n}\n" for n in range(1, 6))


async def test_a_file_that_somebody_writes_to_is_tried_again(tmp_path: Path) -> None:
    """Nothing is cut or added under the hands of another publisher; its death frees the file."""
    path = tmp_path / "out"
    file = lane(path)
    await file.open()
    await file.send([row(1, "a", 1)])
    (lock,) = [each for each in tmp_path.iterdir() if each.suffix == ".lock"]
    with lock.open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(UnavailableError, match="another publisher"):
            await file.send([row(2, "b", 2)])
        with pytest.raises(UnavailableError, match="another publisher"):
            await lane(path).open()
    assert path.read_text() == "k,v\na,1\n"
    await file.send([row(2, "b", 2)])
    await file.close()
    assert path.read_text() == "k,v\na,1\nb,2\n"


async def test_a_file_that_could_not_be_opened_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when that happens behind a rotation, and more than once."""
    path = tmp_path / "out"
    one = lane(path)
    await one.open()
    await one.send([row(1, "a", 1)])
    path.rename(tmp_path / "old")
    path.write_bytes(b"foreign")

    def full(file: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("lockstep_services.publisher.sinks.file._end_last_line", full)
        for _ in range(2):
            with pytest.raises(UnavailableError, match="No space left"):
                await one.send([row(1, "a", 1), row(2, "b", 2)])
    await one.send([row(1, "a", 1), row(2, "b", 2)])
    await one.close()
    assert path.read_text() == "foreign\nb,2\n"


async def test_a_file_that_may_not_be_opened_behind_a_rotation_is_tried_again(
    tmp_path: Path,
) -> None:
    """What stands at its place is a folder meanwhile."""
    path = tmp_path / "out"
    one = lane(path, "json")
    await one.open()
    await one.send([row(1, "a", 1)])
    path.rename(tmp_path / "old")
    path.mkdir()
    for _ in range(2):
        with pytest.raises(UnavailableError, match="directory"):
            await one.send([row(2, "b", 2)])
    path.rmdir()
    await one.send([row(1, "a", 1), row(2, "b", 2)])
    await one.close()
    assert path.read_text() == '{"event":{"k":"b","v":2}}\n'
