"""Time zones by their names: those that are the same on every machine."""

from __future__ import annotations

from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

REGION_HINT: Final = "write 'Europe/Berlin' or 'UTC'"

_OF_A_MACHINE: Final = frozenset({"localtime", "posixrules", "factory"})
_FOLDERS_OF_A_MACHINE: Final = ("posix/", "right/")


def region(name: str) -> ZoneInfo | None:
    """The zone of that name, or None. None, too, for what stands beside the zones on a machine: its
    own (`localtime`), and zones with leap seconds (`right/…`). With them replicas could differ."""
    folded = name.lower()
    if folded in _OF_A_MACHINE or folded.startswith(_FOLDERS_OF_A_MACHINE):
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
