"""Whether a replica leads, how far it has folded, and what of it is published."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from lockstep.bus import OutputTail
from lockstep.events import OutputId, Position
from lockstep.leader.protocol import Permit
from lockstep.telemetry import Recent, RecentBy
from lockstep_services.processor.replica.effort import Effort
from lockstep_services.processor.replica.filling import Filling
from lockstep_services.processor.replica.passing import Passing
from lockstep_services.processor.replica.running import Running
from lockstep_services.processor.replica.site import Site
from lockstep_services.processor.replica.standby import Behind, Progress, is_ready
from lockstep_services.processor.replica.standing import (
    RestartReplicaError,
    Standing,
    standing,
    why_overtaken,
)


@dataclass
class Lead:
    """The permit to publish, if it is held, and the way there. `turned_ms`: when a term last began
    or ended, by this process's clock; `ended`, `ended_planned`: why the last one ended."""

    permit: Permit | None = None
    turned_ms: int = 0
    ended: str = ""
    ended_planned: bool = False
    epoch: int = 0
    promoted: asyncio.Event = field(default_factory=asyncio.Event)
    lease_due: asyncio.Event = field(default_factory=asyncio.Event)
    tick_due: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_active(self) -> bool:
        """A permit is held."""
        return self.permit is not None

    def offer(self) -> None:
        """The lease may be free: it is asked for at once."""
        self.lease_due.set()
        self.tick_due.set()

    def promote(self, is_promoted: bool) -> None:
        """It has the lease, and leads or is about to."""
        if is_promoted:
            self.promoted.set()
        else:
            self.promoted.clear()


@dataclass
class Published:
    """What the output log has. `to_publish` rings for what is held back, `space` for room, `moved`
    when more is settled than this replica's records say, which is `told`. `recent`: what this
    replica has appended; `rows`: of each stream or table."""

    site: Site
    running: Running
    lead: Lead
    last_id: OutputId | None = None
    told: Position = 0
    passing: Passing = field(default_factory=Passing)
    to_publish: asyncio.Event = field(default_factory=asyncio.Event)
    space: asyncio.Event = field(default_factory=asyncio.Event)
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    recent: Recent = field(init=False)
    rows: RecentBy = field(init=False)

    def __post_init__(self) -> None:
        now_ms = self.site.clock.monotonic_ms()
        self.recent, self.rows = Recent(now_ms), RecentBy(now_ms)

    def saw(self, tail: OutputTail) -> None:
        """The output log's end. RestartReplicaError when it goes on with another state."""
        running = self.running
        match standing(running.generation, tail):
            case Standing.OVERTAKEN:
                raise RestartReplicaError(why_overtaken(running.generation, tail))
            case Standing.RECORDED if tail.generation is not None or running.unrecorded is None:
                running.record()
        self.lead.epoch = max(self.lead.epoch, tail.epoch)
        self.know(tail.last_id)

    def know(self, last: OutputId | None) -> None:
        """The output log holds every row up to `last`."""
        if last is not None and (self.last_id is None or last > self.last_id):
            self.last_id = last
            self.passing.published(last.position)
        name, generation = self.site.name, self.running.generation
        settled = self.site.watch.settled(name.app, name.group, name.partition, generation)
        self.running.engine.outbox.published(last, settled=settled)
        self.space.set()
        self.settle()

    def settle(self) -> None:
        """More may be settled than was."""
        if self.running.engine.outbox.settled > self.told:
            self.moved.set()


@dataclass
class Reach:
    """Where a replica stands in the input log; `goal` is the log's end when it began. `ended` rings
    when the units of another layout go on behind what it has folded; `folded` with each slice.
    `events`, `rows`: what has come of each input stream, and what each query gave, lately.
    `took_more`: it has folded more than ticks. `end_read`: where the log ended when it was read
    last, if that is folded. `filling`: how full the log may be; `input_full`: that it is, and
    why it forgets nothing."""

    site: Site
    running: Running
    lead: Lead
    published: Published
    goal: Position
    log_end: Position
    behind: Behind = field(default_factory=Behind)
    end_read: Position = 0
    folding_since_ms: int | None = None
    took_more: bool = False
    filling: Filling = field(default_factory=Filling)
    input_full: str | None = None
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    folded: asyncio.Event = field(default_factory=asyncio.Event)
    effort: Effort = field(init=False)
    events: RecentBy = field(init=False)
    rows: RecentBy = field(init=False)

    def __post_init__(self) -> None:
        now_ms = self.site.clock.monotonic_ms()
        self.effort = Effort(now_ms)
        self.events, self.rows = RecentBy(now_ms), RecentBy(now_ms)

    @property
    def has_ended(self) -> bool:
        """There is nothing left to fold."""
        return self.ended.is_set()

    @property
    def folding_ms(self) -> int:
        """For how long the slice under way has been folded."""
        since_ms = self.folding_since_ms
        return 0 if since_ms is None else self.site.clock.monotonic_ms() - since_ms

    @property
    def progress(self) -> Progress:
        """As of now."""
        position = self.running.engine.position
        behind_ms = self.behind.ms(position, self.site.clock.monotonic_ms())
        full, outdone = self.is_full, self.is_outdone
        return Progress(position, self.log_end, self.goal, behind_ms, full, outdone)

    @property
    def is_full(self) -> bool:
        """It holds back as much as it may: nothing more is folded before that is published."""
        limit = self.running.wanted.settings.hold_back_max_outputs
        return len(self.running.engine.outbox) >= limit

    @property
    def is_outdone(self) -> bool:
        """It stops in front of what another replica has folded and published: it could publish
        nothing if it led, and nothing could be set aside for all."""
        blocked, last = self.running.engine.unfoldable, self.published.last_id
        return blocked is not None and last is not None and last.position >= blocked

    @property
    def is_ready(self) -> bool:
        """It could take over soon."""
        return self.is_ready_at(self.progress)

    def is_ready_at(self, progress: Progress) -> bool:
        """The same, of what is known already."""
        wanted = self.running.wanted
        return is_ready(wanted.standby, progress, wanted.settings)

    @property
    def may_fold(self) -> bool:
        """A warm standby waits until it is promoted."""
        return self.lead.promoted.is_set() or self.running.wanted.is_hot
