"""One checker per invariant: each looks at what really happened and tells what should not have."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from lockstep.bus.letters import decode_letter
from lockstep.bus.subjects import DEAD_ALL, input_subject, output_subject
from lockstep.control import log_of
from lockstep.events import (
    ClaimRecord,
    EventsRecord,
    Generation,
    Operation,
    OutputId,
    OutputRecord,
    OutputRow,
    Position,
    WriteRecord,
)
from lockstep.events.codec import decode_input
from lockstep.events.since import since_in
from lockstep.execute.sends import SendMemory
from lockstep.execute.sieve import sieve
from lockstep.execute.undoing import without
from lockstep.store import Revision
from lockstep_services.processor.replica.origin import is_begun
from lockstep_services.processor.state.envelope import unseal
from tests.counted_once import CountedOnce
from tests.simulation.apps import WRITTEN
from tests.simulation.carrier import RecordedLog
from tests.simulation.cluster import Cluster, Life
from tests.simulation.executor import Fold, Folds, planned
from tests.simulation.node import base_settings
from tests.simulation.reference import Reference, Segment
from tests.simulation.store import Taken

SHOWN: Final = 3
REPLAYED_REVISIONS: Final = 5
Letters = Callable[[Segment, RecordedLog], Counter[Position]]


class HasOutput(Protocol):
    """Of whose output log a checker looks at everything that it ever took."""

    @property
    def output(self) -> RecordedLog:
        """The log."""
        ...


@dataclass(frozen=True)
class Violation:
    """An invariant, and how it was broken."""

    invariant: str
    what: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.what}"


def is_settled(cluster: Cluster) -> bool:
    """Everything that was sent is in the log, everything the log means is published everywhere, or
    put aside: of a dead letter no row need tell."""
    if cluster.around.carrier.log("ingress.>").entries:
        return False
    lives = cluster.lives
    reference = lives[-1].reference
    wanted = cluster.around.store.shelf.deployments.get(cluster.app)
    now = reference.segments[-1]
    if wanted is None or now.generation is None or now.text != wanted.text:
        return False
    if not is_begun(wanted.version, now.generation.life, wanted):
        return False
    rows = reference.rows
    tail = cluster.output.tail.last_id
    if rows and tail != rows[-1].id:
        return False
    if not (cluster.scenario.app.is_warm or _replicas_stand_at_the_end(cluster)):
        return False
    views = *database(cluster, lives), *presenter(cluster, reference), *put_aside(cluster, lives)
    return not [*views, *left_over(cluster)]


def check_all(cluster: Cluster) -> list[Violation]:
    """Every violation; the first few of each kind."""
    lives = cluster.lives
    all_lives = [*cluster.afterlives, *lives]
    found = [
        *(violation for life in lives for violation in _of_a_life(life)),
        *put_aside(cluster, lives),
        *robbed(cluster),
        *clock(cluster, all_lives),
        *folding(cluster, all_lives),
        *revisions(cluster, lives),
        *acknowledged(cluster, all_lives),
        *writes(cluster, lives),
        *database(cluster, all_lives),
        *presenter(cluster, lives[-1].reference),
        *left_over(cluster),
        *(Violation("trim", fault) for fault in cluster.around.carrier.trim_faults[:SHOWN]),
        *(Violation("surprise", str(one)) for one in cluster.story.surprises[:SHOWN]),
    ]
    return found


def _of_a_life(life: Life) -> Iterator[Violation]:
    yield from identities(life)
    yield from completeness(life)
    yield from epochs(life)
    yield from generations(life)


def published(life: HasOutput) -> Iterator[tuple[int, str, OutputRecord | ClaimRecord]]:
    """(time, writer, record) of the output log, from its beginning."""
    for one in life.output.history:
        yield one.at_ms, one.writer, one.output


def published_rows(life: HasOutput) -> list[OutputRow]:
    """All rows."""
    return [
        row
        for _, _, record in published(life)
        if isinstance(record, OutputRecord)
        for row in record.rows
    ]


def identities(life: HasOutput) -> Iterator[Violation]:
    """Each output identity once, and in order."""
    rows = published_rows(life)
    counts = Counter(row.id for row in rows)
    twice = [output_id for output_id, count in counts.items() if count > 1]
    for output_id in twice[:SHOWN]:
        yield Violation("identity", f"{_shown(output_id)} stands {counts[output_id]} times")
    pairs = itertools.pairwise(rows)
    wrong = [(one.id, other.id) for one, other in pairs if other.id < one.id]
    for one, other in wrong[:SHOWN]:
        yield Violation("order", f"{_shown(other)} stands behind {_shown(one)}")


def completeness(life: Life) -> Iterator[Violation]:
    """What is published is what a single executor makes of the same input, to the last row."""
    there = {row.id: row for row in published_rows(life)}
    wanted = {row.id: row for row in life.reference.rows}
    for output_id in sorted(wanted.keys() - there.keys())[:SHOWN]:
        yield Violation("missing", f"{_shown(output_id)} is not published: {wanted[output_id]}")
    for output_id in sorted(there.keys() - wanted.keys())[:SHOWN]:
        yield Violation("invented", f"{_shown(output_id)} should not be: {there[output_id]}")
    other = [key for key in sorted(wanted.keys() & there.keys()) if wanted[key] != there[key]]
    for output_id in other[:SHOWN]:
        yield Violation("other", f"{there[output_id]} instead of {wanted[output_id]}")


def robbed(cluster: Cluster) -> Iterator[Violation]:
    """A lease that has not ended is taken from a process alone that is not connected."""
    for resource, holder in cluster.around.table.robbed:
        yield Violation("lease", f"{resource} was taken from {holder}, which is connected")


def put_aside(cluster: Cluster, lives: Sequence[Life]) -> Iterator[Violation]:
    """What was set aside because workers die of it, each event once; and nothing else."""
    letters = cluster.around.carrier.recorded(DEAD_ALL).history
    found = Counter(decode_letter(one.stored.payload).position for one in letters)
    may = [_letters(life, Segment.letters) for life in lives]
    allowed = Counter({at: max(one[at] for one in may) for one in may for at in one})
    if found - allowed:
        yield Violation("missing", f"events were put aside as dead letters: {found - allowed}")
    wanted = _letters(lives[-1], Segment.certain_letters) if lives else Counter()
    if wanted - found:
        yield Violation("missing", f"set aside, and no dead letters: {wanted - found}")


def _letters(life: Life, of: Letters) -> Counter[Position | None]:
    """How many dead letters there are of each position, by any of the states."""
    counts: Counter[Position | None] = Counter()
    for one in life.reference.segments:
        counts |= of(one, life.input)
    return counts


def epochs(life: HasOutput) -> Iterator[Violation]:
    """One publisher per epoch; nobody appends behind a later claim."""
    holders: dict[int, str] = {}
    latest, generation = 0, None
    for at_ms, writer, record in published(life):
        if isinstance(record, ClaimRecord):
            goes_over = record.epoch == latest and holders[latest] == writer
            if record.epoch <= latest and not (goes_over and record.generation != generation):
                yield Violation(
                    "epoch", f"{writer} claims epoch {record.epoch} at {at_ms} ms behind {latest}"
                )
            generation = record.generation
            holders[record.epoch] = writer
            latest = max(latest, record.epoch)
        elif holders.get(record.epoch) != writer or record.epoch != latest:
            yield Violation(
                "epoch", f"{writer} appends with epoch {record.epoch} at {at_ms} ms; {latest} is"
                f" {holders.get(latest)}'s"
            )  # fmt: skip
            return


def generations(life: HasOutput) -> Iterator[Violation]:
    """The app goes over to later states alone, each at one position: rows before it are of those
    before, rows behind it are its own."""
    latest: Generation | None = None
    last: Position = 0
    for at_ms, writer, record in published(life):
        new = getattr(record, "generation", None)
        if new is None or new == latest:
            last = max(last, *(row.id.position for row in getattr(record, "rows", ())), 0)
            continue
        if latest is not None and not (new.follows(latest) and last <= new.position):
            yield Violation(
                "generation", f"{writer} claims {new} at {at_ms} ms behind {latest} and row {last}"
            )
            return
        latest = new


def clock(cluster: Cluster, lives: Sequence[Life]) -> Iterator[Violation]:
    """The log's clock runs forward, and is the same for everybody at the same position."""
    for fold in cluster.around.folds.folded:
        if fold.clock_ms < fold.clock_before_ms:
            yield Violation(
                "clock", f"{fold.node} at {fold.position}: back to {fold.clock_ms} from"
                f" {fold.clock_before_ms}"
            )  # fmt: skip
            return
        wanted = {
            one.clocks[fold.position]
            for one in _states_of(lives, fold)
            if fold.position in one.clocks
        }
        if wanted and fold.clock_ms not in wanted:
            yield Violation(
                "clock", f"{fold.node} at {fold.position}: {fold.clock_ms} instead of {wanted}"
            )
            return


def _states_of(lives: Sequence[Life], fold: Fold) -> list[Segment]:
    """Those that a replica may have folded there; it may not have heard that logs were removed."""
    return [one for life in lives for one in life.reference.states_of(fold)]


def folding(cluster: Cluster, lives: Sequence[Life]) -> Iterator[Violation]:
    """Every replica's fold of any slice, published or not, is the reference's."""
    shown = 0
    for fold in cluster.around.folds.folded:
        segments = _states_of(lives, fold)
        wanted = [one.rows_between(fold.before, fold.position) for one in segments]
        if wanted and list(fold.rows) not in wanted and shown < SHOWN:
            shown += 1
            yield Violation("fold", f"{fold.node}, {fold.before} to {fold.position}, differs")


def revisions(cluster: Cluster, lives: Sequence[Life]) -> Iterator[Violation]:
    """A counting revision and the log behind it give what never having stopped gives."""
    counting = [
        taken
        for taken in cluster.around.store.archive.taken.values()
        if taken.counts_since_ms is not None
    ]
    step = max(1, len(counting) // REPLAYED_REVISIONS)
    for taken in [*counting[::step], *counting[-1:]]:
        whats = [what for life in lives for what in _replayed(cluster, life, taken)]
        for what in whats:
            yield Violation("revision", f"{taken.revision.id}: {what}")


def _replayed(cluster: Cluster, life: Life, taken: Taken) -> Iterator[str]:
    contents = unseal(taken.state)
    position = taken.revision.position
    segment = life.reference.state_of(taken.revision)
    if segment is None:
        return  # of one that never began, or had ended there
    end = len(life.input.history)
    segment.fold(life.input, end)
    last = _published_by(life, taken.saved_ms)
    held = {row.id for row in contents.rows}
    for row in life.reference.rows:
        if row.id.position <= position and (last is None or row.id > last) and row.id not in held:
            yield f"{_shown(row.id)} was not published and is not held back in it"
            return
    executor = Folds(kind=cluster.around.folds.kind).executor("checker", contents.text)
    executor.restore(contents.snapshot)
    sends = SendMemory.restored(contents.sends, default_limit=0)
    sieved = sieve(life.input.encoded(position, end), planned(contents.text).schemas, sends)
    entries, _ = without(sieved.entries, contents.left_out)
    rows = list(executor.run_encoded(entries).rows) if entries else []
    if rows != segment.rows_between(position, end):
        yield f"replayed to {end} it gives other rows"
    elif entries and executor.snapshot() != segment.snapshots[end]:
        yield f"replayed to {end} it gives another state"


def _published_by(life: Life, at_ms: int) -> OutputId | None:
    found = [record.rows[-1].id for when_ms, _, record in published(life)
             if when_ms <= at_ms and isinstance(record, OutputRecord) and record.rows]  # fmt: skip
    return found[-1] if found else None


def acknowledged(cluster: Cluster, lives: Sequence[Life]) -> Iterator[Violation]:
    """What a client was told to be accepted counts once in the log; what not, at most once.
    No record is stored twice."""
    counts = [_events_in(life) for life in lives]
    for client in cluster.clients:
        for message in client.sent:
            for number in message.numbers:
                found = [count[number] for count in counts]
                # A client that tries again does not know that the logs are others meanwhile.
                if max(found) > 1 or (sum(found) == 0 and message.accepted):
                    yield Violation("input", f"event {number} of {client.name} {found} times")
                    return
    for life in lives:
        ids = Counter(one.dedup_id for one in life.input.history if one.dedup_id is not None)
        if twice := [one for one, count in ids.items() if count > 1]:
            yield Violation("input", f"the log took {twice[:SHOWN]} more than once")


def _events_in(life: Life) -> Counter[int]:
    counts: Counter[int] = Counter()
    for entry in map(CountedOnce().of, life.input.encoded()):
        record = decode_input(entry.payload)
        if isinstance(record, EventsRecord):
            counts.update(event.data[0] for chunk in record.chunks for event in chunk)
    return counts


def writes(cluster: Cluster, lives: Sequence[Life]) -> Iterator[Violation]:
    """Each on-demand write is applied once, where its first record stands, however often it was
    asked for; what was told is true.
    """
    if len(lives) > 1:
        return  # asked for again it is applied again: the state has gone with the logs
    asked: dict[str, list[Position]] = {}
    for entry in lives[-1].input.encoded():
        record = decode_input(entry.payload)
        if isinstance(record, WriteRecord):
            asked.setdefault(record.request_id, []).append(entry.position)
    # A state that the app was taken back to knows nothing of what was asked for since.
    begins = [one.begin for one in lives[-1].reference.segments]
    for request_id, told in cluster.people.written.items():
        places = asked.get(request_id, [])
        first = {min((one for one in places if one > begin), default=0) for begin in begins}
        if told not in first:
            yield Violation(
                "write", f"{request_id} is told to be applied at {told}; it stands at {places}"
            )
    applied = [row.data[1] for row in published_rows(lives[-1])
               if row.stream == "Totals" and row.data[0] == WRITTEN]  # fmt: skip
    restored = any(
        one.origin.restoration for one in cluster.around.store.archive.deployments.values()
    )
    states = lives[-1].reference.segments
    afresh = len({one.generation and one.generation.life.deployed_ms for one in states}) > 1
    if not (restored or afresh) and applied != list(range(1, len(asked) + 1)):
        yield Violation("write", f"{len(asked)} writes; the table says {applied}")


def database(cluster: Cluster, lives: Sequence[Life]) -> Iterator[Violation]:
    """The tables hold what the output log says, in its order."""
    there, wanted = Counter(_rows_of(cluster, "rows")), Counter(_out_rows(lives[-1:]))
    in_order = len(lives) > 1 or _rows_of(cluster, "rows") == _out_rows(lives)
    # Of logs that were removed some rows may not have been delivered yet.
    earlier = Counter(_out_rows(lives[:-1]))
    if wanted - there or there - wanted - earlier or not in_order:
        count, all_count = there.total(), (wanted + earlier).total()
        yield Violation("database", f"rows: {count} instead of {all_count}, or in another order")
    totals: dict[Any, tuple[Any, ...]] = {}
    for row in lives[-1].reference.rows:
        if row.stream == "Totals":
            assert row.operation is Operation.UPSERT
            totals[row.data[0]] = row.data
    found = {row[0]: row for row in _rows_of(cluster, "totals")}
    left = {key: row for key, row in found.items() if len(lives) == 1 or key in totals}
    if left != totals:
        yield Violation("database", "totals differ")


def _out_rows(lives: Sequence[Life]) -> list[tuple[Any, ...]]:
    return [row.data for life in lives for row in life.reference.rows if row.stream == "Out"]


def presenter(cluster: Cluster, reference: Reference) -> Iterator[Violation]:
    """The presenter shows the newest row."""
    node = cluster.nodes.get("presenter-1")
    wanted = [row.id for row in reference.rows if row.stream == "Out"]
    if node is None or not node.lives:
        return
    parts: Any = node.parts
    models = parts._feed.models(cluster.app)
    shown = None if models is None else models.streams["Out"].last_id
    if wanted and shown != wanted[-1]:
        yield Violation("presenter", f"shows {shown} as the newest row instead of {wanted[-1]}")


def published_of(cluster: Cluster) -> list[int]:
    """How many records each output log ever took."""
    return [len(life.output.history) for life in cluster.lives]


def gone(cluster: Cluster, *, is_silent: bool, purged: bool) -> Iterator[Violation]:
    """Of an undeployed app nothing is left that does anything; of a purged one, nothing."""
    if not is_silent:
        yield Violation("undeployed", "something is published though it is undeployed")
    for name, node in cluster.nodes.items():
        parts: Any = node.parts
        if name.startswith("processor") and parts._statuses():
            yield Violation("undeployed", f"{name} carries it still")
    store = cluster.around.store.shelf
    logs = cluster.around.carrier.names_of(cluster.app)
    kept = [*store.revisions, *store.cursors, *logs]
    if purged and kept:
        yield Violation("undeployed", f"{kept} outlive a purge")


def left_over(cluster: Cluster) -> Iterator[Violation]:
    """What bears an earlier time than the logs of the app that is deployed has gone, and does not
    come back."""
    store, since = cluster.around.store.shelf, cluster.logs[-1].since_ms
    names = [*(r.group for r, _ in store.revisions.values()), *store.cursors]
    kept = [name for name in names if since_in(name) < since]
    kept += [
        str(log) for log in cluster.around.carrier.names_of(cluster.app) if log.since_ms < since
    ]
    if kept:
        yield Violation("purge", f"{kept} are left of what was purged")


def may_trim(cluster: Cluster, subject: str, up_to: Position) -> str | None:
    """None, or who still needs what is to go."""
    shelf = cluster.around.store.shelf
    deployed = shelf.deployments.get(cluster.app)
    if deployed is None:
        return None
    log = log_of(deployed)
    if subject == input_subject(log):
        revisions = [r for r, _ in shelf.revisions.values()]
        kept = [r for r in revisions if r.verified and r.group == log.key[1]]
        oldest = min((r.position for r in kept if not is_surplus(r, kept)), default=0)
        if up_to > oldest:
            return f"the input log is cut at {up_to}; the oldest counting revision is at {oldest}"
    elif subject == output_subject(log):
        for sink, (_, delivered) in cluster.around.database.cursors.items():
            if since_in(sink) != log.since_ms:
                continue  # it has read logs that were removed
            stream = sink.rpartition("/")[2].partition(".")[0]
            if _rows_gone(cluster, stream, delivered, up_to):
                return f"the output log is cut at {up_to}; sink {sink} stands at {delivered}"
    return None


def is_surplus(one: Revision, kept: Sequence[Revision]) -> bool:
    """Stored late, by who had stood still: there are as many later ones of its state as are to be
    kept, and with the next one it goes."""
    newer = [r for r in kept if r.life == one.life and r.position > one.position]
    return len(newer) >= base_settings().processor.revisions_to_keep


def _rows_gone(cluster: Cluster, stream: str, after: int, up_to: int) -> bool:
    """Whether the output log has rows of a stream there."""
    return any(
        row.stream == stream
        for one in cluster.output.history
        if after < one.stored.position <= up_to and isinstance(record := one.output, OutputRecord)
        for row in record.rows
    )


def _rows_of(cluster: Cluster, table: str) -> list[tuple[Any, ...]]:
    found = cluster.around.database.tables.get(table)
    return [] if found is None else found.rows


def _replicas_stand_at_the_end(cluster: Cluster) -> bool:
    for name in cluster.around.store.shelf.placements.get(cluster.app, ()):
        node = cluster.nodes.get(name)
        if node is None or not node.lives:
            return False
        parts: Any = node.parts
        positions = [status.position for status in parts._statuses()]
        if positions != [cluster.input.last]:
            return False
    return True


def _shown(output_id: OutputId) -> str:
    return f"{output_id.position}.{output_id.ordinal}"


__all__ = ["Violation", "check_all", "gone", "is_settled", "may_trim", "published_of"]
