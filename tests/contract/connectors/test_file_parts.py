"""@source(type='file', mode='binary.chunked') on a real directory: parts of files, in order."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from lockstep.clock import SystemClock
from lockstep.connectors.file.source import FileSource
from lockstep.sources import Place, Received

PLACE = Place("App", "In", 0, "127.0.0.1", SystemClock())
BYTES = bytes(range(256)) * 4


def opened(folder: Path, more: Mapping[str, str]) -> FileSource:
    """A source of a folder's files."""
    return FileSource({"dir.uri": f"file:{folder}", **more}, PLACE)


async def taken(source: FileSource, max_messages: int = 2) -> list[Received]:
    """What is there, acknowledged."""
    found: list[Received] = []
    while some := await source.read(max_messages=max_messages, wait_ms=1):
        for each in some:
            await each.acknowledge()
        found += some
    await source.close()
    return found


async def test_a_file_comes_in_numbered_parts_of_one_size(tmp_path: Path) -> None:
    """The last one is as long as the rest, and says that it is; an empty file has no part."""
    folder, done = tmp_path / "in", tmp_path / "done"
    folder.mkdir()
    (folder / "a.bin").write_bytes(BYTES[:1000])
    (folder / "b.bin").write_bytes(b"")
    (folder / "c.bin").write_bytes(BYTES[:800])
    more = {
        "mode": "binary.chunked", "buffer.size": "400",
        "action.after.process": "move", "move.after.process": str(done),
    }  # fmt: skip
    found = await taken(opened(folder, more))
    names = ("file.name", "sequence.number", "content.length", "eof")
    assert [tuple(each.properties[name] for name in names) for each in found] == [
        ("a.bin", "1", "1000", "false"),
        ("a.bin", "2", "1000", "false"),
        ("a.bin", "3", "1000", "true"),
        ("c.bin", "1", "800", "false"),
        ("c.bin", "2", "800", "true"),
    ]
    assert [len(each.payload) for each in found] == [400, 400, 200, 400, 400]
    assert b"".join(each.payload for each in found) == BYTES[:1000] + BYTES[:800]
    assert sorted(path.name for path in done.iterdir()) == ["a.bin", "b.bin", "c.bin"]


async def test_after_a_death_the_parts_go_on_with_their_numbers(tmp_path: Path) -> None:
    """What was not acknowledged comes again under the same id."""
    (tmp_path / "a.bin").write_bytes(BYTES)
    more = {"mode": "binary.chunked", "buffer.size": "100", "action.after.process": "keep"}
    source = opened(tmp_path, more)
    first = await source.read(max_messages=3, wait_ms=1)
    for each in first:
        await each.acknowledge()
    lost = await source.read(max_messages=3, wait_ms=1)
    await source.close()
    again = await taken(opened(tmp_path, more))
    assert [each.id for each in again[:3]] == [each.id for each in lost]
    numbers = [int(each.properties["sequence.number"]) for each in [*first, *again]]
    assert numbers == list(range(1, 12))
    assert b"".join(each.payload for each in [*first, *again]) == BYTES


async def test_the_mode_regex_without_an_expression_gives_lines(tmp_path: Path) -> None:
    """As in the older product."""
    (tmp_path / "a").write_text("one\ntwo\n")
    found = await taken(opened(tmp_path, {"mode": "regex"}))
    assert [each.payload for each in found] == [b"one", b"two"]


@pytest.mark.parametrize(
    ("begin", "end", "pieces"),
    [
        ("A|B", "END", [b"A 1 END", b"B 2 END", b"A 3 STOP\nb 4 END"]),
        ("A", "END|STOP", [b"A 1 END", b"A 3 STOP"]),
        ("A|B", "", [b"A 1 END\n", b"B 2 END\n", b"A 3 STOP\nb 4 END"]),
        ("", "END|STOP", [b"A 1 END", b"\nB 2 END", b"\nA 3 STOP", b"\nb 4 END"]),
        ("(?i)a|b", "", [b"A 1 END\n", b"B 2 END\n", b"A 3 STOP\n", b"b 4 END"]),
        ("(?i)b", "end", [b"B 2 END", b"b 4 END"]),
    ],
)
async def test_alternatives_and_flags_of_expressions(
    tmp_path: Path, begin: str, end: str, pieces: list[bytes]
) -> None:
    """An alternative is one of the begin or of the end; flags in front are for both."""
    (tmp_path / "a").write_text("A 1 END\nB 2 END\nA 3 STOP\nb 4 END\n")
    given = {name: text for name, text in (("begin.regex", begin), ("end.regex", end)) if text}
    found = await taken(opened(tmp_path, {"mode": "regex", **given}), max_messages=10)
    assert [each.payload for each in found] == pieces
