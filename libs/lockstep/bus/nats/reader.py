"""Reads one log in order, by sequence, through an ephemeral consumer that is made anew when needed.

Nothing is skipped: a message counts only when its consumer number follows the last one's and it is
what was appended; else, and after every reconnect, a new consumer starts behind the last message
that was handed out.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from dataclasses import dataclass
from functools import partial
from typing import Final

from nats.aio.msg import Msg

from lockstep.bus.nats.bells import Bell, Bells
from lockstep.bus.nats.checksum import Inspection
from lockstep.bus.nats.errors import ApiError, NotAllowedError
from lockstep.bus.nats.farewells import Owed
from lockstep.bus.nats.jetstream import JetStream
from lockstep.bus.nats.puller import ConsumerGoneError, Puller, pause_s
from lockstep.clock import Randomness
from lockstep.events import UnavailableError

_INACTIVE_NS: Final = 120_000_000_000
_MORE_WITHIN_S: Final = 2.0
_ROUNDS: Final = 5
_MAX_PULL_MESSAGES: Final = 4_096


@dataclass(frozen=True, slots=True)
class ReadMessage:
    """A message of the log at its sequence."""

    sequence: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class _Delivered:
    """What the reply subject tells about a delivered message."""

    stream_sequence: int
    consumer_sequence: int
    pending: int  # messages behind it, at the time of its delivery


class LogReader:
    """One position in one log. Let go of it at the end: what it has at the server is given back."""

    def __init__(
        self, jetstream: JetStream, stream: str, randomness: Randomness, bells: Bells
    ) -> None:
        self._jetstream = jetstream
        self._bells = bells
        self._bell: Bell | None = None
        self._moved_at = 0.0
        self._stream = stream
        self._inspection = Inspection(stream)
        self._randomness = randomness
        self._lock = asyncio.Lock()
        self._puller: Puller | None = None
        self._owed: Owed | None = None
        self._consumer = ""
        self._after = -1
        self._delivered = 0
        self._at_end = False  # nothing stood behind the last message when we were told of it

    async def read(
        self, after: int, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> list[ReadMessage]:
        """As the contract says; UnavailableError when the bus stays away until the time is up."""
        deadline = asyncio.get_running_loop().time() + wait_ms / 1000
        async with self._lock:
            for failures in itertools.count(1):
                try:
                    return await self._read(after, max_records, max_bytes, deadline)
                except (UnavailableError, ApiError) as error:
                    await self._drop()
                    # A lost consumer is made anew at once, whatever time is left.
                    if failures > 1 and asyncio.get_running_loop().time() >= deadline:
                        raise
                    await asyncio.sleep(pause_s(error, failures))
        raise AssertionError("unreachable")

    async def _read(
        self, after: int, max_records: int, max_bytes: int, deadline: float
    ) -> list[ReadMessage]:
        loop = asyncio.get_running_loop()
        if self._bell is not None and not await self._awake(self._bell, after, deadline):
            return []
        puller = await self._at(after)
        ask = min(max_records, _MAX_PULL_MESSAGES)
        polling = deadline <= loop.time()
        remaining = max(0.0, deadline - loop.time())
        if not await puller.wait(remaining, max_messages=ask, max_bytes=max_bytes):
            # Only who stands at the end is told of what comes; the others may be waiting still for
            # what was there before.
            knows = self._at_end and not polling
            if knows or not await self._comes(puller, after, max_messages=ask, max_bytes=max_bytes):
                if not polling:
                    await self._rest_if_quiet(after)
                return []
        taken: list[ReadMessage] = []
        size_bytes = 0
        while (message := puller.buffered()) is not None:
            size_bytes += len(message.data)
            if taken and size_bytes > max_bytes:
                break
            delivered = self._accept(puller.take())
            taken.append(ReadMessage(delivered.stream_sequence, message.data))
            if len(taken) >= max_records or size_bytes >= max_bytes:
                break
            if puller.buffered() is not None:
                continue
            # Nothing was behind it when it was sent, and what came since would be here.
            if delivered.pending == 0:
                break
            # More is there: it is on its way, or has to be asked for.
            await puller.wait(
                _MORE_WITHIN_S, max_messages=ask - len(taken) or ask, max_bytes=max_bytes
            )
        return taken

    async def _awake(self, bell: Bell, after: int, deadline: float) -> bool:
        """Whether there is reason to look: it has rung, or somebody reads from elsewhere."""
        remaining = deadline - asyncio.get_running_loop().time()
        if bell.after == after and not bell.rung.is_set():
            if remaining <= 0:
                return True  # who may not wait is given what is there
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(remaining):
                    await bell.rung.wait()
            if not bell.rung.is_set():
                self._jetstream.connection.check()
                return False
        self._bell = None
        await self._bells.close(bell)
        return True

    async def _rest_if_quiet(self, after: int) -> None:
        """A reader of a quiet log costs its server nothing."""
        quiet_s = asyncio.get_running_loop().time() - self._moved_at
        if 1000 * quiet_s >= self._jetstream.limits.quiet_after_ms:
            try:
                self._bell = await self._bells.open(self._stream, after)
            except NotAllowedError:
                # Who may read a log need not have the right to hear its bell: then it stays awake.
                self._moved_at = asyncio.get_running_loop().time()
                return
            if not self._bell.rung.is_set():
                await self._give_back()

    async def _comes(
        self, puller: Puller, after: int, *, max_messages: int, max_bytes: int
    ) -> bool:
        """Whether anything is there behind `after`: then it has come on return."""
        for _ in range(_ROUNDS):
            if not await self._is_behind(after):
                self._at_end = True
                return False
            if await puller.wait(_MORE_WITHIN_S, max_messages=max_messages, max_bytes=max_bytes):
                return True
        raise ConsumerGoneError("what the log holds does not come", where=self._stream)

    async def _is_behind(self, after: int) -> bool:
        state = await self._jetstream.state(self._stream)
        return int(state["messages"]) > 0 and int(state["last_seq"]) > after

    async def _at(self, after: int) -> Puller:
        if self._puller is not None and after == self._after:
            return self._puller
        await self._drop()
        self._consumer = self._randomness.uuid_hex()
        config = {
            "name": self._consumer,
            "deliver_policy": "by_start_sequence",
            "opt_start_seq": after + 1,
            "ack_policy": "none",
            "replay_policy": "instant",
            "inactive_threshold": _INACTIVE_NS,
            "mem_storage": True,
            "num_replicas": 1,
        }
        puller = Puller(self._jetstream.connection, self._stream, self._consumer)
        await puller.open()
        self._puller = puller
        self._owed = self._jetstream.connection.farewells.owe(
            puller, partial(_delete, self._jetstream, self._stream, self._consumer)
        )
        await self._jetstream.call(
            f"CONSUMER.CREATE.{self._stream}.{self._consumer}",
            {"stream_name": self._stream, "config": config},
        )
        self._after = after
        self._delivered = 0
        self._at_end = False
        self._moved_at = asyncio.get_running_loop().time()
        return puller

    async def _drop(self) -> None:
        bell, self._bell = self._bell, None
        if bell is not None:
            await self._bells.close(bell)
        await self._give_back()

    async def _give_back(self) -> None:
        puller, self._puller = self._puller, None
        owed, self._owed = self._owed, None
        if puller is not None:
            await puller.close()
            await _delete(self._jetstream, self._stream, self._consumer)
        if owed is not None:
            owed.detach()

    def _accept(self, message: Msg) -> _Delivered:
        delivered = _delivered(message.reply)
        if delivered.consumer_sequence != self._delivered + 1:
            raise ConsumerGoneError("a message was lost on its way", where=self._stream)
        self._inspection.check(
            delivered.stream_sequence,
            message.data,
            message.headers,
            self._jetstream.connection.server,
        )
        self._delivered = delivered.consumer_sequence
        self._after = delivered.stream_sequence
        self._at_end = delivered.pending == 0
        self._moved_at = asyncio.get_running_loop().time()
        return delivered


async def _delete(jetstream: JetStream, stream: str, consumer: str) -> None:
    # Left behind it would end by itself, after the time it may be idle.
    with contextlib.suppress(UnavailableError, ApiError):
        await jetstream.call(f"CONSUMER.DELETE.{stream}.{consumer}")


def _delivered(reply: str) -> _Delivered:
    # $JS.ACK.<stream>.<consumer>.<deliveries>.<stream seq>.<consumer seq>.<time>.<pending>, and
    # with domain and account before the stream on newer servers.
    tokens = reply.split(".")
    shift = 0 if len(tokens) == 9 else 2
    return _Delivered(int(tokens[5 + shift]), int(tokens[6 + shift]), int(tokens[8 + shift]))
