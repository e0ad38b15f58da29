"""What a single executor that never stops makes of the whole input log: the measure of all."""

from __future__ import annotations

from dataclasses import dataclass, field

from lockstep.events import OutputRow, Position
from lockstep.operators.errors import SnapshotError
from tests.simulation.apps import App
from tests.simulation.carrier import RecordedLog
from tests.simulation.executor import Folds, SimExecutor
from tests.simulation.store import Archive


@dataclass
class Reference:
    """Grows with the log. A version begins where the first counting revision of it says."""

    app: App
    log: RecordedLog
    archive: Archive
    rows: list[OutputRow] = field(default_factory=list)
    version: int = 0
    clocks: dict[tuple[str, Position], int] = field(default_factory=dict)
    snapshots: dict[tuple[str, Position], bytes] = field(default_factory=dict)
    ends: dict[str, Position] = field(default_factory=dict)
    begins: dict[str, Position] = field(default_factory=dict)
    _executor: SimExecutor | None = None
    _beginnings: dict[int, Position] = field(default_factory=dict)
    _done: Position = 0

    def catch_up(self) -> Reference:
        """Folds what has been appended; all anew when a version turns out to have begun before."""
        beginnings = self._found_beginnings()
        if self._executor is None or beginnings != self._beginnings:
            self._begin_anew(beginnings)
        for entry in self.log.encoded()[self._done :]:
            self._fold_one(entry)
        self._change_version_here()
        executor, text = self._executor, self.app.versions[self.version]
        assert executor is not None
        self.ends[text] = self._done
        if (text, self._done) not in self.snapshots:
            self.snapshots[text, self._done] = executor.snapshot()
        return self

    def rows_between(self, text: str, after: Position, up_to: Position) -> list[OutputRow] | None:
        """The rows of a slice; None when it was not that version's."""
        if not self._is_of(text, after, up_to):
            return None
        return [row for row in self.rows if after < row.id.position <= up_to]

    def end_of(self, text: str, position: Position) -> Position | None:
        """How far a revision of a version can be replayed; None when it was not that version's."""
        end = self.ends.get(text, 0)
        return end if self._is_of(text, position, end) else None

    def _is_of(self, text: str, after: Position, up_to: Position) -> bool:
        return text in self.ends and self.begins[text] <= after <= up_to <= self.ends[text]

    def _begin_anew(self, beginnings: dict[int, Position]) -> None:
        first = self.app.versions[0]
        self.version, self._beginnings, self._done = 0, beginnings, 0
        self._executor = SimExecutor(Folds(), "reference", first)
        for table in (self.rows, self.clocks, self.snapshots, self.ends):
            table.clear()
        self.begins = {first: 0}

    def _fold_one(self, entry: object) -> None:
        self._change_version_here()
        executor, text = self._executor, self.app.versions[self.version]
        assert executor is not None
        self.rows += executor.run_encoded([entry]).rows  # type: ignore[list-item]
        self._done += 1
        self.clocks[text, self._done] = executor.engine.wall

    def _change_version_here(self) -> None:
        for version in sorted(self._beginnings):
            if version > self.version and self._beginnings[version] == self._done:
                self._change_version(version)

    def _change_version(self, version: int) -> None:
        old, text = self._executor, self.app.versions[self.version]
        assert old is not None
        snapshot = self.snapshots[text, self._done] = old.snapshot()
        self.ends[text] = self._done
        self.version = version
        following = self.app.versions[version]
        self.begins[following] = self._done
        self._executor = SimExecutor(Folds(), "reference", following)
        try:
            self._executor.restore(snapshot)
        except SnapshotError:
            self._executor = SimExecutor(Folds(), "reference", following)

    def _found_beginnings(self) -> dict[int, Position]:
        """Where the first revision of each later version counts; some may have been skipped."""
        counting = [
            taken for taken in self.archive.taken.values() if taken.counts_since_ms is not None
        ]
        found: dict[int, Position] = {}
        for taken in sorted(counting, key=lambda taken: taken.order):
            version = self.app.versions.index(taken.text)
            if version > 0:
                found.setdefault(version, taken.revision.position)
        return found
