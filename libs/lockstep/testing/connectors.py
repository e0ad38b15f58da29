"""What connectors promise, played against the real other side: order, retries, restarts, copies.

`play_sink` and `play_source` break connections on purpose and count. `keeps_sink` and
`keeps_source` also compare the counts with what the type declares (`Extension.promise`), and fail
with all that contradicts it. Whatever is promised, what arrives first arrives in order.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Literal, Protocol

from lockstep.events import UnavailableError
from lockstep.siddhiql.catalogue import Delivery, ExtensionKind, Promise
from lockstep.siddhiql.checking.connectors import find_type
from lockstep.sinks import Message, MessageRefusedError, Sink
from lockstep.sources import Received, Source

WAIT_MS: Final = 200
PATIENCE_S: Final = 60.0
PAUSE_S: Final = 0.05
QUIET_S: Final = 2.0
"""After so long nothing more arrives."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """A message as the other side of a sink got it, with the identity that it came under."""

    payload: bytes
    id: str | None = None


class Receiving(Protocol):
    """The other side of a sink. `stop` ends it at once; `received`: all that has arrived, ever. It
    tells identities (`Arrived`) where the sink promises them."""

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def received(self) -> Sequence[bytes] | Sequence[Arrived]: ...


class Sending(Protocol):
    """The other side of a source. `stop` ends it at once; what it keeps, it has after `start`."""

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def send(self, payload: bytes) -> None: ...


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of `sent` messages. `reordered`: first arrivals that came before an older one's;
    `identified`: each came with an id, and whatever came twice with the same. `refused`: poison
    that a sink would not take (None: none was tried). `died`: what a source gave to who died with
    it unacknowledged, and to nobody again."""

    sent: int
    lost: int
    duplicated: int
    reordered: int
    identified: bool
    refused: int | None = None
    died: int = 0


Way = Literal["source", "sink"]


def promise_of(way: Way, name: str) -> Promise:
    """What an installed type declares; LookupError when it declares nothing."""
    declared = find_type(ExtensionKind(way), name)
    if declared is None or declared.promise is None:
        raise LookupError(f"there is no {way} '{name}' that declares what it delivers")
    return declared.promise


def contradictions(delivery: Delivery, tally: Tally, *, way: Way) -> list[str]:
    """What a tally has that a delivery excludes; in words. Pure."""
    found = []
    if tally.lost and delivery is not Delivery.AT_MOST_ONCE:
        found.append(f"{tally.lost} of {tally.sent} messages were lost")
    if tally.died and delivery is not Delivery.AT_MOST_ONCE:
        found.append(f"{tally.died} messages died with who had not acknowledged them")
    # What comes again by a source under its identity is in the app once: that is the receiver's.
    is_once = delivery is Delivery.EXACTLY_ONCE and way == "sink"
    if tally.duplicated and (is_once or delivery is Delivery.AT_MOST_ONCE):
        found.append(f"{tally.duplicated} messages came again")
    is_told = delivery is Delivery.IDENTIFIED or (
        delivery is Delivery.EXACTLY_ONCE and way == "source"
    )
    if is_told and not tally.identified:
        found.append("messages have no identity, or another one when they come again")
    if tally.reordered:
        found.append(f"{tally.reordered} messages came before an older one")
    if tally.refused == 0:
        found.append("poison was not refused, so nobody hears of it")
    return found


def _check(promise: Promise, tally: Tally, way: Way, *, weaker: bool) -> None:
    delivery = promise.otherwise if weaker else promise.delivery
    if delivery is None:
        raise ValueError("it promises nothing weaker")
    if found := contradictions(delivery, tally, way=way):
        raise AssertionError(f"a {way} that delivers {delivery.value}: {'; '.join(found)}")


async def keeps_sink(
    promise: Promise,
    make: Callable[[], Sink],
    far: Receiving,
    *,
    count: int = 20,
    of: Callable[[int], Message] | None = None,
    poison: Message | None = None,
    weaker: bool = False,
) -> Tally:
    """Plays a sink; AssertionError with all that contradicts what it promises. `weaker`: its
    options are such that only `otherwise` holds."""
    tally = await play_sink(make, far, count=count, of=of or message, poison=poison)
    _check(promise, tally, "sink", weaker=weaker)
    return tally


async def keeps_source(
    promise: Promise,
    make: Callable[[], Source],
    far: Sending,
    *,
    count: int = 20,
    of: Callable[[int], bytes] = lambda number: b'{"n":%d}' % number,
    weaker: bool = False,
) -> Tally:
    """Plays a source; AssertionError with all that contradicts what it promises."""
    tally = await play_source(make, far, count=count, of=of)
    _check(promise, tally, "source", weaker=weaker)
    return tally


def _tally(
    sent: Sequence[bytes], arrived: Sequence[Arrived], *, refused: int | None = None
) -> Tally:
    marks: dict[bytes, set[str | None]] = {}
    for each in arrived:
        marks.setdefault(each.payload, set()).add(each.id)
    identified = all(len(ids) == 1 and None not in ids for ids in marks.values())
    shared = Counter(next(iter(ids)) for ids in marks.values())
    return _counted(
        sent, [each.payload for each in arrived],
        identified=identified and max(shared.values(), default=1) == 1, refused=refused,
    )  # fmt: skip


def _counted(
    sent: Sequence[bytes], arrived: Sequence[bytes], *, identified: bool, refused: int | None
) -> Tally:
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
        refused,
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
    poison: Message | None = None,
) -> Tally:
    """Sends `count` messages thrice: to a side that is there, over its end, after our own. `poison`
    is sent in between, as a message that the other side never takes."""
    sent: list[bytes] = []
    await far.start()
    sink = make()
    for number in range(count):
        await _delivered(sink, of(number), sent)
    refused = None if poison is None else await _refused(sink, poison)
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
    arrived: list[Arrived] = []
    for _ in range(int(QUIET_S / PAUSE_S)):
        come = [_arrived(each) for each in await far.received()]
        arrived = [each for each in come if each.payload in sent]
        if set(sent) <= {each.payload for each in arrived}:
            break
        await asyncio.sleep(PAUSE_S)
    return _tally(sent, arrived, refused=refused)


def _arrived(told: bytes | Arrived) -> Arrived:
    return Arrived(told) if isinstance(told, bytes) else told


async def _refused(sink: Sink, poison: Message) -> int:
    """As the publisher does it: 1 makes a dead letter of it."""
    try:
        await _delivered(sink, poison, [])
    except MessageRefusedError:
        return 1
    except TimeoutError:  # it would hold up all that come behind it
        return 0
    return 0


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
    plain, dying, last = sent[:count], sent[count : 2 * count], sent[2 * count :]
    await far.start()
    reading = _Reading(make)
    arrived += await reading.listen()
    for payload in plain:
        await far.send(payload)
    arrived += await reading.take(plain)
    for payload in dying:
        await far.send(payload)
    doomed = await reading.take(dying, acknowledge=False)
    arrived += doomed
    await reading.end()
    arrived += await reading.take(dying, patience_s=QUIET_S)
    await far.stop()
    await far.start()
    arrived += await reading.listen()
    for payload in last:
        await far.send(payload)
    arrived += await reading.take(last)
    await reading.end()
    tally = _tally(sent, [Arrived(each.payload, each.id) for each in arrived])
    counted = Counter(each.payload for each in arrived)
    return replace(tally, died=sum(counted[each] == 1 for each in {one.payload for one in doomed}))


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
        self, wanted: Sequence[bytes], *, acknowledge: bool = True, patience_s: float = PATIENCE_S
    ) -> list[Received]:
        """Until these have come; what the other side gives once more may stand between them."""
        found: list[Received] = []
        try:
            async with asyncio.timeout(patience_s):
                while not {each.payload for each in found}.issuperset(wanted):
                    if not await self._once(len(wanted), found, acknowledge=acknowledge):
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
