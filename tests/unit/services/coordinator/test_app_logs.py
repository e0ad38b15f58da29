"""What purged apps have left behind: found in one question for all apps, and nobody else's goes.
What was lost is told, and not made anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from lockstep.bus import LogGoneError, LogName, NoRoomError
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import VirtualClock
from lockstep.events import Life, TickRecord, UnavailableError
from lockstep.events.since import with_since
from lockstep.store import Deployment, Origin, Revision, Written, cursor_name, owner_of
from lockstep.store.memory import MemoryStore
from lockstep.telemetry import get_logger
from lockstep_services.coordinator import app_logs
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


async def told_of(scene: Scene) -> list[tuple[str, str]]:
    """Of which apps something is told as lost, and the group whose output log it is."""
    with capture_logs() as told:
        await scene.logs.tell_lost()
    return [
        (
            line["app"],
            "logs" if "the store does not" in line["event"] else line.get("group", "input"),
        )
        for line in told
    ]


async def test_which_logs_were_lost_is_told() -> None:
    """Of what is deployed, in the logs in which it goes on. What has not begun has no output log to
    lose."""
    scene = Scene()
    for app in ("whole", "input", "output", "young"):
        await scene.deployed(app, NOW_MS)
        await scene.left(app, BEFORE_MS)
        await scene.bus.output_log(LogName(app, since_ms=NOW_MS))
    await scene.left("unknown", NOW_MS)
    assert await told_of(scene) == []
    for app in ("input", "output", "young"):
        await scene.bus.remove_logs(LogName(app, since_ms=NOW_MS))
    await scene.store.revisions.delete([f"young.{NOW_MS}"])
    await scene.bus.output_log(LogName("input", since_ms=NOW_MS))
    for app in ("output", "young"):
        await scene.bus.input_log(LogName(app, since_ms=NOW_MS))
    assert await told_of(scene) == [("unknown", "logs"), ("input", "input"), ("output", "main")]
    with pytest.raises(LogGoneError):
        await scene.bus.output_log(LogName("output", since_ms=NOW_MS), make=False)


async def test_logs_of_an_app_that_the_store_has_forgotten_are_told() -> None:
    """At the second look, since a new app has its logs first; not of one that was undeployed."""
    scene = Scene()
    await scene.deployed("gone", NOW_MS)
    await scene.store.deployments.remove("gone", epoch=1, purge=False)
    await scene.left("forgotten", NOW_MS)
    assert await told_of(scene) == []
    assert await told_of(scene) == [("forgotten", "logs")]


async def test_of_a_fleet_the_logs_of_the_present_layout_are_looked_at() -> None:
    """Those of a former one go, and its last revisions stay."""
    scene = Scene()
    life, origin = Life(NOW_MS, 1), Origin(0, NOW_MS)
    deployment = Deployment("a", "", "v", life, 1, NOW_MS, origin=origin, parallel=2, layout=3)
    assert await scene.store.deployments.put(deployment, epoch=1) == Written()
    await scene.bus.input_log(LogName("a", since_ms=NOW_MS))
    for group, partition in (("main", 0), ("main~2", 0), ("main~3!end", 0), ("main~3", 1)):
        name = with_since(group, NOW_MS)
        one = Revision(group, "a", name, partition, "v", 1, NOW_MS, 3, True, 1)
        await scene.store.revisions.save(one, b"abc")
    assert await told_of(scene) == [("a", "main~3")]


async def test_output_logs_are_asked_for_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """In turn: each of a thousand apps would cost a request each minute."""
    monkeypatch.setattr(app_logs, "OUTPUTS_AT_ONCE", 2)
    scene = Scene()
    apps = ["a", "b", "c", "d", "e"]
    for app in apps:
        await scene.deployed(app, NOW_MS)
    told = [await told_of(scene) for _ in range(3)]
    assert [len(some) for some in told] == [2, 2, 2]
    assert {app for some in told for app, _ in some} == set(apps)


async def test_an_app_goes_on_in_no_output_log_that_is_new() -> None:
    """Its input log holds something, so its output log was lost while it was undeployed. One that
    was cut short before it was made is made."""
    scene = Scene()
    await scene.bus.input_log(LogName("a", since_ms=NOW_MS))
    await scene.logs.found_by("a", None, NOW_MS)
    await scene.bus.output_log(LogName("a", since_ms=NOW_MS), make=False)
    await scene.bus.remove_logs(LogName("a", since_ms=NOW_MS))
    log = await scene.bus.input_log(LogName("a", since_ms=NOW_MS))
    await log.append(TickRecord(1))
    with pytest.raises(LogGoneError):
        await scene.logs.found_by("a", None, NOW_MS)
    with pytest.raises(LogGoneError):
        await scene.bus.output_log(LogName("a", since_ms=NOW_MS), make=False)


@pytest.mark.parametrize("is_deployed", [False, True])
async def test_a_new_app_without_an_output_log_leaves_no_input_log(
    is_deployed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless somebody else has deployed the app meanwhile, who goes on in it."""
    scene = Scene()

    async def refused(name: LogName, *, make: bool) -> None:
        assert make
        if is_deployed:
            life, origin = Life(NOW_MS, 1), Origin(0, NOW_MS)
            one = Deployment("a", "", "v", life, 1, NOW_MS, origin=origin)
            assert await scene.store.deployments.put(one, epoch=1) == Written()
        raise NoRoomError("the bus has no room")

    monkeypatch.setattr(scene.bus, "output_log", refused)
    with pytest.raises(NoRoomError):
        await scene.logs.found_by("a", None, NOW_MS)
    assert [one.since_ms for one in await scene.bus.logs("a")] == [NOW_MS] * is_deployed


def test_the_longest_name_owns_a_cursor() -> None:
    """Sinks have slashes in their names as well."""
    apps = {"a", "a/b"}
    names = ("a/S.0/turn", "a/b/S.0", "a/b/S.0/turn", "b/S.0", "a")
    assert [owner_of(name, apps) for name in names] == ["a", "a/b", "a/b", None, None]
    assert owner_of("/S", {""}) == ""


async def test_an_input_log_is_brought_up_to_date_once_by_who_coordinates() -> None:
    """Whatever its settings were when it was made; a thousand apps cost requests only once. One
    that is deployed later is looked at, too."""
    scene = Scene()
    made: list[str] = []
    open_log = scene.bus.input_log

    async def opened(name: LogName, *, make: bool = True) -> Any:
        made.extend([name.app] if make else [])
        return await open_log(name, make=make)

    await scene.deployed("a", NOW_MS)
    scene.bus.input_log = opened  # type: ignore[method-assign]
    await scene.logs.tell_lost()
    await scene.logs.tell_lost()
    assert made == ["a"]
    await scene.deployed("b", NOW_MS)
    made.clear()
    await scene.logs.tell_lost()
    assert made == ["b"]


async def test_a_log_that_cannot_follow_keeps_no_other_one_from_it() -> None:
    """It is told once, and tried again. Only a bus that is away ends the look."""
    scene = Scene()
    for app in ("a", "b", "c"):
        await scene.deployed(app, NOW_MS)
    tried: list[str] = []
    open_log = scene.bus.input_log

    async def opened(name: LogName, *, make: bool = True) -> Any:
        tried.extend([name.app] if make else [])
        if make and name.app == "a":
            raise UnavailableError("its settings cannot be changed")
        return await open_log(name, make=make)

    scene.bus.input_log = opened  # type: ignore[method-assign]
    await scene.logs.tell_lost()
    assert tried == ["a", "b", "c"]
    tried.clear()
    await scene.logs.tell_lost()
    assert tried == ["a"]
