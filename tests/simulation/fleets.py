"""The checkers of fleets: all units together do what one node does, and each is an app of its own.

A row stands at the position of the input log that it came of, in the log of the unit whose key it
bears, and of the layout that the position belongs to.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final
from weakref import WeakKeyDictionary

import msgspec

from lockstep.bus import LogName, input_subject, output_subject
from lockstep.bus.letters import decode_letter
from lockstep.bus.subjects import DEAD_ALL, log_name
from lockstep.control import group_and_layout, log_of, unit_key
from lockstep.control.endings import end_key
from lockstep.control.merged import MergedOutputs
from lockstep.control.units import group_in, place_of, places_of
from lockstep.events import OutputRecord, OutputRow, Position, TickRecord
from lockstep.execute.contract import EventFault
from lockstep.execute.undoing import without
from lockstep.plan.fleet import FleetPlan, fleet_of
from lockstep.store import Deployment
from lockstep_services.publisher.fleet_log import FLEET_CURSORS
from tests.counted_once import CountedOnce
from tests.fleets import owner
from tests.simulation import checkers
from tests.simulation.carrier import RecordedLog
from tests.simulation.checkers import SHOWN, Violation
from tests.simulation.cluster import Cluster
from tests.simulation.executor import Folds, SimExecutor, planned

FOREVER: Final = 1 << 62
SINKS: Final = {"whole": "Whole", "places": "Places"}
"""Tables of the database, and the streams whose rows they hold."""


@functools.cache
def cut_of(text: str, parallel: int) -> FleetPlan:
    """How a text is cut."""
    return fleet_of(planned(text), parallel or None)


@dataclass(frozen=True)
class UnitLog:
    """The output log of a unit, with everything that it ever took."""

    name: LogName
    output: RecordedLog

    @property
    def place(self) -> tuple[str, int, int]:
        """(group, partition, layout)."""
        group, layout = group_and_layout(self.name.group)
        return group, self.name.partition, layout


@dataclass(frozen=True)
class Layout:
    """A layout folds the positions behind `begin`, up to `end`."""

    deployment: Deployment
    begin: Position
    end: Position

    @property
    def fleet(self) -> FleetPlan:
        """Its groups."""
        return cut_of(self.deployment.text, self.deployment.parallel)

    @property
    def meaning(self) -> str:
        """What the text says, however it is laid out."""
        return self.deployment.text.strip()


@dataclass(frozen=True)
class Placed:
    """A row, and in whose log it stands."""

    row: OutputRow
    log: UnitLog


def unit_logs(cluster: Cluster) -> list[UnitLog]:
    """All that there are, and those that were removed when another layout went on. What somebody
    made anew who did not know of that is not among them: nobody reads it."""
    carrier = cluster.around.carrier
    gone = map(log_name, carrier.removed)
    names = {one for one in (*carrier.names_of(cluster.app), *gone)
             if one.app == cluster.app and group_and_layout(one.group)[1]}  # fmt: skip
    return [
        UnitLog(one, log)
        for one in sorted(names)
        for log in carrier.all_of(output_subject(one))[:1]
    ]


def layouts(cluster: Cluster) -> dict[int, Layout]:
    """Those that the input log tells of, and the first one, by number."""
    begins: dict[int, Position] = {}
    for entry in cluster.input.encoded():
        record = entry.record()
        if isinstance(record, TickRecord) and record.layout:
            begins.setdefault(record.layout, entry.position)
    deployments: dict[int, Deployment] = {}
    for one in cluster.around.store.archive.deployments.values():
        deployments.setdefault(one.layout, one)
    found: dict[int, Layout] = {}
    for number, deployment in sorted(deployments.items()):
        begin = begins.get(number, 0 if number == min(deployments) else FOREVER)
        later = [at for other, at in begins.items() if other > number]
        found[number] = Layout(deployment, begin, min(later, default=FOREVER))
    return found


def is_settled(cluster: Cluster) -> bool:
    """Everything that was sent is folded by all units of the present layout; no other is there."""
    if cluster.around.carrier.log("ingress.>").entries:
        return False
    wanted = cluster.around.store.shelf.deployments.get(cluster.app)
    if wanted is None or not wanted.layout:
        return False
    places = places_of(cut_of(wanted.text, wanted.parallel))
    names = [replace(log_of(wanted), group=group_in(wanted.layout, g), partition=p)
             for g, p in places]  # fmt: skip
    keys = {unit_key(one) for one in names}
    placements = {
        key: nodes for key, nodes in cluster.around.store.shelf.placements.items()
        if place_of(key).app == cluster.app and nodes
    }  # fmt: skip
    if set(placements) != keys or not _carried_to_the_end(cluster, placements):
        return False
    logs = unit_logs(cluster)
    found = (
        same_as_one(cluster), put_aside(cluster), database(cluster, logs),
        presenter(cluster, logs),
    )  # fmt: skip
    return not [*itertools.chain(*found), *checkers.left_over(cluster)]


def _carried_to_the_end(cluster: Cluster, placements: dict[str, Any]) -> bool:
    is_warm, last = cluster.scenario.app.is_warm, cluster.input.last
    for name, node in cluster.nodes.items():
        if not name.startswith("processor"):
            continue
        if not node.lives:
            return False
        parts: Any = node.parts
        found = {
            unit_key(LogName(one.app, one.group, one.partition)): one for one in parts._statuses()
        }
        if set(found) != {key for key, nodes in placements.items() if name in nodes}:
            return False
        for one in found.values():
            if one.position != last and not (is_warm and one.role != "active"):
                return False
    return True


def check_all(cluster: Cluster) -> list[Violation]:
    """Every violation; the first few of each kind."""
    logs = unit_logs(cluster)
    found = [
        *(_of(log, one) for log in logs for one in _of_a_log(log)),
        *places(cluster, logs),
        *same_as_one(cluster),
        *database(cluster, logs),
        *presenter(cluster, logs),
        *put_aside(cluster),
        *checkers.robbed(cluster),
        *checkers.acknowledged(cluster, cluster.lives),
        *checkers.left_over(cluster),
        *(Violation("trim", fault) for fault in cluster.around.carrier.trim_faults[:SHOWN]),
        *(Violation("surprise", str(one)) for one in cluster.story.surprises[:SHOWN]),
    ]
    if not is_settled(cluster):
        found.append(Violation("liveness", "the units do not come to rest"))
    return found


def _of_a_log(log: UnitLog) -> Iterator[Violation]:
    yield from checkers.identities(log)
    yield from checkers.epochs(log)
    yield from checkers.generations(log)


def _of(log: UnitLog, one: Violation) -> Violation:
    group, partition, layout = log.place
    return Violation(one.invariant, f"{group}/{partition} of layout {layout}: {one.what}")


def places(cluster: Cluster, logs: list[UnitLog]) -> Iterator[Violation]:
    """A row stands in a log of the layout whose position it is of, and of the unit whose key."""
    found = layouts(cluster)
    keys = dict(cluster.scenario.app.keys)
    for log in logs:
        group, partition, number = log.place
        layout = found[number]
        count = layout.fleet.group(group).partitions
        shown: set[str] = set()
        for row in checkers.published_rows(log):
            at = row.id.position
            if not layout.begin < at <= layout.end and "layout" not in shown:
                shown.add("layout")
                yield _of(log, Violation(
                    "layout", f"{row} is not behind {layout.begin} and up to {layout.end}"
                ))  # fmt: skip
            key = row.data[keys[row.stream]] if row.stream in keys else None
            if key is not None and owner(key, count) != partition and "place" not in shown:
                shown.add("place")
                yield _of(log, Violation("place", f"{row} is of {owner(key, count)}'s key group"))


def same_as_one(cluster: Cluster) -> Iterator[Violation]:
    """All units together publish what one node makes of the input log, up to where another text
    begins: the rows of each position and, of each key, their order. Of a stream between groups, as
    far as the present cut has such groups."""
    there_are = sorted(layouts(cluster).values(), key=lambda one: one.begin)
    meaning = there_are[0].meaning
    end = min([one.begin for one in there_are if one.meaning != meaning], default=FOREVER)
    keys = dict(cluster.scenario.app.keys)
    wanted: dict[tuple[str, Any], list[OutputRow]] = defaultdict(list)
    for row in _single(cluster, there_are[0].deployment.text).rows:
        layout = next(one for one in there_are if one.begin < row.id.position <= one.end)
        if row.id.position <= end and _is_out(layout.fleet, row.stream):
            wanted[row.stream, _key(row, keys)].append(row)
    found: dict[tuple[str, Any], list[OutputRow]] = defaultdict(list)
    for log in unit_logs(cluster):
        for row in checkers.published_rows(log):
            if row.id.position <= end:
                found[row.stream, _key(row, keys)].append(row)
    for which in sorted({*wanted, *found}, key=str):
        rows = sorted(found[which], key=lambda row: row.id)
        yield from _compared(which, list(map(_told, rows)), list(map(_told, wanted[which])))


def put_aside(cluster: Cluster) -> Iterator[Violation]:
    """Each event that workers die of is a dead letter of whoever folds it, and nothing else is."""
    stored = cluster.around.carrier.recorded(DEAD_ALL).history
    letters = [decode_letter(one.stored.payload) for one in stored]
    found = {
        (one.position, event["n"]) for one in letters for event in msgspec.json.decode(one.payload)
    }
    there_are = layouts(cluster)
    faults = _single(cluster, there_are[min(there_are)].deployment.text).faults
    wanted = {(one.position, event.data[0]) for one in faults for event in one.events}
    if found != wanted:
        what = f"{found - wanted} were put aside, and {wanted - found} were not"
        yield Violation("missing", f"events as dead letters: {what}")


def database(cluster: Cluster, logs: list[UnitLog]) -> Iterator[Violation]:
    """The tables hold what all units have published, of each key in its order."""
    keys = dict(cluster.scenario.app.keys)
    for table, stream in SINKS.items():
        wanted: dict[Any, list[Any]] = defaultdict(list)
        for row in _rows_of(logs, stream):
            wanted[_key(row, keys)].append(row.data)
        found: dict[Any, list[Any]] = defaultdict(list)
        there = cluster.around.database.tables.get(table)
        for data in [] if there is None else there.rows:
            found[data[keys[stream]] if stream in keys else None].append(data)
        for key in sorted({*wanted, *found}, key=str):
            if found[key] != wanted[key]:
                counts = f"{len(found[key])} rows instead of {len(wanted[key])}"
                yield Violation("database", f"{table}, {key}: {counts}, or in another order")


def presenter(cluster: Cluster, logs: list[UnitLog]) -> Iterator[Violation]:
    """The presenter shows the newest row of each stream, but for rows that it had not read when
    others of their time were forgotten: it goes on behind those."""
    node = cluster.nodes.get("presenter-1")
    if node is None or not node.lives:
        return
    parts: Any = node.parts
    models = parts._feed.models(cluster.app)
    begun = 0 if models is None else _begun(models.end, logs)
    for stream in SINKS.values():
        last = None if models is None else models.streams[stream].last_id
        shown = None if last is None else last.position
        rows = [row.id.position for row in _rows_of(logs, stream)]
        wanted = [each for each in rows if each > begun or each <= (shown or 0)][-1:]
        if wanted and [shown] != wanted:
            yield Violation("presenter", f"shows {stream} of {shown} as the newest, not {wanted}")


def _begun(end: Any, logs: list[UnitLog]) -> Position:
    """Behind which position the reading began that `end` belongs to, where rows are forgotten."""
    reading = getattr(end, "__self__", None)
    if not isinstance(reading, MergedOutputs) or reading._stage is None:
        return 0
    return reading._stage.start if any(one.output.first_kept > 1 for one in logs) else 0


def _rows_of(logs: list[UnitLog], stream: str) -> list[OutputRow]:
    """Of all units, by position."""
    rows = [row for log in logs for row in checkers.published_rows(log) if row.stream == stream]
    return sorted(rows, key=lambda row: row.id)


def _compared(which: tuple[str, Any], found: list[Any], wanted: list[Any]) -> Iterator[Violation]:
    if found == wanted:
        return
    there, due = Counter(found), Counter(wanted)
    for one in list((due - there).elements())[:1]:
        yield Violation("missing", f"{which}: {one}")
    for one in list((there - due).elements())[:1]:
        yield Violation("other", f"{which}: {one}")
    if there == due:
        at = next(i for i, pair in enumerate(zip(found, wanted, strict=True)) if len({*pair}) > 1)
        yield Violation("order", f"{which}: {found[at]} instead of {wanted[at]}")


def _told(row: OutputRow) -> tuple[Any, ...]:
    """All but where among the rows of its position, which unit's numbering is."""
    return row.id.position, row.timestamp_ms, row.data, row.operation


def _key(row: OutputRow, keys: dict[str, int]) -> Any:
    return row.data[keys[row.stream]] if row.stream in keys else None


def _is_out(fleet: FleetPlan, stream: str) -> bool:
    return stream in fleet.app.exported or any(stream in one.channels for one in fleet.groups)


@dataclass
class _OneNode:
    """What one node has made of the input log, without what workers die of."""

    executor: SimExecutor
    once: CountedOnce = field(default_factory=CountedOnce)
    rows: list[OutputRow] = field(default_factory=list)
    faults: list[EventFault] = field(default_factory=list)


_ONE_NODE: Final[WeakKeyDictionary[Cluster, _OneNode]] = WeakKeyDictionary()


def _single(cluster: Cluster, text: str) -> _OneNode:
    """What one node makes of everything that the input log ever took: streams between groups too.

    It goes on where it stood when it was asked last.
    """
    whole = text.replace("define stream Sums", "@channel define stream Sums")
    one = _ONE_NODE.setdefault(cluster, _OneNode(SimExecutor(Folds(), "reference", whole)))
    for entry in cluster.input.encoded(one.executor.position):
        entries, faults = without([one.once.of(entry)], cluster.around.folds.heavy)
        one.rows += one.executor.run_encoded(entries).rows
        one.faults += faults
    return one


def published_of(cluster: Cluster) -> list[int]:
    """How many records each output log ever took."""
    return [len(log.output.history) for log in unit_logs(cluster)]


def may_trim(cluster: Cluster, subject: str, up_to: Position) -> str | None:
    """None, or who still needs what is to go of the input log or of a unit's output log."""
    deployed = cluster.around.store.shelf.deployments.get(cluster.app)
    if deployed is None or not deployed.layout:
        return None
    needs = _needs(cluster, deployed)
    if subject == input_subject(log_of(deployed)):
        wanted = [(name, at) for name, (at, _) in needs.items() if up_to > at]
    else:
        log = next((one for one in unit_logs(cluster) if output_subject(one.name) == subject), None)
        if log is None:
            return None
        up_to = _last_position(log, up_to)
        wanted = [(name, at) for name, (at, reads) in needs.items()
                  if up_to > at and log.name in reads]  # fmt: skip
        wanted += _sinks_behind(cluster, log, up_to)
    return f"{subject} is cut at position {up_to}; needed from: {wanted}" if wanted else None


def _needs(
    cluster: Cluster, deployed: Deployment
) -> dict[LogName, tuple[Position, tuple[LogName, ...]]]:
    """Behind which position a unit that begins again folds, and whose rows: of the present layout
    and, while one of its units has no counting revision, of the former one."""
    found: dict[LogName, tuple[Position, tuple[LogName, ...]]] = {}
    wanted = [(deployed.layout, deployed.text, deployed.parallel)]
    for layout, text, parallel in wanted:
        fleet = cut_of(text, parallel)
        names = {
            place: replace(log_of(deployed), group=group_in(layout, place[0]), partition=place[1])
            for place in places_of(fleet)
        }
        for (group, _), name in names.items():
            writers = {one for feed in fleet.group(group).feeds for one in feed.writers}
            reads = tuple(other for place, other in names.items() if place[0] in writers)
            needed = _needed(cluster, name)
            former = deployed.former
            if needed is not None or former is None or layout != deployed.layout:
                found[name] = (needed or 0, reads)
            elif len(wanted) == 1:
                wanted.append((former.layout, former.text, former.parallel))
    return found


def _last_position(log: UnitLog, sequence: int) -> Position:
    """Of the rows up to there."""
    records = [one.output for one in log.output.history if one.stored.position <= sequence]
    rows = [row for one in records if isinstance(one, OutputRecord) for row in one.rows]
    return rows[-1].id.position if rows else 0


def _sinks_behind(cluster: Cluster, log: UnitLog, up_to: Position) -> list[tuple[Any, Position]]:
    """Sinks that have not delivered what is there of their streams up to a position."""
    found: list[tuple[Any, Position]] = []
    rows = [row for row in checkers.published_rows(log) if row.id.position <= up_to]
    for sink, (_, cursor) in cluster.around.database.cursors.items():
        stream, at = sink.rpartition("/")[2].partition(".")[0], cursor - FLEET_CURSORS
        if any(row.stream == stream and row.id.position > at for row in rows):
            found.append((sink, at))
    return found


def _needed(cluster: Cluster, name: LogName) -> Position | None:
    """Behind which position a unit that begins again folds; None without a counting revision."""
    revisions = [r for r, _ in cluster.around.store.shelf.revisions.values() if r.verified]
    place = name.key[1:]
    ended = [r.position for r in revisions if (r.group, r.partition) == end_key(name)[1:]]
    kept = [r for r in revisions if (r.group, r.partition) == place]
    counting = [r.position for r in kept if not checkers.is_surplus(r, kept)]
    return max(ended, default=None) or min(counting, default=None)
