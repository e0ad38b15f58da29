"""An app's past in the archive: what it took in, and the tables for what it gives out anew.

Whoever needs neither does without the tables' library, which is a heavy import: `opened` of
`past_input` loads this module.
"""

from __future__ import annotations

from collections.abc import Iterator

from lockstep.archive.events_in import Restored
from lockstep.archive.naming import Logs
from lockstep.archive.place import Place
from lockstep.archive.reading import InputReader, Span
from lockstep.events import Position
from lockstep.history.results import ResultTables, of_past
from lockstep.store import Past


class PastArchive:
    """In one place."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def slices(
        self, logs: Logs, after: Position, up_to: Position
    ) -> Iterator[list[Restored] | None]:
        """What was taken in behind `after` up to `up_to`, as far as it is archived."""
        reader = InputReader(self._place, logs)
        end = min(up_to, reader.bounds().up_to)
        if end > after:
            yield from filter(None, reader.slices(Span(after, end)))

    def tables(self, past: Past, app: str) -> ResultTables:
        """For the rows that `app` gives out for its past."""
        logs = Logs(past.app, past.since_ms)
        return ResultTables(of_past(self._place, app, past.life), logs, "past")
