"""The verdict: what was acknowledged, what the logs hold, and what the reference executor makes of
them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.events import ClaimRecord, Generation, OutputRow, Position
from lockstep.events.codec import EncodedEntry, EventColumns
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.execute.succession import succeed
from lockstep.plan import build, plan_of
from lockstep.siddhiql import check
from tests.chaos.app import TABLE_QUERY, TEXT, text_of
from tests.chaos.archive import Archive
from tests.counted_once import CountedOnce

SLICE_RECORDS = 500
SHOWN = 10


@dataclass
class Verdict:
    """Counts of everything that must not be; `complaints` names the first of each."""

    sent: int = 0
    inputs: int = 0
    outputs: int = 0
    lost: int = 0
    duplicated: int = 0
    wrong: int = 0
    usurped: int = 0
    misplaced: int = 0
    archived_twice: int = 0
    archive_missing: int = 0
    complaints: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Nothing lost, nothing twice, nothing wrong, one publisher per epoch."""
        return not self.faults

    @property
    def faults(self) -> int:
        """All of them."""
        suite = self.lost + self.duplicated + self.wrong + self.usurped + self.misplaced
        return suite + self.archived_twice + self.archive_missing

    def __add__(self, other: Verdict) -> Verdict:
        """Of two apps."""
        return Verdict(
            *(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__)
        )

    def complain(self, text: str) -> None:
        """Notes it; the first few are shown."""
        if len(self.complaints) < SHOWN:
            self.complaints.append(text)


def judge(
    archive: Archive,
    acknowledged: Sequence[tuple[int, int]],
    settled: Position,
    table: Sequence[tuple[Any, ...]],
) -> Verdict:
    """Blocking. Up to `settled` every output must be there; behind it, none that is not right."""
    verdict = Verdict(sent=sum(count for _, count in acknowledged))
    events_once(archive, acknowledged, verdict)
    one_publisher(archive, verdict)
    reference = Reference(archive)
    _outputs_once(archive, reference, settled, verdict)
    table_equal(reference.executor.on_demand(TABLE_QUERY), table, verdict)
    return verdict


class Reference:
    """What one executor makes of the input log, going over to each text where the output log says
    that its state began."""

    def __init__(self, archive: Archive) -> None:
        self.executor = ReferenceExecutor(plan_of(TEXT))
        self._archive = archive
        self._text = TEXT
        self._begun = deque(_begun(archive))

    def rows(self) -> Iterator[OutputRow]:
        """In order; to be read once."""
        inputs = sends_once(self._archive)
        while entries := list[EncodedEntry](islice(inputs, SLICE_RECORDS)):
            last = entries[-1].position
            while self._begun and self._begun[0].position <= last:
                begins_behind = self._begun[0].position
                old = [one for one in entries if one.position <= begins_behind]
                entries = entries[len(old) :]
                if old:
                    yield from self.executor.run_encoded(old).rows
                self._go_over(text_of(self._begun.popleft().life.number))
            if entries:
                yield from self.executor.run_encoded(entries).rows
        while self._begun:
            self._go_over(text_of(self._begun.popleft().life.number))

    def _go_over(self, text: str) -> None:
        old, new = build(check(self._text)), build(check(text))
        state = succeed(old, self.executor.snapshot(), new).snapshot
        self.executor, self._text = ReferenceExecutor(new), text
        self.executor.restore(state)


def _begun(archive: Archive) -> Iterator[Generation]:
    """The states that the output log went over to, behind its first one."""
    last: Generation | None = None
    for entry in archive.outputs():
        if isinstance(entry.record, ClaimRecord) and (found := entry.record.generation) is not None:
            if last is not None and found != last:
                yield found
            last = found


def events_once(
    archive: Archive, acknowledged: Sequence[tuple[int, int]], verdict: Verdict
) -> None:
    """What was acknowledged stands in the input log, and nothing counts twice."""
    top = max((first + count for first, count in acknowledged), default=0)
    wanted = np.zeros(top, dtype=np.int64)
    for first, count in acknowledged:
        wanted[first : first + count] += 1
    found = np.zeros(top, dtype=np.int64)
    for entry in sends_once(archive):
        columns = entry.columns()
        if isinstance(columns, EventColumns):
            verdict.inputs += len(columns)
            numbers: npt.NDArray[np.int64] = columns.batch.column(0).to_numpy()
            np.add.at(found, numbers[numbers < top], 1)
    missing = np.flatnonzero((wanted > 0) & (found == 0))
    twice = np.flatnonzero(found > 1)
    verdict.lost += len(missing)
    verdict.duplicated += len(twice)
    if len(missing):
        verdict.complain(f"acknowledged and not in the input log: {missing[:5].tolist()} …")
    if len(twice):
        verdict.complain(f"twice in the input log: {twice[:5].tolist()} …")


def one_publisher(archive: Archive, verdict: Verdict) -> None:
    """Every epoch begins with one claim, and only rows of the last claim's epoch follow it."""
    epoch, generation = 0, None
    for entry in archive.outputs():
        record = entry.record
        right = record.epoch == epoch
        if isinstance(record, ClaimRecord):
            # A leader whose state changes claims again, with its own epoch.
            goes_over = None not in (generation, record.generation) and right
            right = record.epoch > epoch or (goes_over and record.generation != generation)
            generation = record.generation
        if not right:
            verdict.usurped += 1
            verdict.complain(f"sequence {entry.sequence}: epoch {record.epoch} after {epoch}")
        epoch = max(epoch, record.epoch)


def _outputs_once(
    archive: Archive, reference: Reference, settled: Position, verdict: Verdict
) -> None:
    expected = reference.rows()
    want = next(expected, None)
    last = None
    for row in published(archive):
        verdict.outputs += 1
        if last is not None and row.id <= last:
            verdict.duplicated += 1
            verdict.complain(f"output {row.id} stands behind {last}")
            continue
        last = row.id
        while want is not None and want.id < row.id:
            verdict.lost += 1
            verdict.complain(f"output {want.id} of {want.stream} is missing")
            want = next(expected, None)
        if want is None or want != row:
            verdict.wrong += 1
            verdict.complain(f"output {row}, but the reference has {want}")
        if want is not None and want.id == row.id:
            want = next(expected, None)
    while want is not None:
        if want.id.position <= settled:
            verdict.lost += 1
            verdict.complain(f"output {want.id} of {want.stream} is missing")
        want = next(expected, None)


def sends_once(archive: Archive) -> Iterator[EncodedEntry]:
    """What counts of the input log."""
    return map(CountedOnce().of, archive.inputs())


def published(archive: Archive) -> Iterator[OutputRow]:
    """All rows of the output log, as they stand there."""
    for entry in archive.outputs():
        if not isinstance(entry.record, ClaimRecord):
            yield from entry.record.rows


def table_equal(
    expected: Sequence[tuple[Any, ...]], found: Sequence[tuple[Any, ...]], verdict: Verdict
) -> None:
    """What the sink has kept is what the app's table holds."""
    wanted, there = sorted(expected), sorted(found)
    if wanted != there:
        different = set(wanted) ^ set(there)
        verdict.wrong += len(different)
        verdict.complain(f"the sink's table differs: {sorted(different)[:4]}")
