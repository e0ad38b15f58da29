"""session(gap [, key [, allowed.latency]]): events pass; a session expires as one chunk (semantics
7.9).
"""

from __future__ import annotations

import heapq
from typing import Any, Final

from lockstep.operators.contract import EXPIRED, PlainState, StreamEvent
from lockstep.windows.chunks import WindowBase
from lockstep.windows.registry import WindowCall

_STALE_MAX: Final = 1_000
"""Entries of a heap whose session is gone, beside as many as there are sessions."""


class Session:
    """A run of events with gaps below the limit. Late events stand in front, in order of
    arrival.
    """

    __slots__ = ("end_ms", "events", "late", "start_ms")

    def __init__(self, event: StreamEvent, gap_ms: int) -> None:
        self.events = [event]
        self.late = 0
        self.start_ms = event.timestamp_ms
        self.end_ms = event.timestamp_ms + gap_ms

    def append(self, event: StreamEvent, gap_ms: int) -> None:
        """Adds an event that is not before the start."""
        self.events.append(event)
        self.end_ms = max(self.end_ms, event.timestamp_ms + gap_ms)

    def add_late(self, event: StreamEvent) -> None:
        """Adds an event from before the start."""
        self.events.insert(self.late, event)
        self.late += 1
        self.start_ms = event.timestamp_ms

    def absorb(self, earlier: Session) -> None:
        """Takes over a session that touches this one from before: behind the late events."""
        self.events[self.late : self.late] = earlier.events
        self.late += len(earlier.events)
        self.start_ms = min(self.start_ms, earlier.start_ms)

    def expired(self) -> list[StreamEvent]:
        """All events as expired ones, with their own timestamps."""
        return [StreamEvent(e.timestamp_ms, e.data, EXPIRED) for e in self.events]

    def saved(self) -> PlainState:
        """The session as plain state."""
        return (list(self.events), self.late, self.start_ms, self.end_ms)

    @classmethod
    def loaded(cls, state: Any) -> Session:
        """The session of `saved`."""
        session = cls.__new__(cls)
        events, session.late, session.start_ms, session.end_ms = state
        session.events = list(events)
        return session


class Ends:
    """Sessions by key, and which of them are over: a timer looks at no others. There are as many
    timers as events."""

    def __init__(self, latency_ms: int = 0) -> None:
        self._latency_ms = latency_ms
        self.sessions: dict[Any, Session] = {}
        # (an end that is not too late, number, key, session). It is put right when its time comes.
        self._heap: list[tuple[int, int, Any, Session]] = []
        self._number = 0

    def add(self, key: Any, session: Session) -> None:
        """Puts the session behind the others."""
        self.sessions[key] = session
        self._number += 1
        end_ms = session.end_ms + self._latency_ms
        heapq.heappush(self._heap, (end_ms, self._number, key, session))
        if len(self._heap) > 2 * len(self.sessions) + _STALE_MAX:
            self._heap = [each for each in self._heap if self.sessions.get(each[2]) is each[3]]
            heapq.heapify(self._heap)

    def over(self, due_ms: int) -> list[Any]:
        """The keys of those that are over then, in order of creation. They are to be taken out."""
        found: list[tuple[int, Any]] = []
        while self._heap and self._heap[0][0] <= due_ms:
            _, number, key, session = heapq.heappop(self._heap)
            if self.sessions.get(key) is not session:
                continue
            end_ms = session.end_ms + self._latency_ms
            if end_ms <= due_ms:
                found.append((number, key))
            else:
                heapq.heappush(self._heap, (end_ms, number, key, session))
        return [key for _, key in sorted(found)]

    def saved(self) -> PlainState:
        """All by key, in order of creation."""
        return [(key, session.saved()) for key, session in self.sessions.items()]

    def load(self, state: Any) -> None:
        """Takes over what `saved` gave."""
        self.sessions, self._heap = {}, []
        for key, saved in state:
            self.add(key, Session.loaded(saved))


class SessionWindow(WindowBase):
    """Sessions by key. With allowed latency an ended session is put aside first and expires
    later.
    """

    def __init__(self, call: WindowCall) -> None:
        super().__init__(call)
        self._gap_ms = int(call.constant(0))
        self._key_of = call.value(1) if len(call) > 1 else None
        self._latency_ms = int(call.constant(2, 0))
        self._open = Ends()
        self._aside = Ends(self._latency_ms)

    def process(self, chunk: list[StreamEvent]) -> None:
        """Passes the events on, but those that are too late for any session."""
        out: list[StreamEvent] = []
        for event in chunk:
            key = None if self._key_of is None else self._key_of(event)
            if self._add(key, event, out):
                out.append(event)
        if out:
            self.emit(out)

    def _add(self, key: Any, event: StreamEvent, out: list[StreamEvent]) -> bool:
        session = self._open.sessions.get(key)
        if session is not None and event.timestamp_ms < session.start_ms:
            return self._add_late(key, session, event)
        if session is not None and event.timestamp_ms >= session.end_ms:
            self._end(key, out)
            session = None
        if session is None:
            session = Session(event, self._gap_ms)
            self._open.add(key, session)
        else:
            session.append(event, self._gap_ms)
        self.context.schedule(self, session.end_ms)
        return True

    def _add_late(self, key: Any, session: Session, event: StreamEvent) -> bool:
        earlier = self._aside.sessions.get(key)
        if event.timestamp_ms >= session.start_ms - self._gap_ms:
            session.add_late(event)
            if earlier is not None and earlier.end_ms >= event.timestamp_ms:
                self._merge(key, session, earlier)
            return True
        if earlier is None or event.timestamp_ms < earlier.start_ms - self._gap_ms:
            return False
        if event.timestamp_ms < earlier.start_ms:
            earlier.add_late(event)
        elif event.timestamp_ms <= earlier.end_ms:
            earlier.append(event, self._gap_ms)
            self.context.schedule(self, earlier.end_ms + self._latency_ms)
        else:
            return False
        if earlier.end_ms >= session.start_ms:
            self._merge(key, session, earlier)
        return True

    def _merge(self, key: Any, session: Session, earlier: Session) -> None:
        session.absorb(earlier)
        del self._aside.sessions[key]

    def _end(self, key: Any, out: list[StreamEvent]) -> None:
        """The open session of the key is over: aside for the latency, or out at once."""
        session = self._open.sessions.pop(key)
        if self._latency_ms == 0:
            out += session.expired()
            return
        earlier = self._aside.sessions.pop(key, None)
        if earlier is not None:
            out += earlier.expired()
        self._aside.add(key, session)
        self.context.schedule(self, session.end_ms + self._latency_ms)

    def on_timer(self, due_ms: int) -> None:
        """Sessions that are over at `due_ms` leave, in order of their keys."""
        out: list[StreamEvent] = []
        for key in self._aside.over(due_ms):
            out += self._aside.sessions.pop(key).expired()
        for key in self._open.over(due_ms):
            self._end(key, out)
        if out:
            self.emit(out)

    def snapshot(self) -> PlainState:
        """Open and put aside sessions by key, in order of creation."""
        return self._open.saved(), self._aside.saved()

    def restore(self, state: PlainState) -> None:
        opened, aside = state
        self._open.load(opened)
        self._aside.load(aside)
