"""What connectors promise, played against the real other side: order, retries, restarts, copies.

Both functions break connections on purpose and count. What a connector promises is what the test
says of the counts: with acknowledgements `lost` is 0, with identities `duplicated` is 0, too.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Protocol

from lockstep.events import UnavailableError
from lockstep.sinks import Message, Sink
from lockstep.sources import Received, Source

WAIT_MS: Final = 200
PATIENCE_S: Final = 60.0
PAUSE_S: Final = 0.05
QUIET_S: Final = 2.0
"""After so long nothing more arrives."""


class Receiving(Protocol):
    """The other side of a sink. `stop` ends it at once; `received`: all that has arrived, ever."""

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def received(self) -> Sequence[bytes]: ...


class Sending(Protocol):
    """The other side of a source. `stop` ends it at once; what it keeps, it has after `start`."""

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def send(self, payload: bytes) -> None: ...


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of `sent` messages. `reordered`: first arrivals that came before an older one's;
    `identified`: whatever came twice had the same id."""

    sent: int
    lost: int
    duplicated: int
    reordered: int
    identified: bool


def _tally(sent: Sequence[bytes], arrived: Sequence[bytes], *, identified: bool = True) -> Tally:
    counted = Counter(arrived)
    first = [payload for payload in dict.fromkeys(arrived) if payload in set(sent)]
    order = {payload: number for number, payload in enumerate(sent)}
    places = [order[payload] for payload in first]
    return Tally(
        len(sent),
        sum(payload not in counted for payload in sent),
        sum(count - 1 for count in counted.values()),
        sum(later < earlier for earlier, later in pairwise(places)),
        identified,
    )


def message(
    number: int, content_type: str = "application/json", payload: bytes | None = None
) -> Message:
    """A message as the publisher hands it to a sink, the same for a number whenever it is made."""
    body = b'{"n":%d}' % number if payload is None else payload
    event = {"n": number}
    return Message(
        f"Kit/main/0/{number}.0", body, content_type, 1_000 + number, event,
        lambda text: text.replace("{{n}}", str(number)),
    )  # fmt: skip


async def play_sink(
    make: Callable[[], Sink],
    far: Receiving,
    *,
    count: int = 20,
    of: Callable[[int], Message] = message,
) -> Tally:
    """Sends `count` messages thrice: to a side that is there, over its end, after our own."""
    sent: list[bytes] = []
    await far.start()
    sink = make()
    for number in range(count):
        await _delivered(sink, of(number), sent)
    await far.stop()
    away = asyncio.ensure_future(_delivered(sink, of(count), sent))
    await asyncio.sleep(PAUSE_S)
    await far.start()
    await away
    for number in range(count + 1, 2 * count):
        await _delivered(sink, of(number), sent)
    await sink.close()
    again = make()
    for number in range(2 * count, 3 * count):
        await _delivered(again, of(number), sent)
    await again.close()
    arrived: Sequence[bytes] = ()
    for _ in range(int(QUIET_S / PAUSE_S)):
        arrived = await far.received()
        if set(sent) <= set(arrived):
            break
        await asyncio.sleep(PAUSE_S)
    return _tally(sent, [each for each in arrived if each in set(sent)])


async def _delivered(sink: Sink, wanted: Message, sent: list[bytes]) -> None:
    """As the publisher does it: again after a pause, under the same id."""
    sent.append(wanted.payload)
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                return await sink.send(wanted)
            except (UnavailableError, OSError):
                await asyncio.sleep(PAUSE_S)


async def play_source(
    make: Callable[[], Source],
    far: Sending,
    *,
    count: int = 20,
    of: Callable[[int], bytes] = lambda number: b'{"n":%d}' % number,
) -> Tally:
    """Takes `count` messages thrice: plainly, dying unacknowledged, over the far end's death."""
    arrived: list[Received] = []
    sent = [of(number) for number in range(3 * count)]
    await far.start()
    reading = _Reading(make)
    arrived += await reading.listen()
    for payload in sent[:count]:
        await far.send(payload)
    arrived += await reading.take(count)
    for payload in sent[count : 2 * count]:
        await far.send(payload)
    arrived += await reading.take(count, acknowledge=False)
    await reading.end()
    again = await reading.take(count, patience_s=QUIET_S)
    arrived += again
    await far.stop()
    await far.start()
    arrived += await reading.listen()
    for payload in sent[2 * count :]:
        await far.send(payload)
    arrived += await reading.take(count)
    await reading.end()
    marks: dict[bytes, set[str | None]] = {}
    for each in arrived:
        marks.setdefault(each.payload, set()).add(each.id)
    identified = all(len(ids) == 1 and None not in ids for ids in marks.values())
    return _tally(sent, [each.payload for each in arrived], identified=identified)


class _Reading:
    """A source that is made anew when it fails, as the receiver does it."""

    def __init__(self, make: Callable[[], Source]) -> None:
        self._make = make
        self._source: Source | None = None

    async def listen(self) -> list[Received]:
        """Until the source has reached the other side; gives what had come already."""
        found: list[Received] = []
        async with asyncio.timeout(PATIENCE_S):
            while not await self._once(0, found, acknowledge=True):  # noqa: ASYNC110
                await asyncio.sleep(PAUSE_S)
        return found

    async def take(
        self, count: int, *, acknowledge: bool = True, patience_s: float = PATIENCE_S
    ) -> list[Received]:
        """Up to so many new payloads."""
        found: list[Received] = []
        try:
            async with asyncio.timeout(patience_s):
                while len({each.payload for each in found}) < count:
                    if not await self._once(count, found, acknowledge=acknowledge):
                        await asyncio.sleep(PAUSE_S)
        except TimeoutError:
            pass
        return found

    async def _once(self, count: int, found: list[Received], *, acknowledge: bool) -> bool:
        self._source = self._source or self._make()
        try:
            came = await self._source.read(max_messages=max(count, 1), wait_ms=WAIT_MS)
        except (UnavailableError, OSError):
            await self.end()
            return False
        found += came
        for each in came:
            if acknowledge:
                await each.acknowledge()
        return True

    async def end(self) -> None:
        """Dies as far as the other side can tell."""
        source, self._source = self._source, None
        if source is not None:
            await source.close()
