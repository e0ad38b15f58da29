"""What an app's start would trip over is known before, with its place; nothing of it runs."""

from __future__ import annotations

import pytest

from lockstep.execute.reference.rehearsal import rehearse
from lockstep.plan import build
from lockstep.siddhiql import SiddhiQLError, check

S = "define stream S (k string, v int);\n"
BAD = "regex:matches('(', k)"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (f"{S}from S[{BAD}] select k insert into O;", (2, 8), "regular expression"),
        (f"{S}from S select json:getInt(k, '$.[') as n insert into O;", (2, 15), "no path"),
        (
            f"{S}partition with (k of S) begin\n from S#json:tokenize(k, '$.[') select k "
            "insert into O; end;",
            (3, 9),
            "no path",
        ),
        (
            f"{S}from S select time:extract('DAY', k, 'bb') as n insert into O;",
            (2, 15),
            "date format",
        ),
        (
            f"{S}from S select time:timezoneConvert(k, 'yyyy', 'Nowhere') as n insert into O;",
            (2, 15),
            "time zone",
        ),
        (
            f"{S}partition with (k of S) begin\n from S[{BAD}] select k insert into O; end;",
            (3, 9),
            "regular expression",
        ),
        (
            f"{S}partition with ({BAD} as 'a' of S) begin from S select k insert into O; end;",
            (2, 17),
            "regular expression",
        ),
        (
            f"{S}define aggregation A from S[{BAD}] select k, sum(v) as t aggregate every sec;",
            (2, 29),
            "regular expression",
        ),
        (
            f"{S}define function f[python] return int {{ return data[0] / }};",
            (2, 17),
            "no Python",
        ),
        (
            "@source(type='http', @map(type='text', regex.A='(', @attributes(k='A', v='A')))" + S,
            (1, 22),
            "regular expression",
        ),
        (
            "@source(type='nats', destination='x', @map(type='json', @attributes(k='$.[', v='v')))"
            + S,
            (1, 39),
            "no path",
        ),
        (
            "@sink(type='log', @map(type='csv', @payload(k='1', v='2')))" + S,
            (1, 36),
            "columns",
        ),
    ],
)
def test_what_fails_at_the_start(text: str, place: tuple[int, int], message: str) -> None:
    """The checker lets it pass; the rehearsal points at it."""
    plan = build(check(text))
    with pytest.raises(SiddhiQLError, match=message) as refused:
        rehearse(plan)
    found = (refused.value.line, refused.value.column)
    if "define function" in text:
        assert found[0] == place[0]
    else:
        assert found == place


def test_nothing_of_the_authors_runs(tmp_path: object) -> None:
    """A trigger at the start would call the function, which never returns."""
    rehearse(
        build(
            check(
                "define trigger T at 'start';"
                "define function f[python] return int { while True: pass };"
                "from T select f(1) as x insert into O;"
            )
        )
    )


def test_a_whole_app_passes() -> None:
    """Partitions with inner streams, absence, rates, named windows, aggregations, tables."""
    rehearse(
        build(
            check(
                S + "define stream R (k string, v int); define window W (k string) time(1 sec);"
                "@PrimaryKey('k') define table T (k string, v int);"
                "define aggregation A from S select k, sum(v) as t group by k "
                "aggregate every sec ... day;"
                "@purge(enable='true', interval='1 sec', idle.period='1 min') "
                "partition with (k of S) begin "
                "from S select k, v insert into #I; from #I[v > 1] select k insert into W; "
                "from not #I for 1 sec select 1 as one insert into Absent; end;"
                "from S select k output last every 1 sec insert into O;"
                "from S join T on S.k == T.k select T.v insert into P;"
                "from every e1=S -> not R[v == e1.v] for 1 sec select e1.k insert into Q;"
            )
        )
    )
