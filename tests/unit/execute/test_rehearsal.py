"""A rehearsal runs any app's operators and minds nothing of what comes of it."""

from __future__ import annotations

import importlib

import pytest
from structlog.testing import capture_logs

from lockstep.columns.compiled import kernel_modules
from lockstep.events import EventsRecord, InputEvent
from lockstep.events.codec import EncodedEntry, encode_record
from lockstep.execute.local import open_local
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.execute.rehearsal import rehearse
from lockstep.plan import plan_of
from lockstep.siddhiql import check

TWO = "define stream A (s string, f float, b bool, o object); define stream B (n int, l long); "


@pytest.mark.parametrize("columnar", [True, False])
@pytest.mark.parametrize(
    "query",
    [
        "from A select s, f insert into Out;",
        "from B#window.time(1 sec) select sum(n) as n, l group by l insert into Out;",
        "from every a=A -> b=B within 1 sec select a.s as s, b.n as n insert into Out;",
        "define table T (n int); from B select n insert into T;"
        " from A join T on A.f == T.n select s insert into Out;",
        "from B select l / (n - n) as x insert into Out;",
        "from A select time:timestampInMilliseconds(s, 'yyyy') as t insert into Out;",
    ],
)
def test_whatever_the_app_does(query: str, columnar: bool) -> None:
    """Also with events that it cannot process."""
    rehearse(plan_of(TWO + query), columnar=columnar)


@pytest.mark.parametrize("columnar", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        "@app:playback(idle.time='1 sec', increment='1 sec') define stream S (v long);"
        " from S[v < 1000] select v + 1 as v insert into S;",
        "define stream S (v long);"
        " from S#window.length(3)[v < 1000] select v + 1 as v insert into S;",
    ],
)
def test_made_up_events_that_go_over_a_limit(text: str, columnar: bool) -> None:
    """Real ones may be within it."""
    rehearse(plan_of(text), columnar=columnar)


@pytest.mark.parametrize("error", [IndexError("no"), RuntimeError("no"), OSError("no")])
def test_code_that_nobody_guards_keeps_no_app_from_starting(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real events may not bring it. It is said once, and the rest is left out."""
    folded = []

    def fail(executor: ReferenceExecutor, entries: object) -> None:
        folded.append(entries)
        raise error

    monkeypatch.setattr(ReferenceExecutor, "run_encoded", fail)
    with capture_logs() as told:
        rehearse(plan_of("define stream S (v int); from S select v insert into O;"), columnar=False)
    assert len(folded) == 1
    assert [(one["event"], one["why"]) for one in told] == [
        ("a rehearsal ends early", f"{type(error).__name__}: no")
    ]


def loaded() -> dict[str, int]:
    """The compiled forms of every kernel that are in memory."""
    modules = map(importlib.import_module, kernel_modules())
    return {
        f"{module.__name__}.{name}": len(value.signatures)
        for module in modules
        for name, value in vars(module).items()
        if hasattr(value, "signatures")
    }


def test_the_first_slice_finds_everything_loaded() -> None:
    """That is what it is for."""
    text = (
        "define stream B (n int, l long);"
        " from B#window.timeBatch(1 sec) select n, sum(l) as l group by n insert into Out;"
    )
    rehearse(plan_of(text))
    before = loaded()
    assert any(before.values())
    events = tuple((InputEvent(at, (at % 3, at)),) for at in range(1, 5_000, 50))
    payload = encode_record(EventsRecord("B", 5_000, events, True), check(text).streams)
    executor = open_local(plan_of(text))
    executor.run_encoded([EncodedEntry(1, payload)])
    assert loaded() == before
