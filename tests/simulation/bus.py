"""A host's bus: the memory adapter at the far end of the simulated network."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

from lockstep.bus import (
    Accepted,
    Appended,
    Coded,
    IngressMessage,
    LogGoneError,
    LogName,
    OutputEntry,
    OutputTail,
    Refused,
    Subscription,
)
from lockstep.bus.contract import DeadLetters
from lockstep.bus.memory import MemoryBus
from lockstep.bus.memory.carrier import Stored
from lockstep.bus.subjects import input_subject, matches, output_subject
from lockstep.bus.subscriptions import QueuedSubscription
from lockstep.bus.together import one_by_one
from lockstep.events import ClaimRecord, InputRecord, OutputRecord, Position, UnavailableError
from lockstep.events.codec import EncodedEntry, decode_output, encode_record
from tests.simulation.carrier import SimCarrier
from tests.simulation.loop import Host
from tests.simulation.network import Answer, Network, Remote, Serve, at_once, serving

BUS: Final = "bus"
TIMEOUT_MS: Final = 1_500
READ_MARGIN_MS: Final = 1_000
INGRESS_PAUSE_MS: Final = 150

T = TypeVar("T")


@dataclass
class Switchboard:
    """Who listens and who answers, as the bus server knows it."""

    listeners: dict[int, tuple[str, Host, QueuedSubscription]] = field(default_factory=dict)
    responders: dict[int, tuple[str, Host, Callable[[bytes], Awaitable[bytes]]]] = field(
        default_factory=dict
    )
    keys: int = 0

    def forget(self, host: Host) -> None:
        """Its connection is gone."""
        for table in (self.listeners, self.responders):
            for key in [key for key, entry in table.items() if entry[1] is host]:
                del table[key]


class SimBus:
    """One host's connection to the bus."""

    def __init__(
        self, network: Network, host: Host, carrier: SimCarrier, board: Switchboard
    ) -> None:
        self.network = network
        self.host = host
        self.carrier = carrier
        self.there = MemoryBus(carrier, host.name)
        self.topics = SimTopics(self, board)
        self.ingress = SimIngress(self)
        letters: Any = Remote(network, host, BUS, self.there.dead_letters, TIMEOUT_MS)
        self.dead_letters: DeadLetters = letters

    async def call(
        self, serve: Serve, *, timeout_ms: int = TIMEOUT_MS, repeatable: bool = False
    ) -> Any:
        """A request of this host."""

        def served(answer: Answer) -> None:
            self.carrier.writer = self.host.name
            serve(answer)

        return await self.network.call(
            self.host, BUS, served, timeout_ms=timeout_ms, repeatable=repeatable
        )

    async def ask(self, work: Callable[[], Coroutine[Any, Any, Any]], **more: Any) -> Any:
        """The answer of the memory adapter."""
        return await self.call(serving(lambda: at_once(work())), **more)

    def remote(self, method: Callable[..., Coroutine[Any, Any, Any]]) -> Any:
        """A method over there, called from here."""

        async def called(*args: Any, **more: Any) -> Any:
            return await self.ask(lambda: method(*args, **more))

        return called

    async def input_log(self, name: LogName, *, make: bool = True) -> SimInputLog:
        """See the contract."""
        there = await self.ask(lambda: self.there.input_log(name, make=make))
        return SimInputLog(self, input_subject(name), there)

    async def output_log(self, name: LogName, *, make: bool = True) -> SimOutputLog:
        """See the contract."""
        there = await self.ask(lambda: self.there.output_log(name, make=make))
        return SimOutputLog(self, output_subject(name), there)

    async def logs(self, app: str | None, *, inputs: bool = False) -> Sequence[LogName]:
        """See the contract."""
        found: Sequence[LogName] = await self.ask(lambda: self.there.logs(app, inputs=inputs))
        return found

    async def remove_logs(self, name: LogName) -> None:
        """See the contract."""
        await self.ask(lambda: self.there.remove_logs(name))

    async def owner(self, suite: str, *, instead_of: str = "") -> str:
        """See the contract."""
        found: str = await self.ask(lambda: self.there.owner(suite, instead_of=instead_of))
        return found

    async def read(self, subject: str, after: int, limits: Mapping[str, int]) -> list[Stored]:
        """A long poll."""
        wait_ms = limits["wait_ms"]

        def serve(answer: Answer) -> None:
            if not self.carrier.has(subject):
                answer(LogGoneError(subject))
                return
            log = self.carrier.recorded(subject)
            log.watch(after, limits["max_records"], limits["max_bytes"], wait_ms, answer)

        found: list[Stored] = await self.call(serve, timeout_ms=wait_ms + READ_MARGIN_MS)
        return found

    async def healthy(self) -> bool:
        """See the contract."""
        return True

    async def close(self) -> None:
        """See the contract."""
        self.topics.board.forget(self.host)


class SimInputLog:
    """See the contract. A log is found by its name: it may have been removed, and made again."""

    def __init__(self, bus: SimBus, subject: str, there: Any) -> None:
        self._bus = bus
        self._subject = subject
        self._opened = there

    @property
    def _there(self) -> Any:
        """The log of that name now; UnavailableError when there is none."""
        return _of_that_name(self._bus, self._subject, self._opened)

    async def append(self, record: InputRecord, *, dedup_id: str | None = None) -> Appended:
        """See the contract."""
        return await self.append_encoded(encode_record(record), dedup_id=dedup_id)

    async def append_encoded(self, payload: bytes, *, dedup_id: str | None = None) -> Appended:
        """See the contract."""
        appended: Appended = await self._bus.ask(
            lambda: self._there.append_encoded(payload, dedup_id=dedup_id),
            repeatable=dedup_id is not None,
        )
        return appended

    async def append_together(self, records: Sequence[Coded]) -> Sequence[Appended]:
        """See the contract; anything may happen between two of them."""
        return await one_by_one(self, records)

    async def read_encoded(self, after: Position, **limits: int) -> Sequence[EncodedEntry]:
        """See the contract."""
        found = await self._bus.read(self._subject, after, limits)
        return [EncodedEntry(stored.position, stored.payload) for stored in found]

    async def bounds(self) -> tuple[Position, Position]:
        """See the contract."""
        bounds: tuple[Position, Position] = await self._bus.ask(lambda: self._there.bounds())
        return bounds

    async def trim(self, up_to: Position) -> None:
        """See the contract."""
        await self._bus.ask(lambda: self._there.trim(up_to))

    def __getattr__(self, name: str) -> Any:
        """Whatever else the contract has: asked of the adapter over there."""
        if name.startswith("_"):
            raise AttributeError(name)
        return self._bus.remote(lambda *args, **more: getattr(self._there, name)(*args, **more))


class SimOutputLog:
    """See the contract; found by its name as well."""

    def __init__(self, bus: SimBus, subject: str, there: Any) -> None:
        self._bus = bus
        self._subject = subject
        self._opened = there

    @property
    def _there(self) -> Any:
        """The log of that name now; UnavailableError when there is none."""
        return _of_that_name(self._bus, self._subject, self._opened)

    async def tail(self) -> OutputTail:
        """See the contract."""
        tail: OutputTail = await self._bus.ask(lambda: self._there.tail())
        return tail

    async def append(
        self, record: OutputRecord | ClaimRecord, *, expected_sequence: int
    ) -> Accepted | Refused:
        """See the contract. A repeated request is refused by the log itself."""
        outcome: Accepted | Refused = await self._bus.ask(
            lambda: self._there.append(record, expected_sequence=expected_sequence),
            repeatable=True,
        )
        return outcome

    async def read(self, after: int, **limits: int) -> Sequence[OutputEntry]:
        """See the contract."""
        found = await self._bus.read(self._subject, after, limits)
        return [OutputEntry(stored.position, decode_output(stored.payload)) for stored in found]

    def __getattr__(self, name: str) -> Any:
        """Whatever else the contract has: asked of the adapter over there."""
        if name.startswith("_"):
            raise AttributeError(name)
        return self._bus.remote(lambda *args, **more: getattr(self._there, name)(*args, **more))

    async def trim(self, up_to: int) -> None:
        """See the contract."""
        await self._bus.ask(lambda: self._there.trim(up_to))


def _of_that_name(bus: SimBus, subject: str, opened: Any) -> Any:
    if not bus.carrier.has(subject):
        raise LogGoneError(subject)
    opened._log = bus.carrier.log(subject)
    return opened


class SimIngress:
    """See the contract."""

    def __init__(self, bus: SimBus) -> None:
        self._bus = bus

    async def publish(
        self, app: str, stream: str, payload: bytes, *, headers: Mapping[str, str] | None = None
    ) -> None:
        """See the contract."""
        there = self._bus.there.ingress
        await self._bus.ask(
            lambda: there.publish(app, stream, payload, headers=headers),
            repeatable=True,
        )

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[IngressMessage]:
        """See the contract; an empty answer comes sooner than it has to."""
        there = self._bus.there.ingress
        found: Sequence[IngressMessage] = await self._bus.ask(
            lambda: there.read(max_messages=max_messages, wait_ms=0)
        )
        if not found:
            await self._bus.carrier.clock.sleep_ms(min(wait_ms, INGRESS_PAUSE_MS))
        return [self._acknowledged_from_afar(message) for message in found]

    def _acknowledged_from_afar(self, message: IngressMessage) -> IngressMessage:
        async def acknowledge() -> None:
            await self._bus.ask(lambda: _as_coroutine(message.acknowledge()))

        return IngressMessage(
            message.app, message.stream, message.payload, message.headers, message.id, acknowledge
        )


async def _as_coroutine(awaitable: Awaitable[None]) -> None:
    await awaitable


class SimTopics:
    """See the contract."""

    def __init__(self, bus: SimBus, board: Switchboard) -> None:
        self._bus = bus
        self.board = board

    @property
    def max_answer_bytes(self) -> int:
        """See the contract; apps here are small."""
        return 8_000_000

    async def publish(
        self, subject: str, payload: bytes, *, headers: Mapping[str, str] | None = None
    ) -> None:
        """See the contract: it is on its way when this returns, or lost."""
        network = self._bus.network

        def serve(_answer: Answer) -> None:
            for pattern, host, subscription in list(self.board.listeners.values()):
                if not host.dead and matches(pattern, subject):
                    network.deliver(BUS, host, partial(subscription.offer, subject, payload))

        network.send(self._bus.host, BUS, serve, lambda _outcome: None, UnavailableError)

    async def subscribe(self, pattern: str) -> Subscription:
        """See the contract."""
        key = self._key()

        async def forget() -> None:
            self.board.listeners.pop(key, None)

        subscription = QueuedSubscription(10_000, forget)
        entry = (pattern, self._bus.host, subscription)
        await self._known(self.board.listeners, key, entry)
        return subscription

    async def respond(
        self,
        subject: str,
        handler: Callable[[bytes], Awaitable[bytes]],
        *,
        queue: str | None = None,
    ) -> Subscription:
        """See the contract."""
        key = self._key()

        async def forget() -> None:
            self.board.responders.pop(key, None)

        entry = (subject, self._bus.host, handler)
        await self._known(self.board.responders, key, entry)
        return QueuedSubscription(1, forget)

    async def _known(self, table: dict[int, T], key: int, entry: T) -> None:
        """The server knows of it. Where its answer does not come, nothing is left behind, as a
        connection keeps the order of what it sends: the end of it arrives behind its beginning."""
        wanted = True

        def begin() -> None:
            if wanted:
                table[key] = entry

        try:
            await self._bus.call(serving(begin))
        except BaseException:
            wanted = False
            table.pop(key, None)
            raise

    async def request(self, subject: str, payload: bytes, *, timeout_ms: int) -> bytes:
        """See the contract."""
        network = self._bus.network

        def serve(answer: Answer) -> None:
            found = [one for one in self.board.responders.values() if one[0] == subject]
            if not found:
                answer(UnavailableError("nobody answers", where=subject))
                return
            _, host, handler = found[-1]

            async def respond() -> None:
                reply = await handler(payload)
                network.send(host, BUS, lambda _: answer(reply), lambda _: None, UnavailableError)

            def take() -> None:
                task = network.loop.create_task(respond(), context=host.context)
                task.add_done_callback(lambda done: done.cancelled() or done.exception())

            network.deliver(BUS, host, take)

        reply: bytes = await self._bus.call(serve, timeout_ms=timeout_ms)
        return reply

    def _key(self) -> int:
        self.board.keys += 1
        return self.board.keys
