"""What time it is where a topic is stored. Brokers stamp the records, and a host's clock may be far
from theirs: an id that is aged by it would be over at once, or its record be deleted too early."""

from __future__ import annotations

from lockstep.bus.kafka.broker import Broker
from lockstep.bus.kafka.spot import Spot
from lockstep.clock import Clock


class LogTime:
    """The stamp of the newest record that was seen, and what has passed here since. So it may be
    behind, never ahead: what has to be kept for some time is kept for that time at least."""

    def __init__(self, broker: Broker, spot: Spot, clock: Clock, topic: str) -> None:
        self._broker = broker
        self._spot = spot
        self._clock = clock
        self.topic = topic
        self._offset = -1
        self._stamped_ms = 0
        self._seen_ms = 0

    def saw(self, offset: int, stamped_ms: int) -> None:
        """A record stands there. Of two the later one tells, also if it has the earlier stamp:
        brokers' clocks are set back, too."""
        if offset > self._offset:
            self._offset, self._stamped_ms = offset, stamped_ms
            self._seen_ms = self._clock.monotonic_ms()

    def now_ms(self) -> int:
        """0 as long as no record was seen."""
        if self._offset < 0:
            return 0
        return self._stamped_ms + self._clock.monotonic_ms() - self._seen_ms

    async def look(self, end: int) -> None:
        """The last record in front of the topic's end is seen, if there is any."""
        if self._offset < end - 1 and await self._broker.low(self.topic) < end:
            last = await self._spot.at(self.topic, end - 1)
            self.saw(last.offset, last.timestamp_ms)

    async def since(self, age_ms: int) -> int | None:
        """The first offset whose record is no older than that; None: all are older."""
        return await self._broker.since(self.topic, self.now_ms() - age_ms)
