"""What of a deployed app is archived, and the cursors that say how far its archive is."""

from __future__ import annotations

from lockstep.archive.naming import INPUT
from lockstep.archive.place import sink_name
from lockstep.control.units import AppView, UnitView
from lockstep.events import Position
from lockstep.settings import ArchiveSettings
from lockstep.siddhiql.checking.archiving import AppArchiving, Archiving, archiving_of
from lockstep.store import Cursors, cursor_name

_NOTHING = AppArchiving(Archiving(False), {})


def archived(view: AppView, settings: ArchiveSettings) -> AppArchiving:
    """As its text and the settings say; of a unit, as its app does."""
    if not settings.folder:
        return _NOTHING
    checked = view.whole.app.checked if isinstance(view, UnitView) else view.checked
    return archiving_of(checked, by_default=settings.by_default)


def archive_cursor(view: AppView, settings: ArchiveSettings, side: str) -> str:
    """The name under which it is kept how far the archive has a log."""
    return cursor_name(view.name, sink_name(settings, side), view.input.since_ms)


async def archived_to(
    view: AppView, settings: ArchiveSettings, cursors: Cursors
) -> Position | None:
    """Up to where the input log may go, for the archive's sake; None: as far as anybody likes."""
    if not archived(view, settings).is_on:
        return None
    return await cursors.get(archive_cursor(view, settings, INPUT))
