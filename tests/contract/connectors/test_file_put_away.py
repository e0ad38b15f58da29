"""What becomes of files for @source(type='file') that cannot be renamed, or are too large."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from lockstep.clock import SystemClock
from lockstep.connectors.file import source as reading
from lockstep.connectors.file.source import FileSource
from lockstep.sources import Place, Received

PLACE = Place("App", "In", 0, "127.0.0.1", SystemClock())
MAX_BYTES = 8


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a source reads, which takes no whole files of more than some bytes."""
    monkeypatch.setattr(reading, "MAX_FILE_BYTES", MAX_BYTES)
    made = tmp_path / "in"
    made.mkdir()
    return made


async def read_all(folder: Path, **more: str) -> list[Received]:
    """What a source of that folder finds, acknowledged."""
    given = {name.replace("_", "."): value for name, value in more.items()}
    source = FileSource({"dir.uri": str(folder), **given}, PLACE)
    found: list[Received] = []
    while some := await source.read(max_messages=9, wait_ms=1):
        for each in some:
            await each.acknowledge()
        found += some
    await source.close()
    return found


def names(folder: Path) -> list[str]:
    """Of what is there, without notes."""
    return sorted(one.name for one in folder.iterdir() if one.name != ".lockstep.App.In.0")


@pytest.mark.parametrize("left", ["nothing", "a part", "all of it"])
async def test_a_file_is_moved_to_another_file_system(
    folder: Path, monkeypatch: pytest.MonkeyPatch, left: str
) -> None:
    """It is copied, and then removed; also when a reader died in the midst of that."""
    done = folder.parent / "done"
    done.mkdir()
    rename = os.replace

    def within_a_folder(old: Path, new: Path) -> None:
        if old.parent != new.parent:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        rename(old, new)

    monkeypatch.setattr(os, "replace", within_a_folder)
    for name in ("a", "b"):
        (folder / name).write_text(f"{name}1\n{name}2\n")
    os.utime(folder / "a", ns=(1, 1))
    status = (folder / "a").stat()
    if left == "a part":
        (done / f".lockstep.{status.st_dev:x}.{status.st_ino:x}").write_text(
            "a1\na2\nmore than that"
        )
    elif left == "all of it":
        (done / "a").write_text("a1\na2\n")
    moving = {"action_after_process": "move", "move_after_process": str(done)}
    found = await read_all(folder, **moving)
    assert [each.payload for each in found] == [b"a1", b"a2", b"b1", b"b2"]
    assert (names(folder), names(done)) == ([], ["a", "b"])
    assert [(done / name).read_text() for name in "ab"] == ["a1\na2\n", "b1\nb2\n"]
    assert (done / "a").stat().st_mtime_ns == 1, "as a file that is renamed"


@pytest.mark.parametrize("mode", ["text.full", "binary.full", "regex"])
@pytest.mark.parametrize("action", ["delete", "move", "keep"])
async def test_a_file_that_is_too_large_is_one_dead_letter_and_holds_up_none(
    folder: Path, mode: str, action: str
) -> None:
    """Nobody has read it, so it is not removed; it is moved where that is wanted."""
    done = folder.parent / "done"
    done.mkdir()
    (folder / "a").write_bytes(b"<" * (MAX_BYTES + 1))
    (folder / "b").write_bytes(b"<" * MAX_BYTES)
    more = {"mode": mode, "action_after_process": action, "move_after_process": str(done)}
    if mode == "regex":
        more |= {"begin_regex": "<+", "end_regex": "$"}
    refused, taken = await read_all(folder, **more)
    assert (refused.payload, taken.payload) == (b"", b"<" * MAX_BYTES)
    assert refused.refused.startswith(f"{folder / 'a'} is larger than {MAX_BYTES} bytes")
    assert refused.properties["file.name"] == "a"
    assert not taken.refused
    assert await read_all(folder, **more) == [], "it is told once"
    left = {"delete": (["a"], []), "move": ([], ["a", "b"]), "keep": (["a", "b"], [])}
    assert (names(folder), names(done)) == left[action]


async def test_a_file_that_was_too_large_is_read_when_it_no_longer_is(folder: Path) -> None:
    """Since the app reads lines now, or since the file is another one; it has new identities. One
    that grows on is not told of again."""
    path = folder / "a"
    path.write_bytes(b"one\ntwo\nthree\n")
    found = await read_all(folder, mode="text.full")
    with path.open("ab") as file:
        file.write(b"four\n")
    assert await read_all(folder, mode="text.full") == []
    lines = await read_all(folder)
    assert [each.payload for each in lines] == [b"one", b"two", b"three", b"four"]
    assert names(folder) == []
    path.write_bytes(b"one\ntwo\nthree\n")
    found += await read_all(folder, mode="text.full")
    path.write_bytes(b"one")
    (last,) = await read_all(folder, mode="text.full")
    assert (last.payload, last.refused, names(folder)) == (b"one", "", [])
    assert len({each.id for each in [*found, *lines, last]}) == 7


async def test_a_reader_that_dies_before_a_large_file_is_moved(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its successor moves it, and tells nobody twice."""
    (folder / "a").write_bytes(b"x" * (MAX_BYTES + 1))
    done = folder.parent / "done"
    more = {
        "mode": "text.full", "action_after_process": "move", "move_after_process": str(done),
    }  # fmt: skip

    def dying(*_: object) -> None:
        raise OSError("dies here")

    with monkeypatch.context() as patch:
        patch.setattr(reading, "move", dying)
        with pytest.raises(OSError, match="dies here"):
            await read_all(folder, **more)
    assert names(folder) == ["a"]
    assert await read_all(folder, **more) == []
    assert (names(folder), names(done)) == ([], ["a"])
