"""Faults of the archive: its writer killed in the midst of an append, its store away, gone from
below its mount, full, or unwritable."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.chaos.app import APP
from tests.chaos.scene import Scene, fault
from tests.chaos.server_faults import fill

LOOK_S = 0.005
SETTLES_S = 0.02
BALLAST = "ballast"
FIRST = f"{0:020}.json"
"""The commit that makes a table."""


@fault("archive-writer-killed", copies=2)
async def writer_killed(scene: Scene) -> None:
    """SIGKILL for the publisher that archives, as soon as a file of an append is there."""
    writer = await _writer(scene)
    tables = scene.site.lake.tables
    seen = await asyncio.to_thread(_files, tables)
    async with asyncio.timeout(scene.limit_s):
        while not (new := await asyncio.to_thread(_files, tables) - seen):
            await asyncio.sleep(LOOK_S)
    await scene.site.kill(writer)
    torn = sum(one.name not in _named(one.parents[1]) for one in new if one.exists())
    scene.note = f"{writer}, {torn} of {len(new)} files torn off"
    await scene.hold(0, 5)
    scene.site.start(writer)


@fault("archive-away")
async def away(scene: Scene) -> None:
    """The folder of the archive is gone for some seconds, and cannot be made."""
    scene.site.lake.away()
    try:
        await _held(scene)
    finally:
        scene.site.lake.back()


@fault("archive-unmounted")
async def unmounted(scene: Scene) -> None:
    """For some seconds there is an empty folder where the archive was: no second one may begin."""
    empty = scene.site.lake.unmounted()
    try:
        await _held(scene)
        begun = [str(one) for one in empty.glob(f"*/*/*/records/_delta_log/{FIRST}")]
        if begun:
            raise AssertionError(f"archived where nobody finds it: {begun[:3]}")
    finally:
        scene.site.lake.back()


@fault("archive-full")
async def full(scene: Scene) -> None:
    """The disk below the archive is full."""
    disk = scene.site.lake.disk
    if disk is None:
        scene.skipped.append("archive-full: needs root, to mount a small file system")
        return
    ballast = disk / BALLAST
    over = asyncio.Event()
    filling = asyncio.create_task(_kept_full(ballast, over))
    try:
        await _held(scene)
    finally:
        over.set()
        await filling
        ballast.unlink()


async def _kept_full(ballast: Path, over: asyncio.Event) -> None:
    """What the archive's upkeep gives back is taken, too."""
    while not over.is_set():
        await asyncio.to_thread(fill, ballast)
        await asyncio.sleep(SETTLES_S)


@fault("archive-read-only")
async def read_only(scene: Scene) -> None:
    """The disk below the archive takes no writes any more."""
    lake = scene.site.lake
    if lake.disk is None:
        scene.skipped.append("archive-read-only: needs root, to mount a small file system")
        return
    async with asyncio.timeout(scene.limit_s):
        while not await asyncio.to_thread(lake.writable, is_so=False):  # somebody is writing
            await asyncio.sleep(SETTLES_S)
    try:
        await _held(scene)
    finally:
        await asyncio.to_thread(lake.writable, is_so=True)


async def _held(scene: Scene) -> None:
    """Until the writer has told of it, and a while more."""
    status = await scene.until(APP, lambda found: bool(_trouble(found)))
    seconds = await scene.hold(0, 6)
    scene.note = f"{seconds:.1f} s after: {_trouble(status)[0][:90]}"


def _trouble(status: dict[str, object]) -> list[str]:
    sinks = status.get("sinks", [])
    assert isinstance(sinks, list)
    archives = [one for one in sinks if one["sink"].startswith("archive.")]
    return [one["trouble"] for one in archives if one.get("trouble")]


async def _writer(scene: Scene) -> str:
    """The node that writes the archive."""

    def nodes(status: dict[str, object]) -> list[str]:
        sinks = status.get("sinks", [])
        assert isinstance(sinks, list)
        return [one["node"] for one in sinks if one["sink"] == "archive.input" and one.get("node")]

    return nodes(await scene.until(APP, lambda found: bool(nodes(found))))[0]


def _files(tables: Path) -> set[Path]:
    return set(tables.glob(f"{APP}/*/*/**/*.parquet"))


def _named(table: Path) -> str:
    """What the transaction log of a table has in it."""
    return "".join(one.read_text() for one in (table / "_delta_log").glob("*.json"))
