"""The selector in columns brings what the reference brings: the last of a chunk or of each group,
`having`, order; and its state goes over to an executor of either kind."""

from __future__ import annotations

import pytest

from lockstep.columns.flow import CURRENT, EXPIRED
from lockstep.expressions.columns import Compiler
from lockstep.plan import plan_of
from lockstep.selection.columns import ALL_KINDS, Groups, SelectorOperator, wanted_kind
from lockstep.siddhiql.checked import CheckedQuery
from lockstep.streams.rule import RUNNING, TUMBLING_WINDOWS
from tests.unit.columns.flows import longs
from tests.unit.side_by_side import Step, played

S = "define stream S (s string, i int); "
CHUNKS: list[Step] = [
    (100, "S", [["a", 1], ["b", 2], ["a", 3], [None, 4]]),
    (200, "S", [["b", None], [None, 6]]),
    (300, "S", [["a", -4]]),
]


def query_of(text: str) -> CheckedQuery:
    """The only query of an app on S."""
    (query,) = plan_of(S + text).checked.execution
    assert isinstance(query, CheckedQuery)
    return query


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select sum(i) as t", [[(10,)], [(16,)], [(12,)]]),
        (
            "select s, sum(i) as t group by s",
            [[("a", 4), ("b", 2), (None, 4)], [("b", 2), (None, 10)], [("a", 0)]],
        ),
        (
            "select s, sum(i) as t group by s having t > 3L",
            [[("a", 4), (None, 4)], [(None, 10)]],
        ),
        ("select s, count() as n having n == 5L", [[("b", 5)]]),
        (
            "select s, i order by i desc limit 2",
            [[(None, 4), ("a", 3)], [(None, 6), ("b", None)], [("a", -4)]],
        ),
    ],
)
def test_what_comes_out_of_a_chunk(text: str, expected: list[object]) -> None:
    """The last row of it, or of each of its groups; without aggregates all."""
    assert played(f"{S}from S {text} insert into O;", *CHUNKS, rule=RUNNING.name) == expected


def test_the_events_that_an_action_asks_for() -> None:
    """Current ones, expired ones, or all."""
    found = [
        wanted_kind(query_of(f"from S select s insert {kind} into O;").query.action)
        for kind in ("", "expired events", "all events")
    ]
    assert found == [CURRENT, EXPIRED, ALL_KINDS]


@pytest.mark.parametrize(("action", "expected"), [("", False), ("all events", True)])
def test_what_leaves_matters_to_who_sees_it(action: str, expected: bool) -> None:
    """And to aggregates."""
    plain = SelectorOperator(query_of(f"from S select s insert {action} into O;"))
    assert plain.needs_leaving is expected
    assert SelectorOperator(query_of("from S select sum(i) as t insert into O;")).needs_leaving


def test_groups_that_are_forgotten_are_new_when_they_come_again() -> None:
    """Those that stay have new numbers; each instance of a partition has groups of its own."""
    query = query_of("from S select s group by s insert into O;")
    groups = Groups(query.query.selector.group_by, Compiler(query.scope), by_realm=True)
    ids = [groups.id_of(realm, key) for realm, key in ((0, "a"), (1, "a"), (1, "b"))]
    assert ids == [0, 1, 2]
    assert groups.named(1) == (1, "a")
    assert groups.compact(longs(0, 1, 1).astype(bool)).tolist() == [-1, 0, 1]
    assert groups.id_of(0, "a") == 2
    assert groups.named(0) == (1, "a")


MARKED = "from S#window.lengthBatch(2)[str:length(s) > 1] select s, "


@pytest.mark.parametrize(
    "text",
    [
        f"{MARKED}str:charAt(s, 1) as c group by s insert into O;",
        f"{MARKED}str:charAt(s, 1) as c order by s insert into O;",
        f"{MARKED}str:charAt(s, 1) as c, sum(i) as t group by s insert all events into O;",
        f"{MARKED}i having str:charAt(s, 1) != 'z' insert into O;",
    ],
)
def test_a_mark_behind_a_batch_is_no_event_that_fails(text: str) -> None:
    """A RESET shows the values of a row that the filter kept out: the app stays in columns."""
    steps: list[Step] = [
        (100, "S", [["x", 1]]),
        (200, "S", [["aa", 2]]),
        (300, "S", [["bb", 3], ["y", 4]]),
        (400, "S", [["v", 5], ["w", 6]]),
        (500, "S", [["cc", 7], ["dd", 8]]),
    ]
    found = played(S + text, *steps, rule=TUMBLING_WINDOWS.name)
    assert {row[0] for chunk in found for row in chunk} == {"aa", "bb", "cc", "dd"}
