"""The judge can see: each thing that must not be is put into a run that was well, and found."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from lockstep.events import (
    ClaimRecord,
    EventsRecord,
    Generation,
    InputEvent,
    Life,
    OutputLogRecord,
    OutputRecord,
    OutputRow,
    TickRecord,
)
from lockstep.events.codec import EncodedEntry, encode_record, send_id_of
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.execute.succession import succeed
from lockstep.plan import plan_of
from tests.chaos.app import NEXT, STREAM, TABLE_QUERY, TEXT
from tests.chaos.archive import Archive, write_frame
from tests.chaos.judge import Verdict, judge, sends_once
from tests.chaos.story import quantile

EVENTS = 400
PER_RECORD = 20
CLAIM = ClaimRecord(1, "a", 0)
Outputs = list[OutputLogRecord]


def _record(number: int) -> bytes:
    first = number * PER_RECORD
    events = tuple(
        (InputEvent(1_000 + seq, (seq, f"S{seq % 3}", float(seq % 100), seq)),)
        for seq in range(first, first + PER_RECORD)
    )
    record = EventsRecord(STREAM, 1_000 + first, events)
    return encode_record(record, send_id=send_id_of(f"chaos-{number}"))


class Run:
    """A run that went well, to be spoilt."""

    def __init__(self, directory: Path) -> None:
        self.archive = Archive(directory)
        self.inputs = [_record(number) for number in range(EVENTS // PER_RECORD)]
        self.inputs.append(encode_record(TickRecord(5_000)))
        self.acknowledged = [(first, PER_RECORD) for first in range(0, EVENTS, PER_RECORD)]
        executor = ReferenceExecutor(plan_of(TEXT))
        entries = [EncodedEntry(i + 1, payload) for i, payload in enumerate(self.inputs)]
        self.rows: list[OutputRow] = list(executor.run_encoded(entries).rows)
        self.table: list[tuple[Any, ...]] = executor.on_demand(TABLE_QUERY)
        self.outputs: Outputs = [CLAIM, *(OutputRecord(1, (row,)) for row in self.rows)]
        executor.close()

    def judged(self) -> Verdict:
        """What the judge says to it as it is now."""
        for name, payloads in (
            ("input", self.inputs),
            ("output", [encode_record(record) for record in self.outputs]),
        ):
            with (self.archive.directory / name).open("wb") as file:
                for number, payload in enumerate(payloads):
                    write_frame(file, number + 1, payload)
        return judge(self.archive, self.acknowledged, len(self.inputs), self.table)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """As it should be."""
    return Run(tmp_path)


def test_a_good_run_is_good(run: Run) -> None:
    """All events, all outputs, no complaint."""
    verdict = run.judged()
    assert verdict.ok
    assert not verdict.complaints
    assert verdict.sent == verdict.inputs == EVENTS
    assert verdict.outputs == len(run.rows) > EVENTS // 10


def test_an_acknowledged_event_that_is_not_in_the_log(run: Run) -> None:
    """Lost, and with it what it would have brought."""
    run.acknowledged.append((EVENTS, 1))
    assert run.judged().lost == 1


def test_an_event_that_was_taken_twice(run: Run) -> None:
    """Under another id nobody can know that it is the same."""
    repeated = run.inputs[3]
    run.inputs.append(repeated.replace(send_id_of("chaos-3"), send_id_of("another")))
    assert run.judged().duplicated == PER_RECORD


def test_a_repeated_send_counts_once(run: Run) -> None:
    """As the processors have it: its second record is a tick."""
    run.inputs.append(run.inputs[3])
    assert run.judged().duplicated == 0


def test_a_send_that_is_repeated_beside_others_counts_once() -> None:
    """Only what is new in its record counts."""
    chunks = tuple((InputEvent(1_000, (seq, "S", 1.0, seq)),) for seq in (1, 2))

    def entry(position: int, *names: str) -> EncodedEntry:
        ids = b"".join(map(send_id_of, names))
        record = EventsRecord(STREAM, 1_000, chunks)
        return EncodedEntry(position, encode_record(record, send_id=ids))

    inputs = [entry(1, "a", "b"), entry(2, "b", "c"), entry(3, "c", "a")]
    archive = cast(Archive, SimpleNamespace(inputs=lambda: iter(inputs)))
    found = [one.record() for one in sends_once(archive)]
    given = [
        [event.data[0] for chunk in one.chunks for event in chunk]
        for one in found
        if isinstance(one, EventsRecord)
    ]
    assert given == [[1, 2], [2]]
    assert isinstance(found[2], TickRecord)


def test_an_output_that_is_missing(run: Run) -> None:
    """In the middle and at the end."""
    del run.outputs[7]
    assert run.judged().lost == 1
    run.outputs.pop()
    assert run.judged().lost == 2


def test_an_output_that_stands_there_twice(run: Run) -> None:
    """Behind itself, or later."""
    run.outputs.insert(8, run.outputs[7])
    run.outputs.append(run.outputs[5])
    assert run.judged().duplicated == 2


def test_an_output_with_another_value(run: Run) -> None:
    """The identity alone does not make it right."""
    row = run.rows[4]
    run.outputs[5] = OutputRecord(1, (replace(row, timestamp_ms=row.timestamp_ms + 1),))
    verdict = run.judged()
    assert (verdict.wrong, verdict.lost, verdict.duplicated) == (1, 0, 0)


def test_rows_of_an_epoch_that_was_over(run: Run) -> None:
    """Somebody claims the log, and the old leader goes on."""
    run.outputs.insert(6, ClaimRecord(2, "b", 0))
    assert run.judged().usurped == len(run.outputs) - 7


def test_a_table_that_differs(run: Run) -> None:
    """A row too few."""
    run.table.pop()
    assert run.judged().wrong == 1


def upgraded(run: Run, behind: int) -> None:
    """The run went over to the next text behind an input position."""
    old, new = ReferenceExecutor(plan_of(TEXT)), ReferenceExecutor(plan_of(NEXT))
    entries = [EncodedEntry(i + 1, payload) for i, payload in enumerate(run.inputs)]
    first = old.run_encoded(entries[:behind]).rows
    new.restore(succeed(old.plan, old.snapshot(), new.plan).snapshot)
    then = new.run_encoded(entries[behind:]).rows
    run.table = new.on_demand(TABLE_QUERY)
    run.outputs = [
        ClaimRecord(1, "a", 0, Generation(Life(1, 1), 0)),
        *(OutputRecord(1, (row,)) for row in first),
        ClaimRecord(1, "a", 0, Generation(Life(1, 2), behind)),
        *(OutputRecord(1, (row,)) for row in then),
    ]


@pytest.mark.parametrize("behind", [0, 7, EVENTS // PER_RECORD])
def test_an_upgrade_is_gone_along_with(run: Run, behind: int) -> None:
    """Every window goes on; at the beginning, in the middle, at the end."""
    upgraded(run, behind)
    verdict = run.judged()
    assert not verdict.complaints
    assert verdict.ok


def test_an_upgrade_at_another_position_than_it_says(run: Run) -> None:
    """Rows that the text of before would not have brought, or would."""
    upgraded(run, 7)
    at = next(i for i, one in enumerate(run.outputs) if i and isinstance(one, ClaimRecord))
    run.outputs[at] = ClaimRecord(1, "a", 0, Generation(Life(1, 2), 12))
    assert not run.judged().ok


def test_quantiles() -> None:
    """The smallest value that enough of them do not exceed."""
    assert quantile([], 0.5) == 0
    assert quantile([5], 0.99) == 5
    assert quantile([4, 1, 3, 2], 0.5) == 2
    assert quantile(list(range(1, 101)), 0.99) == 99
    assert quantile(list(range(1, 51)), 0.99) == 50
