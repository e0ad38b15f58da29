"""Who has which message of the front door: decided from two topics, alike by everybody who reads.

One topic holds the messages, the other one notes about them. A claim names a message and how many
claims before it have counted; the first one with the right number counts. A message is free for the
next claim once its holder has had it for too long, or has given it back.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from lockstep.bus.kafka.window import Raw

FREE: Final = -1


class Note(msgspec.Struct, frozen=True, array_like=True):
    """What a member says: these I take, these are done, these I give back; and everything in front
    of `past` is done, which an older reader passes over."""

    member: bytes
    claims: list[tuple[int, int]] = []
    done: list[int] = []
    freed: list[tuple[int, int]] = []
    past: int = 0


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Note)


def encode_note(note: Note) -> bytes:
    """A note as bytes."""
    return _encoder.encode(note)


def decode_note(raw: bytes) -> Note:
    """What `encode_note` was given."""
    return _decoder.decode(raw)


@dataclass(frozen=True, slots=True)
class Holder:
    """Whose a message is: by its `number`-th claim, since then on our clock, or FREE."""

    number: int
    member: bytes
    since_ms: int


class WorkQueue:
    """Times are milliseconds of a clock that never runs back."""

    def __init__(self, member: bytes, redelivery_ms: int, window_ms: int) -> None:
        self._member = member
        self._redelivery_ms = redelivery_ms
        self._window_ms = window_ms
        self.messages: dict[int, Raw] = {}  # those that are not done, in order
        self.held_bytes = 0
        self._holders: dict[int, Holder] = {}
        self._done: set[int] = set()
        self._mentioned: dict[int, int] = {}  # message: the first note about it
        self._claimed: dict[int, int] = {}  # our claims under way, and since when
        self._won: list[tuple[int, int]] = []
        self._given: set[int] = set()  # what was given out and is still ours to settle
        self._ids: OrderedDict[bytes, tuple[int, int]] = OrderedDict()
        self.past = 0  # the notes say that messages in front of it are done
        self._past_note: int | None = None  # the note that says so

    def take_message(self, raw: Raw, own_id: bytes | None, *, is_past: bool) -> None:
        """The next message; `is_past`: it is done, and only its id is of interest."""
        if own_id is not None and self._is_repeated(raw, own_id):
            self._done.add(raw.offset)
        elif not is_past and raw.offset not in self._done:
            self.messages[raw.offset] = raw
            self.held_bytes += raw.size_bytes

    def take_note(self, note: Note, offset: int, now_ms: int) -> None:
        """The next note."""
        if note.past > self.past:
            self.past, self._past_note = note.past, offset
        for place, number in note.claims:
            self._mentioned.setdefault(place, offset)
            if note.member == self._member:
                self._claimed.pop(place, None)
            before = self._holders.get(place)
            if place not in self._done and number == (before.number if before else 0) + 1:
                self._holders[place] = Holder(number, note.member, now_ms)
                self._given.discard(place)  # our earlier claim has run out
                if note.member == self._member:
                    self._won.append((place, number))
        for place, number in note.freed:
            holder = self._holders.get(place)
            if holder is not None and holder.number == number:
                self._holders[place] = Holder(number, b"", FREE)
        for place in note.done:
            self._mentioned.setdefault(place, offset)
            self._done.add(place)
            self._given.discard(place)  # whoever has done it
            self._holders.pop(place, None)
            message = self.messages.pop(place, None)
            self.held_bytes -= 0 if message is None else message.size_bytes

    def won(self, max_messages: int) -> list[tuple[Raw, int]]:
        """Messages that are ours now and were not given out yet, with the number of our claim."""
        found: list[tuple[Raw, int]] = []
        while self._won and len(found) < max_messages:
            place, number = self._won.pop(0)
            holder, message = self._holders.get(place), self.messages.get(place)
            if message is not None and holder is not None and holder.number == number:
                found.append((message, number))
                self._given.add(place)
        return found

    def claimable(self, max_messages: int, now_ms: int) -> list[tuple[int, int]]:
        """Free messages, oldest first, as claims; they are taken to be under way from now on."""
        for place, since_ms in list(self._claimed.items()):
            if since_ms <= now_ms - self._redelivery_ms:
                del self._claimed[place]  # it was lost on its way
        found: list[tuple[int, int]] = []
        for place in self.messages:
            if len(found) >= max_messages:
                break
            holder = self._holders.get(place)
            if place not in self._claimed and (holder is None or self._is_free(holder, now_ms)):
                found.append((place, (holder.number if holder else 0) + 1))
                self._claimed[place] = now_ms
        return found

    def next_free_ms(self) -> int | None:
        """When the next message becomes free that somebody holds."""
        times = [
            holder.since_ms
            for place, holder in self._holders.items()
            if place in self.messages and holder.since_ms != FREE
        ]
        return min(times) + self._redelivery_ms if times else None

    @property
    def given_messages(self) -> int:
        """How many that were given out are still ours to settle."""
        return len(self._given)

    def settle(self, place: int) -> None:
        """One that was given out is acknowledged."""
        self._given.discard(place)

    def unclaim(self, claims: Iterable[tuple[int, int]]) -> None:
        """Our claims did not get through."""
        for place, _ in claims:
            self._claimed.pop(place, None)

    def floors(self, message_place: int, note_place: int) -> tuple[int, int]:
        """From where on messages and notes are still needed, given how far both were read. The
        note that says how far messages are done is always needed."""
        first = next(iter(self.messages), message_place)
        self._done = {place for place in self._done if place >= first}
        self._mentioned = {place: note for place, note in self._mentioned.items() if place >= first}
        self._holders = {place: holder for place, holder in self._holders.items() if place >= first}
        needed = note_place if self._past_note is None else self._past_note
        return first, min([needed, *self._mentioned.values()])

    def _is_free(self, holder: Holder, now_ms: int) -> bool:
        return holder.since_ms == FREE or holder.since_ms + self._redelivery_ms <= now_ms

    def _is_repeated(self, raw: Raw, own_id: bytes) -> bool:
        while self._ids and next(iter(self._ids.values()))[1] < raw.timestamp_ms - self._window_ms:
            self._ids.popitem(last=False)
        if own_id in self._ids:
            return True
        self._ids[own_id] = (raw.offset, raw.timestamp_ms)
        return False
