"""How far the archive was when a run began: read by publishers, which do without Spark."""

from __future__ import annotations

from lockstep.archive import naming
from lockstep.archive.keeping import SideArchive
from lockstep.archive.place import Place
from lockstep.archive.reading import apps_of, lives_of


def log_of(logs: naming.Logs, side: str) -> str:
    """How marks name a log."""
    return f"{logs.path}/{side}"


def marks_of(place: Place) -> dict[str, int]:
    """Up to which record the archive has each log: all tables have all rows up to there, and every
    row that comes later is behind it. Blocking."""
    found = {}
    for app in apps_of(place):
        for logs in lives_of(place, app):
            for side in (naming.INPUT, naming.OUTPUT):
                reached = SideArchive(place, logs, side).reached()
                if reached:
                    found[log_of(logs, side)] = reached
    return found
