"""Small patterns in columns bring what the reference brings, whole, cut and restored."""

from __future__ import annotations

import pytest

from lockstep.columns.rule import Rule
from lockstep.patterns.absences.query import AbsenceQuery
from lockstep.patterns.absences.rule import PATTERN_ABSENCES
from lockstep.patterns.chains.query import ChainQuery
from lockstep.patterns.chains.rule import PATTERN_CHAINS
from lockstep.patterns.columns.query import PatternQuery
from lockstep.patterns.columns.rule import PATTERNS, SEQUENCES
from lockstep.patterns.columns.unit import PatternUnit
from tests.unit.side_by_side import TICK, Step, played, unit_of

STREAMS = (
    "define stream S (s string, i int, d double); define stream R (s string, i int, d double); "
)
SELECT = " select e1.s as a, e1.i as i insert into O;"
STEPS: list[Step] = [
    (100, "S", [["a", 1, 0.5], ["b", None, -0.0], [None, 3, 1.5]]),
    (200, "R", [["a", 2, 0.5], ["c", 0, 0.0]]),
    (300, "S", [["a", 4, None], ["a", 2, 0.0]]),
    (400, "R", [["a", None, 9.5], ["a", 9, -1.0], ["b", 3, 0.0]]),
    (1300, TICK, []),
    (1450, "S", [["b", 9, 0.0]]),
    (1500, "R", [["b", 9, 2.0], ["a", 1, 0.0]]),
    (3000, TICK, []),
]
CHAINS = [
    "every e1=S -> e2=R[i > e1.i]",
    "every e1=S -> e2=R[s == e1.s]",
    "every e1=S -> e2=R[s != e1.s]",
    "every e1=S -> e2=R[d == e1.d] -> e3=S[i > e2.i]",
    "every e1=S[i > 1] -> e2=S[i < e1.i] -> e3=R within 1 sec",
]
ABSENCES = [
    "every e1=S -> not R[s == e1.s] for 1 sec",
    "every e1=S -> not R[i > e1.i and s != e1.s] for 500 millisec",
    "every e1=S -> e2=R[s == e1.s] -> not S[i == e2.i] for 1 sec",
]
GENERAL = [
    "e1=S -> e2=R[i > e1.i]",
    "every (e1=S -> e2=R[s == e1.s])",
    "every (e1=S and e2=R)",
    "every (e1=S or e2=R) -> e3=S[i > 3]",
    "every e1=S -> not R[i > e1.i] and e2=S[i > e1.i]",
    "every (e1=S -> e2=R[d >= e1.d]) within 300 millisec",
]
IN_A_ROW = [
    "every e1=S, e2=S",
    "every e1=S, e2=R[i > e1.i]?, e3=S",
    "every e1=S, e2=R[d <= e1.d]",
]


@pytest.mark.parametrize(
    ("pattern", "rule", "unit"),
    [
        *((each, PATTERN_CHAINS, ChainQuery) for each in CHAINS),
        *((each, PATTERN_ABSENCES, AbsenceQuery) for each in ABSENCES),
        *((each, PATTERNS, PatternQuery) for each in GENERAL),
        *((each, SEQUENCES, PatternQuery) for each in IN_A_ROW),
    ],
)
@pytest.mark.parametrize("keyed", [False, True], ids=["whole", "keyed"])
def test_matches(pattern: str, rule: Rule, unit: type[PatternUnit], keyed: bool) -> None:
    """Nulls compare with nothing, both zeros are one, strings by their texts; in a partition each
    key has matches of its own."""
    query = f"from {pattern}{SELECT}"
    if keyed:
        query = f"partition with (s of S, s of R) begin {query} end;"
    text = STREAMS + query
    assert unit_of(text, unit).is_observed is not keyed
    brought = played(text, *STEPS, rule=rule.name)
    assert brought or keyed


def test_what_collects() -> None:
    """The first, the last, and one that is not there."""
    text = (
        f"{STREAMS}from every e1=S<2:3> -> e2=R[i > e1[0].i] select e1[0].i as x, e1[last].i as y,"
        " e1[2].i as z insert into O;"
    )
    assert played(text, *STEPS, rule=PATTERNS.name)


def test_nan_is_equal_to_nothing() -> None:
    """In the order of numbers it has no place; `!=` holds."""
    steps: list[Step] = [
        (1, "S", [["a", 1, float("nan")], ["b", 2, float("inf")]]),
        (2, "R", [["x", 1, float("nan")], ["y", 2, float("inf")], ["z", 3, -0.5]]),
    ]
    for operator, rule in (("==", PATTERN_CHAINS), ("!=", PATTERN_CHAINS), ("<=", PATTERN_CHAINS)):
        for begin in ("every e1=S", "e1=S"):
            text = f"{STREAMS}from {begin} -> e2=R[d {operator} e1.d]{SELECT}"
            played(text, *steps, rule=rule.name if begin != "e1=S" else PATTERNS.name)
