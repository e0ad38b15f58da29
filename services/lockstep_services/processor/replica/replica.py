"""One replica while it runs: its parts, of which each room takes what it needs."""

from __future__ import annotations

from dataclasses import dataclass, field

from lockstep.control import GroupStatus, UnitFlow
from lockstep.telemetry import Reading
from lockstep_services.processor.replica.leading import Lead, Published, Reach
from lockstep_services.processor.replica.running import Running
from lockstep_services.processor.replica.site import Site
from lockstep_services.processor.replica.standby import ACTIVE

PASSIVE = "passive"
BACKUP = "backup"
SYNCING = "syncing"


@dataclass
class Trouble:
    """What keeps a replica from going on, for people; None when nothing does."""

    text: str | None = None


@dataclass(frozen=True)
class Replica:
    """Of (app, group, partition), from its beginning to its end."""

    site: Site
    running: Running
    lead: Lead
    reach: Reach
    published: Published
    trouble: Trouble = field(default_factory=Trouble)

    def status(self) -> GroupStatus:
        """For heartbeats."""
        name, running, last = self.site.name, self.running, self.published.last_id
        engine, generation, progress = running.engine, running.generation, self.reach.progress
        state_rows = engine.state_rows
        ready, full = self.reach.is_ready_at(progress), self._full(state_rows)
        now_ms, folding_ms = self.site.clock.monotonic_ms(), self.reach.folding_ms
        events_per_s, busy_permille = self.reach.effort.read(now_ms, folding_ms=folding_ms)
        passed = self.published.recent.read(now_ms) if self.lead.is_active else Reading()
        return GroupStatus(
            app=name.app,
            group=name.group,
            partition=name.partition,
            version=engine.version,
            deployed_ms=generation.life.deployed_ms,
            role=self._role(ready=ready),
            position=engine.position,
            log_end=max(self.reach.log_end, engine.position),
            epoch=self.lead.epoch,
            settled=engine.outbox.settled,
            published=None if last is None else f"{last.position}.{last.ordinal}",
            held_rows=len(engine.outbox),
            state_rows=state_rows,
            state_full=full is not None,
            ready=ready,
            unfoldable=engine.unfoldable or 0,
            trouble=(
                engine.stopped or self._slow() or full or self.reach.input_full or self.trouble.text
            ),
            began_empty=running.began_empty,
            behind_ms=progress.behind_ms,
            generation=generation.life.number,
            begins_behind=generation.position,
            standby=running.wanted.standby,
            events_per_s=events_per_s,
            busy_permille=busy_permille,
            past=running.past,
            rows_per_s=passed.per_s,
            latency_p50_ms=passed.p50_ms,
            latency_p99_ms=passed.p99_ms,
            turned_ms=self.lead.turned_ms,
            ended=self.lead.ended,
            ended_planned=self.lead.ended_planned,
        )

    def flow(self, channel_rows: int) -> UnitFlow:
        """What it lets through, name by name."""
        name, now_ms = self.site.name, self.site.clock.monotonic_ms()
        return UnitFlow(
            name.group, name.partition, self.reach.events.read(now_ms),
            self.reach.rows.read(now_ms), self.published.rows.read(now_ms), channel_rows,
        )  # fmt: skip

    def _full(self, rows: int) -> str | None:
        """What to say about a state over its limit: until it is smaller, receivers take nothing."""
        limit = self.site.settings.processor.state_max_rows
        if rows <= limit:
            return None
        return f"its windows and tables hold {rows} rows, over processor.state_max_rows = {limit}"

    def _slow(self) -> str | None:
        """What to say about a slice that does not end."""
        took_ms = self.reach.folding_ms
        if took_ms <= self.site.settings.processor.slice_slow_ms:
            return None
        position = self.running.engine.position
        return f"the slice behind position {position} has taken {took_ms} ms so far"

    def _role(self, *, ready: bool) -> str:
        if self.lead.is_active:
            return ACTIVE
        if not ready:
            return SYNCING
        me = self.site.node
        standby = [
            beat.node for beat, group in self.site.others() if group.ready and group.role != ACTIVE
        ]
        return PASSIVE if all(me < other for other in standby) else BACKUP
