"""What purged apps have left behind: found in one question for all apps, and nobody else's goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from lockstep.bus import LogName
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import VirtualClock
from lockstep.events import Life
from lockstep.events.since import with_since
from lockstep.store import Deployment, Origin, Revision, Written, cursor_name, owner_of
from lockstep.store.memory import MemoryStore
from lockstep.telemetry import get_logger
from lockstep_services.coordinator.app_logs import AppLogs

BEFORE_MS, NOW_MS = 1_000, 2_000


class Scene:
    """A coordinator's view of apps that each go on in logs of their own."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.store = MemoryStore()
        self.bus = MemoryBus(MemoryCarrier(VirtualClock()))
        self.logs = AppLogs(self.store, self.bus, VirtualClock(), get_logger(), lambda app: False)
        self._count(self.bus, "logs")
        self._count(self.store.revisions, "logs")
        self._count(self.store.revisions, "list")
        self._count(self.store.cursors, "names")

    def _count(self, of: Any, name: str) -> None:
        ask = getattr(of, name)

        async def counted(*given: Any, **named: Any) -> Any:
            self.asked[f"{type(of).__name__}.{name}"] += 1
            return await ask(*given, **named)

        setattr(of, name, counted)

    async def deployed(self, app: str, since_ms: int) -> None:
        """An app, and what it keeps since that time."""
        life = Life(since_ms, 1)
        deployment = Deployment(app, "", "v", life, 1, since_ms, origin=Origin(0, since_ms))
        assert await self.store.deployments.put(deployment, epoch=1) == Written()
        await self.left(app, since_ms)

    async def left(self, app: str, since_ms: int) -> None:
        """A log, a revision and a cursor of that time."""
        await self.bus.input_log(LogName(app, since_ms=since_ms))
        group = with_since("main", since_ms)
        one = Revision(f"{app}.{since_ms}", app, group, 0, "v", 1, since_ms, 3, True, 1)
        await self.store.revisions.save(one, b"abc")
        await self.store.cursors.put(cursor_name(app, "Out.0.http", since_ms), 7)

    async def there(self) -> Sequence[tuple[str, str, int]]:
        """What is kept, of which app and since when."""
        logs = [("log", log.app, log.since_ms) for log in await self.bus.logs(None)]
        revisions = [
            ("revision", app, int(group.partition("@")[2]))
            for app, group, _ in await self.store.revisions.logs(None)
        ]
        cursors = [
            ("cursor", name.rpartition("/")[0], int(name.rpartition("@")[2]))
            for name in await self.store.cursors.names(None)
        ]
        return sorted({*logs, *revisions, *cursors})


def _all_of(app: str, since_ms: int) -> set[tuple[str, str, int]]:
    return {(kind, app, since_ms) for kind in ("log", "revision", "cursor")}


async def test_bus_and_store_are_asked_once_for_all_apps() -> None:
    """However many there are: each of a thousand apps would cost requests each minute."""
    scene = Scene()
    for number in range(20):
        await scene.deployed(f"App{number}", NOW_MS)
    scene.asked.clear()
    await scene.logs.sweep()
    assert scene.asked == {"MemoryBus.logs": 1, "MemoryRevisions.logs": 1, "MemoryCursors.names": 1}
    assert len(await scene.there()) == 60


@pytest.mark.parametrize("only", [None, "a"])
async def test_what_bears_an_earlier_time_goes(only: str | None) -> None:
    """Of an app that goes on since a later one; and of an app that nobody knows nothing."""
    scene = Scene()
    await scene.deployed("a", NOW_MS)
    await scene.left("a", BEFORE_MS)
    await scene.left("unknown", BEFORE_MS)
    await scene.logs.sweep(only)
    assert set(await scene.there()) == _all_of("a", NOW_MS) | _all_of("unknown", BEFORE_MS)


@pytest.mark.parametrize("only", [None, "a"])
async def test_an_app_whose_name_goes_on_with_a_slash_keeps_its_own(only: str | None) -> None:
    """Without its cursor a sink would get everything again."""
    scene = Scene()
    await scene.deployed("a", NOW_MS)
    await scene.deployed("a/b", BEFORE_MS)
    await scene.logs.sweep(only)
    assert set(await scene.there()) == _all_of("a", NOW_MS) | _all_of("a/b", BEFORE_MS)


def test_the_longest_name_owns_a_cursor() -> None:
    """Sinks have slashes in their names as well."""
    apps = {"a", "a/b"}
    names = ("a/S.0/turn", "a/b/S.0", "a/b/S.0/turn", "b/S.0", "a")
    assert [owner_of(name, apps) for name in names] == ["a", "a/b", "a/b", None, None]
    assert owner_of("/S", {""}) == ""
