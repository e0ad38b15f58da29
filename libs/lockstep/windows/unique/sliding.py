"""The sliding `unique:` windows: ever, first, length, time (extension pack `unique:`)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from lockstep.operators.contract import EXPIRED, PlainState, StreamEvent
from lockstep.plan import java
from lockstep.windows.chunks import WindowBase
from lockstep.windows.registry import WindowCall
from lockstep.windows.taking import Taking


def key_function(call: WindowCall, count: int) -> Callable[[StreamEvent], Any]:
    """The first `count` arguments as a key."""
    values = [call.value(index) for index in range(count)]
    if len(values) == 1:
        (only,) = values
        return lambda event: java.key(only(event))
    return lambda event: java.key(tuple(value(event) for value in values))


class UniqueSliding(WindowBase):
    """One event per key; a newer one of the same key pushes the old out in front of it."""

    def __init__(self, call: WindowCall, keys: int) -> None:
        super().__init__(call)
        self._key_of = key_function(call, keys)
        # In an ordinary dict the first one is looked for behind all that have left.
        self._held: OrderedDict[Any, StreamEvent] = OrderedDict()

    def process(self, chunk: list[StreamEvent]) -> None:
        """See the class; `look` and `make_room` may push out more."""
        now = self.context.now_ms()
        out: list[StreamEvent] = []
        taking = Taking(self.emit)
        for event in chunk:
            with taking:
                key = self._key_of(event)
                self.look(now, out)
                old = self._held.pop(key, None)
                if old is not None:
                    out.append(StreamEvent(now, old.data, EXPIRED))
                else:
                    self.make_room(now, out)
                self._held[key] = event
                self.entered(event)
                out.append(event)
        taking.end(out)

    def look(self, now: int, out: list[StreamEvent]) -> None:
        """Pushes out what is out by now, in front of each event."""

    def make_room(self, now: int, out: list[StreamEvent]) -> None:
        """Pushes out what a new key has no room beside."""

    def entered(self, event: StreamEvent) -> None:
        """Told of every event that is inside now."""

    def content(self) -> Iterable[StreamEvent]:
        """The events inside, oldest first."""
        return self._held.values()

    def snapshot(self) -> PlainState:
        """The events inside by key, oldest first."""
        return list(self._held.items())

    def restore(self, state: PlainState) -> None:
        self._held.clear()
        for saved, event in state:
            # States from before NaN was one key may have several: the newest stays, in its place.
            key = java.key(saved)
            self._held.pop(key, None)
            self._held[key] = event


def unique_ever(call: WindowCall) -> WindowBase:
    """unique:ever(key, …): the latest per key for ever."""
    return UniqueSliding(call, len(call))


class UniqueLength(UniqueSliding):
    """unique:length(key, n): the last n distinct keys."""

    def __init__(self, call: WindowCall) -> None:
        super().__init__(call, 1)
        self._length = int(call.constant(1))

    def make_room(self, now: int, out: list[StreamEvent]) -> None:
        """The oldest leaves."""
        while self._held and len(self._held) >= self._length:
            _, oldest = self._held.popitem(last=False)
            out.append(StreamEvent(now, oldest.data, EXPIRED))


class UniqueTime(UniqueSliding):
    """unique:time(key, t): like time(t), where the same key replaces at once."""

    def __init__(self, call: WindowCall) -> None:
        super().__init__(call, 1)
        self._length_ms = int(call.constant(1))

    def entered(self, event: StreamEvent) -> None:
        """Wakes the window when the event is out."""
        self.context.schedule(self, event.timestamp_ms + self._length_ms)

    def on_timer(self, due_ms: int) -> None:
        """What is out by now leaves as one chunk."""
        out: list[StreamEvent] = []
        self.look(self.context.now_ms(), out)
        if out:
            self.emit(out)

    def look(self, now: int, out: list[StreamEvent]) -> None:
        """The check goes from the oldest event and stops at the first that stays, as in time(t)."""
        last = now - self._length_ms
        while self._held:
            key, event = next(iter(self._held.items()))
            if event.timestamp_ms > last:
                break
            del self._held[key]
            out.append(StreamEvent(now, event.data, EXPIRED))


class UniqueFirst(UniqueSliding):
    """unique:first(key, …): the first per key passes, later ones are dropped."""

    def __init__(self, call: WindowCall) -> None:
        super().__init__(call, len(call))

    def process(self, chunk: list[StreamEvent]) -> None:
        out: list[StreamEvent] = []
        taking = Taking(self.emit)
        for event in chunk:
            with taking:
                key = self._key_of(event)
                if key not in self._held:
                    self._held[key] = event
                    out.append(event)
        taking.end(out)
