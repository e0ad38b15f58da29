"""@source(type='fileeventlistener') on a real directory: what happens to files, each told once."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from lockstep.clock import VirtualClock
from lockstep.connectors.file.listening import FolderSource
from lockstep.sources import Place, Received

LONG_MS = 1_000


class Listener:
    """A source over a folder, with time that moves when told."""

    def __init__(self, folder: Path, **more: str) -> None:
        self._folder, self.clock = folder, VirtualClock(1_700_000_000_000)
        self._options = {"dir.uri": f"file://{folder}/"}
        self._options.update((name.replace("_", "."), value) for name, value in more.items())
        self.start()

    def start(self) -> None:
        """As a receiver that has just got the lease."""
        self.source = FolderSource(self._options, Place("App", "In", 0, "127.0.0.1", self.clock))

    async def seen(self, *, later_ms: int = 0, max_messages: int = 100) -> list[Received]:
        """What is told after a while, acknowledged by the next call of `told`."""
        self.clock.set_ms(self.clock.now_ms() + later_ms)
        return list(await self.source.read(max_messages=max_messages, wait_ms=0))

    async def told(self, *, later_ms: int = 0) -> list[tuple[str, str]]:
        """(name in the folder, status) of all that is told, acknowledged."""
        found: list[tuple[str, str]] = []
        while some := await self.seen(later_ms=later_ms, max_messages=2):
            for each in some:
                path, name, status = json.loads(each.payload)
                assert (Path(path).name, status) == (name, each.properties["status"])
                found.append((os.path.relpath(path, self._folder), status))
                await each.acknowledge()
        return found


def change(path: Path, text: str, at_s: int) -> None:
    """Writes a file, with a time of its own."""
    path.write_text(text)
    os.utime(path, (at_s, at_s))


async def test_files_are_created_modified_and_removed(tmp_path: Path) -> None:
    """A file that changes on says so once in a while, and when it has come to rest."""
    change(tmp_path / "a.txt", "1", 1)
    listener = Listener(tmp_path)
    assert await listener.told() == [("a.txt", "created")]
    assert await listener.told(later_ms=LONG_MS) == []
    change(tmp_path / "a.txt", "12", 2)
    assert await listener.told() == []
    change(tmp_path / "a.txt", "123", 3)
    assert await listener.told(later_ms=LONG_MS) == [
        ("a.txt", "modifying"),
        ("a.txt", "modifyingCompleted"),
    ]
    assert await listener.told(later_ms=LONG_MS) == []
    (tmp_path / "a.txt").unlink()
    assert await listener.told() == [("a.txt", "removed")]


async def test_folders_are_told_of_around_what_is_in_them(tmp_path: Path) -> None:
    """Made from the outside in, removed from the inside out; a link is not followed."""
    listener = Listener(tmp_path)
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    change(tmp_path / "sub" / "deep" / "b.txt", "1", 1)
    (tmp_path / "loop").symlink_to(tmp_path)
    assert await listener.told() == [
        ("loop", "created"), ("sub", "created"), ("sub/deep", "created"),
        ("sub/deep/b.txt", "created"),
    ]  # fmt: skip
    (tmp_path / "sub" / "deep" / "b.txt").unlink()
    (tmp_path / "sub" / "deep").rmdir()
    (tmp_path / "sub").rmdir()
    change(tmp_path / "sub", "now a file", 2)
    assert await listener.told() == [
        ("sub/deep/b.txt", "removed"), ("sub/deep", "removed"), ("sub", "removed"),
        ("sub", "created"),
    ]  # fmt: skip


async def test_only_named_files_and_what_is_in_named_folders(tmp_path: Path) -> None:
    """Also where a name leads through folders; others are not looked at."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "other" / "in").mkdir(parents=True)
    for name in ("a.txt", "b.txt", "logs/c.txt", "other/d.txt", "other/in/e.txt"):
        change(tmp_path / name, "1", 1)
    listener = Listener(tmp_path, file_name_list="a.txt, logs,other/in/e.txt")
    names = [name for name, _ in await listener.told()]
    assert names == ["a.txt", "logs", "logs/c.txt", "other/in/e.txt"]


async def test_what_was_not_taken_comes_again_and_what_happened_meanwhile_behind_it(
    tmp_path: Path,
) -> None:
    """Each event once, whoever dies when: before and after what is told is durable."""
    for name in ("a", "b", "c"):
        change(tmp_path / name, "1", 1)
    listener = Listener(tmp_path)
    first = await listener.seen(max_messages=2)
    await first[0].acknowledge()
    (tmp_path / "a").unlink()
    change(tmp_path / "d", "1", 1)
    listener.start()
    again = await listener.seen(max_messages=2)
    assert [(each.id, each.payload) for each in again] == [
        (each.id, each.payload) for each in first
    ]
    for each in again:
        await each.acknowledge()
    await listener.source.close()
    listener.start()
    assert await listener.told() == [("c", "created"), ("a", "removed"), ("d", "created")]
    change(tmp_path / "b", "12", 2)
    listener.start()
    assert await listener.told() == []
    assert await listener.told(later_ms=LONG_MS) == [("b", "modifyingCompleted")]
    ids = [each.id for each in [*first, *again]]
    assert len(set(ids)) == 2


async def test_a_folder_that_is_away_removes_nothing(tmp_path: Path) -> None:
    """Its files are not told of as removed; they are there when it is."""
    folder = tmp_path / "in"
    folder.mkdir()
    change(folder / "a", "1", 1)
    listener = Listener(folder)
    assert await listener.told() == [("a", "created")]
    folder.rename(tmp_path / "away")
    with pytest.raises(OSError, match="no folder"):
        await listener.seen()
    (tmp_path / "away").rename(folder)
    listener.start()
    assert await listener.told() == []


async def test_looks_rest_between_each_other(tmp_path: Path) -> None:
    """Whoever asks before the interval is over waits for it, and for no longer than asked."""
    listener = Listener(tmp_path, monitoring_interval="500")
    assert await listener.told() == []
    change(tmp_path / "a", "1", 1)
    early = asyncio.ensure_future(listener.source.read(max_messages=9, wait_ms=200))
    await listener.clock.advance_ms(200)
    assert await early == ()
    late = asyncio.ensure_future(listener.source.read(max_messages=9, wait_ms=400))
    await listener.clock.advance_ms(300)
    (found,) = await late
    assert found.properties["status"] == "created"
