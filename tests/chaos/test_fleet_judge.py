"""The judge of fleets can see: each thing that must not be is put into a run that was well."""

from __future__ import annotations

import itertools
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from lockstep.bus import LogName
from lockstep.control.units import group_in
from lockstep.events import (
    ClaimRecord,
    EventsRecord,
    Generation,
    InputEvent,
    Life,
    OutputId,
    OutputLogRecord,
    OutputRecord,
    OutputRow,
    TickRecord,
)
from lockstep.events.codec import EncodedEntry, encode_record, send_id_of
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.plan import plan_of
from tests.chaos.archive import write_frame
from tests.chaos.fleet_app import CHANNELED, FLEET, KEYS, STREAM, TABLE_QUERY, cut
from tests.chaos.fleet_archive import FleetArchive
from tests.chaos.fleet_judge import judge_fleet
from tests.chaos.judge import Verdict
from tests.fleets import owner

EVENTS = 600
PER_RECORD = 20
TURN = 16
"""Where the second layout begins."""

PARALLEL = {1: 3, 2: 2}
"""Of each layout."""


def _record(number: int) -> bytes:
    first = number * PER_RECORD
    events = tuple(
        (InputEvent(1_000 + 10 * seq, (seq, f"S{seq * 7 % 11}", float(seq * 37 % 100), seq)),)
        for seq in range(first, first + PER_RECORD)
    )
    record = EventsRecord(STREAM, 1_000 + 10 * first, events)
    return encode_record(record, send_id=send_id_of(f"chaos-{number}"))


def name_of(stream: str, key: Any, layout: int) -> LogName:
    """Of the unit whose log a row belongs to."""
    fleet = cut(PARALLEL[layout])
    group = next(
        one for one in fleet.groups if stream in (*one.channels, *one.exported, *one.stored)
    )
    partition = owner(key, group.partitions) if stream in KEYS else 0
    return LogName(FLEET, group_in(layout, group.name), partition)


class Run:
    """A run that went well, to be spoilt: in two layouts."""

    def __init__(self, directory: Path) -> None:
        self.archive = FleetArchive(directory)
        self.inputs = [_record(number) for number in range(EVENTS // PER_RECORD)]
        self.inputs.insert(TURN - 1, encode_record(TickRecord(1_500, 2)))
        self.inputs.append(encode_record(TickRecord(60_000)))
        self.acknowledged = [(first, PER_RECORD) for first in range(0, EVENTS, PER_RECORD)]
        executor = ReferenceExecutor(plan_of(CHANNELED))
        entries = [EncodedEntry(i + 1, payload) for i, payload in enumerate(self.inputs)]
        self.rows: dict[LogName, list[OutputRow]] = defaultdict(list)
        for row in executor.run_encoded(entries).rows:
            layout = 1 if row.id.position <= TURN else 2
            key = row.data[KEYS[row.stream]] if row.stream in KEYS else None
            self._append(name_of(row.stream, key, layout), row)
        self.table: list[tuple[Any, ...]] = executor.on_demand(TABLE_QUERY)
        executor.close()
        self.claims: dict[LogName, int] = {}
        """Behind which row another one claims a log, and its leader goes on."""

    def _append(self, name: LogName, row: OutputRow) -> None:
        before = self.rows[name][-1:]
        again = bool(before) and before[0].id.position == row.id.position
        ordinal = before[0].id.ordinal + 1 if again else 0
        self.rows[name].append(replace(row, id=OutputId(row.id.position, ordinal)))

    def log_with(self, stream: str, layout: int = 1) -> list[OutputRow]:
        """The rows of a unit that writes the stream: as many as any has."""
        logs = [
            rows for name, rows in self.rows.items()
            if name.group.endswith(f"~{layout}") and any(one.stream == stream for one in rows)
        ]  # fmt: skip
        return max(logs, key=len)

    def judged(self) -> Verdict:
        """What the judge says to it as it is now."""
        self._write(self.archive.directory / "input", self.inputs)
        for name, rows in self.rows.items():
            layout = int(name.group.rpartition("~")[2])
            began = Generation(Life(1, layout), 0 if layout == 1 else TURN)
            records: list[OutputLogRecord] = [ClaimRecord(1, "a", 0, began)]
            for number, row in enumerate(rows):
                records.append(OutputRecord(1, (row,)))
                if self.claims.get(name) == number:
                    records.append(ClaimRecord(2, "b", 0, began))
            payloads = [encode_record(one) for one in records]
            self._write(self.archive.unit(name).directory / "output", payloads)
        return judge_fleet(self.archive, self.acknowledged, len(self.inputs), self.table)

    @staticmethod
    def _write(path: Path, payloads: list[bytes]) -> None:
        with path.open("wb") as file:
            for number, payload in enumerate(payloads):
                write_frame(file, number + 1, payload)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """As it should be."""
    return Run(tmp_path)


def test_a_good_run_is_good(run: Run) -> None:
    """Rows of every stream, in the logs of two layouts."""
    verdict = run.judged()
    assert not verdict.complaints
    assert verdict.ok
    assert verdict.sent == verdict.inputs == EVENTS
    assert verdict.outputs == sum(map(len, run.rows.values()))
    streams = {row.stream for rows in run.rows.values() for row in rows}
    assert streams == {"Sums", "Sliding", "Surge", "Buckets", "Whole", "Latest"}
    assert len(run.rows) == (3 + 3 + 1) + (2 + 2 + 1)


def test_an_acknowledged_event_that_is_not_in_the_log(run: Run) -> None:
    """Lost."""
    run.acknowledged.append((EVENTS, 1))
    assert run.judged().lost == 1


@pytest.mark.parametrize("stream", ["Sums", "Buckets", "Whole"])
@pytest.mark.parametrize("layout", [1, 2])
def test_a_row_that_is_missing(run: Run, stream: str, layout: int) -> None:
    """In a channel, behind it, and where nothing is cut."""
    rows = run.log_with(stream, layout)
    del rows[len(rows) // 2]
    verdict = run.judged()
    assert (verdict.lost, verdict.faults) == (1, 1)


def test_a_row_that_stands_twice_in_a_channel(run: Run) -> None:
    """Under the same identity: a leader has appended what was there."""
    rows = run.log_with("Sums")
    rows.insert(8, rows[7])
    verdict = run.judged()
    assert (verdict.duplicated, verdict.faults) == (1, 1)


def test_a_row_under_two_identities(run: Run) -> None:
    """Two leaders have numbered it."""
    rows = run.log_with("Whole")
    last = rows[-1]
    rows.append(replace(last, id=OutputId(last.id.position, last.id.ordinal + 1)))
    verdict = run.judged()
    assert (verdict.duplicated, verdict.faults) == (1, 1)


def test_a_key_group_in_two_places(run: Run) -> None:
    """Another partition folds an event, too."""
    one, other = [r for name, r in run.rows.items() if name.group == "by_symbol~1"][:2]
    stranger = one[-1]
    other.append(replace(stranger, id=OutputId(TURN, 1_000)))
    one.append(replace(stranger, id=OutputId(TURN, 1_000)))
    verdict = run.judged()
    assert verdict.misplaced == 1
    assert not verdict.ok


def test_a_unit_of_a_former_layout_that_goes_on(run: Run) -> None:
    """Behind the record that ends its layout."""
    rows = run.log_with("Whole", layout=1)
    rows.append(run.log_with("Whole", layout=2)[-1])
    verdict = run.judged()
    assert (verdict.misplaced, verdict.duplicated, verdict.faults) == (1, 1, 2)


def _may_change(one: OutputRow, other: OutputRow) -> bool:
    return (one.stream, one.id.position) == (other.stream, other.id.position)


def test_rows_of_a_key_in_another_order(run: Run) -> None:
    """Their identities ascend, and each is there once."""
    rows = run.log_with("Whole")
    at = next(
        i for i, (one, other) in enumerate(itertools.pairwise(rows)) if _may_change(one, other)
    )
    first, second = rows[at], rows[at + 1]
    rows[at : at + 2] = [replace(second, id=first.id), replace(first, id=second.id)]
    verdict = run.judged()
    assert (verdict.wrong, verdict.faults) == (1, 1)
    assert "another order" in verdict.complaints[0]


def test_a_row_with_another_value(run: Run) -> None:
    """Neither what was due, nor due."""
    rows = run.log_with("Buckets")
    rows[4] = replace(rows[4], timestamp_ms=rows[4].timestamp_ms + 1)
    verdict = run.judged()
    assert (verdict.wrong, verdict.lost, verdict.faults) == (1, 1, 2)


def test_rows_of_an_epoch_that_was_over(run: Run) -> None:
    """Somebody claims a unit's log, and its old leader goes on."""
    name = next(name for name in run.rows if name.group == "by_bucket~2")
    run.claims[name] = 5
    assert run.judged().usurped == len(run.rows[name]) - 6


def test_a_table_that_differs(run: Run) -> None:
    """A row too few."""
    run.table.pop()
    assert run.judged().wrong == 1


def test_what_is_not_settled_may_be_missing(run: Run) -> None:
    """And what is there must be right."""
    for name, rows in run.rows.items():
        if name.group.endswith("~2"):
            rows.pop()
    assert run.judged().lost
    early = judge_fleet(run.archive, run.acknowledged, TURN, run.table)
    assert early.ok
