"""Where the command's log lines go."""

from __future__ import annotations

import sys
from io import TextIOBase
from typing import TextIO, cast

from lockstep.telemetry import configure_logging


class _StandardError(TextIOBase):
    """Whatever is standard error when something is written."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def log_to_stderr() -> None:
    """What apps log (`#log`, dropped events) goes to standard error: standard output is answers."""
    configure_logging(
        service="lockstep", log_format="console", stream=cast(TextIO, _StandardError())
    )
