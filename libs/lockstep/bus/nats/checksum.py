"""A checksum beside each record of a log: whoever reads sees whether it is what was appended. What
came damaged is told, and how it differed as soon as it has come whole: never the bytes."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Final

from lockstep.events import UnavailableError
from lockstep.telemetry import get_logger

CHECKSUM: Final = "Lockstep-Crc32"
"""Header: CRC-32 of the payload, eight hexadecimal digits. Earlier releases wrote none."""


class DamagedMessageError(UnavailableError):
    """What came is not what was appended; it is read again."""

    def __init__(self, sequence: int, log: str) -> None:
        super().__init__(
            f"record {sequence} came damaged: its checksum differs",
            where=log,
            hint="it is read again; if this goes on, the bus server has it damaged on its disk",
        )


def checksum(payload: bytes) -> str:
    """For the header."""
    return f"{zlib.crc32(payload):08x}"


def is_whole(payload: bytes, headers: Mapping[str, str] | None) -> bool:
    """Whether it is what was appended, as far as a header says."""
    told = None if headers is None else headers.get(CHECKSUM)
    return told is None or told == checksum(payload)


def differing(damaged: bytes, whole: bytes) -> tuple[int, int]:
    """Where the first differing byte stands, and how many bytes of `damaged` there are from it to
    the last one that differs."""
    shorter = min(len(damaged), len(whole))
    first = next((at for at in range(shorter) if damaged[at] != whole[at]), shorter)
    alike = 0
    while alike < shorter - first and damaged[-1 - alike] == whole[-1 - alike]:
        alike += 1
    return first, len(damaged) - first - alike


class Inspection:
    """Of the records that one reader of a log is given."""

    def __init__(self, log: str) -> None:
        self._log = get_logger().bind(log=log)
        self._name = log
        self._damaged: tuple[int, bytes] | None = None  # the last one, until it has come whole

    def check(
        self, sequence: int, payload: bytes, headers: Mapping[str, str] | None, server: str
    ) -> None:
        """DamagedMessageError where it is not what was appended. `server`: who brought it."""
        if not is_whole(payload, headers):
            self._damaged = sequence, payload
            self._log.warning(
                "a record came damaged", sequence=sequence, size_bytes=len(payload), server=server
            )
            raise DamagedMessageError(sequence, self._name)
        if self._damaged is not None and self._damaged[0] == sequence:
            (_, before), self._damaged = self._damaged, None
            first, length = differing(before, payload)
            self._log.warning(
                "a damaged record came whole", sequence=sequence, size_bytes=len(payload),
                damaged_size_bytes=len(before), differs_from_byte=first, differing_bytes=length,
                server=server,
            )  # fmt: skip
