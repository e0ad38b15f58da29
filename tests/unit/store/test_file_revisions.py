"""Revisions in files: what a crash leaves goes, and apps do not read each other's files."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lockstep.clock import SystemClock
from lockstep.events import Generation, Life
from lockstep.store import Revision, Written
from lockstep.store.filesystem import FileStore, files
from lockstep.store.naming import revision_id

HOUR_MS = 3_600_000


class KilledError(Exception):
    """The process is gone."""


def revision(app: str, position: int, unique: str = "u") -> Revision:
    """At a position; verified."""
    name = revision_id(app, Generation(Life(1, 1), 0), position, unique)
    return Revision(name, app, "main", 0, "v", position, position, 10, True, 1)


def old(path: Path, age_ms: int) -> None:
    """As if it had been written so long ago."""
    at = SystemClock().now_ms() / 1_000 - age_ms / 1_000
    os.utime(path, (at, at))


async def killed(
    patch: pytest.MonkeyPatch, store: FileStore, one: Revision, dies: Callable[[Path], bool]
) -> None:
    """Whoever saves it dies where it would rename a file."""
    replaced = Path.replace

    def cut_short(path: Path, target: Path) -> Path:
        if dies(path):
            raise KilledError
        return replaced(path, target)

    with patch.context() as context:
        context.setattr(Path, "replace", cut_short)
        with pytest.raises(KilledError):
            await store.revisions.save(one, b"x" * 1_000)


async def test_what_a_crash_has_left_goes_with_the_next_purge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A state without its description, and a file that was not written to its end, once they are
    an hour old: of whatever app, as one that is gone purges nothing more."""
    store, folder = FileStore(tmp_path), tmp_path / "revisions"
    for position in (1, 2, 3):
        await store.revisions.save(revision("A", position), b"x" * 1_000)
    about, state = (lambda path: ".json" in path.name), (lambda path: ".state" in path.name)
    await killed(monkeypatch, store, revision("A", 5, "crash"), about)
    await killed(monkeypatch, store, revision("Gone", 5, "crash"), state)
    names = {"A.1.1.5.0-crash.state", "A.1.1.5.0-crash.json.part", "Gone.1.1.5.0-crash.state.part"}
    left = [path for path in folder.iterdir() if "crash" in path.name]
    assert {path.name for path in left} == names
    for position in (6, 7, 8):
        await store.revisions.save(revision("A", position), b"x" * 1_000)
    for path in left:
        old(path, HOUR_MS // 2)
    assert await store.revisions.purge("A", "main", 0, keep=2) == 4
    assert all(path.exists() for path in left)
    for path in folder.iterdir():
        old(path, 2 * HOUR_MS)
    assert await store.revisions.purge("A", "main", 0, keep=2) == 0
    assert [one.position for one in await store.revisions.list("A", "main", 0)] == [8, 7]
    whole = {f"A.1.1.{n}.0-u{ending}" for n in (7, 8) for ending in (".json", ".state")}
    assert {path.name for path in folder.iterdir()} == {*whole, ".lock"}


async def test_who_asks_about_one_app_opens_no_file_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Be it listed, saved, purged or deleted. So what is damaged of one app is its own trouble."""
    store, folder = FileStore(tmp_path), tmp_path / "revisions"
    for app in ("App1", "App10", "Äpp 1/*", "x[1]"):
        await store.revisions.save(revision(app, 1), b"x")
    opened: list[str] = []
    read = Path.read_bytes

    def noted(path: Path) -> bytes:
        opened.append(path.name)
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", noted)
    for app in ("App1", "Äpp 1/*", "x[1]"):
        opened.clear()
        own = files.file_name(f"{app}.")
        first, second = revision(app, 1), revision(app, 2)
        assert await store.revisions.list(app, "main", 0) == [first]
        assert await store.revisions.logs(app) == [(app, "main", 0)]
        assert await store.revisions.save(second, b"y") == Written()
        assert await store.revisions.purge(app, "main", 0, keep=1) == 1
        assert await store.revisions.delete([second.id, first.id]) == 1
        assert opened
        assert all(name.startswith(own) for name in opened)
    (damaged,) = folder.glob("App10.*.json")
    damaged.write_bytes(b"x")
    assert await store.revisions.save(revision("App1", 3), b"x") == Written()


async def test_an_id_that_would_not_be_found_again_is_refused(tmp_path: Path) -> None:
    """A listing looks for names that begin with the app."""
    one = revision("A", 1)
    with pytest.raises(ValueError, match=r"A\.1\.1\.1\.0-u is no id of a revision of B"):
        await FileStore(tmp_path).revisions.save(replace(one, app="B"), b"")
