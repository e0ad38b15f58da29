"""Habits from SQL and Java get a hint that says what to write instead."""

from __future__ import annotations

import pytest

from lockstep.siddhiql import SiddhiQLError, check


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("from S[v is not null] select k insert into O;", "not (x is null)"),
        ("from S select *, v insert into O;", "'*' stands alone"),
        ("from S select -v as k insert into O;", "0 - x"),
        ("from S select -(v) as k insert into O;", "0 - x"),
        ("from S select distinct v insert into O;", "no distinct"),
        ("from S select case v insert into O;", "ifThenElse"),
        ("from S group by k select v insert into O;", "'group' stands behind select"),
        ("from S select 5. as v insert into O;", "5.0"),
        ("from S where v > 5 select v insert into O;", "in brackets"),
        ("from S select v where v > 5 insert into O;", "in brackets"),
        ("from S[v = 5] select v insert into O;", "'=='"),
        ("from S[v <> 5] select v insert into O;", "!="),
        ("from S[!(v == 5)] select v insert into O;", "not ( … )"),
        ("from S[v == 5 && v > 2] select v insert into O;", "'and'"),
        ("from S select v into O;", "insert into"),
        ("from S#window.time(5 s) select v insert into O;", "sec, min"),
        ("from S select 'it''s' as v insert into O;", '"""'),
        ("from S select v insert into O output every 5 sec;", "in front of 'insert into'"),
        ("from S select v // mine\n insert into O;", "comments begin with --"),
        ("from S select v order by v descending insert into O;", "write desc"),
        ("define stream X (a int, b);", "the types are"),
        ("define stream X (a integer);", "the types are"),
        ("define table T (a int primary key);", "@PrimaryKey('a')"),
        ("create stream X;", "define stream"),
        ("SELECT * FROM S;", "from S[filter] select"),
        ("insert into O select v from S;", "from S[filter] select"),
        ("from S as s select v insert into O;", "aliases exist in joins only"),
        ("from S select v insert into O from S select k insert into P;", "a ';' is missing"),
    ],
)
def test_a_habit_is_named(text: str, hint: str) -> None:
    """The hint tells how it is said here."""
    with pytest.raises(SiddhiQLError) as refused:
        check(f"define stream S (k string, v int); {text}")
    assert hint in (refused.value.hint or "")
