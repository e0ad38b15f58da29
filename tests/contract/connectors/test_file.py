"""@source(type='file') on a real directory: whole files, lines, growing files, restarts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lockstep.clock import SystemClock
from lockstep.connectors.file import source as reading
from lockstep.connectors.file.source import FileSource
from lockstep.sources import Place, Received
from lockstep.testing.connectors import play_source

PLACE = Place("App", "In", 0, "127.0.0.1", SystemClock())


class Writer:
    """Appends lines to a file, which is renamed away at the far end's death."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def start(self) -> None:
        self._path.parent.mkdir(exist_ok=True)

    async def stop(self) -> None:
        self._path.rename(self._path.with_suffix(".1"))

    async def send(self, payload: bytes) -> None:
        with self._path.open("ab") as file:
            file.write(payload + b"\n")


async def read_all(source: FileSource, count: int = 10) -> list[Received]:
    """What is there, acknowledged."""
    found: list[Received] = []
    while some := await source.read(max_messages=count, wait_ms=10):
        for each in some:
            await each.acknowledge()
        found += some
    await source.close()
    return found


async def test_a_growing_file_is_followed_over_our_death_and_its_rotation(tmp_path: Path) -> None:
    """Lines not acknowledged come again under the same ids: at least once, each counts once."""
    path = tmp_path / "a.log"
    tally = await play_source(
        lambda: FileSource({"file.uri": f"file:{path}", "tailing": "true"}, PLACE), Writer(path)
    )
    assert (tally.lost, tally.reordered, tally.identified) == (0, 0, True)
    assert tally.duplicated == 20, "those that were not acknowledged came again"


async def test_a_line_that_is_being_written_waits_for_its_end(tmp_path: Path) -> None:
    """Of a file that is followed only whole lines are taken."""
    path = tmp_path / "a.log"
    path.write_bytes(b"one\ntw")
    options = {"file.uri": str(path), "tailing": "true"}
    assert [each.payload for each in await read_all(FileSource(options, PLACE))] == [b"one"]
    path.write_bytes(b"one\ntwo\n")
    assert [each.payload for each in await read_all(FileSource(options, PLACE))] == [b"two"]


@pytest.mark.parametrize("tailing", ["true", "false"])
async def test_a_line_that_is_too_long_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tailing: str
) -> None:
    """Its rest is the next message, and what stands behind it comes, too."""
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", 8)
    path = tmp_path / "a.log"
    path.write_bytes(b"one\n0123456789\n76543210\ntwo\n")
    options = {"file.uri": str(path), "tailing": tailing, "action.after.process": "keep"}
    found = await read_all(FileSource(options, PLACE))
    assert [each.payload for each in found] == [b"one", b"01234567", b"89", b"76543210", b"two"]


@pytest.mark.parametrize("action", ["move", "delete", "keep"])
async def test_files_of_a_directory_are_taken_once_and_put_away(
    tmp_path: Path, action: str
) -> None:
    """In order of their names; a second source of the same name finds nothing left."""
    folder, done = tmp_path / "in", tmp_path / "done"
    folder.mkdir()
    for name in ("b", "a"):
        (folder / f"{name}.csv").write_text(f"head\n{name},1\n{name},2\n")
    options = {
        "dir.uri": f"file://{folder}", "mode": "line", "action.after.process": action,
        "move.after.process": f"file:{done}", "header.present": "true",
    }  # fmt: skip
    found = await read_all(FileSource(options, PLACE))
    assert [each.payload for each in found] == [b"a,1", b"a,2", b"b,1", b"b,2"]
    assert [each.properties["eof"] for each in found] == ["false", "true", "false", "true"]
    assert found[0].properties["file.name"] == "a.csv"
    left = sorted(path.name for path in folder.glob("*.csv"))
    assert left == (["a.csv", "b.csv"] if action == "keep" else [])
    assert sorted(path.name for path in done.glob("*")) == (
        ["a.csv", "b.csv"] if action == "move" else []
    )
    assert await read_all(FileSource(options, PLACE)) == []


async def test_lines_are_taken_in_parts_and_what_was_not_taken_comes_again(tmp_path: Path) -> None:
    """With a small batch a receiver that dies begins behind the last acknowledged one."""
    (tmp_path / "a").write_text("".join(f"{number}\n" for number in range(10)))
    options = {"dir.uri": str(tmp_path), "action.after.process": "keep"}
    source = FileSource(options, PLACE)
    first = await source.read(max_messages=4, wait_ms=1)
    for each in first:
        await each.acknowledge()
    second = await source.read(max_messages=4, wait_ms=1)
    await source.close()
    again = await read_all(FileSource(options, PLACE))
    assert [each.id for each in again][:4] == [each.id for each in second]
    assert [each.payload for each in [*first, *again]] == [b"%d" % n for n in range(10)]


async def test_whole_files_and_pieces_by_expression(tmp_path: Path) -> None:
    """`text.full` gives a file as it is, `regex` what stands between two expressions."""
    (tmp_path / "a").write_text("x <e>1\n2</e> y <e>3</e>\n<e>4")
    whole = {"dir.uri": str(tmp_path), "mode": "text.full", "action.after.process": "keep"}
    (found,) = await read_all(FileSource(whole, PLACE))
    assert found.payload == (tmp_path / "a").read_bytes()
    cut = {"dir.uri": str(tmp_path), "mode": "regex", "begin.regex": "<e>", "end.regex": "</e>"}
    place = Place("App", "In", 1, "127.0.0.1", SystemClock())
    pieces = await read_all(FileSource(cut, place))
    assert [each.payload for each in pieces] == [b"<e>1\n2</e>", b"<e>3</e>"]
    assert not (tmp_path / "a").exists()


async def test_files_that_get_the_number_of_a_removed_one_are_other_files(tmp_path: Path) -> None:
    """A file system gives numbers again at once; the identities of messages are new."""
    options = {"dir.uri": str(tmp_path), "mode": "text.full"}
    source, ids, numbers = FileSource(options, PLACE), [], []
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("the same text")
        numbers.append((tmp_path / name).stat().st_ino)
        (found,) = await source.read(max_messages=9, wait_ms=1_000)
        ids.append(found.id)
        await found.acknowledge()
        await source.close()
        assert not (tmp_path / name).exists()
    assert len(set(ids)) == 3, f"numbers of the files: {numbers}"


async def test_a_file_with_the_number_of_one_whose_end_was_not_forgotten(tmp_path: Path) -> None:
    """A reader died behind the removal: the note says that the file is done."""
    options = {"dir.uri": str(tmp_path), "mode": "text.full"}
    note = tmp_path / ".lockstep.App.In.0"
    (tmp_path / "a").write_text("one")
    source = FileSource(options, PLACE)
    (found,) = await source.read(max_messages=9, wait_ms=1_000)
    status = (tmp_path / "a").stat()
    mark = f"{status.st_dev:x}.{status.st_ino:x}"
    note.write_text(json.dumps({"last_turn": 7, "files": {mark: [7, -1, status.st_mtime_ns]}}))
    assert await read_all(FileSource(options, PLACE)) == []
    assert not (tmp_path / "a").exists(), "what a dead reader left is put away"
    (tmp_path / "b").write_text("two")
    status = (tmp_path / "b").stat()
    mark = f"{status.st_dev:x}.{status.st_ino:x}"
    note.write_text(json.dumps({"last_turn": 7, "files": {mark: [7, -1, 1]}}))
    (other,) = await read_all(FileSource(options, PLACE))
    assert (other.payload, other.id != found.id) == (b"two", True)


async def test_a_file_that_is_emptied_begins_anew_with_other_identities(tmp_path: Path) -> None:
    """What is written then is no repetition of what stood there."""
    path = tmp_path / "a.log"
    options = {"file.uri": str(path)}
    source = FileSource(options, PLACE)
    path.write_bytes(b"one\ntwo\n")
    first = await read_all(source)
    path.write_bytes(b"one\n")
    again = await read_all(source)
    assert [each.payload for each in again] == [b"one"]
    assert not {each.id for each in first} & {each.id for each in again}


async def test_lines_written_shortly_before_a_file_is_renamed_are_read(tmp_path: Path) -> None:
    """Under its new name, before those of the file that stands there now; also by another reader,
    and also what its writer adds to it later."""
    path = tmp_path / "a.log"
    options = {"file.uri": str(path)}
    path.write_bytes(b"1\n")
    found = await read_all(FileSource(options, PLACE))
    with path.open("ab") as writing:
        writing.write(b"2\n")
        writing.flush()
        path.rename(tmp_path / "a.log.1")
        path.write_bytes(b"4\n")
        source = FileSource(options, PLACE)
        found += await read_all(source)
        writing.write(b"3\n")
    found += await read_all(source)
    assert [each.payload for each in found] == [b"1", b"2", b"4", b"3"]


async def test_a_note_of_an_earlier_version_is_gone_on_with(tmp_path: Path) -> None:
    """What came under it keeps its identity."""
    path = tmp_path / "a.log"
    path.write_bytes(b"one\ntwo\n")
    status = path.stat()
    mark = f"{status.st_dev:x}.{status.st_ino:x}"
    (tmp_path / ".lockstep.App.In.0").write_text(json.dumps({mark: 4}))
    (found,) = await read_all(FileSource({"file.uri": str(path)}, PLACE))
    assert (found.payload, found.id) == (b"two", f"{mark}:4")


@pytest.mark.parametrize(
    "options", [{"file.uri": "a.log"}, {"dir.uri": ".", "action.after.process": "keep"}]
)
async def test_a_device_may_get_another_number(tmp_path: Path, options: dict[str, str]) -> None:
    """As after a start of the machine: what was read is not read again, and new lines are. In a
    copy of the folder the numbers are those of other files."""
    options = {name: value.replace("a.log", f"{tmp_path}/a.log") for name, value in options.items()}
    options = {name: str(tmp_path) if value == "." else value for name, value in options.items()}
    (tmp_path / "a.log").write_text("one\ntwo\n")
    assert len(await read_all(FileSource({**options, "mode": "line"}, PLACE))) == 2
    (note,) = tmp_path.glob(".lockstep.*")
    device = tmp_path.stat().st_dev
    kept = note.read_text()
    before = kept.replace(f'"{device:x}.', f'"{device + 7:x}.').replace(
        f'"home": [{device},', f'"home": [{device + 7},'
    )
    assert before != kept
    with note.open("r+") as file:  # the same file
        file.write(before)
        file.truncate()
    assert await read_all(FileSource({**options, "mode": "line"}, PLACE)) == []
    with note.open("r+") as file:
        file.write(before)
        file.truncate()
    note.rename(tmp_path / "aside")
    note.write_text(before)  # a copy
    (tmp_path / "aside").unlink()
    assert len(await read_all(FileSource({**options, "mode": "line"}, PLACE))) == 2
