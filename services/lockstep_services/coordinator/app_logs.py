"""Which logs an app goes on in, and how logs go that nobody goes on in.

Logs, revisions and cursors bear the time since when an app's logs exist. A purge does not have to
be carried out to count: what is deployed afterwards has a later time, and what bears an earlier one
is removed by whoever coordinates, again and again, since services that were cut off make some late.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from lockstep.bus import Bus, LogGoneError, LogName, NoRoomError
from lockstep.clock import Clock
from lockstep.control import group_and_layout, log_of
from lockstep.events import Life, LockstepError, UnavailableError
from lockstep.events.since import since_in, without_since
from lockstep.store import Deployment, Origin, Removed, Store, owner_of
from lockstep.telemetry import Logger

LET_GO_LIMIT_MS: Final = 10_000
LET_GO_POLL_MS: Final = 50
OUTPUTS_AT_ONCE: Final = 100
"""No list says of a name which of its two logs is there, so each output log is asked for by itself:
so many of them in each sweep, in turn."""


@dataclass(frozen=True, slots=True)
class _Left:
    """What bears a time from which its app does not go on."""

    logs: list[LogName] = field(default_factory=list)
    revisions: list[tuple[str, str, int]] = field(default_factory=list)
    cursors: list[str] = field(default_factory=list)


class AppLogs:
    """Of all apps. `carried`: whether a living processor carries an app."""

    def __init__(
        self, store: Store, bus: Bus, clock: Clock, log: Logger, carried: Callable[[str], bool]
    ) -> None:
        self._store = store
        self._bus = bus
        self._clock = clock
        self._log = log
        self._carried = carried
        self._looked = 0
        self._unknown: frozenset[str] = frozenset()
        self._up_to_date: set[LogName] = set()
        self._told_settings: set[LogName] = set()

    async def removed(self, app: str) -> Removed | None:
        """What was deployed last under that name and is not now."""
        found = await self._store.deployments.removed()
        return next((one for one in found if one.deployment.app == app), None)

    async def kept(self, app: str) -> Deployment | None:
        """The same, where it may be gone on from."""
        removed = await self.removed(app)
        return None if removed is None else removed.kept

    async def found_by(self, app: str, removed: Removed | None, now_ms: int) -> tuple[Life, Origin]:
        """The first life of a new app, and which logs it goes on in: those of the app that was
        undeployed before, unless they were purged. LogGoneError where their output log was lost;
        NoRoomError, and then a new app leaves none.

        Wall clocks may go back; what comes later still bears a later time.
        """
        is_new = False  # nobody can have used such a log
        if removed is not None and removed.kept is not None and not removed.kept.layout:
            since = removed.kept.origin.logs_since_ms
        elif removed is not None:  # a fleet's logs bear layouts, which count from 1 again
            since, is_new = max(now_ms, dead_before_ms(removed) + 1), True
        else:  # there are some where the store has forgotten the app, or a deployment was cut short
            dead_ms = dead_before_ms(removed)
            there = [one.since_ms for one in await self._bus.logs(app) if one.since_ms >= dead_ms]
            since, is_new = max(there, default=max(now_ms, dead_ms)), not there
        name = LogName(app, since_ms=since)
        _, end = await (await self._bus.input_log(name)).bounds()
        async with self._undone(name) if is_new and not end else contextlib.nullcontext():
            # Where something has come in, an output log that is missing was lost.
            tail = await (await self._bus.output_log(name, make=not end)).tail()
        earlier_ms = 0 if removed is None else removed.deployment.life.deployed_ms
        if tail.generation is not None:
            earlier_ms = max(earlier_ms, tail.generation.life.deployed_ms)
        return Life(max(now_ms, since, earlier_ms + 1), 1), Origin(end, since)

    @contextlib.asynccontextmanager
    async def _undone(self, name: LogName) -> AsyncIterator[None]:
        """An input log that was made just now goes again, if there is no room for what is made in
        the block: else it takes room, and is told as that of an app that the store has lost."""
        try:
            yield
        except NoRoomError:
            with contextlib.suppress(UnavailableError):  # what stays is gone on in the next time
                if await self._store.deployments.get(name.app) is None:
                    await self._bus.remove_logs(name)
            raise

    async def let_go(self, app: str) -> None:
        """Waits until no living processor carries the app, so that what it does last goes, too."""
        deadline_ms = self._clock.monotonic_ms() + LET_GO_LIMIT_MS
        while self._carried(app) and self._clock.monotonic_ms() < deadline_ms:
            await self._clock.sleep_ms(LET_GO_POLL_MS)

    async def sweep(self, app: str | None = None) -> None:
        """Removes what bears a time from which no app (or not this one) goes on any more. Bus and
        store are asked once for all apps.

        These times only grow: what looked dead is dead, whatever has been deployed since.
        """
        there = await self._store.deployments.list()
        gone = await self._store.deployments.removed()
        dead_ms = {one.app: one.origin.logs_since_ms for one in there}
        dead_ms |= {one.deployment.app: dead_before_ms(one) for one in gone}
        found: defaultdict[str, _Left] = defaultdict(_Left)
        for log in await self._bus.logs(app):
            if log.since_ms < dead_ms.get(log.app, 0):
                found[log.app].logs.append(log)
        for key in await self._store.revisions.logs(app):
            if since_in(key[1]) < dead_ms.get(key[0], 0):
                found[key[0]].revisions.append(key)
        for cursor in await self._store.cursors.names(app):
            owner = owner_of(cursor, dead_ms)
            if owner is not None and since_in(cursor) < dead_ms[owner]:
                found[owner].cursors.append(cursor)
        for name, left in found.items():
            if app in (None, name):
                await self._remove(name, left)

    async def forget(self, app: str) -> bool:
        """Removes the logs of an app that the store knows nothing of: a deployment was cut short
        before it was written, or the store has forgotten it. False where there are none."""
        there = await self._store.deployments.get(app) or await self.removed(app)
        logs = [] if there is not None else list(await self._bus.logs(app))
        if logs:
            await self._remove(app, _Left(logs))
        return bool(logs)

    async def tell_lost(self) -> None:
        """Says which deployed apps have lost their input log, or an output log. It is not made
        anew: positions would count from 1 again, behind which everybody is already, and rows would
        stand a second time. A list may lack what was made lately: only an input log that is missing
        in it is asked for by itself. Those that are there follow the settings."""
        deployed = await self._store.deployments.list()
        there = set(await self._bus.logs(None, inputs=True))
        await self._tell_unknown({one.app for one in there}, deployed)
        for deployment in [one for one in deployed if log_of(one) not in there]:
            try:
                await self._bus.input_log(log_of(deployment), make=False)
            except LogGoneError:
                if await self._store.deployments.get(deployment.app) == deployment:
                    self._log.error(
                        "an app has lost its input log: undeploy it with purge, deploy it again",
                        app=deployment.app,
                    )
        outputs = await self._begun_outputs(deployed)
        start = self._looked % max(1, len(outputs))
        self._looked = start + OUTPUTS_AT_ONCE
        for name, deployment in [*outputs[start:], *outputs[:start]][:OUTPUTS_AT_ONCE]:
            try:
                await self._bus.output_log(name, make=False)
            except LogGoneError:
                if await self._store.deployments.get(deployment.app) == deployment:
                    self._log.error(
                        "an app has lost an output log: undeploy it with purge, deploy it again",
                        app=deployment.app, group=name.group, partition=str(name.partition),
                    )  # fmt: skip
        await self._bring_up_to_date([log_of(one) for one in deployed if log_of(one) in there])

    async def _bring_up_to_date(self, inputs: Sequence[LogName]) -> None:
        """Input logs that are there follow the settings of the bus as they are now, as those that
        are made do: once an archive is given they forget nothing by age. Each is looked at once, as
        soon as this process coordinates or it is deployed."""
        for name in inputs:
            if name in self._up_to_date:
                continue
            try:
                await self._bus.input_log(name, make=False)  # a list may name what is lost
                await self._bus.input_log(name)
            except LogGoneError:
                continue
            except LockstepError as error:
                if isinstance(error, UnavailableError) and not await self._bus.healthy():
                    raise
                # It is tried again, and those behind it do not wait for that.
                if name not in self._told_settings:
                    self._told_settings.add(name)
                    self._log.warning(
                        "an input log does not follow the settings", app=name.app, error=str(error)
                    )
                continue
            self._up_to_date.add(name)
        self._up_to_date.intersection_update(inputs)
        self._told_settings.intersection_update(inputs)

    async def _tell_unknown(self, apps: set[str], deployed: Sequence[Deployment]) -> None:
        """Says which apps have logs and are not known to the store, so that nobody runs them: its
        database came back empty, or from a backup older than they are. Logs come before what is
        stored of a new app, so they have to be there at two looks."""
        gone = {one.deployment.app for one in await self._store.deployments.removed()}
        unknown = frozenset(apps - gone - {one.app for one in deployed})
        for app in sorted(unknown & self._unknown):
            self._log.error(
                "an app has logs, and the store does not know it: was its database lost? Bring a"
                " backup back, or deploy the app again: its sinks then begin anew, and send again"
                " what its log still has. `lockstep undeploy --purge` removes the logs",
                app=app,
            )
        self._unknown = unknown

    async def _begun_outputs(
        self, deployed: Sequence[Deployment]
    ) -> list[tuple[LogName, Deployment]]:
        """Of units that carry an app now and have begun: there is a revision of each, and a log."""
        of_app = {one.app: one for one in deployed}
        found: list[tuple[LogName, Deployment]] = []
        for app, group, partition in await self._store.revisions.logs(None):
            one, since_ms = of_app.get(app), since_in(group)
            if one is None or since_ms != one.origin.logs_since_ms:
                continue
            own = log_of(one)
            name = replace(own, group=without_since(group), partition=partition)
            if (group_and_layout(name.group)[1] == one.layout) if one.layout else name == own:
                found.append((name, one))
        return found

    async def _remove(self, app: str, left: _Left) -> None:
        for log in left.logs:
            await self._bus.remove_logs(log)
        revisions = self._store.revisions
        going = [one.id for key in left.revisions for one in await revisions.list(*key)]
        if going:
            await revisions.delete(going)
        if left.cursors:
            await self._store.cursors.delete(left.cursors)
        self._log.info(
            "removed what nobody goes on from", app=app, logs=len(left.logs), revisions=len(going),
            cursors=len(left.cursors),
        )  # fmt: skip


def dead_before_ms(removed: Removed | None) -> int:
    """What bears an earlier time is not gone on from, once an app was removed."""
    if removed is None:
        return 0
    if removed.kept is None:
        return removed.deployment.life.deployed_ms + 1
    return removed.kept.origin.logs_since_ms
