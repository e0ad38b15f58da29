"""What comes is read ahead while a slice is folded: when it comes it is not read again, and when
something else comes nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.events.codec import EncodedEntry
from lockstep.execute.encoding import encoded
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.execute.spark import blocks, wire
from lockstep.plan import plan_of
from tests.integration.spark.apps import COLUMNAR, KEYED, UNFIT, log, unfit_log
from tests.integration.spark.conftest import Make
from tests.property.test_reading_ahead import plain

SLICE = 6


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[wire.Request]:
    """The requests of slices that workers get; blocks of any size are in shared memory."""
    found: list[wire.Request] = []
    encode = wire.encode

    def noted(message: Any, **options: Any) -> bytes:
        if isinstance(message, wire.Request) and message.operation == "slice":
            found.append(message)
        return encode(message, **options)

    monkeypatch.setattr(blocks, "INLINE_MAX_BYTES", 0)
    monkeypatch.setattr(wire, "encode", noted)
    return found


def slices_of(text: str, count: int = 36) -> list[list[EncodedEntry]]:
    """Of plain records: each seventh, which is a tick, is left out."""
    entries = encoded([plain(each) for each in log(count)], plan_of(text).checked.streams)
    events = [entry for entry in entries if entry.position % 7]
    return [events[at : at + SLICE] for at in range(0, len(events), SLICE)]


def rows_of(executor: Any, slices: list[list[EncodedEntry]]) -> list[object]:
    """Of slices that nobody announces."""
    return [row for each in slices for row in executor.run_encoded(each).rows]


@pytest.mark.parametrize("shards", [1, 2])
def test_what_comes_as_expected_is_not_read_again(
    make: Make, sent: list[wire.Request], shards: int
) -> None:
    """The worker gets it read, in memory that is used again."""
    slices = slices_of(KEYED)
    expected = rows_of(ReferenceExecutor(plan_of(KEYED)), slices)
    executor = make(KEYED, shards=shards)
    rows: list[object] = []
    for each, following in zip(slices, [*slices[1:], []], strict=True):
        executor.expect(following)
        rows += executor.run_encoded(each).rows
    assert rows == expected
    assert len(sent) == shards * len(slices)
    assert [each.together for each in sent[shards:]] == [["S"]] * (len(sent) - shards)
    assert len({each.block.path for each in sent}) <= blocks.MEMORIES_MAX * shards


def test_what_comes_instead_is_folded(make: Make, sent: list[wire.Request]) -> None:
    """Fewer records, others, and a question in between."""
    slices = slices_of(COLUMNAR)
    expected = rows_of(ReferenceExecutor(plan_of(COLUMNAR)), slices)
    executor = make(COLUMNAR)
    rows: list[object] = []
    for n, each in enumerate(slices):
        executor.expect((slices[n + 1 :] or [[]])[0][1 : 1 + n % 3])
        rows += executor.run_encoded(each).rows
        if n == 2:
            assert executor.on_demand("from T select s, t;")
    assert rows == expected
    assert not any(each.together for each in sent)


def test_on_the_reference_it_is_sent_as_it_is(make: Make, sent: list[wire.Request]) -> None:
    """Nobody there takes columns."""
    slices = slices_of(COLUMNAR)
    executor = make(COLUMNAR, columnar=False)
    rows: list[object] = []
    for each, following in zip(slices, [*slices[1:], []], strict=True):
        executor.expect(following)
        rows += executor.run_encoded(each).rows
    assert rows == rows_of(ReferenceExecutor(plan_of(COLUMNAR)), slices)
    assert not any(each.together for each in sent)


def test_values_without_a_columnar_form_go_to_the_reference(
    make: Make, sent: list[wire.Request]
) -> None:
    """That slice was read ahead, and is folded again as it came."""
    entries = encoded([plain(each) for each in unfit_log()], plan_of(UNFIT).checked.streams)
    slices = [entries[:3], entries[3:6], entries[6:]]
    executor = make(UNFIT)
    rows: list[object] = []
    for each, following in zip(slices, [*slices[1:], []], strict=True):
        executor.expect(following)
        rows += executor.run_encoded(each).rows
    assert rows == rows_of(ReferenceExecutor(plan_of(UNFIT)), slices)
    assert [each.together for each in sent][:2] == [None, ["S"]]
    assert executor.rebuilds
