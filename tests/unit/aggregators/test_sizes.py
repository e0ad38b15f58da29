"""A slice whose running values would take too much memory is left to the reference."""

from __future__ import annotations

import pytest

from lockstep.aggregators import sizes
from lockstep.columns.column import Unfit
from lockstep.execute.columnar import ColumnarExecutor
from lockstep.testing.virtual_app import rehearsed
from tests.unit.side_by_side import Step, entries_of, in_one_slice, rules, stepped

S = "define stream S (k string, n long); define stream R (k string, n long); "
CALLS = {
    "a set": "sizeOfSet(unionSet(createSet(S.n))) as x",
    "a list": "list:size(list:collect(S.n)) as x",
    "a map": "map:size(map:collect(S.n, S.k)) as x",
    "a text": "str:groupConcat(S.k) as x",
    "an array in a map": "json:groupAsObject(S.k, 'all') as x",
}
INPUTS = {
    "batches": "S#window.lengthBatch(60)",
    "a join whose pairs leave uneven": (
        "S#window.lengthBatch(60) left outer join R#window.length(1) on S.n == R.n"
    ),
}
STEPS: list[Step] = [(100 + at, "S", [[f'{{"a":{i}}}', i] for i in range(240)]) for at in range(4)]


@pytest.mark.parametrize("source", INPUTS)
@pytest.mark.parametrize("call", CALLS)
def test_what_is_too_much_for_a_slice_runs_on_the_reference(
    call: str, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same rows. What is not too much stays in columns."""
    text = f"{S}from {INPUTS[source]} select {CALLS[call]} insert into O;"
    assert None not in rules(text)
    expected = stepped(text, STEPS, "reference", restored=False)
    assert in_one_slice(rehearsed(text), STEPS) == expected
    monkeypatch.setattr(sizes, "MAX_BYTES", 60_000)
    with pytest.raises(Unfit, match="take more than 60000 bytes in a slice"):
        in_one_slice(rehearsed(text), STEPS)
    assert stepped(text, STEPS, "columnar", restored=False) == expected


def test_each_slice_is_counted_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """So an app whose slices are small stays in columns for ever."""
    plan = rehearsed(f"{S}from S#window.lengthBatch(60) select {CALLS['a text']} insert into O;")
    monkeypatch.setattr(sizes, "MAX_BYTES", 200_000)
    executor = ColumnarExecutor(plan, start_ms=0)
    for entry in entries_of(plan, STEPS):
        executor.run_slice([entry])
    assert executor.position == len(entries_of(plan, STEPS))
    with pytest.raises(Unfit):
        in_one_slice(plan, STEPS)
