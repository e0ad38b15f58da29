"""Random apps whose text is changed while they run: what stays in the text goes on as if nothing
had happened, and both executors agree on all of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import event, given, note, settings
from hypothesis import strategies as st

from lockstep.events import LogEntry, OutputRow
from lockstep.execute.columnar import ColumnarExecutor, NotColumnar, Unfit
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.execute.succession import succeed
from lockstep.plan import AppPlan, build
from lockstep.plan.succession import succession
from lockstep.siddhiql import check
from tests.property.amount import examples
from tests.property.executors_model import APART, Apps, assembled, entries
from tests.property.executors_windows import WINDOWED

pytestmark = pytest.mark.usefixtures("compiled")


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 2**32))
def test_what_stays_in_the_text_goes_on(seed: int) -> None:
    """Whatever comes and goes beside it, and wherever it is moved."""
    random = Random(seed)
    apps = Apps(random, (*APART, *WINDOWED))
    stays, goes, comes = (apps.parts(count) for count in (random.randint(1, 2), 1, 1))
    head = random.choice(("", "@app:playback\n"))
    before = assembled(head, [*stays, *goes])
    parts = [*stays, *comes]
    random.shuffle(parts)
    after = assembled(head, parts)
    note(before)
    note(after)
    old, new = build(check(before)), build(check(after))
    assert succession(old, old).is_whole
    log = entries(random, 60, in_event_time=bool(head))
    middle = random.randint(1, len(log) - 1)
    wanted = rows_of(_onward(ReferenceExecutor(old), log[:middle], log[middle:]), stays)
    brought = _changed(ReferenceExecutor, old, new, log, middle)
    assert rows_of(brought, stays) == wanted
    try:
        assert list(map(repr, _changed(ColumnarExecutor, old, new, log, middle))) == list(
            map(repr, brought)
        )
    except (NotColumnar, Unfit) as why:
        event(type(why).__name__)


def _onward(
    executor: ReferenceExecutor | ColumnarExecutor,
    first: Sequence[LogEntry],
    then: Sequence[LogEntry],
) -> list[OutputRow]:
    if first:
        executor.run_slice(first)
    return list(executor.run_slice(then).rows)


def _changed(
    kind: type[ReferenceExecutor | ColumnarExecutor],
    old: AppPlan,
    new: AppPlan,
    log: Sequence[LogEntry],
    middle: int,
) -> list[OutputRow]:
    """The rows behind a change of the text in the middle of the log."""
    first, then = kind(old), kind(new)
    first.run_slice(log[:middle])
    then.restore(succeed(old, first.snapshot(), new).snapshot)
    return _onward(then, [], log[middle:])


def rows_of(rows: Sequence[OutputRow], parts: Sequence[str]) -> list[str]:
    """Those of the parts' own streams; identities count others, too."""
    own = {name for part in parts for name in re.findall(r"into (O\d+)", part)}
    found = [row for row in rows if row.stream in own]
    found.sort(key=lambda row: row.stream)  # between them the order is the text's
    return [repr((row.stream, row.id.position, row.timestamp_ms, row.data)) for row in found]
