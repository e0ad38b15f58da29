"""One living processor for each node id: a second one would share its leases and placements.

A process asks for its id before it carries anything. One that died does not answer, so its next
process begins at once; one that is stopped says nothing either. Should two have asked at the same
moment, both hear the other's heartbeats, and the later one ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from lockstep.bus import Subscription
from lockstep.control import Beating, Heartbeat, presence_subject
from lockstep.events import Fault, LockstepError, UnavailableError
from lockstep.events.typed import from_json
from lockstep.frame import Context

ANSWER_LIMIT_MS: Final = 1_000
"""A process that does not answer for so long (paused, or cut off) counts as gone."""

HEARD_TIMES: Final = 2
"""One heartbeat may be the last of a process that has just died, come late."""


class Present(msgspec.Struct, frozen=True):
    """The process that has a node id."""

    incarnation: str
    url: str
    host: str


class NodeTakenError(LockstepError):
    """Another living processor has this node id."""

    fault = Fault.USER
    retryable = False


class Presence:
    """Of this process. `heard`: the last heartbeat of this node id."""

    def __init__(
        self, context: Context, beating: Beating, heard: Callable[[], Heartbeat | None]
    ) -> None:
        self._context = context
        self._beating = beating
        self._heard = heard
        self._answering: Subscription | None = None

    async def take(self) -> None:
        """The node id is this process's from now on. NodeTakenError, UnavailableError."""
        if self._answering is not None:
            return
        topics = self._context.world.bus.topics
        subject = presence_subject(self._context.service, self._context.node)
        try:
            raw = await topics.request(subject, b"", timeout_ms=ANSWER_LIMIT_MS)
        except UnavailableError:
            pass  # nobody has it; were it the bus, the next step would say so
        else:
            other = from_json(raw, Present)
            raise self._taken(other.host, other.url)
        self._answering = await topics.respond(subject, self._answer)

    async def leave(self) -> None:
        """Another process may have it."""
        answering, self._answering = self._answering, None
        if answering is not None:
            await answering.close()

    async def mind(self) -> None:
        """Until cancelled: ends this process when another one had the id before it."""
        heard_at: set[int] = set()
        while True:
            other = self._heard()
            if other is not None and self._was_before(other):
                heard_at.add(other.sent_ms)
            if other is not None and len(heard_at) >= HEARD_TIMES:
                self._context.give_up(self._taken(other.host, other.url))
                return
            await self._context.clock.sleep_ms(
                self._context.settings.coordinator.heartbeat_interval_ms // 2
            )

    def _was_before(self, other: Heartbeat) -> bool:
        mine = (self._beating.since_ms, self._beating.incarnation)
        if other.draining or other.incarnation in ("", self._beating.incarnation):
            return False
        return (other.since_ms, other.incarnation) < mine

    async def _answer(self, _payload: bytes) -> bytes:
        present = Present(self._beating.incarnation, self._context.url(), self._beating.host)
        return msgspec.json.encode(present)

    def _taken(self, host: str, url: str) -> NodeTakenError:
        node = self._context.node
        return NodeTakenError(
            f"a living processor has the node id '{node}' already", where=f"{url} on host {host}",
            hint="give each processor a LOCKSTEP_SERVER__NODE of its own, or stop the other one",
        )  # fmt: skip
