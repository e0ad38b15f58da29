"""Whether an app hears time pass between its own events."""

from __future__ import annotations

import pytest

from lockstep.plan import plan_of
from lockstep.plan.fleet import hears_time

S = "@app:playback define stream S (k string, v long); define stream R (k string, v long);"


@pytest.mark.parametrize(
    "text",
    [
        "from S select k insert into O;",
        "from S#window.length(3) select k, sum(v) as t insert into O;",
        "from S#window.length(3) select k, sum(v) as t insert all events into O;",
        "from S#window.time(3 sec) select k, sum(v) as t group by k insert into O;",
        "from S#window.time(3 sec) join R#window.length(2) on S.k == R.k"
        " select S.k as k insert into O;",
        "from S#window.length(3) join R#window.length(2) on S.k == R.k"
        " select S.k as k, sum(R.v) as t insert into O;",
        "partition with (k of S) begin from S#window.lengthBatch(2) select k insert into O; end;",
        "from every e1=S -> e2=R[k == e1.k] within 5 sec select e1.k as k insert into O;",
        "@PrimaryKey('k') define table T (k string, v long);"
        " from S select k, v update or insert into T on T.k == k;",
        "from S select k output last every 3 events insert into O;",
    ],
)
def test_what_does_not(text: str) -> None:
    """Windows whose timers nobody sees, and what has none."""
    assert not hears_time(plan_of(S + text))


@pytest.mark.parametrize(
    "text",
    [
        "from S#window.timeBatch(3 sec) select k insert into O;",
        "from S#window.time(3 sec) select k insert expired events into O;",
        "from S#window.session(3 sec) select k insert into O;",
        "from S#window.delay(3 sec) select k insert into O;",
        "from S#window.time(3 sec) join R#window.time(2 sec) on S.k == R.k"
        " select S.k as k, sum(R.v) as t insert into O;",
        "from S select k output last every 3 sec insert into O;",
        "from S select k output first every 3 sec insert into O;",
        "from S -> not R for 3 sec select S.k as k insert into O;",
        "define trigger T at every 3 sec; from S select k insert into O;",
        "define window W (k string) time(3 sec); from S select k insert into W;",
        "define aggregation A from S select k, sum(v) as t group by k aggregate every sec;",
        "@purge(enable='true', interval='1 sec', idle.period='3 sec')"
        " partition with (k of S) begin from S#window.length(2) select k insert into O; end;",
        "partition with (k of S) begin from S#window.cron('*/5 * * * * ?') select k insert into O;"
        " end;",
    ],
)
def test_what_does(text: str) -> None:
    """What time brings, what looks at the clock by itself, and what is not known."""
    assert hears_time(plan_of(S + text))
