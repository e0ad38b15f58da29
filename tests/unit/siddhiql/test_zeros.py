"""What would never end or divide by nothing with a zero in it is refused where it is written."""

from __future__ import annotations

import pytest

from lockstep.siddhiql import SiddhiQLError, check

STREAM = "define stream S (s string, v int, x long);\ndefine stream R (v int);\n"
QUERY = STREAM + "from S#window.{} select v insert into O;"


@pytest.mark.parametrize(
    "window",
    [
        "hopping(4 sec, 0)",
        "hopping(0, 4 sec)",
        "timeBatch(0)",
        "timeBatch(0 sec, 0)",
        "timeBatch(0 sec, true)",
        "externalTimeBatch(x, 0 sec)",
        "externalTimeBatch(x, 0 sec, 0, 1 sec)",
        "unique:timeBatch(s, 0)",
        "unique:firstTimeBatch(s, 0)",
        "unique:timeLengthBatch(s, 0, 5)",
        "unique:externalTimeBatch(s, x, 0)",
        "lossyFrequent(0.0)",
        "lossyFrequent(0.1, 0.0)",
    ],
)
def test_windows(window: str) -> None:
    """The parameter is named, whatever other ways to call the window there are."""
    with pytest.raises(SiddhiQLError, match="must be more than 0") as refused:
        check(QUERY.format(window))
    assert refused.value.line == 3
    assert "it takes" in (refused.value.hint or "")


@pytest.mark.parametrize(
    "window", ["time(0)", "length(0)", "lengthBatch(0)", "delay(0)", "session(0)", "batch(0)"]
)
def test_windows_that_can_be_empty(window: str) -> None:
    """In and out at once is a meaning."""
    check(QUERY.format(window))


@pytest.mark.parametrize(
    "text",
    [
        "from every not S for 0 sec select 1 as n insert into O;",
        "from every e=S -> not R for 0 sec select e.v as n insert into O;",
        "from not S for 0 sec and e=R select e.v as n insert into O;",
        "from S select v output all every 0 sec insert into O;",
        "from S select v output last every 0 events insert into O;",
        "@purge(enable='true', interval='0 sec', idle.period='1 sec') "
        "partition with (s of S) begin from S select v insert into O; end;",
    ],
)
def test_queries(text: str) -> None:
    """Absences, rates, purges."""
    with pytest.raises(SiddhiQLError, match="needs more than 0") as refused:
        check(STREAM + text)
    assert refused.value.hint


@pytest.mark.parametrize(
    "text",
    [
        f"{STREAM}define trigger T at every 0 sec;",
        f"{STREAM}@purge(enable='true', interval='0 sec') "
        "define aggregation A from S select sum(v) as t aggregate every sec;",
        f"@app:playback(idle.time='0 sec', increment='1 sec') {STREAM}",
    ],
)
def test_definitions(text: str) -> None:
    """Triggers, purges, playback."""
    with pytest.raises(SiddhiQLError, match="needs more than 0 milliseconds"):
        check(text)
