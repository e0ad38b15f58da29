"""The file sink: each row once in the file, however lines look and whenever it stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.operators.mapping import MessageWriter
from services.publisher.contract import SinkPlace
from services.publisher.sinks.file import FileLane
from tests.unit.services.publisher.parts import row, sink_of

MAPS = {
    "csv": "@map(type='csv', header='true')",
    "json": "@map(type='json')",
    "none": "@map(type='passThrough')",
}


def lane(path: Path, kind: str = "csv", **more: str) -> FileLane:
    """A file sink as the publisher builds it."""
    schema, annotation = sink_of(
        f"@sink(type='file', file.uri='{path}', {MAPS[kind]}) define stream S (k string, v int);"
    )
    options = {"file.uri": f"file:{path}", **more}
    return FileLane(SinkPlace("A", schema, "S.0.file"), MessageWriter(schema, annotation), options)


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


async def test_a_crash_before_the_note_changes_nothing(tmp_path: Path) -> None:
    """The rows come again, once."""
    path = tmp_path / "out"
    file = lane(path)
    await file.open()
    await file.send([row(1, "a", 1)])
    await file.close()
    (note,) = [each for each in tmp_path.iterdir() if each != path]
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
