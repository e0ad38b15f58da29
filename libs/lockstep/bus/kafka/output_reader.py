"""Reads the records of an output log that count, by sequence."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from lockstep.bus.kafka.broker import Broker
from lockstep.bus.kafka.chain import Chain, chain_behind
from lockstep.bus.kafka.spot import Spot
from lockstep.bus.kafka.tape import Tape
from lockstep.bus.kafka.window import Raw


class OutputReader:
    """One reader at a time."""

    def __init__(self, broker: Broker, spot: Spot, topic: str) -> None:
        self._broker = broker
        self._spot = spot
        self._tape = Tape(broker, topic)
        self._chain: Chain | None = None
        self._given = 0  # the sequence behind which the chain goes on

    async def read(
        self, after: int, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[tuple[int, Raw]]:
        """See the contract."""
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + wait_ms / 1000
        chain = self._chain
        if chain is None or after != self._given:
            chain = await chain_behind(self._broker, self._spot, self._tape.topic, after)
            self._chain, self._given = chain, after
        found: list[tuple[int, Raw]] = []
        while not found:
            left_ms = max(0, round((deadline_s - loop.time()) * 1000))
            raws = await self._tape.read(
                chain.place, max_records=max_records, max_bytes=max_bytes, wait_ms=left_ms
            )
            if not raws:
                break
            for raw in raws:
                if chain.take(raw) and chain.at.tail.sequence > after:
                    self._given = chain.at.tail.sequence
                    found.append((self._given, raw))
        return found

    def leave(self) -> None:
        """Its place is kept no longer."""
        self._tape.leave()
