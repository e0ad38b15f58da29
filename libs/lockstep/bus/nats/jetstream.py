"""The few calls of JetStream that the bus needs, on our own requests: streams, messages, consumers.

Errors: UnavailableError, LogFullError, ApiError.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
import stamina

from lockstep.bus.errors import LogFullError, LogGoneError, NoRoomError
from lockstep.bus.limits import BusLimits
from lockstep.bus.nats.connection import Connection
from lockstep.bus.nats.errors import (
    NO_MESSAGE,
    NOT_THERE,
    NOT_TOGETHER,
    STREAM_NAME_IN_USE,
    ApiError,
    MessageTooLargeError,
    NotAllowedError,
    StreamSettingsError,
    api_error,
)
from lockstep.events import UnavailableError

T = TypeVar("T")
StreamConfig = Mapping[str, Any]

_NS_PER_MS: Final = 1_000_000
_ATTEMPT_TIMEOUT_MS: Final = 2_000
_RETRY_FIRST_S: Final = 0.02
_RETRY_MAX_S: Final = 0.5
_BATCH: Final = "Nats-Batch-Id"
_BATCH_SEQUENCE: Final = "Nats-Batch-Sequence"
_BATCH_COMMIT: Final = "Nats-Batch-Commit"
_LASTING: Final = (
    LogFullError, NoRoomError, NotAllowedError, StreamSettingsError, MessageTooLargeError
)  # fmt: skip
_MAJORITY: Final = ("STREAM.CREATE", "STREAM.UPDATE", "STREAM.DELETE", "CONSUMER.CREATE")


@dataclass(frozen=True, slots=True)
class RawMessage:
    """A stored message with its sequence."""

    sequence: int
    headers: Mapping[str, str]
    payload: bytes


@dataclass(frozen=True, slots=True)
class Stored:
    """JetStream's acknowledgement of a publish."""

    sequence: int
    duplicate: bool


def stream_config(
    name: str, subject: str, limits: BusLimits, *, max_bytes: int | None, forgets: bool, **more: Any
) -> StreamConfig:
    """A stream on disk that refuses at its limit (None: its writers see to that); `forgets`: also
    drops what is over age."""
    age_ms = limits.max_log_age_ms if forgets else 0
    window_ms = min(limits.dedup_window_ms, age_ms or limits.dedup_window_ms)
    return {
        "name": name,
        "subjects": [subject],
        "retention": "limits",
        "storage": "file",
        "discard": "new",
        "max_bytes": -1 if max_bytes is None else max_bytes,
        "max_msgs": -1,
        "max_msg_size": -1,
        "max_msgs_per_subject": -1,
        "max_consumers": -1,
        "max_age": age_ms * _NS_PER_MS,
        "num_replicas": limits.replicas,
        "duplicate_window": window_ms * _NS_PER_MS,
        **more,
    }


async def persistently(call: Callable[[], Awaitable[T]], limits: BusLimits) -> T:
    """Calls until it succeeds or `publish_timeout_ms` have passed; a full log ends it at once."""
    try:
        return await call()
    except UnavailableError as error:
        if not _worth_retrying(error):
            raise
    async for attempt in stamina.retry_context(
        on=_worth_retrying,
        attempts=None,
        timeout=limits.publish_timeout_ms / 1000,
        wait_initial=_RETRY_FIRST_S,
        wait_max=_RETRY_MAX_S,
        wait_jitter=_RETRY_FIRST_S,
    ):
        with attempt:
            return await call()
    raise AssertionError("retries end with a result or an error")


def _worth_retrying(error: Exception) -> bool:
    return isinstance(error, UnavailableError) and not isinstance(error, _LASTING)


class JetStream:
    """JetStream over one connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.limits = connection.limits

    async def ensure_stream(self, config: StreamConfig) -> None:
        """Makes the stream, or brings its limits up to date; nothing where it is as it should."""
        name = config["name"]

        async def ensure() -> None:
            # A server counts what a stream reserves before it looks at its name: one that is short
            # of room would refuse to make what it has.
            there = await _config_of(self, name)
            if there is None and await _made(self, config):
                return
            if there is None or any(there.get(key) != value for key, value in config.items()):
                await self.call(f"STREAM.UPDATE.{name}", {**noted(there or {}), **config})

        await persistently(ensure, self.limits)

    async def delete_stream(self, name: str) -> None:
        """Deletes it; idempotent."""

        async def delete() -> None:
            try:
                await self.call(f"STREAM.DELETE.{name}")
            except ApiError as error:
                if error.code not in NOT_THERE:
                    raise

        await persistently(delete, self.limits)

    async def streams(self, pattern: str) -> list[str]:
        """Names of all streams that keep a subject of the pattern."""
        found: list[str] = []
        while True:
            request = {"subject": pattern, "offset": len(found)}
            answer = await persistently(partial(self.call, "STREAM.NAMES", request), self.limits)
            more = answer.get("streams") or ()
            found += more
            if not more or len(found) >= int(answer["total"]):
                return found

    async def ends(self, pattern: str) -> dict[str, tuple[int, int]]:
        """(messages, last sequence) of all streams that keep a subject of the pattern, by name."""
        found: dict[str, tuple[int, int]] = {}
        seen = 0
        while True:
            request = {"subject": pattern, "offset": seen}
            answer = await persistently(partial(self.call, "STREAM.LIST", request), self.limits)
            more = answer.get("streams") or ()
            for each in more:
                state = each["state"]
                name = each["config"]["name"]
                found[name] = int(state["messages"]), int(state["last_seq"])
            seen += len(more)
            if not more or seen >= int(answer["total"]):
                return found

    async def is_gone(self, name: str) -> bool:
        """There is certainly no stream of that name; False also when nobody says so at once."""
        return await self.is_there(name) is False

    async def is_there(self, name: str) -> bool | None:
        """Whether there is a stream of that name; None when nobody says so at once."""
        try:
            await self.call(f"STREAM.INFO.{name}")
        except ApiError as error:
            return False if error.code in NOT_THERE else None
        except UnavailableError:
            return None
        return True

    async def state(self, name: str) -> dict[str, Any]:
        """The stream's state: messages, bytes, first_seq, last_seq. LogGoneError."""
        state: dict[str, Any] = (await self._ask_stream(name, "INFO"))["state"]
        return state

    async def purge(self, name: str, keep_from: int) -> None:
        """Deletes messages before a sequence. LogGoneError."""
        await self._ask_stream(name, "PURGE", {"seq": keep_from})

    async def publish(
        self, subject: str, payload: bytes, headers: Mapping[str, str], *, limit_bytes: int
    ) -> Stored:
        """One attempt to store a message. Errors also: ApiError with WRONG_LAST_SEQUENCE."""
        async with self._asked():
            message = await self.connection.request(
                subject, payload, timeout_ms=self._attempt_timeout_ms, headers=headers
            )
            answer = _decoded(message.data, subject, limit_bytes)
        self.connection.serving.served()
        return Stored(int(answer["seq"]), bool(answer.get("duplicate", False)))

    async def publish_together(
        self, subject: str, messages: Sequence[tuple[bytes, Mapping[str, str]]], batch_id: str
    ) -> int:
        """One attempt to store messages as one, in their order: the sequence of the last. Errors
        also: ApiError, with NOT_TOGETHER where the stream does not allow it; another one where it
        has some of them already."""
        async with self._asked():
            for number, (payload, headers) in enumerate(messages[:-1], start=1):
                named = {**headers, _BATCH: batch_id, _BATCH_SEQUENCE: f"{number}"}
                await self.connection.publish(subject, payload, headers=named)
            payload, headers = messages[-1]
            message = await self.connection.request(
                subject, payload, timeout_ms=self._attempt_timeout_ms,
                headers={
                    **headers, _BATCH: batch_id, _BATCH_SEQUENCE: f"{len(messages)}",
                    _BATCH_COMMIT: "1",
                },
            )  # fmt: skip
            answer = _decoded(message.data, subject, self.limits.max_log_bytes)
        self.connection.serving.served()
        if answer.get("batch") != batch_id:
            raise ApiError("not stored as one", where=subject, code=NOT_TOGETHER)
        return int(answer["seq"])

    async def message(self, name: str, request: Mapping[str, Any]) -> RawMessage | None:
        """A stored message, read from the stream's leader; None when there is none.
        LogGoneError."""
        try:
            answer = await self._ask_stream(name, "MSG.GET", request)
        except ApiError as error:
            if error.code not in NO_MESSAGE:
                raise
            return None
        found = answer["message"]
        payload = base64.b64decode(found.get("data", ""))
        return RawMessage(int(found["seq"]), _headers(found.get("hdrs", "")), payload)

    async def delete_message(self, name: str, sequence: int) -> bool:
        """False when it is not there."""
        request = {"seq": sequence, "no_erase": True}
        try:
            await persistently(lambda: self.call(f"STREAM.MSG.DELETE.{name}", request), self.limits)
        except ApiError:
            return False
        return True

    async def _ask_stream(
        self, name: str, what: str, request: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        try:
            return await persistently(
                lambda: self.call(f"STREAM.{what}.{name}", request), self.limits
            )
        except ApiError as error:
            if error.code not in NOT_THERE:
                raise
            raise LogGoneError(name) from error

    async def call(self, endpoint: str, request: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """One attempt of an administrative call."""
        payload = b"" if request is None else msgspec.json.encode(request)
        async with self._asked():
            message = await self.connection.request(
                f"$JS.API.{endpoint}", payload, timeout_ms=self._attempt_timeout_ms
            )
            answer = _decoded(message.data, endpoint, 0)
        # What only reads is answered by a leader whose followers are gone, too.
        if endpoint.startswith(_MAJORITY):
            self.connection.serving.served()
        return answer

    @property
    def _attempt_timeout_ms(self) -> int:
        return min(_ATTEMPT_TIMEOUT_MS, self.limits.publish_timeout_ms)

    @contextlib.asynccontextmanager
    async def _asked(self) -> AsyncIterator[None]:
        """Tells the connection when the cluster does not serve what is asked within the block."""
        asked_at = asyncio.get_running_loop().time()
        try:
            yield
        except UnavailableError as error:
            if _worth_retrying(error):
                await self.connection.unserved(asked_at)
            raise


def noted(config: StreamConfig) -> dict[str, dict[str, Any]]:
    """What people and suites let stand beside a stream, as its settings have it."""
    found = config.get("metadata") or {}
    return {"metadata": {key: text for key, text in found.items() if not key.startswith("_nats.")}}


async def _config_of(jetstream: JetStream, name: str) -> StreamConfig | None:
    """None when there is no such stream."""
    try:
        found: StreamConfig = (await jetstream.call(f"STREAM.INFO.{name}"))["config"]
    except ApiError as error:
        if error.code not in NOT_THERE:
            raise
        return None
    return found


async def _made(jetstream: JetStream, config: StreamConfig) -> bool:
    """False when somebody else has just made one of another kind."""
    try:
        await jetstream.call(f"STREAM.CREATE.{config['name']}", config)
    except ApiError as error:
        if error.code != STREAM_NAME_IN_USE:
            raise
        return False
    return True


def _decoded(data: bytes, where: str, limit_bytes: int) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise UnavailableError(f"an answer that cannot be read: {error}", where=where) from error
    if "error" in answer:
        raise api_error(where, answer["error"], limit_bytes)
    return answer


def _headers(encoded: str) -> dict[str, str]:
    lines = base64.b64decode(encoded).decode("utf-8", "replace").split("\r\n")[1:]
    pairs = (line.partition(":") for line in lines if line)
    return {name.strip(): value.strip() for name, _, value in pairs}
