"""What a script looks at: the archive up to where it was when the run first began, and of that
what is new since the last run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from lockstep.archive import naming
from lockstep.archive.view_names import Claim
from lockstep.batch.marks import log_of
from lockstep.batch.model import Marks
from lockstep.history.asking import History, Kept, View

DataFrame = Any
"""Of PySpark."""
NEW: Final = "new_"
"""In front of a view's name: what is new."""
_KEYS: Final = {naming.INPUT: naming.POSITION, naming.OUTPUT: naming.SEQUENCE}


class Batch:
    """What a script in Python gets. Times are epoch milliseconds; `since_ms` is the due time of the
    last run whose rows are kept, 0 for the first one."""

    def __init__(
        self, history: History, due_ms: int, since_ms: int, after: Marks, up_to: Marks
    ) -> None:
        self.due_ms = due_ms
        self.since_ms = since_ms
        self._history = history
        self._after = after
        self._up_to = up_to

    @property
    def spark(self) -> Any:
        """The Spark session."""
        return self._history.session

    def stream(self, app: str, stream: str, side: str | None = None) -> DataFrame:
        """All that is archived of a stream: what came in, or what was published (`side`: input or
        output; what there is, output first)."""
        return self._history.frame(self._history.kept(app, stream, side), self._seen)

    def new(self, app: str, stream: str, side: str | None = None) -> DataFrame:
        """Of that what no earlier run has seen as new."""
        return self._history.frame(self._history.kept(app, stream, side), self._fresh)

    def sql(self, query: str) -> DataFrame:
        """A query over views: as in `lockstep archive query`, and `new_` in front of a name."""
        claims = self._history.claims()
        seen = [replace(one, what=View(one.what.tables, self._seen)) for one in claims]
        fresh = [
            Claim(
                f"{NEW}{one.name}", View(one.what.tables, self._fresh),
                f"what is new of {one.source}",
            )
            for one in claims
        ]  # fmt: skip
        return self._history.asked(query, [*seen, *fresh], self._parameters(query))

    def _parameters(self, query: str) -> Mapping[str, Any]:
        given = {"due": self.due_ms, "until": self.due_ms, "since": self.since_ms}
        return {
            name: datetime.fromtimestamp(ms / 1000, UTC)
            for name, ms in given.items()
            if f":{name}" in query
        }

    def _seen(self, kept: Kept, frame: DataFrame) -> DataFrame:
        if kept.logs is None:  # what other scripts put out
            return frame
        return frame.where(f"{_KEYS[kept.side]} <= {self._mark(self._up_to, kept)}")

    def _fresh(self, kept: Kept, frame: DataFrame) -> DataFrame:
        if kept.logs is None:
            return frame.where("false")
        return self._seen(kept, frame).where(
            f"{_KEYS[kept.side]} > {self._mark(self._after, kept)}"
        )

    @staticmethod
    def _mark(marks: Marks, kept: Kept) -> int:
        assert kept.logs is not None
        return marks.get(log_of(kept.logs, kept.side), 0)
