"""An app's archive: both logs written behind them, small files made large, and what is over age
forgotten, of all lives of the app."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

from msgspec.structs import replace

from lockstep.archive.keeping import SideArchive, Text, keep_up, note_text
from lockstep.archive.naming import INPUT, OUTPUT, Logs
from lockstep.archive.others import expire_backtests, expire_pasts
from lockstep.archive.place import Place
from lockstep.archive.reading import lives_of
from lockstep.bus import Bus
from lockstep.control import AppView, SinkStatus, archive_cursor
from lockstep.events import UnavailableError
from lockstep.frame import Context, LeaseKeeper, Offload, run_until
from lockstep.siddhiql.checking.archiving import AppArchiving
from lockstep_services.publisher.archive.following import HELD_WAIT_MS, Following
from lockstep_services.publisher.archive.sources import InputSource, OutputSource
from lockstep_services.publisher.archive.upkeep import in_turn
from lockstep_services.publisher.fleet_log import FleetLog, position_of

ENTRY_ROWS: Final = 16_384
OPEN_WAIT_MS: Final = 1_000


class Archiver:
    """Of one app. `tasks` names what runs, each in a supervised task, while the lease is held.

    `offload`: what touches the tables runs there, one thing after another, as who sweeps must not
    meet an append.
    """

    def __init__(
        self,
        view: AppView,
        archiving: AppArchiving,
        place: Place,
        context: Context,
        keeper: LeaseKeeper,
        offload: Offload,
    ) -> None:
        self._view = view
        self._archiving = archiving
        self._context = context
        self._place = place
        self._bus: Bus = context.world.bus
        self._keeper = keeper
        self._offload = offload
        self._log = context.log.bind(app=view.name)
        self._logs = Logs(view.name, view.input.since_ms)
        self._sides = {side: SideArchive(place, self._logs, side) for side in (INPUT, OUTPUT)}
        self.input, self.output = self._following(INPUT), self._following(OUTPUT)

    def _following(self, side: str) -> Following:
        context = self._context
        settings = context.settings
        return Following(
            self._sides[side], self._view.name, archive_cursor(self._view, settings.archive, side),
            context.world.store.cursors, self._keeper, context.clock, settings, context.metrics,
            context.log, self._offload,
        )  # fmt: skip

    @property
    def statuses(self) -> Sequence[SinkStatus]:
        """Of both logs; of a fleet's merged one by positions, as its sinks tell it."""
        output = self.output.status()
        if self._view.fleet is not None:
            reached, end = position_of(output.sequence), position_of(output.log_end)
            output = replace(output, sequence=reached, log_end=end)
        return (self.input.status(), output)

    @property
    def tasks(self) -> dict[str, Callable[[], Awaitable[None]]]:
        """By name."""
        app = self._view.name
        return {
            f"archive-input-{app}": partial(self._while_held, self._follow_input),
            f"archive-output-{app}": partial(self._while_held, self._follow_output),
            f"archive-upkeep-{app}": partial(self._while_held, self._upkeep),
        }

    async def _while_held(self, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            if await self._keeper.wait_held(HELD_WAIT_MS):
                await work()

    async def _follow_input(self) -> None:
        log = await self._bus.input_log(self._view.input, make=False)
        await self.input.while_held(InputSource(log, self._is_kept))

    async def _follow_output(self) -> None:
        if self._view.fleet is None:
            log = await self._bus.output_log(self._view.log, make=False)
            await self.output.while_held(OutputSource(log, self._is_kept))
            return
        merged = FleetLog(self._bus, self._view, self._context.clock, entry_rows=ENTRY_ROWS)
        source = OutputSource(merged, self._is_kept)
        await run_until(partial(self.output.while_held, source), merged.run)

    def _is_kept(self, stream: str) -> bool:
        return self._archiving.of(stream).kept

    async def _upkeep(self) -> None:
        """The text, as soon as the archive is known to be ours; then one round after another."""
        settings = self._context.settings
        interval_ms = settings.archive.upkeep_interval_ms
        try:
            while not self.input.is_open:
                if await self._keeper.wait_lost(OPEN_WAIT_MS):
                    return
            await self._note_text()
            while not await self._keeper.wait_lost(interval_ms):
                await self._keep_up()
        except UnavailableError as error:
            self._log.warning("the archive is looked after later", error=str(error))
            await self._context.clock.sleep_ms(settings.publisher.retry_backoff_max_ms)

    async def _note_text(self) -> None:
        one = self._view.deployment
        text = Text(
            one.life.deployed_ms, one.life.number, one.version, one.text, one.parallel,
            one.origin.position,
        )  # fmt: skip
        now_ms = self._context.clock.now_ms()
        await self._offload.run(lambda: note_text(self._place, self._logs, text, now_ms))

    async def _keep_up(self) -> None:
        """This life's tables and those of earlier ones: what the text says now goes for all."""
        settings, now_ms = self._context.settings.archive, self._context.clock.now_ms()
        place, app = self._place, self._view.name
        lives = await self._offload.run(partial(lives_of, place, app))
        earlier = [SideArchive(place, one, side) for one in lives if one != self._logs
                   for side in (INPUT, OUTPUT)]  # fmt: skip
        for side in (*self._sides.values(), *earlier):
            if not await self._keep_up_side(side, now_ms):
                return
        pasts = await self._offload.run(
            partial(expire_pasts, place, app, self._retention_ms, now_ms)
        )
        runs = await self._offload.run(
            partial(expire_backtests, place, app, settings.backtests_keep_ms, now_ms)
        )
        if pasts or runs:
            self._log.info("old results removed", tables_of_pasts=pasts, backtests=runs)

    def _retention_ms(self, stream: str) -> int | None:
        return self._archiving.of(stream).retention_ms

    async def _keep_up_side(self, side: SideArchive, now_ms: int) -> bool:
        """False when the lease is lost."""
        settings = self._context.settings.archive
        tables = keep_up(
            side, self._retention_ms, self._archiving.longest_ms, now_ms,
            file_bytes=settings.file_bytes, keep_ms=settings.keep_replaced_ms,
        )  # fmt: skip
        try:
            done = await in_turn(tables, self._offload, self._context.clock, self._keeper)
        except UnavailableError as error:  # tables of other sides may be well
            self._log.warning("the archive is looked after later", error=str(error))
            return True
        if done is not None and (done.expired or done.compacted or done.swept):
            self._log.info(
                "archive looked after", side=side.side, since_ms=side.logs.since_ms,
                expired=done.expired, compacted=done.compacted, swept=done.swept,
            )  # fmt: skip
        return done is not None
