"""A durable consumer with several readers: each message to one of them, until acknowledged."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Mapping
from typing import Any, Final

from nats.aio.msg import Msg

from lockstep.bus.nats.connection import Connection
from lockstep.bus.nats.errors import NO_CONSUMER, ApiError, NotAllowedError
from lockstep.bus.nats.jetstream import JetStream
from lockstep.bus.nats.puller import Puller, pause_s
from lockstep.bus.nats.shared_stream import SharedStream
from lockstep.bus.subjects import ID_HEADER
from lockstep.events import UnavailableError
from lockstep.telemetry import get_logger

_MAX_PULL_BYTES: Final = 16_777_216
_NS_PER_MS: Final = 1_000_000
_BEGINS: Final = ("deliver_policy", "opt_start_seq", "opt_start_time")


class SharedConsumer:
    """One reader of a durable consumer, which is made at the first reading."""

    def __init__(
        self,
        jetstream: JetStream,
        stream: str,
        consumer: str,
        config: Mapping[str, Any],
        shared: SharedStream | None = None,
    ) -> None:
        """`shared`: the stream, if it is one that is made again where it is gone."""
        self._jetstream = jetstream
        self._stream = stream
        self._consumer = consumer
        self._config = config
        self._shared = shared
        self._lock = asyncio.Lock()
        self._puller: Puller | None = None
        self._last: int | None = None  # the last sequence that was handed out, as far as known
        self._held: set[int] = set()  # of those that were, what is not acknowledged

    async def read(self, *, max_messages: int, wait_ms: int) -> list[Msg]:
        """Messages nobody has acknowledged; waits for the first. Errors: UnavailableError."""
        deadline = asyncio.get_running_loop().time() + wait_ms / 1000
        async with self._lock:
            for failures in itertools.count(1):
                try:
                    return await self._read(max_messages, deadline)
                except UnavailableError as error:
                    await self._drop()
                    # A lost consumer is made anew at once, whatever time is left.
                    if failures > 1 and asyncio.get_running_loop().time() >= deadline:
                        raise
                    await asyncio.sleep(pause_s(error, failures))
        raise AssertionError("unreachable")

    async def open(self) -> None:
        """Makes the consumer now: what is stored from now on will come. UnavailableError."""
        async with self._lock:
            await self._open()

    async def release(self) -> None:
        """Listens no more, and gives back what has come and was not read, so that others need not
        wait for it; idempotent."""
        puller, self._puller = self._puller, None
        if puller is None:
            return
        await puller.drain()
        while puller.buffered() is not None:
            with contextlib.suppress(UnavailableError):
                await self._jetstream.connection.publish(puller.take().reply, b"-NAK")

    async def _read(self, max_messages: int, deadline: float) -> list[Msg]:
        puller = await self._open()
        remaining = max(0.0, deadline - asyncio.get_running_loop().time())
        await puller.wait(remaining, max_messages=max_messages, max_bytes=_MAX_PULL_BYTES)
        taken: list[Msg] = []
        fresh_s = self._jetstream.limits.ingress_redelivery_ms / 1000
        while len(taken) < max_messages and puller.buffered() is not None:
            stale = puller.waited_s() >= fresh_s
            message = puller.take()
            self._saw(int(sequence_of(message)))
            if not stale:  # else somebody else has been given it by now
                taken.append(message)
        return taken

    async def acknowledge(self, message: Msg) -> None:
        """It does not come again, also where the consumer has to be made anew."""
        await acknowledge(self._jetstream.connection, message)
        self._held.discard(int(sequence_of(message)))

    def _saw(self, sequence: int) -> None:
        self._last = max(self._last or 0, sequence)
        if self._config["deliver_policy"] == "new":  # all others begin with what is there
            self._held.add(sequence)

    async def _open(self) -> Puller:
        if self._puller is None:
            puller = Puller(self._jetstream.connection, self._stream, self._consumer)
            await puller.open()
            try:
                await (self._make() if self._shared is None else self._shared.served(self._make))
            except BaseException:
                await puller.close()
                raise
            self._puller = puller
        return self._puller

    async def _make(self) -> None:
        """The consumer, or brings its limits up to date."""
        limits = self._jetstream.limits
        config = {
            "durable_name": self._consumer,
            "ack_policy": "explicit",
            "ack_wait": limits.ingress_redelivery_ms * _NS_PER_MS,
            "max_ack_pending": limits.ingress_max_unacknowledged,
            "replay_policy": "instant",
            **self._config,
        }
        if config["deliver_policy"] == "new":
            config |= await self._beginning()
        made = await self._jetstream.call(
            f"CONSUMER.DURABLE.CREATE.{self._stream}.{self._consumer}",
            {"stream_name": self._stream, "config": config},
        )
        floor = int(made["ack_floor"]["stream_seq"])
        self._last = max(self._last or 0, floor)
        self._held = {one for one in self._held if one > floor}

    async def _beginning(self) -> Mapping[str, Any]:
        """Where one begins that is to have what is new. What is there stays as it is. What was
        there, and has been deleted, is made to go on: else all that has come since would be
        skipped."""
        try:
            found = await self._jetstream.call(f"CONSUMER.INFO.{self._stream}.{self._consumer}")
        except NotAllowedError:
            return {}  # on a server of others, which takes what it has for changed, or makes it
        except ApiError as error:
            if error.code != NO_CONSUMER:
                raise
        else:
            return {name: found["config"][name] for name in _BEGINS if name in found["config"]}
        if self._last is None:
            return {}
        if int((await self._jetstream.state(self._stream))["last_seq"]) < self._last:
            self._last, self._held = 0, set()  # another stream is in the place of the one we had
        after = min(self._held) - 1 if self._held else self._last
        get_logger().error(
            "a mailbox's consumer was deleted on the bus server; it is made again, and goes on "
            "behind what was known to be acknowledged",
            stream=self._stream, consumer=self._consumer, after=after,
        )  # fmt: skip
        return {"deliver_policy": "by_start_sequence", "opt_start_seq": after + 1}

    async def _drop(self) -> None:
        puller, self._puller = self._puller, None
        if puller is not None:
            await puller.close()


def message_id(message: Msg) -> str:
    """The sender's id, or one made of the stream's sequence: the same at each delivery."""
    tokens = message.reply.split(".")
    shift = 0 if len(tokens) == 9 else 2
    # Sequence and time of storing: also unique when the stream has been made anew.
    own = (message.headers or {}).get(ID_HEADER)
    return own or f"{tokens[5 + shift]}-{tokens[7 + shift]}"


def sequence_of(message: Msg) -> str:
    """Its number in the stream."""
    tokens = message.reply.split(".")
    return tokens[5 if len(tokens) == 9 else 7]


async def acknowledge(connection: Connection, message: Msg) -> None:
    """Lost, it means one redelivery, which the message's id makes harmless."""
    await connection.publish(message.reply, b"+ACK")
