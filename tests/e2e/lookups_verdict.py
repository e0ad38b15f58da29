"""What the trial of look-ups is judged by: what the tables have been, and both executors over the
same log in this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Final

from lockstep.events import OutputRow
from lockstep.events.codec import EncodedEntry
from lockstep.execute.contract import Executor
from lockstep.execute.local import open_local
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.plan import plan_of
from tests.chaos.archive import Archive
from tests.chaos.judge import published, sends_once
from tests.e2e.lookups_asking import Asker, Sent
from tests.e2e.lookups_tables import History, Rows, Version
from tests.e2e.past_verdict import Taken, of_any_log

AT_ONCE: Final = 200
SHOWN: Final = 10


@dataclass(slots=True)
class Verdict:
    """Counts of what is wrong; all are 0 where all is well."""

    differing: int = 0
    never: int = 0
    lost: int = 0
    duplicated: int = 0
    told: list[str] = field(default_factory=list)

    @property
    def is_fine(self) -> bool:
        """Nothing is wrong."""
        return not (self.differing or self.never or self.lost or self.duplicated)

    def tell(self, text: str) -> None:
        """The first few."""
        if len(self.told) < SHOWN:
            self.told.append(text)


def answers_judged(
    archive: Archive, stream: str, asker: Asker, history: History, verdict: Verdict, *, copy: bool
) -> None:
    """Each event has one answer, which the table gave: to a look-up while the event was on its
    way, and in a copy at any time before, but no row ever goes back in time."""
    sends: dict[int, Sent] = {}
    for sent in asker.sent:
        sends |= dict.fromkeys(range(sent.first, sent.first + sent.count), sent)
    seen: set[int] = set()
    reached: dict[int, int] = {}
    for row in published(archive):
        if row.stream != stream:
            continue
        id_, customer, version = row.data
        if id_ in seen or id_ not in sends:
            verdict.duplicated += 1
            verdict.tell(f"{stream}: event {id_} has a second answer, or was never sent")
            continue
        seen.add(id_)
        sent = sends[id_]
        if copy:
            at = history.next_had(customer, version, reached.get(customer, 0), sent.durable_ms)
            reached[customer] = reached.get(customer, 0) if at is None else at
            had = at is not None
        else:
            had = history.had_within(customer, version, sent.began_ms, sent.durable_ms)
        if not had:
            verdict.never += 1
            lives = _near(history, customer, version)
            verdict.tell(f"{stream}: {row} at {sent}; the row's lives are {lives}")
    lost = sends.keys() - seen
    verdict.lost += len(lost)
    if lost:
        verdict.tell(f"{stream}: no answer to {sorted(lost)[:SHOWN]}")


def _near(history: History, customer: int, version: Version) -> list[tuple[Version, int, int]]:
    lives = history.lives(customer)
    at = next((at for at, one in enumerate(lives) if one[0] == version), len(lives))
    return lives[max(0, at - 2) : at + 3]


def replayed(archive: Archive, text: str, taken: Sequence[Taken], verdict: Verdict) -> Executor:
    """Folds the log from its beginning twice, by the reference and in columns. The reference's rows
    have to be the published ones, and both have to come to the states that the replicas have saved,
    each where it stands. Gives the reference."""
    reference, columnar = ReferenceExecutor(plan_of(text)), open_local(plan_of(text))
    by_reference = dict.fromkeys((each.revision.position for each in taken), b"")
    by_columns = dict(by_reference)
    rows = 0
    for want, have in zip_longest(_rows(reference, archive, by_reference), published(archive)):
        rows += 1
        if want != have:
            verdict.differing += 1
            verdict.tell(f"published was {have}, and the reference has {want}")
    for _ in _rows(columnar, archive, by_columns):
        pass
    columnar.close()
    if len({each.revision.epoch for each in taken}) < len(taken):
        verdict.differing += 1
        verdict.tell("one replica has saved both states")
    for each in taken:
        at, saved = each.revision.position, of_any_log(each.contents.snapshot)
        for name, states in (("the reference", by_reference), ("columns", by_columns)):
            if states[at] != saved:
                verdict.differing += 1
                verdict.tell(f"at {at} {name} has not the state that was saved")
        told = f"epoch {each.revision.epoch} at {at}, {len(saved)} bytes"
        print(f"lookups: {rows} rows compared, and the state of {told}", flush=True)
    return reference


def copy_judged(reference: Executor, table: str, rows: Rows, verdict: Verdict) -> None:
    """The copy is what the table is."""
    assert isinstance(reference, ReferenceExecutor)
    copied = {row[0]: row[1] for row in reference.on_demand(f"from {table} select id, version")}
    if copied != rows:
        other = copied.items() ^ rows.items()
        verdict.differing += len(other)
        verdict.tell(f"{table}: {len(other)} rows are not the database's: {sorted(other)[:SHOWN]}")


def _rows(executor: Executor, archive: Archive, states: dict[int, bytes]) -> Iterator[OutputRow]:
    """What it makes of the log; `states` gets those at its positions."""
    held: list[EncodedEntry] = []
    for entry in sends_once(archive):
        held.append(entry)
        if entry.position in states or len(held) == AT_ONCE:
            yield from executor.run_encoded(held).rows
            held = []
        if entry.position in states:
            states[entry.position] = of_any_log(executor.snapshot())
    if held:
        yield from executor.run_encoded(held).rows
