"""What a single executor that never stops makes of the whole input log: the measure of all."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from lockstep.events import (
    ClaimRecord,
    Generation,
    OutputId,
    OutputRecord,
    OutputRow,
    Position,
)
from lockstep.events.codec import EncodedEntry
from lockstep.execute.succession import succeed
from lockstep.execute.undoing import without
from lockstep.operators.errors import SnapshotError
from lockstep.operators.state import Bytes
from lockstep.store import Deployment, Revision
from lockstep_services.processor.state.envelope import unseal
from tests.counted_once import CountedOnce
from tests.simulation.carrier import RecordedLog
from tests.simulation.executor import Fold, Folds, SimExecutor, planned
from tests.simulation.store import Archive


@dataclass
class Segment:
    """One state of the app: folded from its beginning on, to where the next one begins or, for
    whoever has not heard of that one yet, beyond.
    """

    generation: Generation | None
    text: str
    begin: Position
    executor: SimExecutor
    end: Position
    left_out: frozenset[Position] = frozenset()
    once: CountedOnce = field(default_factory=CountedOnce)
    has_to_tell_up_to: Position | None = None
    """The last position that it had to write letters of, as it ended for good there or another
    state of the same app went on from it. None: it goes on."""

    rows: list[OutputRow] = field(default_factory=list)
    clocks: dict[Position, int] = field(default_factory=dict)
    snapshots: dict[Position, bytes] = field(default_factory=dict)

    def fold(self, log: RecordedLog, up_to: Position) -> None:
        """As far as that, and no less."""
        for entry in log.encoded(self.end, up_to):
            self._fold_one(entry)
        if self.end not in self.snapshots:
            self.snapshots[self.end] = self.executor.snapshot()

    def _fold_one(self, entry: EncodedEntry) -> None:
        entries, _ = without([self.once.of(entry)], self.left_out)
        self.rows += self.executor.run_encoded(entries).rows
        self.end += 1
        self.clocks[self.end] = self.executor.engine.wall

    def rows_between(self, after: Position, up_to: Position) -> list[OutputRow]:
        """The rows of a slice of it."""
        begin, end = (bisect_right(self.rows, at, key=_position) for at in (after, up_to))
        return self.rows[begin:end]

    def letters(self, log: RecordedLog) -> Counter[Position]:
        """How many dead letters each position has, of those that it leaves out."""
        entries = [one for one in map(CountedOnce().of, log.encoded())
                   if self.begin < one.position in self.left_out]  # fmt: skip
        return Counter(fault.position for fault in without(entries, self.left_out)[1])

    def certain_letters(self, log: RecordedLog) -> Counter[Position]:
        """Of these what must have been written. An app that is undeployed writes no more, as it
        publishes no more: what stands in front of its last row is certain alone. So is what stands
        in front of where another state went on: that one may fold what this one was to leave out.
        """
        last = self.has_to_tell_up_to
        found = self.letters(log)
        return Counter({at: found[at] for at in found if last is None or at <= last})


@dataclass
class Reference:
    """Grows with the logs. A state begins where the first claim of its generation says; which text
    it has, and whether a revision's state is to be gone back to, the deployments say.
    """

    first: str
    log: RecordedLog
    output: RecordedLog
    archive: Archive
    is_over: bool = False
    """The logs were removed: what was not published then never will be."""

    segments: list[Segment] = field(default_factory=list)
    rows: list[OutputRow] = field(default_factory=list)

    def catch_up(self) -> Reference:
        """Folds what has been appended; all anew when another state has begun."""
        generations = list(self.generations())
        if not self.segments or generations != [one.generation for one in self.segments]:
            self._begin_anew(generations)
        for one, following in pairwise(self.segments):
            one.fold(self.log, following.begin)
        self.segments[-1].fold(self.log, len(self.log.history))
        ends = [*(one.begin for one in self.segments[1:]), len(self.log.history)]
        ends_for_good = [
            (one.generation and one.generation.life.deployed_ms)
            != (following.generation and following.generation.life.deployed_ms)
            for one, following in pairwise(self.segments)
        ]
        self.rows = []
        for one, end, cut in zip(self.segments, ends, [*ends_for_good, self.is_over], strict=True):
            rows = one.rows_between(one.begin, end)
            last = self._published_up_to(end) if cut else None
            if cut:
                one.has_to_tell_up_to = last.position if last else one.begin
            else:
                one.has_to_tell_up_to = end if end < len(self.log.history) else None
            self.rows += [row for row in rows if not cut or (last and row.id <= last)]
        return self

    def _published_up_to(self, position: Position) -> OutputId | None:
        """The last published row of a position or before: an undeployed app publishes no more."""
        last = None
        for one in self.output.history:
            record = one.output
            if isinstance(record, OutputRecord) and record.rows:
                ids = [row.id for row in record.rows if row.id.position <= position]
                last = max([*ids, *([last] if last else [])], default=None)
        return last

    @property
    def text(self) -> str:
        """Of the last state."""
        return self.segments[-1].text

    def generations(self) -> Iterator[Generation]:
        """Each that the output log was claimed for, once; one that goes back does not count."""
        last = None
        for one in self.output.history:
            record = one.output
            new = record.generation if isinstance(record, ClaimRecord) else None
            if new is None or (last is not None and not last < new):
                continue
            if last is None or new.position >= last.position:
                last = new
                yield new

    def states_of(self, fold: Fold) -> list[Segment]:
        """Those that a replica may have folded there: of its text, and begun by then; all folded
        as far as the log goes. There are none if it folded another life's log, or a state that
        nobody ever claimed the output log for."""
        if not self._has_first_of(fold):
            return []
        found = [one for one in self.segments if one.text == fold.text and one.begin <= fold.began]
        for one in found:
            one.fold(self.log, len(self.log.history))
        return [one for one in found if fold.position <= one.end]

    def _has_first_of(self, fold: Fold) -> bool:
        """Whether this log holds the slice's first record. A record that something was left out of
        before it was folded bears the same clock as the whole one."""
        there = self.log.encoded(fold.before, fold.before + 1)
        return fold.first_ms in [one.header.clock_ms for one in there]

    def state_of(self, revision: Revision) -> Segment | None:
        """The state that it is of, if the log bore that and it is what counts at its position."""
        position = revision.position
        ends: list[Position | None] = [*(one.begin for one in self.segments[1:]), None]
        for one, end in zip(self.segments, ends, strict=True):
            generation = one.generation
            if generation is not None and revision.is_of(generation):
                counts = one.begin <= position and (end is None or position <= end)
                return one if counts else None
        return None

    def _begin_anew(self, generations: list[Generation]) -> None:
        self.segments = []
        if not generations:
            executor = SimExecutor(Folds(), "reference", self.first)
            self.segments.append(Segment(None, self.first, 0, executor, 0))
        for generation in generations:
            self.segments.append(self._segment(generation))

    def _segment(self, generation: Generation) -> Segment:
        """Begun with the state that its first revision holds, if that may be; else as wanted."""
        wanted = self.archive.deployments[generation.life]
        begin = generation.position
        found = self._found(generation)
        executors = [self._executor(wanted.text, *one) for one in self._states(generation, wanted)]
        empty = SimExecutor(Folds(), "reference", wanted.text)
        fitting = [one for one in executors if one is not None] or [empty]
        same = [one for one in fitting if found is not None and one.snapshot() == found]
        left_out = frozenset(one.position for one in wanted.origin.exclusions)
        once = self._once(generation)
        return Segment(generation, wanted.text, begin, (same or fitting)[0], begin, left_out, once)

    def _once(self, generation: Generation) -> CountedOnce:
        """The sends that the states before this one knew, back to where the app was deployed
        afresh."""
        known = [one for one in self.segments if one.generation is not None
                 and one.generation.life.deployed_ms == generation.life.deployed_ms]  # fmt: skip
        once = CountedOnce()
        for entry in self.log.encoded(known[0].begin, generation.position) if known else ():
            once.of(entry)
        return once

    def _executor(self, text: str, old: str, snapshot: Bytes) -> SimExecutor | None:
        executor = SimExecutor(Folds(), "reference", text)
        try:
            executor.restore(succeed(planned(old), snapshot, planned(text)).snapshot)
        except SnapshotError:
            return None
        return executor

    def _found(self, generation: Generation) -> bytes | None:
        """The state that the revision of a beginning holds."""
        for taken in self.archive.taken.values():
            place = taken.revision.life, taken.revision.position
            counts = taken.counts_since_ms is not None
            if counts and place == (generation.life, generation.position):
                return bytes(unseal(taken.state).snapshot)
        return None

    def _states(self, generation: Generation, wanted: Deployment) -> Iterator[tuple[str, Bytes]]:
        """The states that it may begin with, and whose texts: the revision's that was to be
        restored, unless that could not be used any more, or had folded what is still to come; what
        was there, if there was nothing to restore or it could not be used.
        """
        if not self.segments:
            return
        before = self.segments[-1]
        then = before.generation
        if then is None or then.life.deployed_ms != generation.life.deployed_ms:
            return  # of an app that was undeployed for this one
        before.fold(self.log, generation.position)
        restoration = wanted.origin.restoration
        if restoration is not None and restoration.life > then.life:
            taken = self.archive.taken[restoration.revision]
            contents = unseal(taken.state)
            if taken.revision.position <= generation.position:
                yield contents.text, contents.snapshot
                if taken.unusable_ms is None or taken.unusable_ms > self._claimed_ms(generation):
                    return
        yield before.text, before.snapshots[generation.position]

    def _claimed_ms(self, generation: Generation) -> int:
        """When the log went over to it."""
        for one in self.output.history:
            record = one.output
            if isinstance(record, ClaimRecord) and record.generation == generation:
                return one.at_ms
        return 0


def _position(row: OutputRow) -> Position:
    return row.id.position
