"""Both logs of an app, copied to disk as they grow, before anybody forgets their beginning.

Reads over connections of its own that no fault cuts. Notes when each output arrived: failover is
measured there.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, TypeVar

from lockstep.bus import Bus, LogName, OutputEntry
from lockstep.clock import SystemClock
from lockstep.events import OutputRecord, UnavailableError
from lockstep.events.codec import EncodedEntry, decode_output, encode_record

CLOCK = SystemClock()
T = TypeVar("T")
_FRAME = struct.Struct("<QI")
READ = {"max_records": 500, "max_bytes": 8_000_000, "wait_ms": 500}
PAUSE_S = 0.1


class GapError(Exception):
    """Records were forgotten before they could be copied: the run cannot be judged."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """Output rows of one record as they came."""

    at_ms: int
    epoch: int
    rows: int


@dataclass
class Archive:
    """Fed by `copy`; the files are read back by `inputs` and `outputs`. `has_gaps`: the input log
    has some (Kafka's repetitions); what was forgotten before it was copied is then found lost."""

    directory: Path
    has_gaps: bool = False
    arrivals: list[Arrival] = field(default_factory=list)
    input_position: int = 0
    output_sequence: int = 0
    epoch: int = 0
    _arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)

    @property
    def came(self) -> int:
        """How many records with rows have arrived."""
        return len(self.arrivals)

    async def copy(self, bus: Bus, name: LogName) -> None:
        """Both logs, until cancelled."""
        await asyncio.gather(self.copy_inputs(bus, name), self.copy_outputs(bus, name))

    def inputs(self) -> Iterator[EncodedEntry]:
        """The input log from its first record."""
        for position, payload in _frames(self.directory / "input"):
            yield EncodedEntry(position, payload)

    def outputs(self) -> Iterator[OutputEntry]:
        """The output log from its first record."""
        for sequence, payload in _frames(self.directory / "output"):
            yield OutputEntry(sequence, decode_output(payload))

    async def rows_after_epoch(self, epoch: int, timeout_ms: int) -> int:
        """When the first rows of a later epoch arrived, monotonic; TimeoutError."""
        async with asyncio.timeout(timeout_ms / 1_000):
            seen = len(self.arrivals)
            while True:
                for arrival in self.arrivals[seen:]:
                    if arrival.epoch > epoch:
                        return arrival.at_ms
                seen = len(self.arrivals)
                self._arrived.clear()
                await self._arrived.wait()

    def longest_silence_ms(self, since_ms: int, until_ms: int) -> int:
        """The longest time without an output that overlaps the span."""
        longest, before = 0, since_ms
        for arrival in reversed(self.arrivals):
            if arrival.at_ms < since_ms:
                before = arrival.at_ms
                break
        for arrival in self.arrivals:
            if since_ms <= arrival.at_ms <= until_ms:
                longest = max(longest, arrival.at_ms - before)
                before = arrival.at_ms
        return max(longest, until_ms - max(before, since_ms))

    async def copy_inputs(self, bus: Bus, name: LogName) -> None:
        """The input log alone, until cancelled."""
        log = await patiently(lambda: bus.input_log(name))
        with (self.directory / "input").open("ab") as file:
            while True:
                entries = await patiently(lambda: log.read_encoded(self.input_position, **READ))
                for entry in entries:
                    if not self.has_gaps and entry.position != self.input_position + 1:
                        raise GapError(f"from {self.input_position} to {entry.position}")
                    write_frame(file, entry.position, entry.payload)
                    self.input_position = entry.position
                file.flush()

    async def copy_outputs(self, bus: Bus, name: LogName) -> None:
        """The output log alone, until cancelled."""
        log = await patiently(lambda: bus.output_log(name))
        with (self.directory / "output").open("ab") as file:
            while True:
                entries = await patiently(lambda: log.read(self.output_sequence, **READ))
                now_ms = CLOCK.monotonic_ms()
                for entry in entries:
                    if entry.sequence != self.output_sequence + 1:
                        raise GapError(f"from {self.output_sequence} to {entry.sequence}")
                    record = entry.record
                    self.epoch = max(self.epoch, record.epoch)
                    if isinstance(record, OutputRecord):
                        self.arrivals.append(Arrival(now_ms, record.epoch, len(record.rows)))
                    write_frame(file, entry.sequence, encode_record(record))
                    self.output_sequence = entry.sequence
                file.flush()
                self._arrived.set()


async def patiently(ask: Callable[[], Awaitable[T]]) -> T:
    """The answer, once the bus gives one."""
    while True:
        try:
            return await ask()
        except UnavailableError:
            await asyncio.sleep(PAUSE_S)


def write_frame(file: BinaryIO, number: int, payload: bytes) -> None:
    """A record with its position or sequence, as `inputs` and `outputs` read it."""
    file.write(_FRAME.pack(number, len(payload)))
    file.write(payload)


def _frames(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as file:
        while header := file.read(_FRAME.size):
            number, size = _FRAME.unpack(header)
            yield number, file.read(size)
