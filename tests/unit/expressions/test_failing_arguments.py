"""Functions that fail inside of what chooses between values: the reference and columns say the same
of every row, however the log is cut."""

from __future__ import annotations

from typing import Any, Final

import pytest

from lockstep.events import LogEntry
from lockstep.plan import AppPlan
from lockstep.testing.opening import open_executor
from lockstep.testing.virtual_app import rehearsed
from tests.unit.side_by_side import Step, entries_of, rules

STEPS: Final[list[Step]] = [
    (1, "S", [["x", "1", 1, True]]),  # s is no number
    (2, "S", [["7", "y", None, False]]),  # t is none
    (3, "S", [["8", "2", 3, None], ["z", "3", 4, True]]),
    (4, "S", [["9", None, None, True]]),
    (5, "S", [["4", "5", 6, False], ["5", "6", 7, True]]),
]
CUTS: Final = {"entry by entry": 1, "by two": 2, "by five": 5, "whole": 100}
EITHER: Final = [1, 2, 3]
"""The steps in which s or t is no number. Of null it is null."""


def told(executor: str, plan: AppPlan, log: list[LogEntry], length: int) -> list[Any]:
    """(chunks, faults) of the log in slices of that length."""
    runs = open_executor(executor, plan, 0)
    seen, faults = [], []
    for start in range(0, len(log), length):
        result = runs.run_slice(log[start : start + length])
        faults += [
            (each.position, each.reason, [event.data for event in each.events])
            for each in result.faults
        ]
        seen += list(map(repr, runs.take_observations()))
    return [seen, faults]


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(
    ("value", "failing"),
    [
        ("coalesce(i, math:parseInt(s))", [1, 3]),
        ("coalesce(1, i, math:parseInt(s))", [1, 3]),
        ("coalesce(math:parseInt(t), i, math:parseInt(s))", EITHER),
        ("default(i, math:parseInt(s))", [1, 3]),
        ("default(math:parseInt(t), math:parseInt(s))", EITHER),
        ("coalesce(i, default(0, math:parseInt(s)))", [1, 3]),
        ("default(i + 1, math:parseInt(s) + 1)", [1, 3]),
        ("ifThenElse(b, i, math:parseInt(t))", [2]),
        ("ifThenElse(b, math:parseInt(s), i)", [1, 3]),
        ("ifThenElse(true, 1, math:parseInt(s))", []),
        ("ifThenElse(coalesce(b, math:parseInt(s) > 0), 1, 0)", [1, 3]),
        ("coalesce(i, ifThenElse(b, 1, math:parseInt(t)))", [2]),
        ("ifThenElse(b and math:parseInt(s) > 0, 1, 0)", [1, 3]),
        ("ifThenElse(b or math:parseInt(t) > 0, 1, 0)", [2]),
        ("ifThenElse(not (b) or math:parseInt(s) > 0, 1, 0)", [1, 3]),
        ("i + math:parseInt(s)", [1, 3]),
        ("ifThenElse(math:parseInt(t) is null, 1, 0)", [2]),
        ("ifThenElse(i < math:parseInt(s), 1, 0)", [1, 3]),
    ],
)
def test_what_fails_does_not_hang_on_the_slice(value: str, failing: list[int], cut: str) -> None:
    """All arguments of `coalesce` and `default` are evaluated for each row, and of `ifThenElse`
    only the branch that is taken (semantics 21); `and` and `or` stop where the answer is known."""
    text = (
        "define stream S (s string, t string, i int, b bool);"
        f" @info(name='q') from S select s, {value} as x insert into O;"
        " @info(name='sum') from O select sum(x) as total insert into P;"
    )
    assert None not in rules(text)
    plan = rehearsed(text)
    log = entries_of(plan, STEPS)
    at = [entry.position for entry in log if hasattr(entry.record, "chunks")]
    expected = told("reference", plan, log, 1)
    assert [position for position, _, _ in expected[1]] == [at[step - 1] for step in failing]
    assert told("columnar", plan, log, CUTS[cut]) == expected
    assert told("reference", plan, log, CUTS[cut]) == expected


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(
    "condition",
    [
        "[coalesce(i, math:parseInt(s)) > 0]",
        "[default(b, math:parseInt(s) > 0)]",
        "[i is null or math:parseInt(s) > 0]",
        "[b and not (math:parseInt(t) < 0)]",
        "[ifThenElse(b, math:parseInt(s), 1) > 0]",
        "[i > 100][math:parseInt(s) > 0]",
        "[i is null][math:parseInt(s) > 0]",
        "[(T.i == i and math:parseInt(s) > 0) in T]",
        "[(T.i == i in T) or math:parseInt(s) > 0]",
        "[(T.i == i in T) and math:parseInt(s) > 0]",
    ],
)
def test_filters_that_fail(condition: str, cut: str) -> None:
    """The same of filters, of several in a row, and beside what asks a table."""
    text = (
        "define stream S (s string, t string, i int, b bool); define table T (i int);"
        " @info(name='w') from S select i insert into T;"
        f" @info(name='q') from S{condition} select s, i insert into O;"
        " @info(name='n') from O select count() as n insert into P;"
    )
    plan = rehearsed(text)
    log = entries_of(plan, STEPS)
    assert told("columnar", plan, log, CUTS[cut]) == told("reference", plan, log, 1)
