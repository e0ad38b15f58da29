"""A checksum beside each record of a log: whoever reads sees whether it is what was appended."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Final

from lockstep.events import UnavailableError

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
