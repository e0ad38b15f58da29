"""Bundles bring what the plain log brings. Columns and shards bring of them what the reference
does, with the same places for the rows of channels."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import event, given, note, settings
from hypothesis import strategies as st

from lockstep.columns.shards import Shard
from lockstep.events.codec import EncodedEntry
from lockstep.events.outputs import RowsOfColumns
from lockstep.execute.columnar import ColumnarExecutor, NotColumnar, Unfit, lowering
from lockstep.execute.columnar.joined_shards import joined_rows
from lockstep.execute.columnar.sharding import NotSharded
from lockstep.execute.contract import SliceResult
from lockstep.execute.observe import Observe
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.plan import AppPlan, plan_of
from tests.property.amount import examples
from tests.property.executors_bundles import (
    arbitrary,
    brought,
    equivalent,
    in_one,
    plain,
    with_channels,
    without_places,
)
from tests.property.executors_exotic import EXOTIC
from tests.property.executors_model import PARTS, Apps, cut, entries
from tests.property.executors_windows import WINDOWED
from tests.property.test_executors import keeping
from tests.property.test_shards import partitioned

pytestmark = pytest.mark.usefixtures("compiled")
START_MS = 1000
KINDS = ((), WINDOWED, (*PARTS, *EXOTIC))


def app_of(random: Random) -> AppPlan:
    """An app of any kind, some of its streams channels."""
    text = with_channels(Apps(random, random.choice(KINDS)).app(), random)
    note(text)
    return plan_of(text)


def fold(
    plan: AppPlan, slices: Sequence[Sequence[EncodedEntry]], *, columnar: bool = False
) -> list[str]:
    """What the slices bring, and what was observed."""
    kind = ColumnarExecutor if columnar else ReferenceExecutor
    executor = kind(plan, start_ms=START_MS, observe=Observe.OUTSIDE_PARTITIONS)
    found = []
    for each in slices:
        found += brought(executor.run_encoded(each), plan)
    return [*found, *map(repr, executor.take_observations())]


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 2**32))
def test_bundles_bring_what_their_records_bring(seed: int) -> None:
    """Rows, identities, places and every chunk, in whatever parts a record's chunks come."""
    random = Random(seed)
    plan = app_of(random)
    log = entries(random, 40, in_event_time=plan.checked.is_playback)
    expected = fold(plan, [plain(log, plan)])
    bundles = equivalent(log, plan, random)
    assert fold(plan, cut(random, bundles)) == expected


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32))
def test_columns_bring_of_bundles_what_the_reference_brings(seed: int) -> None:
    """Whatever the clocks of the bundles, however the log is cut; some queries are kept on the
    reference at random."""
    random = Random(seed)
    plan = app_of(random)
    log = entries(random, 40, in_event_time=plan.checked.is_playback)
    make = random.choice((equivalent, arbitrary, arbitrary))
    made = plain(log, plan) if random.random() < 0.2 else make(log, plan, random)
    expected = fold(plan, [made])
    try:
        with patch.object(lowering, "RULES", keeping(plan, random, random.choice((0.0, 0.3)))):
            found = fold(plan, cut(random, made), columnar=True)
    except (NotColumnar, Unfit) as why:
        event(type(why).__name__)
        return
    event("columnar")
    assert found == expected


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 2**32))
def test_bundles_of_several_records(seed: int) -> None:
    """A live app tells nobody how many positions its deliveries stand at: streams in turn, one
    clock behind the other. Only the numbers of rows differ."""
    random = Random(seed)
    text = with_channels(Apps(random, random.choice(KINDS)).app(), random)
    plan = plan_of(text.replace("@app:playback", ""))
    note(plan.text)
    log = entries(random, 40, in_event_time=False)
    expected = fold(plan, [plain(log, plan)])
    found = fold(plan, cut(random, in_one(log, plan, random)))
    assert without_places(found) == without_places(expected)


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 2**32))
def test_shards_give_chunks_their_common_numbers(seed: int) -> None:
    """Of plain records and of bundles."""
    random = Random(seed)
    plan = plan_of(with_channels(partitioned(random), random))
    log = entries(random, 40, in_event_time=plan.checked.is_playback)
    make = random.choice((equivalent, arbitrary))
    made = make(log, plan, random)
    count = random.randint(2, 4)
    reference = ReferenceExecutor(plan, start_ms=START_MS)
    try:
        shards = [
            ColumnarExecutor(plan, start_ms=START_MS, shard=Shard(i, count)) for i in range(count)
        ]
        for each in cut(random, made):
            expected = reference.run_encoded(each)
            for shard in shards:
                shard.run_encoded(each)
            rows = RowsOfColumns(joined_rows([shard.exported for shard in shards]))
            found = SliceResult(expected.position, rows, (), None, rows.columns)
            assert brought(found, plan) == brought(expected, plan)
    except (NotColumnar, NotSharded, Unfit) as why:
        event(type(why).__name__)
        return
    event("sharded")
