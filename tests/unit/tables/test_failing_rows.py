"""What a table action fails of: only the event that brought the row is told, and the other rows
act, on each executor, with any number of shards, and however the events were sent."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest

from lockstep.testing import VirtualApp

STREAMS = "define stream S (k string, v long); "
UPDATE = "update or insert into T set T.v = T.v + v on T.k == k and str:charAt(k, 1) != 'z'; "
LISTED = "define table T (k string, v long); "
CASES = {
    "as they are": LISTED + "from S " + UPDATE,
    "computed": LISTED + "from S select k, v + 0 as v " + UPDATE,
    "filtered, with having": LISTED + "from S[v > 0] select k, v having v < 500 " + UPDATE,
    "in partitions": LISTED + "partition with (k of S) begin from S select k, v " + UPDATE + "end;",
    "deleted": LISTED
    + "from S[v < 3] insert into T; "
    + "from S select k, v delete T on T.k == k and T.v < v and str:charAt(k, 1) != 'z'; ",
}
SENT = [
    ("aa", 1),
    ("bb", 2),
    ("x", 1),
    ("aa", 3),
    ("x", 4),
    ("bb", 5),
    ("cc", 6),
    ("x", 7),
]
QUERY = "from T select k, v"


def left(text: str, cut: int, sent: Sequence[Any] = SENT, **options: Any) -> tuple[Any, Any]:
    """The rows of the table and the told events, both sorted: keys have no order between them."""
    with VirtualApp(STREAMS + text, **options) as app:
        for start in range(0, len(sent), cut):
            app.send_many("S", sent[start : start + cut])
        told = sorted(event.data for fault in app.faults() for event in fault.events)
        return sorted(app.on_demand(QUERY)), told


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_only_the_rows_that_fail_are_told(text: str) -> None:
    """The condition fails where there is a row to compare."""
    ways = product(("reference", "columnar"), (1, 4), (1, 2, len(SENT)))
    found = [left(text, cut, executor=each, parallel=parallel) for each, parallel, cut in ways]
    assert found == [found[0]] * len(found)
    rows, told = found[0]
    assert ("x", 1) in rows
    assert told == [("x", 4), ("x", 7)]


@pytest.mark.parametrize("executor", ["reference", "columnar"])
def test_queries_behind_get_the_others(executor: str) -> None:
    """The failing event is dropped for them; in a partition as well."""
    inside = UPDATE + "from S select k, v insert into Out; "
    for text in (
        LISTED + "define stream Out (k string, v long); from S select k, v " + inside,
        LISTED
        + "define stream Out (k string, v long); "
        + "partition with (v > 0 as 'all' of S) begin from S select k, v "
        + inside
        + "end;",
    ):
        with VirtualApp(STREAMS + text, executor=executor) as app:
            app.send_many("S", [("x", 1), ("aa", 1)])
            app.send_many("S", [("aa", 2), ("x", 2), ("bb", 2)])
            rows = [event.data for event in app.stream("Out")]
            assert rows == [("x", 1), ("aa", 1), ("aa", 2), ("bb", 2)]
            assert [event.data for fault in app.faults() for event in fault.events] == [("x", 2)]


@pytest.mark.parametrize("executor", ["reference", "columnar"])
def test_rows_of_sums_and_windows_act_too(executor: str) -> None:
    """Where a row is of several events, all that was sent together is told."""
    text = LISTED + "from S#window.lengthBatch(3) select k, v " + UPDATE
    sent = [("aa", 1), ("x", 2), ("bb", 3), ("aa", 1), ("x", 2), ("bb", 3)]
    rows, told = left(text, 3, sent, executor=executor)
    assert rows == [("aa", 2), ("bb", 6), ("x", 2)]
    assert told == sorted(sent[3:])
