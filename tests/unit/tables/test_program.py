"""What programs test and compute of rows is what the reference tests and computes."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from lockstep.columns.rule import NotLowerable
from lockstep.plan import QueryNode, plan_of
from lockstep.tables.columns import TableUnit
from lockstep.tables.program import Programs
from lockstep.tables.rule import TABLE_JOIN
from tests.unit.side_by_side import Step, played, unit_of

TYPES = {"s": "string", "i": "int", "l": "long", "f": "float", "d": "double", "b": "bool"}
NUMBERS = [0, 1, -1, 2, 3, 7, -5, None]
VALUES: dict[str, list[Any]] = {
    "s": ["a", "b", "", None],
    "i": [*NUMBERS, 2**31 - 1, -(2**31), 46341],
    "l": [*NUMBERS, 2**63 - 1, -(2**63), 2**53 + 1, 2**31],
    "f": [0.0, -0.0, 1.5, -2.25, 16777216.0, 3e38, float("nan"), None],
    "d": [0.0, -0.0, 0.1, -2.5, 2.0**53, 1e308, float("nan"), float("inf"), None],
    "b": [True, False, None],
}
WIDEST = "ilfd"
PAIRS = [(one, other) for one in WIDEST for other in WIDEST]
CHOICES = [
    ("d", "ifThenElse(T.d > S.d, T.d, S.d)"),
    ("s", "coalesce(T.s, S.s)"),
    ("i", "default(T.i, 5)"),
    ("i", "ifThenElse(T.i is null or not (T.b), T.i + 1, S.i * (T.i - S.i))"),
    ("b", "T.b and S.b or T.l == S.l"),
    ("b", "not (T.s == S.s)"),
    ("b", "T.s != 'a'"),
    ("b", "T.b == S.b"),
    ("b", "T.i is null"),
    ("f", "T.f / 2 + S.i"),
]
GROUPS = {
    **{
        operator: [(max(one + other, key=WIDEST.index), f"T.{one} {operator} S.{other}")
                   for one, other in PAIRS]
        for operator in ("+", "-", "*", "/", "%")
    },
    **{
        operator: [("b", f"T.{one} {operator} S.{other}") for one, other in PAIRS]
        for operator in ("==", "!=", "<", "<=", ">", ">=")
    },
    "choices": CHOICES,
}  # fmt: skip


def text_of(computed: list[tuple[str, str]], writer: str) -> str:
    """Rows come by R and are changed by S; Q asks for them."""
    own = ", ".join(f"{name} {type_}" for name, type_ in TYPES.items())
    more = "".join(f", x{n} {TYPES[each]}" for n, (each, _) in enumerate(computed))
    kept = "".join(f", {name}" for name in TYPES)
    nothing = "".join(f", {name} as x{n}" for n, (name, _) in enumerate(computed))
    shown = "".join(f", T.x{n} as x{n}" for n in range(len(computed)))
    return (
        f"define stream S (k string, {own}); define stream R (k string, {own});"
        f" define stream Q (k string); @PrimaryKey('k') define table T (k string, {own}{more});"
        f" from R select k{kept}{nothing} insert into T; {writer}"
        f" from Q join T on T.k == Q.k select T.k as k, T.i as i, T.d as d{shown} insert into O;"
    )


def rows(random: Random, keys: int) -> list[list[Any]]:
    """One of each key."""
    return [[str(n), *(random.choice(VALUES[name]) for name in TYPES)] for n in range(keys)]


@pytest.mark.parametrize("group", GROUPS)
def test_what_is_computed_of_a_row_and_a_write(group: str) -> None:
    """Numbers of all types with one another, nulls, zeros, and where they have no room."""
    computed, random = GROUPS[group], Random(group)
    items = ", ".join(f"T.x{n} = {each}" for n, (_, each) in enumerate(computed))
    text = text_of(
        computed, f"from S update T set T.i = T.i + 1, {items} on T.k == S.k;".replace("S.", "")
    )
    layout = unit_of(text, TableUnit)._layout
    assert (layout.is_whole, len(layout.steps) > len(computed)) == (True, True)
    asked: Step = (300, "Q", [[str(n)] for n in range(60)])
    steps: list[Step] = [(100, "R", rows(random, 60)), (200, "S", rows(random, 60)), asked]
    assert len(played(text, *steps, (400, "S", rows(random, 60)), asked, rule=TABLE_JOIN.name)) == 2


CONDITIONS = [
    "T.k == S.k and T.l < S.l",
    "T.k == S.k and (T.d >= 0.1 or S.b) and not (T.i is null)",
    "T.k == S.k and S.i > 0",
    "T.s == S.s and T.i % 2 == S.i % 2",
    "T.l == S.l and T.s == S.s",
    "T.f < S.d",
    "T.b",
    "T.k == S.k and T.k == S.s",
]


@pytest.mark.parametrize("on", CONDITIONS)
@pytest.mark.parametrize("kind", ["update T set T.i = T.i + S.i", "delete T", "update or insert"])
def test_which_rows_pass(on: str, kind: str) -> None:
    """Where none does, an upsert inserts."""
    names = ", ".join(("k", *TYPES))
    if kind == "update or insert":
        kind = "update or insert into T set T.i = S.i, T.d = T.d + S.d"
    query = f"from S select {names} {kind} on {on};".replace("S.", "")
    text = text_of([], query)
    assert not unit_of(text, TableUnit).is_one_by_one
    random = Random(on)
    asked = [[str(n)] for n in range(12)]
    steps: list[Step] = [
        (100 * at + 100, stream, found)
        for at in range(4)
        for stream, found in (("R", rows(random, 12)), ("S", rows(random, 12)), ("Q", asked))
    ]
    assert played(text, *steps, rule=TABLE_JOIN.name)


@pytest.mark.parametrize(
    ("type_", "expression", "reason"),
    [
        ("i", "str:length(T.s)", "of a row"),
        ("l", "eventTimestamp() + T.l", "of a row"),
        ("d", "T.d + math:abs(S.d)", "may refuse"),
        ("l", "T.l" + " + (T.l" * 40 + ")" * 40, "nested too deeply"),
    ],
)
def test_what_no_program_says(type_: str, expression: str, reason: str) -> None:
    """Another way is taken there."""
    writer = f"from S update T set T.x0 = {expression} on T.k == k;".replace("S.", "")
    plan = plan_of(text_of([(type_, "")], writer))
    node = plan.nodes[1]
    assert isinstance(node, QueryNode)
    action: Any = node.query.query.action
    with pytest.raises(NotLowerable, match=reason):
        Programs(node.query.action_scope).value(action.set[0].value)
