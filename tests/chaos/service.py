"""`python -m tests.chaos.service <service>`: a service whose wall clock can be set wrong while it
runs.

The offset stands in the eight bytes of the file that CHAOS_CLOCK names. Nothing else differs from
`python -m lockstep_services.<service>`.
"""

from __future__ import annotations

import importlib
import mmap
import os
import struct
import sys
from pathlib import Path

from lockstep.clock import SystemClock
from lockstep.frame import run_service

CLOCK_VARIABLE = "CHAOS_CLOCK"
_OFFSET = struct.Struct("<q")


class SetClock(SystemClock):
    """The system's clock, its wall time moved by what the file says at that moment."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._offset = mmap.mmap(file.fileno(), _OFFSET.size, access=mmap.ACCESS_READ)

    def now_ms(self) -> int:
        """See SystemClock."""
        moved: int = _OFFSET.unpack_from(self._offset)[0]
        return super().now_ms() + moved


def set_offset(path: Path, offset_ms: int) -> None:
    """Moves the clock of the service that was given this file; makes the file when it is new."""
    if not path.exists():
        path.write_bytes(_OFFSET.pack(0))
    with path.open("r+b") as file:
        file.write(_OFFSET.pack(offset_ms))


def main(service: str) -> int:
    """Runs it; gives the exit code."""
    wire = importlib.import_module(f"lockstep_services.{service}.wiring").wire
    return run_service(service, wire, clock=SetClock(Path(os.environ[CLOCK_VARIABLE])))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
