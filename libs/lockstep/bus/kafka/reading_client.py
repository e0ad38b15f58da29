"""One client that reads many partitions at once, with one thread."""

from __future__ import annotations

import asyncio
import threading
from queue import Empty, SimpleQueue
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException

from lockstep.bus.kafka.connection import Connection, one
from lockstep.bus.kafka.errors import translated
from lockstep.bus.kafka.window import Key, Raw, Window, size_of
from lockstep.events import LockstepError, UnavailableError
from lockstep.telemetry import get_logger

_BATCH: Final = 512
_POLL_S: Final = 0.005
_IDLE_S: Final = 0.2
_REOPEN_S: Final = 1.0  # after files that could not be used
_QUEUED_KB: Final = 4_096
_AT_ONCE_BYTES: Final = 1_048_576
_PASSING: Final = frozenset(
    {
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._TRANSPORT,
        KafkaError._AUTO_OFFSET_RESET,
        KafkaError._TIMED_OUT,
    }
)
_NO_HEADERS: Final[dict[str, bytes]] = {}


class ReadingClient:
    """`windows` is the event loop's. The client's calls wait for one another, so only the thread
    makes any. `wait_ms`: for so long a broker that has nothing lets the client wait. Making one
    raises UnavailableError while the files of certificates cannot be used."""

    def __init__(
        self, connection: Connection, limit_bytes: int, wait_ms: int, freed: asyncio.Event
    ) -> None:
        self.windows: dict[Key, Window] = {}
        self._limit_bytes = limit_bytes
        self._poll_s = max(_POLL_S, wait_ms / 5_000)
        self._freed = freed
        self._loop = asyncio.get_running_loop()
        self.idle_since_s = self._loop.time()
        self._asked: SimpleQueue[tuple[Window, bool]] = SimpleQueue()
        self._ends = False
        self._places: dict[Key, int] = {}  # what the thread has taken up, and where it goes on
        self._connection = connection
        self._wait_ms = wait_ms
        self._made = connection.made
        self._reopens_s = 0.0
        self._consumer = self._opened()
        self._thread = threading.Thread(target=self._run, name="kafka-read", daemon=True)
        self._thread.start()

    def add(self, key: Key, offset: int) -> Window:
        """Reads a partition that is not in `windows` from there on."""
        window = Window(key, offset, self._limit_bytes)
        self.windows[key] = window
        self._asked.put((window, True))
        return window

    def release(self, window: Window) -> None:
        """Reads it no more; it is out of `windows` soon, and `freed` is set then."""
        if not window.is_closing:
            window.is_closing = True
            self._asked.put((window, False))

    async def close(self) -> None:
        """Gives client and thread back."""
        self._ends = True
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        paused: list[Window] = []
        while not self._ends:
            if self._made != self._connection.made:
                self._reopen(paused)
            self._do(paused)
            self._resume(paused)
            try:
                first = self._consumer.poll(self._poll_s)
                rest = [] if first is None else self._consumer.consume(_BATCH, timeout=0)
            except KafkaException as error:
                self._post(self._trouble, None, translated(error.args[0], ""))
                continue
            if first is not None:
                self._sort([first, *rest], paused)
        self._consumer.close()

    def _sort(self, messages: list[Any], paused: list[Window]) -> None:
        found: dict[Key, list[Raw]] = {}
        for message in messages:
            topic, trouble = message.topic(), message.error()
            if trouble is None:
                found.setdefault((topic, message.partition()), []).append(_raw(message))
            elif trouble.code() not in _PASSING:
                key = None if topic is None else (topic, message.partition())
                self._post(self._trouble, key, translated(trouble, topic or ""))
        for key, raws in found.items():
            window = self.windows.get(key)
            if window is None or window.is_closing:
                continue
            self._places[key] = raws[-1].offset + 1
            window.posted_bytes += sum(size_of(raw) for raw in raws)
            self._post(window.bring, raws)
            if window.ahead_bytes > self._limit_bytes and window not in paused:
                paused.append(window)
                self._consumer.pause([one(key[0], 0, key[1])])

    def _reopen(self, paused: list[Window]) -> None:
        """Certificates were replaced: another client goes on where this one was. This one stays
        while their files cannot be used: somebody may be writing them."""
        now_s = self._loop.time()
        if now_s < self._reopens_s:
            return
        self._reopens_s = now_s + _REOPEN_S
        made = self._connection.made
        try:
            fresh = self._opened()
        except UnavailableError as error:
            get_logger().warning("new certificates cannot be used to read yet", error=str(error))
            return
        self._consumer.close()
        self._consumer, self._made = fresh, made
        places = [one(topic, at, partition) for (topic, partition), at in self._places.items()]
        try:
            if places:
                self._consumer.incremental_assign(places)
            for window in paused:
                self._consumer.pause([one(window.key[0], 0, window.key[1])])
        except KafkaException as error:
            self._post(self._trouble, None, translated(error.args[0], ""))

    def _opened(self) -> Consumer:
        try:
            return Consumer(_config(self._connection, self._wait_ms))
        except KafkaException as error:
            raise translated(error.args[0], self._connection.address.shown) from error

    def _resume(self, paused: list[Window]) -> None:
        for window in list(paused):
            if window.ahead_bytes < self._limit_bytes // 2:
                paused.remove(window)
                self._consumer.resume([one(window.key[0], 0, window.key[1])])

    def _do(self, paused: list[Window]) -> None:
        is_idle = not self._places
        while True:
            try:
                window, comes = self._asked.get(is_idle, _IDLE_S)
            except Empty:
                return
            is_idle = False
            topic, partition = window.key
            if comes:
                self._places[window.key] = window.first
            else:
                self._places.pop(window.key, None)
            try:
                if comes:
                    self._consumer.incremental_assign([one(topic, window.first, partition)])
                    continue
                if window in paused:
                    paused.remove(window)
                    self._consumer.resume([one(topic, 0, partition)])
                self._consumer.incremental_unassign([one(topic, 0, partition)])
            except KafkaException as error:
                self._post(window.fail, translated(error.args[0], topic))
            if not comes:
                self._post(self._left, window)

    def _left(self, window: Window) -> None:
        self.windows.pop(window.key, None)
        self.idle_since_s = self._loop.time()
        self._freed.set()

    def _trouble(self, key: Key | None, trouble: LockstepError) -> None:
        for window in self.windows.values():
            if key is None or window.key == key:
                window.fail(trouble)

    def _post(self, call: Any, *arguments: Any) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call, *arguments)


def _config(connection: Connection, wait_ms: int) -> dict[str, Any]:
    return {
        **connection.config,
        "group.id": f"{connection.address.prefix}.nobody",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        "fetch.wait.max.ms": wait_ms,
        "fetch.queue.backoff.ms": 10,
        "fetch.error.backoff.ms": 50,
        "queued.max.messages.kbytes": _QUEUED_KB,
        "fetch.message.max.bytes": _AT_ONCE_BYTES,
        "fetch.max.bytes": 8 * _AT_ONCE_BYTES + 65_536,
        "check.crcs": True,
    }


def _raw(message: Any) -> Raw:
    headers = message.headers()
    return Raw(
        message.offset(),
        message.timestamp()[1],
        message.key() or b"",
        message.value() or b"",
        dict(headers) if headers else _NO_HEADERS,
    )
