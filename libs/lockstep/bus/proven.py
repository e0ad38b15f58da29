"""A bus whose control subjects carry proof, whatever the carrier: all of them pass here, so that
none is forgotten. Everything else goes through as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final, cast

from lockstep.bus.contract import Bus, Subscription, Topics
from lockstep.bus.proof import PROOF_BYTES, Opened, Proofs, Unproven
from lockstep.bus.subjects import CONTROL
from lockstep.clock import Clock
from lockstep.events import UnavailableError
from lockstep.telemetry import Seldom, get_logger

_HINTS: Final[Mapping[Unproven, str]] = {
    Unproven.NONE: "a process without cluster.secret, or a stranger, uses this bus: give the "
    "process the secret, or the bus's user another password",
    Unproven.WRONG: "its cluster.secret is another one: give all processes the same; while it is "
    "exchanged, the other one is cluster.second_secret",
    Unproven.OLD: "the clocks of the machines differ by more than cluster.proof_max_age_ms, or "
    "somebody sends old messages again: set the clocks",
}
_WILD: Final = ("*", ">")


class Strangers:
    """Counts what was not heard, and says so now and then, with how often it was. `count` is the
    process's metric."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._log = get_logger()
        self._seldom = Seldom()
        self._untold: Counter[Unproven] = Counter()
        self.count: Callable[[str], None] = lambda _: None

    def note(self, subject: str, why: Unproven) -> None:
        """One more."""
        self.count(why.value)
        if not self._seldom.is_due(why, self._clock.monotonic_ms()):
            self._untold[why] += 1
            return
        self._log.error(
            "a control message was not heard", subject=subject, why=why.value,
            others=self._untold.pop(why, 0), hint=_HINTS[why],
        )  # fmt: skip


class ProvenTopics:
    """Topics with proof on control subjects."""

    def __init__(self, topics: Topics, proofs: Proofs, strangers: Strangers) -> None:
        self._topics = topics
        self._proofs = proofs
        self._strangers = strangers

    @property
    def max_answer_bytes(self) -> int:
        """See the contract; a proof needs room, too."""
        return self._topics.max_answer_bytes - PROOF_BYTES

    async def publish(
        self, subject: str, payload: bytes, *, headers: Mapping[str, str] | None = None
    ) -> None:
        """See the contract."""
        sent = self._proofs.sealed(subject, payload) if _is_control(subject) else payload
        await self._topics.publish(subject, sent, headers=headers)

    async def publish_kept(
        self, subject: str, payload: bytes, *, headers: Mapping[str, str] | None = None
    ) -> bool:
        """Control messages are never kept: whoever sends one here, as an app's sink might, gives no
        proof."""
        return await self._topics.publish_kept(subject, payload, headers=headers)

    async def subscribe(self, pattern: str) -> Subscription:
        """See the contract; what has no proof does not come."""
        found = await self._topics.subscribe(pattern)
        if not _is_control(pattern) and not pattern.startswith(_WILD):
            return found
        return _Heard(found, self._opened)

    async def request(self, subject: str, payload: bytes, *, timeout_ms: int) -> bytes:
        """See the contract. An answer without proof, or to another question, is none."""
        if not _is_control(subject):
            return await self._topics.request(subject, payload, timeout_ms=timeout_ms)
        sent = self._proofs.sealed(subject, payload)
        answer = await self._topics.request(subject, sent, timeout_ms=timeout_ms)
        if not answer:
            raise UnavailableError(
                "whoever answers here did not take the proof", where=subject,
                hint="cluster.secret has to be the same for all processes of the suite",
            )  # fmt: skip
        found = self._opened(subject, answer, to=self._proofs.mac_of(sent))
        if found is None:
            raise UnavailableError("the answer carries no good proof", where=subject)
        return found.payload

    async def respond(
        self,
        subject: str,
        handler: Callable[[bytes], Awaitable[bytes]],
        *,
        queue: str | None = None,
    ) -> Subscription:
        """See the contract. Who asks without proof is answered nothing, and nothing is done."""
        if not _is_control(subject):
            return await self._topics.respond(subject, handler, queue=queue)

        async def proven(message: bytes) -> bytes:
            found = self._opened(subject, message)
            if found is None:
                return b""
            return self._proofs.sealed(subject, await handler(found.payload), to=found.mac)

        return await self._topics.respond(subject, proven, queue=queue)

    def _opened(self, subject: str, message: bytes, *, to: bytes = b"") -> Opened | None:
        """None: it is not heard, and that is noted."""
        found = self._proofs.opened(subject, message, to=to)
        if isinstance(found, Unproven):
            self._strangers.note(subject, found)
            return None
        return found


class _Heard:
    """A subscription to control messages, and maybe to others, without those that lack proof."""

    def __init__(self, inner: Subscription, opened: Callable[[str, bytes], Opened | None]) -> None:
        self._inner = inner
        self._opened = opened

    async def __aiter__(self) -> AsyncIterator[tuple[str, bytes]]:
        async for subject, message in self._inner:
            if not _is_control(subject):
                yield subject, message
            elif (found := self._opened(subject, message)) is not None:
                yield subject, found.payload

    async def close(self) -> None:
        """See the contract."""
        await self._inner.close()


class ProvenBus:
    """The carrier itself, but for its topics."""

    def __init__(self, bus: Bus, topics: ProvenTopics) -> None:
        self._bus = bus
        self.topics = topics

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bus, name)


def proven(bus: Bus, proofs: Proofs, strangers: Strangers) -> Bus:
    """The bus, with proof on control subjects."""
    return cast(Bus, ProvenBus(bus, ProvenTopics(bus.topics, proofs, strangers)))


def _is_control(subject: str) -> bool:
    return subject.startswith(f"{CONTROL}.")
